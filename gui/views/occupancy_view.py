"""The occupancy page: how many blocks an SM holds, what limits it, and what a change would do."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from core.errors import TilescopeError
from core.models.capability import Capability
from core.models.devices import load_devices
from core.models.occupancy import Resources, occupancy
from gui import ceilings_work as work
from gui.pieces import PAUSE, Pieces, Steps
from gui.scenes import occupancy as scene
from gui.scenes.bench_measured import parameters_text
from gui.theme import current_theme
from gui.views.base import Caption, Panel
from gui.views.device_table import DeviceTable
from gui.views.first_order import FirstOrderList
from gui.views.page_view import PageView
from gui.views.resource_plots import ResourcePlots
from gui.views.segmented import Segmented
from gui.views.sm_box import SmBox
from gui.views.sm_view import SmView
from gui.work import Worker

if TYPE_CHECKING:
    from core.ladder import Ladder
    from gui.scenes.selection import Configuration
    from gui.scenes.session import Session

THIS_KERNEL = "This kernel, as compiled"
SHORT = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
log = logging.getLogger(__name__)


class OccupancyView(PageView):
    """The page. A change of a field, or of a plot's line, is a what-if until the kernel is back."""

    WATCHES = frozenset({"configuration"})

    def __init__(self, session: Session, ladder: Ladder, *, now: bool = True) -> None:
        super().__init__(session)
        self._ladder = ladder
        self.resources = Resources(256, 32)
        self._compiled: work.Compiled | None = None
        self._looked_for_gpus = False
        self.first: FirstOrderList | None = None
        self._plots = Pieces(self)
        self._compiler = Worker(self, "occupancy")
        self._compiler.finished.connect(self._on_compiled)
        self._compiler.failed.connect(self._on_failure)
        self._driver = Worker(self, "devices")
        self._driver.finished.connect(self._on_devices)
        self._driver.failed.connect(lambda error: log.warning("%s", error))
        if now:
            self.build()

    # ---- what is shown

    @property
    def capability(self) -> Capability:
        """The SM that is filled."""
        return self.sm_box.capability

    @property
    def example(self) -> scene.Example | None:
        """The chosen example; None for the session's kernel."""
        place = self.example_box.currentIndex()
        return scene.EXAMPLES[place - 1] if place > 0 else None

    def refreshing(self, names: frozenset[str]) -> Steps:
        """Compile the configured kernel for the chosen SM, and count its first block."""
        configuration = self.session.configuration
        if configuration is not None:
            if "configuration" in names and self.example is not None:
                self.example_box.setCurrentIndex(0)
            if self.example is None:
                self.subject.setText(self._title(configuration))
            yield
        self.when_painted(self._look)

    def _look(self) -> None:
        """Have the driver asked, once, the kernel compiled and the launch counted."""
        if not self._looked_for_gpus:
            self._looked_for_gpus = True
            self._driver.submit(work.devices_job())
        configuration = self.session.configuration
        if configuration is None:
            return
        if self.example is None:
            self._compile(configuration)
        if self.first is not None:
            self.first.show_launch(configuration)

    def _compile(self, configuration: Configuration) -> None:
        self.subject.setText(self._title(configuration))
        key = work.key_of(configuration)
        if self._compiled is None or (self._compiled.key, self._compiled.capability) != (
            key, self.capability.name,
        ):  # fmt: skip
            self._compiler.submit(work.resources_job(self._ladder, configuration, self.capability))
        else:
            self._take(self._compiled.resources)

    def _title(self, configuration: Configuration) -> str:
        if configuration.own is not None:
            return f"{configuration.own.name}: {configuration.own.kernel}"
        values = parameters_text(configuration.parameters)
        return f"{self._ladder[configuration.rung].title}: {values}"

    def show_resources(self) -> None:
        """Show the present resources on the present SM; the plots follow in the next events."""
        capability = self.capability
        found = occupancy(capability, self.resources)
        name = scene.sm_name(capability, self.sm_box.device)
        self.caption.setText(scene.sentence(found, name))
        self.sm.load(scene.bars(found))
        note = self._compiled.note if self._compiled is not None and self.example is None else ""
        parts = (scene.limit_text(found), scene.cliff(found), note)
        self.limits.setText(" ".join(part for part in parts if part))
        changed = self._compiled is not None and self.resources != self._compiled.resources
        self.reset.setEnabled(self.example is not None or changed)
        self.what_if.show_values(self.resources)
        self._plots.start(self.what_if.showing(capability, self.resources))

    # ---- what the user does

    def _take(self, resources: Resources) -> None:
        self.resources = resources
        self.show_resources()

    def _on_field(self, axis: scene.Axis, value: int) -> None:
        self.resources = replace(self.resources, **{axis: value})
        self.show_resources()

    def _on_drag(self, axis: scene.Axis, place: float) -> None:
        self.resources = scene.moved(self.capability, self.resources, axis, place)
        QTimer.singleShot(0, self.show_resources)

    def _on_example(self) -> None:
        example = self.example
        if example is None:
            self._back()
            return
        self.sm_box.blockSignals(True)
        self.sm_box.setCurrentIndex(self.sm_box.findData(example.sm))
        self.sm_box.blockSignals(False)
        self.subject.setText("The worked example of Kirk and Hwu's course")
        self._take(example.resources)

    def _on_sm(self) -> None:
        configuration = self.session.configuration
        if self.example is None and configuration is not None:
            self._compile(configuration)
        else:
            self.show_resources()

    def _back(self) -> None:
        """The session's kernel again, on a real SM."""
        self.example_box.blockSignals(True)
        self.example_box.setCurrentIndex(0)
        self.example_box.blockSignals(False)
        if not self.capability.major:
            self.sm_box.setCurrentIndex(0)
        configuration = self.session.configuration
        if configuration is not None:
            self._compiled = None
            self._compile(configuration)

    # ---- what happens

    def _on_compiled(self, compiled: Any) -> None:
        self._compiled = compiled
        if self.example is None:
            self._take(compiled.resources)

    def _on_failure(self, error: object) -> None:
        if not isinstance(error, TilescopeError):
            log.error("compiling failed", exc_info=error if isinstance(error, Exception) else None)
        self.show_resources()
        self.caption.setText(f"The kernel's registers are not known: {error}")

    def _on_devices(self, devices: Any) -> None:
        live = tuple(devices)
        if live:
            self.sm_box.offer(live)
            self.table.load((*live, *load_devices()), len(live))
            self._on_sm()

    def finish(self) -> None:
        """Show at once what is being brought up to date."""
        super().finish()
        self._plots.finish()

    def shut_down(self) -> None:
        """End the work and wait for it."""
        super().shut_down()
        self._plots.stop()
        if self.first is not None:
            self.first.close_worker()
        for worker in (self._compiler, self._driver):
            worker.close()

    def restyling(self) -> Steps:
        """Take up the theme's colours."""
        yield from self.what_if.restyling()
        self.sm.updateGeometry()
        self.sm.update()
        yield
        self.table.fit()
        yield

    # ---- building

    def building(self) -> Steps:
        """Make the page."""
        self.caption = Caption("Choose a kernel.")
        self.subject = Caption()
        self.subject.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        self.subject.may_take(4)
        self._make_choices()
        yield PAUSE
        upper = self._upper()
        self.what_if = ResourcePlots()
        self.fields, self.plots = self.what_if.fields, self.what_if.plots
        self.what_if.set_to.connect(self._on_field)
        self.what_if.dragged.connect(self._on_drag)
        yield PAUSE
        yield from self.what_if.building()
        upper.addWidget(self.what_if, 1)
        yield PAUSE
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setHandleWidth(8)
        splitter.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(splitter)
        splitter.addWidget(self._panel(upper))
        yield PAUSE
        yield from self._building_lower(splitter)
        splitter.setStretchFactor(0, 3)
        splitter.setStretchFactor(1, 2)
        splitter.setSizes([420, 300])
        yield PAUSE

    def _panel(self, upper: QVBoxLayout) -> Panel:
        body = QWidget()
        body.setLayout(upper)
        return Panel("Occupancy", body, caption=self.caption, flush=True)

    def _make_choices(self) -> None:
        self.sm_box, self.example_box = SmBox(), QComboBox()
        self.example_box.setSizeAdjustPolicy(SHORT)
        self.example_box.setMinimumContentsLength(20)
        self.sm_box.currentIndexChanged.connect(lambda _: self._on_sm())
        self.example_box.addItems([THIS_KERNEL, *(e.title for e in scene.EXAMPLES)])
        self.example_box.setAccessibleName("Kernel or worked example")
        self.example_box.setToolTip("Whose threads, registers and shared memory are placed")
        self.example_box.currentIndexChanged.connect(lambda _: self._on_example())
        self.reset = QPushButton("As compiled")
        self.reset.setToolTip("Leave the what-if: the registers and shared memory of the kernel")
        self.reset.clicked.connect(self._back)

    def _upper(self) -> QVBoxLayout:
        space = current_theme().spacing
        column = QVBoxLayout()
        column.setContentsMargins(0, 4, 0, space.gap)
        controls = QHBoxLayout()
        controls.setContentsMargins(space.margin, 0, space.margin, 0)
        controls.setSpacing(space.gap)
        controls.addWidget(self.subject, 1)
        controls.addWidget(self.reset)
        controls.addWidget(self.example_box)
        controls.addWidget(self.sm_box)
        column.addLayout(controls)
        return column

    def _building_lower(self, splitter: QSplitter) -> Steps:
        row = QSplitter(Qt.Orientation.Horizontal)
        row.setHandleWidth(8)
        row.setChildrenCollapsible(False)
        splitter.addWidget(row)
        self.sm = SmView()
        self.limits = QLabel()
        self.limits.setProperty("role", "dim")
        self.limits.setWordWrap(True)
        filled = self._filled()
        yield PAUSE
        self.table = DeviceTable()
        self.table.chosen.connect(self.sm_box.choose)
        yield PAUSE
        self.table.load(tuple(load_devices()))
        yield PAUSE
        stack = QStackedWidget()
        stack.addWidget(filled)
        stack.addWidget(self.table)
        self.shown = Segmented(
            {"sm": "One SM", "devices": "Devices"},
            {"sm": "What one SM holds", "devices": "The table of devices"},
        )
        self.shown.chosen.connect(lambda key: stack.setCurrentIndex(int(key == "devices")))
        yield PAUSE
        row.addWidget(Panel("What an SM holds", stack, controls=[self.shown], flush=True))
        yield PAUSE
        self.first = first = FirstOrderList(self._ladder)
        yield PAUSE
        row.addWidget(
            Panel(
                "First-order counts", first, caption=first.caption,
                controls=first.controls, flush=True,
            )
        )  # fmt: skip
        row.setStretchFactor(0, 3)
        row.setStretchFactor(1, 2)
        row.setSizes([640, 360])

    def _filled(self) -> QScrollArea:
        """One SM, filled, and what limits it."""
        space = current_theme().spacing
        filled = QWidget()
        column = QVBoxLayout(filled)
        column.setContentsMargins(space.margin, 0, space.margin, space.gap)
        column.addWidget(self.sm)
        column.addWidget(self.limits)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(filled)
        scroll.viewport().setAutoFillBackground(False)
        filled.setAutoFillBackground(False)
        return scroll
