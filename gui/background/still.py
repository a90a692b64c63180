"""Keeps windows unpainted while several events make up one change.

What is to be painted is remembered by Qt and painted together when a window is let go, as with a
slower screen. `setUpdatesEnabled` would not do: Qt may forget then that there is something to paint
if a window was to be painted just before.
"""

from __future__ import annotations

from collections.abc import Iterable

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtWidgets import QWidget

_HOLDERS = "tilescope_holders"  # the property of a window that counts them
_UPDATE = QEvent.Type.UpdateRequest


class Still(QObject):
    """One that holds windows. Several may: a window is painted when the last has let it go."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._held: list[QWidget] = []

    def __bool__(self) -> bool:
        """Whether anything is held."""
        return bool(self._held)

    def hold(self, windows: Iterable[QWidget]) -> None:
        """Paint these windows no more, until `release`."""
        for window in windows:
            if not any(window is held for held in self._held):
                self._held.append(window)
                window.setProperty(_HOLDERS, _holders(window) + 1)
                window.installEventFilter(self)

    def release(self) -> None:
        """Let them be painted, unless another holds them too."""
        held, self._held = self._held, []
        for window in held:
            if shiboken6.isValid(window):
                window.removeEventFilter(self)
                window.setProperty(_HOLDERS, _holders(window) - 1)
                low = Qt.EventPriority.LowEventPriority.value
                QCoreApplication.postEvent(window, QEvent(_UPDATE), low)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Put off the painting of what is held."""
        return event.type() == _UPDATE and watched in self._held


def is_still(window: QWidget) -> bool:
    """Whether a window is held by anybody."""
    return bool(_holders(window))


def _holders(window: QWidget) -> int:
    return int(window.property(_HOLDERS) or 0)
