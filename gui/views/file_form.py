"""The form of a user's kernel: which one, its grid and block, and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QWidget,
)

from core.launching.file_launch import FileLaunch
from gui.scenes.arguments import FILE, FILLS, NULL, array_text, split_array
from gui.scenes.text import clipped, spaced

if TYPE_CHECKING:
    from core.cuda.signature import SignatureParameter

DEBOUNCE_MS = 400
LAUNCH_FIELDS = {
    "grid": ("grid", "Blocks in x, y, z: 8,8"),
    "block": ("block", "Threads of a block in x, y, z: 16,16"),
    "shared": ("shared", "Bytes of dynamic shared memory, for extern __shared__"),
    "defines": ("defines", "NAME=VALUE with spaces between, as a compiler's -D"),
}


_LABEL_WIDTH = 64  # pixels, so that the fields keep theirs in a narrow panel


def _let_shrink(box: QComboBox, length: int) -> None:
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
        _let_shrink(self.fill, 6)
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


class FileForm(QScrollArea):
    """Edits a `FileLaunch`; `changed(FileLaunch)` follows the last edit after a short rest.

    `kernel_chosen(name)` asks for another kernel of the file.
    """

    changed = Signal(object)
    kernel_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.launch: FileLaunch | None = None
        self.fields: dict[str, QWidget] = {}
        self.errors: dict[str, QLabel] = {}
        self.kernel = QComboBox()
        self.kernel.setAccessibleName("Kernel")
        _let_shrink(self.kernel, 4)
        self.kernel.activated.connect(lambda _: self.kernel_chosen.emit(self.kernel.currentText()))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DEBOUNCE_MS)
        self._timer.timeout.connect(self._announce)
        self._texts: dict[str, Callable[[], str]] = {}

    def sizeHint(self) -> QSize:
        """Room for every row and every mistake, beside a scroll bar."""
        body = self.widget()
        layout = body.layout() if body is not None else None
        if layout is None:
            return super().sizeHint()
        room = max(self.width() - self.verticalScrollBar().sizeHint().width(), 80)
        return QSize(120, max(layout.totalHeightForWidth(room), layout.totalSizeHint().height()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ask for another height when the rows change theirs."""
        if event.type() == QEvent.Type.LayoutRequest and watched is self.widget():
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def show_launch(
        self,
        launch: FileLaunch,
        kernels: Sequence[str],
        signature: Sequence[SignatureParameter],
    ) -> None:
        """Show a launch of one of a file's kernels, without a signal."""
        self._timer.stop()
        with QSignalBlocker(self.kernel):
            self.kernel.clear()
            self.kernel.addItems(list(kernels))
            self.kernel.setCurrentText(launch.kernel)
        if launch != self.current():
            self._build(launch, signature)
        self.launch = launch

    def current(self) -> FileLaunch | None:
        """The launch as the fields say, None before the first."""
        if self.launch is None:
            return None
        texts = {name: get() for name, get in self._texts.items()}
        names = [name for name, _ in self.launch.arguments]
        return replace(
            self.launch,
            **{name: texts[name] for name in LAUNCH_FIELDS},
            arguments=tuple((name, texts[f"arg:{name}"]) for name in names),
        )

    def follow(self, launch: FileLaunch) -> None:
        """Show a launch that differs in its texts alone, in the fields that there are."""
        now = self.current()
        if now is None or now == launch:
            return
        if [name for name, _ in now.arguments] != [name for name, _ in launch.arguments]:
            return
        self._timer.stop()
        self.launch = launch
        texts = {name: str(getattr(launch, name)) for name in LAUNCH_FIELDS}
        texts |= {f"arg:{name}": text for name, text in launch.arguments}
        for name, text in texts.items():
            field = self.fields[name]
            if isinstance(field, ArrayField):
                field.set_text(text)
            elif isinstance(field, QLineEdit) and field.text() != text:
                field.setText(text)

    def show_errors(self, sentences: dict[str, str]) -> None:
        """Show each mistake below its field; a field left out has none."""
        for name, label in self.errors.items():
            sentence = clipped(spaced(sentences.get(name, "")))
            label.setText(sentence)
            label.setVisible(bool(sentence))
            field = self.fields[name]
            field.setAccessibleDescription(sentence)
            for edit in [field, *field.findChildren(QLineEdit)]:
                edit.setProperty("wrong", bool(sentence))
                edit.style().unpolish(edit)
                edit.style().polish(edit)
        first = next((name for name in self.errors if sentences.get(name)), None)
        if first is not None:
            QTimer.singleShot(0, lambda: self.ensureWidgetVisible(self.errors[first], 0, 8))

    def _announce(self) -> None:
        launch = self.current()
        if launch is not None and launch != self.launch:
            self.launch = launch
            self.changed.emit(launch)

    def _build(self, launch: FileLaunch, signature: Sequence[SignatureParameter]) -> None:
        self.kernel.setParent(None)  # it outlives the body that it was in
        body = QWidget()
        grid = QGridLayout(body)
        grid.setContentsMargins(0, 0, 6, 0)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        self.fields, self.errors, self._texts = {}, {}, {}
        self._add(grid, "kernel", "kernel", "The __global__ functions of the file", self.kernel)
        for name, (label, tip) in LAUNCH_FIELDS.items():
            edit = QLineEdit(str(getattr(launch, name)))
            edit.textEdited.connect(lambda _: self._timer.start())
            self._texts[name] = edit.text
            self._add(grid, name, label, tip, edit)
        texts = dict(launch.arguments)
        for parameter in signature:
            name, text = f"arg:{parameter.name}", texts.get(parameter.name, "")
            tip = f"{parameter.type} {parameter.name}"
            if parameter.is_array:
                array = ArrayField(parameter, text)
                array.changed.connect(self._timer.start)
                self._texts[name] = array.text
                self._add(grid, name, parameter.name, tip, array)
            else:
                edit = QLineEdit(text)
                edit.textEdited.connect(lambda _: self._timer.start())
                self._texts[name] = edit.text
                self._add(grid, name, parameter.name, tip, edit)
        grid.setRowStretch(grid.rowCount(), 1)
        self.setWidget(body)
        body.installEventFilter(self)

    def _add(self, grid: QGridLayout, name: str, label: str, tip: str, field: QWidget) -> None:
        row = grid.rowCount()
        words = QLabel()
        shown = words.fontMetrics().elidedText(label, Qt.TextElideMode.ElideLeft, _LABEL_WIDTH)
        words.setText(shown)  # of a structure's member the end says more
        words.setToolTip(tip if shown == label else f"{label}: {tip}")
        words.setBuddy(field)
        error = QLabel()
        error.setProperty("role", "error")
        error.setTextFormat(Qt.TextFormat.PlainText)
        error.setWordWrap(True)
        error.hide()
        if not field.accessibleName():
            field.setAccessibleName(tip)
        field.setToolTip(tip)
        grid.addWidget(words, row, 0)
        grid.addWidget(field, row, 1)
        grid.addWidget(error, row + 1, 0, 1, 2)
        self.fields[name], self.errors[name] = field, error
