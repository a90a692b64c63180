"""What the ceilings page is made of: a plot, a list of ceilings, and what chooses the launch."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QProgressBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.frames.pieces import PAUSE, Steps
from gui.looks.theme import current_theme
from gui.scenes.benchmark import SIZES
from gui.views.base import Caption, Panel
from gui.views.ceiling_list import CeilingList
from gui.views.page_parts import choice, fill, panels_in, share, subject_caption, subject_row
from gui.views.page_view import PageView
from gui.views.roofline_plot import RooflinePlot

AS_CONFIGURED = "as configured"
DEFAULT_SIZE = 4096
DEVICE_LETTERS = 24


class CeilingsParts(PageView):
    """The page's widgets in their places; a subclass has them do something."""

    def building(self) -> Steps:
        """Make the page."""
        self._make_controls()
        yield PAUSE
        self._make_choices()
        yield PAUSE
        self.plot = RooflinePlot()
        yield PAUSE
        self.list = CeilingList()
        self._make_texts()
        yield PAUSE
        yield from self._laying_out()

    def restyling(self) -> Steps:
        """Take up the theme's colours."""
        yield from self.plot.drawing()
        yield from self.list.drawing()

    def _make_controls(self) -> None:
        self.caption = Caption("Choose a kernel.")
        self.subject = subject_caption()
        self.back = QToolButton()
        self.back.setProperty("role", "action")
        self.back.setText("Back to the configured launch")
        self.back.setToolTip("Leave the measured run that was clicked")
        self.back.hide()
        self.size_label = QLabel("N")
        self.size_label.setProperty("role", "dim")
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(3)
        self.progress.hide()

    def _make_choices(self) -> None:
        self.size_box = QComboBox()
        self.size_box.addItems([AS_CONFIGURED, *(str(size) for size in SIZES)])
        self.size_box.setCurrentText(str(DEFAULT_SIZE))
        self.size_box.setAccessibleName("Size of the launch")
        self.size_box.setToolTip("N of the launch; block and tile are those configured")
        tip = "Whose figures the ceilings are computed with"
        self.device_box = choice("Device", tip, DEVICE_LETTERS)

    def _make_texts(self) -> None:
        self.hover = Caption(role="dim")
        self.against = QLabel()
        self.transfers = QLabel()
        for label, role in ((self.against, "caption"), (self.transfers, "dim")):
            label.setProperty("role", role)
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def _laying_out(self) -> Steps:
        space = current_theme().spacing
        choices = (self.back, self.size_label, self.size_box, self.device_box)
        controls = subject_row(self.subject, choices, below=2)
        upper = QWidget()
        column = QVBoxLayout(upper)
        column.setContentsMargins(0, 4, 0, space.gap)
        column.setSpacing(4)
        column.addLayout(controls)
        column.addWidget(self.progress)
        column.addWidget(self.plot, 1)
        below = QVBoxLayout()
        below.setContentsMargins(space.margin, 0, space.margin, 0)
        below.setSpacing(4)
        for widget in (self.hover, self.against, self.transfers):
            below.addWidget(widget)
        column.addLayout(below)
        yield PAUSE
        splitter = panels_in(Qt.Orientation.Horizontal)
        fill(self, splitter)
        yield PAUSE
        splitter.addWidget(Panel("Roofline", upper, caption=self.caption, flush=True))
        yield PAUSE
        splitter.addWidget(Panel("Ceilings, the lowest first", self.list, flush=True))
        share(splitter, (3, 2), (640, 420))
        yield PAUSE

    def pictures(self) -> dict[str, QWidget]:
        """The plot, and the list beside it."""
        return {"Roofline": self.plot, "Ceilings": self.list}
