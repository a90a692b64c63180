"""The worker process: `python -P -m core.gpu.worker --device 0`. Started by `core.gpu.child`.

Frames come in on standard input; frames go out on a private copy of standard output, since a
kernel's own printf writes to file descriptor 1.
"""

from __future__ import annotations

import argparse
import os
import pickle
import queue
import sys
import threading
import traceback
from typing import Any, BinaryIO

from core.errors import TilescopeError
from core.gpu import protocol, reporting
from core.gpu.failures import WorkerFailure
from core.gpu.protocol import ConnectionLost

# How long a job may go on after the application is gone.
_ORPHAN_GRACE_S = 2.0


class _Connection:
    """The worker's end of the pipes."""

    def __init__(self) -> None:
        private = os.dup(1)
        os.dup2(2, 1)
        self._out: BinaryIO = os.fdopen(private, "wb")
        self._in: BinaryIO = sys.stdin.buffer
        self._lock = threading.Lock()
        self.calls: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, kind: bytes, value: Any) -> None:
        """Pickles and sends one frame."""
        payload = pickle.dumps(value, protocol=5)
        with self._lock:
            protocol.write_frame(self._out, kind, payload)

    def _listen(self) -> None:
        while True:
            try:
                kind, payload = protocol.read_frame(self._in)
            except ConnectionLost:
                break
            if kind == protocol.CALL:
                reporting.clear_stop()
                self.calls.put(payload)
            elif kind == protocol.STOP:
                reporting.request_stop()
        # The application ended or closed the worker: finish, or be ended in the midst of a kernel.
        reporting.request_stop()
        self.calls.put(None)
        threading.Timer(_ORPHAN_GRACE_S, os._exit, (3,)).start()


def _portable(error: BaseException) -> BaseException:
    """The exception itself where it survives pickling, else its text as a WorkerFailure."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:  # noqa: BLE001 - any failure to pickle means: send the text
        pass
    return WorkerFailure(f"{type(error).__name__}: {error}")


def _run_call(connection: _Connection, payload: bytes) -> bool:
    """Runs one job and sends its outcome; False where this process must end with it."""
    try:
        fn, args, kwargs = pickle.loads(payload)
        connection.send(protocol.DONE, fn(*args, **kwargs))
    except ConnectionLost:
        return False
    except Exception as error:  # noqa: BLE001 - every failure goes back to the caller
        if not isinstance(error, TilescopeError):
            error.add_note("In the GPU worker:\n" + traceback.format_exc())
        connection.send(protocol.FAILED, _portable(error))
        return not (isinstance(error, WorkerFailure) and error.fatal)
    return True


def main(arguments: list[str] | None = None) -> int:
    """Serves jobs until standard input ends."""
    parser = argparse.ArgumentParser(description="The GPU worker process of Tilescope.")
    parser.add_argument("--device", type=int, default=0)
    options = parser.parse_args(arguments)
    connection = _Connection()
    reporting.set_sink(lambda event: connection.send(protocol.EVENT, event))
    from core.gpu import session

    session.choose_device(options.device)
    while (payload := connection.calls.get()) is not None:
        if not _run_call(connection, payload):
            # After a sticky CUDA error the context cannot be taken down in order.
            os._exit(4)
    session.close()
    return 0


if __name__ == "__main__":
    sys.stdout.flush()
    code = main()
    sys.stdout.flush()
    # Past this point nothing is owed to anyone; skip waiting for the orphan timer's thread.
    os._exit(code)
