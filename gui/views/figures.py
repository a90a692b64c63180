"""Two panels in one place: above each other where there is room, otherwise one at a time."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from gui.views.base import Panel
from gui.views.segmented import Segmented

ROOM_FOR_BOTH = 34  # lines of text


class Figures(QWidget):
    """Shows both panels when tall, and a switch between them when not."""

    def __init__(self, *panels: Panel) -> None:
        super().__init__()
        self.panels = panels
        self.switch = Segmented({p.heading.text(): p.heading.text() for p in panels})
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setHandleWidth(8)
        self.splitter.setChildrenCollapsible(False)
        for panel in panels:
            self.splitter.addWidget(panel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.splitter)
        self.switch.chosen.connect(lambda _: self._arrange())
        self._arrange()

    @property
    def both(self) -> bool:
        """Whether there is room for both panels."""
        return self.height() > ROOM_FOR_BOTH * self.fontMetrics().lineSpacing()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show one or both."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        both = self.both
        for panel in self.panels:
            chosen = panel.heading.text() == self.switch.value
            panel.heading.setVisible(both)
            panel.setVisible(both or chosen)
            if chosen and not both and panel.row.indexOf(self.switch) < 0:
                panel.row.insertWidget(0, self.switch)
        self.switch.setVisible(not both)
