"""What the arrays that a rung reads hold: random numbers, or ones to compute with in the head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSizePolicy, QWidget

from core.ladder.buffers import INPUTS, Inputs

if TYPE_CHECKING:
    from gui.scenes.session import Session

NAMES: dict[Inputs, tuple[str, str]] = {
    "random": ("Random", "Random numbers from −1 to 1"),
    "small": ("Whole, 1 to 9", "Random whole numbers from 1 to 9: C can be computed in the head"),
    "places": ("Row.column", "Each element's place: 3.2 is row 3, column 2, wherever it is copied"),
}
TIP = "What the arrays hold that the kernel reads; results are computed from it"


class InputsRow(QWidget):
    """A choice that sets `session.inputs`, and follows it; hidden until it has a session."""

    def __init__(self) -> None:
        super().__init__()
        self.session: Session | None = None
        self.label = QLabel("inputs")
        self.label.setToolTip(TIP)
        self.choice = QComboBox()
        self.choice.setToolTip(TIP)
        self.choice.setAccessibleName("Inputs of the kernel")
        self.choice.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.label.setBuddy(self.choice)
        for name in INPUTS:
            title, tip = NAMES[name]
            self.choice.addItem(title, name)
            self.choice.setItemData(self.choice.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        self.choice.activated.connect(self._choose)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.label)
        row.addWidget(self.choice, 1)
        self.hide()

    def follow(self, session: Session) -> None:
        """Show and set the choice of a session."""
        self.session = session
        session.inputs_changed.connect(self._show)
        self._show(session.inputs)
        self.show()

    def show_rung(self, shown: bool) -> None:
        """Show it for a rung; a file's arrays are said in its form."""
        self.setVisible(shown and self.session is not None)

    def restore_default(self) -> None:
        """Random numbers again."""
        if self.session is not None:
            self.session.inputs = INPUTS[0]

    def _show(self, inputs: str) -> None:
        with QSignalBlocker(self.choice):
            self.choice.setCurrentIndex(self.choice.findData(inputs))

    def _choose(self, at: int) -> None:
        if self.session is not None:
            self.session.inputs = self.choice.itemData(at)
