"""Pictures of those parts of a view that mostly stay the same from one step to the next."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import cast

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QPaintEngine, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

VECTORS = (QPaintEngine.Type.SVG, QPaintEngine.Type.Pdf, QPaintEngine.Type.Picture)

MOST = 4  # pictures of one part
_drawings: list[object] = []


@contextmanager
def as_vectors(drawing: object) -> Iterator[None]:
    """Within, what is painted goes to a drawing that must not hold pixels."""
    _drawings.append(drawing)
    try:
        yield
    finally:
        _drawings.pop()


def is_vector(painter: QPainter) -> bool:
    """Whether a drawing is made that must not hold pixels.

    An engine written in Python is not asked: PySide gives each that was asked for to the painter,
    and never frees it.
    """
    if _drawings:
        return True
    engine = painter.paintEngine()
    return engine is None or engine.type() in VECTORS


def _ratio(painter: QPainter) -> float:
    """Pixels for one unit, of what is drawn into; `painter.device()` may be a widget even so.

    The engine's own device is no way to learn it: PySide never frees an image that was asked for.
    """
    pixels, units = painter.deviceTransform(), painter.worldTransform()
    return round(math.sqrt(abs(pixels.determinant() / units.determinant())), 3)


class Kept:
    """The last few pictures of each part: steps often go to and fro between two or three."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[Hashable, QPixmap]] = {}

    def draw(
        self,
        painter: QPainter,
        part: str,
        area: QRectF,
        state: Hashable,
        draw: Callable[[QPainter], None],
    ) -> None:
        """Draw `part`, which lies within `area` and depends on nothing but `state`."""
        if is_vector(painter):
            draw(painter)
            return
        box = area.toAlignedRect()
        ratio = _ratio(painter)
        key = (cast("tuple[int, ...]", box.getRect()), ratio, state)
        pictures = self._parts.setdefault(part, {})
        picture = pictures.pop(key, None) or _picture(box, ratio, draw)
        pictures[key] = picture  # the last one used comes last
        if len(pictures) > MOST:
            del pictures[next(iter(pictures))]
        painter.drawPixmap(box.topLeft(), picture)


class Backdrop:
    """All of a widget that lies under what moves, kept until it is forgotten or resized."""

    def __init__(self) -> None:
        self.picture: QPixmap | None = None

    def forget(self) -> None:
        """It is to be drawn anew."""
        self.picture = None

    def draw(self, painter: QPainter, widget: QWidget, draw: Callable[[QPainter], None]) -> None:
        """Draw what covers a widget; a drawing, and an image of other pixels, get it as it is."""
        ratio = widget.devicePixelRatioF()
        if is_vector(painter) or _ratio(painter) != ratio:
            painter.save()
            draw(painter)
            painter.restore()
            return
        if self.picture is None or self.picture.size() != widget.size() * ratio:
            self.picture = QPixmap(widget.size() * ratio)
            self.picture.setDevicePixelRatio(ratio)
            inner = QPainter(self.picture)
            draw(inner)
            inner.end()
        painter.drawPixmap(0, 0, self.picture)


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
