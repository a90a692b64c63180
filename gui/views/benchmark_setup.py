"""The fields of a sweep: kernels, sizes, tiles, time, GPUs, and the buttons that run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from gui.looks.style_sheet import named, set_icon, set_style, side_by_side, stacked, styled_label
from gui.looks.theme import current_theme
from gui.scenes.bench_places import Place
from gui.scenes.benchmark import CONFIGURED, Setup
from gui.scenes.names_and_numbers import plural
from gui.views.base import Caption
from gui.views.page_parts import Choice
from gui.views.widgets import action_button, push_button

KEY = Qt.ItemDataRole.UserRole
TICKS = {True: Qt.CheckState.Checked, False: Qt.CheckState.Unchecked}


class KernelList(QWidget):
    """A list with a tick for each kernel, that opens below its button."""

    changed = Signal()
    file_wanted = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.list = named(QListWidget(), "Kernels to measure")
        self.list.itemChanged.connect(lambda _: self.changed.emit())
        self.list.itemClicked.connect(self._toggle_row)
        every, none, file = (QPushButton(t) for t in ("All", "None", "Add a file…"))
        every.clicked.connect(lambda: self.tick(set(self.titles()) - {CONFIGURED}))
        none.clicked.connect(lambda: self.tick({CONFIGURED}))
        file.clicked.connect(self._ask_for_file)
        stacked(self, self.list, side_by_side(None, every, none, file), edges=(6, 6, 6, 6))

    def _items(self) -> list[QListWidgetItem]:
        return [self.list.item(row) for row in range(self.list.count())]

    def titles(self) -> dict[str, str]:
        return {str(item.data(KEY)): item.text() for item in self._items()}

    def ticked(self) -> frozenset[str]:
        on = (item for item in self._items() if item.checkState() == TICKS[True])
        return frozenset(str(item.data(KEY)) for item in on)

    def offer(self, choices: Mapping[str, str], ticked: frozenset[str]) -> None:
        with QSignalBlocker(self.list):
            self.list.clear()
            for key, title in choices.items():
                item = QListWidgetItem(title, self.list)
                item.setData(KEY, key)
                item.setCheckState(TICKS[key in ticked])

    def tick(self, keys: set[str]) -> None:
        with QSignalBlocker(self.list):
            for item in self._items():
                item.setCheckState(TICKS[str(item.data(KEY)) in keys])
        self.changed.emit()

    def open_below(self, button: QWidget) -> None:
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
            item.setCheckState(TICKS[item.checkState() != TICKS[True]])

    def _ask_for_file(self) -> None:
        self.hide()
        self.file_wanted.emit()


class SetupStrip(QWidget):
    """What to measure and how. `changed()` after each edit; `setup` is what the fields say."""

    changed = Signal()
    placed = Signal()
    """Another place was chosen, or another address is being typed."""

    def __init__(self) -> None:
        super().__init__()
        self._setup = Setup()
        self._is_chosen = False  # by hand; until then the first place is
        self._make_kernels()
        self._make_fields()
        self._make_buttons()
        self._lay_out()
        self.restyle()

    # ---- what the fields say

    @property
    def setup(self) -> Setup:
        return replace(
            self._setup,
            kernels=self.kernels.ticked(),
            sizes=self.sizes.text(),
            tiles=self.tiles.text(),
            budget_s=self.budget.value(),
            tuned=self.tuned.isChecked(),
        )

    def show_setup(self, setup: Setup, choices: Mapping[str, str]) -> None:
        self._setup = setup
        self.kernels.offer(choices, setup.kernels)
        for field, text in ((self.sizes, setup.sizes), (self.tiles, setup.tiles)):
            if field.text() != text:
                field.setText(text)
                field.setCursorPosition(0)
        with QSignalBlocker(self.budget):
            self.budget.setValue(setup.budget_s)
        self.tuned.setChecked(setup.tuned)
        self._name_kernels()

    def offer_places(self, offered: Sequence[Place]) -> None:
        """Show where a sweep may run; what was chosen stays, if it is there."""
        chosen = self.gpus.currentData()
        with QSignalBlocker(self.gpus):
            self.gpus.clear()
            for place in offered:
                self.gpus.addItem(place.title, place)
            titles = [place.title for place in offered]
            kept = isinstance(chosen, Place) and self._is_chosen and chosen.title in titles
            self.gpus.setCurrentIndex(titles.index(chosen.title) if kept else 0)
        listed = self.gpus.view()
        listed.setMinimumWidth(listed.sizeHintForColumn(0) + 24)  # else as narrow as the field
        self._show_address()

    @property
    def place(self) -> Place:
        found = self.gpus.currentData()
        chosen = found if isinstance(found, Place) else Place("")
        return replace(chosen, cluster=self.address.text().strip()) if chosen.is_typed else chosen

    def _on_place(self) -> None:
        self._is_chosen = True
        self._show_address()
        if self.place.is_typed:
            self.address.setFocus()
        self.placed.emit()

    def _show_address(self) -> None:
        self.address.setVisible(self.place.is_typed)

    def show_state(self, *, ready: bool, running: bool, paused: bool, stopping: bool) -> None:
        self.run_button.setVisible(not running)
        self.run_button.setEnabled(ready)
        self.pause_button.setVisible(running)
        self.pause_button.setEnabled(not stopping)
        self.pause_button.setText("Resume" if paused else "Pause")
        set_icon(self.pause_button, "play" if paused else "pause")
        self.stop_button.setVisible(running)
        self.stop_button.setText("Stop at once" if stopping else "Stop")
        self.bar.setVisible(running)
        fields = (self.kernels_button, self.sizes, self.tiles, self.tuned, self.budget)
        for field in (*fields, self.gpus, self.address):
            field.setEnabled(not running)

    def show_progress(self, done: int, total: int) -> None:
        self.bar.setRange(0, max(total, 1))
        self.bar.setValue(done)

    def show_plan(self, sentence: str, *, wrong: bool) -> None:
        set_style(self.plan, "role", "error" if wrong else "dim")
        self.plan.setText(sentence)

    def restyle(self) -> None:
        """Take up the room that usual values need in its type."""
        digit = self.fontMetrics().horizontalAdvance("0")
        for field, digits in ((self.sizes, 18), (self.tiles, 10), (self.address, 20)):
            field.setMinimumWidth(digits * digit)
        self.kernels_button.setMinimumWidth(12 * digit)
        self.kernels_button.setMaximumWidth(36 * digit)

    # ---- building

    def _make_kernels(self) -> None:
        self.kernels_button = action_button("", "Which kernels to measure", "Kernels")
        self.kernels_button.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.kernels = KernelList(self)
        self.kernels.hide()
        self.kernels_button.clicked.connect(lambda: self.kernels.open_below(self.kernels_button))
        self.kernels.changed.connect(self._on_kernels)

    def _make_fields(self) -> None:
        self.sizes = self._values("Sizes", "as configured", "N: 512, 1024 or 256..4096 (doubling)")
        self.tiles = self._values("Tiles", "as configured", "8, 16, 32, where a kernel has tiles")
        self.sizes.setMaximumWidth(420)
        self.tiles.setMaximumWidth(200)
        field = QDoubleSpinBox(minimum=0.1, maximum=600, suffix=" s", decimals=1)
        tip = "Time each point until its median is stable, this long at most"
        self.budget = named(field, "Seconds for each launch configuration", tip)
        self.budget.valueChanged.connect(lambda _: self.changed.emit())
        self.tuned = QCheckBox("tuned blocks")
        self.tuned.setToolTip(
            "Where no tile is given: the block and tile that are fast on a GPU, not those that are "
            "configured for stepping"
        )
        self.tuned.clicked.connect(lambda _: self.changed.emit())
        tip = (
            "A GPU here, or all of them; a machine whose results were recorded; the GPUs of a "
            "cluster's workers"
        )
        self.gpus = Choice("On", tip, 10)  # letters: "All 2 GPUs"; a name has what room there is
        self.gpus.activated.connect(lambda _: self._on_place())
        line = QLineEdit(placeholderText="tcp://HOST:8786")
        tip = "Where `dask scheduler` listens; workers: `tilescope worker`"
        self.address = named(line, "Address of the cluster's scheduler", tip)
        self.address.textEdited.connect(lambda _: self.placed.emit())
        self.address.hide()
        self.plan = Caption(role="dim")
        self.plan.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.plan.may_take(2)
        self.bar = QProgressBar(textVisible=False)

    def _values(self, name: str, empty: str, tip: str) -> QLineEdit:
        field = named(QLineEdit(placeholderText=empty), name, tip)
        field.textEdited.connect(lambda _: self.changed.emit())
        return field

    def _make_buttons(self) -> None:
        tip = "Compile, check against float64 and time, point by point"
        self.run_button = push_button("Run on GPU", tip, primary=True)
        self.pause_button = push_button("Pause")
        self.stop_button = push_button("Stop", "Stop, and keep the launches so far")
        set_icon(self.run_button, "run", "window")
        set_icon(self.stop_button, "stop")

    def _lay_out(self) -> None:
        space = current_theme().spacing
        n, tile, most, on = (
            styled_label(text, role="dim") for text in ("N", "Tile", "at most", "on")
        )
        fields = (self.sizes, self.tiles, self.budget, self.gpus)
        for label, field in zip((n, tile, most, on), fields, strict=True):
            label.setBuddy(field)
        what = (self.kernels_button, n, (self.sizes, 12), tile, (self.tiles, 5), self.tuned)
        how = (most, self.budget, on, (self.gpus, 3), (self.address, 2), space.gap, (self.plan, 2))
        buttons = (self.run_button, self.pause_button, self.stop_button)
        upper = side_by_side(None, *what, (None, 0), gap=space.gap)
        lower = side_by_side(None, *how, *buttons, gap=space.gap)
        stacked(self, upper, lower, self.bar, gap=space.gap - 2, edges=(0, 2, 0, 0))

    def _on_kernels(self) -> None:
        self._name_kernels()
        self.changed.emit()

    def _name_kernels(self) -> None:
        ticked, titles = list(self.kernels.ticked()), self.kernels.titles()
        text = plural(len(ticked), "kernel") if len(ticked) != 1 else titles[ticked[0]]
        self.kernels_button.setText(f"{text} ▾")
