"""A table of rows under fixed heads, sized to its texts; what several views share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from gui.frames.pieces import Steps, whole
from gui.looks.theme import current_theme

Index = QModelIndex | QPersistentModelIndex
Row = TypeVar("Row")
Role = Qt.ItemDataRole
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
PADDING = 24  # pixels beside a text: the style sheet's, and a little air


class RowModel(QAbstractTableModel, Generic[Row]):
    """Rows of one kind; a row that is a text is a heading over those that follow.

    A subclass says by `text`, and where need be `tip`, `color` and `bold`, how a row looks.
    """

    HEADS: tuple[str, ...] = ()
    RIGHT: frozenset[int] = frozenset()
    """The columns of figures, which end at the right."""
    SELECTABLE = True

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[Row | str, ...] = ()

    def load(self, rows: Sequence[Row | str]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.rows = tuple(rows)
        self.endResetModel()

    def text(self, row: Row, column: int) -> str:
        """What stands in a cell."""
        raise NotImplementedError

    def tip(self, row: Row) -> str:
        """What is said of a row that the pointer rests on."""
        return ""

    def color(self, row: Row, column: int) -> str:
        """The theme's name of a cell's colour."""
        return "text"

    def bold(self, row: Row, column: int) -> bool:
        """Whether a cell stands out."""
        return False

    def head(self, column: int) -> str:
        """What stands over a column."""
        return self.HEADS[column]

    def rowCount(self, parent: Index | None = None) -> int:
        """Rows of the table."""
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """Columns of the table."""
        return 0 if parent is not None and parent.isValid() else len(self.HEADS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> object:
        """The heads, aligned as their columns are."""
        if orientation == Qt.Orientation.Horizontal and role == Role.DisplayRole:
            return self.head(section)
        if orientation == Qt.Orientation.Horizontal and role == Role.TextAlignmentRole:
            return RIGHT if section in self.RIGHT else LEFT
        return None

    def data(self, index: Index, role: int = 0) -> object:
        """A cell's text, alignment, font, colour or tip."""
        row, column = self.rows[index.row()], index.column()
        if isinstance(row, str):
            return _heading(row, column, role)
        if role == Role.DisplayRole:
            return self.text(row, column)
        if role == Role.TextAlignmentRole:
            return RIGHT if column in self.RIGHT else LEFT
        if role == Role.ToolTipRole:
            return self.tip(row) or None
        if role == Role.FontRole:
            return self.font(row, column)
        if role == Role.ForegroundRole:
            return current_theme().color(self.color(row, column))
        return None

    def font(self, row: Row, column: int) -> QFont | None:
        """A cell's font, None for the table's."""
        return current_theme().font(bold=True) if self.bold(row, column) else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Headings cannot be selected."""
        flags = Qt.ItemFlag.ItemIsEnabled
        if self.SELECTABLE and not isinstance(self.rows[index.row()], str):
            flags |= Qt.ItemFlag.ItemIsSelectable
        return flags


def _heading(text: str, column: int, role: int) -> object:
    if role == Role.DisplayRole and column == 0:
        return text
    if role == Role.TextAlignmentRole:
        return LEFT
    if role == Role.ForegroundRole:
        return current_theme().color("text_dim")
    if role == Role.FontRole:
        return current_theme().font("small", bold=True)
    return None


class RowTable(QTableView):
    """Shows a `RowModel` without a grid, its columns as wide as their texts; the last has the rest.

    Qt can size columns by itself, but then asks every cell for everything at each change of style.
    `pointed(row)` says which row the pointer rests on, -1 for none; `returned(index)` that Return
    was pressed in one.
    """

    pointed = Signal(int)
    returned = Signal(QModelIndex)

    def __init__(self, model: RowModel[Row], name: str) -> None:
        super().__init__()
        self._rows = model
        self.setModel(model)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.viewport().setMouseTracking(True)
        self.setAccessibleName(name)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        chosen = QAbstractItemView.SelectionMode.SingleSelection
        self.setSelectionMode(chosen if model.SELECTABLE else chosen.NoSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Tell of Return, which Qt takes for the end of editing a cell."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.returned.emit(self.currentIndex())
            return
        super().keyPressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell which row the pointer rests on."""
        super().mouseMoveEvent(event)
        self.pointed.emit(self.indexAt(event.position().toPoint()).row())

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is pointed at any more."""
        super().leaveEvent(event)
        self.pointed.emit(-1)

    def fit(self) -> None:
        """Give rows, headings and columns the room that they need; after other rows or a theme."""
        whole(self.fitting())

    def fitting(self) -> Steps:
        """`fit`, piece by piece."""
        theme, model = current_theme(), self._rows
        self.setFont(theme.font())
        self.verticalHeader().setDefaultSectionSize(theme.spacing.control - 4)
        yield
        self.clearSpans()
        for place, row in enumerate(model.rows):
            if isinstance(row, str):
                self.setSpan(place, 0, 1, len(model.HEADS))
        plain, bold = QFontMetrics(theme.font()), QFontMetrics(theme.font(bold=True))
        heads = QFontMetrics(theme.font("small"))
        rows = [row for row in model.rows if not isinstance(row, str)]
        for column in range(len(model.HEADS)):
            wide = max(
                (
                    (bold if model.bold(row, column) else plain).horizontalAdvance(text)
                    for text, row in {model.text(row, column): row for row in rows}.items()
                ),
                default=0,
            )
            wide = max(wide, heads.horizontalAdvance(model.head(column)))
            self.setColumnWidth(column, wide + PADDING)
            yield
