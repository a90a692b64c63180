"""The results of the benchmark page: its table, its plots, and the sweep while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from gui.frames.pieces import Pieces, Steps, whole
from gui.jobs.bench_work import CeilingCounter
from gui.scenes.bench_measured import HERE, RECORDED, Measured
from gui.scenes.bench_words import (
    counting_sentence,
    live_sentence,
    measured_sentence,
    rates_of,
)
from gui.views.benchmark_parts import BenchmarkParts

if TYPE_CHECKING:
    from core.gpu.result import BenchmarkResult
    from core.ladder import Ladder
    from gui.scenes.bench_model import BenchModel
    from gui.scenes.benchmark import ResultRow
    from gui.scenes.session import Session


class BenchmarkResults(BenchmarkParts):
    """Shows what the model has measured, and is measuring; a subclass runs it."""

    def __init__(self, session: Session, ladder: Ladder, model: BenchModel) -> None:
        super().__init__(session)
        self.model = model
        self.ceilings = CeilingCounter(ladder, self)
        self.picked: Measured | None = None
        """The result that was chosen by hand."""
        self._ladder = ladder
        self._curves = Pieces(self)

    @property
    def measured(self) -> tuple[BenchmarkResult, ...]:
        """All results but those that come with the program: measured here, or imported."""
        return tuple(m.result for m in self.model.measured if m.origin != RECORDED)

    @property
    def samples(self) -> list[float]:
        """The rates in the plot of launches."""
        return self.launches.values

    def pictures(self) -> dict[str, QWidget]:
        """The plots, by what they are called in a file."""
        return {"Launches": self.launches, "Sweep": self.curves.plot}

    def arithmetics(self) -> dict[str, str]:
        """What the ladder's matrix products compute with, by rung."""
        products = (rung for rung in self._ladder.values() if rung.layout is not None)
        return {rung.name: rung.arithmetic for rung in products}

    def finish(self) -> None:
        """Show at once what is being brought up to date."""
        super().finish()
        self._curves.finish()

    def shut_down(self) -> None:
        """End what is being drawn, and counted for it."""
        super().shut_down()
        self._curves.stop()
        self.ceilings.close()

    # ---- while a sweep runs

    def _show_live(self) -> None:
        live = next((one for one in reversed(self.model.live.values()) if not one.done), None)
        if live is None:
            return
        self.shown.setText(live_sentence(live))
        if live.times:  # until then the launches before stay: no plot flickers between points
            flops = live.begun.flops if live.begun is not None else None
            unit = "ms" if flops is None else "GFLOPS"
            self.launches.show_values(rates_of(live.times, flops), unit)

    def _show_end(self) -> None:
        """Show the last result whole: nothing says "running" any more."""
        here = [m for m in self.model.measured if m.origin == HERE]
        if self.picked is None:
            if here and self.model.live:
                self._show_measured(here[-1])
            else:
                self.shown.setText("Nothing was measured.")

    # ---- what was measured

    def _show_results(self) -> None:
        news = [m for m in self.model.measured if m.origin == HERE]
        if self.model.running and news:
            self.results.show_machine(news[-1].machine)
        self.results.show_results(self.model.measured, self.model.failed)
        self._show_curves()
        if self.picked is not None:
            self.results.select(self.picked)

    def _on_machine(self) -> None:
        self.picked = None
        self._show_results()

    def _show_curves(self) -> None:
        self._curves.start(self._showing_curves())

    def _showing_curves(self) -> Steps:
        measured = self.results.measured
        yield from self.curves.showing(measured, self.ceilings.known)
        if self.curves.request.quantity == "share":
            self.ceilings.want(self.curves.drawn_results(measured))
            self.curves.add_to_caption(counting_sentence(self.ceilings.left))

    def _on_row(self, row: ResultRow, *, by_user: bool) -> None:
        if row.measured is None:
            self.shown.setText(f"{row.title}, {row.details}: {row.notes}")
        elif by_user or not self.model.running:
            self.picked = row.measured if by_user else self.picked
            self._show_measured(row.measured)

    def _pick(self, measured: Measured) -> None:
        self.picked = measured
        self.results.select(measured)
        self._show_measured(measured)

    def _show_measured(self, measured: Measured) -> None:
        whole(self._showing_measured(measured))

    def _showing_measured(self, measured: Measured) -> Steps:
        result = measured.result
        unit = "ms" if result.flops is None else "GFLOPS"
        self.launches.show_values(rates_of(result.samples_ms, result.flops), unit)
        self.shown.setText(measured_sentence(measured))
        yield
        self.curves.plot.set_chosen(result.series)

    # ---- building

    def building(self) -> Steps:
        """Make the page, and show what is known."""
        yield from super().building()
        yield from self.model.loading()
        yield from self.results.showing(self.model.measured, self.model.failed)
        yield from self._showing_curves()
