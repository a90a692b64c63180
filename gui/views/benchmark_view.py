"""The benchmark page: sweeps on real GPUs, plotted while their samples arrive."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QFileDialog

from core.errors import TilescopeError
from core.gpu.jobs import Timing
from gui.frames.pieces import PAUSE, Steps
from gui.scenes.bench_model import BenchModel
from gui.scenes.bench_plan import Setup, choices, plan_of, plan_sentence
from gui.scenes.bench_words import (
    failure_sentence,
    state_sentence,
)
from gui.scenes.recorded import recorded
from gui.views.bench_files import BenchFiles, FileDialog
from gui.views.benchmark_results import BenchmarkResults

if TYPE_CHECKING:
    from core.gpu.executor import GpuWorker
    from core.gpu.plan import Plan
    from core.ladder import Ladder
    from gui.scenes.session import Session

REDRAW_MS = 33


def start_worker(number: int) -> GpuWorker:
    """The process that owns a GPU."""
    from core.gpu.executor import GpuWorker

    return GpuWorker(number)


def prepare() -> None:
    """Read what the page shows first, and import what it does then."""
    recorded()
    for module in ("core.gpu.executor", "core.gpu.session"):
        importlib.import_module(module)


class BenchmarkView(BenchmarkResults):
    """The benchmark page. The first GPU's process starts when the page is first shown.

    `said(sentence, ok)`: something to tell that has no place on the page.
    """

    said = Signal(str, bool)
    WATCHES = frozenset({"configuration"})

    def __init__(
        self,
        session: Session,
        ladder: Ladder,
        make_worker: Callable[[int], Any] = start_worker,
        folder: Path | None = None,
        *,
        now: bool = True,
    ) -> None:
        """folder: where sweeps are kept as they are measured; None keeps them nowhere."""
        super().__init__(session, ladder, BenchModel(make_worker, folder))
        self.files = BenchFiles(self, self.pictures)
        self.setup = Setup()
        self._timer = QTimer(self)
        self._timer.setInterval(REDRAW_MS)
        if now:
            self.build()

    # ---- the session and the fields

    def refreshing(self, names: frozenset[str]) -> Steps:
        """Say what would be run; look for a GPU the first time."""
        self.when_painted(self._look_for_gpus)
        configuration = self.session.configuration
        self.strip.show_setup(self.setup, choices(self._ladder, configuration, self.setup))
        yield
        self._show_plan()
        yield
        if configuration is not None and not self.model.running:
            with QSignalBlocker(self.results):
                row = self.results.select_rung(configuration.rung)
            yield
            if row is not None and row.measured is not None:
                yield from self._showing_measured(row.measured)
            elif row is not None:
                self._on_row(row, by_user=False)

    def _look_for_gpus(self) -> None:
        self.model.look_for_gpus()
        self._timer.start()

    def plan(self) -> Plan:
        """What a run would measure; raises TilescopeError with what is wrong with the fields."""
        return plan_of(self._ladder, self.session.configuration, self.setup)

    def run(self) -> None:
        """Start the sweep that the fields say."""
        try:
            plan = self.plan()
            self.picked = None
            timing = Timing(budget_s=self.setup.budget_s)
            self.model.run(plan, timing, self.strip.ordinals)
        except TilescopeError as error:
            self.strip.show_plan(str(error), wrong=True)
            return
        self._timer.start()

    def shut_down(self) -> None:
        """End the sweep, the GPUs' processes and all other work, and wait for them."""
        super().shut_down()
        self._timer.stop()
        self.files.close()
        self.model.shut_down()

    def _on_fields(self) -> None:
        self.setup = self.strip.setup
        self._show_plan()

    def _show_plan(self) -> None:
        try:
            plan = self.plan()
        except TilescopeError as error:
            self.strip.show_plan(str(error), wrong=True)
            self._enable(ready=False)
        else:
            self.strip.show_plan(plan_sentence(plan), wrong=False)
            self._enable(ready=True)

    def _enable(self, *, ready: bool) -> None:
        self.strip.show_state(
            ready=ready and bool(self.model.devices),
            running=self.model.running,
            paused=self.model.paused,
            stopping=self.model.stopping,
        )

    def _add_file(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, "Sweep a file", "", "CUDA (*.cu *.cuh)")
        if name:
            self.add_file(Path(name))

    def add_file(self, path: Path) -> None:
        """Ask how a file's kernel is launched, and take it into the sweep."""
        try:
            dialog = FileDialog(path, None, self)
        except TilescopeError as error:
            self.said.emit(str(error), False)
            return
        dialog.finished.connect(lambda _: self._take_file(dialog))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _take_file(self, dialog: FileDialog) -> None:
        if dialog.kernel is not None:
            files = (*self.setup.files, dialog.kernel)
            ticked = {*self.setup.kernels, f"file:{len(files) - 1}"}
            self.setup = replace(self.setup, files=files, kernels=frozenset(ticked))
            self.refresh(frozenset())

    # ---- what the model says

    def _on_model(self, names: frozenset[str]) -> None:
        if "devices" in names:
            self.strip.offer_gpus(self.model.devices)
        if names & {"devices", "state"}:
            self._show_plan()
        if "results" in names:
            self._show_results()
        if "live" in names and self.picked is None:
            self._show_live()
        progress = self.model.progress
        if progress is not None:
            self.strip.show_progress(progress.done, progress.total)
        if "ended" in names:
            self._show_end()
        self._say_state()

    def _say_state(self) -> None:
        self.caption.setText(state_sentence(self.model))
        self.trouble.setText(failure_sentence(self.model))
        self.trouble.setVisible(bool(self.model.failed))

    def _tick(self) -> None:
        self.model.drain()
        if not self.model.busy:
            self._timer.stop()

    # ---- files

    def import_results(self, paths: list[Path]) -> None:
        """Take up results that were exported elsewhere."""
        for path in paths:
            try:
                count = self.model.import_file(path)
            except TilescopeError as error:
                self.said.emit(str(error), False)
                return
            self.results.show_machine(self.model.measured[-1].machine)
            self._show_results()
            self.said.emit(f"{count} results taken from {path.name}.", True)

    def _save(self) -> None:
        failures = [
            (o.point.text, o.failure.message) for o in self.model.failed if o.failure is not None
        ]
        self.files.ask_and_save(self.results.measured, failures, self.ceilings.known)

    # ---- building

    def building(self) -> Steps:
        """Make the page, and have it work."""
        yield from super().building()
        self._connect()
        self._say_state()
        yield PAUSE

    def _connect(self) -> None:
        self.model.changed.connect(self._on_model)
        self._timer.timeout.connect(self._tick)
        self.strip.changed.connect(self._on_fields)
        self.strip.run_wanted.connect(self.run)
        self.strip.pause_wanted.connect(self.model.pause)
        self.strip.stop_wanted.connect(self.model.stop)
        self.strip.file_wanted.connect(self._add_file)
        self.results.row_chosen.connect(lambda row, by_user: self._on_row(row, by_user=by_user))
        self.results.machine_chosen.connect(self._on_machine)
        self.curves.changed.connect(lambda _: self._show_curves())
        self.curves.plot.chosen.connect(self._pick)
        ask = self.files.ask_and_read
        self.results.import_button.clicked.connect(lambda: self.import_results(ask()))
        self.results.save_button.clicked.connect(self._save)
        self.files.said.connect(self.said)
        self.ceilings.changed.connect(self._show_curves)
