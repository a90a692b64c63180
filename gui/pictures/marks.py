"""A paint device that remembers what is drawn, for `gui.pictures.svg` to write.

Qt's own generator of SVG forgets that a painter was moved when it sets a clip, knows nothing of
what parents cut off, and has icons of one pixel for each of the window's. Here every mark has its
clip in the coordinates of the drawing. No pixmap is held, so another thread may write the marks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QFont,
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

RATIO = 3  # pixels of a bitmap, such as an icon, for one unit of the drawing
_Dirty = QPaintEngine.DirtyFlag
_CLIPS = _Dirty.DirtyClipPath | _Dirty.DirtyClipRegion | _Dirty.DirtyClipEnabled
_Metric = QPaintDevice.PaintDeviceMetric


@dataclass(frozen=True)
class Clip:
    """What is seen of a mark, in the drawing's coordinates: a rectangle, and within it a path."""

    box: QRectF
    path: QPainterPath | None = None

    def also(self, path: QPainterPath) -> Clip:
        """What lies within another path as well."""
        box = path.boundingRect()
        if _is_box(path):
            return Clip(self.box.intersected(box), self.path)
        inner = path if self.path is None else self.path.intersected(path)
        return Clip(self.box.intersected(box), inner)


@dataclass(frozen=True)
class Look:
    """How a mark is drawn; `transform` leads to the drawing's coordinates."""

    pen: QPen
    brush: QBrush
    transform: QTransform
    clip: Clip
    opacity: float
    smooth: bool  # edges
    smooth_images: bool
    origin: QPointF  # of the brush


@dataclass(frozen=True)
class Shape:
    """An outline that is filled, unless it is `open`, and stroked."""

    path: QPainterPath
    look: Look
    open: bool = False


@dataclass(frozen=True)
class Boxes:
    """Rectangles that are filled and outlined alike."""

    rects: tuple[QRectF, ...]
    look: Look


@dataclass(frozen=True)
class Words:
    """A piece of text on one line; `at` is the left end of its base line."""

    at: QPointF
    text: str
    font: QFont
    width: float
    ascent: float
    descent: float
    look: Look


@dataclass(frozen=True)
class Bitmap:
    """The part `source` of an image, in its pixels, drawn into a rectangle."""

    rect: QRectF
    image: QImage
    source: QRectF
    look: Look


Mark = Shape | Boxes | Words | Bitmap


class Drawing(QPaintDevice):
    """A sheet of a size in pixels of the window; what is painted on it becomes `marks`."""

    def __init__(self, size: QSize, dpi: int = 96) -> None:
        super().__init__()
        self.size, self.dpi = size, dpi
        self._engine = _Recorder(QRectF(0, 0, size.width(), size.height()))

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
    def __init__(self, sheet: QRectF) -> None:
        super().__init__(QPaintEngine.PaintEngineFeature.AllFeatures)
        self.marks: list[Mark] = []
        self._outer = Clip(sheet)
        self._back = QTransform.fromScale(1 / RATIO, 1 / RATIO)
        self._clip: list[QPainterPath] = []
        self._look: Look | None = None

    def type(self) -> QPaintEngine.Type:
        """Views ask whether what they draw may hold pixels."""
        return QPaintEngine.Type.SVG

    def begin(self, device: QPaintDevice) -> bool:
        self._clip.clear()
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
        for path in self._clip:
            clip = clip.also(path)
        return clip

    def _follow_clip(
        self, state: QPaintEngineState, flags: QPaintEngine.DirtyFlag, transform: QTransform
    ) -> None:
        operation = state.clipOperation()
        if not state.isClipEnabled() or operation == Qt.ClipOperation.NoClip:
            self._clip.clear()
            return
        if flags & _Dirty.DirtyClipPath:
            path = QPainterPath(state.clipPath())
        elif flags & _Dirty.DirtyClipRegion:
            path = QPainterPath()
            path.addRegion(state.clipRegion())
        else:  # put on again: the painter knows what it was
            path, operation = state.painter().clipPath(), Qt.ClipOperation.ReplaceClip
        if operation == Qt.ClipOperation.ReplaceClip:
            self._clip.clear()
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
        sizes = item.width(), item.ascent(), item.descent()
        self.marks.append(Words(QPointF(at), item.text(), QFont(item.font()), *sizes, self.look))

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


def _is_box(path: QPainterPath) -> bool:
    """Whether a path is one upright rectangle."""
    count = path.elementCount()
    if count not in (0, 5):
        return count == 0
    ends = [path.elementAt(i) for i in range(count)]
    xs, ys = {round(e.x, 3) for e in ends}, {round(e.y, 3) for e in ends}
    straight = all(abs(a.x - b.x) < 1e-3 or abs(a.y - b.y) < 1e-3 for a, b in pairwise(ends))
    return straight and len(xs) <= 2 and len(ys) <= 2
