"""What the launch moved, actual against ideal, by array or by source line."""

from __future__ import annotations

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    Qt,
)
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from gui.scenes.counters import CounterRow, counter_rows, counters_caption, sections
from gui.scenes.session import Session
from gui.scenes.text import grouped
from gui.theme import current_theme
from gui.views.base import Caption, SessionView
from gui.views.segmented import Segmented

Index = QModelIndex | QPersistentModelIndex
HEADS = ("Where", "Access", "Requests", "Moved", "Ideal", "× ideal")
REQUESTS = 2
BAR = 5
ROOM_FOR_REQUESTS = 62  # digits


class CounterModel(QAbstractTableModel):
    """The rows of `gui.scenes.counters` for a table; a row that is a text is a heading."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[CounterRow | str, ...] = ()
        self.by_line = False

    def load(self, rows: tuple[CounterRow | str, ...], by_line: bool) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.rows, self.by_line = rows, by_line
        self.endResetModel()

    def most(self, unit: str) -> int:
        """The largest count in a unit, which makes the longest bar."""
        return max(r.moved for r in self.rows if isinstance(r, CounterRow) and r.unit == unit)

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
                return ("Line" if self.by_line else "Array") if section == 0 else HEADS[section]
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(section)
        return None

    def data(self, index: Index, role: int = 0) -> object:
        """A cell's text, alignment, colour or tip."""
        row, column = self.rows[index.row()], index.column()
        if isinstance(row, str):
            return _heading(row, column, role)
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.tip
        if role == Qt.ItemDataRole.ForegroundRole:
            return current_theme().color("text" if column in (0, 2, 3) else "text_dim")
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Headings cannot be selected."""
        if isinstance(self.rows[index.row()], str):
            return Qt.ItemFlag.ItemIsEnabled
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


def _heading(text: str, column: int, role: int) -> object:
    if role == Qt.ItemDataRole.DisplayRole and column == 0:
        return text
    if role == Qt.ItemDataRole.ForegroundRole:
        return current_theme().color("text_dim")
    if role == Qt.ItemDataRole.FontRole:
        return current_theme().font("small", bold=True)
    return None


def _text(row: CounterRow, column: int) -> str:
    return (
        row.place,
        row.access,
        grouped(row.requests),
        grouped(row.moved),
        grouped(row.ideal),
        row.times_ideal,
    )[column]


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignLeft if column in (0, 1, 5) else Qt.AlignmentFlag.AlignRight
    return side | Qt.AlignmentFlag.AlignVCenter


class RatioBar(QStyledItemDelegate):
    """Draws moved against ideal: the ideal's share, then the waste, on one scale for each unit."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the bar and the factor."""
        model = index.model()
        assert isinstance(model, CounterModel)
        row, theme = model.rows[index.row()], current_theme()
        if isinstance(row, str):
            return
        most = model.most(row.unit)
        painter.save()
        box = option.rect
        label = option.fontMetrics.horizontalAdvance("×8.25") + 6
        room = max(box.width() - label - 16, 1)
        x, y = box.left() + 8 + label, box.center().y() - BAR / 2 + 1
        wasteful = row.excessive > 0
        painter.setPen(theme.color("conflict" if wasteful else "ideal"))
        painter.drawText(
            box.left() + 8, box.top(), label, box.height(),
            int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), row.times_ideal,
        )  # fmt: skip
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("waste"))
        painter.drawRect(QRectF(x, y, room * row.moved / most, BAR))
        painter.setBrush(theme.color("used"))
        painter.drawRect(QRectF(x, y, room * min(row.ideal, row.moved) / most, BAR))
        painter.restore()


class CountersView(SessionView):
    """The table of counts. A row of the by-line table selects its source line."""

    WATCHES = frozenset({"trace", "counts", "line", "counts_by"})

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.caption = Caption()
        self.grouping = Segmented(
            {"array": "By array", "line": "By line"},
            {"array": "What each array cost", "line": "What each source line cost"},
        )
        self.model = CounterModel()
        self.table = QTableView()
        self.table.setModel(self.model)
        self.table.setItemDelegateForColumn(5, RatioBar(self.table))
        self.table.setShowGrid(False)
        self.table.verticalHeader().hide()
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setAccessibleName("Counters")
        self.table.setWordWrap(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.table)
        self.grouping.bind(session, "counts_by", {"array": "array", "line": "line"})
        self.controls = (self.grouping,)
        self.table.clicked.connect(self._clicked)
        self.restyle()

    def refresh(self, names: frozenset[str]) -> None:
        """Show the trace's counts; mark the selected line's row."""
        trace, by_line = self.session.trace, self.session.counts_by == "line"
        if names & {"trace", "counts", "counts_by"}:
            counted = self.session.counted
            rows = counter_rows(trace, "line" if by_line else "array", counted) if trace else ()
            self.model.load(sections(rows), by_line)
            self.caption.setText(counters_caption(self.session))
            self._span_headings()
            self._fit()
        chosen = [
            i
            for i, r in enumerate(self.model.rows)
            if isinstance(r, CounterRow) and r.line == self.session.line
        ]
        if by_line and chosen and self.session.line is not None:
            self.table.selectRow(chosen[0])
        else:
            self.table.clearSelection()

    def restyle(self) -> None:
        """Take up the theme's sizes."""
        theme = current_theme()
        self.table.setFont(theme.font())
        self.table.verticalHeader().setDefaultSectionSize(theme.spacing.control - 4)
        self._fit()

    def _fit(self) -> None:
        header = self.table.horizontalHeader()
        for column in range(len(HEADS) - 1):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(len(HEADS) - 1, QHeaderView.ResizeMode.Stretch)
        header.setHighlightSections(False)

    def _clicked(self, index: QModelIndex) -> None:
        row = self.model.rows[index.row()]
        if isinstance(row, CounterRow) and row.line is not None:
            self.session.line = row.line

    def _span_headings(self) -> None:
        self.table.clearSpans()
        for place, row in enumerate(self.model.rows):
            if isinstance(row, str):
                self.table.setSpan(place, 0, 1, len(HEADS))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out the requests where there is no room for them; the tips have them."""
        super().resizeEvent(event)
        digit = self.fontMetrics().horizontalAdvance("0")
        self.table.setColumnHidden(REQUESTS, self.width() < ROOM_FOR_REQUESTS * digit)
