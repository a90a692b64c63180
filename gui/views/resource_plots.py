"""Occupancy over each of a block's resources: a field, and a plot whose line can be dragged."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSpinBox, QVBoxLayout, QWidget

from core.models.capability import Capability
from core.models.occupancy import Resources
from gui.frames.pieces import PAUSE, Steps
from gui.looks.theme import current_theme
from gui.scenes import occupancy as scene
from gui.views.occupancy_plot import OccupancyPlot

RANGES: dict[scene.Axis, tuple[int, int, int]] = {
    "block_threads": (1, 1024, 32),
    "registers": (0, 255, 1),
    "shared_bytes": (0, 233_472, 1024),
}
"""The least and the most of a field, and its step."""


class ResourcePlots(QWidget):
    """`set_to(axis, value)` when a field was changed, `dragged(axis, place)` while a line is moved.

    It is whole after `building`.
    """

    set_to = Signal(str, int)
    dragged = Signal(str, float)

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[scene.Axis, QSpinBox] = {}
        self.plots: dict[scene.Axis, OccupancyPlot] = {}

    def building(self) -> Steps:
        """Make the fields and plots, one by one."""
        space = current_theme().spacing
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 0, space.margin, 0)
        for axis in RANGES:
            head = QHBoxLayout()
            head.setContentsMargins(space.margin, 0, 0, 0)
            label = QLabel(_name(axis))
            label.setProperty("role", "small")
            head.addWidget(label)
            head.addStretch(1)
            head.addWidget(self._field(axis))
            part = QVBoxLayout()
            part.setSpacing(2)
            part.addLayout(head)
            row.addLayout(part, 1)
            yield PAUSE
            plot = OccupancyPlot("occupancy, %" * (not self.plots))
            plot.dragged.connect(lambda place, axis=axis: self.dragged.emit(axis, place))
            self.plots[axis] = plot
            yield PAUSE
            part.addWidget(plot, 1)
            yield PAUSE
            yield from plot.building()
            yield PAUSE

    def show_values(self, resources: Resources) -> None:
        """Have the fields say what a block takes."""
        for axis, field in self.fields.items():
            with QSignalBlocker(field):
                field.setValue(getattr(resources, axis))

    def showing(self, capability: Capability, resources: Resources) -> Steps:
        """Plot what other amounts of each resource would do on this SM."""
        for axis, plot in self.plots.items():
            curve = scene.curve_of(capability, resources, axis)
            yield
            plot.load(curve)
            yield

    def restyling(self) -> Steps:
        """Take up the theme's colours."""
        for plot in self.plots.values():
            plot.draw()
            yield

    def _field(self, axis: scene.Axis) -> QSpinBox:
        least, most, step = RANGES[axis]
        field = QSpinBox()
        field.setRange(least, most)
        field.setSingleStep(step)
        field.setKeyboardTracking(False)
        field.setAccessibleName(_name(axis))
        field.setToolTip(f"What if: {_name(axis)[:1].lower()}{_name(axis)[1:]}")
        field.valueChanged.connect(lambda value: self.set_to.emit(axis, value))
        self.fields[axis] = field
        return field


def _name(axis: scene.Axis) -> str:
    return scene.TITLES[axis].replace("KiB", "bytes")
