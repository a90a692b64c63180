"""The launches of one measured point, on the benchmark page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtGui import QFontMetricsF

from gui.frames.pieces import Steps
from gui.looks.theme import current_theme
from gui.scenes.text import grouped
from gui.views.bench_axes import ValueAxis
from gui.views.chart import Chart
from gui.views.plotting import pg

GRID = 0.18
ROOM = 0.96  # of the plot's width, for what stands above the median


class LaunchPlot(Chart):
    """Each launch of one point in its order, the median, and the band that holds 90 % of them."""

    def __init__(self) -> None:
        """It is whole after `building`."""
        pg.setConfigOptions(antialias=True)
        super().__init__(ValueAxis(), mouse=True)
        self.setAccessibleName("Rate of each launch")
        self.unit = "GFLOPS"
        self.values: list[float] = []

    def building(self) -> Steps:
        """Put in what is drawn."""
        self.dots = pg.ScatterPlotItem(size=6, pen=None)
        self.median = pg.InfiniteLine(angle=0, movable=False)
        yield
        self.band = pg.LinearRegionItem(orientation="horizontal", movable=False)
        for edge in self.band.lines:
            edge.setPen(pg.mkPen(None))
        self.text = pg.TextItem(anchor=(1, 1))
        self.band.setZValue(-20)
        yield
        for item in (self.band, self.dots, self.median, self.text):
            self.addItem(item)
            yield
        self.box.sigResized.connect(lambda _: self._say_median())
        self.show_values([], "GFLOPS")
        yield
        self.restyle()

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
            self.text.setPos(right, max(self.values))  # above every dot
            self._say_median()

    def _say_median(self) -> None:
        """As many words as there is room for."""
        if not self.values:
            return
        gflops = self.unit == "GFLOPS"
        shown = [grouped(round(v)) if gflops else f"{v:.4g}" for v in self._spread]
        brief = f"{shown[1]} {self.unit}"
        said = (f"median {brief} ({shown[0]} to {shown[2]})", f"median {brief}", brief)
        metrics, room = QFontMetricsF(self.text.textItem.font()), ROOM * self.box.width()
        fitting = (words for words in said if metrics.horizontalAdvance(words) <= room)
        self.text.setText(next(fitting, brief))

    @property
    def _spread(self) -> tuple[float, float, float]:
        """The 5th, the 50th and the 95th percentile."""
        low, middle, high = np.quantile(self.values, (0.05, 0.5, 0.95))
        return float(low), float(middle), float(high)

    def restyle(self) -> None:
        """Take up the theme's colours."""
        theme = current_theme()
        self.dress(self.unit, "launch", grid=GRID)
        self.dots.setBrush(theme.color("load", 0.55))
        self.median.setPen(pg.mkPen(theme.color("store"), width=2))
        self.band.setBrush(theme.color("store", 0.14))
        self.text.setColor(theme.color("text"))
        self.text.setFont(theme.font("caption", bold=True))
        self._say_median()
