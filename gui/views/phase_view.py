"""The phase table: a row for each thread of the block, a column for each phase."""

from __future__ import annotations

import re
import weakref
from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetrics, QGuiApplication, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QMenu,
    QStackedLayout,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolButton,
    QWidget,
)

from core.analysis.phase_table import Entry, PhaseTable
from core.errors import TilescopeError
from gui.scenes.phases import COPIES, lit_column, phases_caption, table_job, why_no_table
from gui.scenes.session import Session
from gui.theme import current_theme
from gui.views.base import Caption, SessionView
from gui.work import Worker

if TYPE_CHECKING:
    from core.trace import BlockTrace

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

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Room for the widest entry and all of them."""
        model = index.model()
        assert isinstance(model, PhaseModel)
        metrics = QFontMetrics(current_theme().mono(SCALE))
        lines = [line for entry in model.entries(index) for line in folded(entry.short)]
        wide = max((metrics.horizontalAdvance(line) for line in lines), default=0)
        return QSize(wide + 2 * EDGE, max(len(lines), 1) * line_height() + EDGE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw one cell."""
        model, theme = index.model(), current_theme()
        assert isinstance(model, PhaseModel)
        assert model.table is not None
        box: QRect = option.rect
        mine = model.table.rows[index.row()].thread == model.chosen
        if index.column() == model.column:
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


@cache
def folded(text: str) -> tuple[str, ...]:
    """An entry on lines: the terms of a sum below each other."""
    target, sign, terms = text.partition("= ")
    first, *others = re.split(r" (?=[+-] )", terms)
    indent = " " * len(target)
    return (target + sign + first, *(indent + other for other in others))


def line_height() -> int:
    """Pixels of one entry."""
    return QFontMetrics(current_theme().mono(SCALE)).lineSpacing() + 2


class PhaseGrid(QTableView):
    """The table; a click goes to the entry under the pointer."""

    def entry_at(self, index: QModelIndex, y: int) -> Entry | None:
        """The entry of a cell at a height of the viewport; the nearest below or above the text."""
        model = self.model()
        assert isinstance(model, PhaseModel)
        entries = model.entries(index)
        rows = [entry for entry in entries for _ in folded(entry.short)]
        place = (y - self.visualRect(index).top() - EDGE // 2) // line_height()
        return rows[min(max(place, 0), len(rows) - 1)] if rows else None


class PhaseView(SessionView):
    """The phase table of the selected block. It is worked out in a thread of its own."""

    WATCHES = frozenset({"trace", "block", "step", "thread"})
    READ = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.caption = Caption()
        self.model = PhaseModel()
        self.worker = Worker(self, "phase table")
        self.worker.finished.connect(self._show)
        self.worker.failed.connect(self._say)
        self.copy = QToolButton()
        self.copy.setText("Copy")
        self.copy.setProperty("role", "action")
        self.copy.setToolTip("Copy the table as text, Markdown or LaTeX")
        self.copy.setAccessibleName("Copy the phase table")
        self.copy.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.copy)
        for name in COPIES:
            menu.addAction(f"As {name if name != 'Text' else 'text'}").triggered.connect(
                lambda _=False, chosen=name: self.copy_as(chosen)
            )
        self.copy.setMenu(menu)
        self.controls: tuple[QWidget, ...] = (self.copy,)
        self.grid = PhaseGrid()
        self.grid.setModel(self.model)
        self.grid.setItemDelegate(EntryPainter(self.grid))
        self.grid.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.grid.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.grid.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.grid.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.grid.setAccessibleName("Phase table")
        self.grid.setFrameShape(QTableView.Shape.NoFrame)
        for header in (self.grid.horizontalHeader(), self.grid.verticalHeader()):
            header.setHighlightSections(False)
            header.setSectionsClickable(False)
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.reason = QLabel()
        self.reason.setWordWrap(True)
        self.reason.setProperty("role", "dim")
        self.reason.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.reason.setContentsMargins(24, 12, 24, 12)
        self.pages = QStackedLayout(self)
        self.pages.addWidget(self.reason)
        self.pages.addWidget(self.grid)
        self._wanted: weakref.ref[BlockTrace] | None = None
        """The block whose table is shown or being made; a hidden view must not keep its record."""
        self.grid.viewport().installEventFilter(self)

    @property
    def table(self) -> PhaseTable | None:
        """What is shown, None while there is none."""
        return self.model.table

    def refresh(self, names: frozenset[str]) -> None:
        """Follow the block, and light the current phase."""
        wanted = self._wanted() if self._wanted is not None else None
        if self.session.block_trace is not wanted or wanted is None:
            self._ask()
        self._light(follow=bool(names & {"step", "thread", "block", "trace"}))
        self.caption.setText(phases_caption(self.session, self.table))

    def restyle(self) -> None:
        """Take up the theme's sizes."""
        self._fit()

    def shut_down(self) -> None:
        """Stop the worker's thread."""
        self.worker.close()

    def copy_as(self, name: str) -> None:
        """Put the table on the clipboard; `name` is a key of `COPIES`."""
        if self.table is not None:
            QGuiApplication.clipboard().setText(COPIES[name](self.table))

    def _ask(self) -> None:
        block, trace = self.session.block_trace, self.session.trace
        self._wanted = weakref.ref(block) if block is not None else None
        self.model.load(None)
        self.copy.setEnabled(False)
        reason = why_no_table(self.session)
        self.reason.setText(reason or "The phase table is being made …")
        self.pages.setCurrentWidget(self.reason)
        if reason or block is None or trace is None:
            self.worker.cancel()
        else:
            self.worker.submit(table_job(trace, block))

    def _show(self, table: PhaseTable) -> None:
        self.model.load(table)
        self.copy.setEnabled(True)
        self.pages.setCurrentWidget(self.grid)
        self._fit()
        self._light(follow=True)
        self.caption.setText(phases_caption(self.session, table))

    def _say(self, error: object) -> None:
        if not isinstance(error, TilescopeError):
            error = f"The phase table could not be made: {error!r}."
        self.reason.setText(str(error))

    def _fit(self) -> None:
        self.grid.resizeColumnsToContents()
        self.grid.resizeRowsToContents()

    def _light(self, *, follow: bool) -> None:
        model, session = self.model, self.session
        if model.table is None:
            return
        model.column = lit_column(session, model.table)
        model.chosen, model.step = session.thread, session.step
        self.grid.viewport().update()
        self.grid.horizontalHeader().viewport().update()
        self.grid.verticalHeader().viewport().update()
        if follow and model.column >= 0 and not self.grid.viewport().underMouse():
            row = min(session.thread, model.rowCount() - 1)
            self.grid.scrollTo(model.index(row, model.column))

    def eventFilter(self, watched: object, event: object) -> bool:
        """A press on an entry goes to its step and thread."""
        if isinstance(event, QMouseEvent) and event.type() == QMouseEvent.Type.MouseButtonPress:
            self._press(event)
        return False

    def _press(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        index = self.grid.indexAt(point)
        if not index.isValid() or event.button() != Qt.MouseButton.LeftButton:
            return
        assert self.table is not None
        thread = self.table.rows[index.row()].thread
        entry = self.grid.entry_at(index, point.y())
        step = entry.step if entry is not None else self.table.columns[index.column()].first
        self.session.update(playing=0, step=step, thread=thread)
