"""Images of few large pixels as rectangles, and others in a size that suits a drawing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QImage

from gui.pictures.png import pixels_of

LARGE = 1.5  # units of the drawing: from this size on pixels of an image are cells
MOST = 8192  # rectangles that an image becomes
FINE = 3.0  # pixels for a unit of the drawing are as many as are seen
WIDEST = 4096  # pixels that an image of cells is enlarged to

Colour = tuple[int, int, int, int]


def cells_of(image: QImage, wide: float, high: float) -> dict[Colour, list[QRect]] | None:
    """Rectangles of each colour (in pixels of the image), None for what is no picture of cells.

    wide, high: the size that the image is drawn at.
    """
    if min(wide / image.width(), high / image.height()) < LARGE:
        return None
    found: dict[Colour, list[QRect]] = {}
    for count, (colour, box) in enumerate(_rectangles(image)):
        if count == MOST:
            return None
        if colour[3]:
            found.setdefault(colour, []).append(box)
    return found


def _rectangles(image: QImage) -> Iterator[tuple[Colour, QRect]]:
    """Runs of one colour, joined with equal ones in the rows below."""
    rgba = pixels_of(image.convertToFormat(QImage.Format.Format_RGBA8888))
    packed = rgba.view(np.uint32)[..., 0]
    open_runs: dict[tuple[int, int, int], int] = {}
    for row in range(len(packed) + 1):
        runs: dict[tuple[int, int, int], int] = {}
        if row < len(packed):
            line = packed[row]
            starts = np.flatnonzero(np.diff(line)) + 1
            ends = [*starts.tolist(), len(line)]
            for first, last in zip([0, *starts.tolist()], ends, strict=True):
                run = (first, last, int(line[first]))
                runs[run] = open_runs.pop(run, row)
        for (first, last, _), top in open_runs.items():
            r, g, b, a = rgba[top, first].tolist()
            yield (r, g, b, a), QRect(first, top, last - first, row - top)
        open_runs = runs


def fitted(image: QImage, source: QRectF, wide: float, high: float, *, smooth: bool) -> QImage:
    """The part of an image that is drawn at a size, with pixels enough for it and no more."""
    part = source.toAlignedRect().intersected(image.rect())
    image = image if part == image.rect() else image.copy(part)
    most = QSize(max(round(wide * FINE), 1), max(round(high * FINE), 1))
    if image.width() > most.width() or image.height() > most.height():
        size = QSize(min(image.width(), most.width()), min(image.height(), most.height()))
        return image.scaled(
            size, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
    times = min(most.width() // image.width(), WIDEST // max(image.width(), image.height()))
    if smooth or times < 2:
        return image
    return image.scaled(image.size() * times)  # for readers that smooth every image
