"""Watches what the UI thread does: how long each event keeps it busy, painting apart."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication

PAINTING = (QEvent.Type.Paint, QEvent.Type.UpdateRequest)


@dataclass
class Burden:
    """The UI thread's processor time, in seconds: the longest single work, and all of it."""

    longest: float = 0.0
    culprit: str = ""
    work: float = 0.0
    painting: float = 0.0
    longest_painting: float = 0.0


@dataclass
class _Level:
    """An event that is being handled, and the processor time of what was handled inside it."""

    started: float
    inside: float = 0.0
    painted: float = field(default=0.0)


class WatchedApplication(QApplication):
    """Measures every event that is handled while `burden` is set.

    What counts as work of an event is its own time less what it painted; an event inside another
    belongs to the outer one.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__(list(argv))
        self.burden: Burden | None = None
        self._levels: list[_Level] = []

    def watch(self) -> Burden:
        """Begin anew; the result is filled until `rest` is called."""
        self.burden = Burden()
        return self.burden

    def rest(self) -> None:
        """Measure no more."""
        self.burden = None

    def run(self, name: str, work: object) -> None:
        """Count a call, such as a slot that a script calls, as if an event had brought it."""
        assert callable(work)
        self._levels.append(_Level(time.thread_time()))
        work()
        self._close(name, painting=False)

    def notify(self, receiver: QObject, event: QEvent) -> bool:
        """Handle an event, and measure it."""
        if self.burden is None or receiver.thread() is not self.thread():
            return super().notify(receiver, event)
        kind = event.type()
        if self._levels and kind not in PAINTING:  # asking for the time is not cheap everywhere
            return super().notify(receiver, event)
        name = f"{kind.name} of {type(receiver).__name__}"
        self._levels.append(_Level(time.thread_time()))
        try:
            return super().notify(receiver, event)
        finally:
            self._close(name, painting=kind in PAINTING)

    def _close(self, name: str, *, painting: bool) -> None:
        level = self._levels.pop()
        spent = time.thread_time() - level.started
        painted = spent if painting else level.painted
        if self._levels:
            self._levels[-1].painted += painted
            return
        burden = self.burden
        if burden is None:
            return
        work = spent - painted
        burden.work += work
        burden.painting += painted
        burden.longest_painting = max(burden.longest_painting, painted)
        if work > burden.longest:
            burden.longest, burden.culprit = work, name
