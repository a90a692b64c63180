"""The ceilings page: a roofline, every ceiling of the chosen launch, and measured runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRectF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QFrame, QLabel, QMenu, QProgressBar, QSizePolicy, QWidget

from gui.background import Worker, sentence_of
from gui.jobs import ceilings_work as work
from gui.jobs.ceilings_work import CeilingsModel
from gui.looks.labels_and_layouts import (
    GAP,
    MARGIN,
    fill,
    named,
    side_by_side,
    stacked,
    styled_label,
)
from gui.looks.theme import current_theme
from gui.scenes import ceilings_shown as scene
from gui.scenes import roofline
from gui.scenes.benchmark_results import launch_title
from gui.scenes.ceilings_shown import LegendKey, Row
from gui.scenes.configuration import Configuration
from gui.scenes.numbers_and_sentences import thin_spaced
from gui.views.buttons_and_choices import action_button
from gui.views.captions_and_panels import Caption, Panel, Scrolled
from gui.views.page_stack import PageView
from gui.views.question_in_views import Veil
from gui.views.roofline_plot import RooflinePlot
from gui.views.subject_and_device import (
    DeviceBox,
    LeastHigh,
    SizeBox,
    Subject,
    panels_in,
    share,
    simple_or_all,
    subject_row,
)

if TYPE_CHECKING:
    from core.devices.device_table import Device
    from core.explain.explanations import Explanation
    from core.gpu.benchmark_result import BenchmarkResult
    from core.ladder import Ladder
    from core.models.ceilings import Ceilings
    from gui.scenes.session import Session


EDGE = 3  # pixels


class _Bar(QWidget):
    """The rate on a logarithmic scale, with a mark where the launch was measured."""

    def __init__(self, share: float, mark: float | None, color: str) -> None:
        super().__init__()
        self._share, self._mark, self._color = share, mark, color
        self.setFixedHeight(8)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter, width = current_theme(), QPainter(self), self.width()
        painter.fillRect(QRectF(0, 2, width, 4), theme.color("raised"))
        painter.fillRect(QRectF(0, 2, width * self._share, 4), theme.color(self._color))
        if self._mark is not None:
            mark = QRectF(min(width * self._mark, width - 3), 0, 3, 8)
            painter.fillRect(mark, theme.color("store"))


class _Formula(QLabel):
    """The calculation in few digits; copied, it has all of them."""

    def __init__(self, row: Row) -> None:
        super().__init__(row.formula)
        self._exact = row.exact
        self.setProperty("role", "dim")
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def copy(self) -> None:
        QGuiApplication.clipboard().setText(self._exact)

    def event(self, event: QEvent) -> bool:
        """Have Ctrl+C before the text's own."""
        keys = (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress)
        copies = event.type() in keys and isinstance(event, QKeyEvent)
        if not (copies and event.matches(QKeySequence.StandardKey.Copy)):  # type: ignore[attr-defined]
            return super().event(event)
        if event.type() == QEvent.Type.KeyPress:
            self.copy()
        event.accept()
        return True

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Copy with exact figures", self.copy)
        menu.popup(event.globalPos())


class _Card(QFrame):
    """One ceiling. A click chooses it."""

    def __init__(self, row: Row, share: float, mark: float | None, owner: CeilingList) -> None:
        super().__init__()
        self._row, self._owner = row, owner
        binding, chosen = row.state == "binding", row.name == owner.chosen
        self._stands_out = "conflict" if binding else "load" if chosen else ""
        title = styled_label(row.title, role="figure" if binding else "caption", wrap=True)
        title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        note = [styled_label(row.note, role="small")] if row.note else []
        head = side_by_side(None, (title, 1), *note, styled_label(row.rate, role="figure"), gap=6)
        bar, edges = _Bar(share, mark, "conflict" if binding else "load"), (EDGE + 10, 4, MARGIN, 5)
        layout = stacked(self, head, bar, _Formula(row), gap=2, edges=edges)
        if chosen or row.state != "above":
            layout.addWidget(styled_label(row.remark, role="small", wrap=True))
        self.setAccessibleName(f"{row.title}: {row.rate}. {row.note}")
        of_peak = f"{row.of_peak:.2%}".replace("%", "\u202f%")
        self.setToolTip(f"{row.exact}\n{of_peak} of the FP32 peak. Assumes {row.assumes}.")

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = current_theme(), QPainter(self)
        if self._stands_out:
            painter.fillRect(self.rect(), theme.tint(self._stands_out, 0.07))
        painter.fillRect(0, 0, EDGE, self.height(), theme.color(self._stands_out or "border"))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._owner.ceiling_chosen.emit(self._row.name)


Shown = tuple[tuple[Row, ...], float | None, tuple[str, ...], str]
"""Ceilings, the measured rate, remarks, and the name of the one that is unfolded."""


class CeilingList(Scrolled):
    """Cards, the lowest ceiling first. `ceiling_chosen(name)` is emitted when one is clicked."""

    ceiling_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__(keys=True)
        self.setAccessibleName("Ceilings")
        self.chosen = ""
        self._shown: Shown = ((), None, (), "")
        self._drawn: Shown | None = None

    def sizeHint(self) -> QSize:
        return QSize(380, 400)

    def show_ceilings(
        self, rows: Sequence[Row], measured: float | None, notes: Sequence[str]
    ) -> None:
        self._shown = (tuple(rows), measured, tuple(notes), self.chosen)
        if self._shown != self._drawn:
            self.draw()

    def draw(self) -> None:
        self.replace(self._cards())
        self._drawn = self._shown

    def _cards(self) -> QWidget:
        rows, measured, notes, _ = self._shown
        body = QWidget()
        share = _scale([row.gflops for row in rows], measured)
        mark = share(measured) if measured else None
        cards = [_Card(row, share(row.gflops), mark, self) for row in rows]
        labels = [styled_label(note, role="small", wrap=True) for note in notes]
        for label in labels:
            label.setContentsMargins(12, 4, 12, 0)
        stacked(body, *cards, *labels, None, gap=7, edges=(8, 2, 0, 8))
        return body


def _scale(rates: Sequence[float], measured: float | None) -> Callable[[float], float]:
    """How far a rate reaches on a logarithmic scale of them all, 0..1."""
    low = math.log10(min([*rates, *([measured] if measured else [])], default=1.0)) - 0.5
    high = math.log10(max(rates, default=10.0))
    return lambda gflops: (math.log10(gflops) - low) / max(high - low, 1e-9)


DEFAULT_SIZE = 4096
TOGETHER_MS = 250  # runs whose places are found in this time are drawn together
ROOF_LINES = 7  # heights of a control: what is always in sight of the roofline


class CeilingsView(PageView):
    """The page. `results` gives what was measured in this session, if anything was."""

    WATCHES = frozenset({"configuration", "everything", "device", "size", "ceiling"})

    def __init__(
        self,
        session: Session,
        ladder: Ladder,
        results: Callable[[], Iterable[BenchmarkResult]] = tuple,
    ) -> None:
        super().__init__(session)
        self._ladder = ladder
        self.model = CeilingsModel(ladder, results, self)
        self._sizer = Worker(self, "full size", self._show_other, self._on_no_size)
        self._other: Configuration | None = None  # a run chosen in the plot, not the window's
        self.found: Ceilings | None = None
        self._later = QTimer(self, singleShot=True, interval=TOGETHER_MS)
        self._later.timeout.connect(self._draw)
        self._again = False
        """Whether something came that was not drawn yet."""
        self._keys: tuple[LegendKey, ...] = ()
        self._pointed = ""
        self._make_parts()
        self._lay_out()
        self._connect()
        self.device_box.offer()
        self._say("")
        self.plot.draw()

    # ---- what is shown

    @property
    def device(self) -> Device:
        return self.device_box.device

    @property
    def wanted(self) -> Configuration | None:
        if self._other is not None:
            return self._other
        configuration = self.session.configuration
        if configuration is None:
            return None
        return work.sized(self._ladder, configuration, self.size_box.n)

    def refresh(self, names: frozenset[str]) -> None:
        self.when_painted(self.device_box.look_for_gpus)
        if names & {"configuration", "size"}:
            self._other = None
            self._sizer.cancel()
        self._follow_settings()
        self._name_wanted()
        self._find()
        self._draw_parts()

    def _follow_settings(self) -> None:
        session = self.session
        if session.device:
            with QSignalBlocker(self.device_box):
                self.device_box.choose(session.device)
        if session.size is not None:
            self.size_box.show_number(session.size)
        self.list.chosen = self.plot.chosen = session.ceiling

    def _take_device(self) -> None:
        """The device was chosen here: the other page and links follow."""
        self.session.device = self.device.name
        self._ask()

    def _take_size(self) -> None:
        self.session.size = self.size_box.n or 0
        self._leave_run()

    def _name_wanted(self) -> None:
        wanted = self.wanted
        if wanted is None:
            return
        self.size_box.offer(wanted.own is None)
        self.back.setVisible(self._other is not None)
        is_source = wanted.own is not None and not wanted.own.path.endswith(".ptx")
        self.full_size.setVisible(is_source and self._other is None)
        self.subject.setText(launch_title(self._ladder, wanted))

    def _ask(self) -> None:
        self._find()
        self._draw()

    def _find(self) -> None:
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
        """Which ceiling binds; how far the runs are placed stands below, and moves nothing."""
        self.caption.setText(scene.headline(found))
        self._say(self._pointed)

    def runs(self) -> tuple[scene.Run, ...]:
        wanted, size = self.wanted, self.size_box.n
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
        """Draw what is known, now or when this is seen."""
        self._again = True
        if self.isVisible():
            self._draw_parts()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._again:
            self._draw()

    def _draw_parts(self) -> None:
        self._again = False
        runs = self.runs()
        if self.found is not None:
            self._say_headline(self.found)
        run = self._run(runs)
        marks = roofline.marks(runs, self.model.intensities, run)
        rows = scene.rows(self.found) if self.found is not None else ()
        everything = self.session.everything
        if not everything:
            wanted = self.wanted
            marks = roofline.simple(marks, self._ladder, wanted.rung if wanted else "")
            rows = scene.simple(rows)
        names = [row.name for row in rows]
        frame = roofline.roofline(self.found, self.device, marks, names)
        chains = roofline.chains(marks, self._ladder)
        self.plot.joins = everything
        self.show_legend(
            scene.legend(
                measured=any(mark.chosen for mark in marks),
                chains=everything,
                fell=any(mark.run.fell for mark in marks),
                few=not everything,
            )
        )
        self.plot.show_roofline(frame, rows, marks, chains)
        notes = []
        if self.found is not None:
            counts = self.found.counts
            told = (scene.left_out(self.found), counts.note) if everything else (counts.note,)
            notes = [thin_spaced(note) for note in told if note]
        self.list.show_ceilings(rows, run.gflops if run else None, notes)
        self._explain(run)

    def _explain(self, run: scene.Run | None) -> None:
        found = self.found
        if found is None:
            self.against.setText("")
            self.transfers.setText("")
            return
        self.against.setText(self._stands(found, run))
        self.session.tell(frozenset({"explained"}))
        self.transfers.setText(scene.transfers(found.counts))
        self.transfers.setToolTip(scene.exact_transfers(found.counts))

    def _stands(self, found: Ceilings, run: scene.Run | None) -> str:
        if run is not None:
            return scene.measured(found, run)
        wanted = self.wanted
        rung = wanted.rung if wanted is not None else ""
        mine, every = (
            [one for one in runs if one.rung == rung]
            for runs in (self.runs(), self.model.runs(None, self.device))
        )
        return scene.unmeasured(found, mine, every)

    def explanation(self) -> Explanation | None:
        wanted, found = self.wanted, self.found
        if wanted is None or found is None:
            return None
        run = self._run(self.runs())
        title = launch_title(self._ladder, wanted)
        return scene.explanation(found, title, self._stands(found, run))

    # ---- what happens

    def _on_failure(self, error: str) -> None:
        self.progress.hide()
        self.found = None
        self.caption.setText(error)
        self._draw()

    def _on_no_size(self, error: object) -> None:
        self.caption.setText(sentence_of(error, "The sizes could not be found"))

    def _choose_run(self, run: scene.Run) -> None:
        self._show_other(Configuration(run.rung, dict(run.parameters)))

    def _ask_for_full_size(self) -> None:
        if self.session.configuration is not None:
            self.caption.setText("Looking for the sizes that the program launches it with …")
            self._sizer.submit(work.full_size_job, self.session.configuration)

    def _choose_ceiling(self, name: str) -> None:
        self.session.ceiling = "" if name == self.list.chosen else name

    def _leave_run(self) -> None:
        """Back from a run that was chosen in the plot, to the configured launch."""
        self._show_other(None)

    def _show_other(self, launch: Configuration | None) -> None:
        self._other = launch
        self._name_wanted()
        self._ask()

    # ---- building

    def restyle(self) -> None:
        self._keep_room()
        self.plot.draw()
        self.show_legend(self._keys)
        self.list.draw()

    def _make_parts(self) -> None:
        self.caption = Caption("Choose a kernel.")
        self.subject = Subject()
        tip = "Leave the other launch, that of the run that was clicked or of the full size"
        self.back = action_button("Back to the configured launch", tip)
        self.back.hide()
        tip = "The sizes that the program launches it with, or large ones where it says none"
        self.full_size = action_button("At full size", tip)
        self.full_size.hide()
        self.progress = QProgressBar(textVisible=False)
        self.progress.setFixedHeight(3)
        self.progress.hide()
        tip = "N of the launch; the left column sets block and tile"
        self.size_box = SizeBox(DEFAULT_SIZE, "Size of the launch", tip)
        first = work.choose_device(r.device.name for r in self.model.recorded)
        tip = "Whose figures the ceilings are computed with"
        self.device_box = DeviceBox("Device", tip, first)
        self.plot = RooflinePlot()
        self.list = CeilingList()
        self.hover = Caption(role="dim")
        self.legend = named(styled_label(role="small", wrap=True), "Legend of the roofline")
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.against = styled_label(role="caption", wrap=True)
        self.transfers = styled_label(role="dim", wrap=True)
        for label in (self.against, self.transfers):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def _lay_out(self) -> None:
        choices = (self.back, self.full_size, self.size_box.label, self.size_box, self.device_box)
        controls = subject_row(self.subject, choices, below=2)
        upper, words = LeastHigh(), (self.legend, self.hover, self.against, self.transfers)
        below = stacked(None, *words, gap=4, edges=(MARGIN, 0, MARGIN, 0))
        parts = (controls, self.progress, (self.plot, 1), below)
        stacked(upper, *parts, gap=4, edges=(0, 4, 0, GAP))
        splitter = panels_in(Qt.Orientation.Horizontal)
        fill(self, splitter)
        amount = [simple_or_all(self.session)]
        shown = Scrolled(upper)
        plot = Panel("Roofline", shown, caption=self.caption, controls=amount, flush=True)
        cards = Panel("Ceilings, the lowest first", self.list, flush=True)
        splitter.addWidget(plot)
        splitter.addWidget(cards)
        self.veils = [
            Veil(self.session, "ceilings", upper, (self.plot, *words)),
            Veil(self.session, "ceilings", plot, (self.caption,)),
            Veil(self.session, "ceilings", cards, (self.list,)),
        ]
        share(splitter, (3, 2), (640, 420))
        self._keep_room()

    def _keep_room(self) -> None:
        """Leave the roofline legible: where it has less room, it scrolls with the words below."""
        self.plot.setMinimumHeight(ROOF_LINES * current_theme().spacing.control)

    def show_legend(self, keys: Sequence[LegendKey]) -> None:
        self._keys = tuple(keys)
        theme = current_theme()
        self.legend.setText(
            " &nbsp; ".join(
                f'<span style="color:{theme.color(key.color).name()}">{key.sign}</span>\u00a0'
                f"{key.words}"
                for key in keys
            )
        )

    def pictures(self) -> dict[str, QWidget]:
        return {"Roofline": self.plot, "Ceilings": self.list}

    def _connect(self) -> None:
        self.model.answered.connect(self._ask)
        self.model.failed.connect(self._on_failure)
        self.model.progressed.connect(lambda part: self.progress.setValue(round(100 * part)))
        self.model.placed.connect(self._later.start)  # one run after another
        self.device_box.found.connect(self._ask)
        self.back.clicked.connect(self._leave_run)
        self.full_size.clicked.connect(self._ask_for_full_size)
        self.size_box.currentTextChanged.connect(lambda _: self._take_size())
        self.device_box.currentIndexChanged.connect(lambda _: self._take_device())
        self.plot.run_chosen.connect(self._choose_run)
        self.plot.ceiling_chosen.connect(self._choose_ceiling)
        self.plot.hovered.connect(self._say)
        self.list.ceiling_chosen.connect(self._choose_ceiling)

    def _say(self, text: str) -> None:
        """What is pointed at; nothing: how far the runs are placed, or what one can do."""
        self._pointed = text
        hint = "Point at a ceiling or a measured run; click a run to see its ceilings."
        self.hover.setText(text or self.model.placing_text() or hint)
