"""Numbers of a user's own kernel as fields with sliders, truth values as switches."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from gui.looks.theme import current_theme
from gui.scenes.knobs import KnobRow
from gui.views.segmented import Segmented
from gui.views.stop_slider import StopSlider, StopSpin

DEBOUNCE_MS = 250


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
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DEBOUNCE_MS)
        self._timer.timeout.connect(self._announce)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)
        self.hide()

    def show_rows(self, rows: tuple[KnobRow, ...]) -> None:
        """Show numbers, without a signal; a slider that is being dragged stays as it is."""
        if [(r.kind, r.name, r.switch) for r in rows] != [
            (r.kind, r.name, r.switch) for r in self.rows
        ]:
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
        while self._grid.count():
            item = self._grid.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._timer.stop()
        self._typed = {}
        self.fields, self.sliders, self.switches = {}, {}, {}
        for place, row in enumerate(rows):
            label = QLabel(row.name)
            label.setToolTip(row.tip)
            self._grid.addWidget(label, place, 0)
            if row.switch:
                self._add_switch(row, place)
            else:
                self._add_number(row, place, label)

    def _add_switch(self, row: KnobRow, place: int) -> None:
        switch = Segmented({"0": "off", "1": "on"}, {"0": row.tip, "1": row.tip})
        for key, word in (("0", "off"), ("1", "on")):
            switch.button(key).setAccessibleName(f"{row.name} {word}")
        switch.chosen.connect(lambda key, row=row: self._on_switched(row, int(key)))
        self._grid.addWidget(switch, place, 1, 1, 2, Qt.AlignmentFlag.AlignRight)
        self.switches[row.name] = switch

    def _add_number(self, row: KnobRow, place: int, label: QLabel) -> None:
        field = StopSpin()
        field.setRange(-(2**31), 2**31 - 1)
        field.setValue(row.value)
        field.setFixedWidth(round(current_theme().spacing.control * 2.7))
        field.setToolTip(row.tip)
        field.setAccessibleName(row.name)
        field.valueChanged.connect(lambda _, row=row: self._on_typed(row))
        label.setBuddy(field)
        slider = StopSlider(row.name)
        slider.show_stops(row.stops, row.value)
        slider.dragged.connect(lambda value, row=row: self._on_dragged(row, value))
        self._grid.addWidget(slider, place, 1)
        self._grid.addWidget(field, place, 2)
        self.fields[row.name], self.sliders[row.name] = field, slider

    def _on_switched(self, row: KnobRow, value: int) -> None:
        self.turned.emit(row.kind, row.name, value)

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
