"""The variables of the selected thread, or of its whole warp lane by lane."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt
from PySide6.QtGui import QFont, QFontMetrics, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QHeaderView

from core.launch import WARP
from gui.looks.labels_and_layouts import fill
from gui.looks.theme import current_theme
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.scenes.variables_shown import VariableRow, table_rows, variables_caption
from gui.views.buttons_and_choices import Segmented
from gui.views.drawing_tools import LEFT
from gui.views.question_in_views import Veil
from gui.views.session_view import CaptionedView
from gui.views.tables import Index, PlainCells, Role, RowModel, RowTable

VALUE = 12  # digits that a value has before types get room


class VariableModel(RowModel[VariableRow]):
    """Name, type and value; or name, type and 32 lanes."""

    HEADS: tuple[str, ...] = ("Name", "Type", "Value")
    ACROSS = (*HEADS[:2], *(f"lane {lane}" for lane in range(WARP)))
    RIGHT = frozenset(range(2, len(ACROSS)))
    SELECTABLE = False

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[VariableRow, ...] = ()
        self.across = False
        self.lane = 0
        self.pointed = -1  # the lane of this warp that the pointer rests on, in any view

    def show_rows(self, rows: tuple[VariableRow, ...], across: bool, lane: int) -> None:
        """Show other values; the table keeps its place where its shape stays the same."""
        same = across == self.across and len(rows) == len(self.rows)
        if not same:
            self.beginResetModel()
        before, lane_before = self.rows, self.lane
        self.rows, self.across, self.lane = rows, across, lane
        self.HEADS = self.ACROSS if across else VariableModel.HEADS
        if not same:
            self.endResetModel()
            return
        if rows != before or lane != lane_before:
            self._tell_changed(0, self.columnCount() - 1)
        if across and lane != lane_before:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 2, 1 + WARP)

    def point(self, lane: int) -> None:
        self.pointed = lane
        if self.across:
            self._tell_changed(2, 1 + WARP)

    def _tell_changed(self, first: int, last: int) -> None:
        """Columns have changed, from the first to the last."""
        if self.rows:
            self.dataChanged.emit(self.index(0, first), self.index(len(self.rows) - 1, last))

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> object:
        if role == Role.FontRole and self.across and section - 2 == self.lane:
            return current_theme().font("small", bold=True)
        return super().headerData(section, orientation, role)

    def data(self, index: Index, role: int = 0) -> object:
        row, column = self.rows[index.row()], index.column()
        if role == Role.ToolTipRole:
            value = row.lanes[column - 2] if self.across and row.lanes and column > 1 else row.value
            return f"{row.type} {row.name} = {value}"
        if role == Role.TextAlignmentRole and self.across and _is_spanned(row):
            return LEFT
        if role == Role.BackgroundRole and (column >= 2 or not self.across):
            selected = not self.across or column - 2 == self.lane
            if row.changed and selected:
                return current_theme().color("current_line")
            if self.across and column - 2 == self.pointed:
                return current_theme().tint("hover", 0.18)
        return super().data(index, role)

    def text(self, row: VariableRow, column: int) -> str:
        if column < 2:
            return (row.name, row.type)[column]
        if self.across and _is_spanned(row):
            return next(text for text in row.lanes if text not in ("", "–"))
        return row.lanes[column - 2] if self.across and row.lanes else row.value

    def color(self, row: VariableRow, column: int) -> str:
        is_dim = column == 1 or row.given or (column > 1 and row.value == "–")
        return "text_dim" if is_dim else "text"

    def font(self, row: VariableRow, column: int) -> QFont:
        theme = current_theme()
        return theme.font() if column == 1 else theme.mono(bold=column > 1 and row.changed)


def _is_spanned(row: VariableRow) -> bool:
    """Whether one cell says what all lanes hold: an address is wider than any value."""
    return row.pointer and row.uniform


class VariablesView(CaptionedView):
    """The table of variables. In the warp table, a click on a lane selects its thread."""

    WATCHES = frozenset({"trace", "block", "step", "thread", "warp_table", "hover"})
    READ = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.scope = Segmented(
            thread=("Thread", "Of the selected thread"),
            warp=("Warp", "Of its whole warp, lane by lane"),
        )
        self.model = VariableModel()
        self.table = RowTable(self.model, "Variables")
        self.table.setItemDelegate(PlainCells(self.table))
        # A row that a larger least size had stretched would keep its height ever after.
        self.table.verticalHeader().setMinimumSectionSize(1)
        self.table.viewport().installEventFilter(self)
        self._wide = [0, 0]  # of names and types
        self._spans: list[int] = []  # rows of which one cell is for all lanes
        fill(self, self.table)
        self.scope.bind(session, "warp_table", {"thread": False, "warp": True})
        self.controls = (self.scope,)
        self.table.clicked.connect(self._clicked)
        Veil(session, "variables", self.table)
        self.restyle()

    def refresh(self, names: frozenset[str]) -> None:
        self._light_pointed()
        if names == {"hover"}:
            return
        across, veiled = self.session.warp_table, self.session.hides("variables")
        reshaped = across != self.model.across or bool(names & {"trace"})
        rows = () if veiled else table_rows(self.session, across)
        reshaped |= len(rows) != len(self.model.rows)
        self.model.show_rows(rows, across, self.session.lane)
        if reshaped:
            self._fit()
        elif across:
            self._fit_lanes()
        self._span()
        words = variables_caption(self.session, rows, across)
        self.tell(words, veiled=veiled)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_types()

    def _fit_types(self) -> None:
        """Types, which the tips have as well, where they leave room for values."""
        digit = self.fontMetrics().horizontalAdvance("0")
        narrow = sum(self._wide) + VALUE * digit > self.width() > 0
        self.table.setColumnHidden(1, self.model.across or narrow)

    def restyle(self) -> None:
        line = QFontMetrics(current_theme().mono()).height()
        self.table.verticalHeader().setDefaultSectionSize(line + 4)
        self._fit()

    def _fit(self) -> None:
        header = self.table.horizontalHeader()
        mode = QHeaderView.ResizeMode
        if self.model.across:
            header.setSectionResizeMode(mode.Interactive)
            header.setStretchLastSection(False)
            self._fit_names()
            self._fit_lanes()
            self.table.setColumnHidden(1, True)  # the lanes need the room
            return
        self.table.setColumnHidden(1, False)  # so that its width is known
        for column, how in enumerate((mode.Interactive, mode.Interactive, mode.Stretch)):
            header.setSectionResizeMode(column, how)
        self._fit_names()
        self._fit_types()

    def _span(self) -> None:
        """Give an address that all lanes hold one cell."""
        rows = self.model.rows if self.model.across else ()
        places = [place for place, row in enumerate(rows) if _is_spanned(row)]
        if places != self._spans:
            self._spans = places
            self.table.clearSpans()
            for place in places:
                self.table.setSpan(place, 2, 1, WARP)

    def _fit_names(self) -> None:
        """Names and types as wide as they need; QTableView would ask every cell for everything."""
        theme = current_theme()
        head = QFontMetrics(theme.font("small", bold=True))
        fonts = (theme.mono(), theme.font())
        for column, (font, title) in enumerate(zip(fonts, ("Name", "Type"), strict=True)):
            metrics = QFontMetrics(font)
            texts = {(row.name, row.type)[column] for row in self.model.rows}
            widths = [metrics.horizontalAdvance(text) for text in texts]
            width = max(*widths, head.horizontalAdvance(title), 0)
            self._wide[column] = width + 3 * theme.spacing.gap
            self.table.setColumnWidth(column, self._wide[column])

    def _fit_lanes(self) -> None:
        """Every lane as wide as the longest value needs: asking each cell would take too long."""
        theme = current_theme()
        cut = ("*", "]")  # pointers, and arrays that are too long for a row an element
        rows = [row for row in self.model.rows if not row.type.endswith(cut)]
        longest = max((text for row in rows for text in row.lanes), key=len, default="")
        value = QFontMetrics(theme.mono(bold=True)).horizontalAdvance(longest)
        head = QFontMetrics(theme.font("small", bold=True)).horizontalAdvance("lane 00")
        width = max(value, head) + 3 * theme.spacing.gap
        if width != self.table.columnWidth(2):
            self.table.horizontalHeader().setDefaultSectionSize(width)
            for column in range(2, self.model.columnCount()):
                self.table.setColumnWidth(column, width)

    def _light_pointed(self) -> None:
        thread = self.session.pointed_thread
        mine = thread is not None and thread // WARP == self.session.warp
        lane = thread % WARP if thread is not None and mine else -1
        if lane != self.model.pointed:
            self.model.point(lane)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self.session.hover = None
        elif isinstance(event, QMouseEvent) and event.type() == QEvent.Type.MouseMove:
            column = self.table.indexAt(event.position().toPoint()).column()
            thread, block = self.session.warp * WARP + column - 2, self.session.block_trace
            lane = self.model.across and column >= 2
            known = lane and block is not None and thread < block.n_threads
            self.session.hover = Hover(thread) if known else None
        return False

    def _clicked(self, index: QModelIndex) -> None:
        if self.model.across and index.column() >= 2:
            self.session.lane = index.column() - 2
