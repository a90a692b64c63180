"""Rows of fields that scroll where there is no room for all of them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QSizePolicy, QWidget

from gui.looks.theme import current_theme


class Fields(QScrollArea):
    """The rows of fields: as high as they are, and scrolled where there is no room for that."""

    LEAST = 2  # rows that are always in sight

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._grid: QGridLayout | None = None

    def take(self, body: QWidget | None, grid: QGridLayout | None = None) -> None:
        """Show the rows of a grid in place of those there are, which go away; or nothing."""
        self._grid = grid
        if body is not None:
            self.setWidget(body)
            body.installEventFilter(self)
        elif (shown := self.takeWidget()) is not None:
            shown.deleteLater()

    def sizeHint(self) -> QSize:
        """Room for every row."""
        return QSize(120, self._height())

    def minimumSizeHint(self) -> QSize:
        """Room for a few."""
        least = self.LEAST * round(1.6 * current_theme().spacing.control)
        return QSize(80, min(least, self._height()))

    def _height(self) -> int:
        """What the rows need beside a scroll bar, so that there is room enough to do without."""
        if self._grid is None:
            return 0
        bar = self.verticalScrollBar().sizeHint().width()
        room = max(self.width() - bar, 80)
        return max(self._grid.totalHeightForWidth(room), self._grid.totalSizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ask for another height when the rows change theirs."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)
