"""The occupancy page: how many blocks an SM holds, what limits it, and what a change would do."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer

from core.models.capability import Capability, load_capabilities
from core.models.devices import load_devices
from core.models.occupancy import Resources, occupancy
from gui.frames.pieces import Pieces, Steps
from gui.frames.work import Worker
from gui.jobs import ceilings_work as work
from gui.scenes import occupancy as scene
from gui.scenes.bench_measured import parameters_text
from gui.views.occupancy_parts import OccupancyParts

if TYPE_CHECKING:
    from core.ladder import Ladder
    from gui.scenes.selection import Configuration
    from gui.scenes.session import Session

log = logging.getLogger(__name__)


def prepare() -> None:
    """Read what the page shows first."""
    load_capabilities()
    load_devices()


class OccupancyView(OccupancyParts):
    """The page. A change of a field, or of a plot's line, is a what-if until the kernel is back."""

    WATCHES = frozenset({"configuration"})

    def __init__(self, session: Session, ladder: Ladder, *, now: bool = True) -> None:
        super().__init__(session, ladder)
        self.resources = Resources(256, 32)
        self._compiled: work.Compiled | None = None
        self._looked_for_gpus = False
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
            self._compiler.submit(work.resources_job(self.ladder, configuration, self.capability))
        else:
            self._take(self._compiled.resources)

    def _title(self, configuration: Configuration) -> str:
        if configuration.own is not None:
            return f"{configuration.own.name}: {configuration.own.kernel}"
        values = parameters_text(configuration.parameters)
        return f"{self.ladder[configuration.rung].title}: {values}"

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

    def building(self) -> Steps:
        """Make the page, and have it work."""
        yield from super().building()
        self.sm_box.currentIndexChanged.connect(lambda _: self._on_sm())
        self.example_box.currentIndexChanged.connect(lambda _: self._on_example())
        self.reset.clicked.connect(self._back)
        self.what_if.set_to.connect(self._on_field)
        self.what_if.dragged.connect(self._on_drag)
