"""The occupancy page: how many blocks an SM holds, what limits it, and what a change would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QModelIndex, QRectF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QSizePolicy,
    QSpinBox,
    QSplitter,
    QStackedWidget,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from core.devices.device_table import Capability, Device, load_devices
from core.devices.occupancy import Resources, occupancy
from core.gpu.result_files import load_recorded
from gui.background import Worker
from gui.jobs import ceilings_work as work
from gui.looks.labels_and_layouts import (
    GAP,
    MARGIN,
    fill,
    named,
    side_by_side,
    space_out,
    stacked,
    styled_label,
)
from gui.looks.theme import current_theme
from gui.scenes import occupancy_shown as scene
from gui.scenes.benchmark_results import launch_title
from gui.scenes.ceilings_shown import rate_text
from gui.scenes.numbers_and_sentences import grouped
from gui.scenes.occupancy_shown import TITLES, UNITS, Bar, Curve
from gui.views.buttons_and_choices import Segmented, push_button
from gui.views.captions_and_panels import Caption, Panel, Scrolled
from gui.views.page_stack import PageView
from gui.views.plots import PLOT_LINES, Chart, pg
from gui.views.question_in_views import Veil
from gui.views.subject_and_device import (
    Choice,
    DeviceBox,
    ScrolledPage,
    SizeBox,
    Subject,
    panels_in,
    share,
    simple_or_all,
    subject_row,
)
from gui.views.tables import RowModel, RowTable

if TYPE_CHECKING:
    from core.explain.explanations import Explanation
    from core.ladder import Ladder
    from core.launch import Workload
    from gui.scenes.configuration import Configuration
    from gui.scenes.session import Session


# Occupancy over one resource, with the present value as a line to drag.


_MARGIN = 0.04  # of the width on either side: a mark at the first value is whole


class OccupancyPlot(Chart):
    """`dragged(place)` is emitted while the line is moved, on the plot's scale."""

    dragged = Signal(float)

    def __init__(self, y_label: str = "") -> None:
        super().__init__()
        self._y_label = y_label
        self._curve: Curve | None = None
        self._line = pg.PlotCurveItem()
        self._now = pg.InfiniteLine(angle=90, movable=True)
        self._dot = pg.ScatterPlotItem(size=12)
        self._text = pg.TextItem(anchor=(0, 1))
        for item in (self._line, self._now, self._dot, self._text):
            self.addItem(item)
        self._now.setCursor(Qt.CursorShape.SizeHorCursor)
        self._now.sigDragged.connect(lambda line: self.dragged.emit(float(line.value())))
        self.getAxis("left").setTicks([[(v, str(v)) for v in (0, 25, 50, 75, 100)]])
        self.scene().sigMouseClicked.connect(self._on_click)
        self.draw()

    def load(self, curve: Curve) -> None:
        self._curve = curve
        title = TITLES[curve.axis]
        self.setAccessibleName(f"Occupancy over {title[:1].lower()}{title[1:]}")
        self.draw()

    def draw(self) -> None:
        theme = current_theme()
        unit = UNITS[self._curve.axis] if self._curve is not None else ""
        self.dress(self._y_label, unit, grid=0.15)
        self._line.setPen(pg.mkPen(theme.color("load"), width=2))
        self._line.setBrush(theme.color("load", 0.10))
        self._now.setPen(pg.mkPen(theme.color("store"), width=1.5, style=Qt.PenStyle.DashLine))
        self._now.setHoverPen(pg.mkPen(theme.color("store"), width=3))
        self._dot.setBrush(theme.color("store"))
        self._dot.setPen(pg.mkPen(theme.color("panel"), width=1.5))
        self._text.setColor(theme.color("text"))
        self._text.setFont(theme.font("small", bold=True))
        self._text.fill = pg.mkBrush(theme.color("panel", 0.8))
        if self._curve is not None:
            self._place(self._curve)

    def _place(self, curve: Curve) -> None:
        step = curve.x[1] - curve.x[0] if len(curve.x) > 1 else 1.0
        edges = [x - step / 2 for x in curve.x] + [curve.x[-1] + step / 2]
        self._line.setData(edges, list(curve.y), stepMode="center", fillLevel=0)
        self.setXRange(min(edges[0], curve.now), edges[-1], padding=_MARGIN)
        self.setYRange(0, 112, padding=0)
        self._now.setValue(curve.now)
        self._dot.setData([curve.now], [curve.now_y])
        middle = (edges[0] + edges[-1]) / 2
        self._text.setAnchor((0, 1) if curve.now < middle else (1, 1))
        self._text.setText(f" {curve.now_text} ")
        self._text.setPos(curve.now, min(curve.now_y + 1, 98))

    def _on_click(self, event: object) -> None:
        scene = event.scenePos()  # type: ignore[attr-defined]
        if self._curve is not None and self.box.sceneBoundingRect().contains(scene):
            self.dragged.emit(float(self.box.mapSceneToView(scene).x()))


# Occupancy over each of a block's resources: a field, and a plot whose line can be dragged.


RANGES: dict[scene.Axis, tuple[int, int, int]] = {
    "block_threads": (1, 1024, 32),
    "registers": (0, 255, 1),
    "shared_bytes": (0, 233_472, 1024),
}
"""The least and the most of a field, and its step."""


class ResourcePlots(QWidget):
    """`set_to(axis, value)`: a field was changed; `dragged(axis, place)`: a line is being moved."""

    set_to = Signal(str, int)
    dragged = Signal(str, float)

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[scene.Axis, QSpinBox] = {}
        self.plots: dict[scene.Axis, OccupancyPlot] = {}
        row = side_by_side(self, edges=(4, 0, MARGIN, 0))
        for axis in RANGES:
            label, field = styled_label(_name(axis), role="small"), self._field(axis)
            head = side_by_side(None, label, None, field, edges=(MARGIN, 0, 0, 0))
            plot = OccupancyPlot("occupancy, %" * (not self.plots))
            plot.dragged.connect(lambda place, axis=axis: self.dragged.emit(axis, place))
            self.plots[axis] = plot
            row.addLayout(stacked(None, head, (plot, 1), gap=2), 1)
        self._keep_room()

    def show_resources(self, capability: Capability, resources: Resources) -> None:
        for axis, field in self.fields.items():
            with QSignalBlocker(field):
                field.setValue(getattr(resources, axis))
            self.plots[axis].load(scene.curve_of(capability, resources, axis))

    def restyle(self) -> None:
        self._keep_room()
        for plot in self.plots.values():
            plot.draw()

    def _keep_room(self) -> None:
        """Leave the plots legible: where they have less room the page scrolls."""
        for plot in self.plots.values():
            plot.setMinimumHeight(PLOT_LINES * current_theme().spacing.control)

    def _field(self, axis: scene.Axis) -> QSpinBox:
        least, most, step = RANGES[axis]
        field = named(QSpinBox(), _name(axis))
        field.setRange(least, most)
        field.setSingleStep(step)
        field.setKeyboardTracking(False)
        field.setToolTip(f"What if: {_name(axis)[:1].lower()}{_name(axis)[1:]}")
        field.valueChanged.connect(lambda value: self.set_to.emit(axis, value))
        self.fields[axis] = field
        return field


def _name(axis: scene.Axis) -> str:
    return scene.TITLES[axis].replace("KiB", "bytes")


_MOST_SEGMENTS = 64  # beyond, blocks are too thin to be told apart


class SmView(QWidget):
    """A bar for each resource; what limits is framed."""

    def __init__(self) -> None:
        super().__init__()
        self._bars: tuple[Bar, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("What an SM holds")

    def load(self, bars: Sequence[Bar]) -> None:
        self._bars = tuple(bars)
        self.setAccessibleDescription("; ".join(f"{bar.title}: {bar.text}" for bar in bars))
        self.updateGeometry()
        self.update()

    def _row(self) -> int:
        return 2 * QFontMetrics(current_theme().font("small")).height() + 16

    def sizeHint(self) -> QSize:
        return QSize(300, max(1, len(self._bars)) * self._row() + 4)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for place, bar in enumerate(self._bars):
            self._paint(painter, bar, QRectF(2, place * self._row(), self.width() - 4, self._row()))

    def _paint(self, painter: QPainter, bar: Bar, box: QRectF) -> None:
        theme = current_theme()
        line = QFontMetrics(theme.font("small")).height()
        painter.setFont(theme.font("small", bold=bar.limits))
        painter.setPen(theme.color("conflict" if bar.limits else "text"))
        head = QRectF(box.left(), box.top() + 2, box.width(), line)
        limit = ": the limit" if bar.limits else ""
        painter.drawText(head, Qt.AlignmentFlag.AlignLeft, bar.title + limit)
        painter.setFont(theme.font("small"))
        painter.setPen(theme.color("text_dim"))
        painter.drawText(head, Qt.AlignmentFlag.AlignRight, bar.text)
        track = QRectF(box.left(), head.bottom() + 3, box.width(), line + 3)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("raised"))
        painter.drawRoundedRect(track, 2, 2)
        self._blocks(painter, bar, track)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(theme.color("conflict" if bar.limits else "border"))
        painter.drawRoundedRect(track.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2)

    def _blocks(self, painter: QPainter, bar: Bar, track: QRectF) -> None:
        theme = current_theme()
        if not (bar.blocks and bar.each):
            return
        width = track.width() * bar.each / bar.total
        if bar.blocks > _MOST_SEGMENTS or width < 2:
            painter.setBrush(theme.owner_color("block", 0))
            painter.drawRect(QRectF(track.left(), track.top(), width * bar.blocks, track.height()))
            return
        for block in range(bar.blocks):
            left = track.left() + block * width
            painter.setBrush(theme.owner_color("block", block, bar.blocks))
            piece = QRectF(left, track.top(), max(width - 1, 1), track.height())
            painter.drawRect(piece)
            if width > 26:
                painter.setPen(theme.color("text_dim"))
                painter.drawText(piece, Qt.AlignmentFlag.AlignCenter, str(block))
                painter.setPen(Qt.PenStyle.NoPen)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            place = event.pos().y() // self._row()
            if 0 <= place < len(self._bars):
                bar = self._bars[place]
                allowed = "any number of" if bar.allowed is None else str(bar.allowed)
                QToolTip.showText(
                    event.globalPos(), f"{bar.title} allow {allowed} blocks: {bar.text}", self
                )
                return True
        return super().event(event)


COLUMNS: Mapping[str, Callable[[Device], str]] = {
    "Device": lambda one: one.name,
    "CC": lambda one: "{}.{}".format(*one.compute_capability),
    "SMs": lambda one: str(one.sms),
    "Cores": lambda one: rate_text(one.cores),
    "MHz": lambda one: rate_text(one.boost_mhz),
    "GB/s": lambda one: rate_text(one.bandwidth_gbs),
    "FP32 GFLOPS": lambda one: rate_text(float(f"{one.peak_gflops:.4g}")),
    "Ridge FLOP/B": lambda one: f"{one.ridge:.1f}",
    "Tensor TFLOPS": lambda one: f"{one.tensor_gflops / 1e3:.4g}" if one.tensor_gflops else "–",
    "L2 MiB": lambda one: f"{one.l2_kib / 1024:.4g}" if one.l2_kib else "none",
    "Shared KiB": lambda one: str(one.shared_per_sm_kib),
}


class _Model(RowModel[Device]):
    """Devices, the first `live` of which are this machine's."""

    HEADS = tuple(COLUMNS)
    RIGHT = frozenset(range(1, len(HEADS)))

    def __init__(self) -> None:
        super().__init__()
        self.live = 0

    def text(self, row: Device, column: int) -> str:
        here = column == 0 and row in self.plain_rows[: self.live]
        return f"{row.name} (this machine)" if here else COLUMNS[self.HEADS[column]](row)

    def tip(self, row: Device) -> str:
        return f"{row.source}; {row.checked}."

    def color(self, row: Device, column: int) -> str:
        return "text" if column == 0 else "text_dim"


class DeviceTable(RowTable):
    """The table; `chosen(name)` is emitted when a row is selected."""

    chosen = Signal(str)

    def __init__(self) -> None:
        model = _Model()
        super().__init__(model, "Devices")
        self.rows = model
        self.selectionModel().currentRowChanged.connect(self._on_row)

    def load(self, devices: Sequence[Device], live: int = 0) -> None:
        self.rows.live = live
        self.rows.load(devices)
        self.fit()

    def _on_row(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(self.rows.plain_rows[index.row()].name)


# First-order counts of a launch: its threads and blocks, what a block loads and computes.


class FirstOrderList(Scrolled):
    """The figures; `caption` and `controls` are for the panel around it. A worker counts."""

    def __init__(self, ladder: Ladder) -> None:
        super().__init__(keys=True)
        self._ladder = ladder
        self._configuration: Configuration | None = None
        self.setAccessibleName("First-order figures")
        self.caption = Caption(role="dim")
        tip = "N of the launch that is counted"
        self.size_box = SizeBox(1024, "Size of the counted launch", tip)
        self.size_box.currentTextChanged.connect(lambda _: self._count())
        self.controls = (self.size_box.label, self.size_box)
        self._counter = Worker(self, "first order", self._on_counted, self._on_failure)

    def show_launch(self, configuration: Configuration) -> None:
        """Count a launch, at the chosen size if it is a rung's."""
        self._configuration = configuration
        self.size_box.offer(configuration.own is None)
        self._count()

    def _count(self) -> None:
        if self._configuration is None:
            return
        self.caption.setText("Counting the launch …")
        wanted = work.sized(self._ladder, self._configuration, self.size_box.n)
        self._counter.submit(work.first_order_job, self._ladder, wanted)

    def _on_counted(self, found: Any) -> None:
        body = QWidget()
        rows = QGridLayout(body)
        space_out(rows, gap=4, edges=(MARGIN, 2, MARGIN, GAP))
        rows.setColumnStretch(1, 1)
        rows.setHorizontalSpacing(10)
        figures = scene.first_order(found.counts, found.phases)
        for row, one in enumerate(figures):
            figure = styled_label(one.figure, role="figure")
            figure.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
            rows.addWidget(figure, row, 0)
            rows.addWidget(styled_label(one.text, role="dim", wrap=True), row, 1)
        rows.setRowStretch(len(figures), 1)
        self.replace(body)
        self.caption.setText(_title(found.counts.workload))

    def _on_failure(self, error: object) -> None:
        self.caption.setText(f"Not counted: {error}")


def _title(workload: Workload) -> str:
    values = ", ".join(f"{k} = {grouped(v)}" for k, v in workload.parameters.items())
    return f"{workload.title}: {values}, as written." if values else f"{workload.title}."


NEEDS: Mapping[str, scene.Axis] = MappingProxyType(
    {"threads": "block_threads", "registers": "registers", "shared": "shared_bytes"}
)
"""Settings of the session, and what they set of what a block takes."""
THIS_KERNEL = "This kernel, as compiled"
EXAMPLE_LETTERS = 20
FIRST = "H200"  # where the recorded results come from


class OccupancyView(PageView):
    """The page. A change of a field, or of a plot's line, is a what-if until the kernel is back."""

    WATCHES = frozenset({"configuration", "everything", "device", *NEEDS})

    def __init__(self, session: Session, ladder: Ladder) -> None:
        super().__init__(session)
        self.ladder = ladder
        self.resources = Resources(256, 32)
        self._compiled: work.Compiled | None = None
        self._compiler = Worker(self, "occupancy", self._on_compiled, self._on_failure)
        self._build()
        self.matters.setText(f"{scene.WHY_IT_MATTERS}\n\n{self._example()}")
        self.show_amount()
        self.sm_box.currentIndexChanged.connect(lambda _: self._on_sm())
        self.sm_box.found.connect(self._on_devices)
        self.example_box.currentIndexChanged.connect(lambda _: self._on_example())
        self.reset.clicked.connect(self._back)
        self.what_if.set_to.connect(self._on_field)
        self.what_if.dragged.connect(self._on_drag)

    # ---- what is shown

    @property
    def capability(self) -> Capability:
        return self.sm_box.capability

    @property
    def example(self) -> scene.Example | None:
        """The chosen example; None for the session's kernel."""
        place = self.example_box.currentIndex()
        return scene.EXAMPLES[place - 1] if place > 0 else None

    def refresh(self, names: frozenset[str]) -> None:
        configuration = self.session.configuration
        self.show_amount()
        self._show_cliff()
        if self.session.device:
            with QSignalBlocker(self.sm_box):
                self.sm_box.choose(self.session.device)
        if configuration is not None:
            if names & {"configuration", *NEEDS} and self.example is not None:
                with QSignalBlocker(self.example_box):
                    self.example_box.setCurrentIndex(0)
            if self.example is None:
                self.subject.setText(launch_title(self.ladder, configuration))
        self.when_painted(self._look)

    def _look(self) -> None:
        """Have the driver asked, once, the kernel compiled and the launch counted."""
        self.sm_box.look_for_gpus()
        configuration = self.session.configuration
        if configuration is None:
            return
        if self.example is None:
            self._compile(configuration)
        self.first.show_launch(configuration)

    def _compile(self, configuration: Configuration) -> None:
        self.subject.setText(launch_title(self.ladder, configuration))
        key = work.key_of(configuration)
        if self._compiled is None or (self._compiled.key, self._compiled.capability) != (
            key,
            self.capability.name,
        ):
            self.caption.setText("Compiling the kernel …")
            self._compiler.submit(work.resources_job, self.ladder, configuration, self.capability)
        else:
            self._compiler.cancel()  # which may be at a kernel that was shown in between
            self._take_needs(self._compiled.resources)

    def show_resources(self) -> None:
        capability = self.capability
        found = occupancy(capability, self.resources)
        name = scene.sm_name(capability, self.sm_box.device_name)
        self.caption.setText(scene.sentence(found, name))
        self.sm.load(scene.bars(found))
        note = self._compiled.note if self._compiled is not None and self.example is None else ""
        parts = (scene.limit_text(found), scene.given_text(found), note)
        self.limits.setText(" ".join(part for part in parts if part))
        self.cliff.setText(scene.cliff(found))
        self._show_cliff()
        changed = self._compiled is not None and self.resources != self._compiled.resources
        self.reset.setEnabled(self.example is not None or changed)
        self.session.tell(frozenset({"explained"}))
        self.what_if.show_resources(capability, self.resources)

    def _show_cliff(self) -> None:
        """The next step down, unless a question asks for it."""
        self.cliff.setVisible(bool(self.cliff.text()) and not self.session.hides("occupancy.next"))

    def explanation(self) -> Explanation:
        found, hides = occupancy(self.capability, self.resources), self.session.hides
        name = scene.sm_name(self.capability, self.sm_box.device_name)
        step = "" if hides("occupancy.next") else scene.cliff(found)
        told = not hides("occupancy.matters")
        return scene.explanation(found, name, step, self._example() if told else None)

    def _example(self) -> str:
        return scene.counter_example(load_recorded(), self.ladder)

    # ---- what the user does

    def _take(self, resources: Resources) -> None:
        self.resources = resources
        self.show_resources()

    def _take_needs(self, resources: Resources) -> None:
        asked = {axis: getattr(self.session, name) for name, axis in NEEDS.items()}
        self._take(replace(resources, **{a: v for a, v in asked.items() if v is not None}))

    def _on_field(self, axis: scene.Axis, value: int) -> None:
        self._set(replace(self.resources, **{axis: value}))

    def _on_drag(self, axis: scene.Axis, place: float) -> None:
        moved = scene.moved(self.capability, self.resources, axis, place)
        QTimer.singleShot(0, lambda: self._set(moved))

    def _set(self, resources: Resources) -> None:
        """Show a what-if; of the session's kernel links have it too."""
        self._take(resources)
        if self.example is None and self._compiled is not None:
            own = self._compiled.resources
            values = {name: (getattr(resources, a), getattr(own, a)) for name, a in NEEDS.items()}
            self.session.update(
                **{n: None if now == as_is else now for n, (now, as_is) in values.items()}
            )

    def _on_example(self) -> None:
        example = self.example
        if example is None:
            self._back()
            return
        with QSignalBlocker(self.sm_box):
            self.sm_box.setCurrentIndex(self.sm_box.findData(example.sm))
        self.subject.setText("The worked example of Kirk and Hwu's course")
        self._take(example.resources)

    def _on_sm(self) -> None:
        self.session.device = self.sm_box.device_name or self.capability.name
        configuration = self.session.configuration
        if self.example is None and configuration is not None:
            self._compile(configuration)
        else:
            self.show_resources()

    def _back(self) -> None:
        with QSignalBlocker(self.example_box):
            self.example_box.setCurrentIndex(0)
        if not self.capability.major:
            self.sm_box.setCurrentIndex(0)
        self.session.update(**dict.fromkeys(NEEDS))
        configuration = self.session.configuration
        if configuration is not None:
            self._compiled = None
            self._compile(configuration)

    # ---- what happens

    def _on_compiled(self, compiled: Any) -> None:
        self._compiled = compiled
        if self.example is None:
            self._take_needs(compiled.resources)

    def _on_failure(self, error: object) -> None:
        self._compiled = None
        self.show_resources()
        self.caption.setText(f"The kernel's registers are not known: {error}")

    def _on_devices(self) -> None:
        live = self.sm_box.live
        self.table.load((*live, *load_devices()), len(live))
        self._on_sm()

    # ---- building

    def _build(self) -> None:
        self.caption = Caption("Choose a kernel.")
        self.subject = Subject()
        self._make_choices()
        # They are in their places before they are filled: Qt styles what is put in, each by itself.
        splitter = panels_in(Qt.Orientation.Vertical)
        fill(self, ScrolledPage(splitter))
        choices = (self.reset, self.example_box, self.sm_box)
        upper = stacked(None, subject_row(self.subject, choices), edges=(0, 4, 0, GAP))
        splitter.addWidget(self._panel(upper))
        self.what_if = ResourcePlots()
        self.fields, self.plots = self.what_if.fields, self.what_if.plots
        plots = tuple(self.plots.values())
        self.veils.append(Veil(self.session, "occupancy", self.what_if, plots))
        upper.addWidget(self.what_if, 1)
        self._build_lower(splitter)
        share(splitter, (3, 2), (420, 300))

    def restyle(self) -> None:
        self.what_if.restyle()
        self.sm.updateGeometry()
        self.sm.update()
        self.table.fit()

    def _panel(self, upper: QVBoxLayout) -> Panel:
        body, controls = QWidget(), [simple_or_all(self.session)]
        body.setLayout(upper)
        panel = Panel("Occupancy", body, caption=self.caption, controls=controls, flush=True)
        self.veils = [Veil(self.session, "occupancy", panel, (self.caption,))]
        return panel

    def _make_choices(self) -> None:
        tip = "Whose SM is filled; the kernel is compiled for it"
        self.sm_box = DeviceBox("Device or SM", tip, FIRST, capabilities=True)
        self.sm_box.offer()
        tip = "Whose threads, registers and shared memory are placed"
        self.example_box = Choice("Kernel or worked example", tip, EXAMPLE_LETTERS)
        self.example_box.addItems([THIS_KERNEL, *(e.title for e in scene.EXAMPLES)])
        tip = "Leave the what-if: the registers and shared memory of the kernel"
        self.reset = push_button("As compiled", tip)

    def _build_lower(self, splitter: QSplitter) -> None:
        row = panels_in(Qt.Orientation.Horizontal)
        splitter.addWidget(row)
        self.sm = SmView()
        self.limits = styled_label(role="dim", wrap=True)
        self.cliff = styled_label(role="dim", wrap=True)
        inner = (self.sm, self.limits, self.cliff)
        filled = named(_scrolled(*inner), "One SM, filled, and what limits it")
        self.veils.append(Veil(self.session, "occupancy", filled, inner))
        self.table = DeviceTable()
        self.table.chosen.connect(self.sm_box.choose)
        self.table.load(tuple(load_devices()))
        stack = QStackedWidget()
        stack.addWidget(filled)
        stack.addWidget(self.table)
        self.shown = Segmented(
            sm=("One SM", "What one SM holds"), devices=("Devices", "The table of devices")
        )
        self.shown.chosen.connect(lambda key: stack.setCurrentIndex(int(key == "devices")))
        row.addWidget(Panel("What an SM holds", stack, controls=[self.shown], flush=True))
        self.first = first = FirstOrderList(self.ladder)
        self.counts = Panel(
            "First-order counts", first, caption=first.caption, controls=first.controls, flush=True
        )
        told = (first, first.caption)
        self.veils.append(Veil(self.session, "counters", self.counts, told))
        self.matters = styled_label(wrap=True)
        self.matters.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        why = named(_scrolled(self.matters), "Why occupancy matters")
        self.reasons = Panel("Why occupancy matters", why, flush=True)
        self.veils.append(Veil(self.session, "occupancy.matters", self.reasons, (self.matters,)))
        # Both share a place, of which Simple and All show one.
        place = QStackedWidget()
        for panel in (self.reasons, self.counts):
            place.addWidget(panel)
        self.beside = place
        row.addWidget(place)
        share(row, (3, 2), (640, 360))

    def show_amount(self) -> None:
        self.beside.setCurrentWidget(self.counts if self.session.everything else self.reasons)

    def pictures(self) -> dict[str, QWidget]:
        return {
            "Occupancy what-ifs": self.what_if,
            "One SM": self.sm,
            "First-order counts": self.first,
            "Devices": self.table,
        }


def _scrolled(*widgets: QWidget) -> Scrolled:
    filled = QWidget()
    stacked(filled, *widgets, None, edges=(MARGIN, 0, MARGIN, GAP))
    return Scrolled(filled, keys=True)
