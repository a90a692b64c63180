"""The chosen rung's parameters as fields with sliders, and the launch that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import Qt, QTimer, Signal
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
from gui.frames.pieces import Pieces, Steps
from gui.looks.style import set_icon
from gui.scenes.text import clipped, spaced
from gui.views.fields import Fields
from gui.views.file_form import FileForm
from gui.views.inputs_row import InputsRow
from gui.views.knob_rows import KnobRows
from gui.views.mapping_row import MappingRow
from gui.views.rung_rows import RungRows

if TYPE_CHECKING:
    from core.ladder import Rung
    from gui.commands.recording import Recorder
    from gui.scenes.knobs import KnobRow
    from gui.views.stop_slider import StopSlider

DEBOUNCE_MS = 120


class ConfigurationForm(QWidget):
    """Edits a rung's parameters: `changed(values)`, or asks for its twin: `mapped(rung)`.

    What is typed is announced after a short rest, what is dragged as fast as it can be recorded.
    """

    changed = Signal(dict)
    mapped = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._rows: RungRows | None = None
        self._coming: tuple[Rung, dict[str, int]] | None = None  # that rows are being made for
        self._pieces = Pieces(self)
        self.live = Coalescer(self)
        self.live.released.connect(self.changed.emit)
        self.file = FileForm()  # in place of the fields while a user's file is shown
        self.file.hide()
        self.knobs = KnobRows()  # numbers of that file
        self.mapping = MappingRow()
        self.mapping.chosen.connect(self.mapped)
        self.inputs = InputsRow()
        self.fields = Fields()
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
        self.begin(rung, values)
        self.finish()

    def begin(self, rung: Rung, values: Mapping[str, int] | None = None) -> None:
        """`show_rung` in several events; whoever asks for what is shown before finds all of it."""
        if self._rows is not None and self._rows.rung is not rung:
            self._rows.blockSignals(True)  # what is done to them now is of another rung
        self._timer.stop()
        self.live.drop()
        self._coming = rung, _all_values(rung, values)
        self._pieces.start(self.showing(rung, values))

    def finish(self) -> None:
        """Show at once what is left."""
        self._pieces.finish()

    def _finish_rows(self) -> None:
        """Have the rows there that are being made; sliders may still follow what was typed."""
        if self._coming is not None:
            self.finish()

    def shows(self, rung: Rung, values: Mapping[str, int]) -> bool:
        """Whether this is what is shown, or will be."""
        if self._coming is not None:
            return self._coming == (rung, dict(values))
        return self.rung is rung and self.values() == dict(values)

    def showing(self, rung: Rung, values: Mapping[str, int] | None = None) -> Steps:
        """`show_rung`, piece by piece; `rung` is the shown one after the last."""
        wanted, rows = _all_values(rung, values), self._rows
        if rows is None or rows.rung is not rung:
            rows = RungRows(self.fields.viewport(), rung)
            try:
                yield from rows.building(wanted)
            except GeneratorExit:  # something else is to be shown
                if shiboken6.isValid(rows):
                    rows.deleteLater()
                raise
            self._take(rows)
            yield
        else:
            rows.blockSignals(False)
            rows.put(wanted)
            yield from rows.fitting_sliders()
        self.file.hide()
        self.knobs.hide()
        self.fields.show()
        self.inputs.show_rung(True)
        self.mapping.show_rung(rung)
        self._coming = None
        self._mark_error("")

    def _take(self, rows: RungRows) -> None:
        """Put the rows of a rung in the place of those that are there."""
        rows.typed.connect(self._typed)
        rows.dragged.connect(self._drag)
        self.fields.take(rows, rows.grid)
        self._rows = rows
        before: QWidget = self.reset
        for field in (*self.mapping.ways.findChildren(QToolButton), *rows.editors.values()):
            QWidget.setTabOrder(before, field)
            before = field

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
        self.knobs.setVisible(bool(rows) and not self.file.isHidden())

    @property
    def rung(self) -> Rung | None:
        """The rung that is shown, None for a user's kernel."""
        self._finish_rows()
        return self._rows.rung if self._rows is not None else None

    @property
    def editors(self) -> Mapping[str, QSpinBox | QComboBox]:
        """The fields, by the parameter's name."""
        self._finish_rows()
        return self._rows.editors if self._rows is not None else {}

    @property
    def sliders(self) -> Mapping[str, StopSlider]:
        """The sliders, by the parameter's name."""
        self.finish()
        return self._rows.sliders if self._rows is not None else {}

    def values(self) -> dict[str, int]:
        """What the fields hold."""
        self._finish_rows()
        return self._rows.values() if self._rows is not None else {}

    def restore_defaults(self) -> None:
        """Put the rung's defaults into the fields and announce them."""
        if self.rung is not None:
            self.begin(self.rung)
            self.inputs.restore_default()
            self._timer.start()
        elif self.file.launch is not None:
            self.file.kernel_chosen.emit(self.file.launch.kernel)

    def show_error(self, sentence: str) -> None:
        """Show what is wrong with the values; an empty sentence clears it."""
        if sentence:
            self.finish()
        if sentence or not self._pieces.busy:  # what comes has none
            self._mark_error(sentence)

    def _mark_error(self, sentence: str) -> None:
        self.error.setText(clipped(spaced(sentence)))
        self.error.setVisible(bool(sentence))
        if self._rows is not None:
            self._rows.show_error(sentence)

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
        if self._rows is not None:
            self._rows.restyle()

    def _clear(self) -> None:
        self._pieces.stop()
        self._coming = self._rows = None
        self._timer.stop()
        self.live.drop()
        self.fields.take(None)

    def _drag(self, name: str, value: int) -> None:
        assert self._rows is not None
        self._finish_rows()
        self._timer.stop()
        self._rows.put({name: value})
        self._pieces.start(self._rows.fitting_sliders(leave=name))
        self.live.offer(self._rows.values())

    def _typed(self) -> None:
        assert self._rows is not None
        self._finish_rows()
        self.live.drop()
        self._pieces.start(self._rows.fitting_sliders())
        self._timer.start()


def _all_values(rung: Rung, values: Mapping[str, int] | None) -> dict[str, int]:
    return {p.name: (values or {}).get(p.name, p.default) for p in rung.parameters}
