"""Marks (`gui.pictures.marks`) as an SVG 1.1 document. Touches no widget: a worker may do it.

Text stays text, each piece as wide as it was, so that another face does not run into what stands
beside it; symbols of an icon font become outlines. Images of few large pixels become cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from unicodedata import category
from xml.sax.saxutils import escape, quoteattr

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainterPath, QTransform

from core.cancelling import check
from gui.pictures.marks import Bitmap, Boxes, Clip, Face, Look, Mark, Words
from gui.pictures.mosaic import Colour, cells_of, fitted
from gui.pictures.paint import Definitions, fill_of, number, only_moves, stroke_of
from gui.pictures.png import data_link

EVERY = 64  # marks, between looks at whether to go on
_NOT_IN_XML = ("Cc", "Cs", "Cn")  # control characters, halves of others, none at all
NORMAL = 400  # weight of a font
SLACK = 0.05  # that much beyond an edge is nothing that one would see
_HALF = QTransform.fromTranslate(0.5, 0.5)

Element = tuple[str, str, str]
"""The id of its clip, what it shares with its neighbours, and itself."""


def document(
    marks: Sequence[Mark],
    size: QSize,
    title: str,
    progress: Callable[[float], None] = lambda fraction: None,
) -> bytes:
    """The whole file, UTF-8; size in pixels. Raises Cancelled where the thread's work is."""
    writer = _Writer()
    elements: list[Element] = []
    for place, mark in enumerate(marks):
        if place % EVERY == 0:
            check()
            progress(place / len(marks))
        elements += writer.write(mark)
    wide, high = size.width(), size.height()
    text = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'version="1.1" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        'xml:space="preserve">',
        f"<title>{escape(title)}</title>",
        *writer.definitions.lines(),
        *_grouped(elements),
        "</svg>",
    ]
    return "\n".join(text).encode()


def _grouped(elements: Sequence[Element]) -> list[str]:
    lines = []
    for clip, clipped in groupby(elements, lambda e: e[0]):
        if clip:
            lines.append(f'<g clip-path="url(#{clip})">')
        for shared, alike in groupby(clipped, lambda e: e[1]):
            own = [element for _, _, element in alike]
            lines += [f"<g {shared}>", *own, "</g>"]
        if clip:
            lines.append("</g>")
    return lines


class _Writer:
    def __init__(self) -> None:
        self.definitions = Definitions()
        self._faces: dict[Face, str] = {}

    def write(self, mark: Mark) -> list[Element]:
        """The elements of a mark, none where nothing of it is seen."""
        if isinstance(mark, Words):
            return self._words(mark)
        if isinstance(mark, Bitmap):
            return self._bitmap(mark)
        if isinstance(mark, Boxes):
            path = QPainterPath()
            for rect in mark.rects:
                path.addRect(rect)
            return self._shape(path, mark.look, mark.rects)
        return self._shape(mark.path, mark.look, open_=mark.open)

    # ---- clips

    def _clip(self, bounds: QRectF, clip: Clip) -> str | None:
        """The id of a clip that cuts something off, empty where it does not, None for the whole."""
        if clip.box.isEmpty() or not clip.box.intersects(bounds):
            return None
        if clip.path is None:
            if clip.box.adjusted(-SLACK, -SLACK, SLACK, SLACK).contains(bounds):
                return ""
            outline = _rect(clip.box)
        else:
            outline = f'<path d="{path_data(_cut(clip))}"/>'
        return self.definitions.named("clipPath", "", outline)

    # ---- shapes

    def _shape(
        self,
        path: QPainterPath,
        look: Look,
        rects: Sequence[QRectF] = (),
        *,
        open_: bool = False,
    ) -> list[Element]:
        stroke, reach = stroke_of(look)
        fill = 'fill="none"' if open_ else fill_of(look, self.definitions)
        if path.isEmpty() or ('"none"' in fill and not stroke):
            return []
        transform = look.transform
        if stroke and not look.smooth:  # Qt's pixels lie right of and below such a line
            transform = transform * _HALF
        edge = max(reach, 0.01)  # lines have no area
        box = transform.mapRect(path.controlPointRect()).adjusted(-edge, -edge, edge, edge)
        clip = self._clip(box, look.clip)
        if clip is None:
            return []
        own = ""
        if only_moves(transform):
            path = path.translated(transform.dx(), transform.dy())
            rects = [r.translated(transform.dx(), transform.dy()) for r in rects]
        else:
            own = f" {_matrix(transform)}"
        if path.fillRule() == Qt.FillRule.OddEvenFill and fill != 'fill="none"' and not rects:
            own += ' fill-rule="evenodd"'
        shared = " ".join(part for part in (fill, stroke) if part)
        if not look.smooth:
            shared += ' shape-rendering="crispEdges"'
        if len(rects) == 1:
            return [(clip, shared, _rect(rects[0], own))]
        return [(clip, shared, f'<path d="{path_data(path)}"{own}/>')]

    # ---- text

    def _words(self, words: Words) -> list[Element]:
        text = "".join(c for c in words.text if category(c) not in _NOT_IN_XML)
        if not text.strip():
            return []
        look, at = words.look, words.at
        tall = words.ascent + words.descent
        box = QRectF(at.x(), at.y() - words.ascent, words.width, tall)
        clip = self._clip(look.transform.mapRect(box), look.clip)
        if clip is None:
            return []
        own = ""
        if only_moves(look.transform):
            at = look.transform.map(at)
        else:
            own = f" {_matrix(look.transform)}"
        if len(text) > 1:
            own += f' textLength="{number(words.width)}" lengthAdjust="spacingAndGlyphs"'
        colour = fill_of(look, self.definitions, look.pen.brush())
        shared = f"{colour} {self._face(words.face)}"
        place = f'x="{number(at.x())}" y="{number(at.y())}"'
        return [(clip, shared, f"<text {place}{own}>{escape(text)}</text>")]

    def _face(self, face: Face) -> str:
        if face not in self._faces:
            names = quoteattr(", ".join(face.families))
            text = f'font-family={names} font-size="{number(face.size)}"'
            if face.weight != NORMAL:
                text += f' font-weight="{face.weight}"'
            if face.italic:
                text += ' font-style="italic"'
            self._faces[face] = text
        return self._faces[face]

    # ---- bitmaps

    def _bitmap(self, bitmap: Bitmap) -> list[Element]:
        look, rect = bitmap.look, bitmap.rect
        box = look.transform.mapRect(rect)
        clip = self._clip(box, look.clip)
        if clip is None or bitmap.image.isNull() or rect.isEmpty():
            return []
        part = bitmap.source.toAlignedRect().intersected(bitmap.image.rect())
        image = bitmap.image.copy(part)
        cells = cells_of(image, box.width(), box.height()) if not look.smooth_images else None
        if cells is not None:
            return self._cells(cells, image.size(), bitmap, clip)
        whole = QRectF(image.rect())
        image = fitted(image, whole, box.width(), box.height(), smooth=look.smooth_images)
        shared = 'image-rendering="optimizeSpeed"' if not look.smooth_images else ""
        if look.opacity < 1:
            shared += f' opacity="{number(look.opacity)}"'
        own = f'preserveAspectRatio="none" xlink:href="{data_link(image)}"'
        if not look.transform.isRotating():
            return [(clip, shared, f"<image {_place(box)} {own}/>")]
        return [(clip, shared, f"<image {_place(rect)} {_matrix(look.transform)} {own}/>")]

    def _cells(
        self, cells: dict[Colour, list[QRect]], size: QSize, bitmap: Bitmap, clip: str
    ) -> list[Element]:
        """One path for each colour."""
        rect = bitmap.rect
        to = QTransform.fromTranslate(rect.x(), rect.y())
        to = to.scale(rect.width() / size.width(), rect.height() / size.height())
        to = to * bitmap.look.transform
        found = []
        for (r, g, b, a), boxes in cells.items():
            path = QPainterPath()
            for box in boxes:
                path.addRect(QRectF(box))
            opacity = a / 255 * bitmap.look.opacity
            shared = f'fill="#{r:02x}{g:02x}{b:02x}" shape-rendering="crispEdges"'
            if opacity < 1:
                shared += f' fill-opacity="{number(opacity)}"'
            found.append((clip, shared, f'<path d="{path_data(to.map(path))}"/>'))
        return found


def path_data(path: QPainterPath) -> str:
    """A path as the attribute `d` has it."""
    kinds = QPainterPath.ElementType
    words: list[str] = []
    start = ""
    for i in range(path.elementCount()):
        e = path.elementAt(i)
        here = f"{number(e.x)},{number(e.y)}"
        if e.type == kinds.MoveToElement:
            words.append(f"M{here}")
            start = here
        elif e.type == kinds.LineToElement:
            words.append("Z" if here == start else f"L{here}")
        elif e.type == kinds.CurveToElement:
            words.append(f"C{here}")
        else:
            words.append(here)
    return " ".join(words)


def _cut(clip: Clip) -> QPainterPath:
    box = QPainterPath()
    box.addRect(clip.box)
    assert clip.path is not None
    return clip.path.intersected(box)


def _rect(rect: QRectF, own: str = "") -> str:
    return f"<rect {_place(rect)}{own}/>"


def _place(rect: QRectF) -> str:
    x, y, wide, high = (number(v) for v in rect.normalized().getRect())  # type: ignore[attr-defined]
    return f'x="{x}" y="{y}" width="{wide}" height="{high}"'


def _matrix(t: QTransform) -> str:
    values = (t.m11(), t.m12(), t.m21(), t.m22(), t.dx(), t.dy())
    return f'transform="matrix({" ".join(number(v, 4) for v in values)})"'
