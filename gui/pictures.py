"""Pictures of widgets: as images, as vectors, as PDF, as files, and pages of them as a PDF.

Painting is the UI thread's, and changes nothing on the screen; workers write the files. Devices
that write down what is painted, instead of pixels, are told of clips in their own way: Qt clips a
widget to its parents on screens alone, and a clip that a view sets replaces it. Such a device is
told what the parents leave, and keeps the clips itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
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
    QPageLayout,
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
    QTextDocument,
    QTextItem,
    QTransform,
)
from PySide6.QtWidgets import QWidget

from core.cancelling import check
from core.files import replacing
from gui.looks.theme import load_fonts

VECTORS = (QPaintEngine.Type.SVG, QPaintEngine.Type.Pdf, QPaintEngine.Type.Picture)
Dirty = QPaintEngine.DirtyFlag
_CLIPS = Dirty.DirtyClipPath | Dirty.DirtyClipRegion
_Metric = QPaintDevice.PaintDeviceMetric
_ALONE = QWidget.RenderFlag(0)  # a widget without its children

_written_on: list[VectorDevice] = []


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


SUFFIXES = (".png", ".pdf")


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


_QUALITY = 80  # half the time of Qt's usual compression, and a tenth more bytes


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


MARGIN_MM = 18
FOOT_MM = 8  # of the page's number, within the margin
RESOLUTION = 288  # dots an inch
PICTURE_DPI = 320  # of a picture's pixels
SMALLER = 0.75  # of its size, to which a picture is made smaller to fit a page
LEAST = 0.5  # the same where the page would be left empty by a third
STYLE = """
h1, h2, b { font-weight: 600; }
h1 { font-size: 17pt; } h2 { font-size: 13pt; }
p { font-size: 10pt; margin-top: 0; margin-bottom: 4pt; }
.rule { margin-top: 7pt; } .name { margin-top: 6pt; }
.small { font-size: 8.5pt; color: #555; } .head { font-size: 9pt; color: #555; }
pre { font-family: 'JetBrains Mono'; font-size: 8pt; margin: 0; white-space: pre-wrap; }
code { font-family: 'JetBrains Mono'; font-size: 9pt; }
"""
UNREADABLE = ("tnum", "calt", "ccmp", "liga")
"""Features of the faces that a reader of the PDF can neither copy nor search nor read aloud."""


@dataclass(frozen=True)
class Piece:
    """What stands together on one page: a text as HTML, and a picture below it.

    `new_page` begins one; `close`: no gap is left above.
    """

    html: str
    picture: QImage | None = None
    new_page: bool = False
    close: bool = False


class Sheet:
    """Lays pieces below each other on pages of A4. Needs a QGuiApplication."""

    def __init__(self, title: str, style: str = STYLE) -> None:
        load_fonts()
        self._style = style
        self._buffer = QBuffer()
        self._buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self._writer = QPdfWriter(self._buffer)
        self._writer.setTitle(title)
        self._writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
        margins = QMarginsF(*[MARGIN_MM] * 4)
        self._writer.setPageMargins(margins, QPageLayout.Unit.Millimeter)
        self._writer.setResolution(RESOLUTION)
        self._width, self._height = float(self._writer.width()), float(self._writer.height())
        self._title, self._page, self._y = title, 1, 0.0
        self._font = QFont("Inter", 10)
        for feature in UNREADABLE:
            self._font.setFeature(QFont.Tag(feature), 0)
        self._painter = QPainter(self._writer)
        self._number_page()

    def add(self, piece: Piece) -> None:
        """Put a piece below the last one, or on the next page."""
        text = self._text(piece.html)
        height, gap = text.size().height(), 0.0 if piece.close else self._mm(3)
        height += 0 if piece.picture is None else self._mm(2)
        picture = None if piece.picture is None else trimmed(piece.picture)
        size = QSizeF() if picture is None else self._size(picture)
        room = self._height - self._y - gap
        if piece.new_page and self._y:
            self._turn()
        elif height + size.height() > room:
            least = LEAST if room > self._height / 3 else SMALLER
            if picture is not None and least * size.height() <= room - height:
                size *= (room - height) / size.height()
            elif self._y:
                self._turn()
        if self._y:
            self._y += gap
        self._put(text, height)
        if picture is not None:
            size *= min(1.0, (self._height - self._y) / size.height())
            self._painter.drawImage(QRectF(QPointF(0, self._y), size), picture)
            self._y += size.height()

    def data(self) -> bytes:
        """The file, which is then complete."""
        self._painter.end()
        return bytes(self._buffer.data().data())

    def _mm(self, length: float) -> float:
        return length * RESOLUTION / 25.4

    def _text(self, html: str) -> QTextDocument:
        document = QTextDocument()
        document.documentLayout().setPaintDevice(self._writer)
        document.setDocumentMargin(0)
        document.setDefaultFont(self._font)
        document.setDefaultStyleSheet(self._style)
        document.setHtml(html)
        document.setTextWidth(self._width)
        return document

    def _size(self, picture: QImage) -> QSizeF:
        size = QSizeF(picture.size()) * (RESOLUTION / PICTURE_DPI)
        return size * min(1.0, self._width / size.width(), 0.8 * self._height / size.height())

    def _put(self, text: QTextDocument, height: float) -> None:
        """Draw a text; one that is higher than a page goes on on the next."""
        if height > self._height:
            text.setPageSize(QSizeF(self._width, self._height))
            for page in range(text.pageCount()):
                if page:
                    self._turn()
                self._painter.save()
                self._painter.translate(0, -page * self._height)
                text.drawContents(
                    self._painter, QRectF(0, page * self._height, self._width, self._height)
                )
                self._painter.restore()
            self._y = self._height
            return
        self._painter.save()
        self._painter.translate(0, self._y)
        text.drawContents(self._painter)
        self._painter.restore()
        self._y += height

    def _turn(self) -> None:
        self._writer.newPage()
        self._page, self._y = self._page + 1, 0.0
        self._number_page()

    def _number_page(self) -> None:
        foot = self._text(f"<p class='small'>{escape(self._title)}, page {self._page}</p>")
        self._painter.save()
        self._painter.translate(0, self._height + self._mm(FOOT_MM) - foot.size().height() / 2)
        foot.drawContents(self._painter)
        self._painter.restore()


def trimmed(picture: QImage) -> QImage:
    """The picture without the empty edges around what it shows."""
    picture = picture.convertToFormat(QImage.Format.Format_RGB32)
    stride = picture.bytesPerLine() // 4
    pixels = np.frombuffer(picture.constBits(), np.uint32).reshape(picture.height(), stride)
    pixels = pixels[:, : picture.width()]
    drawn = pixels != pixels[-1, -1]
    if not drawn.any():
        return picture
    rows, columns = np.flatnonzero(drawn.any(1)), np.flatnonzero(drawn.any(0))
    left, top = int(columns[0]), int(rows[0])
    return picture.copy(left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1)
