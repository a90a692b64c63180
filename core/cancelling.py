"""Giving work up: whoever starts a job says how to ask, and the work asks now and then.

What asks need not know of jobs, windows or threads: outside any job nothing is ever cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from core.errors import Cancelled

_never: Callable[[], bool] = lambda: False  # noqa: E731
_asked: ContextVar[Callable[[], bool]] = ContextVar("cancelled", default=_never)


@contextmanager
def cancelled_by(asked: Callable[[], bool]) -> Iterator[None]:
    """Within, in this thread, the work is cancelled as soon as `asked()` is true."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


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
