"""The field of an array argument: what it is filled with, and its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QLineEdit, QWidget

from gui.scenes.arguments import FILE, FILLS, NULL, array_text, split_array

if TYPE_CHECKING:
    from core.cuda.signature import SignatureParameter


def let_shrink(box: QComboBox, length: int) -> None:
    """Let a choice be narrower than its longest name."""
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(length)


class ArrayField(QWidget):
    """What an array is filled with, and its shape; or a .npy file."""

    changed = Signal()

    def __init__(self, parameter: SignatureParameter, text: str) -> None:
        super().__init__()
        self._dtype = parameter.dtype.name if parameter.dtype is not None else ""
        self.fill = QComboBox()
        self.fill.addItems([*FILLS, FILE, NULL] if parameter.is_pointer else [*FILLS, FILE])
        let_shrink(self.fill, 6)
        self.fill.setAccessibleName(f"What {parameter.name} holds at first")
        self.fill.setToolTip("What the array holds before the launch")
        self.shape = QLineEdit()
        self.shape.setMinimumWidth(30)
        self.shape.setAccessibleName(f"Shape of {parameter.name}")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.fill)
        layout.addWidget(self.shape, 1)
        self.set_text(text)
        self.fill.activated.connect(self._chosen)
        self.shape.textEdited.connect(lambda _: self.changed.emit())

    def text(self) -> str:
        """The argument as the command line writes it."""
        return array_text(self.fill.currentText(), self.shape.text(), self._dtype)

    def set_text(self, text: str) -> None:
        """Show an argument, without a signal."""
        fill, shape = split_array(text, self._dtype)
        self.fill.setCurrentText(fill)
        self.shape.setText(shape)
        self._describe()

    def _describe(self) -> None:
        self.shape.setEnabled(self.fill.currentText() != NULL)
        if self.fill.currentText() == FILE:
            tip = "A file saved by numpy.save"
        elif self.fill.currentText() == NULL:
            tip = "A null pointer"
        else:
            tip = "Sizes, such as 64,64" if self._dtype else "Type and sizes, such as float32[64]"
        self.shape.setPlaceholderText(tip.split(", ")[-1])
        self.shape.setToolTip(tip)

    def _chosen(self, _index: int) -> None:
        self._describe()
        if self.fill.currentText() == FILE:
            name, _ = QFileDialog.getOpenFileName(self, "An array", "", "NumPy arrays (*.npy)")
            if name:
                self.shape.setText(name)
        self.changed.emit()
