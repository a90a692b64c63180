"""The buttons above a comparison, as many as there is room for, and the switch of its views."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from gui.scenes.presets import PRESETS, Preset
from gui.scenes.selection import COMPARED_VIEWS
from gui.views.action_button import action_button
from gui.views.segmented import Segmented

LEAST = 400  # pixels
GAP = 8  # pixels that a button needs beside it
VIEW_TIPS = {
    "Matrices": "A left of C, B above it",
    "Memory": "The memory that the step accesses",
    "Global": "A warp's lanes and the sectors that they need",
    "Shared": "Tiles and banks of shared memory",
    "Source": "The running line of each source",
    "Counters": "Counts of each launch, by array or line",
}
NEXT = "The next access of the selected warp that moves more or less on one side (D, Shift+D)"


class CompareBar(QWidget):
    """`preset_chosen(preset)` when an example is wanted; the buttons are for whoever makes it."""

    preset_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.views = Segmented({name: name for name in COMPARED_VIEWS}, VIEW_TIPS)
        self.examples = action_button("Examples", "Pairs of launches that are worth a look")
        self.examples.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.examples.setMenu(self._make_examples())
        self.swap = action_button("Swap", "What is A becomes B, and the other way round")
        self.copy = action_button("Copy A to B", "Have both be the same, and change one of them")
        self.next = action_button("Next difference", NEXT)
        self.setMinimumWidth(LEAST)  # less than it wants: `fit` leaves buttons out
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        for button in (self.examples, self.swap, self.copy, self.next):
            row.addWidget(button)
        row.addStretch(1)
        row.addWidget(self.views)

    def fit(self, width: int) -> None:
        """Leave buttons to the menu, whose commands they are, where there is no room for them."""
        optional = (self.copy, self.swap, self.next)
        need = sum(b.sizeHint().width() + GAP for b in (self.examples, self.views, *optional))
        for button in optional:
            button.setVisible(need <= width)
            need -= 0 if need <= width else button.sizeHint().width() + GAP

    def _make_examples(self) -> QMenu:
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        for preset in PRESETS:
            action = menu.addAction(preset.title)
            action.setToolTip(preset.lesson)
            action.triggered.connect(partial(self._choose, preset))
        return menu

    def _choose(self, preset: Preset, *_: object) -> None:
        self.preset_chosen.emit(preset)
