"""The fields of one launch of a user's kernel, a row each, with room for what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QLineEdit, QWidget

from gui.frames.pieces import Steps
from gui.scenes.text import clipped, spaced
from gui.views.array_field import ArrayField, let_shrink

if TYPE_CHECKING:
    from core.cuda.signature import SignatureParameter
    from core.launching.file_launch import FileLaunch

LAUNCH_FIELDS = {
    "grid": ("grid", "Blocks in x, y, z: 8,8"),
    "block": ("block", "Threads of a block in x, y, z: 16,16"),
    "shared": ("shared", "Bytes of dynamic shared memory, for extern __shared__"),
    "defines": ("defines", "NAME=VALUE with spaces between, as a compiler's -D"),
}
_LABEL_WIDTH = 64  # pixels, so that the fields keep theirs in a narrow panel


class LaunchRows(QWidget):
    """The rows are there after `building`; `edited()` when the user changes one of them."""

    edited = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.fields: dict[str, QWidget] = {}
        self.errors: dict[str, QLabel] = {}
        """What is said below a field, for those where something was wrong once."""
        self._texts: dict[str, Callable[[], str]] = {}
        self._places: dict[str, int] = {}  # rows of the grid for what is wrong
        self.kernel = QComboBox()
        self.kernel.setAccessibleName("Kernel")
        let_shrink(self.kernel, 4)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 6, 0)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)

    def building(
        self, launch: FileLaunch, kernels: Sequence[str], signature: Sequence[SignatureParameter]
    ) -> Steps:
        """Make a row for each field of a launch, piece by piece, dressed as the window is."""
        self.show_kernels(kernels, launch.kernel)
        self._add("kernel", "kernel", "The __global__ functions of the file", self.kernel)
        yield
        for name, (label, tip) in LAUNCH_FIELDS.items():
            self._add_line(name, label, tip, str(getattr(launch, name)))
            yield
        texts = dict(launch.arguments)
        for parameter in signature:
            name, text = f"arg:{parameter.name}", texts.get(parameter.name, "")
            tip = f"{parameter.type} {parameter.name}"
            if parameter.is_array:
                array = ArrayField(parameter, text)
                array.changed.connect(self.edited)
                self._texts[name] = array.text
                self._add(name, parameter.name, tip, array)
            else:
                self._add_line(name, parameter.name, tip, text)
            yield
        self._grid.setRowStretch(2 * len(self.fields), 1)
        for widget in (self, *self.findChildren(QWidget)):
            widget.ensurePolished()
            yield
        self._grid.activate()
        yield

    def show_kernels(self, names: Sequence[str], shown: str) -> None:
        """Offer the kernels of a file, without a signal."""
        with QSignalBlocker(self.kernel):
            self.kernel.clear()
            self.kernel.addItems(list(names))
            self.kernel.setCurrentText(shown)

    def texts(self) -> dict[str, str]:
        """What the fields of launch and arguments hold, by their names."""
        return {name: get() for name, get in self._texts.items()}

    def show_texts(self, texts: Mapping[str, str]) -> None:
        """Fill the fields, without a signal."""
        for name, text in texts.items():
            field = self.fields[name]
            if isinstance(field, ArrayField):
                field.set_text(text)
            elif isinstance(field, QLineEdit) and field.text() != text:
                field.setText(text)

    def show_errors(self, sentences: Mapping[str, str]) -> None:
        """Show each mistake below its field; a field left out has none."""
        for name, field in self.fields.items():
            sentence = clipped(spaced(sentences.get(name, "")))
            if not sentence and name not in self.errors:
                continue
            label = self._error_of(name)
            if sentence == label.text():
                continue
            label.setText(sentence)
            label.setVisible(bool(sentence))
            field.setAccessibleDescription(sentence)
            for edit in [field, *field.findChildren(QLineEdit)]:
                edit.setProperty("wrong", bool(sentence))
                edit.style().unpolish(edit)
                edit.style().polish(edit)

    def height_for(self, width: int) -> int:
        """What every row and every mistake needs."""
        return max(self._grid.totalHeightForWidth(width), self._grid.totalSizeHint().height())

    def _add_line(self, name: str, label: str, tip: str, text: str) -> None:
        edit = QLineEdit(text)
        edit.textEdited.connect(lambda _: self.edited.emit())
        self._texts[name] = edit.text
        self._add(name, label, tip, edit)

    def _add(self, name: str, label: str, tip: str, field: QWidget) -> None:
        row = 2 * len(self.fields)
        words = QLabel()
        shown = words.fontMetrics().elidedText(label, Qt.TextElideMode.ElideLeft, _LABEL_WIDTH)
        words.setText(shown)  # of a structure's member the end says more
        words.setToolTip(tip if shown == label else f"{label}: {tip}")
        words.setBuddy(field)
        if not field.accessibleName():
            field.setAccessibleName(tip)
        field.setToolTip(tip)
        self._grid.addWidget(words, row, 0)
        self._grid.addWidget(field, row, 1)
        self.fields[name] = field
        self._places[name] = row + 1

    def _error_of(self, name: str) -> QLabel:
        if name not in self.errors:
            self.errors[name] = error = QLabel()
            error.setProperty("role", "error")
            error.setTextFormat(Qt.TextFormat.PlainText)
            error.setWordWrap(True)
            error.hide()
            self._grid.addWidget(error, self._places[name], 0, 1, 2)
        return self.errors[name]
