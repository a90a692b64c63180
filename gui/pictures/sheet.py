"""A paint device that passes all that is painted on to a PDF, with what Qt's own engine forgets.

Qt clips a widget to its parents on screens alone, and a clip that a view sets replaces it. And in a
PDF Qt takes the characters from the font's glyphs: tabular figures would be no text.
"""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QImage,
    QPaintDevice,
    QPaintEngine,
    QPaintEngineState,
    QPainter,
    QPainterPath,
    QPixmap,
    QPolygonF,
    QTextItem,
    QTransform,
)

FINE = 3  # units of the PDF, and pixels of an icon, for one pixel of the window
_Dirty = QPaintEngine.DirtyFlag
_CLIPS = _Dirty.DirtyClipPath | _Dirty.DirtyClipRegion | _Dirty.DirtyClipEnabled
_Metric = QPaintDevice.PaintDeviceMetric
_LOSSLESS = QPainter.RenderHint.LosslessImageRendering


class Sheet(QPaintDevice):
    """A sheet of a size in pixels of the window; the painter is one of a PDF."""

    def __init__(self, painter: QPainter, size: QSize, dpi: int) -> None:
        super().__init__()
        self._size, self._dpi = size * FINE, dpi
        self._engine = _Passing(painter, dpi)

    def within(self, box: QRect) -> None:
        """Nothing that is drawn from now on is seen outside a rectangle."""
        self._engine.outer = QTransform.fromScale(FINE, FINE).mapRect(QRectF(box))
        self._engine.clip()

    def paintEngine(self) -> QPaintEngine:
        """What passes everything on."""
        return self._engine

    def metric(self, metric: QPaintDevice.PaintDeviceMetric) -> int:
        """Sizes as an image of FINE has them, so that icons are drawn with as many pixels."""
        dpi = (_Metric.PdmDpiX, _Metric.PdmDpiY, _Metric.PdmPhysicalDpiX, _Metric.PdmPhysicalDpiY)
        return dict.fromkeys(dpi, self._dpi).get(metric) or {
            _Metric.PdmWidth: self._size.width(),
            _Metric.PdmHeight: self._size.height(),
            _Metric.PdmDevicePixelRatio: FINE,
            _Metric.PdmDevicePixelRatioScaled: int(FINE * QPaintDevice.devicePixelRatioFScale()),
            _Metric.PdmDepth: 32,
            _Metric.PdmNumColors: 1 << 24,
        }.get(metric, 0)


class _Passing(QPaintEngine):
    def __init__(self, painter: QPainter, dpi: int) -> None:
        super().__init__(QPaintEngine.PaintEngineFeature.AllFeatures)
        self._to, self._dpi = painter, dpi
        self.outer = QRectF()
        self._paths: list[QPainterPath] = []
        self._clips = True

    def type(self) -> QPaintEngine.Type:
        return QPaintEngine.Type.Pdf

    def begin(self, device: QPaintDevice) -> bool:
        self._paths.clear()
        return True

    def end(self) -> bool:
        return True

    def updateState(self, state: QPaintEngineState) -> None:
        to = self._to
        if state.state() & _CLIPS:
            self._follow_clip(state)
        to.setTransform(state.transform())
        to.setPen(state.pen())
        to.setBrush(state.brush())
        to.setBrushOrigin(state.brushOrigin())
        to.setOpacity(state.opacity())
        to.setRenderHints(to.renderHints(), False)
        to.setRenderHints(state.renderHints() | _LOSSLESS)

    def _follow_clip(self, state: QPaintEngineState) -> None:
        flags, operation = state.state(), state.clipOperation()
        self._clips = state.isClipEnabled()
        if flags & (_Dirty.DirtyClipPath | _Dirty.DirtyClipRegion):
            path = QPainterPath()
            if flags & _Dirty.DirtyClipPath:
                path = QPainterPath(state.clipPath())
            else:
                path.addRegion(state.clipRegion())
            if operation != Qt.ClipOperation.IntersectClip:
                self._paths.clear()
            if operation != Qt.ClipOperation.NoClip:
                self._paths.append(state.transform().map(path))
        self.clip()

    def clip(self) -> None:
        """Clip as the parents do, and then as the widget asked for."""
        transform = self._to.transform()
        self._to.resetTransform()
        self._to.setClipRect(self.outer)
        for path in self._paths if self._clips else ():
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
