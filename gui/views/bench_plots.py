"""The sweep's curves, on the benchmark page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from gui.frames.pieces import PAUSE, Steps
from gui.looks.theme import current_theme
from gui.scenes.bench_plot import OVER, QUANTITIES, Curve, PlotPoint, Request, far_apart
from gui.views.bench_axes import Key, SizeAxis, ValueAxis, place, thinned
from gui.views.chart import Chart
from gui.views.halo_text import HaloText
from gui.views.plotting import pg

_SYMBOLS = ("o", "s", "t", "d", "p", "h", "star")
GRID = 0.18
_LABEL = 46.0  # pixels that a number below the axis takes
_NAMED = 0.12  # of the height, above the highest point: room for the name of a curve
_LINES = (
    Qt.PenStyle.SolidLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine, Qt.PenStyle.DashDotDotLine,
)  # fmt: skip
_LIBRARY_LINE = Qt.PenStyle.DashLine
_WIDE, _THIN = 3.0, 1.2  # pixels: the chosen kernel's line, and the others'


class _Line:
    """A curve's items in the plot, made once and filled anew."""

    def __init__(self, plot: Any, clicked: Callable[..., None]) -> None:
        self.spread = pg.ErrorBarItem(x=np.zeros(0), y=np.zeros(0), beam=0.06)
        self.line = pg.PlotDataItem(symbol="o", symbolSize=7, symbolPen=None)
        self._pen = QPen()
        self.line.scatter.setData(hoverable=True, tip=_tip, hoverSize=11)
        self.line.sigPointsClicked.connect(clicked)
        for item in (self.spread, self.line):
            plot.addItem(item)

    def show_points(
        self, points: Sequence[PlotPoint], pen: QPen, symbol: str, up: Callable[[float], float]
    ) -> None:
        """Draw these points, `up(y)` high; none hide the line."""
        x = np.array([place(p.x) for p in points], dtype=float)
        y, low, high = (
            np.array([up(getattr(p, name)) for p in points], dtype=float)
            for name in ("y", "low", "high")
        )
        self.spread.setData(
            x=x, y=y, top=high - y, bottom=y - low, pen=pg.mkPen(pen.color(), width=1)
        )
        self.line.setData(x, y, pen=pen, symbol=symbol, symbolBrush=pen.color(), data=list(points))
        self._pen = pen
        for item in (self.spread, self.line):
            item.setVisible(bool(points))

    def stroke(self, pen: QPen, *, foremost: bool) -> None:
        """Draw the line with another pen; the symbols stay, which `PlotDataItem` makes anew."""
        self.line.setZValue(foremost)
        if pen != self._pen:
            self._pen = self.line.opts["pen"] = pen
            self.line.curve.setPen(pen)


class SweepPlot(QWidget):
    """Curves of one quantity, with a key beside them. `chosen(measured)`: a point was clicked."""

    chosen = Signal(object)

    def __init__(self) -> None:
        """It is whole after `building`."""
        super().__init__()
        self.stands_out = ""  # the series of the chosen kernel
        self._lit: str | None = None  # the series that the key's row under the pointer names
        self._end: HaloText | None = None
        self.curves: tuple[Curve, ...] = ()
        self._request = Request()
        self._lines: dict[str, _Line] = {}
        self._order: dict[str, int] = {}
        self._logarithms = False

    def building(self) -> Steps:
        """Make the plot and its key."""
        pg.setConfigOptions(antialias=True)
        self._axis, self._values = SizeAxis(), ValueAxis()
        yield PAUSE
        self.plot = Chart(self._values, self._axis)
        self.plot.setAccessibleName("Curves of the sweep")
        self._one = pg.InfiniteLine(1.0, angle=0, movable=False)
        self.plot.addItem(self._one)
        yield PAUSE
        self.key = Key()
        self.key.pointed.connect(self._light)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.plot, 1)
        layout.addWidget(self.key)
        yield PAUSE

    def set_order(self, keys: Sequence[str]) -> None:
        """Give these kernels their colours in this order, whether or not they are drawn now."""
        self._order = {key: place for place, key in enumerate(keys)}

    def showing(self, curves: tuple[Curve, ...], request: Request) -> Steps:
        """Show these curves, in the colours that `set_order` gave them, piece by piece."""
        self.curves, self._request = curves, request
        self._logarithms = far_apart(curves)
        yield from self.drawing()

    def _line(self, key: str) -> _Line:
        if key not in self._lines:
            self._lines[key] = _Line(self.plot, self._on_click)
        return self._lines[key]

    def _number(self, key: str) -> int:
        return self._order.setdefault(key, len(self._order))

    def _symbol(self, key: str) -> str:
        return _SYMBOLS[self._number(key) % len(_SYMBOLS)]

    def set_chosen(self, key: str) -> None:
        """Have this series stand out."""
        if key != self.stands_out:
            self.stands_out = key
            self._restroke()

    def _light(self, row: int) -> None:
        """Have the series of a row of the key stand out, while it is pointed at."""
        keys = list(dict.fromkeys(curve.key for curve in self.curves))
        self._lit = keys[row] if 0 <= row < len(keys) else None
        self._restroke()

    @property
    def _foremost(self) -> str:
        """The series that stands out among those drawn; "" if none does."""
        key = self.stands_out if self._lit is None else self._lit
        return key if any(curve.key == key for curve in self.curves) else ""

    def pen(self, curve: Curve) -> QPen:
        """A kernel's colour and kind of line: categories first, then kinds; cuBLAS's are its own.

        The one that stands out is wide, the others are thin.
        """
        theme, foremost = current_theme(), self._foremost
        lap, hue = divmod(self._number(curve.key), len(theme.categories))
        color = theme.color("text") if curve.library else QColor(theme.categories[hue])
        # Okabe and Ito's yellow and light blue are too pale for thin lines on white.
        if not curve.library and not theme.dark and color.lightnessF() > 0.58:
            color = color.darker(140)
        width = 2.0 if not foremost else _WIDE if curve.key == foremost else _THIN
        style = _LIBRARY_LINE if curve.library else _LINES[lap % len(_LINES)]
        return pg.mkPen(color, width=width, style=style)

    def _restroke(self) -> None:
        """Draw the lines as wide as they are now, and name the one that stands out."""
        rows, foremost = [], self._foremost
        for curve in self.curves:
            pen = self.pen(curve)
            if (line := self._lines.get(curve.key)) is not None:
                line.stroke(pen, foremost=curve.key == foremost)
            rows.append((curve.title, pen, self._symbol(curve.key)))
        self.key.show_rows(rows)
        self._name_end()

    def _name_end(self) -> None:
        """Write name and last value at the right end of the curve that stands out."""
        if self._end is not None:
            self.plot.box.removeItem(self._end)
            self._end = None
        theme, foremost = current_theme(), self._foremost
        for curve in self.curves:
            if curve.key != foremost:
                continue
            last, font = curve.points[-1], theme.font("small", bold=True)
            text = curve.end_text(self._request.quantity)
            self._end = HaloText(text, theme.color("text"), theme.color("panel"), font, (1, 1))
            self._end.setPos(place(last.x), self._up(last.y))
            self._end.setZValue(20)
            self.plot.addItem(self._end)

    def drawing(self) -> Steps:
        """Draw everything anew, in the theme's colours, a curve at a time."""
        request, theme = self._request, current_theme()
        scale = " (logarithmic)" if self._logarithms else ""
        self.plot.dress(QUANTITIES[request.quantity] + scale, OVER[request.over], grid=GRID)
        yield
        drawn = {curve.key: curve for curve in self.curves}
        for key, curve in drawn.items():
            pen, symbol = self.pen(curve), self._symbol(key)
            line = self._line(key)
            yield
            line.show_points(curve.points, pen, symbol, self._up)
            yield
        for key, line in list(self._lines.items()):
            if key not in drawn:
                line.show_points((), pg.mkPen(None), "o", self._up)
                yield
        self._one.setVisible(request.quantity == "speedup" and bool(drawn))
        self._one.setPen(pg.mkPen(theme.color("text_faint"), width=1))
        yield
        self._fit()
        yield
        self._restroke()

    def _fit(self) -> None:
        xs = sorted({point.x for curve in self.curves for point in curve.points})
        highs = [self._up(p.high) for c in self.curves for p in c.points]
        lows = [self._up(p.low) for c in self.curves for p in c.points]
        self._values.logarithms = self._logarithms
        low, high = (
            (min(lows) - 0.1, max(highs)) if self._logarithms else (0, max(highs, default=1.0))
        )
        self.plot.setYRange(low, high + _NAMED * (high - low), padding=0)
        left, right = (place(xs[0]), place(xs[-1])) if xs else (0.0, 1.0)
        margin = max((right - left) * 0.06, 0.25)
        self.plot.setXRange(left - margin, right + margin, padding=0)
        room = max(self.plot.width() - 90, 60) / _LABEL
        self._axis.show_values(thinned(xs, (right - left + 2 * margin) / room))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.curves:
            self._fit()

    def _up(self, value: float) -> float:
        """How high a value stands."""
        return math.log10(max(value, 1e-9)) if self._logarithms else value

    def _on_click(self, _item: object, points: Sequence[Any], _event: object) -> None:
        for point in points:
            data = point.data()
            if isinstance(data, PlotPoint):
                self.chosen.emit(data.measured)
                return


def _tip(x: float, y: float, data: object) -> str:
    return data.text if isinstance(data, PlotPoint) else ""
