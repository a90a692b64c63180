"""What is drawn, as data: marks in the coordinates of a drawing, each with its clip.

`gui.pictures.drawing` makes them of what a widget paints, `gui.pictures.svg` writes them. No pixmap
and no font is held, so another thread may do that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QBrush, QImage, QPainterPath, QPen, QTransform


@dataclass(frozen=True)
class Clip:
    """What is seen of a mark, in the drawing's coordinates: a rectangle, and within it a path."""

    box: QRectF
    path: QPainterPath | None = None

    def also(self, path: QPainterPath) -> Clip:
        """What lies within another path as well."""
        box = path.boundingRect()
        if _is_box(path):
            return Clip(self.box.intersected(box), self.path)
        inner = path if self.path is None else self.path.intersected(path)
        return Clip(self.box.intersected(box), inner)


@dataclass(frozen=True)
class Look:
    """How a mark is drawn; `transform` leads to the drawing's coordinates."""

    pen: QPen
    brush: QBrush
    transform: QTransform
    clip: Clip
    opacity: float
    smooth: bool  # edges
    smooth_images: bool
    origin: QPointF  # of the brush


@dataclass(frozen=True)
class Shape:
    """An outline that is filled, unless it is `open`, and stroked."""

    path: QPainterPath
    look: Look
    open: bool = False


@dataclass(frozen=True)
class Boxes:
    """Rectangles that are filled and outlined alike."""

    rects: tuple[QRectF, ...]
    look: Look


@dataclass(frozen=True)
class Face:
    """What there is to say about a font. No QFont: two threads must not use one, nor its copies."""

    families: tuple[str, ...]
    size: float  # in units of the drawing
    weight: int
    italic: bool


@dataclass(frozen=True)
class Words:
    """A piece of text on one line; `at` is the left end of its base line."""

    at: QPointF
    text: str
    face: Face
    width: float
    ascent: float
    descent: float
    look: Look


@dataclass(frozen=True)
class Bitmap:
    """The part `source` of an image, in its pixels, drawn into a rectangle."""

    rect: QRectF
    image: QImage
    source: QRectF
    look: Look


Mark = Shape | Boxes | Words | Bitmap


def _is_box(path: QPainterPath) -> bool:
    """Whether a path is one upright rectangle."""
    count = path.elementCount()
    if count not in (0, 5):
        return count == 0
    ends = [path.elementAt(i) for i in range(count)]
    xs, ys = {round(e.x, 3) for e in ends}, {round(e.y, 3) for e in ends}
    straight = all(abs(a.x - b.x) < 1e-3 or abs(a.y - b.y) < 1e-3 for a, b in pairwise(ends))
    return straight and len(xs) <= 2 and len(ys) <= 2
