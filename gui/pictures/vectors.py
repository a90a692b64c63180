"""Whether a picture is being painted as vectors: a PDF holds no pixels of cells or texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtGui import QPaintEngine, QPainter

VECTORS = (QPaintEngine.Type.SVG, QPaintEngine.Type.Pdf, QPaintEngine.Type.Picture)

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
    """Whether a PDF is made, which is to hold no pixels.

    An engine written in Python is not asked: PySide gives each that was asked for to the painter,
    and never frees it.
    """
    if _drawings:
        return True
    engine = painter.paintEngine()
    return engine is None or engine.type() in VECTORS
