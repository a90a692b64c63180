"""A text on a plot with a rim in the ground's colour: legible over lines, which stay whole."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath

from gui.views.plotting import pg

_RIM = 2.0  # pixels around each letter


class HaloText(pg.TextItem):
    """One line of text; the rest as with pyqtgraph's own."""

    def __init__(
        self, text: str, color: QColor, rim: QColor, font: QFont, anchor: tuple[float, float],
        angle: float = 0,
    ) -> None:  # fmt: skip
        super().__init__(text, color=color, anchor=anchor, angle=angle)
        self._rim = rim
        self.setFont(font)
        margin = self.textItem.document().documentMargin()
        self._letters = QPainterPath()
        self._letters.addText(QPointF(margin, margin + QFontMetricsF(font).ascent()), font, text)

    def paint(self, painter: QPainter, *others: object) -> None:
        """Draw the rim; the letters are a child's."""
        super().paint(painter, *others)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        pen = pg.mkPen(self._rim, width=2 * _RIM)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        painter.drawPath(self.textItem.mapToParent(self._letters))
