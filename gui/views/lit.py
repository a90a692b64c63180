"""The right answer beside the learner's own: two shapes in two colours, and their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath

from gui.looks.theme import Theme
from gui.scenes.asking import Lit, Pick
from gui.views.drawing_tools import LEFT, frame, inset, pen, text

RIGHT, WRONG, CHOSEN = "ideal", "store", "accent"
"""Colours of what is right, of what was wrong, and of what is chosen before the answer is given."""
BADGE = 13.0  # pixels of the mark at a corner
LEAST = 7.0  # pixels: a smaller thing has no room for a mark


def marks_of(lit: Lit) -> dict[Pick, tuple[str, str]]:
    """The colour and the mark of each thing that is lit."""
    if not lit.right:
        return dict.fromkeys(lit.given, (CHOSEN, "chosen"))
    found = dict.fromkeys(lit.given, (WRONG, "wrong"))
    return {**found, **dict.fromkeys(lit.right, (RIGHT, "right"))}


def draw_lit(
    painter: QPainter, theme: Theme, places: Iterable[tuple[Pick, Sequence[QRectF]]], lit: Lit
) -> None:
    """Mark the rectangles of each thing: a tick where it is right, a cross where it was wrong."""
    marks = marks_of(lit)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for pick, rects in places:
        if pick not in marks:
            continue
        color, shape = marks[pick]
        line = Qt.PenStyle.DashLine if shape == "wrong" else Qt.PenStyle.SolidLine
        outer = [inset(rect, -1.0) for rect in rects]
        frame(painter, outer, pen(theme.color("panel"), 5))
        frame(painter, outer, pen(theme.color(color), 2.6, line))
        for rect in outer:
            if min(rect.width(), rect.height()) >= LEAST:
                corner = QPointF(rect.right() - 2, rect.top() + 2)
                draw_mark(painter, theme, corner, color, shape, min(BADGE, rect.height()))
    painter.restore()


def draw_mark(
    painter: QPainter, theme: Theme, centre: QPointF, color: str, shape: str, size: float
) -> None:
    """A disc with a tick, a square with a cross, or a disc: shapes that no colour is needed for."""
    half = size / 2
    box = QRectF(centre.x() - half, centre.y() - half, size, size)
    painter.setPen(pen(theme.color("panel"), 1))
    painter.setBrush(theme.color(color))
    if shape == "wrong":
        painter.drawRect(box)
    else:
        painter.drawEllipse(box)
    path = QPainterPath()
    if shape == "right":
        path.moveTo(centre.x() - 0.24 * size, centre.y())
        path.lineTo(centre.x() - 0.05 * size, centre.y() + 0.2 * size)
        path.lineTo(centre.x() + 0.27 * size, centre.y() - 0.2 * size)
    elif shape == "wrong":
        for sign in (-1, 1):
            path.moveTo(centre.x() - 0.22 * size, centre.y() - sign * 0.22 * size)
            path.lineTo(centre.x() + 0.22 * size, centre.y() + sign * 0.22 * size)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(pen(theme.color("panel"), max(1.2, 0.13 * size)))
    painter.drawPath(path)
    painter.setBrush(Qt.BrushStyle.NoBrush)


def draw_lit_legend(painter: QPainter, box: QRectF, theme: Theme, lit: Lit) -> None:
    """A line that names both answers, each behind its mark, over whatever lies there."""
    parts = [("right", RIGHT, lit.words("right")), ("wrong", WRONG, lit.words("given"))]
    if not lit.right:
        parts = [("chosen", CHOSEN, lit.words("given"))]
    elif set(lit.given) <= set(lit.right):
        parts[1] = ("right", RIGHT, lit.words("given"))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    font = theme.font("small", bold=True)
    metrics = QFontMetricsF(font)
    painter.fillRect(box, theme.color("panel"))
    left, size = box.left() + 4, min(BADGE, box.height() - 2)
    for shape, color, words in parts:
        if not words:
            continue
        centre = QPointF(left + size / 2, box.center().y())
        draw_mark(painter, theme, centre, color, shape, size)
        left += size + 5
        room = max(min(metrics.horizontalAdvance(words) + 2, box.right() - left), 0.0)
        area = QRectF(left, box.top(), room, box.height())
        text(painter, area, words, theme.color("text"), font, LEFT)
        left += room + 16
    painter.restore()


def legend_box(box: QRectF, theme: Theme) -> QRectF:
    """Where the line stands in a view: along its lower edge."""
    line = QFontMetricsF(theme.font("small", bold=True)).height() + 10
    return QRectF(box.left(), box.bottom() - line, box.width(), line)
