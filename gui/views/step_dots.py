"""A row of dots, one for each question: what became of it, and which one is asked."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.looks.theme import current_theme

MOST = 9.0  # pixels of a dot's diameter
MARKS = {"right": "ideal", "near": "warning", "wrong": "error"}


class StepDots(QWidget):
    """`chosen(place)` when a dot is clicked."""

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.count, self.at = 0, 0
        self.marks: Mapping[int, str] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip("The questions: a click goes to one")

    def show_places(self, count: int, at: int, marks: Mapping[int, str]) -> None:
        """Show so many questions; `marks` by place."""
        self.count, self.at, self.marks = count, at, dict(marks)
        right = sum(mark == "right" for mark in marks.values())
        self.setAccessibleName(f"Question {at + 1} of {count}, {right} right so far")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, 16)

    def _pitch(self) -> float:
        return min(self.width() / max(self.count, 1), 1.9 * MOST)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = int(event.position().x() / max(self._pitch(), 1e-9))
        if 0 <= place < self.count:
            self.chosen.emit(place)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A filled dot for an answer, a ring for none; a larger ring is where one is."""
        theme, painter = current_theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pitch = self._pitch()
        size = min(MOST, 0.62 * pitch)
        for place in range(self.count):
            middle = QPointF((place + 0.5) * pitch, self.height() / 2)
            mark = self.marks.get(place)
            color = theme.color(MARKS.get(mark or "", "border"))
            painter.setPen(QPen(color, 1.5))
            painter.setBrush(color if mark else Qt.BrushStyle.NoBrush)
            painter.drawEllipse(middle, size / 2 - 1, size / 2 - 1)
            if place == self.at:
                painter.setPen(QPen(theme.color("accent"), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawEllipse(middle, size / 2 + 1.5, size / 2 + 1.5)
