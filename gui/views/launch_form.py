"""The forms of the left column: a rung's parameters, a file's launch, and what is looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QBoxLayout,
    QComboBox,
    QFileDialog,
    QGridLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QScrollArea,
    QSizePolicy,
    QSpinBox,
    QToolButton,
    QWidget,
)

from core.errors import ParameterError
from core.ladder.input_arrays import INPUTS, Inputs
from core.ladder.rung import WAYS
from core.launch import WARP
from core.user_files.launch_texts import FieldErrors
from gui.background import Coalescer, Worker
from gui.looks.icons import set_icon
from gui.looks.labels_and_layouts import empty, named, side_by_side, stacked, styled_label
from gui.looks.style_sheet import set_style
from gui.looks.theme import current_theme
from gui.scenes.launch_form import FILE, FILLS, NULL, KnobRow, array_text, split_array, stops
from gui.scenes.numbers_and_sentences import clipped, in_window
from gui.scenes.session import Session
from gui.scenes.shortened_names import told_apart
from gui.views.buttons_and_choices import Segmented, StopSlider, StopSpin, icon_button, name_choices
from gui.views.captions_and_panels import AtLowerEdge, Caption, Fields
from gui.views.subject_and_device import Choice

if TYPE_CHECKING:
    from core.compiler.kernel_parameters import KernelParameter
    from core.ladder import Parameter, Rung
    from core.user_files.launch_texts import FileLaunch
    from gui.scenes.configuration import Configuration


class ArrayField(QWidget):
    """What an array is filled with, and its shape; or a .npy file."""

    textEdited = Signal(str)

    def __init__(self, parameter: KernelParameter, text: str) -> None:
        super().__init__()
        self._dtype = parameter.dtype.name if parameter.dtype is not None else ""
        holds = f"What {parameter.name} holds at first"
        self.fill = Choice(holds, "What the array holds before the launch", 4)
        self.fill.addItems([*FILLS, FILE, NULL] if parameter.is_pointer else [*FILLS, FILE])
        self.shape = named(QLineEdit(), f"Shape of {parameter.name}")
        self.shape.setMinimumWidth(30)
        side_by_side(self, self.fill, (self.shape, 1), gap=4)
        name_choices(self)
        self.set_text(text)
        self.fill.activated.connect(self._chosen)
        self.shape.textEdited.connect(lambda _: self.textEdited.emit(self.text()))
        self.shape.editingFinished.connect(self._from_its_beginning)

    def text(self) -> str:
        return array_text(self.fill.currentText(), self.shape.text(), self._dtype)

    def set_text(self, text: str) -> None:
        fill, shape = split_array(text, self._dtype)
        self.fill.setCurrentText(fill)
        if shape != self.shape.text():
            self.shape.setText(shape)
            self._from_its_beginning()
        self._describe()

    def _from_its_beginning(self) -> None:
        """Show where a long size begins, once nobody types it."""
        if not self.shape.hasFocus():
            self.shape.setCursorPosition(0)

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
        self.textEdited.emit(self.text())


LAUNCH_FIELDS = {
    "grid": "Blocks in x, y, z: 8,8",
    "block": "Threads of a block in x, y, z: 16,16",
    "shared": "Bytes of dynamic shared memory, for extern __shared__",
    "cluster": "Blocks of a cluster in x, y, z, where the launch sets them: 2,1",
    "defines": "NAME=VALUE with spaces between, as a compiler's -D",
}
LABEL = 9  # digits that a name has at most, so that the fields have room in a narrow panel


class LaunchLine(QLineEdit):
    """A text of a launch; of a long one it shows the beginning."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setCursorPosition(0)

    def set_text(self, text: str) -> None:
        if text != self.text():
            self.setText(text)
            self.setCursorPosition(0)


class LaunchRows(QWidget):
    """A row for each field of a launch; `edited()` when the user changes one of them."""

    edited = Signal()

    def __init__(
        self,
        parent: QWidget,
        launch: FileLaunch,
        kernels: Sequence[str],
        signature: Sequence[KernelParameter],
    ) -> None:
        """`parent` is a widget of the window, so that names are measured in its type."""
        super().__init__(parent)
        self.fields: dict[str, QWidget] = {}
        self.errors: dict[str, QLabel] = {}
        """What is said below each field, hidden where nothing is wrong."""
        self._typed: dict[str, ArrayField | LaunchLine] = {}
        self.kernel = Choice("Kernel", "The __global__ functions of the file", 4)
        self.grid = QGridLayout(self)
        self.grid.setContentsMargins(0, 0, 6, 0)
        self.grid.setVerticalSpacing(4)
        self.grid.setColumnStretch(1, 1)
        self.show_kernels(kernels, launch.kernel)
        metrics = QFontMetricsF(self.font())
        shown = dict(LAUNCH_FIELDS)
        if not launch.cluster and not any(p.is_tensor_map for p in signature):
            del shown["cluster"]  # a kernel for Hopper takes tensor maps
        names, room = [*shown, *(p.name for p in signature)], LABEL * metrics.horizontalAdvance("0")
        self._labels = told_apart(names, metrics.horizontalAdvance, room)
        self._add("kernel", "kernel", self.kernel.toolTip(), self.kernel)
        for name, tip in shown.items():
            self._add_text(name, name, tip, LaunchLine(str(getattr(launch, name))))
        texts = dict(launch.arguments)
        for parameter in signature:
            text = texts.get(parameter.name, "")
            is_array = parameter.is_array and not parameter.is_tensor_map
            field = ArrayField(parameter, text) if is_array else LaunchLine(text)
            tip = f"{parameter.type} {parameter.name}"
            self._add_text(f"arg:{parameter.name}", parameter.name, tip, field)
        self.grid.setRowStretch(2 * len(self.fields), 1)

    def show_kernels(self, names: Sequence[str], shown: str) -> None:
        with QSignalBlocker(self.kernel):
            self.kernel.clear()
            self.kernel.addItems(list(names))
            self.kernel.setCurrentText(shown)

    def texts(self) -> dict[str, str]:
        return {name: field.text() for name, field in self._typed.items()}

    def show_texts(self, texts: Mapping[str, str]) -> None:
        for name in self._typed.keys() & texts.keys():
            self._typed[name].set_text(texts[name])

    def show_errors(self, sentences: Mapping[str, str]) -> None:
        for name, field in self.fields.items():
            sentence, label = clipped(in_window(sentences.get(name, ""))), self.errors[name]
            if sentence == label.text():
                continue
            label.setText(sentence)
            label.setVisible(bool(sentence))
            field.setAccessibleDescription(sentence)
            for edit in [field, *field.findChildren(QLineEdit)]:
                set_style(edit, "wrong", bool(sentence))

    def _add_text(self, name: str, label: str, tip: str, field: ArrayField | LaunchLine) -> None:
        field.textEdited.connect(lambda _: self.edited.emit())
        self._typed[name] = field
        self._add(name, label, tip, field)

    def _add(self, name: str, label: str, tip: str, field: QWidget) -> None:
        row = 2 * len(self.fields)
        shown = self._labels.get(label, label)
        words = styled_label(shown, plain=True)
        words.setToolTip(tip if shown == label else f"{label}: {tip}")
        words.setBuddy(field)
        if not field.accessibleName():
            field.setAccessibleName(tip)
        field.setToolTip(tip)
        self.grid.addWidget(words, row, 0)
        self.grid.addWidget(field, row, 1)
        self.fields[name] = field
        self.errors[name] = error = styled_label(role="error", wrap=True, plain=True)
        error.hide()
        self.grid.addWidget(error, row + 1, 0, 1, 2)


# Numbers of a user's own kernel as fields with sliders, truth values as switches.


KNOB_DEBOUNCE_MS = 250
KNOB_LABEL, TRACK = 9, 6  # digits: what a name has at most, and a slider at least


class KnobRows(QWidget):
    """`turned(kind, name, value)`: a number was dragged, or typed and left alone, or switched."""

    turned = Signal(str, str, int)

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[KnobRow, ...] = ()
        self.fields: dict[str, StopSpin] = {}
        self.sliders: dict[str, StopSlider] = {}
        self.switches: dict[str, Segmented] = {}
        self._typed: dict[str, KnobRow] = {}  # and not announced yet
        self._timer = QTimer(self, singleShot=True, interval=KNOB_DEBOUNCE_MS)
        self._timer.timeout.connect(self._announce)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)
        self.hide()

    def show_rows(self, rows: tuple[KnobRow, ...]) -> None:
        """Show numbers, without a signal; a slider that is being dragged stays as it is."""
        shapes = [[(r.kind, r.name, r.switch) for r in every] for every in (rows, self.rows)]
        if shapes[0] != shapes[1]:
            self._build(rows)
        self.rows = rows
        for row in rows:
            if row.switch:
                self.switches[row.name].value = str(row.value)
                continue
            slider, field = self.sliders[row.name], self.fields[row.name]
            if slider.isSliderDown() or field.hasFocus():
                continue
            stops = slider.stops if row.value in slider.stops else row.stops
            slider.show_stops(stops, row.value)
            field.stops = stops
            with QSignalBlocker(field):
                field.setValue(row.value)

    def _build(self, rows: tuple[KnobRow, ...]) -> None:
        empty(self._grid)
        self._timer.stop()
        self._typed = {}
        self.fields, self.sliders, self.switches = {}, {}, {}
        metrics = QFontMetricsF(self.font())
        digit = metrics.horizontalAdvance("0")
        shown = told_apart([r.name for r in rows], metrics.horizontalAdvance, KNOB_LABEL * digit)
        for place, row in enumerate(rows):
            label = styled_label(shown[row.name], plain=True)
            label.setToolTip(row.tip if shown[row.name] == row.name else f"{row.name}: {row.tip}")
            self._grid.addWidget(label, place, 0)
            if row.switch:
                self._add_switch(row, place)
            else:
                self._add_number(row, place, label)
        self.restyle()

    def _add_switch(self, row: KnobRow, place: int) -> None:
        switch = Segmented(**{"0": ("off", row.tip), "1": ("on", row.tip)})
        for key, word in (("0", "off"), ("1", "on")):
            switch.button(key).setAccessibleName(f"{row.name} {word}")
        switch.chosen.connect(lambda key: self.turned.emit(row.kind, row.name, int(key)))
        self._grid.addWidget(switch, place, 1, 1, 2, Qt.AlignmentFlag.AlignRight)
        self.switches[row.name] = switch

    def _add_number(self, row: KnobRow, place: int, label: QLabel) -> None:
        field = named(StopSpin(), row.name, row.tip)
        field.setRange(-(2**31), 2**31 - 1)
        field.setValue(row.value)
        field.valueChanged.connect(lambda _: self._on_typed(row))
        label.setBuddy(field)
        slider = StopSlider(row.name)
        slider.show_stops(row.stops, row.value)
        slider.dragged.connect(lambda value: self._on_dragged(row, value))
        self._grid.addWidget(slider, place, 1)
        self._grid.addWidget(field, place, 2)
        self.fields[row.name], self.sliders[row.name] = field, slider

    def restyle(self) -> None:
        """Give the fields and sliders the room that they need in their type."""
        digit = QFontMetricsF(self.font()).horizontalAdvance("0")
        self._grid.setColumnMinimumWidth(1, round(TRACK * digit))
        for field in self.fields.values():
            field.setFixedWidth(_field_width())

    def _on_dragged(self, row: KnobRow, value: int) -> None:
        self._typed.pop(row.name, None)
        with QSignalBlocker(self.fields[row.name]):
            self.fields[row.name].setValue(value)
        self.turned.emit(row.kind, row.name, value)

    def _on_typed(self, row: KnobRow) -> None:
        self.sliders[row.name].show_value(self.fields[row.name].value())
        self._typed[row.name] = row
        self._timer.start()

    def _announce(self) -> None:
        typed, self._typed = self._typed, {}
        for row in typed.values():
            self.turned.emit(row.kind, row.name, self.fields[row.name].value())


class RungRows(QWidget):
    """A row for each parameter. `typed()` in a field, `dragged(parameter, value)`."""

    typed = Signal()
    dragged = Signal(str, int)

    def __init__(self, rung: Rung, values: Mapping[str, int]) -> None:
        super().__init__()
        self.rung = rung
        self.editors: dict[str, QSpinBox | QComboBox] = {}  # by the parameter's name
        self.sliders: dict[str, StopSlider] = {}
        self.grid = QGridLayout(self)
        self.grid.setColumnStretch(0, 1)
        self.grid.setContentsMargins(0, 0, 0, 0)
        self.grid.setVerticalSpacing(2)
        for parameter in self.rung.parameters:
            self._add(parameter)
        self.restyle()
        self.put(values)
        self.fit_sliders()

    def values(self) -> dict[str, int]:
        found = {}
        for name, editor in self.editors.items():
            if isinstance(editor, QSpinBox):
                found[name] = editor.value()
            else:
                text = editor.currentText().strip()
                found[name] = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else 0
        return found

    def put(self, values: Mapping[str, int]) -> None:
        """Fill fields without a signal; the sliders follow by `fit_sliders`."""
        for name in self.editors.keys() & values.keys():
            editor, value = self.editors[name], values[name]
            with QSignalBlocker(editor):
                if isinstance(editor, QSpinBox):
                    editor.setValue(value)
                else:
                    editor.setCurrentIndex(editor.findText(str(value)))
                    editor.setEditText(str(value))

    def fit_sliders(self, leave: str = "") -> None:
        """Have the sliders but one offer what can be launched with the other values."""
        values = self.values()
        for name, slider in self.sliders.items():
            if name == leave:  # its stops depend on the others alone
                continue
            found = stops(self.rung, name, values)
            if found == (values[name],) and not self.rung.accepts(**values):
                found = tuple(sorted({*slider.stops, *found}))  # the fault is another field's
            slider.show_stops(found, values[name])
            editor = self.editors[name]
            if isinstance(editor, StopSpin):
                editor.stops = found

    def show_error(self, sentence: str) -> None:
        """Mark the fields that a sentence names; an empty one marks none."""
        for name, editor in self.editors.items():
            wrong = bool(sentence) and (name in sentence.split() or len(self.editors) == 1)
            set_style(editor, "wrong", wrong)

    def restyle(self) -> None:
        for editor in self.editors.values():
            editor.setFixedWidth(_field_width())
        for slider in self.sliders.values():
            slider.updateGeometry()

    def _add(self, parameter: Parameter) -> None:
        row = 2 * len(self.editors)
        label = styled_label(parameter.label, wrap=True)
        editor = named(self._editor(parameter), parameter.label)
        label.setBuddy(editor)
        tip = f"{parameter.minimum} to {parameter.maximum}"
        editor.setToolTip(f"{tip}: {parameter.why}" if parameter.why else tip)
        slider = StopSlider(parameter.label)
        slider.dragged.connect(lambda value: self.dragged.emit(parameter.name, value))
        self.grid.addWidget(label, row, 0)
        self.grid.addWidget(editor, row, 1)
        self.grid.addWidget(slider, row + 1, 0, 1, 2)
        self.editors[parameter.name] = editor
        self.sliders[parameter.name] = slider

    def _editor(self, parameter: Parameter) -> QSpinBox | QComboBox:
        if parameter.choices:
            combo = QComboBox(editable=True, insertPolicy=QComboBox.InsertPolicy.NoInsert)
            combo.addItems([str(choice) for choice in parameter.choices])
            combo.editTextChanged.connect(lambda _: self.typed.emit())
            return combo
        spin = StopSpin()
        spin.setRange(min(0, parameter.minimum), 2**31 - 1)  # the rung says what is out of range
        spin.valueChanged.connect(lambda _: self.typed.emit())
        return spin


def _field_width() -> int:
    return round(current_theme().spacing.control * 2.7)


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
        self.choice = named(QComboBox(), "Inputs of the kernel", TIP)
        self.choice.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.label.setBuddy(self.choice)
        for name in INPUTS:
            title, tip = NAMES[name]
            self.choice.addItem(title, name)
            self.choice.setItemData(self.choice.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
        self.choice.activated.connect(self._choose)
        side_by_side(self, self.label, (self.choice, 1))
        self.hide()

    def follow(self, session: Session) -> None:
        self.session = session
        session.inputs_changed.connect(self._show)
        self._show(session.inputs)
        self.show()

    def show_rung(self, shown: bool) -> None:
        """Show it for a rung; a file's arrays are said in its form."""
        self.setVisible(shown and self.session is not None)

    def restore_default(self) -> None:
        if self.session is not None:
            self.session.inputs = INPUTS[0]

    def _show(self, inputs: str) -> None:
        with QSignalBlocker(self.choice):
            self.choice.setCurrentIndex(self.choice.findData(inputs))

    def _choose(self, at: int) -> None:
        if self.session is not None:
            self.session.inputs = self.choice.itemData(at)


# Which way threadIdx.x runs through the matrices, where a rung has a twin that runs the other.


TIPS = {
    "columns": "Neighbouring threads of a warp take neighbouring columns of C",
    "rows": "Neighbouring threads of a warp take neighbouring rows of C",
}


class MappingRow(QWidget):
    """A switch of two ways: `chosen(rung)` names the rung that has the one that was clicked."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.rung: Rung | None = None
        self.label = label = QLabel("x runs along")
        label.setToolTip("What neighbouring values of threadIdx.x choose: the mapping")
        self.ways = named(Segmented(**{way: (way, TIPS[way]) for way in WAYS}), "x runs along")
        for way in WAYS:
            self.ways.button(way).setAccessibleName(f"x runs along {way}")
        self.ways.chosen.connect(self._choose)
        self._row = side_by_side(self, (label, 1), self.ways, gap=4)
        self.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the switch below its label where there is no room beside it."""
        super().resizeEvent(event)
        need = self.label.sizeHint().width() + self.ways.sizeHint().width() + self._row.spacing()
        ways = QBoxLayout.Direction
        self._row.setDirection(ways.LeftToRight if need <= self.width() else ways.TopToBottom)

    def minimumSizeHint(self) -> QSize:
        return QSize(self.ways.sizeHint().width(), super().minimumSizeHint().height())

    def show_rung(self, rung: Rung | None) -> None:
        """Show a rung's way, without a signal; nothing where there is no other."""
        self.rung = rung
        mapping = rung.mapping if rung is not None else None
        if mapping is not None:
            self.ways.value = mapping.x
        self.setVisible(mapping is not None)

    def _choose(self, way: str) -> None:
        if self.rung is not None and self.rung.mapping is not None:
            for found, name in self.rung.mapping.rungs(self.rung.name).items():
                if found == way and name != self.rung.name:
                    self.chosen.emit(name)


FILE_DEBOUNCE_MS = 400


class FileForm(Fields):
    """Edits a `FileLaunch`; `changed(FileLaunch)` follows the last edit after a short rest.

    `kernel_chosen(name)` asks for another kernel of the file.
    """

    changed = Signal(object)
    kernel_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.launch: FileLaunch | None = None
        self._rows: LaunchRows | None = None
        self._timer = QTimer(self, singleShot=True, interval=FILE_DEBOUNCE_MS)
        self._timer.timeout.connect(self._announce)

    @property
    def fields(self) -> Mapping[str, QWidget]:
        """The fields by name; an argument's is that of `arg:` and its own."""
        return self._rows.fields if self._rows is not None else {}

    @property
    def errors(self) -> Mapping[str, QLabel]:
        """What is said below each field, by the field's name."""
        return self._rows.errors if self._rows is not None else {}

    @property
    def kernels(self) -> int:
        return self._rows.kernel.count() if self._rows is not None else 0

    def minimumSizeHint(self) -> QSize:
        return QScrollArea.minimumSizeHint(self)

    def show_launch(
        self, launch: FileLaunch, kernels: Sequence[str], signature: Sequence[KernelParameter]
    ) -> None:
        self._timer.stop()
        shown = self.current()
        self.launch = launch
        if self._rows is not None and launch == shown:
            self._rows.show_kernels(kernels, launch.kernel)
        else:
            rows = LaunchRows(self.viewport(), launch, kernels, signature)
            rows.kernel.activated.connect(
                lambda _: self.kernel_chosen.emit(rows.kernel.currentText())
            )
            rows.edited.connect(self._timer.start)
            self._rows = rows
            self.take(rows, rows.grid)

    def current(self) -> FileLaunch | None:
        """The launch as the fields say, None before the first."""
        if self.launch is None or self._rows is None:
            return None
        texts = self._rows.texts()
        return replace(
            self.launch,
            **{name: texts[name] for name in LAUNCH_FIELDS if name in texts},
            arguments=tuple((n, texts.get(f"arg:{n}", text)) for n, text in self.launch.arguments),
        )

    def follow(self, launch: FileLaunch) -> None:
        """Show a launch that differs in its texts alone, in the fields that there are."""
        now = self.current()
        if now is None or now == launch or self._rows is None:
            return
        if [name for name, _ in now.arguments] != [name for name, _ in launch.arguments]:
            return
        self._timer.stop()
        self.launch = launch
        texts = {name: str(getattr(launch, name)) for name in LAUNCH_FIELDS}
        self._rows.show_texts(texts | {f"arg:{name}": text for name, text in launch.arguments})

    def show_errors(self, sentences: Mapping[str, str]) -> None:
        if self._rows is None:
            return
        self._rows.show_errors(sentences)
        errors = self._rows.errors
        first = next((label for name, label in errors.items() if sentences.get(name)), None)
        if first is not None:
            QTimer.singleShot(0, first, lambda: self.ensureWidgetVisible(first, 0, 8))

    def _announce(self) -> None:
        launch = self.current()
        if launch is not None and launch != self.launch:
            self.launch = launch
            self.changed.emit(launch)


DEBOUNCE_MS = 120
FACTS = 3  # lines that have room without a field moving for them
MOST_FACTS = 12


class ConfigurationForm(QWidget):
    """Edits a rung's parameters: `changed(values)`, or asks for its twin: `mapped(rung)`.

    What is typed is announced after a short rest, what is dragged as fast as it can be recorded.
    """

    changed = Signal(dict)
    mapped = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._rows: RungRows | None = None
        self.live = Coalescer(self)
        self.live.released.connect(self.changed.emit)
        self.file = FileForm()  # in place of the fields while a user's file is shown
        self.file.hide()
        self.knobs = KnobRows()  # numbers of that file
        self.mapping = MappingRow()
        self.mapping.chosen.connect(self.mapped)
        self.inputs = InputsRow()
        self.fields = Fields()
        self.error = styled_label(role="error", wrap=True, plain=True)
        self.error.hide()
        self._over: AtLowerEdge | None = None  # where the error stands, if not below the fields
        # A caption asks for its lines at its width; for a wrapped label's the layout takes room
        # from the rows above, below what they need at least.
        self.facts = Caption(role="dim")
        self.facts.may_take(MOST_FACTS, FACTS)
        self.progress = QProgressBar(textVisible=False, maximum=1000)
        self.progress.setToolTip("Recording; Ctrl+. stops it")
        policy = self.progress.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.progress.setSizePolicy(policy)
        self.progress.hide()
        tip = "Back to the rung's default configuration"
        self.reset = icon_button(tip, "Default configuration")
        self.reset.clicked.connect(self.restore_defaults)
        above = (self.mapping, self.fields, self.inputs, self.knobs)
        below = (self.error, self.facts, self.progress)
        stacked(self, *above, (self.file, 1), *below, gap=6)
        self._timer = QTimer(self, singleShot=True, interval=DEBOUNCE_MS)
        self._timer.timeout.connect(lambda: self.changed.emit(self.values()))
        self.restyle()

    def say_over(self, area: QWidget) -> None:
        """Say what is wrong over another part of the window: the fields stay where they are."""
        self._over = AtLowerEdge(area)
        stacked(self._over, self.error, edges=(8, 4, 8, 4))

    def watch(self, recorder: Worker) -> None:
        """Show how far its jobs are, and announce what is dragged at their pace."""
        self.live.watch(recorder)
        recorder.progressed.connect(self.show_progress)
        recorder.idle.connect(lambda: self.show_progress(None))

    def show_rung(self, rung: Rung, values: Mapping[str, int] | None = None) -> None:
        """Show the fields of a rung with values (its defaults where left out), without a signal."""
        wanted = {**rung.defaults, **(values or {})}
        self._timer.stop()
        self.live.drop()
        if self._rows is None or self._rows.rung is not rung:
            rows = RungRows(rung, wanted)
            rows.typed.connect(self._typed)
            rows.dragged.connect(self._drag)
            self.fields.take(rows, rows.grid)
            self._rows = rows
            self.mapping.show_rung(rung)
            before: QWidget = self.reset
            for field in (*self.mapping.ways.findChildren(QToolButton), *rows.editors.values()):
                QWidget.setTabOrder(before, field)
                before = field
        else:
            self._rows.put(wanted)
            self._rows.fit_sliders()
        self.file.hide()
        self.knobs.hide()
        self.fields.show()
        self.inputs.show_rung(True)
        self.show_error("")

    def shows(self, rung: Rung, values: Mapping[str, int]) -> bool:
        return self.rung is rung and self.values() == dict(values)

    def show_mapping(self, configuration: Configuration) -> None:
        """Show the rung's way, unless its text is edited: that may run any way."""
        self.mapping.show_rung(self.rung if configuration.source is None else None)

    def show_file(self) -> None:
        self._rows = None
        self._timer.stop()
        self.live.drop()
        self.fields.take(None)
        self.mapping.show_rung(None)
        self.show_error("")
        self.fields.hide()
        self.inputs.show_rung(False)
        self.file.show()

    def show_knobs(self, rows: tuple[KnobRow, ...]) -> None:
        self.knobs.show_rows(rows)
        self.knobs.setVisible(bool(rows) and not self.file.isHidden())

    @property
    def rung(self) -> Rung | None:
        """The rung that is shown, None for a user's kernel."""
        return self._rows.rung if self._rows is not None else None

    @property
    def editors(self) -> Mapping[str, QSpinBox | QComboBox]:
        return self._rows.editors if self._rows is not None else {}

    @property
    def sliders(self) -> Mapping[str, StopSlider]:
        return self._rows.sliders if self._rows is not None else {}

    def values(self) -> dict[str, int]:
        return self._rows.values() if self._rows is not None else {}

    def restore_defaults(self) -> None:
        if self.rung is not None:
            self.show_rung(self.rung)
            self.inputs.restore_default()
            self._timer.start()
        elif self.file.launch is not None:
            self.file.kernel_chosen.emit(self.file.launch.kernel)

    def show_error(self, sentence: str) -> None:
        """Show what is wrong with the values; an empty sentence clears it."""
        self.error.setText(clipped(in_window(sentence)))
        self.error.setVisible(bool(sentence))
        if self._over is not None:
            self._over.setVisible(bool(sentence))
            self._over.place()
        if self._rows is not None:
            self._rows.show_error(sentence)

    def report(self, error: object) -> bool:
        """Show at the fields what is wrong with them, None for nothing; whether they show it."""
        if error is None:
            self.show_error("")
            self.file.show_errors({})
        elif isinstance(error, ParameterError):
            self.show_error(str(error))
        elif isinstance(error, FieldErrors):
            self.file.show_errors(dict(error.fields))
        return isinstance(error, ParameterError | FieldErrors)

    def show_facts(self, sentence: str) -> None:
        self.facts.setText(sentence)

    def show_progress(self, fraction: float | None) -> None:
        self.progress.setVisible(fraction is not None)
        self.progress.setValue(int(1000 * (fraction or 0.0)))

    def restyle(self) -> None:
        set_icon(self.reset, "reset", size=16)
        self.knobs.restyle()
        if self._rows is not None:
            self._rows.restyle()

    def _drag(self, name: str, value: int) -> None:
        assert self._rows is not None
        self._timer.stop()
        self.show_error("")
        self._rows.put({name: value})
        self._rows.fit_sliders(leave=name)
        self.live.offer(self._rows.values())

    def _typed(self) -> None:
        assert self._rows is not None
        self.live.drop()
        self.show_error("")  # whether it is still wrong is said once it is tried
        self._rows.fit_sliders()
        self._timer.start()


KEYS = {"block": "Ctrl+Down, Ctrl+Up", "warp": "Shift+Down, Shift+Up", "lane": "Down, Up"}


class SelectionForm(QWidget):
    """Which block, warp and lane the views look at. Writes to the session only."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        layout = side_by_side(self, gap=4)
        self._boxes: dict[str, QSpinBox] = {}
        for name in ("block", "warp", "lane"):
            label = styled_label(name, role="dim")
            box = named(QSpinBox(), name, f"The {name} that the views look at ({KEYS[name]})")
            box.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.UpDownArrows)
            box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            box.setAlignment(Qt.AlignmentFlag.AlignRight)
            layout.addLayout(stacked(None, label, box, gap=1))
            self._boxes[name] = box
            box.valueChanged.connect(lambda value, key=name: setattr(self.session, key, value))
        session.changed.connect(self._follow)
        self._follow(frozenset({"trace", "block", "thread"}))

    def _follow(self, names: frozenset[str]) -> None:
        if not names & {"trace", "block", "thread"}:
            return
        trace, session = self.session.block_trace, self.session
        limits = {
            "block": session.trace.workload.launch.grid.count - 1 if session.trace else 0,
            "warp": trace.n_warps - 1 if trace else 0,
            "lane": min(WARP - 1, trace.n_threads - 1) if trace else 0,
        }
        for name, box in self._boxes.items():
            with QSignalBlocker(box):
                box.setRange(0, limits[name])
                box.setValue(getattr(session, name))
