"""The chosen rung's parameters as fields with sliders, and the launch that they make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QProgressBar,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.frames.coalescing import Coalescer
from gui.frames.pieces import Steps, whole
from gui.looks.style import set_icon
from gui.looks.theme import current_theme
from gui.scenes.stops import stops
from gui.scenes.text import clipped, spaced
from gui.views.fields import Fields
from gui.views.file_form import FileForm
from gui.views.inputs_row import InputsRow
from gui.views.knob_rows import KnobRows
from gui.views.mapping_row import MappingRow
from gui.views.stop_slider import StopSlider, StopSpin

if TYPE_CHECKING:
    from core.ladder import Parameter, Rung
    from gui.commands.recording import Recorder
    from gui.scenes.knobs import KnobRow

DEBOUNCE_MS = 120


class ConfigurationForm(QWidget):
    """Edits a rung's parameters: `changed(values)`, or asks for its twin: `mapped(rung)`.

    What is typed is announced after a short rest, what is dragged as fast as it can be recorded.
    """

    changed = Signal(dict)
    mapped = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.rung: Rung | None = None
        self.editors: dict[str, QSpinBox | QComboBox] = {}  # by the parameter's name
        self.sliders: dict[str, StopSlider] = {}
        self.live = Coalescer(self)
        self.live.released.connect(self.changed.emit)
        self.file = FileForm()  # in place of the fields while a user's file is shown
        self.file.hide()
        self.knobs = KnobRows()  # numbers of that file
        self.mapping = MappingRow()
        self.mapping.chosen.connect(self.mapped)
        self.inputs = InputsRow()
        self.fields = Fields()
        self._grid = self.fields.grid
        self.error = QLabel()
        self.error.setProperty("role", "error")
        self.error.setTextFormat(Qt.TextFormat.PlainText)
        self.error.setWordWrap(True)
        self.error.hide()
        self.facts = QLabel()
        self.facts.setProperty("role", "dim")
        self.facts.setWordWrap(True)
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress.setRange(0, 1000)
        self.progress.setToolTip("Recording; Ctrl+. stops it")
        policy = self.progress.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.progress.setSizePolicy(policy)
        self.progress.hide()
        self.reset = QToolButton()
        self.reset.setToolTip("Back to the rung's default configuration")
        self.reset.setAccessibleName("Default configuration")
        self.reset.clicked.connect(self.restore_defaults)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.mapping)
        layout.addWidget(self.fields)
        layout.addWidget(self.inputs)
        layout.addWidget(self.knobs)
        layout.addWidget(self.file, 1)
        layout.addWidget(self.error)
        layout.addWidget(self.facts)
        layout.addWidget(self.progress)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DEBOUNCE_MS)
        self._timer.timeout.connect(lambda: self.changed.emit(self.values()))
        self.restyle()

    def watch(self, recorder: Recorder) -> None:
        """Follow who records: progress, and what is dragged at the pace of its jobs."""
        self.live.watch(recorder)
        recorder.progressed.connect(self.show_progress)
        recorder.stopped.connect(lambda: self.show_progress(None))

    def show_rung(self, rung: Rung, values: Mapping[str, int] | None = None) -> None:
        """Show the fields of a rung with values (its defaults where left out), without a signal."""
        whole(self.showing(rung, values))

    def showing(self, rung: Rung, values: Mapping[str, int] | None = None) -> Steps:
        """`show_rung`, piece by piece; `rung` is the shown one after the last."""
        self.file.hide()
        self.knobs.hide()
        self.fields.show()
        self.inputs.show_rung(True)
        yield
        if rung is not self.rung:
            self._clear()
            yield from self._building(rung)
            self.mapping.show_rung(rung)
            self.rung = rung
            yield
        self._put_all({p.name: (values or {}).get(p.name, p.default) for p in rung.parameters})
        yield from self._fitting_sliders()
        self.show_error("")

    def show_file(self) -> None:
        """Show the form of a user's kernel in place of a rung's fields."""
        self._clear()
        self.mapping.show_rung(None)
        self.show_error("")
        self.fields.hide()
        self.inputs.show_rung(False)
        self.file.show()

    def show_knobs(self, rows: tuple[KnobRow, ...]) -> None:
        """Show the numbers of the file that is shown."""
        self.knobs.show_rows(rows)
        self.knobs.setVisible(bool(rows) and self.rung is None)

    def values(self) -> dict[str, int]:
        """What the fields hold."""
        found = {}
        for name, editor in self.editors.items():
            if isinstance(editor, QSpinBox):
                found[name] = editor.value()
            else:
                text = editor.currentText().strip()
                found[name] = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else 0
        return found

    def set_values(self, values: Mapping[str, int]) -> None:
        """Fill the fields without a signal."""
        self._put_all(values)
        self._fit_sliders()

    def _put_all(self, values: Mapping[str, int]) -> None:
        for name in self.editors.keys() & values.keys():
            self._put(name, values[name])

    def restore_defaults(self) -> None:
        """Put the rung's defaults into the fields and announce them."""
        if self.rung is not None:
            self.show_rung(self.rung)
            self.inputs.restore_default()
            self._timer.start()
        elif self.file.launch is not None:
            self.file.kernel_chosen.emit(self.file.launch.kernel)

    def show_error(self, sentence: str) -> None:
        """Show what is wrong with the values; an empty sentence clears it."""
        self.error.setText(clipped(spaced(sentence)))
        self.error.setVisible(bool(sentence))
        for name, editor in self.editors.items():
            wrong = bool(sentence) and (name in sentence.split() or len(self.editors) == 1)
            if editor.property("wrong") != wrong:
                editor.setProperty("wrong", wrong)
                editor.style().unpolish(editor)
                editor.style().polish(editor)

    def show_facts(self, sentence: str) -> None:
        """Say what the shown launch is."""
        self.facts.setText(sentence)

    def show_progress(self, fraction: float | None) -> None:
        """Show how far the recording is, None when there is none."""
        self.progress.setVisible(fraction is not None)
        self.progress.setValue(int(1000 * (fraction or 0.0)))

    def restyle(self) -> None:
        """Take up the theme's icons."""
        set_icon(self.reset, "reset", size=16)
        for editor in self.editors.values():
            editor.setFixedWidth(self._field_width())
        for slider in self.sliders.values():
            slider.updateGeometry()

    @staticmethod
    def _field_width() -> int:
        return round(current_theme().spacing.control * 2.7)

    def _clear(self) -> None:
        self.rung = None
        self._timer.stop()
        self.live.drop()
        while self._grid.count():
            item = self._grid.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.editors, self.sliders = {}, {}

    def _building(self, rung: Rung) -> Steps:
        before: QWidget = self.reset
        for button in self.mapping.ways.findChildren(QToolButton):
            QWidget.setTabOrder(before, button)
            before = button
        for row, parameter in enumerate(rung.parameters):
            label = QLabel(parameter.label)
            label.setWordWrap(True)
            editor = self._editor(parameter)
            label.setBuddy(editor)
            tip = f"{parameter.minimum} to {parameter.maximum}"
            editor.setToolTip(f"{tip}: {parameter.why}" if parameter.why else tip)
            editor.setAccessibleName(parameter.label)
            slider = StopSlider(parameter.label)
            slider.dragged.connect(lambda value, key=parameter.name: self._drag(key, value))
            self._grid.addWidget(label, 2 * row, 0)
            self._grid.addWidget(editor, 2 * row, 1)
            self._grid.addWidget(slider, 2 * row + 1, 0, 1, 2)
            self.editors[parameter.name] = editor
            self.sliders[parameter.name] = slider
            QWidget.setTabOrder(before, editor)
            before = editor
            yield

    def _drag(self, name: str, value: int) -> None:
        self._timer.stop()
        self._put(name, value)
        self._fit_sliders(leave=name)
        self.live.offer(self.values())

    def _typed(self) -> None:
        self.live.drop()
        self._fit_sliders()
        self._timer.start()

    def _put(self, name: str, value: int) -> None:
        editor = self.editors[name]
        with QSignalBlocker(editor):
            if isinstance(editor, QSpinBox):
                editor.setValue(value)
            else:
                editor.setCurrentIndex(editor.findText(str(value)))
                editor.setEditText(str(value))

    def _fit_sliders(self, leave: str = "") -> None:
        """Have the sliders offer what can be launched with the other values."""
        whole(self._fitting_sliders(leave))

    def _fitting_sliders(self, leave: str = "") -> Steps:
        rung, values = self.rung, self.values()
        if rung is None:
            return
        for name, slider in self.sliders.items():
            if name == leave:  # its stops depend on the others alone
                continue
            found = stops(rung, name, values)
            slider.show_stops(found, values[name])
            editor = self.editors[name]
            if isinstance(editor, StopSpin):
                editor.stops = found
            yield

    def _editor(self, parameter: Parameter) -> QSpinBox | QComboBox:
        width = self._field_width()
        if parameter.choices:
            combo = QComboBox()
            combo.setEditable(True)
            combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            combo.addItems([str(choice) for choice in parameter.choices])
            combo.setFixedWidth(width)
            combo.editTextChanged.connect(lambda _: self._typed())
            return combo
        spin = StopSpin()
        spin.setRange(min(0, parameter.minimum), 2**31 - 1)  # the rung says what is out of range
        spin.setFixedWidth(width)
        spin.valueChanged.connect(lambda _: self._typed())
        return spin
