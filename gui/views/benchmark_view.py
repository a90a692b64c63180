"""Runs the chosen kernel on a real GPU and plots its rate while the samples arrive."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

import pyqtgraph as pg
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from core.errors import TilescopeError
from gui.scenes.benchmark import (
    SIZES,
    ResultRow,
    benchmark_parameters,
    best_row,
    rank,
    result_row,
    result_sentence,
    row_sentence,
    running_median,
)
from gui.scenes.text import grouped
from gui.style import set_icon
from gui.theme import current_theme
from gui.views.base import Caption, Panel, SessionView
from gui.views.results_table import ResultsTable

if TYPE_CHECKING:
    from core.gpu.executor import GpuWorker
    from core.ladder import Ladder
    from gui.scenes.session import Session

REDRAW_MS = 33
AS_CONFIGURED = "as configured"
log = logging.getLogger(__name__)


def start_worker() -> GpuWorker:
    """The process that owns the GPU."""
    from core.gpu.executor import GpuWorker

    return GpuWorker()


class BenchmarkView(SessionView):
    """The benchmark page. The GPU's process starts when the page is first shown."""

    WATCHES = frozenset({"configuration"})
    event_came = Signal(object)
    job_done = Signal(object)
    probe_done = Signal(object)

    def __init__(
        self,
        session: Session,
        ladder: Ladder,
        make_worker: Callable[[], Any] = start_worker,
    ) -> None:
        super().__init__(session)
        self._ladder, self._make_worker = ladder, make_worker
        self._worker: Any = None
        self._device: str | None = None
        self._running: Future[Any] | None = None
        self.samples: list[float] = []
        self._results: list[ResultRow] = []
        self._make_widgets()
        self._lay_out()
        self._redraw = QTimer(self)
        self._redraw.setInterval(REDRAW_MS)
        self._redraw.timeout.connect(self._plot)
        self.event_came.connect(self._on_event)
        self.job_done.connect(self._on_done)
        self.probe_done.connect(self._on_probed)
        self._load_recorded()
        self.restyle()

    def refresh(self, names: frozenset[str]) -> None:
        """Say what would be run; look for a GPU the first time."""
        configuration = self.session.configuration
        if configuration is not None and configuration.rung:
            rung = self._ladder[configuration.rung]
            values = ", ".join(f"{k} = {grouped(v)}" for k, v in self.parameters().items())
            edited = " (without your edit)" if configuration.source is not None else ""
            self.subject.setText(f"{rung.title}{edited}: {values}")
        elif configuration is not None:
            self.subject.setText("Kernels of the ladder are timed here: choose one.")
        if self._worker is None:
            self._probe()
        if "configuration" in names:
            self._choose_rung()
        self._enable()

    def _choose_rung(self) -> None:
        """Show the best known result of the configured rung."""
        configuration = self.session.configuration
        if configuration is not None and self._running is None:
            place = best_row(self.table.rows.rows, configuration.rung)
            if place is not None:
                self.table.selectRow(place)

    def _show_row(self, place: int) -> None:
        if self._running is None:
            row = self.table.rows.rows[place]
            self.samples = list(row.samples)
            self.shown.setText(row_sentence(row))
            self._plot()

    def parameters(self) -> dict[str, int]:
        """The parameters that a run would use."""
        configuration = self.session.configuration
        if configuration is None or not configuration.rung:
            return {}
        text = self.size_box.currentText()
        size = None if text == AS_CONFIGURED else int(text)
        return benchmark_parameters(
            self._ladder[configuration.rung], configuration.parameters, size
        )

    def run(self) -> None:
        """Start the benchmark of the configured kernel."""
        configuration = self.session.configuration
        if configuration is None or not configuration.rung:
            return
        if self._worker is None or self._running is not None:
            return
        from core.gpu.benchmark import run_benchmark
        from core.gpu.jobs import BenchmarkJob, RungSubject

        self.samples = []
        self.shown.setText(f"{self.subject.text()}, running.")
        self._plot()
        job = BenchmarkJob(RungSubject(configuration.rung, self.parameters()))
        self.caption.setText("Starting …")
        self._redraw.start()
        self._running = self._worker.stream(self.event_came.emit, run_benchmark, job)
        self._enable()
        self._running.add_done_callback(self.job_done.emit)

    def stop(self) -> None:
        """Ask the run to finish with what it has."""
        if self._worker is not None and self._running is not None:
            self._worker.stop()

    def shut_down(self) -> None:
        """End the GPU's process and wait for it."""
        self._redraw.stop()
        if self._worker is not None:
            self._worker.stop()
            self._worker.kill()
            self._worker.shutdown(wait=True, cancel_futures=True)
            self._worker = None

    def restyle(self) -> None:
        """Take up the theme's colours."""
        theme = current_theme()
        self.plot.setBackground(theme.color("panel"))
        for name in ("left", "bottom"):
            axis = self.plot.getAxis(name)
            axis.setPen(theme.color("border"))
            axis.setTextPen(theme.color("text_dim"))
            axis.setTickFont(theme.font("small"))
        self.plot.setLabel("left", "GFLOPS", color=theme.surfaces.text_dim)
        self.plot.setLabel("bottom", "launch", color=theme.surfaces.text_dim)
        self._dots.setBrush(theme.color("load", 0.55))
        self._median.setPen(pg.mkPen(theme.color("store"), width=2))
        self._median_text.setColor(theme.color("text"))
        self._median_text.setFont(theme.font("caption", bold=True))
        set_icon(self.stop_button, "stop")
        set_icon(self.run_button, "run", "window")

    # ---- building

    def _make_widgets(self) -> None:
        self.caption = Caption("Looking for a GPU …")
        self.subject = QLabel()
        self.subject.setProperty("role", "caption")
        self.size_box = QComboBox()
        self.size_box.addItems([AS_CONFIGURED, *(str(n) for n in SIZES)])
        self.size_box.setCurrentText("4096")
        self.size_box.setAccessibleName("Size of the benchmark")
        self.size_box.setToolTip("N of the measured launch; block and tile are those configured")
        self.size_box.currentTextChanged.connect(lambda _: self.refresh(frozenset()))
        self.run_button = QPushButton("Run on GPU")
        self.run_button.setProperty("role", "primary")
        self.run_button.setToolTip("Compile, check against float64 and time on the GPU (Ctrl+R)")
        self.run_button.clicked.connect(self.run)
        self.stop_button = QPushButton("Stop")
        self.stop_button.clicked.connect(self.stop)
        pg.setConfigOptions(antialias=True)
        self.plot = pg.PlotWidget()
        self.plot.setMenuEnabled(False)
        self.plot.hideButtons()
        self.plot.showGrid(x=False, y=True, alpha=0.18)
        self._dots = pg.ScatterPlotItem(size=6, pen=None)
        self._median = pg.InfiniteLine(angle=0, movable=False)
        self._median_text = pg.TextItem(anchor=(1, 1))
        for item in (self._dots, self._median, self._median_text):
            self.plot.addItem(item)
        self.table = ResultsTable()
        self.table.chosen.connect(self._show_row)
        self.shown = Caption(role="dim")
        self.shown.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.shown.setContentsMargins(current_theme().spacing.margin, 0, 0, 0)
        for name in ("left", "bottom"):
            self.plot.getAxis(name).enableAutoSIPrefix(False)
        self._plot()

    def _lay_out(self) -> None:
        space = current_theme().spacing
        controls = QHBoxLayout()
        controls.setContentsMargins(space.margin, 0, space.margin, space.gap)
        controls.setSpacing(space.gap)
        controls.addWidget(self.subject)
        controls.addStretch(1)
        label = QLabel("N")
        label.setProperty("role", "dim")
        controls.addWidget(label)
        controls.addWidget(self.size_box)
        controls.addWidget(self.stop_button)
        controls.addWidget(self.run_button)
        upper = QWidget()
        column = QVBoxLayout(upper)
        column.setContentsMargins(0, 4, 0, 0)
        column.addLayout(controls)
        column.addWidget(self.shown)
        column.addWidget(self.plot, 1)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setHandleWidth(8)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(Panel("Rate of each launch", upper, caption=self.caption, flush=True))
        splitter.addWidget(
            Panel("Measured kernels", self.table, caption=self.table.caption, flush=True)
        )
        splitter.setSizes([460, 300])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(splitter)

    # ---- the GPU

    def _probe(self) -> None:
        from core.gpu.session import describe_devices

        self._worker = self._make_worker()
        self._worker.submit(describe_devices).add_done_callback(self.probe_done.emit)

    def _on_probed(self, future: Future[Any]) -> None:
        try:
            devices = future.result()
        except CancelledError:
            return
        except TilescopeError as error:
            recorded = " The table shows results recorded elsewhere." if self._results else ""
            self.caption.setText(f"{error}{recorded}")
        else:
            self._device = devices[0].name
            self.caption.setText(f"Ready: {self._device}, {devices[0].sms} SMs.")
        self._enable()

    def _on_event(self, event: Any) -> None:
        from core.gpu.reporting import Sample

        if isinstance(event, Sample):
            if event.gflops is not None:
                self.samples.append(event.gflops)
        else:
            self.caption.setText(f"{event.doing.capitalize()} …")

    def _on_done(self, future: Future[Any]) -> None:
        self._running = None
        self._redraw.stop()
        self._plot()
        try:
            result = future.result()
        except CancelledError:
            return
        except TilescopeError as error:
            self.caption.setText(str(error))
        except Exception as error:  # a defect: say so, and keep the window
            log.exception("the benchmark failed")
            self.caption.setText(f"The benchmark failed unexpectedly: {error!r}.")
        else:
            row = result_row(result, recorded=False)
            self._results.append(row)
            self.table.load(rank(self._results))
            self.table.selectRow(self.table.rows.rows.index(row))
            self.caption.setText(result_sentence(result))
        self._enable()

    def _load_recorded(self) -> None:
        from core.gpu.result import load_recorded

        try:
            self._results = [result_row(r, recorded=True) for r in load_recorded()]
        except TilescopeError as error:
            log.warning("%s", error)
        self.table.load(rank(self._results))

    # ---- drawing

    def _plot(self) -> None:
        samples = self.samples
        self._dots.setData(x=list(range(1, len(samples) + 1)), y=samples)
        middle = running_median(samples)
        for item in (self._median, self._median_text):
            item.setVisible(middle is not None)
        right = max(len(samples), 20)
        self.plot.setXRange(0, right * 1.02, padding=0)
        self.plot.setYRange(0, max(samples, default=100.0) * 1.15, padding=0)
        if middle is None:
            return
        self._median.setValue(middle)
        self._median_text.setText(f"median {grouped(round(middle))} GFLOPS")
        self._median_text.setPos(right, middle)

    def _enable(self) -> None:
        running = self._running is not None
        configuration = self.session.configuration
        ready = self._device is not None and configuration is not None and bool(configuration.rung)
        self.run_button.setEnabled(ready and not running)
        self.stop_button.setVisible(running)
