"""The process that `core.apart` has work done in: answers one request after another.

It ends as soon as its standard input does, in the midst of any work: with whom it works for.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import sys
import threading
from queue import SimpleQueue
from typing import IO

from core.errors import TilescopeError

_LENGTH = 8  # bytes in front of a message


def write_message(pipe: IO[bytes], content: bytes) -> None:
    """Send bytes that `read_message` gives back. Raises OSError where nobody listens."""
    pipe.write(len(content).to_bytes(_LENGTH, "little"))
    pipe.write(content)
    pipe.flush()


def read_message(pipe: IO[bytes]) -> bytes:
    """The next message; b"" at the end, or where it breaks off."""
    length = int.from_bytes(pipe.read(_LENGTH), "little")
    content = pipe.read(length)
    return content if len(content) == length else b""


def answer_to(request: bytes) -> bytes:
    """Does what is asked for; (True, result) or (False, how to make the exception), pickled."""
    try:
        function, args, kwargs = pickle.loads(request)
        return pickle.dumps((True, function(*args, **kwargs)), protocol=5)
    except Exception as error:  # noqa: BLE001 - every failure goes back to who asked
        return _packed(error)


def _packed(error: Exception) -> bytes:
    """The exception with all it holds, or its text alone where that cannot be pickled."""
    try:
        return pickle.dumps((False, (type(error), error.args, error.__dict__)), protocol=5)
    except Exception:  # noqa: BLE001 - whatever fails: the text can be sent
        kind = TilescopeError if isinstance(error, TilescopeError) else RuntimeError
        return pickle.dumps((False, (kind, (str(error),), {})), protocol=5)


def _listen(requests: SimpleQueue[bytes]) -> None:
    while request := read_message(sys.stdin.buffer):
        requests.put(request)
    os._exit(0)


def _load_compiler() -> None:
    """NVRTC's library, and all that its first use loads and looks up."""
    from core.cuda.nvrtc import Request, compile_here

    options = ("--gpu-architecture=compute_90", "-G")
    compile_here(Request("__global__ void k() {}", "k.cu", (), options, "PTX"))


def _load_readers() -> None:
    import core.launching.opening  # noqa: F401


def main() -> None:
    """Answers requests from standard input on standard output, until there are no more."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may come between
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    for load in (_load_compiler, _load_readers):
        if requests.empty():
            with contextlib.suppress(Exception):  # whoever needs it is told what is missing
                load()
    gc.freeze()
    while True:
        write_message(out, answer_to(requests.get()))


if __name__ == "__main__":
    main()
