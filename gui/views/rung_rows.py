"""The parameters of one rung: a label, a field and a slider each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QSpinBox, QWidget

from gui.frames.pieces import Steps
from gui.looks.theme import current_theme
from gui.scenes.stops import stops
from gui.views.stop_slider import StopSlider, StopSpin

if TYPE_CHECKING:
    from core.ladder import Parameter, Rung


class RungRows(QWidget):
    """The rows are there after `building`. `typed()` in a field, `dragged(parameter, value)`."""

    typed = Signal()
    dragged = Signal(str, int)

    def __init__(self, parent: QWidget, rung: Rung) -> None:
        super().__init__(parent)
        self.rung = rung
        self.editors: dict[str, QSpinBox | QComboBox] = {}  # by the parameter's name
        self.sliders: dict[str, StopSlider] = {}
        self.grid = QGridLayout(self)
        self.grid.setColumnStretch(0, 1)
        self.grid.setContentsMargins(0, 0, 0, 0)
        self.grid.setVerticalSpacing(2)

    def building(self, values: Mapping[str, int]) -> Steps:
        """Make a row for each parameter, piece by piece, dressed as the window is."""
        for parameter in self.rung.parameters:
            self._add(parameter)
            yield
        self.put(values)
        yield
        for widget in (self, *self.findChildren(QWidget)):
            widget.ensurePolished()
            yield
        yield from self.fitting_sliders()
        self.grid.activate()
        yield

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

    def put(self, values: Mapping[str, int]) -> None:
        """Fill fields without a signal; the sliders follow by `fitting_sliders`."""
        for name in self.editors.keys() & values.keys():
            editor, value = self.editors[name], values[name]
            with QSignalBlocker(editor):
                if isinstance(editor, QSpinBox):
                    editor.setValue(value)
                else:
                    editor.setCurrentIndex(editor.findText(str(value)))
                    editor.setEditText(str(value))

    def fitting_sliders(self, leave: str = "") -> Steps:
        """Have the sliders but one offer what can be launched with the other values."""
        values = self.values()
        for name, slider in self.sliders.items():
            if name == leave:  # its stops depend on the others alone
                continue
            found = stops(self.rung, name, values)
            slider.show_stops(found, values[name])
            editor = self.editors[name]
            if isinstance(editor, StopSpin):
                editor.stops = found
            yield

    def show_error(self, sentence: str) -> None:
        """Mark the fields that a sentence names; an empty one marks none."""
        for name, editor in self.editors.items():
            wrong = bool(sentence) and (name in sentence.split() or len(self.editors) == 1)
            if bool(editor.property("wrong")) != wrong:
                editor.setProperty("wrong", wrong)
                editor.style().unpolish(editor)
                editor.style().polish(editor)

    def restyle(self) -> None:
        """Take up the theme's sizes."""
        for editor in self.editors.values():
            editor.setFixedWidth(_field_width())
        for slider in self.sliders.values():
            slider.updateGeometry()

    def _add(self, parameter: Parameter) -> None:
        row = 2 * len(self.editors)
        label = QLabel(parameter.label)
        label.setWordWrap(True)
        editor = self._editor(parameter)
        label.setBuddy(editor)
        tip = f"{parameter.minimum} to {parameter.maximum}"
        editor.setToolTip(f"{tip}: {parameter.why}" if parameter.why else tip)
        editor.setAccessibleName(parameter.label)
        slider = StopSlider(parameter.label)
        slider.dragged.connect(lambda value: self.dragged.emit(parameter.name, value))
        self.grid.addWidget(label, row, 0)
        self.grid.addWidget(editor, row, 1)
        self.grid.addWidget(slider, row + 1, 0, 1, 2)
        self.editors[parameter.name] = editor
        self.sliders[parameter.name] = slider

    def _editor(self, parameter: Parameter) -> QSpinBox | QComboBox:
        if parameter.choices:
            combo = QComboBox()
            combo.setEditable(True)
            combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            combo.addItems([str(choice) for choice in parameter.choices])
            combo.setFixedWidth(_field_width())
            combo.editTextChanged.connect(lambda _: self.typed.emit())
            return combo
        spin = StopSpin()
        spin.setRange(min(0, parameter.minimum), 2**31 - 1)  # the rung says what is out of range
        spin.setFixedWidth(_field_width())
        spin.valueChanged.connect(lambda _: self.typed.emit())
        return spin


def _field_width() -> int:
    return round(current_theme().spacing.control * 2.7)
