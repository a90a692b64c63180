"""The two plots of the benchmark page: a point's launches, and the sweep's curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.scenes.bench_plot import OVER, QUANTITIES, Curve, PlotPoint, Request
from gui.scenes.text import grouped
from gui.theme import current_theme

_SYMBOLS = ("o", "s", "t", "d", "p", "h", "star")
_ROOM = 40  # pixels of a key's row beside its title
_LINES = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine)


def style_axes(plot: Any, left: str, bottom: str) -> None:
    """Give a plot the theme's colours and its axes their names."""
    theme = current_theme()
    for name, label in (("left", left), ("bottom", bottom)):
        axis = plot.getAxis(name)
        axis.enableAutoSIPrefix(False)
        axis.setPen(theme.color("border"))
        axis.setTextPen(theme.color("text_dim"))
        axis.setTickFont(theme.font("small"))
        plot.setLabel(name, label, color=theme.surfaces.text_dim)
    plot.showGrid(x=False, y=True, alpha=0.18)


class LaunchPlot(pg.PlotWidget):
    """Each launch of one point in its order, the median, and the band that holds 90 % of them."""

    def __init__(self) -> None:
        pg.setConfigOptions(antialias=True)
        super().__init__(axisItems={"left": _ValueAxis()})
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setAccessibleName("Rate of each launch")
        self.unit = "GFLOPS"
        self.values: list[float] = []
        self.dots = pg.ScatterPlotItem(size=6, pen=None)
        self.median = pg.InfiniteLine(angle=0, movable=False)
        self.band = pg.LinearRegionItem(orientation="horizontal", movable=False)
        for edge in self.band.lines:
            edge.setPen(pg.mkPen(None))
        self.text = pg.TextItem(anchor=(1, 1))
        self.band.setZValue(-20)
        for item in (self.band, self.dots, self.median, self.text):
            self.addItem(item)
        self.show_values([], "GFLOPS")

    def show_values(self, values: Sequence[float], unit: str) -> None:
        """Show these launches; `unit` is GFLOPS or ms."""
        self.values = list(values)
        if unit != self.unit:
            self.unit = unit
            self.restyle()
        self.dots.setData(x=np.arange(1, len(values) + 1), y=np.asarray(values, dtype=float))
        for item in (self.median, self.text, self.band):
            item.setVisible(bool(values))
        right = max(len(values), 20)
        self.setXRange(0, right * 1.02, padding=0)
        self.setYRange(0, max(values, default=100.0) * 1.15, padding=0)
        if values:
            low, middle, high = self._spread
            self.median.setValue(middle)
            self.band.setRegion((low, high))
            shown = [grouped(round(v)) if unit == "GFLOPS" else f"{v:.4g}" for v in self._spread]
            self.text.setText(f"median {shown[1]} {unit} ({shown[0]} to {shown[2]})")
            self.text.setPos(right, max(self.values))  # above every dot

    @property
    def _spread(self) -> tuple[float, float, float]:
        """The 5th, the 50th and the 95th percentile."""
        low, middle, high = np.quantile(self.values, (0.05, 0.5, 0.95))
        return float(low), float(middle), float(high)

    def restyle(self) -> None:
        """Take up the theme's colours."""
        theme = current_theme()
        self.setBackground(theme.color("panel"))
        style_axes(self, self.unit, "launch")
        self.dots.setBrush(theme.color("load", 0.55))
        self.median.setPen(pg.mkPen(theme.color("store"), width=2))
        self.band.setBrush(theme.color("store", 0.14))
        self.text.setColor(theme.color("text"))
        self.text.setFont(theme.font("caption", bold=True))


class _ValueAxis(pg.AxisItem):
    """Large numbers with their digits in groups."""

    def __init__(self) -> None:
        super().__init__("left")

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        shown = super().tickStrings(values, scale, spacing)
        return [
            grouped(round(value)) if abs(value) >= 10_000 else text
            for value, text in zip(values, shown, strict=True)
        ]


class _SizeAxis(pg.AxisItem):
    """Ticks at the values that were measured, which stand at their logarithms."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.values: tuple[int, ...] = ()

    def show_values(self, values: Sequence[int]) -> None:
        """Put a tick at each value."""
        self.values = tuple(values)
        self.setTicks([[(place(v), grouped(v) if v > 9999 else str(v)) for v in values]])


def place(value: float) -> float:
    """Where a size or a tile stands on its axis: doubling is one step."""
    return math.log2(value) if value > 0 else 0.0


class Key(QWidget):
    """Which line is which kernel's, beside a plot."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, QPen, str]] = []

    def show_rows(self, rows: Sequence[tuple[str, QPen, str]]) -> None:
        """Show titles with their lines and symbols."""
        self.rows = list(rows)
        metrics = QFontMetrics(current_theme().font("small"))
        width = max((metrics.horizontalAdvance(title) for title, _, _ in rows), default=-_ROOM)
        self.setFixedWidth(min(width + _ROOM, 190))
        self.setToolTip("\n".join(title for title, _, _ in rows))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(theme.font("small"))
        metrics = painter.fontMetrics()
        step = min(metrics.lineSpacing() + 5.0, (self.height() - 12.0) / max(len(self.rows), 1))
        for row, (title, pen, symbol) in enumerate(self.rows):
            middle = 12.0 + (row + 0.5) * step
            painter.setPen(pen)
            painter.drawLine(QPointF(4, middle), QPointF(26, middle))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(pen.color())
            painter.save()
            painter.translate(15, middle)
            painter.scale(7, 7)
            painter.drawPath(pg.graphicsItems.ScatterPlotItem.Symbols[symbol])
            painter.restore()
            painter.setPen(theme.color("text"))
            room = self.width() - 36
            text = metrics.elidedText(title, Qt.TextElideMode.ElideRight, room)
            box = QRectF(32, middle - step / 2, room, step)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)


class _Line:
    """A curve's items in the plot, made once and filled anew."""

    def __init__(self, plot: Any, clicked: Callable[..., None]) -> None:
        self.spread = pg.ErrorBarItem(x=np.zeros(0), y=np.zeros(0), beam=0.06)
        self.line = pg.PlotDataItem(symbol="o", symbolSize=7, symbolPen=None)
        self.line.scatter.setData(hoverable=True, tip=_tip, hoverSize=11)
        self.line.sigPointsClicked.connect(clicked)
        for item in (self.spread, self.line):
            plot.addItem(item)

    def show_points(self, points: Sequence[PlotPoint], pen: QPen, symbol: str) -> None:
        """Draw these points; none hide the line."""
        x = np.array([place(p.x) for p in points], dtype=float)
        y, low, high = (
            np.array([getattr(p, name) for p in points], dtype=float)
            for name in ("y", "low", "high")
        )
        self.spread.setData(
            x=x, y=y, top=high - y, bottom=y - low, pen=pg.mkPen(pen.color(), width=1)
        )
        self.line.setData(x, y, pen=pen, symbol=symbol, symbolBrush=pen.color(), data=list(points))
        for item in (self.spread, self.line):
            item.setVisible(bool(points))


class SweepPlot(QWidget):
    """Curves of one quantity, with a key beside them. `chosen(measured)`: a point was clicked."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        pg.setConfigOptions(antialias=True)
        self._axis = _SizeAxis()
        self.plot = pg.PlotWidget(axisItems={"bottom": self._axis, "left": _ValueAxis()})
        self.plot.setAccessibleName("Curves of the sweep")
        self.plot.setMenuEnabled(False)
        self.plot.hideButtons()
        self.plot.setMouseEnabled(x=False, y=False)
        self._one = pg.InfiniteLine(1.0, angle=0, movable=False)
        self.plot.addItem(self._one)
        self.key = Key()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.plot, 1)
        layout.addWidget(self.key)
        self.curves: tuple[Curve, ...] = ()
        self._request = Request()
        self._lines: dict[str, _Line] = {}
        self._order: dict[str, int] = {}
        self.restyle()

    def set_order(self, keys: Sequence[str]) -> None:
        """Give these kernels their colours in this order, whether or not they are drawn now."""
        self._order = {key: place for place, key in enumerate(keys)}

    def show_curves(self, curves: tuple[Curve, ...], request: Request) -> None:
        """Show these curves, in the colours that `set_order` gave them."""
        self.curves, self._request = curves, request
        self._draw()

    def restyle(self) -> None:
        """Take up the theme's colours."""
        self.plot.setBackground(current_theme().color("panel"))
        self._draw()

    def _line(self, key: str) -> _Line:
        if key not in self._lines:
            self._lines[key] = _Line(self.plot, self._on_click)
        return self._lines[key]

    def _number(self, key: str) -> int:
        return self._order.setdefault(key, len(self._order))

    def _symbol(self, key: str) -> str:
        return _SYMBOLS[self._number(key) % len(_SYMBOLS)]

    def _pen(self, key: str) -> QPen:
        """A kernel's colour and kind of line: categories first, then dashes."""
        theme = current_theme()
        lap, hue = divmod(self._number(key), len(theme.categories))
        color = QColor(theme.categories[hue])
        # Okabe and Ito's yellow and light blue are too pale for thin lines on white.
        if not theme.dark and color.lightnessF() > 0.58:
            color = color.darker(140)
        return pg.mkPen(color, width=2, style=_LINES[lap % len(_LINES)])

    def _draw(self) -> None:
        request, theme = self._request, current_theme()
        style_axes(self.plot, QUANTITIES[request.quantity], OVER[request.over])
        drawn = {curve.key: curve for curve in self.curves}
        rows = []
        for key, curve in drawn.items():
            pen, symbol = self._pen(key), self._symbol(key)
            self._line(key).show_points(curve.points, pen, symbol)
            rows.append((curve.title, pen, symbol))
        for key, line in self._lines.items():
            if key not in drawn:
                line.show_points((), pg.mkPen(None), "o")
        self.key.show_rows(rows)
        self._one.setVisible(request.quantity == "speedup" and bool(drawn))
        self._one.setPen(pg.mkPen(theme.color("text_faint"), width=1))
        self._fit()

    def _fit(self) -> None:
        xs = sorted({point.x for curve in self.curves for point in curve.points})
        self._axis.show_values(_spread(xs))
        top = max((p.high for c in self.curves for p in c.points), default=1.0)
        self.plot.setYRange(0, top * 1.06, padding=0)
        left, right = (place(xs[0]), place(xs[-1])) if xs else (0.0, 1.0)
        margin = max((right - left) * 0.06, 0.25)
        self.plot.setXRange(left - margin, right + margin, padding=0)

    def _on_click(self, _item: object, points: Sequence[Any], _event: object) -> None:
        for point in points:
            data = point.data()
            if isinstance(data, PlotPoint):
                self.chosen.emit(data.measured)
                return


def _tip(x: float, y: float, data: object) -> str:
    return data.text if isinstance(data, PlotPoint) else ""


def _spread(values: Sequence[int], least: float = 0.28) -> list[int]:
    """The values whose labels find room: neighbours at least `least` doublings apart."""
    kept: list[int] = []
    for value in values:
        if not kept or place(value) - place(kept[-1]) >= least:
            kept.append(value)
    return kept
