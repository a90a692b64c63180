"""Measured kernels as a table with bars."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from gui.scenes.bench_measured import HERE
from gui.scenes.benchmark import ResultRow
from gui.theme import current_theme
from gui.views.base import Caption

Index = QModelIndex | QPersistentModelIndex
HEADS = ("Kernel", "Parameters", "GFLOPS", "GB/s", "")
RATE, BAR = 2, 4


class ResultsModel(QAbstractTableModel):
    """Rows of `gui.scenes.benchmark`."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[ResultRow, ...] = ()

    def load(self, rows: tuple[ResultRow, ...]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        """Number of results."""
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """Number of columns."""
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
        """A cell's text, alignment, colour or tip."""
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return (row.title, row.details, row.rate_text, row.bandwidth_text, "")[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.notes
        if role == Qt.ItemDataRole.ForegroundRole:
            if row.trouble and column == RATE:
                return current_theme().color("error")
            return current_theme().color("text" if column in (0, RATE) else "text_dim")
        return None


def _alignment(column: int) -> Qt.AlignmentFlag:
    right = column in (RATE, RATE + 1)
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class RateBar(QStyledItemDelegate):
    """A bar of the rate, with a line from the 5th to the 95th percentile."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the bar on the scale of the fastest row."""
        model = index.model()
        assert isinstance(model, ResultsModel)
        row, theme = model.rows[index.row()], current_theme()
        most = max((r.high or r.gflops or 0.0) if r.gflops else 0.0 for r in model.rows)
        if not row.gflops or not most:
            return
        painter.save()
        painter.setPen(Qt.PenStyle.NoPen)
        box = QRectF(option.rect).adjusted(8, 0, -12, 0)
        scale = box.width() / most
        painter.setBrush(
            theme.tint("load", 0.85 if row.measured and row.measured.origin == HERE else 0.45)
        )
        painter.drawRect(QRectF(box.left(), box.center().y() - 5, row.gflops * scale, 10))
        if row.low is not None and row.high is not None:
            painter.setBrush(theme.color("text"))
            left, right = box.left() + row.low * scale, box.left() + row.high * scale
            painter.drawRect(QRectF(left, box.center().y() - 1, max(right - left, 2), 2))
        painter.restore()


class ResultsTable(QTableView):
    """The table; `load` replaces its rows. `chosen(place)` is emitted when a row is selected."""

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.caption = Caption()
        self.rows = ResultsModel()
        self.setModel(self.rows)
        self.setItemDelegateForColumn(BAR, RateBar(self))
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setAccessibleName("Measured kernels")
        self.selectionModel().currentRowChanged.connect(self._on_row)
        self.verticalHeader().setDefaultSectionSize(current_theme().spacing.control - 2)

    def _on_row(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(index.row())

    def load(self, rows: tuple[ResultRow, ...]) -> None:
        """Show these results, none selected."""
        self.rows.load(rows)
        header = self.horizontalHeader()
        for column in range(BAR):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(BAR, QHeaderView.ResizeMode.Stretch)
        header.setHighlightSections(False)
