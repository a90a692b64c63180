"""Pens and brushes as attributes of SVG elements, and what they refer to."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QGradient, QLinearGradient, QRadialGradient, QTransform

from gui.pictures.marks import Look
from gui.pictures.png import data_link

TILE = 8  # pixels after which Qt's hatches repeat
_HATCHES = {
    Qt.BrushStyle.HorPattern: "M0,4 H8",
    Qt.BrushStyle.VerPattern: "M4,0 V8",
    Qt.BrushStyle.CrossPattern: "M0,4 H8 M4,0 V8",
    Qt.BrushStyle.BDiagPattern: "M-1,1 L1,-1 M0,8 L8,0 M7,9 L9,7",
    Qt.BrushStyle.FDiagPattern: "M-1,7 L1,9 M0,0 L8,8 M7,-1 L9,1",
    Qt.BrushStyle.DiagCrossPattern: "M0,8 L8,0 M0,0 L8,8",
}
_DENSE = {
    Qt.BrushStyle.Dense1Pattern: 0.94,
    Qt.BrushStyle.Dense2Pattern: 0.88,
    Qt.BrushStyle.Dense3Pattern: 0.63,
    Qt.BrushStyle.Dense4Pattern: 0.5,
    Qt.BrushStyle.Dense5Pattern: 0.37,
    Qt.BrushStyle.Dense6Pattern: 0.12,
    Qt.BrushStyle.Dense7Pattern: 0.06,
}
_CAPS = {Qt.PenCapStyle.SquareCap: "square", Qt.PenCapStyle.RoundCap: "round"}
_JOINS = {Qt.PenJoinStyle.BevelJoin: "bevel", Qt.PenJoinStyle.RoundJoin: "round"}


class Definitions:
    """What elements refer to by id, each kept once."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str, str], str] = {}

    def named(self, tag: str, attributes: str, content: str) -> str:
        """The id of such an element."""
        key = tag, attributes, content
        return self._ids.setdefault(key, f"{tag[0]}{len(self._ids)}")

    def lines(self) -> list[str]:
        """All of them, for the head of the document."""
        if not self._ids:
            return []
        kept = [
            f'<{tag} id="{name}" {attributes}>{content}</{tag}>'.replace(" >", ">")
            for (tag, attributes, content), name in self._ids.items()
        ]
        return ["<defs>", *kept, "</defs>"]


def number(value: float, digits: int = 2) -> str:
    """As short as it can be written to that many decimals."""
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else str(round(value))
    return "0" if text in ("-0", "") else text


def only_moves(transform: QTransform) -> bool:
    """Whether nothing is turned or scaled, but for what rounding leaves."""
    turned = abs(transform.m12()) + abs(transform.m21())
    return turned + abs(transform.m11() - 1) + abs(transform.m22() - 1) < 1e-6


def fill_of(look: Look, definitions: Definitions, brush: QBrush | None = None) -> str:
    """The attributes of a brush, by default the look's."""
    brush = look.brush if brush is None else brush
    style = brush.style()
    if style == Qt.BrushStyle.NoBrush:
        return 'fill="none"'
    colour, opacity = brush.color(), look.opacity
    if style in _DENSE:
        opacity *= _DENSE[style]
    elif style in _HATCHES:
        return _given(_hatch(colour, _HATCHES[style], definitions), opacity)
    elif style == Qt.BrushStyle.TexturePattern:
        return _given(_texture(look, brush, definitions), opacity)
    elif style != Qt.BrushStyle.SolidPattern:
        name = _gradient(look, brush, definitions)
        if name:
            return _given(name, opacity)
        colour = _middle(brush)
    return _coloured("fill", colour, opacity)


def stroke_of(look: Look) -> tuple[str, float]:
    """The attributes of a pen, empty for none, and how far it reaches beside its line."""
    pen = look.pen
    if pen.style() == Qt.PenStyle.NoPen or pen.color().alpha() == 0:
        return "", 0.0
    width = pen.widthF() or 1.0
    text = _coloured("stroke", pen.color(), look.opacity)
    if width != 1:
        text += f' stroke-width="{number(width)}"'
    if pen.capStyle() in _CAPS:
        text += f' stroke-linecap="{_CAPS[pen.capStyle()]}"'
    if pen.joinStyle() in _JOINS:
        text += f' stroke-linejoin="{_JOINS[pen.joinStyle()]}"'
    if pen.style() != Qt.PenStyle.SolidLine:
        dashes = " ".join(number(length * width) for length in pen.dashPattern())
        text += f' stroke-dasharray="{dashes}"'
        if pen.dashOffset():
            text += f' stroke-dashoffset="{number(pen.dashOffset() * width)}"'
    scale = abs(look.transform.determinant()) ** 0.5
    if (pen.isCosmetic() or not pen.widthF()) and abs(scale - 1) > 1e-3:
        return text + ' vector-effect="non-scaling-stroke"', width
    return text, width * scale


def _coloured(what: str, colour: QColor, opacity: float) -> str:
    opacity *= colour.alphaF()
    text = f'{what}="{colour.name()}"'
    return text if opacity > 0.999 else f'{text} {what}-opacity="{number(opacity, 3)}"'


def _given(name: str, opacity: float) -> str:
    text = f'fill="url(#{name})"'
    return text if opacity > 0.999 else f'{text} fill-opacity="{number(opacity, 3)}"'


def _hatch(colour: QColor, lines: str, definitions: Definitions) -> str:
    size = f'patternUnits="userSpaceOnUse" width="{TILE}" height="{TILE}"'
    stroke = _coloured("stroke", colour, 1.0)
    return definitions.named("pattern", size, f'<path d="{lines}" fill="none" {stroke}/>')


def _texture(look: Look, brush: QBrush, definitions: Definitions) -> str:
    image = brush.textureImage()
    ratio = image.devicePixelRatio()
    wide, high = number(image.width() / ratio), number(image.height() / ratio)
    at = _placed(look, look.origin)
    place = f'x="{number(at.x())}" y="{number(at.y())}" width="{wide}" height="{high}"'
    inner = f'<image width="{wide}" height="{high}" xlink:href="{data_link(image)}"/>'
    return definitions.named("pattern", f'patternUnits="userSpaceOnUse" {place}', inner)


def _gradient(look: Look, brush: QBrush, definitions: Definitions) -> str:
    """The id of a gradient; empty for one that SVG has not."""
    gradient = brush.gradient()
    if gradient.coordinateMode() != QGradient.CoordinateMode.LogicalMode:
        return ""
    stops = "".join(
        f'<stop offset="{number(at, 3)}" stop-color="{colour.name()}" '
        f'stop-opacity="{number(colour.alphaF(), 3)}"/>'
        for at, colour in gradient.stops()
    )
    units = 'gradientUnits="userSpaceOnUse"'

    def point(names: str, at: QPointF) -> str:
        x, y = names.split()
        at = _placed(look, at)
        return f'{x}="{number(at.x())}" {y}="{number(at.y())}"'

    if isinstance(gradient, QLinearGradient):
        ends = f"{point('x1 y1', gradient.start())} {point('x2 y2', gradient.finalStop())}"
        return definitions.named("linearGradient", f"{units} {ends}", stops)
    if isinstance(gradient, QRadialGradient):
        round_ = f'{point("cx cy", gradient.center())} r="{number(gradient.radius())}"'
        focus = point("fx fy", gradient.focalPoint())
        return definitions.named("radialGradient", f"{units} {round_} {focus}", stops)
    return ""


def _placed(look: Look, at: QPointF) -> QPointF:
    """A point of a brush where elements are moved; those that are turned as well carry a matrix."""
    return look.transform.map(at) if only_moves(look.transform) else at


def _middle(brush: QBrush) -> QColor:
    """The colour half-way through a gradient."""
    stops = brush.gradient().stops()
    return min(stops, key=lambda stop: abs(stop[0] - 0.5))[1] if stops else QColor(0, 0, 0, 0)
