"""What waits for the first paint: work in threads would take processor time from it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget

_LONGEST_MS = 1000  # a window that starts minimised is not painted


class AfterFirstPaint(QObject):
    """Calls `act` once, when the window has been painted."""

    def __init__(self, window: QWidget, act: Callable[[], None]) -> None:
        super().__init__(window)
        self._window, self._act = window, act
        self._done = False
        window.installEventFilter(self)
        QTimer.singleShot(_LONGEST_MS, self, self._go)

    def eventFilter(self, _: QObject, event: QEvent) -> bool:
        """The first request to paint is answered right after this."""
        if event.type() == QEvent.Type.UpdateRequest:
            QTimer.singleShot(0, self, self._go)
        return False

    def _go(self) -> None:
        if not self._done:
            self._done = True
            self._window.removeEventFilter(self)
            self._act()
