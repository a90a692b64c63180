"""What the launch moved: actual against ideal, by array or line; beside Nsight Compute's."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QRectF
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QStyledItemDelegate, QStyleOptionViewItem

from gui.looks.labels_and_layouts import fill
from gui.looks.theme import current_theme
from gui.scenes.configuration import Profile
from gui.scenes.counter_table import CounterRow, counter_rows, counters_caption, sections
from gui.scenes.nsight_profile_table import (
    ProfileRow,
    first_difference,
    profile_caption,
    profile_rows,
)
from gui.scenes.numbers_and_sentences import capital, grouped, spaced
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.views.buttons_and_choices import Segmented
from gui.views.drawing_tools import LEFT, text
from gui.views.question_in_views import Veil
from gui.views.session_view import CaptionedView
from gui.views.tables import Index, RowModel, RowTable

REQUESTS = 2
BAR = 5
UNITS = "32-byte sectors of global memory, or wavefronts of shared memory"
ROOM_FOR_REQUESTS = 62  # digits


class CounterModel(RowModel[CounterRow]):
    """The rows of `gui.scenes.counter_table` for a table; a row that is a text is a heading."""

    HEADS = ("Where", "Access", "Requests", "Moved", "Ideal", "× ideal")
    RIGHT = frozenset({2, 3, 4})

    def __init__(self) -> None:
        super().__init__()
        self.by_line = False

    def most(self, unit: str) -> int:
        return max(r.moved for r in self.rows if isinstance(r, CounterRow) and r.unit == unit)

    def head(self, column: int) -> str:
        return ("Line" if self.by_line else "Array") if column == 0 else self.HEADS[column]

    def head_tip(self, column: int) -> str:
        return UNITS if self.HEADS[column] == "Moved" else ""

    def text(self, row: CounterRow, column: int) -> str:
        counts = (grouped(n) for n in (row.requests, row.moved, row.ideal))
        return (row.place, row.access, *counts, row.times_ideal)[column]

    def tip(self, row: CounterRow) -> str:
        return row.tip

    def color(self, row: CounterRow, column: int) -> str:
        return "text" if column in (0, 2, 3) else "text_dim"


class RatioBar(QStyledItemDelegate):
    """Draws moved against ideal: the ideal's share, then the waste, on one scale for each unit."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
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
        ink = theme.color("conflict" if row.excessive > 0 else "ideal")
        area = QRectF(box.left() + 8, box.top(), label, box.height())
        text(painter, area, row.times_ideal, ink, option.font, LEFT, elide=False)
        for name, amount in (("waste", row.moved), ("used", min(row.ideal, row.moved))):
            painter.fillRect(QRectF(x, y, room * amount / most, BAR), theme.color(name))
        painter.restore()


class ProfileModel(RowModel[ProfileRow]):
    """The rows of `gui.scenes.counter_table` for a table."""

    HEADS = ("Where", "Counter", "Tilescope", "Nsight", "Nsight − Tilescope")
    RIGHT = frozenset({2, 3})

    def text(self, row: ProfileRow, column: int) -> str:
        figures = grouped(row.ours), grouped(round(row.theirs)), row.difference
        return (capital(row.place), row.what, *figures)[column]

    def tip(self, row: ProfileRow) -> str:
        return spaced(row.sentence)

    def color(self, row: ProfileRow, column: int) -> str:
        if not row.equal:
            return "conflict"
        return "text_dim" if column in (1, 4) else "text"

    def bold(self, row: ProfileRow, column: int) -> bool:
        """What differs is marked without colour, too."""
        return not row.equal


class CountersView(CaptionedView):
    """The table of counts, or Nsight Compute's beside them. A row of a line selects that line."""

    WATCHES = frozenset({"trace", "counts", "line", "counts_by", "profile"})
    READ = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.grouping = Segmented(
            array=("By array", "What each array cost"),
            line=("By line", "What each source line cost"),
            profile=("Nsight", "Nsight Compute's counters beside these"),
        )
        self.model = CounterModel()
        self.table = RowTable(self.model, "Counters")
        self.table.setItemDelegateForColumn(5, RatioBar(self.table))
        self.beside = ProfileModel()
        self.beside_table = RowTable(self.beside, "Counters beside Nsight Compute's")
        self.tables = QStackedWidget()
        fill(self, self.tables)
        keys = {key: key for key in ("array", "line", "profile")}
        self.grouping.bind(session, "counts_by", keys)
        self.controls = (self.grouping,)
        for table in (self.table, self.beside_table):
            self.tables.addWidget(table)
            table.clicked.connect(self._clicked)
            table.pointed.connect(self._point)
        self.beside_table.selectionModel().selectionChanged.connect(lambda *_: self._explain())
        Veil(session, "counters", self)
        self.restyle()

    @property
    def _profile(self) -> Profile | None:
        if self.session.counts_by != "profile" or self.session.hides("counters"):
            return None
        return self.session.profile

    @property
    def _rows(self) -> Sequence[CounterRow | ProfileRow | str]:
        return self.beside.rows if self._profile is not None else self.model.rows

    def refresh(self, names: frozenset[str]) -> None:
        if names & {"trace", "counts", "counts_by", "profile", "veiled", "answered"}:
            self.grouping.offer("profile", self.session.profile is not None)
            profile = self._profile
            self.tables.setCurrentWidget(self.table if profile is None else self.beside_table)
            if profile is None:
                self._show_counts()
            else:
                self.beside.load(profile_rows(profile))
                self.beside_table.fit()
                self._explain()
        by_line = self.session.counts_by != "array" and self.session.line is not None
        shown = self.table if self._profile is None else self.beside_table
        chosen = [
            i
            for i, r in enumerate(self._rows)
            if not isinstance(r, str) and r.line == self.session.line
        ]
        if by_line and chosen:
            shown.selectRow(chosen[0])
        elif names & {"line", "trace", "counts_by"}:
            shown.clearSelection()

    def _show_counts(self) -> None:
        trace, by_line = self.session.trace, self.session.counts_by == "line"
        counted, veiled = self.session.counted, self.session.hides("counters")
        shown = trace if not veiled else None
        rows = counter_rows(shown, "line" if by_line else "array", counted) if shown else ()
        self.model.by_line = by_line
        self.model.load(sections(rows))
        self.tell(counters_caption(self.session), veiled=veiled)
        self.table.fit()

    def _explain(self) -> None:
        """Say of the chosen row, else of the first that differs, what both have, and why."""
        profile = self._profile
        if profile is None:
            return
        chosen = self.beside_table.selectionModel().selectedRows()
        row = self.beside.rows[chosen[0].row()] if chosen else None
        if not isinstance(row, ProfileRow):
            row = first_difference(self.beside.rows)
        self.caption.setText(spaced(profile_caption(profile, row)))

    def restyle(self) -> None:
        self.table.fit()
        self.beside_table.fit()

    def _point(self, place: int) -> None:
        row = self._rows[place] if place >= 0 else None
        line = row.line if row is not None and not isinstance(row, str) else None
        self.session.hover = Hover(line=line) if line is not None else None

    def _clicked(self, index: QModelIndex) -> None:
        row = self._rows[index.row()]
        if not isinstance(row, str) and row.line is not None:
            self.session.line = row.line
        self._explain()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the requests in a narrow table; the tips have them."""
        super().resizeEvent(event)
        digit = self.fontMetrics().horizontalAdvance("0")
        self.table.setColumnHidden(REQUESTS, self.width() < ROOM_FOR_REQUESTS * digit)
