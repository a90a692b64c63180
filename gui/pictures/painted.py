"""Widgets as images and as PDF. Painting is the UI thread's; nothing on the screen changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QPoint, QRect, QSizeF
from PySide6.QtGui import QImage, QPageSize, QPaintDevice, QPainter, QPdfWriter, QRegion
from PySide6.QtWidgets import QWidget

from gui.pictures.sheet import FINE, Sheet
from gui.pictures.vectors import as_vectors

POINTS = 72  # to the inch; a pixel of the window becomes a point
PIXELS_PER_METRE = 3780  # 96 to the inch
_ALONE = QWidget.RenderFlag(0)  # without its children


def image_of(widget: QWidget, scale: float = 2.0) -> QImage:
    """A widget as an opaque image of `scale` pixels for each of its own."""
    image = QImage(widget.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(widget.palette().window().color())
    with _painting(image) as painter:
        QWidget.render(widget, painter, QPoint(0, 0))  # a plot has a render of its own
    image.setDotsPerMeterX(round(PIXELS_PER_METRE * scale))
    image.setDotsPerMeterY(round(PIXELS_PER_METRE * scale))
    return image


def pdf_of(widget: QWidget, title: str) -> bytes:
    """A widget as a PDF file of one page, a point for each pixel."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(title)
    writer.setResolution(POINTS * FINE)
    size, exact = QSizeF(widget.size()), QPageSize.SizeMatchPolicy.ExactMatch
    writer.setPageSize(QPageSize(size, QPageSize.Unit.Point, "", exact))
    writer.setPageMargins(QMarginsF())
    with _painting(writer) as painter:
        sheet = Sheet(painter, widget.size(), widget.logicalDpiX())
        with as_vectors(sheet), _painting(sheet) as upon:
            sheet.within(widget.rect())
            upon.fillRect(widget.rect(), widget.palette().window())
            _paint(widget, sheet, upon, QPoint(0, 0), widget.rect(), first=True)
    return bytes(buffer.data().data())


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
    sheet: Sheet,
    painter: QPainter,
    at: QPoint,
    seen: QRect,
    *,
    first: bool = False,
) -> None:
    """Each widget by itself: only so is it known what its parents cut off."""
    seen = seen.intersected(QRect(at, widget.size()))
    if seen.isEmpty():
        return
    sheet.within(seen)
    flags = QWidget.RenderFlag.DrawWindowBackground if first else _ALONE
    QWidget.render(widget, painter, at, QRegion(), flags)
    for child in widget.children():
        if isinstance(child, QWidget) and not child.isHidden() and not child.isWindow():
            _paint(child, sheet, painter, at + child.pos(), seen)
