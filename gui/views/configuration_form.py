"""The chosen rung's parameters as a form, and the launch that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QSizePolicy,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.style import set_icon
from gui.theme import current_theme
from gui.views.file_form import FileForm

if TYPE_CHECKING:
    from core.ladder import Parameter, Rung
    from gui.scenes.session import Session

DEBOUNCE_MS = 120


class ConfigurationForm(QWidget):
    """Edits a rung's parameters; `changed(values)` follows the last edit after a short rest."""

    changed = Signal(dict)

    def __init__(self) -> None:
        super().__init__()
        self.rung: Rung | None = None
        self.editors: dict[str, QSpinBox | QComboBox] = {}  # by the parameter's name
        self.file = FileForm()  # in place of the fields while a user's file is shown
        self.file.hide()
        self._grid = QGridLayout()
        self._grid.setColumnStretch(0, 1)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(6)
        self.error = QLabel()
        self.error.setProperty("role", "error")
        self.error.setWordWrap(True)
        self.error.hide()
        self.facts = QLabel()
        self.facts.setProperty("role", "dim")
        self.facts.setWordWrap(True)
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.progress.setRange(0, 1000)
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
        layout.addLayout(self._grid)
        layout.addWidget(self.file, 1)
        layout.addWidget(self.error)
        layout.addWidget(self.facts)
        layout.addWidget(self.progress)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DEBOUNCE_MS)
        self._timer.timeout.connect(lambda: self.changed.emit(self.values()))
        self.restyle()

    def show_rung(self, rung: Rung, values: Mapping[str, int] | None = None) -> None:
        """Show the fields of a rung with values (its defaults where left out), without a signal."""
        self.file.hide()
        if rung is not self.rung:
            self._clear()
            self._build(rung)
        self.set_values({p.name: (values or {}).get(p.name, p.default) for p in rung.parameters})
        self.show_error("")

    def show_file(self) -> None:
        """Show the form of a user's kernel in place of a rung's fields."""
        self._clear()
        self.show_error("")
        self.file.show()

    def values(self) -> dict[str, int]:
        """What the fields hold."""
        found = {}
        for name, editor in self.editors.items():
            if isinstance(editor, QSpinBox):
                found[name] = editor.value()
            else:
                text = editor.currentText().strip()
                found[name] = int(text) if text.lstrip("-").isdigit() else 0
        return found

    def set_values(self, values: Mapping[str, int]) -> None:
        """Fill the fields without a signal."""
        for name, editor in self.editors.items():
            if name not in values:
                continue
            editor.blockSignals(True)
            if isinstance(editor, QSpinBox):
                editor.setValue(values[name])
            else:
                editor.setEditText(str(values[name]))
                editor.setCurrentIndex(editor.findText(str(values[name])))
                editor.setEditText(str(values[name]))
            editor.blockSignals(False)

    def restore_defaults(self) -> None:
        """Put the rung's defaults into the fields and announce them."""
        if self.rung is not None:
            self.show_rung(self.rung)
            self._timer.start()
        elif self.file.launch is not None:
            self.file.kernel_chosen.emit(self.file.launch.kernel)

    def show_error(self, sentence: str) -> None:
        """Show what is wrong with the values; an empty sentence clears it."""
        self.error.setText(sentence)
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

    @staticmethod
    def _field_width() -> int:
        return round(current_theme().spacing.control * 2.7)

    def _clear(self) -> None:
        self.rung = None
        self._timer.stop()
        while self._grid.count():
            item = self._grid.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.editors = {}

    def _build(self, rung: Rung) -> None:
        self.rung = rung
        for row, parameter in enumerate(rung.parameters):
            label = QLabel(parameter.label)
            label.setWordWrap(True)
            editor = self._editor(parameter)
            label.setBuddy(editor)
            tip = f"{parameter.minimum} to {parameter.maximum}"
            editor.setToolTip(f"{tip}: {parameter.why}" if parameter.why else tip)
            editor.setAccessibleName(parameter.label)
            self._grid.addWidget(label, row, 0)
            self._grid.addWidget(editor, row, 1)
            self.editors[parameter.name] = editor

    def _editor(self, parameter: Parameter) -> QSpinBox | QComboBox:
        width = self._field_width()
        if parameter.choices:
            combo = QComboBox()
            combo.setEditable(True)
            combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            combo.addItems([str(choice) for choice in parameter.choices])
            combo.setFixedWidth(width)
            combo.editTextChanged.connect(lambda _: self._timer.start())
            return combo
        spin = QSpinBox()
        spin.setRange(min(0, parameter.minimum), 2**31 - 1)  # the rung says what is out of range
        spin.setStepType(QAbstractSpinBox.StepType.DefaultStepType)
        spin.setFixedWidth(width)
        spin.valueChanged.connect(lambda _: self._timer.start())
        return spin


class SelectionForm(QWidget):
    """Which block, warp and lane the views look at. Writes to the session only."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        self._boxes: dict[str, QSpinBox] = {}
        for name in ("block", "warp", "lane"):
            label = QLabel(name)
            label.setProperty("role", "dim")
            box = QSpinBox()
            box.setAccessibleName(name)
            box.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.UpDownArrows)
            box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            box.setAlignment(Qt.AlignmentFlag.AlignRight)
            column = QVBoxLayout()
            column.setSpacing(1)
            column.addWidget(label)
            column.addWidget(box)
            layout.addLayout(column)
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
            "lane": min(31, trace.n_threads - 1) if trace else 0,
        }
        for name, box in self._boxes.items():
            box.blockSignals(True)
            box.setRange(0, limits[name])
            box.setValue(getattr(session, name))
            box.blockSignals(False)
