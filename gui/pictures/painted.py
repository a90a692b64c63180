"""Widgets as images and as drawings. Painting is the UI thread's; nothing on the screen changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QPoint, QRect, QRectF
from PySide6.QtGui import QImage, QPaintDevice, QPainter, QRegion
from PySide6.QtWidgets import QWidget

from gui.pictures.drawing import Drawing
from gui.views.kept import as_vectors

_ALONE = QWidget.RenderFlag(0)  # without what stands in it


def image_of(widget: QWidget, scale: float = 2.0) -> QImage:
    """A widget as an opaque image of `scale` pixels for each of its own."""
    image = QImage(widget.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(widget.palette().window().color())
    with _painting(image) as painter:
        QWidget.render(widget, painter, QPoint(0, 0))  # a plot has a render of its own
    return image


def drawing_of(widget: QWidget) -> Drawing:
    """A widget as marks."""
    drawing = Drawing(widget.size(), widget.logicalDpiX())
    with as_vectors(drawing), _painting(drawing) as painter:
        painter.fillRect(widget.rect(), widget.palette().window())
        _paint(widget, drawing, painter, QPoint(0, 0), widget.rect(), first=True)
    return drawing


@contextmanager
def _painting(device: QPaintDevice) -> Iterator[QPainter]:
    """A painter that ends whatever happens: Qt crashes if a device goes away under one."""
    painter = QPainter(device)
    try:
        yield painter
    finally:
        painter.end()


def _paint(
    widget: QWidget,
    drawing: Drawing,
    painter: QPainter,
    at: QPoint,
    seen: QRect,
    *,
    first: bool = False,
) -> None:
    """Each by itself: only so is it known what cuts off what reaches beyond it."""
    seen = seen.intersected(QRect(at, widget.size()))
    if seen.isEmpty():
        return
    drawing.within(QRectF(seen))
    flags = QWidget.RenderFlag.DrawWindowBackground if first else _ALONE
    QWidget.render(widget, painter, at, QRegion(), flags)
    for child in widget.children():
        if isinstance(child, QWidget) and not child.isHidden() and not child.isWindow():
            _paint(child, drawing, painter, at + child.pos(), seen)
