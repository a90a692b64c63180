"""What the occupancy page is made of: plots with fields, an SM that is filled, counts, devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
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

from core.models.devices import load_devices
from gui.frames.pieces import PAUSE, Steps
from gui.looks.theme import current_theme
from gui.scenes import occupancy as scene
from gui.views.base import Caption, Panel
from gui.views.device_table import DeviceTable
from gui.views.first_order import FirstOrderList
from gui.views.page_view import PageView
from gui.views.resource_plots import ResourcePlots
from gui.views.segmented import Segmented
from gui.views.sm_box import SmBox
from gui.views.sm_view import SmView

if TYPE_CHECKING:
    from core.ladder import Ladder
    from gui.scenes.session import Session

THIS_KERNEL = "This kernel, as compiled"
SHORT = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon


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
        self.table.fit()
        yield

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
        self.example_box.addItems([THIS_KERNEL, *(e.title for e in scene.EXAMPLES)])
        self.example_box.setAccessibleName("Kernel or worked example")
        self.example_box.setToolTip("Whose threads, registers and shared memory are placed")
        self.reset = QPushButton("As compiled")
        self.reset.setToolTip("Leave the what-if: the registers and shared memory of the kernel")

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
        self.first = first = FirstOrderList(self.ladder)
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
