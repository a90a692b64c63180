"""Giving work up: whoever starts a job says how to ask, and the work asks now and then.

The code that asks need not know of jobs, windows or threads: outside any job nothing is cancelled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from core.errors import Cancelled, TilescopeError, TooMuchWork

_never: Callable[[], bool] = lambda: False  # noqa: E731
_asked: ContextVar[Callable[[], bool]] = ContextVar("cancelled", default=_never)


@contextmanager
def cancelled_by(asked: Callable[[], bool]) -> Iterator[None]:
    """Within, in this thread, the work is cancelled as soon as `asked()` is true.

    Work that is part of a larger job is cancelled with that job as well.
    """
    whole = _asked.get()
    token = _asked.set(asked if whole is _never else lambda: asked() or whole())
    try:
        yield
    finally:
        _asked.reset(token)


class PassingOverMistakes:
    """Within, a user's mistake ends the block, and nothing is said of it.

    Work that is given up stays given up, and mistakes of the kinds in `but` are raised.
    """

    def __init__(self, *but: type[TilescopeError]) -> None:
        self._raised: tuple[type[TilescopeError], ...] = (Cancelled, TooMuchWork, *but)

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        if kind is None or not issubclass(kind, TilescopeError):
            return False
        return not issubclass(kind, self._raised)


@contextmanager
def within(seconds: float, otherwise: str) -> Iterator[None]:
    """Gives the work up after so many seconds, and raises Cancelled with the sentence `otherwise`.

    Work that is cancelled for another reason raises what `check` does.
    """
    end = time.monotonic() + seconds
    try:
        with cancelled_by(lambda: time.monotonic() > end):
            yield
    except Cancelled:
        check()
        raise Cancelled(otherwise) from None


def is_cancellable() -> bool:
    """Whether this thread's work is a job that may be given up."""
    return _asked.get() is not _never


def is_cancelled() -> bool:
    """Whether nobody wants the result of this thread's work any more."""
    return _asked.get()()


def check() -> None:
    """Raises Cancelled where the work is; for the midst of long work, every few milliseconds."""
    if is_cancelled():
        raise Cancelled("Stopped.")
