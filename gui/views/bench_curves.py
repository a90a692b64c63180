"""The sweep's plot with what chooses its quantity, its axis and what is held fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gui.frames.pieces import PAUSE, Steps
from gui.looks.theme import current_theme
from gui.scenes.bench_measured import Measured
from gui.scenes.bench_plot import (
    OVER,
    QUANTITIES,
    Ceilings,
    Request,
    curves,
    plot_sentence,
    series_of,
    values_of,
)
from gui.scenes.text import grouped
from gui.views.base import Caption
from gui.views.bench_plots import SweepPlot
from gui.views.segmented import Segmented

_TIPS = {
    "gflops": "10⁹ floating-point operations a second, a multiply-add counted as two",
    "speedup": "How many times as fast as the baseline",
    "bandwidth": "Effective bandwidth: each array's bytes once, over the time",
    "share": "Of the ceiling that binds, counted from the trace and the device's figures",
}


class CurvesPanel(QWidget):
    """`changed(request)` when another plot is asked for."""

    changed = Signal(object)

    def __init__(self) -> None:
        """It is whole after `building`."""
        super().__init__()
        self.caption = Caption()
        self.plot = SweepPlot()
        self.request = Request()

    def building(self) -> Steps:
        """Make the plot, and what chooses what it shows."""
        yield from self.plot.building()
        self.quantity = Segmented(QUANTITIES, _TIPS)
        self.over = Segmented(
            {key: f"over {title}" for key, title in OVER.items()},
            {key: f"What runs along the horizontal axis: {title}" for key, title in OVER.items()},
        )
        self.hold = QComboBox()
        self.hold.setAccessibleName("Held fixed")
        self.hold.setToolTip("What stays the same along a curve")
        self.baseline = QComboBox()
        self.baseline.setAccessibleName("Baseline of the speed-up")
        self.baseline.setToolTip("What the speed-up is against")
        self._against = QLabel("against")
        self._against.setProperty("role", "dim")
        yield PAUSE
        self.quantity.chosen.connect(lambda key: self._ask(quantity=key))
        self.over.chosen.connect(lambda key: self._ask(over=key, hold=None))
        self.hold.activated.connect(lambda _: self._ask(hold=self.hold.currentData()))
        self.baseline.activated.connect(lambda _: self._ask(baseline=self.baseline.currentData()))
        yield from self._laying_out()
        self._show_controls()
        yield PAUSE

    def showing(self, measured: Sequence[Measured], ceilings: Ceilings) -> Steps:
        """Draw these results, of one machine, piece by piece."""
        self._offer(measured)
        yield
        drawn = curves(measured, self.request, ceilings)
        yield
        self.plot.set_order(tuple(series_of(measured)))
        yield from self.plot.showing(drawn, self.request)
        self.caption.setText(plot_sentence(measured, self.request, drawn))

    def add_to_caption(self, sentence: str) -> None:
        """Say something more about what is drawn."""
        if sentence:
            self.caption.setText(f"{self.caption.text()} {sentence}")

    def drawn_results(self, measured: Sequence[Measured]) -> tuple[Measured, ...]:
        """The results whose places in the plot are known, whether or not the quantity is."""
        every = curves(measured, replace(self.request, quantity="gflops"), {})
        return tuple(point.measured for curve in every for point in curve.points)

    def _ask(self, **changed: object) -> None:
        self.request = replace(self.request, **changed)  # type: ignore[arg-type]
        self._show_controls()
        self.changed.emit(self.request)

    def _show_controls(self) -> None:
        speedup = self.request.quantity == "speedup"
        self.baseline.setVisible(speedup)
        self._against.setVisible(speedup)

    def _offer(self, measured: Sequence[Measured]) -> None:
        by_size = self.request.over == "size"
        held = values_of(measured, "tile" if by_size else "size")
        items: list[tuple[str, object]] = [("fastest tile" if by_size else "largest N", None)]
        items += [(f"tile {v}" if by_size else f"N = {grouped(v)}", v) for v in held]
        _fill(self.hold, items, self.request.hold)
        titles = [(title, key) for key, title in series_of(measured).items()]
        _fill(self.baseline, titles, self.request.baseline)

    def _laying_out(self) -> Steps:
        space = current_theme().spacing
        row = QHBoxLayout()
        row.setContentsMargins(space.margin, 0, space.gap, 0)
        row.setSpacing(space.gap)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.addLayout(row)
        layout.addWidget(self.plot, 1)
        yield PAUSE
        for widget in (self.quantity, self.over, self.hold, self._against, self.baseline):
            row.addWidget(widget)
            yield PAUSE
        row.addStretch(1)


def _fill(box: QComboBox, items: Sequence[tuple[str, object]], chosen: object) -> None:
    """Offer these items, if they are others than those there."""
    there = [(box.itemText(i), box.itemData(i)) for i in range(box.count())]
    if there != list(items):
        box.clear()
        for text, data in items:
            box.addItem(text, data)
    keys = [data for _, data in items]
    box.setCurrentIndex(keys.index(chosen) if chosen in keys else 0)
