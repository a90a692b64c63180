"""What the occupancy page is made of: plots with fields, an SM that is filled, counts, devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from core.models.devices import load_devices
from gui.frames.pieces import PAUSE, Steps
from gui.looks.theme import current_theme
from gui.scenes import occupancy as scene
from gui.views.base import Caption, Panel
from gui.views.device_table import DeviceTable
from gui.views.first_order import FirstOrderList
from gui.views.page_parts import choice, fill, panels_in, share, subject_caption, subject_row
from gui.views.page_view import PageView
from gui.views.resource_plots import ResourcePlots
from gui.views.segmented import Segmented
from gui.views.sm_box import SmBox
from gui.views.sm_view import SmView

if TYPE_CHECKING:
    from core.ladder import Ladder
    from gui.scenes.session import Session

THIS_KERNEL = "This kernel, as compiled"
EXAMPLE_LETTERS = 20


class OccupancyParts(PageView):
    """The page's widgets in their places; a subclass has them do something."""

    def __init__(self, session: Session, ladder: Ladder) -> None:
        super().__init__(session)
        self.ladder = ladder
        self.first: FirstOrderList | None = None

    def restyling(self) -> Steps:
        """Take up the theme's colours."""
        yield from self.what_if.restyling()
        self.sm.updateGeometry()
        self.sm.update()
        yield
        yield from self.table.fitting()

    def building(self) -> Steps:
        """Make the page."""
        self.caption = Caption("Choose a kernel.")
        self.subject = subject_caption()
        yield PAUSE
        self._make_choices()
        yield PAUSE
        # They are in their places before they are filled: Qt styles what is put in, each by itself.
        splitter = panels_in(Qt.Orientation.Vertical)
        fill(self, splitter)
        upper = self._upper()
        splitter.addWidget(self._panel(upper))
        yield PAUSE
        self.what_if = ResourcePlots()
        self.fields, self.plots = self.what_if.fields, self.what_if.plots
        upper.addWidget(self.what_if, 1)
        yield PAUSE
        yield from self.what_if.building()
        yield from self._building_lower(splitter)
        share(splitter, (3, 2), (420, 300))
        yield PAUSE

    def _panel(self, upper: QVBoxLayout) -> Panel:
        body = QWidget()
        body.setLayout(upper)
        return Panel("Occupancy", body, caption=self.caption, flush=True)

    def _make_choices(self) -> None:
        self.sm_box = SmBox()
        tip = "Whose threads, registers and shared memory are placed"
        self.example_box = choice("Kernel or worked example", tip, EXAMPLE_LETTERS)
        self.example_box.addItems([THIS_KERNEL, *(e.title for e in scene.EXAMPLES)])
        self.reset = QPushButton("As compiled")
        self.reset.setToolTip("Leave the what-if: the registers and shared memory of the kernel")

    def _upper(self) -> QVBoxLayout:
        space = current_theme().spacing
        column = QVBoxLayout()
        column.setContentsMargins(0, 4, 0, space.gap)
        choices = (self.reset, self.example_box, self.sm_box)
        column.addLayout(subject_row(self.subject, choices))
        return column

    def _building_lower(self, splitter: QSplitter) -> Steps:
        row = panels_in(Qt.Orientation.Horizontal)
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
        self.first = first = FirstOrderList(self.ladder)
        yield PAUSE
        row.addWidget(
            Panel(
                "First-order counts", first, caption=first.caption,
                controls=first.controls, flush=True,
            )
        )  # fmt: skip
        share(row, (3, 2), (640, 360))

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

    def pictures(self) -> dict[str, QWidget]:
        """What can be saved by itself, as its panels are headed."""
        return {
            "Occupancy what-ifs": self.what_if,
            "One SM": self.sm,
            "First-order counts": self.first or self,
            "Devices": self.table,
        }
