"""The phase table: a row for each thread of the block, a column for each phase."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QPushButton,
    QStackedLayout,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.background import Worker, sentence_of
from gui.looks.labels_and_layouts import named, styled_label
from gui.looks.theme import current_theme
from gui.scenes.phase_table_shown import (
    COPIES,
    TableShape,
    copy_of,
    folded,
    phases_caption,
    small_enough,
    table_job,
    why_no_table,
)
from gui.scenes.question_in_views import ANSWER_FIRST
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.views.buttons_and_choices import action_button
from gui.views.question_in_views import Veil, draw_veil
from gui.views.session_view import CaptionedView
from gui.views.tables import EDGE, Index

if TYPE_CHECKING:
    from core.explain.phase_table import Entry, PhaseTable
    from core.ladder import Ladder
    from core.trace import BlockTrace

COLORS = {"load": "load", "copy": "text", "sum": "text", "store": "store"}
SCALE = 0.92  # of the theme's fixed-width type


class PhaseModel(QAbstractTableModel):
    """The cells of a `PhaseTable`; the entries come by `entries`."""

    def __init__(self) -> None:
        super().__init__()
        self.table: PhaseTable | None = None
        self.column, self.chosen, self.step = -1, -1, -1
        self.veiled: frozenset[int] = frozenset()  # columns that a question is about
        self.pointed: int | None = None  # the thread that the pointer rests on, in any view

    def load(self, table: PhaseTable | None) -> None:
        self.beginResetModel()
        self.table = table
        self.endResetModel()

    def entries(self, index: Index) -> tuple[Entry, ...]:
        assert self.table is not None
        if index.column() in self.veiled:
            return ()
        return self.table.rows[index.row()].cells[index.column()]

    def rowCount(self, parent: Index | None = None) -> int:
        nested = parent is not None and parent.isValid()
        return 0 if nested or self.table is None else len(self.table.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        nested = parent is not None and parent.isValid()
        return 0 if nested or self.table is None else len(self.table.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> object:
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
            if index.column() in self.veiled:
                return ANSWER_FIRST
            return "\n".join(entry.text for entry in self.entries(index))
        return None


class EntryPainter(QStyledItemDelegate):
    """Draws a cell's entries below each other; the lit phase is tinted, the step's entry marked."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model, theme = index.model(), current_theme()
        assert isinstance(model, PhaseModel)
        assert model.table is not None
        box: QRect = option.rect
        if index.column() in model.veiled:
            draw_veil(painter, QRectF(box).adjusted(2, 1, -2, -1), theme)
            return
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
        metrics = QFontMetrics(current_theme().mono(SCALE))
        across, down = self.horizontalHeader(), self.verticalHeader()
        for column, longest in enumerate(shape.longest):
            wide = metrics.horizontalAdvance(longest) + 2 * EDGE
            across.resizeSection(column, max(wide, across.sectionSizeHint(column)))
        for row, lines in enumerate(shape.lines):
            high = max(lines, 1) * line_height() + EDGE
            down.resizeSection(row, max(high, down.sectionSizeHint(row)))

    def entry_at(self, index: QModelIndex, y: int) -> Entry | None:
        model = self.model()
        assert isinstance(model, PhaseModel)
        rows = [entry for entry in model.entries(index) for _ in folded(entry.short)]
        place = (y - self.visualRect(index).top() - EDGE // 2) // line_height()
        return rows[min(max(place, 0), len(rows) - 1)] if rows else None


class PhaseView(CaptionedView):
    """The phase table of the selected block. It is worked out in a thread of its own."""

    WATCHES = frozenset({"trace", "block", "step", "thread", "hover"})
    READ = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.model = PhaseModel()
        self.worker = Worker(self, "phase table", self._show, self._say)
        tip = "Copy the table as text, Markdown or LaTeX"
        self.copy = action_button("Copy", tip, "Copy the phase table")
        self.copy.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.copy)
        for name in COPIES:
            menu.addAction(f"As {name if name != 'Text' else 'text'}").triggered.connect(
                lambda _=False, chosen=name: self.copy_as(chosen)
            )
        self.copy.setMenu(menu)
        self.controls: tuple[QWidget, ...] = (self.copy,)
        self.grid = named(PhaseGrid(), "Phase table")
        self.grid.setModel(self.model)
        self.grid.setItemDelegate(EntryPainter(self.grid))
        self.grid.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.grid.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.grid.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.grid.setTabKeyNavigation(False)
        self.grid.setFrameShape(QTableView.Shape.NoFrame)
        for header in (self.grid.horizontalHeader(), self.grid.verticalHeader()):
            header.setHighlightSections(False)
            header.setSectionsClickable(False)
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.reason = styled_label(role="dim", wrap=True)
        self.reason.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.reason.setContentsMargins(24, 12, 24, 12)
        self.smaller = QPushButton()
        self.smaller.setAccessibleName("Use a smaller block")  # its text says which, when there is
        self.smaller.clicked.connect(self._use_smaller_block)
        self._ladder: Ladder | None = None
        self.pages = QStackedLayout(self)
        self.pages.addWidget(self._without())
        self.pages.addWidget(self.grid)
        self._wanted: weakref.ref[BlockTrace] | None = None
        """The block whose table is shown or being made; a hidden view must not keep its record."""
        self._shape: TableShape | None = None
        Veil(session, "phases", self)
        self.grid.viewport().installEventFilter(self)
        self.grid.viewport().setMouseTracking(True)

    def _without(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.addStretch(1)
        column.addWidget(self.reason)
        column.addWidget(self.smaller, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        return page

    def offer_blocks_of(self, ladder: Ladder) -> None:
        """Offer a smaller block where the rung's block has too many threads."""
        self._ladder = ladder

    @property
    def table(self) -> PhaseTable | None:
        return self.model.table

    def refresh(self, names: frozenset[str]) -> None:
        if names == {"hover"}:
            self._light_pointed()
            return
        wanted = self._wanted() if self._wanted is not None else None
        if self.session.block_trace is not wanted or wanted is None:
            self._ask()
        self._veil()
        self._light(follow=bool(names & {"step", "thread", "block", "trace"}))
        self._show_caption()

    def _show_caption(self) -> None:
        known = self.table is not None  # else the view says why not
        words = phases_caption(self.session, self.table) if known else ""
        self.tell(words, veiled=bool(self.model.veiled))

    def _veil(self) -> None:
        """Cover the columns that a question is about; all of the table where it is about that."""
        table, session = self.table, self.session
        count = len(table.columns) if table is not None else 0
        phases = (table.columns[i].phase for i in range(count)) if table is not None else ()
        hidden = frozenset(i for i, phase in enumerate(phases) if session.hides_phase(phase))
        changed, self.model.veiled = hidden != self.model.veiled, hidden
        self.copy.setEnabled(table is not None and not hidden)
        if table is not None:
            whole = session.hides("phases")
            self.reason.setText("")
            self.pages.setCurrentIndex(0 if whole else 1)
        if changed:
            self.grid.viewport().update()

    def restyle(self) -> None:
        self._fit()

    def copy_as(self, name: str) -> None:
        """Put the table on the clipboard; `name` is a key of `COPIES`."""
        if self.table is not None and not self.model.veiled:
            QGuiApplication.clipboard().setText(copy_of(self.table, name))

    def _ask(self) -> None:
        block, trace = self.session.block_trace, self.session.trace
        self._wanted = weakref.ref(block) if block is not None else None
        self.model.load(None)
        self.copy.setEnabled(False)
        reason = why_no_table(self.session)
        self.reason.setText(reason or "The phase table is being made …")
        self._offer(reason)
        self.pages.setCurrentIndex(0)
        if reason or block is None or trace is None:
            self.worker.cancel()
        else:
            self.worker.submit(table_job, trace, block)

    def _offer(self, reason: str) -> None:
        found = small_enough(self.session, self._ladder) if reason and self._ladder else None
        self.smaller.setVisible(found is not None)
        if found is not None:
            self.smaller.setText(f"Use a block of {found[0]}")
            self.smaller.setToolTip("Record the same kernel with fewer threads in a block")

    def _use_smaller_block(self) -> None:
        found = small_enough(self.session, self._ladder) if self._ladder else None
        if found is not None:
            self.session.configuration = found[1]

    def _show(self, made: tuple[PhaseTable, TableShape]) -> None:
        table, self._shape = made
        self.model.load(table)
        self._offer("")
        self._veil()
        self._fit()
        self._light(follow=True)
        self._show_caption()

    def _say(self, error: object) -> None:
        self.reason.setText(sentence_of(error, "The phase table could not be made"))

    def _fit(self) -> None:
        if self.table is not None and self._shape is not None:
            self.grid.fit(self._shape)

    def _light(self, *, follow: bool) -> None:
        model, session = self.model, self.session
        if model.table is None:
            return
        model.column = model.table.column_at(session.step, session.phase)
        model.chosen, model.step = session.thread, session.step
        self.grid.viewport().update()
        self.grid.horizontalHeader().viewport().update()
        self.grid.verticalHeader().viewport().update()
        if follow and model.column >= 0 and not self.grid.viewport().underMouse():
            row = min(session.thread, model.rowCount() - 1)
            self.grid.scrollTo(model.index(row, model.column))

    def _light_pointed(self) -> None:
        if self.session.pointed_thread != self.model.pointed:
            self.model.pointed = self.session.pointed_thread
            self.grid.viewport().update()

    def eventFilter(self, watched: object, event: object) -> bool:
        """A press on an entry goes to its step and thread; pointing at it lights them elsewhere."""
        if isinstance(event, QMouseEvent) and event.type() == QMouseEvent.Type.MouseButtonPress:
            self._press(event)
        elif isinstance(event, QMouseEvent) and event.type() == QMouseEvent.Type.MouseMove:
            self._point(event)
        elif isinstance(event, QEvent) and event.type() == QEvent.Type.Leave:
            self.session.hover = None
        return False

    def _at(self, event: QMouseEvent) -> tuple[int, int, Entry | None] | None:
        point = event.position().toPoint()
        index = self.grid.indexAt(point)
        if not index.isValid() or self.table is None:
            return None
        thread = self.table.rows[index.row()].thread
        return thread, index.column(), self.grid.entry_at(index, point.y())

    def _point(self, event: QMouseEvent) -> None:
        found = self._at(event)
        if found is None:
            self.session.hover = None
            return
        thread, _, entry = found
        self.session.hover = Hover(thread, entry.element if entry is not None else None)

    def _press(self, event: QMouseEvent) -> None:
        found = self._at(event)
        if found is None or event.button() != Qt.MouseButton.LeftButton:
            return
        assert self.table is not None
        thread, column, entry = found
        if self.session.pick("thread", thread) or column in self.model.veiled:
            return
        step = entry.step if entry is not None else self.table.columns[column].first
        self.session.update(playing=0, step=step, thread=thread)
