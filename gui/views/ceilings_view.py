"""The ceilings page: a roofline, every ceiling of the chosen launch, and measured runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent

from core.models.devices import load_devices
from gui.frames.pieces import PAUSE, Steps
from gui.frames.still import Still
from gui.jobs import ceilings_work as work
from gui.jobs.ceilings_model import CeilingsModel
from gui.scenes import ceilings as scene
from gui.scenes import roofline
from gui.scenes.bench_measured import parameters_text
from gui.scenes.recorded import recorded
from gui.scenes.selection import Configuration
from gui.views.ceilings_parts import AS_CONFIGURED, CeilingsParts

if TYPE_CHECKING:
    from core.gpu.result import BenchmarkResult
    from core.ladder import Ladder
    from core.models.ceilings import Ceilings
    from core.models.devices import Device
    from gui.scenes.session import Session

TOGETHER_MS = 250  # runs whose places are found in this time are drawn together


def prepare() -> None:
    """Read what the page shows first."""
    recorded()
    load_devices()


class CeilingsView(CeilingsParts):
    """The page. `results` gives what was measured in this session, if anything was."""

    WATCHES = frozenset({"configuration"})

    def __init__(
        self,
        session: Session,
        ladder: Ladder,
        results: Callable[[], Iterable[BenchmarkResult]] = tuple,
        *,
        now: bool = True,
    ) -> None:
        super().__init__(session)
        self._ladder = ladder
        self.model = CeilingsModel(ladder, results, self)
        self._other: Configuration | None = None  # a run chosen in the plot, not the window's
        self.found: Ceilings | None = None
        self._still = Still(self)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(TOGETHER_MS)
        self._later.timeout.connect(self._draw)
        self._again = False
        """Whether something came that was not drawn yet."""
        if now:
            self.build()

    # ---- what is shown

    @property
    def device(self) -> Device:
        """The chosen device."""
        name = self.device_box.currentData()
        return self.model.live.get(name) or load_devices().find(name)

    @property
    def n(self) -> int | None:
        """The chosen N; None for the configured launch."""
        text = self.size_box.currentText()
        return None if text == AS_CONFIGURED else int(text.replace("\u202f", ""))

    @property
    def wanted(self) -> Configuration | None:
        """The launch whose ceilings are shown."""
        if self._other is not None:
            return self._other
        configuration = self.session.configuration
        if configuration is None:
            return None
        return work.sized(self._ladder, configuration, self.n)

    def refreshing(self, names: frozenset[str]) -> Steps:
        """Show another launch: from what was counted before, or counted now."""
        self.when_painted(self.model.look_for_gpus)
        if "configuration" in names:
            self._other = None
        self._name_wanted()
        yield
        self._find()
        yield
        yield from self._drawing()

    def _name_wanted(self) -> None:
        wanted = self.wanted
        if wanted is None:
            return
        own = wanted.own is not None
        self.size_box.setVisible(not own)
        self.size_label.setVisible(not own)
        self.back.setVisible(self._other is not None)
        self.subject.setText(self._title(wanted))

    def _title(self, wanted: Configuration) -> str:
        if wanted.own is not None:
            return f"{wanted.own.name}: {wanted.own.kernel}"
        values = parameters_text(wanted.parameters)
        edited = " (edited)" if wanted.source is not None else ""
        return f"{self._ladder[wanted.rung].title}{edited}: {values}"

    def _ask(self) -> None:
        self._find()
        self._draw()

    def _find(self) -> None:
        """Take the ceilings if they are known, or have them found."""
        wanted = self.wanted
        if wanted is None:
            return
        self.found = self.model.ask(wanted, self.device)
        if self.found is None:
            self.progress.setValue(0)
            self.progress.show()
            short = self.model.is_counted(wanted)
            what = f"Compiling for {self.device.name} …" if short else "Counting the launch …"
            self.caption.setText(what)
            self.model.place(self.runs(), count=False)
        else:
            self.progress.hide()
            self.model.place(self.runs())
            self._say_headline(self.found)

    def _say_headline(self, found: Ceilings) -> None:
        """Which ceiling binds, and how far the runs are placed."""
        self.caption.setText(f"{scene.headline(found)} {self.model.placing_text()}".rstrip())

    def runs(self) -> tuple[scene.Run, ...]:
        """The measured runs of the chosen size on the chosen device."""
        wanted, size = self.wanted, self.n
        if size is None and wanted is not None:
            sizes = {v for k, v in wanted.parameters.items() if k in ("m", "n", "k")}
            size = sizes.pop() if len(sizes) == 1 else None
        return self.model.runs(size, self.device)

    def _run(self, runs: tuple[scene.Run, ...]) -> scene.Run | None:
        wanted = self.wanted
        if wanted is None or not wanted.rung or wanted.source is not None:
            return None
        return scene.run_of(runs, wanted.rung, wanted.parameters)

    def _draw(self) -> None:
        self._again = True
        if self.isVisible() and not self.pieces.busy:  # what is under way ends with it
            self.pieces.start(self._drawing())

    def catching_up(self) -> Steps:
        """Show what changed, and what was found, while this was hidden."""
        yield from super().catching_up()
        if self._again:
            yield from self._drawing()

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what was found while this was hidden, where nobody has done so before."""
        super().showEvent(event)
        if self._again:
            self._draw()

    def _drawing(self) -> Steps:
        """Draw what is known, in several events and painted as one."""
        if self.isVisible():
            self._still.hold([self.window()])
        try:
            self._again = True
            while self._again:
                self._again = False
                yield from self._drawing_parts()
        finally:
            self._still.release()

    def _drawing_parts(self) -> Steps:
        runs = self.runs()
        if self.found is not None:
            self._say_headline(self.found)
        run = self._run(runs)
        marks = roofline.marks(runs, self.model.intensities, run)
        rows = scene.rows(self.found) if self.found is not None else ()
        frame = roofline.roofline(self.found, self.device, marks)
        chains = roofline.chains(marks, self._ladder)
        yield
        yield from self.plot.showing(frame, rows, marks, chains)
        notes = []
        if self.found is not None:
            counts = self.found.counts
            notes = [scene.spaced(n) for n in (scene.left_out(self.found), counts.note) if n]
        yield from self.list.showing(rows, run.gflops if run else None, notes)
        self._explain(run)

    def _explain(self, run: scene.Run | None) -> None:
        found = self.found
        if found is None:
            self.against.setText("")
            self.transfers.setText("")
            return
        text = scene.measured(found, run) if run is not None else scene.unmeasured(found)
        self.against.setText(text)
        self.transfers.setText(scene.transfers(found.counts))
        self.transfers.setToolTip(scene.exact_transfers(found.counts))

    # ---- what happens

    def _on_failure(self, error: str) -> None:
        self.progress.hide()
        self.found = None
        self.caption.setText(error)
        self._draw()

    def _offer_devices(self) -> None:
        """Fill the chooser: this machine's GPUs first, then the table."""
        chosen, live = self.device_box.currentData(), self.model.live
        self.device_box.blockSignals(True)
        self.device_box.clear()
        for key, device in live.items():
            self.device_box.addItem(f"{device.name} (this machine)", key)
        for device in load_devices():
            self.device_box.addItem(device.name, device.name)
        names = [r.device.name for r in self.model.recorded]
        first = next(iter(live), None) or work.choose_device((), names)
        kept = chosen if chosen is not None and not live else first
        self.device_box.setCurrentIndex(max(0, self.device_box.findData(kept)))
        self.device_box.blockSignals(False)
        if chosen is not None:
            self._ask()

    def _choose_run(self, run: scene.Run) -> None:
        self._show_other(Configuration(run.rung, dict(run.parameters)))

    def _choose_ceiling(self, name: str) -> None:
        self.list.chosen = self.plot.chosen = "" if name == self.list.chosen else name
        self._draw()

    def _leave_run(self) -> None:
        """Back from a run that was chosen in the plot, to the configured launch."""
        self._show_other(None)

    def _show_other(self, launch: Configuration | None) -> None:
        self._other = launch
        self._name_wanted()
        self._ask()

    def shut_down(self) -> None:
        """End the work and wait for it."""
        super().shut_down()
        self._later.stop()
        self.model.close()

    # ---- building

    def building(self) -> Steps:
        """Make the page, and have it work."""
        yield from super().building()
        self._connect()
        self._offer_devices()
        self._say("")
        yield PAUSE
        yield from self.plot.drawing()

    def _connect(self) -> None:
        self.model.answered.connect(self._ask)
        self.model.failed.connect(self._on_failure)
        self.model.progressed.connect(lambda part: self.progress.setValue(round(100 * part)))
        self.model.placed.connect(self._later.start)  # one run after another
        self.model.devices_found.connect(self._offer_devices)
        self.back.clicked.connect(self._leave_run)
        self.size_box.currentTextChanged.connect(lambda _: self._leave_run())
        self.device_box.currentIndexChanged.connect(lambda _: self._ask())
        self.plot.run_chosen.connect(self._choose_run)
        self.plot.ceiling_chosen.connect(self._choose_ceiling)
        self.plot.hovered.connect(self._say)
        self.list.ceiling_chosen.connect(self._choose_ceiling)

    def _say(self, text: str) -> None:
        self.hover.setText(text or "Point at a ceiling or a measured run; click a run to see its "
                           "ceilings.")  # fmt: skip
