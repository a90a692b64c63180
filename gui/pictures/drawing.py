"""A paint device that remembers what is drawn.

Qt's own generator of SVG forgets that a painter was moved when it sets a clip, knows nothing of
what parents cut off, and has icons of one pixel for each of the window's. Here every mark has its
clip in the coordinates of the drawing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QFont,
    QFontInfo,
    QImage,
    QPaintDevice,
    QPaintEngine,
    QPaintEngineState,
    QPainter,
    QPainterPath,
    QPen,
    QPixmap,
    QPolygonF,
    QTextItem,
    QTransform,
)

from gui.pictures.marks import Bitmap, Boxes, Clip, Face, Look, Mark, Shape, Words

RATIO = 3  # pixels of a bitmap, such as an icon, for one unit of the drawing
_PRIVATE = range(0xE000, 0xF900), range(0xF0000, 0x110000)  # where icon fonts have their symbols
_Dirty = QPaintEngine.DirtyFlag
_CLIPS = _Dirty.DirtyClipPath | _Dirty.DirtyClipRegion | _Dirty.DirtyClipEnabled
_Metric = QPaintDevice.PaintDeviceMetric


class Drawing(QPaintDevice):
    """A sheet of a size in pixels of the window; what is painted on it becomes `marks`."""

    def __init__(self, size: QSize, dpi: int = 96) -> None:
        super().__init__()
        self.size, self.dpi = size, dpi
        self._engine = _Recorder(QRectF(0, 0, size.width(), size.height()), dpi)

    @property
    def marks(self) -> list[Mark]:
        """All that was drawn, what lies below first."""
        return self._engine.marks

    def within(self, box: QRectF) -> None:
        """Nothing that is drawn from now on is seen outside a rectangle."""
        self._engine.within(Clip(box))

    def paintEngine(self) -> QPaintEngine:
        """What keeps the marks."""
        return self._engine

    def metric(self, metric: QPaintDevice.PaintDeviceMetric) -> int:
        """Sizes as an image of RATIO has them, so that icons are drawn with as many pixels."""
        wide, high = self.size.width() * RATIO, self.size.height() * RATIO
        return {
            _Metric.PdmWidth: wide,
            _Metric.PdmHeight: high,
            _Metric.PdmWidthMM: round(wide * 25.4 / self.dpi),
            _Metric.PdmHeightMM: round(high * 25.4 / self.dpi),
            _Metric.PdmDpiX: self.dpi,
            _Metric.PdmDpiY: self.dpi,
            _Metric.PdmPhysicalDpiX: self.dpi,
            _Metric.PdmPhysicalDpiY: self.dpi,
            _Metric.PdmDevicePixelRatio: RATIO,
            _Metric.PdmDevicePixelRatioScaled: int(RATIO * QPaintDevice.devicePixelRatioFScale()),
            _Metric.PdmDepth: 32,
            _Metric.PdmNumColors: 1 << 24,
        }.get(metric, 0)


class _Recorder(QPaintEngine):
    def __init__(self, sheet: QRectF, dpi: int) -> None:
        super().__init__(QPaintEngine.PaintEngineFeature.AllFeatures)
        self._dpi = dpi
        self._faces: dict[str, Face] = {}
        self.marks: list[Mark] = []
        self._outer = Clip(sheet)
        self._back = QTransform.fromScale(1 / RATIO, 1 / RATIO)
        self._clip: list[QPainterPath] = []
        self._clips = True
        self._look: Look | None = None

    def type(self) -> QPaintEngine.Type:
        """Views ask whether what they draw may hold pixels."""
        return QPaintEngine.Type.SVG

    def begin(self, device: QPaintDevice) -> bool:
        self._clip.clear()
        self._clips = True
        return True

    def end(self) -> bool:
        return True

    def updateState(self, state: QPaintEngineState) -> None:
        transform = state.transform() * self._back
        flags = state.state()
        if flags & _CLIPS:
            self._follow_clip(state, flags, transform)
        hints = state.renderHints()
        self._look = Look(
            QPen(state.pen()),
            QBrush(state.brush()),
            transform,
            self._whole_clip(),
            state.opacity(),
            bool(hints & QPainter.RenderHint.Antialiasing),
            bool(hints & QPainter.RenderHint.SmoothPixmapTransform),
            QPointF(state.brushOrigin()),
        )

    def within(self, clip: Clip) -> None:
        """Nothing is seen outside it from now on."""
        self._outer = clip
        if self._look is not None:
            self._look = replace(self._look, clip=self._whole_clip())

    def _whole_clip(self) -> Clip:
        clip = self._outer
        for path in self._clip if self._clips else ():
            clip = clip.also(path)
        return clip

    def _follow_clip(
        self, state: QPaintEngineState, flags: QPaintEngine.DirtyFlag, transform: QTransform
    ) -> None:
        self._clips, operation = state.isClipEnabled(), state.clipOperation()
        if flags & _Dirty.DirtyClipPath:
            path = QPainterPath(state.clipPath())
        elif flags & _Dirty.DirtyClipRegion:
            path = QPainterPath()
            path.addRegion(state.clipRegion())
        else:
            return  # taken off, or put on again
        if operation != Qt.ClipOperation.IntersectClip:
            self._clip.clear()
        if operation != Qt.ClipOperation.NoClip:
            self._clip.append(transform.map(path))

    @property
    def look(self) -> Look:
        assert self._look is not None  # Qt tells the state before the first mark
        return self._look

    def drawRects(self, rects: Iterable[QRectF]) -> None:
        self.marks.append(Boxes(tuple(QRectF(rect) for rect in rects), self.look))

    def drawPath(self, path: QPainterPath) -> None:
        self.marks.append(Shape(QPainterPath(path), self.look))

    def drawEllipse(self, rect: QRectF) -> None:  # type: ignore[override]
        path = QPainterPath()
        path.addEllipse(QRectF(rect))
        self.marks.append(Shape(path, self.look))

    def drawLines(self, lines: Iterable[object]) -> None:
        path = QPainterPath()
        for line in lines:
            path.moveTo(QPointF(line.p1()))  # type: ignore[attr-defined]
            path.lineTo(QPointF(line.p2()))  # type: ignore[attr-defined]
        self.marks.append(Shape(path, self.look, open=True))

    def drawPoints(self, points: Iterable[QPointF]) -> None:
        path = QPainterPath()
        for point in points:
            path.moveTo(QPointF(point))
            path.lineTo(QPointF(point) + QPointF(0.01, 0))
        self.marks.append(Shape(path, self.look, open=True))

    def drawPolygon(self, points: Iterable[QPointF], mode: QPaintEngine.PolygonDrawMode) -> None:
        path, line = QPainterPath(), mode == QPaintEngine.PolygonDrawMode.PolylineMode
        path.addPolygon(QPolygonF([QPointF(point) for point in points]))
        if mode == QPaintEngine.PolygonDrawMode.WindingMode:
            path.setFillRule(Qt.FillRule.WindingFill)
        if not line:
            path.closeSubpath()
        self.marks.append(Shape(path, self.look, open=line))

    def drawTextItem(self, at: QPointF, item: QTextItem) -> None:  # type: ignore[override]
        text, font = item.text(), item.font()
        if any(ord(c) in private for c in text for private in _PRIVATE):
            path, look = QPainterPath(), self.look
            path.addText(QPointF(at), font, text)
            path.setFillRule(Qt.FillRule.WindingFill)
            no_pen = QPen(Qt.PenStyle.NoPen)
            inked = replace(look, pen=no_pen, brush=look.pen.brush(), smooth=True)
            self.marks.append(Shape(path, inked))
            return
        sizes = item.width(), item.ascent(), item.descent()
        self.marks.append(Words(QPointF(at), text, self._face(font), *sizes, self.look))

    def _face(self, font: QFont) -> Face:
        key = font.key()
        if key not in self._faces:
            info, size = QFontInfo(font), float(font.pixelSize())
            generic = "monospace" if info.fixedPitch() else "sans-serif"
            names = tuple(dict.fromkeys([info.family(), *font.families(), generic]))
            size = size if size > 0 else font.pointSizeF() * self._dpi / 72
            self._faces[key] = Face(names, size, int(font.weight()), font.italic())
        return self._faces[key]

    def drawImage(  # type: ignore[override]
        self, rect: QRectF, image: QImage, source: QRectF, flags: object = None
    ) -> None:
        self.marks.append(Bitmap(QRectF(rect), image.copy(), QRectF(source), self.look))

    def drawPixmap(self, rect: QRectF, pixmap: QPixmap, source: QRectF) -> None:  # type: ignore[override]
        self.drawImage(rect, pixmap.toImage(), source)

    def drawTiledPixmap(self, rect: QRectF, pixmap: QPixmap, start: QPointF) -> None:  # type: ignore[override]
        look = self.look
        brush = QBrush(pixmap.toImage())
        pen = QPen(Qt.PenStyle.NoPen)
        tiled = Look(
            pen, brush, look.transform, look.clip, look.opacity, True, False, rect.topLeft() - start
        )
        self.marks.append(Boxes((QRectF(rect),), tiled))
