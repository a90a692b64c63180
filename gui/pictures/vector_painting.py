"""Painting widgets on devices that write down what is painted, instead of pixels.

Qt clips a widget to its parents on screens alone, and a clip that a view sets replaces it: such a
device is told what the parents leave, and keeps the clips itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QPaintDevice,
    QPaintEngine,
    QPaintEngineState,
    QPainter,
    QPainterPath,
    QRegion,
    QTransform,
)
from PySide6.QtWidgets import QWidget

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
