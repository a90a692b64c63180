"""Widgets as images and as PDF. Painting is the UI thread's; nothing on the screen changes."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QPoint, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QImage,
    QPageSize,
    QPaintEngine,
    QPaintEngineState,
    QPainter,
    QPainterPath,
    QPdfWriter,
    QPixmap,
    QPolygonF,
    QTextItem,
)
from PySide6.QtWidgets import QWidget

from gui.pictures.vector_painting import VectorDevice, VectorEngine, painting, write_down

POINTS = 72  # to the inch; a pixel of the window becomes a point
PIXELS_PER_METRE = 3780  # 96 to the inch
FINE = 3  # units of the PDF, and pixels of an icon, for one pixel of the window
_LOSSLESS = QPainter.RenderHint.LosslessImageRendering


def image_of(widget: QWidget, scale: float = 2.0) -> QImage:
    """A widget as an opaque image of `scale` pixels for each of its own."""
    image = QImage(widget.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.fill(widget.palette().window().color())
    with painting(image) as painter:
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
    with painting(writer) as painter:
        dpi = widget.logicalDpiX()
        sheet = VectorDevice(widget.size(), dpi, _Passing(painter, dpi), FINE)
        write_down(widget, sheet, ground=True)
    return bytes(buffer.data().data())


class _Passing(VectorEngine):
    """Passes all on to the painter of a PDF, which has FINE units for a pixel.

    In a PDF Qt takes the characters from the font's glyphs: tabular figures would be no text.
    """

    def __init__(self, painter: QPainter, dpi: int) -> None:
        super().__init__(QPaintEngine.Type.Pdf)
        self._to, self._dpi = painter, dpi

    def updateState(self, state: QPaintEngineState) -> None:
        to = self._to
        if self.follow_clip(state):
            self._clip()
        to.setTransform(state.transform())
        to.setPen(state.pen())
        to.setBrush(state.brush())
        to.setBrushOrigin(state.brushOrigin())
        to.setOpacity(state.opacity())
        to.setRenderHints(to.renderHints(), False)
        to.setRenderHints(state.renderHints() | _LOSSLESS)

    def within(self, box: QRectF) -> None:
        super().within(box)
        self._clip()

    def _clip(self) -> None:
        """Clip as the parents do, and then as the widget asked for."""
        transform = self._to.transform()
        self._to.resetTransform()
        self._to.setClipRect(self._outer)
        for path in self.cuts:
            self._to.setClipPath(path, Qt.ClipOperation.IntersectClip)
        self._to.setTransform(transform)

    def drawPath(self, path: QPainterPath) -> None:
        self._to.drawPath(path)

    def drawRects(self, rects: Iterable[QRectF]) -> None:
        self._to.drawRects(list(rects))

    def drawPolygon(self, points: Iterable[QPointF], mode: QPaintEngine.PolygonDrawMode) -> None:
        polygon = QPolygonF([QPointF(point) for point in points])
        if mode == QPaintEngine.PolygonDrawMode.PolylineMode:
            self._to.drawPolyline(polygon)
        elif mode == QPaintEngine.PolygonDrawMode.WindingMode:
            self._to.drawPolygon(polygon, Qt.FillRule.WindingFill)
        else:
            self._to.drawPolygon(polygon)

    def drawTextItem(self, at: QPointF, item: QTextItem) -> None:  # type: ignore[override]
        """Plain figures, drawn as wide as the tabular ones are."""
        font, to, words = QFont(item.font()), self._to, item.text()
        if font.pixelSize() <= 0:  # points would be those of the PDF's resolution
            font.setPixelSize(max(round(font.pointSizeF() * self._dpi / 72), 1))
        font.setFamilies(font.families())  # said anew, or the painter takes the application's
        font.setWeight(font.weight())
        font.setStyle(font.style())
        font.unsetFeature(QFont.Tag("tnum"))
        wide = QFontMetricsF(font).horizontalAdvance(words)
        to.save()
        to.translate(at)
        if wide > 0:
            to.scale(item.width() / wide, 1)
        to.setFont(font)
        to.drawText(QPointF(0, 0), words)
        to.restore()

    def drawImage(  # type: ignore[override]
        self, rect: QRectF, image: QImage, source: QRectF, flags: object = None
    ) -> None:
        self._to.drawImage(rect, image, source)

    def drawPixmap(self, rect: QRectF, pixmap: QPixmap, source: QRectF) -> None:  # type: ignore[override]
        self._to.drawPixmap(rect, pixmap, source)
