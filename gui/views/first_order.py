"""First-order counts of a launch: its threads and blocks, what a block loads and computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QLabel, QScrollArea, QWidget

from gui.frames.work import Worker
from gui.jobs import ceilings_work as work
from gui.looks.theme import current_theme
from gui.scenes.benchmark import SIZES
from gui.scenes.occupancy import first_order
from gui.scenes.text import grouped
from gui.views.base import Caption

if TYPE_CHECKING:
    from core.ladder import Ladder
    from core.launch import Workload
    from gui.scenes.selection import Configuration

AS_CONFIGURED = "as configured"


class FirstOrderList(QScrollArea):
    """The figures; `caption` and `controls` are for the panel around it. A worker counts."""

    def __init__(self, ladder: Ladder) -> None:
        super().__init__()
        self._ladder = ladder
        self._configuration: Configuration | None = None
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.caption = Caption(role="dim")
        self.size_label = QLabel("N")
        self.size_label.setProperty("role", "dim")
        self.size_box = QComboBox()
        self.size_box.addItems([AS_CONFIGURED, *(str(size) for size in SIZES)])
        self.size_box.setCurrentText("1024")
        self.size_box.setAccessibleName("Size of the counted launch")
        self.size_box.setToolTip("N of the launch that is counted")
        self.size_box.currentTextChanged.connect(lambda _: self._count())
        self.controls = (self.size_label, self.size_box)
        self.rows = QGridLayout()
        self.rows.setColumnStretch(1, 1)
        self.rows.setHorizontalSpacing(10)
        self.rows.setVerticalSpacing(4)
        self._make_body()
        self._counter = Worker(self, "first order")
        self._counter.finished.connect(self._on_counted)
        self._counter.failed.connect(self._on_failure)

    def _make_body(self) -> None:
        space, body = current_theme().spacing, QWidget()
        outer = QGridLayout(body)
        outer.setContentsMargins(space.margin, 2, space.margin, space.gap)
        outer.addLayout(self.rows, 0, 0)
        outer.setRowStretch(1, 1)
        self.setWidget(body)
        body.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)

    def show_launch(self, configuration: Configuration) -> None:
        """Count a launch, at the chosen size if it is a rung's."""
        self._configuration = configuration
        for control in self.controls:
            control.setVisible(configuration.own is None)
        self._count()

    def close_worker(self) -> None:
        """End the counting and wait for it."""
        self._counter.close()

    def _count(self) -> None:
        if self._configuration is None:
            return
        text = self.size_box.currentText()
        size = None if text == AS_CONFIGURED else int(text)
        self.caption.setText("Counting the launch …")
        wanted = work.sized(self._ladder, self._configuration, size)
        self._counter.submit(work.first_order_job(self._ladder, wanted))

    def _on_counted(self, found: Any) -> None:
        for place in reversed(range(self.rows.count())):
            item = self.rows.takeAt(place)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.deleteLater()
        for row, one in enumerate(first_order(found.counts, found.phases)):
            figure, text = QLabel(one.figure), QLabel(one.text)
            figure.setProperty("role", "figure")
            figure.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
            text.setProperty("role", "dim")
            text.setWordWrap(True)
            self.rows.addWidget(figure, row, 0)
            self.rows.addWidget(text, row, 1)
        self.caption.setText(_title(found.counts.workload))

    def _on_failure(self, error: object) -> None:
        self.caption.setText(f"Not counted: {error}")


def _title(workload: Workload) -> str:
    values = ", ".join(f"{k} = {grouped(v)}" for k, v in workload.parameters.items())
    return f"{workload.title}: {values}, as written." if values else f"{workload.title}."
