"""The counts of two launches beside each other: A, B, what differs, and which is better."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QVBoxLayout, QWidget

from gui.scenes.differences import Difference, Grouping, differences, differences_caption
from gui.scenes.session import Session
from gui.theme import current_theme
from gui.views.base import Caption
from gui.views.segmented import Segmented

Index = QModelIndex | QPersistentModelIndex
HEADS = ("Count", "A", "B", "B − A", "B against A")
LABEL, A, B, CHANGE, VERDICT = range(len(HEADS))


class DifferenceModel(QAbstractTableModel):
    """The rows of `gui.scenes.differences` for a table; a row that is a text is a heading."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[Difference | str, ...] = ()

    def load(self, rows: tuple[Difference | str, ...]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        """Rows of the table."""
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """Columns of the table."""
        return 0 if parent is not None and parent.isValid() else len(HEADS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> object:
        """Column names."""
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return HEADS[section]
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(section)
        return None

    def data(self, index: Index, role: int = 0) -> object:
        """A cell's text, alignment, weight, colour or tip."""
        row, column = self.rows[index.row()], index.column()
        if isinstance(row, str):
            return _heading(row, column, role)
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.tip or None
        if role == Qt.ItemDataRole.FontRole:
            bold = row.winner and column == (A if row.winner == "a" else B)
            return current_theme().font(bold=bool(bold))
        if role == Qt.ItemDataRole.ForegroundRole:
            return current_theme().color(_colour(row, column))
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """To be read."""
        return Qt.ItemFlag.ItemIsEnabled


def _heading(text: str, column: int, role: int) -> object:
    if role == Qt.ItemDataRole.DisplayRole and column == LABEL:
        return text
    if role == Qt.ItemDataRole.ForegroundRole:
        return current_theme().color("text_dim")
    if role == Qt.ItemDataRole.FontRole:
        return current_theme().font("small", bold=True)
    return None


def _text(row: Difference, column: int) -> str:
    if column == VERDICT and row.winner:
        sign = "▲" if (row.change or 0) > 0 else "▼"
        return f"{sign} {row.ratio_text}, {'better' if row.winner == 'b' else 'worse'}"
    return (row.label, row.text("a"), row.text("b"), row.change_text, row.ratio_text)[column]


def _colour(row: Difference, column: int) -> str:
    """Colour says again what the words and the weight say already."""
    if column == VERDICT and row.winner:
        return "ideal" if row.winner == "b" else "conflict"
    if not row.change or (column in (CHANGE, VERDICT) and not row.winner):
        return "text_dim"
    return "text"


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in (A, B, CHANGE) else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class DifferenceView(QWidget):
    """The table, for two sessions; while hidden it does no work.

    `why_wanted(side, topic)` when a figure of "a" or "b" is clicked.
    """

    why_wanted = Signal(str, object)

    def __init__(self, a: Session, b: Session) -> None:
        super().__init__()
        self.a, self.b = a, b
        self.caption = Caption()
        self.grouping = Segmented({"total": "Totals", "array": "By array"})
        self.controls = (self.grouping,)
        self.model = DifferenceModel()
        self.table = QTableView()
        self.table.setModel(self.model)
        self.table.setShowGrid(False)
        self.table.setWordWrap(False)
        self.table.verticalHeader().hide()
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.table.setAccessibleName("Differences between A and B")
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
        self.table.clearSpans()
        for place, row in enumerate(self.model.rows):
            if isinstance(row, str):
                self.table.setSpan(place, 0, 1, len(HEADS))
        self._fit()

    def restyle(self) -> None:
        """Take up the theme's sizes."""
        theme = current_theme()
        self.table.setFont(theme.font())
        self.table.verticalHeader().setDefaultSectionSize(theme.spacing.control - 4)
        self._fit()

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

    def _fit(self) -> None:
        header = self.table.horizontalHeader()
        for column in range(len(HEADS) - 1):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(VERDICT, QHeaderView.ResizeMode.Stretch)
        header.setHighlightSections(False)
