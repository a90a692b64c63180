"""The worker process: `python -P -m core.gpu.worker --device 0`. Started by `core.gpu.executor`."""

from __future__ import annotations

import argparse
import os
import queue
import sys
import threading

from core.gpu import worker_events
from core.gpu.failures import WorkerFailure
from core.side_process.message_frames import CALL, EVENT, STOP, Connection, ConnectionLost

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
            worker_events.stop.clear()  # an earlier job was asked
            calls.put(payload)
        elif kind == STOP:
            worker_events.stop.set()

    def ended() -> None:
        """The application ended or closed this process: finish, even in the midst of a kernel."""
        worker_events.stop.set()
        calls.put(None)
        threading.Timer(_ORPHAN_GRACE_S, os._exit, (3,)).start()

    connection = Connection(hear, ended)
    worker_events.set_sink(lambda event: connection.send(EVENT, event))
    from core.gpu import driver_session

    driver_session.choose_device(options.device)
    while (payload := calls.get()) is not None:
        try:
            error = connection.carry_out(payload)
        except ConnectionLost:
            os._exit(4)
        if isinstance(error, WorkerFailure) and error.fatal:
            # After a sticky CUDA error the context cannot be taken down in order.
            os._exit(4)
    driver_session.close()
    return 0


if __name__ == "__main__":
    sys.stdout.flush()
    code = main()
    sys.stdout.flush()
    # Nothing is left to do; skip waiting for the orphan timer's thread.
    os._exit(code)
