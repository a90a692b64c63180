"""What the launch moved, actual against ideal, by array or by source line."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QRectF, Qt
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from gui.looks.style import fill
from gui.looks.theme import current_theme
from gui.scenes.asking import ANSWER_FIRST
from gui.scenes.counters import CounterRow, counter_rows, counters_caption, sections
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.scenes.text import grouped
from gui.views.base import Caption, SessionView
from gui.views.tables import Index, RowModel, RowTable
from gui.views.veil import Veil
from gui.views.widgets import Segmented

REQUESTS = 2
BAR = 5
ROOM_FOR_REQUESTS = 62  # digits


class CounterModel(RowModel[CounterRow]):
    """The rows of `gui.scenes.counters` for a table; a row that is a text is a heading."""

    HEADS = ("Where", "Access", "Requests", "Moved", "Ideal", "× ideal")
    RIGHT = frozenset({2, 3, 4})

    def __init__(self) -> None:
        super().__init__()
        self.by_line = False

    def most(self, unit: str) -> int:
        """The largest count in a unit, which makes the longest bar."""
        return max(r.moved for r in self.rows if isinstance(r, CounterRow) and r.unit == unit)

    def head(self, column: int) -> str:
        """The first column says what the rows are."""
        return ("Line" if self.by_line else "Array") if column == 0 else self.HEADS[column]

    def text(self, row: CounterRow, column: int) -> str:
        """A place, what is done there, and what it cost."""
        counts = (grouped(n) for n in (row.requests, row.moved, row.ideal))
        return (row.place, row.access, *counts, row.times_ideal)[column]

    def tip(self, row: CounterRow) -> str:
        """The row in a sentence."""
        return row.tip

    def color(self, row: CounterRow, column: int) -> str:
        """What moved, and where, is read first."""
        return "text" if column in (0, 2, 3) else "text_dim"


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
        painter.setFont(option.font)
        box = option.rect
        label = option.fontMetrics.horizontalAdvance("×8.25") + 6
        room = max(box.width() - label - 16, 1)
        x, y = box.left() + 8 + label, box.center().y() - BAR / 2 + 1
        wasteful = row.excessive > 0
        painter.setPen(theme.color("conflict" if wasteful else "ideal"))
        painter.drawText(
            box.left() + 8,
            box.top(),
            label,
            box.height(),
            int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft),
            row.times_ideal,
        )
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("waste"))
        painter.drawRect(QRectF(x, y, room * row.moved / most, BAR))
        painter.setBrush(theme.color("used"))
        painter.drawRect(QRectF(x, y, room * min(row.ideal, row.moved) / most, BAR))
        painter.restore()


class CountersView(SessionView):
    """The table of counts. A row of the by-line table selects its source line."""

    WATCHES = frozenset({"trace", "counts", "line", "counts_by"})
    READ = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.caption = Caption()
        self.grouping = Segmented(
            {"array": "By array", "line": "By line"},
            {"array": "What each array cost", "line": "What each source line cost"},
        )
        self.model = CounterModel()
        self.table = RowTable(self.model, "Counters")
        self.table.setItemDelegateForColumn(5, RatioBar(self.table))
        fill(self, self.table)
        self.grouping.bind(session, "counts_by", {"array": "array", "line": "line"})
        self.controls = (self.grouping,)
        self.table.clicked.connect(self._clicked)
        self.table.pointed.connect(self._point)
        Veil(session, "counters", self.table)
        self.restyle()

    def refresh(self, names: frozenset[str]) -> None:
        """Show the trace's counts; mark the selected line's row."""
        trace, by_line = self.session.trace, self.session.counts_by == "line"
        if names & {"trace", "counts", "counts_by", "veiled"}:
            counted, veiled = self.session.counted, self.session.hides("counters")
            shown = trace if not veiled else None
            rows = counter_rows(shown, "line" if by_line else "array", counted) if shown else ()
            self.model.by_line = by_line
            self.model.load(sections(rows))
            words = f"{ANSWER_FIRST}." if veiled else counters_caption(self.session)
            self.caption.setText(words)
            self.table.fit()
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
        self.table.fit()

    def _point(self, place: int) -> None:
        row = self.model.rows[place] if place >= 0 else None
        line = row.line if isinstance(row, CounterRow) else None
        self.session.hover = Hover(line=line) if line is not None else None

    def _clicked(self, index: QModelIndex) -> None:
        row = self.model.rows[index.row()]
        if isinstance(row, CounterRow) and row.line is not None:
            self.session.line = row.line

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the requests in a narrow table; the tips have them."""
        super().resizeEvent(event)
        digit = self.fontMetrics().horizontalAdvance("0")
        self.table.setColumnHidden(REQUESTS, self.width() < ROOM_FOR_REQUESTS * digit)
