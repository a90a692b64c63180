"""The results panel of the benchmark page: one machine's results as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QPushButton, QVBoxLayout, QWidget

from gui.frames.pieces import Steps, whole
from gui.looks.theme import current_theme
from gui.scenes.bench_measured import (
    FAMILIES,
    HERE,
    Measured,
    families,
    family_of,
    machine_sentence,
    machines,
)
from gui.scenes.benchmark import ResultRow, best_row, row_of, rows_of, table_sentence
from gui.views.base import Caption
from gui.views.results_table import ResultsTable

if TYPE_CHECKING:
    from core.gpu.updates import Outcome


class ResultsPanel(QWidget):
    """`row_chosen(row, by_user)`; `machine_chosen()` when other results are to be shown."""

    row_chosen = Signal(object, bool)
    machine_chosen = Signal()

    def __init__(self, arithmetics: Mapping[str, str]) -> None:
        """arithmetics: what the ladder's matrix products compute with, by rung."""
        super().__init__()
        self._arithmetics = arithmetics
        self._family = ""
        self.family = QComboBox()
        self.family.setAccessibleName("Kind of kernels")
        self.family.setToolTip("Which results stand beside each other")
        self.family.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.caption = Caption()
        self.table = ResultsTable()
        self.contents = Caption(role="dim")
        self.machine = QComboBox()
        self.machine.setAccessibleName("Machine")
        self.machine.setToolTip("Whose results are shown")
        self.machine.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.import_button = QPushButton("Import…")
        self.import_button.setToolTip("Show results that were measured on another machine")
        self.save_button = QPushButton("Export…")
        self.save_button.setToolTip("CSV, JSON, Parquet, a report, or the plots as PNG or SVG")
        self.controls = (self.family, self.machine, self.import_button, self.save_button)
        self.measured: list[Measured] = []
        self._name = ""
        self.table.chosen.connect(self._on_row)
        self.machine.textActivated.connect(self._on_machine)
        self.family.activated.connect(lambda _: self._on_family(self.family.currentData()))
        self._lay_out()

    @property
    def rows(self) -> tuple[ResultRow, ...]:
        """The table's rows."""
        return self.table.rows.results

    def show_machine(self, name: str) -> None:
        """Show all of this machine's results at the next `show_results`."""
        self._name, self._family = name, "all"

    def show_results(self, every: Sequence[Measured], failed: Sequence[Outcome]) -> None:
        """Show those of the chosen machine, or of the first there is."""
        whole(self.showing(every, failed))

    def showing(self, every: Sequence[Measured], failed: Sequence[Outcome]) -> Steps:
        """`show_results`, piece by piece."""
        known = machines(every)
        if self._name not in known:
            self._name = known[0] if known else ""
        if [self.machine.itemText(i) for i in range(self.machine.count())] != list(known):
            self.machine.clear()
            self.machine.addItems(known)
        self.machine.setCurrentText(self._name)
        self.machine.setEnabled(len(known) > 1)
        yield
        of_machine = [m for m in every if m.machine == self._name]
        family = self._offer_families(families(of_machine, self._arithmetics))
        self.measured = [
            m for m in of_machine if family in ("all", family_of(m, self._arithmetics))
        ]
        here = not self.measured or self.measured[-1].origin == HERE
        yield
        rows = rows_of(self.measured, failed if here else ())
        yield
        yield from self.table.loading(rows)
        self.contents.setText(table_sentence(rows, self.measured))
        self.caption.setText(machine_sentence(self.measured))

    def _offer_families(self, there: tuple[str, ...]) -> str:
        """Show the choice where there is one; gives the family to show."""
        chosen = self._family if self._family in there else next(iter(there), "all")
        if [self.family.itemData(i) for i in range(self.family.count())] != list(there):
            self.family.clear()
            for key in there:
                self.family.addItem(FAMILIES[key], key)
        self.family.setCurrentIndex(max(there.index(chosen) if there else 0, 0))
        self.family.setVisible(len(there) > 1)
        return chosen

    def select(self, measured: Measured) -> None:
        """Select a result's row, if it is there."""
        place = row_of(self.rows, measured)
        if place is not None:
            self.table.selectRow(place)

    def select_rung(self, rung: str) -> ResultRow | None:
        """Select a rung's fastest result; None if there is none."""
        place = best_row(self.rows, rung)
        if place is None:
            return None
        self.table.selectRow(place)
        return self.rows[place]

    def _on_row(self, place: int) -> None:
        self.row_chosen.emit(self.rows[place], self.table.hasFocus())

    def _on_family(self, key: str) -> None:
        self._family = key
        self.machine_chosen.emit()

    def _on_machine(self, name: str) -> None:
        self._name, self._family = name, ""
        self.machine_chosen.emit()

    def _lay_out(self) -> None:
        space = current_theme().spacing
        head = QWidget()
        line = QVBoxLayout(head)
        line.setContentsMargins(space.margin, 0, space.gap, 0)
        line.addWidget(self.contents)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(head)
        column.addWidget(self.table, 1)
