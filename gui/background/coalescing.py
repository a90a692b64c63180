"""Lets through what follows a slider: at once when the work behind it is idle, else the newest."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from gui.background.work import Worker

PATIENCE_MS = 200
MOST_PATIENCE_MS = 2000


class Coalescer(QObject):
    """Emits `released(value)`: the first value at once, then the newest whenever work has ended.

    Several things may be offered, each under a name of its own: the newest value of each is let
    through, in the order in which they began to wait.

    Work that takes long is not waited for: the newest value is let through, and whoever works drops
    the older job. Long is PATIENCE_MS at first, then twice what the last job took; and twice as
    long again each time that a job was dropped, so that some get done on a slow machine too. So
    what is shown follows a slider while it is dragged, and the last value always arrives.
    """

    released = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._busy = False
        self._waiting: dict[Hashable, Any] = {}  # the newest values, by what they are of
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._patience.timeout.connect(self._give_up)
        self._clock = QElapsedTimer()

    def watch(self, worker: Worker) -> None:
        """Wait for the jobs of this worker."""
        worker.started.connect(self._begin)
        worker.idle.connect(self._end)

    def offer(self, value: Any, of: Hashable = None) -> None:
        """Let a value through, now or when there is time for it."""
        self._waiting[of] = value
        if not self._busy:
            self._release()
        elif not self._patience.isActive():
            self._patience.start()

    def drop(self) -> None:
        """Forget what is waiting."""
        self._waiting = {}
        self._patience.stop()

    def _begin(self) -> None:
        self._busy = True
        self._clock.start()

    def _end(self) -> None:
        if self._busy and self._clock.isValid():
            self._wait(2 * self._clock.elapsed())
        self._busy = False
        self._release()

    def _give_up(self) -> None:
        self._wait(2 * self._patience.interval())
        self._release()

    def _wait(self, milliseconds: int) -> None:
        self._patience.setInterval(min(max(milliseconds, PATIENCE_MS), MOST_PATIENCE_MS))

    def _release(self) -> None:
        self._patience.stop()
        waiting, self._waiting = self._waiting, {}
        for value in waiting.values():
            self.released.emit(value)
