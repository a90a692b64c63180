"""The counts of two launches beside each other: A, B, what differs, and which is better."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.scenes.differences import Difference, Grouping, differences, differences_caption
from gui.scenes.session import Session
from gui.views.base import Caption
from gui.views.row_table import RowModel, RowTable
from gui.views.segmented import Segmented

A, B, CHANGE, VERDICT = 1, 2, 3, 4  # columns


class DifferenceModel(RowModel[Difference]):
    """The rows of `gui.scenes.differences` for a table; a row that is a text is a heading."""

    HEADS = ("Count", "A", "B", "B − A", "B against A")
    RIGHT = frozenset({A, B, CHANGE})
    SELECTABLE = False

    def text(self, row: Difference, column: int) -> str:
        """A count of both sides, what differs, and which is better."""
        if column == VERDICT and row.winner:
            sign = "▲" if (row.change or 0) > 0 else "▼"
            return f"{sign} {row.ratio_text}, {'better' if row.winner == 'b' else 'worse'}"
        return (row.label, row.text("a"), row.text("b"), row.change_text, row.ratio_text)[column]

    def tip(self, row: Difference) -> str:
        """What the count is."""
        return row.tip

    def bold(self, row: Difference, column: int) -> bool:
        """The better figure."""
        return bool(row.winner) and column == (A if row.winner == "a" else B)

    def color(self, row: Difference, column: int) -> str:
        """Colour says again what the words and the weight say already."""
        if column == VERDICT and row.winner:
            return "ideal" if row.winner == "b" else "conflict"
        if not row.change or (column in (CHANGE, VERDICT) and not row.winner):
            return "text_dim"
        return "text"


class DifferenceView(QWidget):
    """The table, for two sessions; while hidden it does no work.

    `why_wanted(side, topic)` when a figure of "a" or "b" is clicked.
    """

    why_wanted = Signal(str, object)

    def __init__(self, a: Session, b: Session) -> None:
        super().__init__()
        self.a, self.b = a, b
        self.caption = Caption()
        self.grouping = Segmented(
            {"total": "Totals", "array": "By array"},
            {"total": "Counts of the whole launches", "array": "Counts of each array"},
        )
        self.controls = (self.grouping,)
        self.model = DifferenceModel()
        self.table = RowTable(self.model, "Differences between A and B")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.table)
        self.table.clicked.connect(self._clicked)
        self.grouping.chosen.connect(lambda _: self.refresh())
        for session in (a, b):
            session.changed.connect(self._on_changed)
        self.restyle()

    def refresh(self) -> None:
        """Show the counts as they are now."""
        grouping: Grouping = "array" if self.grouping.value == "array" else "total"
        self.model.load(differences(self.a, self.b, grouping))
        self.caption.setText(differences_caption(self.a, self.b))
        self.table.fit()

    def restyle(self) -> None:
        """Take up the theme's sizes."""
        self.table.fit()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what changed while hidden."""
        super().showEvent(event)
        self.refresh()

    def _clicked(self, index: QModelIndex) -> None:
        row, side = self.model.rows[index.row()], {A: "a", B: "b"}.get(index.column())
        if side is not None and isinstance(row, Difference) and row.topic is not None:
            self.why_wanted.emit(side, row.topic)

    def _on_changed(self, names: frozenset[str]) -> None:
        if names & {"trace", "counts"} and self.isVisible():
            self.refresh()
