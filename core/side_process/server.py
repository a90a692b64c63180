"""The process that `core.side_process.client` has work done in: answers one request after another.

It ends with whom it works for, in the midst of any work. That one holds a pipe open; when it is
closed, by whatever end, the system itself sends a signal that ends this process, even while
something here holds Python's lock. Where there are no such signals a thread sees the end of the
standard input.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
from queue import SimpleQueue

from core.side_process.connection import Connection


def _load(name: str) -> None:
    """Import a module, and call a function of it where the name has one: "module:function"."""
    module, _, function = name.partition(":")
    loaded = importlib.import_module(module)
    if function:
        getattr(loaded, function)()


def _end_with(pipe: int) -> None:
    """Have the system end this process when the other end of a pipe is closed."""
    import fcntl
    import select

    signal.signal(signal.SIGIO, signal.SIG_DFL)  # which is to end
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([pipe], [], [], 0)[0]:  # it was closed before
        os._exit(0)


def _limit_memory(most: int) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    known = [limit for limit in (soft, hard, most) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))


def main() -> None:
    """Answers requests from standard input on standard output, until there are no more.

    The command line says which pipe is held open, how many bytes of memory may be taken, and what
    to load while nobody asks anything.
    """
    pipe, most = map(int, sys.argv[1:3])
    ahead = sys.argv[3:]
    if os.name == "posix":
        _end_with(pipe)
        _limit_memory(most)
    requests: SimpleQueue[bytes] = SimpleQueue()
    connection = Connection(lambda _, payload: requests.put(payload), lambda: os._exit(0))
    while True:
        while ahead and requests.empty():
            with contextlib.suppress(Exception):  # whoever needs it is told what is missing
                _load(ahead.pop(0))
            gc.freeze()
        connection.carry_out(requests.get())


if __name__ == "__main__":
    main()
