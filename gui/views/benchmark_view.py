"""The benchmark page: the fields of a sweep, its results as a table, and files of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, QObject, QPoint, QRectF, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from core.atomic_files import replace_file
from core.errors import TilescopeError
from core.gpu.benchmark_job import Timing
from core.gpu.result_files import READ, read_results, write_results
from core.gpu.sweep_plan import SIZE, FileKernel, make_plan
from core.user_files.launch_texts import FileLaunch
from gui.background import Worker, sentence_of
from gui.jobs.ceilings_work import CeilingCounter
from gui.jobs.opening_work import file_to_sweep_job
from gui.looks.icons import set_icon
from gui.looks.labels_and_layouts import (
    GAP,
    MARGIN,
    fill,
    named,
    side_by_side,
    stacked,
    styled_label,
)
from gui.looks.style_sheet import set_style
from gui.looks.theme import current_theme
from gui.pictures import Picture, image_of, pdf_of, write_picture
from gui.scenes.benchmark_plot import simple_results, simple_series
from gui.scenes.benchmark_results import (
    FAMILIES,
    HERE,
    RECORDED,
    Measured,
    ResultRow,
    best_row,
    families,
    family_of,
    machine_sentence,
    machines,
    rates_of,
    row_of,
    rows_of,
    series_of_launch,
    table_sentence,
    unmeasured_sentence,
)
from gui.scenes.benchmark_sentences import (
    counting_sentence,
    failure_sentence,
    live_sentence,
    measured_sentence,
    state_sentence,
)
from gui.scenes.benchmark_setup import CONFIGURED, Setup, choices, plan_of, plan_sentence
from gui.scenes.benchmark_sweep import BenchModel, Place, places
from gui.scenes.numbers_and_sentences import in_window, plural
from gui.scenes.question_in_views import waits
from gui.views.benchmark_plot import CurvesPanel, LaunchPlot
from gui.views.buttons_and_choices import action_button, fitting_choice, offer, push_button
from gui.views.captions_and_panels import Caption, Panel
from gui.views.dialogs import ask_where
from gui.views.page_stack import PageView
from gui.views.plots import PLOT_LINES
from gui.views.question_in_views import Veil
from gui.views.subject_and_device import Choice, ScrolledPage, panels_in, simple_or_all
from gui.views.tables import Index, RowModel, RowTable

if TYPE_CHECKING:
    from core.gpu.benchmark_result import BenchmarkResult
    from core.gpu.sweep import Outcome
    from core.gpu.sweep_plan import Plan
    from core.gpu.worker_process import GpuWorker
    from core.ladder import Ladder
    from gui.scenes.benchmark_plot import Ceilings
    from gui.scenes.configuration import Configuration
    from gui.scenes.session import Session

REDRAW_MS = 33
TABLE_LINES = 4  # heights of a control: what is always in sight of the table


def start_worker(number: int) -> GpuWorker:
    """The process that owns a GPU."""
    from core.gpu.worker_process import GpuWorker

    return GpuWorker(number)


class BenchmarkView(PageView):
    """The benchmark page. The first GPU's process starts when the page is first shown.

    `said(sentence, ok)`: something to tell that has no place on the page.
    """

    said = Signal(str, bool)
    WATCHES = frozenset({"configuration", "everything"})

    def __init__(
        self,
        session: Session,
        ladder: Ladder,
        make_worker: Callable[[int], Any] = start_worker,
        folder: Path | None = None,
    ) -> None:
        """folder: where sweeps are kept as they are measured; None keeps them nowhere."""
        super().__init__(session)
        self._ladder = ladder
        self.model = BenchModel(make_worker, folder)
        self.ceilings = CeilingCounter(ladder, self)
        self.files = BenchFiles(self, self.pictures)
        self._opener = Worker(
            self, "file to sweep", self._ask_about, lambda e: self.said.emit(str(e), False)
        )
        self.setup = Setup()
        self.picked: Measured | None = None
        """The result that was chosen by hand."""
        self._n_here = 0
        self._timer = QTimer(self, interval=REDRAW_MS)
        self._build()
        self.results.keys = self._simple_keys
        self.curves.order = ladder.names
        self.model.load()
        self._connect()
        self._offer_places()
        self._say_state()

    @property
    def measured(self) -> tuple[BenchmarkResult, ...]:
        """All results but those that come with the program: measured here, or imported."""
        return tuple(m.result for m in self.model.measured if m.origin != RECORDED)

    @property
    def _here(self) -> list[Measured]:
        """What was measured on this page, the last one last."""
        return [m for m in self.model.measured if m.origin == HERE]

    def pictures(self) -> dict[str, QWidget]:
        return {"Launches": self.launches, "Sweep": self.curves.plot}

    def arithmetics(self) -> dict[str, str]:
        """What the ladder's matrix products compute with, by rung."""
        products = (rung for rung in self._ladder.values() if rung.layout is not None)
        return {rung.name: rung.arithmetic for rung in products}

    # ---- the session and the fields

    def refresh(self, names: frozenset[str]) -> None:
        self.when_painted(self._look_for_gpus)
        configuration = self.session.configuration
        self.strip.show_setup(self.setup, choices(self._ladder, configuration, self.setup))
        self._show_plan()
        if configuration is not None and "configuration" in names and not self.session.everything:
            self.results.show_family(self.arithmetics().get(configuration.rung, "other"))
        self.results.show_results(self.model.measured, self.model.failed)
        self._show_curves()
        if configuration is not None and not self.model.running:
            with QSignalBlocker(self.results):
                found = self.results.select_series(series_of_launch(configuration))
            if found is not None:
                self._show_measured(found)
            elif self.picked is None or "configuration" in names:
                self._show_unmeasured(configuration)

    def _look_for_gpus(self) -> None:
        self.model.look_for_gpus()
        self._timer.start()

    def plan(self) -> Plan:
        """What a run would measure; raises TilescopeError with what is wrong with the fields."""
        return plan_of(self._ladder, self.session.configuration, self.setup)

    def run(self) -> None:
        try:
            plan = self.plan()
            self.picked = None
            timing, place = Timing(budget_s=self.setup.budget_s), self.strip.place
            self.model.run(plan, timing, place.ordinals, place.cluster)
        except TilescopeError as error:
            self.strip.show_plan(str(error), wrong=True)
            return
        self._timer.start()

    def shut_down(self) -> None:
        super().shut_down()
        self.model.shut_down()

    def _on_fields(self) -> None:
        self.setup = self.strip.setup
        self._show_plan()

    def _show_plan(self) -> None:
        try:
            said, ready = plan_sentence(self.plan()), True
        except TilescopeError as error:
            said, ready = str(error), False
        self.strip.show_plan(said, wrong=not ready)
        place = self.strip.place
        self.strip.show_state(
            ready=ready and bool(place.ordinals or place.cluster),
            running=self.model.running,
            paused=self.model.paused,
            stopping=self.model.stopping,
        )

    def _offer_places(self) -> None:
        model = self.model
        recorded = machines(m for m in model.measured if m.origin == RECORDED)
        self.strip.offer_places(places(model.devices, recorded, model.addresses.known))

    def _on_place(self) -> None:
        """Show the results of a recorded machine; else say what would be measured."""
        recorded = self.strip.place.recorded
        if recorded:
            self.results.show_machine(recorded)
            self._on_machine()
        self._show_plan()

    def _add_file(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, "Sweep a file", "", "CUDA (*.cu *.cuh)")
        if name:
            self.add_file(Path(name))

    def add_file(self, path: Path) -> None:
        self._opener.submit(file_to_sweep_job, path)

    def _ask_about(self, found: Any) -> None:
        name, source, launch = found
        dialog = FileDialog(name, source, launch, self)
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
        if "devices" in names or ("state" in names and self.model.cluster):
            self._offer_places()
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
        self.trouble.setVisible(bool(self.trouble.text()))

    def _tick(self) -> None:
        self.model.drain()
        if not self.model.busy:
            self._timer.stop()

    # ---- files

    def _on_read(self, path: Path, results: Sequence[BenchmarkResult]) -> None:
        if not results:
            self.said.emit(f"{path.name} holds no results.", False)
            return
        self.model.take_up(results, path.name)
        self.results.show_machine(self.model.measured[-1].machine)
        self._show_results()
        self.said.emit(f"{len(results)} results taken from {path.name}.", True)

    def _save(self) -> None:
        if self.session.hides("benchmark"):
            self.said.emit(waits(self.session, "a file of the results"), False)
            return
        failures = [
            (o.point.text, o.failure.message) for o in self.model.failed if o.failure is not None
        ]
        self.files.ask_and_save(self.results.measured, failures, self.ceilings.known)

    # ---- while a sweep runs

    def _show_live(self) -> None:
        live = next((one for one in reversed(self.model.live.values()) if not one.done), None)
        if live is None:
            return
        if self.model.cluster and not live.times:  # its launches come once all of them are done
            here, progress = self._here, self.model.progress
            if here and progress is not None and progress.done:
                self._show_measured(here[-1])
            return
        self.shown.setText(live_sentence(live))
        if live.times:  # until then the launches before stay: no plot flickers between points
            self._show_launches(live.times, live.begun.flops if live.begun is not None else None)

    def _show_end(self) -> None:
        """Show the last result whole: nothing says "running" any more."""
        here = self._here
        if self.picked is None:
            if here and self.model.live:
                self._show_measured(here[-1])
            else:
                self.shown.setText("Nothing was measured.")

    # ---- what was measured

    def _show_results(self) -> None:
        here = self._here
        if len(here) > self._n_here:  # also where the last ones arrive with the sweep's end
            self.results.show_machine(here[-1].machine)
        self._n_here = len(here)
        self.results.show_results(self.model.measured, self.model.failed)
        self._show_curves()
        if self.picked is not None:
            self.results.select(self.picked)

    def _on_machine(self) -> None:
        self.picked = None
        self._show_results()

    def _show_curves(self) -> None:
        measured = self.results.measured
        self.curves.show_results(measured, self.ceilings.known, self._simple_keys(measured))
        if self.curves.request.quantity == "share":
            self.ceilings.want(self.curves.drawn_results(measured))
            if sentence := counting_sentence(self.ceilings.left):
                caption = self.curves.caption
                caption.setText(f"{caption.text()} {sentence}")

    def _simple_keys(self, measured: Sequence[Measured]) -> frozenset[str] | None:
        """The series that Simple shows; None for All."""
        if self.session.everything:
            return None
        configuration = self.session.configuration
        chosen = configuration.rung if configuration is not None else ""
        return simple_series(measured, self._ladder.names, chosen)

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
        result = measured.result
        self._show_launches(result.samples_ms, result.flops)
        self.shown.setText(measured_sentence(measured))
        self.curves.plot.set_chosen(result.series)

    def _show_unmeasured(self, configuration: Configuration) -> None:
        machine = self.results.machine.currentText()
        self.launches.show_values([], "GFLOPS")
        self.shown.setText(unmeasured_sentence(self._ladder, configuration, machine))
        self.curves.plot.set_chosen(series_of_launch(configuration))

    def _show_launches(self, times_ms: Sequence[float], flops: int | None) -> None:
        unit = "ms" if flops is None else "GFLOPS"
        self.launches.show_values(rates_of(times_ms, flops), unit)

    # ---- building

    def _build(self) -> None:
        self.caption = Caption("Looking for a GPU …")
        self.trouble = Caption(role="error")
        self.trouble.hide()
        self.shown = Caption("Choose a kernel.")
        self.shown.may_take(6)  # beside a projector's large type the plots leave it little width
        body = QWidget()
        page = stacked(body, self._setup_panel(), gap=8)
        fill(self, ScrolledPage(body))
        # They are in their places before they are filled: Qt styles what is put in, each by itself.
        plots, splitter = panels_in(Qt.Orientation.Horizontal), panels_in(Qt.Orientation.Vertical)
        splitter.addWidget(plots)
        page.addWidget(splitter, 1)
        self.veil = Veil(self.session, "benchmark", body, (splitter,))
        self._build_plots(plots)
        self._build_results(splitter)
        self._keep_room()

    def _keep_room(self) -> None:
        """Leave plots and table legible: where they have less room the page scrolls."""
        line = current_theme().spacing.control
        self.launches.setMinimumHeight(PLOT_LINES * line)
        self.curves.plot.setMinimumHeight(PLOT_LINES * line)
        self.results.table.setMinimumHeight(TABLE_LINES * line)

    def restyle(self) -> None:
        self.strip.restyle()
        self.results.table.fit()
        self.launches.restyle()
        self.curves.plot.draw()
        self._keep_room()

    def _setup_panel(self) -> Panel:
        setup = QWidget()
        self.strip = SetupStrip()
        stacked(setup, self.strip, self.trouble, gap=4)
        return Panel("Measure", setup, caption=self.caption)

    def _build_plots(self, plots: QSplitter) -> None:
        self.launches = LaunchPlot()
        plots.addWidget(Panel("Launches", self.launches, caption=self.shown, flush=True))
        self.curves = CurvesPanel()
        controls, caption = [simple_or_all(self.session)], self.curves.caption
        plots.addWidget(Panel("Sweep", self.curves, caption=caption, controls=controls, flush=True))
        plots.setSizes([400, 600])

    def _build_results(self, splitter: QSplitter) -> None:
        self.results = results = ResultsPanel(self.arithmetics())
        panel = Panel(
            "Results", results, caption=results.caption, controls=results.controls, flush=True
        )
        splitter.addWidget(panel)
        splitter.setSizes([520, 260])

    def _connect(self) -> None:
        self.model.changed.connect(self._on_model)
        self._timer.timeout.connect(self._tick)
        self.strip.changed.connect(self._on_fields)
        self.strip.placed.connect(self._on_place)
        self.strip.run_button.clicked.connect(self.run)
        self.strip.address.returnPressed.connect(self.run)
        self.strip.pause_button.clicked.connect(self.model.pause)
        self.strip.stop_button.clicked.connect(self.model.stop)
        self.strip.kernels.file_wanted.connect(self._add_file)
        self.results.row_chosen.connect(lambda row, by_user: self._on_row(row, by_user=by_user))
        self.results.machine_chosen.connect(self._on_machine)
        self.curves.changed.connect(lambda _: self._show_curves())
        self.curves.plot.chosen.connect(self._pick)
        self.results.import_button.clicked.connect(self.files.ask_and_read)
        self.files.was_read.connect(self._on_read)
        self.results.save_button.clicked.connect(self._save)
        self.files.said.connect(self.said)
        self.ceilings.changed.connect(self._show_curves)


# The fields of a sweep: kernels, sizes, tiles, time, GPUs, and the buttons that run it.


KEY = Qt.ItemDataRole.UserRole
TICKS = {True: Qt.CheckState.Checked, False: Qt.CheckState.Unchecked}


class KernelList(QWidget):
    """A list with a tick for each kernel, that opens below its button."""

    changed = Signal()
    file_wanted = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.list = named(QListWidget(), "Kernels to measure")
        self.list.itemChanged.connect(lambda _: self.changed.emit())
        self.list.itemClicked.connect(self._toggle_row)
        every, none, file = (QPushButton(t) for t in ("All", "None", "Add a file…"))
        every.clicked.connect(lambda: self.tick(set(self.titles()) - {CONFIGURED}))
        none.clicked.connect(lambda: self.tick({CONFIGURED}))
        file.clicked.connect(self._ask_for_file)
        stacked(self, self.list, side_by_side(None, every, none, file), edges=(6, 6, 6, 6))

    def _items(self) -> list[QListWidgetItem]:
        return [self.list.item(row) for row in range(self.list.count())]

    def titles(self) -> dict[str, str]:
        return {str(item.data(KEY)): item.text() for item in self._items()}

    def ticked(self) -> frozenset[str]:
        on = (item for item in self._items() if item.checkState() == TICKS[True])
        return frozenset(str(item.data(KEY)) for item in on)

    def offer(self, choices: Mapping[str, str], ticked: frozenset[str]) -> None:
        with QSignalBlocker(self.list):
            self.list.clear()
            for key, title in choices.items():
                item = QListWidgetItem(title, self.list)
                item.setData(KEY, key)
                item.setCheckState(TICKS[key in ticked])

    def tick(self, keys: set[str]) -> None:
        with QSignalBlocker(self.list):
            for item in self._items():
                item.setCheckState(TICKS[str(item.data(KEY)) in keys])
        self.changed.emit()

    def open_below(self, button: QWidget) -> None:
        rows = self.list.count()
        high = min(rows * max(self.list.sizeHintForRow(0), 22) + 70, 520)
        self.resize(max(button.width(), 300), high)
        self.move(button.mapToGlobal(QPoint(0, button.height() + 2)))
        self.show()
        self.list.setFocus()

    def _toggle_row(self, item: QListWidgetItem) -> None:
        """A click on the title ticks as one on the box does; Qt has done the box's by now."""
        here = self.list.viewport().mapFromGlobal(self.cursor().pos())
        box = self.list.visualItemRect(item)
        if here.x() - box.left() > 26:
            item.setCheckState(TICKS[item.checkState() != TICKS[True]])

    def _ask_for_file(self) -> None:
        self.hide()
        self.file_wanted.emit()


class SetupStrip(QWidget):
    """What to measure and how. `changed()` after each edit; `setup` is what the fields say."""

    changed = Signal()
    placed = Signal()
    """Another place was chosen, or another address is being typed."""

    def __init__(self) -> None:
        super().__init__()
        self._setup = Setup()
        self._is_chosen = False  # by hand; until then the first place is
        self._make_kernels()
        self._make_fields()
        self._make_buttons()
        self._lay_out()
        self.restyle()

    # ---- what the fields say

    @property
    def setup(self) -> Setup:
        return replace(
            self._setup,
            kernels=self.kernels.ticked(),
            sizes=self.sizes.text(),
            tiles=self.tiles.text(),
            budget_s=self.budget.value(),
            tuned=self.tuned.isChecked(),
        )

    def show_setup(self, setup: Setup, choices: Mapping[str, str]) -> None:
        self._setup = setup
        self.kernels.offer(choices, setup.kernels)
        for field, text in ((self.sizes, setup.sizes), (self.tiles, setup.tiles)):
            if field.text() != text:
                field.setText(text)
                field.setCursorPosition(0)
        with QSignalBlocker(self.budget):
            self.budget.setValue(setup.budget_s)
        self.tuned.setChecked(setup.tuned)
        self._name_kernels()

    def offer_places(self, offered: Sequence[Place]) -> None:
        """Show where a sweep may run; what was chosen stays, if it is there."""
        chosen = self.gpus.currentData()
        with QSignalBlocker(self.gpus):
            self.gpus.clear()
            for place in offered:
                self.gpus.addItem(place.title, place)
            titles = [place.title for place in offered]
            kept = isinstance(chosen, Place) and self._is_chosen and chosen.title in titles
            self.gpus.setCurrentIndex(titles.index(chosen.title) if kept else 0)
        listed = self.gpus.view()
        listed.setMinimumWidth(listed.sizeHintForColumn(0) + 24)  # else as narrow as the field
        self._show_address()

    @property
    def place(self) -> Place:
        found = self.gpus.currentData()
        chosen = found if isinstance(found, Place) else Place("")
        return replace(chosen, cluster=self.address.text().strip()) if chosen.is_typed else chosen

    def _on_place(self) -> None:
        self._is_chosen = True
        self._show_address()
        if self.place.is_typed:
            self.address.setFocus()
        self.placed.emit()

    def _show_address(self) -> None:
        self.address.setVisible(self.place.is_typed)

    def show_state(self, *, ready: bool, running: bool, paused: bool, stopping: bool) -> None:
        self.run_button.setVisible(not running)
        self.run_button.setEnabled(ready)
        self.pause_button.setVisible(running)
        self.pause_button.setEnabled(not stopping)
        self.pause_button.setText("Resume" if paused else "Pause")
        set_icon(self.pause_button, "play" if paused else "pause")
        self.stop_button.setVisible(running)
        self.stop_button.setText("Stop at once" if stopping else "Stop")
        self.bar.setVisible(running)
        fields = (self.kernels_button, self.sizes, self.tiles, self.tuned, self.budget)
        for field in (*fields, self.gpus, self.address):
            field.setEnabled(not running)

    def show_progress(self, done: int, total: int) -> None:
        self.bar.setRange(0, max(total, 1))
        self.bar.setValue(done)

    def show_plan(self, sentence: str, *, wrong: bool) -> None:
        set_style(self.plan, "role", "error" if wrong else "dim")
        self.plan.setText(sentence)

    def restyle(self) -> None:
        """Take up the room that usual values need in its type."""
        digit = self.fontMetrics().horizontalAdvance("0")
        for field, digits in ((self.sizes, 18), (self.tiles, 10), (self.address, 20)):
            field.setMinimumWidth(digits * digit)
        self.kernels_button.setMinimumWidth(12 * digit)
        self.kernels_button.setMaximumWidth(36 * digit)

    # ---- building

    def _make_kernels(self) -> None:
        self.kernels_button = action_button("", "Which kernels to measure", "Kernels")
        self.kernels_button.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.kernels = KernelList(self)
        self.kernels.hide()
        self.kernels_button.clicked.connect(lambda: self.kernels.open_below(self.kernels_button))
        self.kernels.changed.connect(self._on_kernels)

    def _make_fields(self) -> None:
        self.sizes = self._values("Sizes", "as configured", "N: 512, 1024 or 256..4096 (doubling)")
        self.tiles = self._values("Tiles", "as configured", "8, 16, 32, where a kernel has tiles")
        self.sizes.setMaximumWidth(420)
        self.tiles.setMaximumWidth(200)
        field = QDoubleSpinBox(minimum=0.1, maximum=600, suffix=" s", decimals=1)
        tip = "Time each point until its median is stable, this long at most"
        self.budget = named(field, "Seconds for each launch configuration", tip)
        self.budget.valueChanged.connect(lambda _: self.changed.emit())
        self.tuned = QCheckBox("tuned blocks")
        self.tuned.setToolTip(
            "Where no tile is given: the block and tile that are fast on a GPU, not those that are "
            "configured for stepping"
        )
        self.tuned.clicked.connect(lambda _: self.changed.emit())
        tip = (
            "A GPU here, or all of them; a machine whose results were recorded; the GPUs of a "
            "cluster's workers"
        )
        self.gpus = Choice("On", tip, 10)  # letters: "All 2 GPUs"; a name has what room there is
        self.gpus.activated.connect(lambda _: self._on_place())
        line = QLineEdit(placeholderText="tcp://HOST:8786")
        tip = "Where `dask scheduler` listens; workers: `tilescope worker`"
        self.address = named(line, "Address of the cluster's scheduler", tip)
        self.address.textEdited.connect(lambda _: self.placed.emit())
        self.address.hide()
        self.plan = Caption(role="dim")
        self.plan.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.plan.may_take(2)
        self.bar = QProgressBar(textVisible=False)

    def _values(self, name: str, empty: str, tip: str) -> QLineEdit:
        field = named(QLineEdit(placeholderText=empty), name, tip)
        field.textEdited.connect(lambda _: self.changed.emit())
        return field

    def _make_buttons(self) -> None:
        tip = "Compile, check against float64 and time, point by point"
        self.run_button = push_button("Run on GPU", tip, primary=True)
        self.pause_button = push_button("Pause")
        self.stop_button = push_button("Stop", "Stop, and keep the launches so far")
        set_icon(self.run_button, "run", "window")
        set_icon(self.stop_button, "stop")

    def _lay_out(self) -> None:
        n, tile, most, on = (
            styled_label(text, role="dim") for text in ("N", "Tile", "at most", "on")
        )
        fields = (self.sizes, self.tiles, self.budget, self.gpus)
        for label, field in zip((n, tile, most, on), fields, strict=True):
            label.setBuddy(field)
        what = (self.kernels_button, n, (self.sizes, 12), tile, (self.tiles, 5), self.tuned)
        how = (most, self.budget, on, (self.gpus, 3), (self.address, 2), GAP, (self.plan, 2))
        buttons = (self.run_button, self.pause_button, self.stop_button)
        upper = side_by_side(None, *what, (None, 0), gap=GAP)
        lower = side_by_side(None, *how, *buttons, gap=GAP)
        stacked(self, upper, lower, self.bar, gap=GAP - 2, edges=(0, 2, 0, 0))

    def _on_kernels(self) -> None:
        self._name_kernels()
        self.changed.emit()

    def _name_kernels(self) -> None:
        ticked, titles = list(self.kernels.ticked()), self.kernels.titles()
        text = plural(len(ticked), "kernel") if len(ticked) != 1 else titles[ticked[0]]
        self.kernels_button.setText(f"{text} ▾")


RATE, BANDWIDTH, BAR = 2, 3, 4


# One machine's results as a table.


_TIPS = {
    RATE: "10⁹ floating-point operations a second at the median launch; ↓: the SM clock fell",
    BANDWIDTH: "Bytes of the arrays, each once, over the time: what the algorithm needs, not what "
    "the kernel moves. Small where every byte is used often, as in a matrix product",
}


class ResultsModel(RowModel[ResultRow]):
    """Rows of `gui.scenes.benchmark_results`."""

    HEADS = ("Kernel", "Parameters", "GFLOPS", "Effective GB/s", "")
    RIGHT = frozenset({RATE, BANDWIDTH})

    def text(self, row: ResultRow, column: int) -> str:
        return (row.title, row.details, row.rate_text, row.bandwidth_text, "")[column]

    def head_tip(self, column: int) -> str:
        return _TIPS.get(column, "")

    def tip(self, row: ResultRow) -> str:
        return row.notes

    def color(self, row: ResultRow, column: int) -> str:
        if row.trouble and column == RATE:
            return "error"
        return "text" if column in (0, RATE) else "text_dim"


class RateBar(QStyledItemDelegate):
    """A bar of the rate, with a line from the 5th to the 95th percentile."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model = index.model()
        assert isinstance(model, ResultsModel)
        row, theme = model.plain_rows[index.row()], current_theme()
        most = max((r.high or r.gflops or 0.0) if r.gflops else 0.0 for r in model.plain_rows)
        if not row.gflops or not most:
            return
        box = QRectF(option.rect).adjusted(8, 0, -12, 0)
        scale, middle = box.width() / most, box.center().y()
        strength = 0.85 if row.measured and row.measured.origin == HERE else 0.45
        bar = QRectF(box.left(), middle - 5, row.gflops * scale, 10)
        painter.fillRect(bar, theme.tint("load", strength))
        if row.low is not None and row.high is not None:
            left, right = box.left() + row.low * scale, box.left() + row.high * scale
            line = QRectF(left, middle - 1, max(right - left, 2), 2)
            painter.fillRect(line, theme.color("text"))


class ResultsPanel(QWidget):
    """`row_chosen(row, by_user)`; `machine_chosen()` when other results are to be shown."""

    row_chosen = Signal(object, bool)
    machine_chosen = Signal()

    def __init__(self, arithmetics: Mapping[str, str]) -> None:
        """arithmetics: what the ladder's matrix products compute with, by rung."""
        super().__init__()
        self._arithmetics = arithmetics
        self._family = ""
        self.family = fitting_choice("Kind of kernels", "Which results stand beside each other")
        self.caption = Caption()
        self.model = ResultsModel()
        self.table = RowTable(self.model, "Measured kernels")
        self.table.setItemDelegateForColumn(BAR, RateBar(self.table))
        self.contents = Caption(role="dim")
        self.machine = fitting_choice("Machine", "Whose results are shown")
        elsewhere = "Show results that were measured on another machine"
        self.import_button = push_button("Import…", elsewhere)
        kinds = "CSV, JSON, Parquet, a report, or the plots as PNG or PDF"
        self.save_button = push_button("Export…", kinds)
        self.controls = (self.family, self.machine, self.import_button, self.save_button)
        self.measured: list[Measured] = []
        self.keys: Callable[[Sequence[Measured]], frozenset[str] | None] = lambda _: None
        """Which series of the results are shown, each at its fastest; None for everything."""
        self._name = ""
        self.table.selectionModel().currentRowChanged.connect(self._on_row)
        self.machine.textActivated.connect(self._on_machine)
        self.family.activated.connect(lambda _: self._on_family(self.family.currentData()))
        self._lay_out()

    @property
    def rows(self) -> tuple[ResultRow, ...]:
        return self.model.plain_rows

    def show_machine(self, name: str) -> None:
        """Show all of this machine's results at the next `show_results`."""
        self._name, self._family = name, "all"

    def show_results(self, every: Sequence[Measured], failed: Sequence[Outcome]) -> None:
        known = machines(every)
        if self._name not in known:
            self._name = known[0] if known else ""
        offer(self.machine, [(name, name) for name in known], self._name)
        self.machine.setEnabled(len(known) > 1)
        of_machine = [m for m in every if m.machine == self._name]
        family = self._offer_families(families(of_machine, self._arithmetics))
        self.measured = [
            m for m in of_machine if family in ("all", family_of(m, self._arithmetics))
        ]
        here = not self.measured or self.measured[-1].origin == HERE
        keys = self.keys(self.measured)
        shown: Sequence[Measured] = self.measured
        if keys is not None:
            shown = simple_results(shown, keys)
        rows = rows_of(shown, failed if here else ())
        self.table.setColumnHidden(BANDWIDTH, keys is not None)
        self.model.load(rows)
        self.table.fit()
        self.contents.setText(table_sentence(rows, shown, len(self.measured)))
        self.caption.setText(machine_sentence(self.measured))

    def _offer_families(self, there: tuple[str, ...]) -> str:
        chosen = self._family if self._family in there else next(iter(there), "all")
        offer(self.family, [(FAMILIES[key], key) for key in there], chosen)
        self.family.setVisible(len(there) > 1)
        return chosen

    def show_family(self, key: str) -> None:
        """Show this family at the next `show_results`, where there is any of it."""
        self._family = key

    def select(self, measured: Measured) -> None:
        place = row_of(self.rows, measured)
        if place is not None:
            self.table.selectRow(place)

    def select_series(self, series: str) -> Measured | None:
        """Select the fastest of a kernel's results; None where none of it was timed."""
        place = best_row(self.rows, series)
        if place is None:
            self.table.clearSelection()
            return None
        self.table.selectRow(place)
        return self.rows[place].measured

    def _on_row(self, index: QModelIndex) -> None:
        if index.isValid():
            self.row_chosen.emit(self.rows[index.row()], self.table.hasFocus())

    def _on_family(self, key: str) -> None:
        self._family = key
        self.machine_chosen.emit()

    def _on_machine(self, name: str) -> None:
        self._name, self._family = name, ""
        self.machine_chosen.emit()

    def _lay_out(self) -> None:
        head = QWidget()
        stacked(head, self.contents, edges=(MARGIN, 0, GAP, 0))
        stacked(self, head, (self.table, 1), gap=2)


# Results and plots to files, results from files, and a file to sweep.


KINDS = (
    *("Table (*.csv)", "Results of this program (*.json)", "Parquet (*.parquet)"),
    *("Report with plots (*.md)", "Plots as pictures (*.png)", "Plots as drawings (*.pdf)"),
)
OPENED = f"Results ({' '.join('*' + ending for ending in READ)})"


class BenchFiles(QObject):
    """Writes and reads off the UI thread. `said(sentence, ok)` tells how it went.

    `was_read(path, results)` comes for each file that `read` was asked for.
    """

    said = Signal(str, bool)
    was_read = Signal(object, object)

    def __init__(self, page: QWidget, plots: Callable[[], dict[str, QWidget]]) -> None:
        super().__init__(page)
        self._page, self._plots = page, plots
        self._worker = Worker(
            self,
            "benchmark files",
            lambda path: self.said.emit(f"Saved {path}", True),
            self._failed,
            keeps_all=True,
        )
        self._reader = Worker(
            self, "results", lambda found: self.was_read.emit(*found), self._failed, keeps_all=True
        )

    def _failed(self, error: object) -> None:
        self.said.emit(sentence_of(error), False)

    def ask_and_save(
        self, measured: Sequence[Measured], failures: Sequence[tuple[str, str]], ceilings: Ceilings
    ) -> None:
        if where := ask_where(self._page, "Save results", "tilescope-benchmark.csv", KINDS):
            self.save(where[0], measured, failures, ceilings)

    def save(
        self,
        path: Path,
        measured: Sequence[Measured],
        failures: Sequence[tuple[str, str]] = (),
        ceilings: Ceilings | None = None,
    ) -> None:
        results = tuple(m.result for m in measured)
        ending = path.suffix.lower()
        if ending in (".png", ".pdf"):
            self._worker.submit(self._pictures(path, ending)[0])
            return
        if ending != ".md":

            def write(_: object) -> Path:
                write_results(path, results)
                return path

            self._worker.submit(write)
            return
        pictures, files = self._pictures(path, ".png")
        known = {}
        for place, m in enumerate(measured):
            key = m.ceiling_key
            found = None if key is None or ceilings is None else ceilings.get(key)
            if found is not None:
                known[place] = found

        def job(progress: object) -> Path:
            from core.gpu.result_files import report

            pictures(progress)
            text = report(results, failures=failures, pictures=files, ceilings=known)
            return replace_file(path, text)

        self._worker.submit(job)

    def _pictures(self, path: Path, ending: str) -> tuple[Any, dict[str, str]]:
        """The work of writing the plots beside `path`, and their files' names by title."""
        pictures, names = {}, {}
        for title, widget in self._plots().items():
            content = pdf_of(widget, title) if ending == ".pdf" else image_of(widget)
            file = path.with_name(f"{path.stem}-{title.lower().replace(' ', '-')}{ending}")
            pictures[file], names[title] = Picture(content), file.name

        def job(_: object) -> Path:
            for file, picture in pictures.items():
                write_picture(picture, file)
            return path.with_name(" and ".join(names.values()))

        return job, names

    def ask_and_read(self) -> None:
        names, _ = QFileDialog.getOpenFileNames(self._page, "Import results", "", OPENED)
        for name in names:
            self.read(Path(name))

    def read(self, path: Path) -> None:
        self._reader.submit(lambda _: (path, read_results(path)))


class FileDialog(QDialog):
    """How a file's kernel is launched at any size: texts with `{n}` and `{tile}` in them."""

    FIELDS = (
        ("grid", "Grid", "{ceil_div(n, tile)}, {ceil_div(n, tile)}"),
        ("block", "Block", "{tile}, {tile}"),
        ("shared", "Dynamic shared memory, bytes", "0"),
        ("defines", "Defines", "TILE_WIDTH={tile}"),
    )

    def __init__(self, name: str, source: str, launch: FileLaunch, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Sweep {name}")
        self.source, self._launch = source, launch
        self.kernel: FileKernel | None = None
        form = QFormLayout(self)
        intro = (
            "What stands in braces is filled in for each point of the sweep: {n} from the sizes, "
            "{tile} from the tiles; arithmetic such as {n // tile} works."
        )
        form.addRow(styled_label(intro, wrap=True))
        self.fields: dict[str, QLineEdit] = {}
        for key, title, example in self.FIELDS:
            self.fields[key] = self._line(form, title, getattr(launch, key), example)
        arguments = "\n".join(f"{n}={t}" for n, t in self._launch.arguments)
        self.arguments = named(QPlainTextEdit(arguments), "Arguments")
        self.arguments.setMinimumWidth(420)
        self.arguments.setFixedHeight(110)
        form.addRow("Arguments", self.arguments)
        self.fields["flops"] = self._line(form, "Operations", "", "2*n*n*n, for GFLOPS")
        self.fields["expected"] = self._line(form, "Right result", "", "C = A @ B, to check it")
        self.error = styled_label(role="error", wrap=True, plain=True)
        form.addRow(self.error)
        kinds = QDialogButtonBox.StandardButton
        buttons = QDialogButtonBox(kinds.Ok | kinds.Cancel)
        buttons.accepted.connect(self.take)
        buttons.rejected.connect(self.reject)
        form.addRow(buttons)

    @staticmethod
    def _line(form: QFormLayout, title: str, text: str, example: str) -> QLineEdit:
        line = named(QLineEdit(text, placeholderText=example), title)
        form.addRow(title, line)
        return line

    def take(self) -> None:
        """Check the texts with small sizes, and close; a mistake is shown and nothing closes."""
        pairs = [line.partition("=") for line in self.arguments.toPlainText().splitlines()]
        launch = replace(
            self._launch,
            **{name: self.fields[name].text() for name, _, _ in self.FIELDS},
            arguments=tuple((n.strip(), t.strip()) for n, _, t in pairs if n.strip()),
        )
        texts = self.fields["flops"].text().strip(), self.fields["expected"].text().strip()
        kernel = FileKernel(self.source, launch, *texts)
        try:
            axes = {
                axis: (value,) for axis, value in ((SIZE, 64), ("tile", 16)) if kernel.targets(axis)
            }
            make_plan([kernel], axes).points[0].subject.workload()
        except TilescopeError as error:
            self.error.setText(in_window(str(error)))
            return
        self.error.setText("")
        self.kernel = kernel
        self.accept()
