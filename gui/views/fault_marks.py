"""The mark of an illegal access in every view: a cross in a frame, in the colour of errors.

The cross tells it from other marks where colours do not.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPainterPath

from gui.looks.theme import Theme
from gui.views.painting import fill, frame, inset, pen

CROSS_FROM = 5.0  # pixels: in less a cross is a blot
COLOR = "error"


def crossed_out(painter: QPainter, theme: Theme, rects: Sequence[QRectF]) -> None:
    """Mark rectangles as what an illegal access wanted."""
    if not rects:
        return
    fill(painter, rects, theme.tint(COLOR, 0.16))
    stroke = pen(theme.color(COLOR), 1.4)
    frame(painter, [inset(r, 0.5) for r in rects], stroke)
    cross = QPainterPath()
    for r in rects:
        if min(r.width(), r.height()) >= CROSS_FROM:
            cross.moveTo(inset(r, 0.5).topLeft())
            cross.lineTo(inset(r, 0.5).bottomRight())
            cross.moveTo(inset(r, 0.5).topRight())
            cross.lineTo(inset(r, 0.5).bottomLeft())
    painter.setPen(stroke)
    painter.drawPath(cross)
