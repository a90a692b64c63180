"""The benchmark page's plots: the curves of a sweep with their key, and one point's launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QBoxLayout, QWidget

from gui.looks.labels_and_layouts import GAP, MARGIN, named, side_by_side, stacked, styled_label
from gui.looks.theme import current_theme
from gui.scenes import benchmark_plot as scene
from gui.scenes.benchmark_plot import OVER, QUANTITIES, Ceilings, Curve, PlotPoint, Request
from gui.scenes.benchmark_results import Measured
from gui.scenes.numbers_and_sentences import grouped
from gui.scenes.roofline import spread
from gui.views.buttons_and_choices import Segmented, fitting_choice, offer
from gui.views.captions_and_panels import Caption
from gui.views.drawing_tools import LEFT, text
from gui.views.plots import Chart, HaloText, pg, symbol_size

# Parts of the benchmark page's plots: axes with grouped numbers, and the key beside the curves.


_LEAD = 12.0  # pixels of the line from a curve's end to its name
_ROOM = 50  # of a key's row beside its title


class ValueAxis(pg.AxisItem):
    """Large numbers with their digits in groups."""

    def __init__(self) -> None:
        super().__init__("left")
        self.logarithms = False

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        if not self.logarithms:
            return list(super().tickValues(low, high, size))
        decades = range(math.floor(low), math.ceil(high) + 1)
        every = [d + math.log10(m) for d in decades for m in (1, 2, 5)]
        return [(1.0, [v for v in every if low <= v <= high])]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        if self.logarithms:
            return [_figure(10**value) for value in values]
        shown = super().tickStrings(values, scale, spacing)
        return [
            grouped(round(value)) if abs(value) >= 10_000 else text
            for value, text in zip(values, shown, strict=True)
        ]


def _figure(value: float) -> str:
    return grouped(round(value)) if value >= 10 else f"{value:.3g}"


class SizeAxis(pg.AxisItem):
    """Ticks at the values that were measured, which stand at their logarithms."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.values: tuple[int, ...] = ()

    def show_values(self, values: Sequence[int]) -> None:
        self.values = tuple(values)
        self.setTicks([[(place(v), grouped(v) if v > 9999 else str(v)) for v in values]])


def place(value: float) -> float:
    """Where a size or a tile stands on its axis: doubling is one step."""
    return math.log2(value) if value > 0 else 0.0


@dataclass(frozen=True)
class KeyRow:
    """A curve's name, how it is drawn, and how high it ends beside the key, in pixels."""

    title: str
    pen: QPen
    symbol: str
    hollow: bool
    end: float
    bold: bool = False


class Key(QWidget):
    """Names the curves of a plot, each beside its end. `pointed(place)`: at a row, -1 for none."""

    pointed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[KeyRow] = []
        self._pointed = -1
        self.setMouseTracking(True)

    def show_rows(self, rows: Sequence[KeyRow], most: int) -> None:
        self.rows = list(rows)
        widths = [QFontMetrics(_font(row)).horizontalAdvance(row.title) for row in rows]
        self.setFixedWidth(min(max(widths, default=-_ROOM) + _ROOM, max(most, _ROOM)))
        self.setToolTip("\n".join(row.title for row in rows))
        self.setAccessibleDescription(", ".join(row.title for row in rows))
        self.update()

    @property
    def _step(self) -> float:
        """Pixels from name to name, at least."""
        spacing = QFontMetrics(current_theme().font("small")).lineSpacing()
        return min(spacing + 1.0, (self.height() - 12.0) / max(len(self.rows), 1))

    def middles(self) -> list[float]:
        """How high each row's name stands: as near to its curve's end as the others let it."""
        step, order = self._step, sorted(range(len(self.rows)), key=lambda i: self.rows[i].end)
        found = list(spread([self.rows[i].end for i in order], step))
        low, high = 6.0 + step / 2, self.height() - 6.0 - step / 2
        for place in range(len(found)):
            found[place] = max(found[place], low + place * step)
        for place in reversed(range(len(found))):
            found[place] = min(found[place], high - (len(found) - 1 - place) * step)
        placed = [0.0] * len(found)
        for place, row in enumerate(order):
            placed[row] = found[place]
        return placed

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        y = event.position().y()
        near = [abs(middle - y) for middle in self.middles()]
        row = near.index(min(near)) if near else -1
        self._point(row if near and near[row] <= self._step / 2 + 1 else -1)

    def leaveEvent(self, event: QEvent) -> None:
        self._point(-1)

    def _point(self, row: int) -> None:
        if row != self._pointed:
            self._pointed = row
            self.pointed.emit(row)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        step = self._step
        for row, middle in zip(self.rows, self.middles(), strict=True):
            painter.setPen(QPen(row.pen.color(), 1))
            painter.drawLine(QPointF(0, row.end), QPointF(_LEAD, middle))
            painter.setPen(row.pen)
            painter.drawLine(QPointF(_LEAD, middle), QPointF(_LEAD + 22, middle))
            painter.setPen(QPen(row.pen.color(), 0.2))
            painter.setBrush(theme.color("panel") if row.hollow else row.pen.color())
            painter.save()
            painter.translate(_LEAD + 11, middle)
            painter.scale(symbol_size(7), symbol_size(7))
            painter.drawPath(pg.graphicsItems.ScatterPlotItem.Symbols[row.symbol])
            painter.restore()
            box = QRectF(_LEAD + 28, middle - step, self.width() - _ROOM + 4, 2 * step)
            text(painter, box, row.title, theme.color("text"), _font(row), LEFT)


def _font(row: KeyRow) -> QFont:
    return current_theme().font("small", bold=row.bold)


def _thinned(values: Sequence[int], least: float) -> list[int]:
    """The values whose labels find room: neighbours at least `least` doublings apart."""
    kept: list[int] = []
    for value in values:
        if not kept or place(value) - place(kept[-1]) >= least:
            kept.append(value)
    return kept


_SYMBOLS = ("o", "s", "t", "d", "p", "h", "star")
GRID = 0.18
KEY_SHARE = 0.42  # of the width, for the curves' names at most
_LABEL = 46.0  # pixels that a number below the axis takes
_NAMED = 0.12  # of the height, above the highest point: room for the name of a curve
_LINES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
    Qt.PenStyle.DashDotDotLine,
)
_LIBRARY_LINE = Qt.PenStyle.DashLine
_CLEAR = 5.0  # pixels between a point and the letters that are written at it
_WIDE, _THIN = 3.0, 1.2  # pixels: the chosen kernel's line, and the others'


class _Line:
    """A curve's items in the plot, made once and filled anew."""

    def __init__(self, plot: Any, clicked: Callable[..., None]) -> None:
        self.spread = pg.ErrorBarItem(x=np.zeros(0), y=np.zeros(0), beam=0.06)
        self.line = pg.PlotDataItem(symbol="o", symbolPen=None)
        self._pen = QPen()
        self.line.scatter.setData(hoverable=True, tip=_tip, hoverSize=11)
        self.line.sigPointsClicked.connect(clicked)
        for item in (self.spread, self.line):
            plot.addItem(item)

    def show_points(
        self,
        points: Sequence[PlotPoint],
        pen: QPen,
        symbol: str,
        up: Callable[[float], float],
        *,
        hollow: bool = False,
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
        fill = current_theme().color("panel") if hollow else pen.color()
        self.line.setData(
            x,
            y,
            pen=pen,
            symbol=symbol,
            symbolBrush=fill,
            symbolPen=pg.mkPen(pen.color(), width=1.4),
            symbolSize=symbol_size(7),
            data=list(points),
        )
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
        super().__init__()
        self.stands_out = ""  # the series of the chosen kernel
        self._lit: str | None = None  # the series that the key's row under the pointer names
        self._end: HaloText | None = None
        self.curves: tuple[Curve, ...] = ()
        self._request = Request()
        self._lines: dict[str, _Line] = {}
        self._order: dict[str, int] = {}
        self._logarithms = False
        pg.setConfigOptions(antialias=True)
        self._axis, self._values = SizeAxis(), ValueAxis()
        self.plot = named(Chart(self._values, self._axis), "Curves of the sweep")
        self._one = pg.InfiniteLine(1.0, angle=0, movable=False)
        self.plot.addItem(self._one)
        self.key = Key()
        self.key.pointed.connect(self._light)
        self.plot.box.sigResized.connect(lambda _: self._write_names())
        side_by_side(self, (self.plot, 1), self.key, gap=0)

    def show_curves(
        self, curves: tuple[Curve, ...], request: Request, order: Sequence[str]
    ) -> None:
        """Show curves; kernels have their colours in this order, whether or not they are drawn."""
        self.curves, self._request = curves, request
        self._order = {key: place for place, key in enumerate(order)}
        self._logarithms = scene.far_apart(curves)
        self.draw()

    def _line(self, key: str) -> _Line:
        if key not in self._lines:
            self._lines[key] = _Line(self.plot, self._on_click)
        return self._lines[key]

    def _number(self, key: str) -> int:
        return self._order.setdefault(key, len(self._order))

    def _hollow(self, key: str) -> bool:
        """Whether a kernel's symbols are hollow, as those that share a colour with others are."""
        return self._number(key) // len(current_theme().categories) % 2 == 1

    def _symbol(self, key: str) -> str:
        number = self._number(key)
        lap = number // len(current_theme().categories)  # those of one colour differ in symbol too
        return _SYMBOLS[(number + 3 * lap) % len(_SYMBOLS)]

    def set_chosen(self, key: str) -> None:
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
        foremost = self._foremost
        for curve in self.curves:
            if (line := self._lines.get(curve.key)) is not None:
                line.stroke(self.pen(curve), foremost=curve.key == foremost)
        self._write_names()

    def _write_names(self) -> None:
        self._name_curves()
        self._name_end()

    def _name_curves(self) -> None:
        rows = []
        for curve in self.curves:
            key, point = curve.key, self._seen_at(curve.points[-1])
            end = self.key.mapFromGlobal(self.plot.mapToGlobal(self.plot.mapFromScene(point))).y()
            rows.append(
                KeyRow(
                    curve.title,
                    self.pen(curve),
                    self._symbol(key),
                    self._hollow(key),
                    end,
                    bold=key == self._foremost,
                )
            )
        self.key.show_rows(rows, round(KEY_SHARE * self.width()))

    def _name_end(self) -> None:
        """Write name and last value at the right end of the curve that stands out.

        They stand above it, or below it where fewer curves run through them.
        """
        if self._end is not None:
            self.plot.box.removeItem(self._end)
            self._end = None
        theme, foremost = current_theme(), self._foremost
        for curve in self.curves:
            if curve.key != foremost:
                continue
            last, font = curve.points[-1], theme.font("small", bold=True)
            text = curve.end_text(self._request.quantity)
            above, below = (self._crossed(last, text, side) for side in (-1, 1))
            anchor = (1, 1 if above <= below else 0)
            self._end = HaloText(text, theme.color("text"), theme.color("panel"), font, anchor)
            self._end.setPos(place(last.x), self._up(last.y))
            self._end.setZValue(20)
            self.plot.addItem(self._end)

    def _seen_at(self, point: PlotPoint) -> QPointF:
        """Where a point lies in the plot, in pixels."""
        return self.plot.box.mapViewToScene(QPointF(place(point.x), self._up(point.y)))

    def _crossed(self, end: PlotPoint, words: str, side: int) -> int:
        """Through how much of what is written at a point, above (-1) or below, curves run."""
        metrics, at = QFontMetricsF(current_theme().font("small", bold=True)), self._seen_at(end)
        across = np.linspace(at.x() - metrics.horizontalAdvance(words), at.x(), 12)
        near = at.y() + side * _CLEAR
        top, bottom = sorted((near, near + side * metrics.height()))
        found = 0 if bottom <= self.plot.box.sceneBoundingRect().bottom() else len(across)
        for curve in self.curves:
            seen = [self._seen_at(point) for point in curve.points]
            x, y = [one.x() for one in seen], [one.y() for one in seen]
            down = np.interp(across, x, y, left=np.nan, right=np.nan)
            found += int(np.count_nonzero((down > top) & (down < bottom)))
        return found

    def draw(self) -> None:
        request, theme = self._request, current_theme()
        scale = " (logarithmic)" if self._logarithms else ""
        self.plot.dress(QUANTITIES[request.quantity] + scale, OVER[request.over], grid=GRID)
        drawn = {curve.key: curve for curve in self.curves}
        for key, curve in drawn.items():
            pen, symbol = self.pen(curve), self._symbol(key)
            line = self._line(key)
            line.show_points(curve.points, pen, symbol, self._up, hollow=self._hollow(key))
        for key, line in list(self._lines.items()):
            if key not in drawn:
                line.show_points((), pg.mkPen(None), "o", self._up)
        self._one.setVisible(request.quantity == "speedup" and bool(drawn))
        self._one.setPen(pg.mkPen(theme.color("text_faint"), width=1))
        self._fit()
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
        self._axis.show_values(_thinned(xs, (right - left + 2 * margin) / room))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.curves:
            self._fit()

    def _up(self, value: float) -> float:
        return math.log10(max(value, 1e-9)) if self._logarithms else value

    def _on_click(self, _item: object, points: Sequence[Any], _event: object) -> None:
        for point in points:
            data = point.data()
            if isinstance(data, PlotPoint):
                self.chosen.emit(data.measured)
                return


def _tip(x: float, y: float, data: object) -> str:
    return data.text if isinstance(data, PlotPoint) else ""


# The sweep's plot with what chooses its quantity, its axis and what is held fixed.


_TIPS = {
    "gflops": "10⁹ floating-point operations a second, a multiply-add counted as two",
    "speedup": "How many times as fast as the baseline",
    "bandwidth": "Effective bandwidth: each array's bytes once, over the time",
    "share": "Of the ceiling that binds, counted from the trace and the device's figures",
}


class TwoParts(QWidget):
    """Two rows of controls beside each other, or below where there is no room for that."""

    def __init__(self, first: Sequence[QWidget], second: Sequence[QWidget]) -> None:
        super().__init__()
        self._parts = [side_by_side(None, *widgets, None, gap=GAP) for widgets in (first, second)]
        self._rows = side_by_side(self, *self._parts, gap=GAP)

    def _wide(self) -> list[int]:
        return [part.sizeHint().width() for part in self._parts]

    def minimumSizeHint(self) -> QSize:
        return QSize(max(self._wide()), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.follow()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # a control needs another width
            self.follow()
        return done

    def follow(self) -> None:
        """Put the second part where there is room for it."""
        ways = QBoxLayout.Direction
        beside = sum(self._wide()) + self._rows.spacing() <= self.width()
        self._rows.setDirection(ways.LeftToRight if beside else ways.TopToBottom)


class CurvesPanel(QWidget):
    """`changed(request)` when another plot is asked for."""

    changed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.caption = Caption()
        self.plot = SweepPlot()
        self.order: Sequence[str] = ()
        """The kernels as they stand on the ladder, and take their colours; others come after."""
        self.request = Request()
        self.quantity = Segmented(**{key: (title, _TIPS[key]) for key, title in QUANTITIES.items()})
        tip = "What runs along the horizontal axis"
        self.over = Segmented(**{k: (f"over {t}", f"{tip}: {t}") for k, t in OVER.items()})
        self.hold = fitting_choice("Held fixed", "What stays the same along a curve")
        against = "What the speed-up is against"
        self.baseline = fitting_choice("Baseline of the speed-up", against)
        self._against = styled_label("against", role="dim")
        self.quantity.chosen.connect(lambda key: self._ask(quantity=key))
        self.over.chosen.connect(lambda key: self._ask(over=key, hold=None))
        self.hold.activated.connect(lambda _: self._ask(hold=self.hold.currentData()))
        self.baseline.activated.connect(lambda _: self._ask(baseline=self.baseline.currentData()))
        self._lay_out()
        self._show_controls()

    def show_results(
        self, measured: Sequence[Measured], ceilings: Ceilings, keys: frozenset[str] | None = None
    ) -> None:
        """Draw these results, of one machine; `keys`: of these series alone."""
        self._offer(measured)
        drawn = scene.curves(measured, self.request, ceilings)
        if keys is not None:
            drawn = tuple(curve for curve in drawn if curve.key in keys)
        ranks = {name: rank for rank, name in enumerate(self.order)}
        series = sorted(scene.series_of(measured), key=lambda key: ranks.get(key, len(ranks)))
        self.plot.show_curves(drawn, self.request, series)
        self.caption.setText(scene.plot_sentence(measured, self.request, drawn))

    def drawn_results(self, measured: Sequence[Measured]) -> tuple[Measured, ...]:
        """The results whose places in the plot are known, whether or not the quantity is."""
        every = scene.curves(measured, replace(self.request, quantity="gflops"), {})
        return tuple(point.measured for curve in every for point in curve.points)

    def _ask(self, **changed: object) -> None:
        self.request = replace(self.request, **changed)  # type: ignore[arg-type]
        self._show_controls()
        self.changed.emit(self.request)

    def _show_controls(self) -> None:
        speedup = self.request.quantity == "speedup"
        self.baseline.setVisible(speedup)
        self._against.setVisible(speedup)
        self.controls.follow()

    def _offer(self, measured: Sequence[Measured]) -> None:
        by_size = self.request.over == "size"
        held = scene.values_of(measured, "tile" if by_size else "size")
        items: list[tuple[str, object]] = [("fastest tile" if by_size else "largest N", None)]
        items += [(f"tile {v}" if by_size else f"N = {grouped(v)}", v) for v in held]
        offer(self.hold, items, self.request.hold)
        titles = [(title, key) for key, title in scene.series_of(measured).items()]
        offer(self.baseline, titles, self.request.baseline)

    def _lay_out(self) -> None:
        what = (self.quantity, self._against, self.baseline)
        self.controls = TwoParts(what, (self.over, self.hold))
        row = side_by_side(None, (self.controls, 1), edges=(MARGIN, 0, GAP, 0))
        stacked(self, row, (self.plot, 1), edges=(0, 4, 0, 0))


ROOM = 0.96  # of the plot's width, for what stands above the median


class LaunchPlot(Chart):
    """Each launch of one point in its order, the median, and the band that holds 90 % of them."""

    def __init__(self) -> None:
        pg.setConfigOptions(antialias=True)
        super().__init__(ValueAxis(), mouse=True)
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
        self.box.sigResized.connect(lambda _: self._say_median())
        self.show_values([], "GFLOPS")
        self.restyle()

    def show_values(self, values: Sequence[float], unit: str) -> None:
        self.values = list(values)
        if unit != self.unit:
            self.unit = unit
            self.restyle()
        self.dots.setData(x=np.arange(1, len(values) + 1), y=np.asarray(values, dtype=float))
        for item in (self.median, self.text, self.band):
            item.setVisible(bool(values))
        right = max(len(values), 20)
        self.setXRange(0, right * 1.02, padding=0)
        if values:
            low, middle, high = self._spread
            self.median.setValue(middle)
            self.band.setRegion((low, high))
            self.text.setPos(right, max(self.values))
            self._say_median()
        else:
            self.setYRange(0, 100, padding=0)

    def _say_median(self) -> None:
        """As many words as there is room for, above every dot."""
        if not self.values:
            return
        lines = 1.5 * QFontMetricsF(self.text.textItem.font()).height()
        above = min(max(lines / max(self.box.height(), 1.0), 0.13), 0.5)  # of the plot's height
        self.setYRange(0, max(self.values) / (1 - above), padding=0)
        gflops = self.unit == "GFLOPS"
        shown = [grouped(round(v)) if gflops else f"{v:.4g}" for v in self._spread]
        brief = f"{shown[1]} {self.unit}"
        said = (f"median {brief} ({shown[0]} to {shown[2]})", f"median {brief}", brief)
        metrics, room = QFontMetricsF(self.text.textItem.font()), ROOM * self.box.width()
        fitting = (words for words in said if metrics.horizontalAdvance(words) <= room)
        self.text.setText(next(fitting, brief))

    @property
    def _spread(self) -> tuple[float, float, float]:
        low, middle, high = np.quantile(self.values, (0.05, 0.5, 0.95))
        return float(low), float(middle), float(high)

    def restyle(self) -> None:
        theme = current_theme()
        self.dress(self.unit, "launch", grid=GRID)
        self.dots.setBrush(theme.color("load", 0.55))
        self.median.setPen(pg.mkPen(theme.color("store"), width=2))
        self.band.setBrush(theme.color("store", 0.14))
        self.text.setColor(theme.color("text"))
        self.text.setFont(theme.font("caption", bold=True))
        self._say_median()
