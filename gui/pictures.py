"""Pictures of widgets: as images, as vectors, as PDF, and as files.

Painting is the UI thread's, and changes nothing on the screen; workers write the files. Devices
that write down what is painted, instead of pixels, are told of clips in their own way: Qt clips a
widget to its parents on screens alone, and a clip that a view sets replaces it. Such a device is
told what the parents leave, and keeps the clips itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import (
    QBuffer,
    QIODevice,
    QMarginsF,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    QSizeF,
    Qt,
)
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QImage,
    QPageSize,
    QPaintDevice,
    QPaintEngine,
    QPaintEngineState,
    QPainter,
    QPainterPath,
    QPdfWriter,
    QPixmap,
    QPolygonF,
    QRegion,
    QTextItem,
    QTransform,
)
from PySide6.QtWidgets import QWidget

from core.atomic_files import replacing
from core.cancelling import check

SUFFIXES = (".png", ".pdf")
_QUALITY = 80  # half the time of Qt's usual compression, and a tenth more bytes
POINTS = 72  # to the inch; a pixel of the window becomes a point
PIXELS_PER_METRE = 3780  # 96 to the inch
FINE = 3  # units of the PDF, and pixels of an icon, for one pixel of the window
_LOSSLESS = QPainter.RenderHint.LosslessImageRendering
VECTORS = (QPaintEngine.Type.SVG, QPaintEngine.Type.Pdf, QPaintEngine.Type.Picture)
Dirty = QPaintEngine.DirtyFlag
_CLIPS = Dirty.DirtyClipPath | Dirty.DirtyClipRegion
_Metric = QPaintDevice.PaintDeviceMetric
_ALONE = QWidget.RenderFlag(0)  # a widget without its children

_written_on: list[VectorDevice] = []


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


@dataclass(frozen=True)
class Picture:
    """What was painted: an image, or the bytes of a PDF. Another thread writes the file."""

    content: QImage | bytes

    def encoded(self) -> bytes:
        """The file's bytes: an image becomes PNG. Raises Cancelled."""
        check()
        found = self.content if isinstance(self.content, bytes) else png(self.content)
        check()
        return found


def png(image: QImage) -> bytes:
    """An image as a PNG file."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "PNG", _QUALITY):  # type: ignore[call-overload]
        raise MemoryError
    return bytes(buffer.data().data())


def write_picture(picture: Picture, path: Path) -> Path:
    """Write a picture; what was at `path` stays until all of the new file is there.

    Raises Cancelled, and TilescopeError with what to do where the file cannot be written.
    """
    with replacing(path) as file:
        file.write(picture.encoded())
    return path


# -- devices that write down what is painted -------------------------------------------------------


class VectorEngine(QPaintEngine):
    """Base of what writes down; it keeps the clips that the widget asked for."""

    def __init__(self, kind: QPaintEngine.Type) -> None:
        super().__init__(QPaintEngine.PaintEngineFeature.AllFeatures)
        self._kind = kind
        self._outer = QRectF()  # what the parents leave
        self._paths: list[QPainterPath] = []
        self._clips = True

    def type(self) -> QPaintEngine.Type:
        """What Qt takes the engine for."""
        return self._kind

    def begin(self, device: QPaintDevice) -> bool:
        """Forget the clips of another painting."""
        self._paths.clear()
        return True

    def end(self) -> bool:
        """Nothing is left to be done."""
        return True

    def within(self, box: QRectF) -> None:
        """Nothing that is drawn from now on is seen outside a rectangle."""
        self._outer = box

    @property
    def cuts(self) -> Sequence[QPainterPath]:
        """What the widget itself clips to, in units of the device."""
        return self._paths if self._clips else ()

    def follow_clip(self, state: QPaintEngineState) -> bool:
        """Take up a clip that was set; returns whether it is another one."""
        flags, operation = state.state(), state.clipOperation()
        if not flags & (_CLIPS | Dirty.DirtyClipEnabled):
            return False
        self._clips = state.isClipEnabled()
        if flags & _CLIPS:
            path = QPainterPath()
            if flags & Dirty.DirtyClipPath:
                path = QPainterPath(state.clipPath())
            else:
                path.addRegion(state.clipRegion())
            if operation != Qt.ClipOperation.IntersectClip:
                self._paths.clear()
            if operation != Qt.ClipOperation.NoClip:
                self._paths.append(state.transform().map(path))
        return True


class VectorDevice(QPaintDevice):
    """A sheet of a size in pixels of the window, each of which has `fine` units of the engine."""

    def __init__(self, size: QSize, dpi: int, engine: VectorEngine, fine: int = 1) -> None:
        super().__init__()
        self._size, self._dpi, self._engine, self._fine = size * fine, dpi, engine, fine

    def within(self, box: QRect) -> None:
        """Nothing that is drawn from now on is seen outside a rectangle, in pixels."""
        self._engine.within(QTransform.fromScale(self._fine, self._fine).mapRect(QRectF(box)))

    def paintEngine(self) -> QPaintEngine:
        """What writes everything down."""
        return self._engine

    def metric(self, metric: QPaintDevice.PaintDeviceMetric) -> int:
        """Sizes as an image has them, so that icons are drawn with as many pixels."""
        dpi = (_Metric.PdmDpiX, _Metric.PdmDpiY, _Metric.PdmPhysicalDpiX, _Metric.PdmPhysicalDpiY)
        ratio = self._fine * QPaintDevice.devicePixelRatioFScale()
        return dict.fromkeys(dpi, self._dpi).get(metric) or {
            _Metric.PdmWidth: self._size.width(),
            _Metric.PdmHeight: self._size.height(),
            _Metric.PdmDevicePixelRatio: self._fine,
            _Metric.PdmDevicePixelRatioScaled: int(ratio),
            _Metric.PdmDepth: 32,
            _Metric.PdmNumColors: 1 << 24,
        }.get(metric, 0)


def write_down(widget: QWidget, device: VectorDevice, *, ground: bool) -> None:
    """Paint a widget and its children; `ground`: and what lies behind them."""
    _written_on.append(device)
    try:
        with painting(device) as painter:
            device.within(widget.rect())
            if ground:
                painter.fillRect(widget.rect(), widget.palette().window())
            flags = QWidget.RenderFlag.DrawWindowBackground if ground else _ALONE
            _paint(widget, device, painter, QPoint(0, 0), widget.rect(), flags)
    finally:
        _written_on.pop()


@contextmanager
def painting(device: QPaintDevice) -> Iterator[QPainter]:
    """A painter that ends whatever happens: Qt crashes if a device goes away under one."""
    painter = QPainter(device)
    try:
        yield painter
    finally:
        painter.end()


def _paint(
    widget: QWidget,
    device: VectorDevice,
    painter: QPainter,
    at: QPoint,
    seen: QRect,
    flags: QWidget.RenderFlag = _ALONE,
) -> None:
    """Each widget by itself: only so is it known what its parents cut off."""
    seen = seen.intersected(QRect(at, widget.size()))
    if seen.isEmpty():
        return
    device.within(seen)
    QWidget.render(widget, painter, at, QRegion(), flags)
    for child in widget.children():
        if isinstance(child, QWidget) and not child.isHidden() and not child.isWindow():
            _paint(child, device, painter, at + child.pos(), seen)


def is_vector(painter: QPainter) -> bool:
    """Whether what is painted is written down, in which case it is to hold no pixels.

    An engine written in Python is not asked: PySide gives each that was asked for to the painter,
    and never frees it.
    """
    if _written_on:
        return True
    engine = painter.paintEngine()
    return engine is None or engine.type() in VECTORS


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
