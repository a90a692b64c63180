"""The counts of two launches beside each other: A, B, what differs, and which is better."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QShowEvent
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QVBoxLayout, QWidget

from gui.looks.theme import current_theme
from gui.scenes.differences import Difference, Grouping, differences, differences_caption
from gui.scenes.session import Session
from gui.views.base import Caption
from gui.views.row_table import RowModel, RowTable
from gui.views.segmented import Segmented

A, B, CHANGE, VERDICT, BARS = 1, 2, 3, 4, 5  # columns
BAR, LETTER, ROOM = 6, 14, 420  # pixels: a bar's height, beside it, and its length at most


class DifferenceModel(RowModel[Difference]):
    """The rows of `gui.scenes.differences` for a table; a row that is a text is a heading."""

    HEADS = ("Count", "A", "B", "B − A", "B against A", "")
    RIGHT = frozenset({A, B, CHANGE})
    SELECTABLE = False

    def text(self, row: Difference, column: int) -> str:
        """A count of both sides, what differs, and which is better."""
        verdict = {"a": "  worse", "b": "  better"}.get(row.winner, "")
        figures = row.label, row.text("a"), row.text("b"), row.change_text
        return (*figures, row.factor_text + verdict, "")[column]

    def tip(self, row: Difference) -> str:
        """What the count is, and what B makes of it in a sentence."""
        said = f"B: {row.ratio_text}." if row.ratio_text else ""
        return " ".join(filter(None, (row.tip, said)))

    def bold(self, row: Difference, column: int) -> bool:
        """The better figure, and by how much."""
        return bool(row.winner) and column in (A if row.winner == "a" else B, VERDICT)

    def color(self, row: Difference, column: int) -> str:
        """Colour says again what the words and the weight say already."""
        if column == VERDICT and row.winner:
            return "ideal" if row.winner == "b" else "conflict"
        if not row.change or (column in (CHANGE, VERDICT) and not row.winner):
            return "text_dim"
        return "text"


class PairBars(QStyledItemDelegate):
    """Two bars on one scale where the sides differ: A above B, that in the verdict's colour."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw both, each after its letter."""
        model = index.model()
        assert isinstance(model, DifferenceModel)
        row, theme, box = model.rows[index.row()], current_theme(), option.rect
        if isinstance(row, str) or not row.change or box.width() < 4 * LETTER:
            return
        verdict = {"a": "conflict", "b": "ideal"}.get(row.winner, "text_dim")
        room = min(box.width() - LETTER - 20, ROOM)
        high = (box.height() - 4) // 2
        painter.save()
        painter.setFont(theme.font("small"))
        for place, (letter, share) in enumerate(zip("AB", row.shares, strict=True)):
            line = QRect(box.left() + 8, box.top() + 2 + place * high, LETTER, high)
            painter.setPen(theme.color("text_dim"))
            painter.drawText(line, int(Qt.AlignmentFlag.AlignCenter), letter)
            bar = QRectF(line.right() + 4, line.center().y() - BAR / 2 + 1, room * share, BAR)
            painter.fillRect(bar, theme.color(verdict if letter == "B" else "text_dim"))
        painter.restore()


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
        self.table.setItemDelegateForColumn(BARS, PairBars(self.table))
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
