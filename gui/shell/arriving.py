"""A new trace in the window: shown in several events, none of them long, and painted as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication

from gui.background.pieces import Pieces
from gui.background.still import Still

if TYPE_CHECKING:
    from gui.shell.main_window import MainWindow

INPUT = frozenset(
    {
        QEvent.Type.MouseButtonPress,
        QEvent.Type.MouseButtonDblClick,
        QEvent.Type.Wheel,
        QEvent.Type.KeyPress,
        QEvent.Type.ShortcutOverride,
    }
)


class Arriving(QObject):
    """The stage of one window's turns (`gui.scenes.refresh_queue`).

    Between two of its events the window takes input as ever; whatever is done then finds every view
    up to date.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._main = window
        self._turns = window.session.turns
        self._pieces = Pieces(self)
        self._still = Still(self)
        self._turns.stage = self
        window.closing.connect(self._turns.finish)

    def hold(self, works: Iterator[object]) -> None:
        """Paint nothing until `release`, and do the works in later events."""
        if not self._still:
            floating = [d for d in self._main.step_page.docks.values() if d.isFloating()]
            self._still.hold([self._main, *floating])
            _application().installEventFilter(self)
        self._pieces.start(works)

    def release(self) -> None:
        """Paint again."""
        self._pieces.stop()
        if self._still:
            self._still.release()
            _application().removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Before anything is done by hand, show the rest."""
        if event.type() in INPUT:
            self._turns.finish()
        return False


def _application() -> QApplication:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return app
