"""Small drawing tools that the painted views share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from gui.looks.theme import Theme

CENTRE = Qt.AlignmentFlag.AlignCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_WHOLE = int(Qt.TextFlag.TextDontClip)


def pen(color: QColor, width: float = 1.0, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> QPen:
    """A pen with square joins, so that frames have sharp corners."""
    result = QPen(color, width, style)
    result.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    return result


def hatch(color: QColor) -> QBrush:
    """Diagonal lines: what is fetched but not used, or not yet written."""
    return QBrush(color, Qt.BrushStyle.BDiagPattern)


TINY = 3.0  # pixels: smaller than this, a rectangle without smoothed edges may vanish
LOOKED_AT = 64


def fill(painter: QPainter, rects: Sequence[QRectF], brush: QBrush | QColor) -> None:
    """Fill many rectangles with one brush in one call.

    Edges are put on whole pixels where the rectangles are not tiny: smoothing them takes many times
    as long.
    """
    if not rects:
        return
    hint = QPainter.RenderHint.Antialiasing
    smooth = painter.testRenderHint(hint)
    tiny = any(r.width() < TINY or r.height() < TINY for r in rects[:LOOKED_AT])
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(brush)
    painter.setRenderHint(hint, smooth and tiny)
    painter.drawRects(list(rects))
    painter.setRenderHint(hint, smooth)


def frame(painter: QPainter, rects: Sequence[QRectF], stroke: QPen) -> None:
    """Outline many rectangles with one pen in one call."""
    if rects:
        painter.setPen(stroke)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRects(list(rects))


def inset(rect: QRectF, by: float) -> QRectF:
    """The rectangle made smaller by `by` on every side (larger where negative)."""
    return rect.adjusted(by, by, -by, -by)


def text(
    painter: QPainter,
    rect: QRectF,
    words: str,
    color: QColor,
    font: QFont,
    align: Qt.AlignmentFlag = CENTRE,
    *,
    elide: bool = True,
) -> None:
    """One line of text in a rectangle, cut with an ellipsis where it does not fit."""
    painter.setFont(font)
    painter.setPen(color)
    if elide:
        metrics = QFontMetricsF(font)
        if metrics.horizontalAdvance(words) > rect.width():
            words = metrics.elidedText(words, Qt.TextElideMode.ElideRight, rect.width())
    painter.drawText(rect, int(align) | _WHOLE, words)


Placed = tuple[QRectF, str]
"""A text and the rectangle that it stands in."""


def texts(
    painter: QPainter,
    places: Iterable[Placed],
    color: QColor,
    font: QFont,
    align: Qt.AlignmentFlag = CENTRE,
) -> None:
    """Many short texts of one colour and font; none is cut."""
    painter.setFont(font)
    painter.setPen(color)
    flags = int(align) | _WHOLE
    for rect, words in places:
        painter.drawText(rect, flags, words)


def shortest_fit(choices: Sequence[str], font: QFont, width: float) -> str:
    """The first of the choices that is no wider than `width`, else none."""
    metrics = QFontMetricsF(font)
    return next((c for c in choices if metrics.horizontalAdvance(c) <= width), "")


def upright_text(
    painter: QPainter, rect: QRectF, words: str, color: QColor, font: QFont, align: Qt.AlignmentFlag
) -> None:
    """Text that reads from bottom to top; `align` is as if the rectangle lay on its side."""
    upright_texts(painter, [(rect, words)], color, font, align)


def upright_texts(
    painter: QPainter,
    places: Iterable[Placed],
    color: QColor,
    font: QFont,
    align: Qt.AlignmentFlag,
) -> None:
    """Many texts that read from bottom to top: turning the painter for each takes too long."""
    painter.save()
    painter.rotate(-90)
    turned = [
        (QRectF(-rect.bottom(), rect.left(), rect.height(), rect.width()), words)
        for rect, words in places
    ]
    texts(painter, turned, color, font, align)
    painter.restore()


def fitting(font: QFont, sample: str, width: float) -> QFont:
    """The font, smaller if need be, so that `sample` is no wider than `width`."""
    needs = QFontMetricsF(font).horizontalAdvance(sample)
    if needs > width:
        font = QFont(font)
        font.setPointSizeF(max(font.pointSizeF() * width / needs, 1.0))
    return font


def link(start: QPointF, end: QPointF) -> QPainterPath:
    """A curve between two points that leaves and arrives vertically."""
    path = QPainterPath(start)
    middle = (start.y() + end.y()) / 2
    path.cubicTo(QPointF(start.x(), middle), QPointF(end.x(), middle), end)
    return path


def blend(below: QColor, above: QColor, strength: float) -> QColor:
    """Two opaque colours mixed: 0 gives the one below, 1 the one above."""
    return QColor.fromRgbF(
        *(
            b + (a - b) * strength
            for b, a in zip(below.getRgbF()[:3], above.getRgbF()[:3], strict=True)  # type: ignore
        )
    )


def text_on(background: QColor) -> QColor:
    """Near-black or white, whichever is read better on the background."""
    light = 0.2126 * background.redF() + 0.7152 * background.greenF() + 0.0722 * background.blueF()
    dark_ink = QColor("#10151d")
    return dark_ink if light > 0.45 else QColor("#ffffff")


@dataclass(frozen=True)
class Figure:
    """A number worth a large type: its label, itself, and what it is to be compared with."""

    label: str
    value: str
    note: str = ""
    meaning: str = "text"
    short: str = ""
    """The note where there is little room."""


def draw_figures(painter: QPainter, box: QRectF, figures: Iterable[Figure], theme: Theme) -> None:
    """Figures side by side, the spare width between them; notes go where there is none."""
    small, large = theme.font("small"), theme.font("body", bold=True)
    large.setPointSizeF(theme.sizes.body * 1.45)
    narrow, wide = QFontMetricsF(small), QFontMetricsF(large)
    figures = list(figures)

    def need(figure: Figure) -> float:
        note = narrow.horizontalAdvance(figure.note) + 6 if figure.note else 0.0
        return max(
            narrow.horizontalAdvance(figure.label), wide.horizontalAdvance(figure.value) + note
        )

    for shortest in (False, True):
        if sum(map(need, figures)) + 8 * (len(figures) - 1) > box.width():
            figures = [replace(f, note=f.short if not shortest else "") for f in figures]
    needs = [need(figure) for figure in figures]
    space = max(8.0, (box.width() - sum(needs)) / max(1, len(figures)))
    space = min(space, 40.0)
    left = box.left()
    for figure, width in zip(figures, needs, strict=True):
        top = QRectF(left, box.top(), width, narrow.height())
        text(painter, top, figure.label, theme.color("text_dim"), small, LEFT, elide=False)
        baseline = top.bottom() + wide.ascent() + 1
        painter.setFont(large)
        painter.setPen(theme.color(figure.meaning))
        painter.drawText(QPointF(left, baseline), figure.value)
        painter.setFont(small)
        painter.setPen(theme.color("text_dim"))
        after = left + wide.horizontalAdvance(figure.value) + 6
        painter.drawText(QPointF(after, baseline), figure.note)
        left += width + space


def figures_height(theme: Theme) -> float:
    """The height that `draw_figures` takes."""
    large = theme.font("body", bold=True)
    large.setPointSizeF(theme.sizes.body * 1.45)
    return QFontMetricsF(theme.font("small")).height() + QFontMetricsF(large).height() + 2


def nothing(painter: QPainter, box: QRectF, words: str, theme: Theme) -> None:
    """Say in the middle of an empty view why it is empty."""
    painter.setFont(theme.font())
    painter.setPen(theme.color("text_dim"))
    painter.drawText(box, int(CENTRE) | Qt.TextFlag.TextWordWrap, words)
