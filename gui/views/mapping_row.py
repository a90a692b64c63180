"""Which way threadIdx.x runs through the matrices, where a rung has a twin that runs the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QWidget

from core.ladder.orientation import WAYS
from gui.views.segmented import Segmented

if TYPE_CHECKING:
    from core.ladder import Rung

TIPS = {
    "columns": "Neighbouring threads of a warp take neighbouring columns of C",
    "rows": "Neighbouring threads of a warp take neighbouring rows of C",
}


class MappingRow(QWidget):
    """A switch of two ways: `chosen(rung)` names the rung that has the one that was clicked."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.rung: Rung | None = None
        self.label = label = QLabel("x runs along")
        label.setToolTip("What neighbouring values of threadIdx.x choose: the mapping")
        self.ways = Segmented({way: way for way in WAYS}, TIPS)
        self.ways.setAccessibleName("x runs along")
        for way in WAYS:
            self.ways.button(way).setAccessibleName(f"x runs along {way}")
        self.ways.chosen.connect(self._choose)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(4)
        self._row.addWidget(label, 1)
        self._row.addWidget(self.ways)
        self.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the switch below its label where there is no room beside it."""
        super().resizeEvent(event)
        need = self.label.sizeHint().width() + self.ways.sizeHint().width() + self._row.spacing()
        ways = QBoxLayout.Direction
        self._row.setDirection(ways.LeftToRight if need <= self.width() else ways.TopToBottom)

    def minimumSizeHint(self) -> QSize:
        """Room for the wider of the two."""
        return QSize(self.ways.sizeHint().width(), super().minimumSizeHint().height())

    def show_rung(self, rung: Rung | None) -> None:
        """Show a rung's way, without a signal; nothing where there is no other."""
        self.rung = rung
        mapping = rung.mapping if rung is not None else None
        if mapping is not None:
            self.ways.value = mapping.x
        self.setVisible(mapping is not None)

    def _choose(self, way: str) -> None:
        if self.rung is not None and self.rung.mapping is not None:
            for found, name in self.rung.mapping.rungs(self.rung.name).items():
                if found == way and name != self.rung.name:
                    self.chosen.emit(name)
