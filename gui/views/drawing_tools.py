"""Drawing that the painted views share: rectangles, texts, kept pictures, figures, legends."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QPainter,
    QPainterPath,
    QPen,
    QPixmap,
    QStaticText,
)

from core.emulator.events import Ints
from gui.looks.theme import Theme, current_theme
from gui.pictures import is_vector
from gui.scenes.arrays_as_grids import Rect, rectangles

CENTRE = Qt.AlignmentFlag.AlignCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_UNCUT = int(Qt.TextFlag.TextDontClip)


def pen(color: QColor, width: float = 1.0, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> QPen:
    """A pen with square joins, so that frames have sharp corners."""
    result = QPen(color, width, style)
    result.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    return result


def hatch(color: QColor) -> QBrush:
    """Diagonal lines: what is fetched but not used, or not yet written."""
    return QBrush(color, Qt.BrushStyle.BDiagPattern)


AWAY = 0.55  # strength of the colour that hatches what copies are on their way to

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


@dataclass(frozen=True)
class Cells:
    """Cells of one size in rows and columns: where they lie in whole pixels.

    `left` and `top` are the corner of cell (0, 0), `wide` and `high` a cell's sides, in pixels.
    """

    left: float
    top: float
    wide: float
    high: float

    def rect(self, part: Rect, least: float = 0.0) -> QRectF:
        """A part (row, column, rows, columns), at least `least` wide and high about its middle."""
        row, column, rows, columns = part
        x, y, wide, high = self.left, self.top, self.wide, self.high
        left, right = _whole(x + wide * column, x + wide * (column + columns), least)
        top, bottom = _whole(y + high * row, y + high * (row + rows), least)
        return QRectF(left, top, right - left, bottom - top)

    def at(self, point: QPointF) -> tuple[float, float]:
        """Row and column of a pixel, with how far it lies into the cell."""
        return (point.y() - self.top) / self.high, (point.x() - self.left) / self.wide

    def sides(self, rows: Ints, columns: Ints) -> NDArray[np.float64]:
        """Many single cells as `rect` gives them: left, top, width and height, float64 (4, n)."""
        left, right = (np.rint(self.left + self.wide * c) for c in (columns, columns + 1))
        top, bottom = (np.rint(self.top + self.high * r) for r in (rows, rows + 1))
        return np.stack([left, top, right - left, bottom - top])

    def rects(self, rows: Ints, columns: Ints) -> list[QRectF]:
        return list(map(QRectF, *self.sides(rows, columns).tolist()))


def _whole(first: float, last: float, least: float) -> tuple[int, int]:
    """The ends of a side in whole pixels, about its middle where it would be shorter."""
    start, end = round(first), round(last)
    if end - start < least:
        middle = (start + end) / 2
        return round(middle - least / 2), round(middle + least / 2)
    return start, end


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
    painter.drawText(rect, int(align) | _UNCUT, words)


def that_fits(choices: Sequence[str], font: QFont, width: float) -> str:
    """The first of the texts that is no wider than `width`; the last where none is."""
    metrics = QFontMetricsF(font)
    return next((c for c in choices if metrics.horizontalAdvance(c) <= width), choices[-1])


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
    flags = int(align) | _UNCUT
    for rect, words in places:
        painter.drawText(rect, flags, words)


def upright_texts(
    painter: QPainter, places: Iterable[Placed], color: QColor, font: QFont, align: Qt.AlignmentFlag
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


def link(upper: QRectF, lower: QRectF) -> QPainterPath:
    """A curve from below a rectangle to above another; it leaves and arrives vertically."""
    start = QPointF(upper.center().x(), upper.bottom() + 2)
    end = QPointF(lower.center().x(), lower.top() - 1)
    path, middle = QPainterPath(start), (start.y() + end.y()) / 2
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
    """Black or white, whichever is read better on the background: 4.58 to 1 at least."""
    light = luminance(background)
    return QColor("#000000" if light + 0.05 > (1.05 * 0.05) ** 0.5 else "#ffffff")


def luminance(color: QColor) -> float:
    """The relative luminance of WCAG 2, 0 to 1."""
    parts = (color.redF(), color.greenF(), color.blueF())
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@dataclass(frozen=True)
class Figure:
    """A number worth a large type: its label, itself, and what it is to be compared with."""

    label: str
    value: str
    note: str = ""
    meaning: str = "text"
    short: str = ""
    """The note where there is little room."""


def _placed(
    box: QRectF, figures: Iterable[Figure], theme: Theme
) -> tuple[list[tuple[Figure, QRectF]], QFont, QFont]:
    """Each figure with the room of its label, and the type of labels and of values."""
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
    room = box.width() - 8 * (len(figures) - 1)
    if sum(needs) > room:  # smaller rather than cut
        for font in (small, large):
            font.setPointSizeF(font.pointSizeF() * max(room / sum(needs), 0.5))
        narrow, wide = QFontMetricsF(small), QFontMetricsF(large)
        needs = [need(figure) for figure in figures]
    space = max(8.0, (box.width() - sum(needs)) / max(1, len(figures)))
    space = min(space, 40.0)
    left, found = box.left(), []
    for figure, width in zip(figures, needs, strict=True):
        found.append((figure, QRectF(left, box.top(), width, narrow.height())))
        left += width + space
    return found, small, large


def figure_at(box: QRectF, figures: Iterable[Figure], theme: Theme, point: QPointF) -> str:
    """The label of the figure at a point of what `draw_figures` draws; empty for none."""
    for figure, top in _placed(box, figures, theme)[0]:
        if top.left() <= point.x() <= top.right() and box.top() <= point.y() <= box.bottom():
            return figure.label
    return ""


def draw_figures(painter: QPainter, box: QRectF, figures: Iterable[Figure], theme: Theme) -> None:
    """Figures side by side, the spare width between them; notes go where there is none."""
    placed, small, large = _placed(box, figures, theme)
    wide = QFontMetricsF(large)
    for figure, top in placed:
        left = top.left()
        text(painter, top, figure.label, theme.color("text_dim"), small, LEFT, elide=False)
        baseline = top.bottom() + wide.ascent() + 1
        painter.setFont(large)
        painter.setPen(theme.color(figure.meaning))
        painter.drawText(QPointF(left, baseline), figure.value)
        painter.setFont(small)
        painter.setPen(theme.color("text_dim"))
        after = left + wide.horizontalAdvance(figure.value) + 6
        painter.drawText(QPointF(after, baseline), figure.note)


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


# Pictures of those parts of a view that mostly stay the same from one step to the next.


CELL, CELLS = 1.5, 16384  # least pixels of a cell, and most cells, that become rectangles
MOST = 4  # pictures of one part


def _ratio(painter: QPainter) -> float:
    """Pixels for one unit, of what is drawn into; `painter.device()` may be a widget even so.

    Do not ask the engine for its device: PySide never frees an image that it has handed out.
    """
    pixels, units = painter.deviceTransform(), painter.worldTransform()
    return round(math.sqrt(abs(pixels.determinant() / units.determinant())), 3)


def draw_cells(painter: QPainter, box: QRectF, image: QImage) -> None:
    """Draw an image whose pixels are cells; in a PDF a moderate number becomes rectangles."""
    wide, high = box.width() / image.width(), box.height() / image.height()
    if not is_vector(painter) or min(wide, high) < CELL or image.width() * image.height() > CELLS:
        painter.drawImage(box, image)
        return
    pixels = [[image.pixel(x, y) for x in range(image.width())] for y in range(image.height())]
    rgba = np.array(pixels, np.uint32)
    for colour in np.unique(rgba[rgba >= 1 << 24]).tolist():  # what is seen at all
        parts = rectangles(*np.nonzero(rgba == colour))
        rects = [
            QRectF(box.x() + x * wide, box.y() + y * high, columns * wide, rows * high)
            for y, x, rows, columns in parts
        ]
        fill(painter, rects, QColor.fromRgba(colour))


class Pixmaps:
    """The last few pictures of each part: steps often go to and fro between two or three."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[Hashable, QPixmap]] = {}

    def forget(self) -> None:
        self._parts.clear()

    def draw(
        self,
        painter: QPainter,
        part: str,
        area: QRectF,
        state: Hashable,
        draw: Callable[[QPainter], None],
    ) -> None:
        """Draw `part`, which lies within `area` and depends on `state` and the theme alone."""
        if is_vector(painter):
            painter.save()
            draw(painter)
            painter.restore()
            return
        box = area.toAlignedRect()
        ratio = _ratio(painter)
        key = (cast("tuple[int, ...]", box.getRect()), ratio, current_theme().key, state)
        pictures = self._parts.setdefault(part, {})
        picture = pictures.pop(key, None) or _picture(box, ratio, draw)
        pictures[key] = picture  # the last one used comes last
        if len(pictures) > MOST:
            del pictures[next(iter(pictures))]
        painter.drawPixmap(box.topLeft(), picture)


def _picture(box: QRect, ratio: float, draw: Callable[[QPainter], None]) -> QPixmap:
    picture = QPixmap(box.size() * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(-box.topLeft())
    draw(painter)
    painter.end()
    return picture


MOST_TYPES = 12
MOST_WORDS = 4096  # in one type
_SHARES = {Qt.AlignmentFlag.AlignLeft: 0.0, Qt.AlignmentFlag.AlignRight: 1.0}


class _Laid(dict[str, tuple[QStaticText, float]]):
    """The words of one font, laid out when they are first asked for, and their widths."""

    def __init__(self, font: QFont) -> None:
        super().__init__()
        self.metrics = QFontMetricsF(font)

    def __missing__(self, word: str) -> tuple[QStaticText, float]:
        laid = QStaticText(word)
        laid.setTextFormat(Qt.TextFormat.PlainText)
        self[word] = laid, self.metrics.horizontalAdvance(word)
        return self[word]


_types: dict[str, _Laid] = {}


def _laid_in(font: QFont) -> _Laid:
    key = font.key()
    if key not in _types:
        if len(_types) == MOST_TYPES:
            _types.clear()
        _types[key] = _Laid(font)
    if len(_types[key]) > MOST_WORDS:
        _types[key].clear()
    return _types[key]


def _pixel_for_pixel(painter: QPainter) -> bool:
    """Whether a pixel of the painter is one of the picture: neither scaled nor turned."""
    return not is_vector(painter) and not painter.deviceTransform().isScaling()


def write(
    painter: QPainter,
    sides: NDArray[np.float64],
    words: Sequence[str],
    color: QColor,
    font: QFont,
    align: Qt.AlignmentFlag = CENTRE,
) -> None:
    """Write each of the words into its rectangle, half way down, whether it fits or not.

    `sides` are left, top, width and height of the rectangles, in pixels: float64 (4, n). The
    picture is the one that `QPainter.drawText` makes: laid out words come out so where a pixel of
    the painter is one of the picture, and everywhere else `drawText` itself is used.
    """
    painter.setFont(font)
    painter.setPen(color)
    left, top, wide, high = sides
    if not _pixel_for_pixel(painter):
        flags = int(align) | _UNCUT
        for rect, word in zip(map(QRectF, *sides.tolist()), words, strict=True):
            painter.drawText(rect, flags, word)
        return
    known = _laid_in(font)
    laid = [known[word] for word in words]
    advances = np.array([advance for _, advance in laid])
    share = next((share for side, share in _SHARES.items() if align & side), 0.5)
    x, y = left + share * (wide - advances), top + (high - known.metrics.height()) / 2
    for place, (static, _) in zip(map(QPointF, x.tolist(), y.tolist()), laid, strict=True):
        painter.drawStaticText(place, static)


# The mark of an illegal access in every view: a cross in a frame, in the colour of errors.
#
# The cross tells it from other marks where colours do not.


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


GAP = 7.0  # pixels between swatches and words
BETWEEN = 16.0  # pixels between keys beside each other
TIGHT, LOOSE = 1.06, 1.3  # heights of a row, in lines of text


@dataclass(frozen=True)
class Key:
    """One entry of a legend: what filled swatches, or an outline, stand for.

    `numbers` stand in the swatches, one in each.
    """

    words: str
    fills: tuple[QColor | QBrush, ...] = ()
    outline: QColor | None = None
    short: str = ""
    """The words where there is little room."""
    numbers: tuple[str, ...] = ()
    crossed: bool = False
    """Whether the swatch is the mark of an illegal access."""
    line: Qt.PenStyle = Qt.PenStyle.SolidLine
    """Of the outline."""


class _KeyPen:
    """Draws keys in one font."""

    def __init__(self, painter: QPainter, theme: Theme) -> None:
        self.p, self.theme = painter, theme
        self.font: QFont = theme.font("small")
        self.metrics = QFontMetricsF(self.font)
        self.line = self.metrics.height()
        self.swatch = 0.72 * self.line

    def swatches(self, key: Key) -> list[float]:
        if key.numbers:
            return [self.metrics.horizontalAdvance(number) + 8.0 for number in key.numbers]
        return [self.swatch] * (len(key.fills) or (key.outline is not None))

    def width(self, key: Key) -> float:
        words, boxes = self.metrics.horizontalAdvance(key.words), sum(self.swatches(key))
        return words + boxes + (GAP if words and boxes else 0.0)

    def draw(self, key: Key, left: float, top: float, row: float) -> None:
        high = self.swatch + 3 if key.numbers else self.swatch
        area = QRectF(left, round(top + (row - high) / 2), 0, high)
        for number, wide in enumerate(self.swatches(key)):
            area = QRectF(left, area.top(), wide, high)
            if key.crossed:
                crossed_out(self.p, self.theme, [area])
            elif key.outline is not None:
                frame(self.p, [inset(area, 1)], pen(key.outline, 2, key.line))
            else:
                fill(self.p, [area], key.fills[number])
            if key.numbers:
                ink = text_on(QColor(key.fills[number]))
                text(self.p, area, key.numbers[number], ink, self.font, elide=False)
            left += wide
        if key.words:
            left += GAP if self.swatches(key) else 0.0
            place = QRectF(left, top, self.metrics.horizontalAdvance(key.words) + 1, row)
            text(self.p, place, key.words, self.theme.color("text_dim"), self.font, LEFT)


def _shorter(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    """The keys, then with fewer words, then without the last ones."""
    if keys:
        yield keys
    brief = [replace(key, words=key.short or key.words) for key in keys]
    for count in range(len(keys), 0, -1):
        yield brief[:count]


def draw_legend(painter: QPainter, box: QRectF, theme: Theme, keys: Sequence[Key]) -> None:
    """Rows from the top left of `box`, in two columns where that helps.

    Where there is little room the words are shortened, and then the last keys left out.
    """
    if box.isEmpty():
        return
    tool = _KeyPen(painter, theme)
    for shown in _shorter(keys):
        wide = max(map(tool.width, shown))
        for columns in (1, 2):
            rows = -(-len(shown) // columns)
            fits = wide * columns + BETWEEN * (columns - 1) <= box.width()
            if fits and rows * TIGHT * tool.line <= box.height():
                row = min(LOOSE * tool.line, box.height() / rows)
                for place, key in enumerate(shown):
                    across, down = divmod(place, rows)
                    left = box.left() + across * (wide + BETWEEN)
                    tool.draw(key, left, box.top() + down * row, row)
                return


def draw_legend_row(
    painter: QPainter, box: QRectF, theme: Theme, keys: Sequence[Key], veil: QColor | None = None
) -> None:
    """One row from the left of `box`, the words shortened and the last keys left out if need be.

    With a `veil` what lies below is covered first.
    """
    tool = _KeyPen(painter, theme)
    for shown in _shorter(keys):
        if sum(map(tool.width, shown)) + BETWEEN * (len(shown) - 1) <= box.width():
            if veil is not None:
                painter.fillRect(box, veil)
            left = box.left()
            for key in shown:
                tool.draw(key, left, box.top(), box.height())
                left += tool.width(key) + BETWEEN
            return
