"""Work in a process of its own, which is ended at once when its result is not wanted any more.

For what cannot be stopped from within, and what would keep the window's thread waiting for
Python's lock: NVRTC takes minutes for some sources, in one call. One process is kept, with the
compiler loaded, so that asking it costs hardly more than a call. One that was ended, or that had
much to do and holds the memory for it, is replaced by a new one.

What a source asks for may have no end: the work has so much time and so much memory, and the
process ends with the one that it works for, however that ended.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from core.cancelling import check, is_cancellable
from core.errors import TilescopeError, TooMuchWork
from core.side_process.connection import CALL, DONE, Child, ConnectionLost, failure

_P = ParamSpec("_P")
_R = TypeVar("_R")
_ASK_S = 0.02  # how often it is asked whether the result is still wanted
_LOOK_S = 0.2  # how often its time and memory are looked at: asking the system takes its own
_GRACE_S = 0.1
"""What ends so soon after it was cancelled is waited for: a new process takes longer to start."""
_MUCH_S, _MUCH_BYTES = 5.0, 4 << 20
"""A process that took longer, or that was told or answered more, is not kept."""
MOST_S, MOST_WALL_S = 240.0, 480.0
"""Seconds of a processor, and of the clock, after which reading or compiling is given up."""
IDLE_S = 20.0
"""Seconds after which it is given up where no processor works for it: it waits, for a pipe say."""
MOST_BYTES = 4 << 30  # memory that it may take; no more than half of what the machine has


def apart(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """`function(...)` in another process; raises what it raises.

    The function is one of a module, what it takes and returns can be pickled. Raises Cancelled
    as soon as this thread's job is cancelled (`core.cancelling`), TooMuchWork where the work takes
    too long or too much memory, and TilescopeError where the process dies of something else. Where
    no process can be started the work is done in this one.
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
                _kept.renew()
        raise
    took = time.monotonic() - begun
    if answer is not None and took < _MUCH_S and len(request) + len(answer[1]) < _MUCH_BYTES:
        _kept.give_back(process)
    else:
        process.end()
        _kept.renew()
    if answer is None:
        raise process.why_it_died()
    kind, content = answer
    if kind == DONE:
        result: _R = pickle.loads(content)
        return result
    raised = failure(content)
    raise _of_memory() if isinstance(raised, MemoryError) else raised


def stoppable(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """`apart` where this thread's work is a job that may be given up; else done here."""
    return apart(function, *args, **kwargs) if is_cancellable() else function(*args, **kwargs)


def prepare(*ahead: str) -> None:
    """Have a process ready: for a program that will soon ask, and wants to go on meanwhile.

    It and those that replace it load what is named ("module" or "module:function") while they wait.
    """
    _kept.prepare(ahead)


def end_kept() -> None:
    """End the process that is kept; a later call starts another."""
    _kept.end()


class _Process:
    """A process that answers requests, one at a time."""

    def __init__(self, ahead: Sequence[str]) -> None:
        """Raises OSError where it cannot be started."""
        is_posix = os.name == "posix"
        ends_with_us, self._held = os.pipe() if is_posix else (-1, -1)
        numbers = (str(ends_with_us), str(_most_bytes()))
        try:
            self._child = Child(
                [sys.executable, "-P", "-m", "core.side_process.server", *numbers, *ahead],
                pass_fds=(ends_with_us,) if is_posix else (),
            )
        except BaseException:
            self._let_go()
            raise
        finally:
            if is_posix:
                os.close(ends_with_us)
        self._is_asked = False

    @property
    def lives(self) -> bool:
        return self._child.exit_code(0) is None

    def answer(self, request: bytes) -> tuple[bytes, bytes] | None:
        """The frame with which it answers a request, None if it dies of it.

        Raises Cancelled, and TooMuchWork after its time: it is at work then.
        """
        self._is_asked = True
        self._child.send(CALL, request)
        time_of, looked = _Time(self._child), 0.0
        while True:
            check()
            if time.monotonic() - looked > _LOOK_S:
                looked = time.monotonic()
                self._child.look_at_memory()
                time_of.look()
            try:
                frame = self._child.receive(_ASK_S)
            except ConnectionLost:
                return None
            if frame is not None:
                self._is_asked = False
                return frame

    def rests(self, patience: float) -> bool:
        """Whether it has answered, after a little while at most, and can be asked again."""
        if self._is_asked:
            with contextlib.suppress(ConnectionLost):
                self._is_asked = self._child.receive(patience) is None
        return self.lives and not self._is_asked

    def end(self) -> None:
        """End it at once, if it has not by itself, and wait for that."""
        self._child.kill()
        self._let_go()

    def why_it_died(self) -> TilescopeError:
        """Whether it was memory (it was killed, or came near to its limit), or a crash."""
        code = self._child.exit_code(0) or 0
        is_killed = os.name == "posix" and code == -signal.SIGKILL
        most, child = _most_bytes(), self._child
        # What a library reserves and never touches counts to the limit, and not to memory.
        if is_killed or child.used > most // 2 or child.reserved > most // 4 * 3:
            return _of_memory()
        return TilescopeError(
            f"The process that reads and compiles the source crashed (status {code}): a defect of "
            "the compiler, most likely. Find the lines that it stumbles over by leaving parts out."
        )

    def _let_go(self) -> None:
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


class _Time:
    """How long a process has worked on a request, and whether it works at all.

    A busy machine gives it little of a processor: it then has more of the clock.
    """

    def __init__(self, child: Child) -> None:
        self._child = child
        self._begun = self._seen = time.monotonic()
        self._used_before = self._used = child.processor_s()

    def look(self) -> None:
        """Raises TooMuchWork where the time is over."""
        now = time.monotonic()
        used = self._child.processor_s()
        if used is None or self._used_before is None:  # not every system tells
            if now - self._begun > MOST_S:
                raise _too_long(now - self._begun)
            return
        if used != self._used:
            self._used, self._seen = used, now
        if now - self._seen > IDLE_S:
            raise TooMuchWork(
                f"Reading or compiling the source has waited for {IDLE_S:.0f} s without working: "
                "look for an #include or __has_include of a pipe or a device."
            )
        if used - self._used_before > MOST_S or now - self._begun > MOST_WALL_S:
            raise _too_long(now - self._begun)


def _too_long(seconds: float) -> TooMuchWork:
    return TooMuchWork(
        f"Reading or compiling the source stopped after {seconds:.0f} s: look for macros or "
        "templates that grow without end, and for an #include of a pipe or a device."
    )


def _most_bytes() -> int:
    try:
        return min(MOST_BYTES, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    except (AttributeError, ValueError, OSError):  # not every system says
        return MOST_BYTES


class _Kept:
    """The process that waits for the next request, if there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._ahead: Sequence[str] = ()

    def take(self) -> _Process:
        """The waiting process, or a new one. Raises OSError where there is none."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None and not process.lives:
            process.end()
            process = None
        return process or _Process(self._ahead)

    def give_back(self, process: _Process) -> None:
        with self._lock:
            spare, self._process = self._process, process
        if spare is not None:
            spare.end()

    def prepare(self, ahead: Sequence[str]) -> None:
        self._ahead = ahead
        self.renew()

    def renew(self) -> None:
        """Have a process wait, if one can be started: `take` tries again."""
        with self._lock, contextlib.suppress(OSError):
            if self._process is None:
                self._process = _Process(self._ahead)

    def end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end()


_kept = _Kept()
atexit.register(end_kept)


def _of_memory() -> TooMuchWork:
    return TooMuchWork(
        f"Reading or compiling the source takes more than the {_most_bytes() / 1e9:.1f} GB of "
        "memory that it is given here: look for macros or templates that grow beyond measure, or "
        "take a smaller source."
    )
