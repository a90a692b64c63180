"""Work in a process of its own, which is ended at once when its result is not wanted any more.

For what cannot be stopped from within, and what would keep the window's thread waiting for
Python's lock: NVRTC takes minutes for some sources, in one call. One process is kept, with the
compiler loaded, so that asking it costs hardly more than a call. One that was ended, or that had
much to do and holds the memory for it, is replaced by a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from core.apart_process import read_message, write_message
from core.cancelling import check
from core.errors import TilescopeError

_P = ParamSpec("_P")
_R = TypeVar("_R")
_ASK_S = 0.02  # how often it is asked whether the result is still wanted
_GRACE_S = 0.1
"""What ends so soon after it was cancelled is waited for: a new process takes longer to start."""
_MUCH_S, _MUCH_BYTES = 5.0, 4 << 20
"""A process that took longer, or that was told or answered more, is not kept."""


def apart(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """`function(...)` in another process; raises what it raises.

    The function is one of a module, what it takes and returns can be pickled. Raises Cancelled
    as soon as this thread's job is cancelled (`core.cancelling`), and TilescopeError where the
    process dies. Where no process can be started the work is done in this one.
    """
    check()
    try:
        process = _kept.take()
    except OSError:
        return function(*args, **kwargs)
    begun = time.monotonic()
    try:
        request = pickle.dumps((function, args, kwargs), protocol=5)
        answer = process.answer(request)
    except BaseException as error:
        if process.rests(_GRACE_S):
            _kept.give_back(process)
        else:
            process.end()
            if isinstance(error, Exception):  # whoever presses Ctrl-C asks nothing more
                prepare()
        raise
    took, size = time.monotonic() - begun, len(request) + len(answer)
    if answer and took < _MUCH_S and size < _MUCH_BYTES:
        _kept.give_back(process)
        code = 0
    else:
        code = process.end()
        prepare()
    result: _R = _result(answer, code)
    return result


def prepare() -> None:
    """Have a process ready: for a program that will soon ask, and wants to go on meanwhile."""
    with contextlib.suppress(OSError):  # `apart` gets on without
        _kept.prepare()


def end_kept() -> None:
    """End the process that is kept; a later call starts another."""
    _kept.end()


class _Process:
    """A process that answers requests, one at a time."""

    def __init__(self) -> None:
        """Raises OSError where it cannot be started."""
        root = str(Path(__file__).resolve().parents[1])
        path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "core.apart_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=os.name == "posix",  # Ctrl-C in a terminal goes to the whole group
        )
        self._talk: threading.Thread | None = None

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def answer(self, request: bytes) -> bytes:
        """What it says to a request, b"" if it dies of it. Raises Cancelled: it is at work then."""
        heard: SimpleQueue[bytes] = SimpleQueue()
        self._talk = threading.Thread(
            target=self._ask, args=(request, heard), name="apart", daemon=True
        )
        self._talk.start()
        while True:
            check()
            with contextlib.suppress(Empty):
                return heard.get(timeout=_ASK_S)

    def rests(self, patience: float) -> bool:
        """Whether it has answered, after a little while at most, and can be asked again."""
        if self._talk is not None:
            self._talk.join(patience)
        return self.lives and (self._talk is None or not self._talk.is_alive())

    def _ask(self, request: bytes, heard: SimpleQueue[bytes]) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = b""
        with contextlib.suppress(OSError, ValueError):  # it has died, or was ended
            write_message(self._process.stdin, request)
            answer = read_message(self._process.stdout)
        heard.put(answer)

    def end(self) -> int:
        """End it at once, if it has not by itself, and wait for that; its status."""
        process = self._process
        process.kill()
        code = process.wait()
        if self._talk is not None:
            self._talk.join()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was not sent cannot be any more
                if pipe is not None:
                    pipe.close()
        return code


class _Kept:
    """The process that waits for the next request, if there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: _Process | None = None

    def take(self) -> _Process:
        """The waiting process, or a new one. Raises OSError where there is none."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None and not process.lives:
            process.end()
            process = None
        return process or _Process()

    def give_back(self, process: _Process) -> None:
        with self._lock:
            spare, self._process = self._process, process
        if spare is not None:
            spare.end()

    def prepare(self) -> None:
        with self._lock:
            if self._process is None:
                self._process = _Process()

    def end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end()


_kept = _Kept()
atexit.register(end_kept)


def _result(answer: bytes, code: int) -> Any:
    if not answer:
        raise TilescopeError(
            f"The process that read or compiled the source ended by itself (status {code}): the "
            "source may be too large for this machine's memory. Take a smaller one."
        )
    is_result, content = pickle.loads(answer)
    if is_result:
        return content
    kind, args, fields = content
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    raise error
