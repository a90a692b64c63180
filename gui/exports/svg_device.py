"""A paint device that writes down what a view paints as elements of SVG.

A view is drawn from its scene by its own painting, once for each step; only the device is another.
What steps have in common is kept once: an element is a text, and a picture is a list of numbers of
texts (`Pool`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QImage,
    QPaintEngine,
    QPaintEngineState,
    QPainterPath,
    QPen,
    QPixmap,
    QTextItem,
    QTransform,
)
from PySide6.QtWidgets import QWidget

from gui.pictures import Dirty, VectorDevice, VectorEngine, png, write_down

_DASHES = {
    Qt.PenStyle.DashLine: (4.0, 2.0),
    Qt.PenStyle.DotLine: (1.0, 2.0),
    Qt.PenStyle.DashDotLine: (4.0, 2.0, 1.0, 2.0),
}
_CAPS = {Qt.PenCapStyle.FlatCap: "butt", Qt.PenCapStyle.RoundCap: "round"}
_JOINS = {Qt.PenJoinStyle.MiterJoin: "miter", Qt.PenJoinStyle.RoundJoin: "round"}
_HATCH = "M0 8L8 0M-2 2L2 -2M6 10L10 6"
"""The one pattern that the views fill with (`gui.views.drawing_tools.hatch`)."""


class Pool:
    """Texts by number; each is kept once. Styles have a class's name, clips and hatches an id."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.styles: dict[str, str] = {}
        self.definitions: dict[str, str] = {}
        """Elements of <defs> by what they hold; each has the id that stands for it."""
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return found

    def style(self, declarations: str) -> str:
        """The name of the class that says so."""
        return self.styles.setdefault(declarations, f"s{len(self.styles)}")

    def definition(self, element: str) -> str:
        """The id of an element of <defs>, whose text has `{id}` in the place of its own."""
        return self.definitions.setdefault(element, f"d{len(self.definitions)}")

    def defs(self) -> str:
        """All definitions."""
        return "".join(text.replace("{id}", name) for text, name in self.definitions.items())

    def css(self) -> str:
        """All styles."""
        return "\n".join(f".{name}{{{text}}}" for text, name in self.styles.items())


def drawn(widget: QWidget, pool: Pool) -> list[int]:
    """What a widget and its children paint, as numbers of texts of the pool, in their order."""
    dpi = widget.logicalDpiX()
    engine = _Writing(pool, dpi)
    write_down(widget, VectorDevice(widget.size(), dpi, engine), ground=False)
    return engine.found


class _Writing(VectorEngine):
    def __init__(self, pool: Pool, dpi: int) -> None:
        super().__init__(QPaintEngine.Type.SVG)
        self._pool, self._dpi = pool, dpi
        self.found: list[int] = []
        self._transform = QTransform()
        self._stroke = self._filling = ""
        self._pen = QPen()
        self._opacity = 1.0

    # ---- the state

    def updateState(self, state: QPaintEngineState) -> None:
        flags = state.state()
        self.follow_clip(state)
        if flags & Dirty.DirtyTransform:
            self._transform = QTransform(state.transform())
        if flags & Dirty.DirtyOpacity:
            self._opacity = state.opacity()
        if flags & (Dirty.DirtyPen | Dirty.DirtyOpacity | Dirty.DirtyTransform):
            self._pen = QPen(state.pen())
            self._stroke = self._of_pen(self._pen)
        if flags & (Dirty.DirtyBrush | Dirty.DirtyOpacity):
            self._filling = self._of_brush(QBrush(state.brush()))

    def _of_pen(self, pen: QPen) -> str:
        if pen.style() == Qt.PenStyle.NoPen:
            return ""
        scale = abs(self._transform.determinant()) ** 0.5
        wide = (pen.widthF() or 1.0) * (1.0 if pen.isCosmetic() else scale)
        parts = [_paint_of("stroke", pen.color(), self._opacity), f"stroke-width:{_n(wide)}"]
        dashes = _DASHES.get(pen.style())
        if pen.style() == Qt.PenStyle.CustomDashLine:
            dashes = tuple(pen.dashPattern())
        if dashes:
            parts.append(f"stroke-dasharray:{' '.join(_n(part * wide) for part in dashes)}")
        cap, join = _CAPS.get(pen.capStyle(), "square"), _JOINS.get(pen.joinStyle(), "bevel")
        parts.append(f"stroke-linecap:{cap};stroke-linejoin:{join}")
        return ";".join(parts)

    def _of_brush(self, brush: QBrush) -> str:
        style, color = brush.style(), brush.color()
        if style == Qt.BrushStyle.NoBrush:
            return ""
        if style == Qt.BrushStyle.BDiagPattern:
            lines = (
                f'<pattern id="{{id}}" width="8" height="8" patternUnits="userSpaceOnUse">'
                f'<path d="{_HATCH}" style="'
                f'{_paint_of("stroke", color, self._opacity)};fill:none"/></pattern>'
            )
            return f"fill:url(#{self._pool.definition(lines)})"
        gradient = brush.gradient()
        if gradient is not None and gradient.stops():
            color = gradient.stops()[len(gradient.stops()) // 2][1]
        return _paint_of("fill", color, self._opacity)

    # ---- what is drawn

    def _put(self, element: str, box: QRectF) -> None:
        """Keep an element that is seen within `box`, with what cuts it off."""
        clip = self._outer
        cuts = []
        for path in self.cuts:
            bounds = path.boundingRect()
            if _is_box(path):
                clip = clip.intersected(bounds)
            elif not path.contains(box):
                cuts.append(_path_data(path))
        if not clip.intersects(box):
            return
        if not clip.contains(box):
            x, y, wide, high = _sides(clip)
            cuts.append(f"M{_n(x)} {_n(y)}h{_n(wide)}v{_n(high)}h{_n(-wide)}z")
        for cut in cuts:
            name = self._pool.definition(f'<clipPath id="{{id}}"><path d="{cut}"/></clipPath>')
            element = f'<g clip-path="url(#{name})">{element}</g>'
        self.found.append(self._pool.number(element))

    def _shape(self, path: QPainterPath, *, filled: bool = True) -> None:
        filling = self._filling if filled else ""
        if not filling and not self._stroke:
            return
        path = self._transform.map(path)
        box = path.boundingRect()
        if self._stroke:
            half = max(self._pen.widthF(), 1.0) / 2
            box = box.adjusted(-half, -half, half, half)
        else:  # a line has no inside, and a rectangle of no width none to be seen
            box = box.adjusted(0, 0, 1e-6, 1e-6)
        style = ";".join(filter(None, (filling or "fill:none", self._stroke)))
        if path.fillRule() == Qt.FillRule.OddEvenFill:
            style += ";fill-rule:evenodd"
        self._put(f'<path class="{self._pool.style(style)}" d="{_path_data(path)}"/>', box)

    def drawPath(self, path: QPainterPath) -> None:
        self._shape(QPainterPath(path))

    def drawRects(self, rects: Iterable[QRectF]) -> None:
        boxes = [QRectF(rect) for rect in rects]
        for group in [[box] for box in boxes] if self._stroke else [boxes]:
            path = QPainterPath()
            path.setFillRule(Qt.FillRule.WindingFill)
            for box in group:
                path.addRect(box)
            self._shape(path)

    def drawPolygon(self, points: Iterable[QPointF], mode: QPaintEngine.PolygonDrawMode) -> None:
        path = QPainterPath()
        if mode == QPaintEngine.PolygonDrawMode.WindingMode:
            path.setFillRule(Qt.FillRule.WindingFill)
        for i, point in enumerate(points):
            if i:
                path.lineTo(QPointF(point))
            else:
                path.moveTo(QPointF(point))
        is_line = mode == QPaintEngine.PolygonDrawMode.PolylineMode
        if not is_line:
            path.closeSubpath()
        self._shape(path, filled=not is_line)

    def drawTextItem(self, at: QPointF, item: QTextItem) -> None:  # type: ignore[override]
        """A line of text, as wide as the window draws it, whatever the reader's fonts are."""
        words = item.text()
        if not words.strip():
            return
        font = QFont(item.font())
        points = font.pixelSize() if font.pixelSize() > 0 else font.pointSizeF() * self._dpi / 72
        mono = "mono" in " ".join(font.families()).lower()
        style = (
            f"{_paint_of('fill', self._pen.color(), self._opacity)};font-size:{_n(points)}px;"
            f"font-family:var(--{'mono' if mono else 'sans'})"
        )
        if font.weight() >= QFont.Weight.DemiBold:
            style += ";font-weight:600"
        if font.italic():
            style += ";font-style:italic"
        name, wide = self._pool.style(style), item.width()
        turn, place = self._transform, self._transform.map(at)
        where = f'x="{_n(place.x())}" y="{_n(place.y())}"'
        if turn.isRotating() or turn.isScaling():
            numbers = (turn.m11(), turn.m12(), turn.m21(), turn.m22(), place.x(), place.y())
            where = f'transform="matrix({" ".join(f"{part:.4g}" for part in numbers[:4])} '
            where += f'{_n(numbers[4])} {_n(numbers[5])})"'
        box = turn.mapRect(
            QRectF(at.x(), at.y() - item.ascent(), wide, item.ascent() + item.descent())
        )
        self._put(
            f'<text class="{name}" {where} textLength="{_n(wide)}" '
            f'lengthAdjust="spacingAndGlyphs">{escape(words, quote=False)}</text>',
            box,
        )

    def drawImage(  # type: ignore[override]
        self, rect: QRectF, image: QImage, source: QRectF, flags: object = None
    ) -> None:
        box = self._transform.mapRect(QRectF(rect))
        part = image.copy(source.toAlignedRect())
        data = base64.b64encode(png(part)).decode()
        x, y, wide, high = _sides(box)
        sharp = 'style="image-rendering:pixelated" ' if part.width() < wide else ""
        self._put(
            f'<image x="{_n(x)}" y="{_n(y)}" width="{_n(wide)}" height="{_n(high)}" {sharp}'
            f'preserveAspectRatio="none" href="data:image/png;base64,{data}"/>',
            box,
        )

    def drawPixmap(self, rect: QRectF, pixmap: QPixmap, source: QRectF) -> None:  # type: ignore[override]
        self.drawImage(rect, pixmap.toImage(), source)


def _n(number: float) -> str:
    """A number to a tenth of a pixel, as short as it can be."""
    return f"{number:.1f}".removesuffix(".0")


def _sides(box: QRectF) -> tuple[float, float, float, float]:
    return box.x(), box.y(), box.width(), box.height()


def _paint_of(what: str, color: QColor, opacity: float) -> str:
    alpha = color.alphaF() * opacity
    text = f"{what}:{color.name()}"
    return text if alpha > 0.998 else f"{text};{what}-opacity:{alpha:.3g}"


def _is_box(path: QPainterPath) -> bool:
    if path.elementCount() != 5:
        return False
    box = path.boundingRect()
    corners = {(box.left(), box.top()), (box.right(), box.top())}
    corners |= {(box.left(), box.bottom()), (box.right(), box.bottom())}
    found = {(path.elementAt(i).x, path.elementAt(i).y) for i in range(4)}
    return found == corners


def _path_data(path: QPainterPath) -> str:
    parts: list[str] = []
    kinds = QPainterPath.ElementType
    count, i = path.elementCount(), 0
    while i < count:
        element = path.elementAt(i)
        at = f"{_n(element.x)} {_n(element.y)}"
        if element.type == kinds.CurveToElement:
            second, third = path.elementAt(i + 1), path.elementAt(i + 2)
            parts.append(f"C{at} {_n(second.x)} {_n(second.y)} {_n(third.x)} {_n(third.y)}")
            i += 3
            continue
        parts.append(f"{'M' if element.type == kinds.MoveToElement else 'L'}{at}")
        i += 1
    return "".join(parts)
