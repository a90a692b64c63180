"""The grid of the phase table: its model, how its cells are drawn, and what lies at a point."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    Qt,
)
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QTableView

from core.analysis.phase_table import Entry, PhaseTable
from gui.looks.theme import current_theme
from gui.scenes.phase_shape import TableShape, folded

Index = QModelIndex | QPersistentModelIndex
COLORS = {"load": "load", "copy": "text", "sum": "text", "store": "store"}
SCALE = 0.92  # of the theme's fixed-width type
EDGE = 8  # between a cell's border and its text


class PhaseModel(QAbstractTableModel):
    """The cells of a `PhaseTable`; the entries come by `entries`."""

    def __init__(self) -> None:
        super().__init__()
        self.table: PhaseTable | None = None
        self.column, self.chosen, self.step = -1, -1, -1
        self.pointed: int | None = None  # the thread that the pointer rests on, in any view

    def load(self, table: PhaseTable | None) -> None:
        """Show another table."""
        self.beginResetModel()
        self.table = table
        self.endResetModel()

    def entries(self, index: Index) -> tuple[Entry, ...]:
        """What a cell holds."""
        assert self.table is not None
        return self.table.rows[index.row()].cells[index.column()]

    def rowCount(self, parent: Index | None = None) -> int:
        """Threads."""
        nested = parent is not None and parent.isValid()
        return 0 if nested or self.table is None else len(self.table.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """Phases, and what lies around them."""
        nested = parent is not None and parent.isValid()
        return 0 if nested or self.table is None else len(self.table.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> object:
        """Phases across, threads down; the lit ones in bold."""
        if self.table is None:
            return None
        across = orientation == Qt.Orientation.Horizontal
        if role == Qt.ItemDataRole.DisplayRole:
            return self.table.columns[section].title if across else self.table.rows[section].name
        if role == Qt.ItemDataRole.FontRole:
            lit = (
                section == self.column if across else self.table.rows[section].thread == self.chosen
            )
            return current_theme().font(bold=lit)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if across else Qt.AlignmentFlag.AlignHCenter
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = 0) -> object:
        """The whole text, for screen readers and tips; the delegate draws the entries."""
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            return "\n".join(entry.text for entry in self.entries(index))
        return None


class EntryPainter(QStyledItemDelegate):
    """Draws a cell's entries below each other; the lit phase is tinted, the step's entry marked."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw one cell."""
        model, theme = index.model(), current_theme()
        assert isinstance(model, PhaseModel)
        assert model.table is not None
        box: QRect = option.rect
        thread = model.table.rows[index.row()].thread
        mine = thread == model.chosen
        if thread == model.pointed:
            painter.fillRect(box, theme.tint("hover", 0.18))
        elif index.column() == model.column:
            painter.fillRect(box, theme.tint("barrier", 0.16))
        elif mine:
            painter.fillRect(box, theme.tint("selected", 0.08))
        painter.setFont(theme.mono(SCALE))
        height, top = line_height(), box.top() + EDGE // 2
        for entry in model.entries(index):
            lines = folded(entry.short)
            area = QRect(box.left(), top, box.width(), height * len(lines))
            if entry.step == model.step:
                painter.fillRect(area, theme.color("current_line"))
            painter.setPen(theme.color(COLORS[entry.kind]))
            for place, line in enumerate(lines):
                inner = QRect(box.left() + EDGE, top + place * height, box.width() - EDGE, height)
                painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter), line)
            top = area.bottom() + 1


def line_height() -> int:
    """Pixels of one entry."""
    return QFontMetrics(current_theme().mono(SCALE)).lineSpacing() + 2


class PhaseGrid(QTableView):
    """The table; a click goes to the entry under the pointer."""

    def fit(self, shape: TableShape) -> None:
        """Give columns and rows the room that their entries and heads need."""
        metrics = QFontMetrics(current_theme().mono(SCALE))
        across, down = self.horizontalHeader(), self.verticalHeader()
        for column, longest in enumerate(shape.longest):
            wide = metrics.horizontalAdvance(longest) + 2 * EDGE
            across.resizeSection(column, max(wide, across.sectionSizeHint(column)))
        for row, lines in enumerate(shape.lines):
            high = max(lines, 1) * line_height() + EDGE
            down.resizeSection(row, max(high, down.sectionSizeHint(row)))

    def entry_at(self, index: QModelIndex, y: int) -> Entry | None:
        """The entry of a cell at a height of the viewport; the nearest below or above the text."""
        model = self.model()
        assert isinstance(model, PhaseModel)
        entries = model.entries(index)
        rows = [entry for entry in entries for _ in folded(entry.short)]
        place = (y - self.visualRect(index).top() - EDGE // 2) // line_height()
        return rows[min(max(place, 0), len(rows) - 1)] if rows else None
