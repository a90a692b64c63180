"""Long work on the UI thread, done piece by piece between the window's other events.

Work is an iterator: each `next` does a piece of a few milliseconds. A generator that yields
after each piece is one, and `whole` does all of it for whoever cannot wait.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal

SLICE_S = 0.002  # after so long the window's other events have their turn


@dataclass(frozen=True)
class Wait:
    """A piece that gives this lets other events have their turn, for so long at least."""

    ms: int = 0


PAUSE = Wait()
Steps = Generator[Any, None, None]
"""A work that is done piece by piece; what it yields counts only if it is a `Wait`."""

Result = TypeVar("Result")


def whole(work: Generator[object, None, Result]) -> Result:
    """Do everything at once; gives what the generator returns."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result


class Pieces(QObject):
    """Does one work at a time; `done()` is emitted after its last piece.

    What a piece raises goes to whoever handles exceptions of the event loop; the pieces after it
    are still done (a generator has none).
    """

    done = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._work: Iterator[object] | None = None
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._go_on)

    @property
    def busy(self) -> bool:
        """Whether there is something left to do."""
        return self._work is not None

    def start(self, work: Iterator[object], *, waits_ms: int = 0) -> None:
        """Begin a work, in place of what is under way; `waits_ms` from now."""
        self.stop()
        self._work = work
        self._timer.start(waits_ms)

    def finish(self) -> None:
        """Do at once what is left."""
        while self._work is not None:
            self._next()

    def stop(self) -> None:
        """Leave what is left undone."""
        self._timer.stop()
        work, self._work = self._work, None
        if isinstance(work, Generator):
            work.close()

    def _go_on(self) -> None:
        self._timer.setInterval(0)
        end = time.perf_counter() + SLICE_S
        while self._work is not None and time.perf_counter() < end:
            given = self._next()
            if isinstance(given, Wait):
                self._timer.setInterval(given.ms)
                return

    def _next(self) -> object:
        assert self._work is not None
        try:
            return next(self._work)
        except StopIteration:
            self._timer.stop()
            self._work = None
            self.done.emit()
            return None


def stop_below(parent: QObject) -> None:
    """Have nothing done later by what belongs to `parent`: its works in pieces, and its timers."""
    for pieces in parent.findChildren(Pieces):
        pieces.stop()
    for timer in parent.findChildren(QTimer):
        timer.stop()
