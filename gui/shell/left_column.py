"""The left column: it hides where the window is narrow for its type, until it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton

from gui.docks.dock_area import units
from gui.looks.theme import current_theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gui.commands.window import Window

LEAST, USUAL, MOST = 22, 31, 60  # widths of the column, in digits
ROOM = 126  # digits: in a narrower window the views need the left column's room
HANDLE = 16  # pixels


class LeftColumn(QObject):
    """Shows the column by the room there is until somebody shows or hides it.

    While it is hidden, a narrow button at its place brings it back.
    """

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.main = window
        self.by_hand = False
        self.button = button = QToolButton()
        button.setText("›")
        button.setProperty("role", "action")
        button.setFixedWidth(HANDLE)
        button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setToolTip("Show the kernels and the configuration (Ctrl+B)")
        button.setAccessibleName("Show the left column")
        button.clicked.connect(self.toggle)
        button.hide()
        window.installEventFilter(self)
        window.left.installEventFilter(self)
        window.session.large_changed.connect(lambda _: QTimer.singleShot(0, self, self._back))

    def beside(self, body: QWidget) -> QHBoxLayout:
        """The window's body with the button left of it."""
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self.button)
        row.addWidget(body, 1)
        return row

    def kept(self, width: int) -> int:
        """The width to be kept for the next start: 0 if somebody hid it, -1 for want of room."""
        return width or (0 if self.by_hand else -1)

    def restore(self, width: int) -> None:
        """Take up a kept width."""
        self.by_hand = width == 0
        if self.by_hand:
            self.main.left.hide()
        else:
            self.follow()

    def toggle(self) -> None:
        """Show or hide the column; from now on it stays so."""
        self.by_hand = True
        self.main.left.setVisible(self.main.left.isHidden())

    def restyle(self) -> None:
        """Take up the theme's type."""
        digit = QFontMetrics(current_theme().font()).horizontalAdvance("0")
        width = self.main.width()
        self.main.left.setMinimumWidth(LEAST * digit)
        self.main.left.setMaximumWidth(MOST * digit)
        left = min(USUAL * digit, width // 5)
        body = self.main.body
        if not self.main.left.isHidden():
            body.setSizes([left, max(body.width() - body.handleWidth() - left, 1)])
        self.follow()

    def follow(self) -> None:
        """Show or hide the column by the window's width; after a change of size or of type."""
        if self.by_hand or self.main.session.large or self.main.overlay is not None:
            return
        wide = self.main.width() >= ROOM * units()[0]
        if wide == self.main.left.isHidden():
            self.main.left.setVisible(wide)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the window's size; offer the button while the column is hidden."""
        kind = event.type()
        if watched is self.main and kind == QEvent.Type.Resize:
            self.follow()
        elif watched is not self.main and kind in (QEvent.Type.Hide, QEvent.Type.Show):
            self._offer()
        return super().eventFilter(watched, event)

    def _back(self) -> None:
        """After one view alone: the room may be another."""
        self.follow()
        self._offer()

    def _offer(self) -> None:
        self.button.setVisible(self.main.left.isHidden() and not self.main.session.large)
