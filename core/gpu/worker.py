"""The worker process: `python -P -m core.gpu.worker --device 0`. Started by `core.gpu.executor`."""

from __future__ import annotations

import argparse
import os
import queue
import sys
import threading

from core.gpu import protocol
from core.gpu.failures import WorkerFailure
from core.side_process.frames import CALL, EVENT, STOP, Connection, ConnectionLost

# How long a job may go on after the application is gone.
_ORPHAN_GRACE_S = 2.0


def main(arguments: list[str] | None = None) -> int:
    """Serves jobs until standard input ends."""
    parser = argparse.ArgumentParser(description="The GPU worker process of Tilescope.")
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args(arguments)
    calls: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def hear(kind: bytes, payload: bytes) -> None:
        if kind == CALL:
            protocol.stop.clear()  # an earlier job was asked
            calls.put(payload)
        elif kind == STOP:
            protocol.stop.set()

    def ended() -> None:
        """The application ended or closed this process: finish, even in the midst of a kernel."""
        protocol.stop.set()
        calls.put(None)
        threading.Timer(_ORPHAN_GRACE_S, os._exit, (3,)).start()

    connection = Connection(hear, ended)
    protocol.set_sink(lambda event: connection.send(EVENT, event))
    from core.gpu import session

    session.choose_device(options.device)
    while (payload := calls.get()) is not None:
        try:
            error = connection.carry_out(payload)
        except ConnectionLost:
            os._exit(4)
        if isinstance(error, WorkerFailure) and error.fatal:
            # After a sticky CUDA error the context cannot be taken down in order.
            os._exit(4)
    session.close()
    return 0


if __name__ == "__main__":
    sys.stdout.flush()
    code = main()
    sys.stdout.flush()
    # Nothing is left to do; skip waiting for the orphan timer's thread.
    os._exit(code)
