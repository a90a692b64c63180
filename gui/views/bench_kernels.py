"""Which kernels a sweep measures: a list of ticks that opens below its button."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.scenes.bench_plan import CONFIGURED

KEY = Qt.ItemDataRole.UserRole


class KernelList(QWidget):
    """A list with a tick for each kernel, that opens below its button."""

    changed = Signal()
    file_wanted = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.list = QListWidget()
        self.list.setAccessibleName("Kernels to measure")
        self.list.itemChanged.connect(lambda _: self.changed.emit())
        self.list.itemClicked.connect(self._toggle_row)
        every, none, file = (QPushButton(t) for t in ("All", "None", "Add a file…"))
        every.clicked.connect(lambda: self.tick(set(self.keys()) - {CONFIGURED}))
        none.clicked.connect(lambda: self.tick({CONFIGURED}))
        file.clicked.connect(self._ask_for_file)
        buttons = QHBoxLayout()
        for button in (every, none, file):
            buttons.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addWidget(self.list)
        layout.addLayout(buttons)

    def keys(self) -> list[str]:
        """What may be ticked."""
        return [str(self.list.item(row).data(KEY)) for row in range(self.list.count())]

    def ticked(self) -> frozenset[str]:
        """What is ticked."""
        items = (self.list.item(row) for row in range(self.list.count()))
        return frozenset(
            str(item.data(KEY)) for item in items if item.checkState() == Qt.CheckState.Checked
        )

    def offer(self, choices: Mapping[str, str], ticked: frozenset[str]) -> None:
        """Show these kernels, by key."""
        self.list.blockSignals(True)
        self.list.clear()
        for key, title in choices.items():
            item = QListWidgetItem(title)
            item.setData(KEY, key)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            on = Qt.CheckState.Checked if key in ticked else Qt.CheckState.Unchecked
            item.setCheckState(on)
            self.list.addItem(item)
        self.list.blockSignals(False)

    def tick(self, keys: set[str]) -> None:
        """Tick these and no others."""
        self.list.blockSignals(True)
        for row in range(self.list.count()):
            item = self.list.item(row)
            on = str(item.data(KEY)) in keys
            item.setCheckState(Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)
        self.list.blockSignals(False)
        self.changed.emit()

    def open_below(self, button: QWidget) -> None:
        """Show the list under a button."""
        rows = self.list.count()
        high = min(rows * max(self.list.sizeHintForRow(0), 22) + 70, 520)
        self.resize(max(button.width(), 300), high)
        self.move(button.mapToGlobal(QPoint(0, button.height() + 2)))
        self.show()
        self.list.setFocus()

    def _toggle_row(self, item: QListWidgetItem) -> None:
        """A click on the title ticks as one on the box does; Qt has done the box's by now."""
        here = self.list.viewport().mapFromGlobal(self.cursor().pos())
        box = self.list.visualItemRect(item)
        if here.x() - box.left() > 26:
            on = item.checkState() == Qt.CheckState.Checked
            item.setCheckState(Qt.CheckState.Unchecked if on else Qt.CheckState.Checked)

    def _ask_for_file(self) -> None:
        self.hide()
        self.file_wanted.emit()
