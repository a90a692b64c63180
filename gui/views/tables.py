"""Tables of rows, cells drawn plainly, and lists of places in the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from gui.looks.theme import current_theme
from gui.views.drawing_tools import LEFT, RIGHT

EDGE = 8  # pixels between a cell's border and its text, as the stylesheet has it
Index = QModelIndex | QPersistentModelIndex
Role = Qt.ItemDataRole


class PlainCells(QStyledItemDelegate):
    """Draws the text of a cell in its font and colours, cut where it does not fit.

    A style sheet works out its rules for every cell anew, which takes several times as long. For
    tables in which nothing can be selected.
    """

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model, box = index.model(), option.rect
        background = model.data(index, Role.BackgroundRole)
        if background is not None:
            painter.fillRect(box, background)
        value = model.data(index, Role.DisplayRole)
        words = "" if value is None else str(value)
        font = model.data(index, Role.FontRole) or option.font
        room = box.width() - 2 * EDGE
        metrics = QFontMetrics(font)
        if metrics.horizontalAdvance(words) > room:
            words = metrics.elidedText(words, Qt.TextElideMode.ElideRight, room)
        painter.setFont(font)
        painter.setPen(model.data(index, Role.ForegroundRole) or current_theme().color("text"))
        side = model.data(index, Role.TextAlignmentRole) or Qt.AlignmentFlag.AlignVCenter
        painter.drawText(box.adjusted(EDGE, 0, -EDGE, 0), int(side), words)


Row = TypeVar("Row")
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
        self.beginResetModel()
        self.rows = tuple(rows)
        self.endResetModel()

    @property
    def plain_rows(self) -> tuple[Row, ...]:
        """The rows that are no headings."""
        return tuple(row for row in self.rows if not isinstance(row, str))

    def text(self, row: Row, column: int) -> str:
        raise NotImplementedError

    def tip(self, row: Row) -> str:
        """What is said of a row that the pointer rests on."""
        return ""

    def color(self, row: Row, column: int) -> str:
        return "text"

    def bold(self, row: Row, column: int) -> bool:
        return False

    def head(self, column: int) -> str:
        return self.HEADS[column]

    def head_tip(self, column: int) -> str:
        """What is said of a head that the pointer rests on."""
        return ""

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.HEADS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Role.DisplayRole:
            return self.head(section)
        if role == Role.ToolTipRole:
            return self.head_tip(section) or None
        if role == Role.TextAlignmentRole:
            return RIGHT if section in self.RIGHT else LEFT
        return None

    def data(self, index: Index, role: int = 0) -> object:
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
        return current_theme().font(bold=True) if self.bold(row, column) else None

    def flags(self, index: Index) -> Qt.ItemFlag:
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
        self.setTabKeyNavigation(False)
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
        super().mouseMoveEvent(event)
        self.pointed.emit(self.indexAt(event.position().toPoint()).row())

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit(-1)

    def fit(self) -> None:
        """Give rows, headings and columns the room that they need; after other rows or a theme."""
        theme, model = current_theme(), self._rows
        self.setFont(theme.font())
        self.verticalHeader().setDefaultSectionSize(theme.spacing.control - 4)
        self.clearSpans()
        for place, row in enumerate(model.rows):
            if isinstance(row, str):
                self.setSpan(place, 0, 1, len(model.HEADS))
        plain, bold = QFontMetrics(theme.font()), QFontMetrics(theme.font(bold=True))
        heads = QFontMetrics(theme.font("small"))
        rows = model.plain_rows
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


MARK, PLACE_EDGE, GAP = 9, 12, 12  # pixels: a mark's size, the row's margin, between two texts
AT_ONCE = 40  # rows that are laid out in one event
CROSS = 8  # a cross's size; what can be clicked is larger
WRAP = int(Qt.TextFlag.TextWordWrap)
LEFT_TOP = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
ROW = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class PlaceRow:
    """One row: a title in bold, code beside it, a figure at the right, a sentence below.

    `fault` says whether its mark is that of a fault, a triangle, and not of a breakpoint; only its
    outline where that `is_open`. `removes` is the name of what its cross does, empty for none.
    """

    title: str
    code: str = ""
    figure: str = ""
    sentence: str = ""
    fault: bool = False
    is_open: bool = False
    removes: str = ""

    @property
    def text(self) -> str:
        return ", ".join(filter(None, (self.title, self.code, self.figure, self.sentence)))


class PlaceList(QListWidget):
    """Shows rows; `removed(row number)` when a cross is clicked."""

    removed = Signal(int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setItemDelegate(_Drawn(self))
        self.setMouseTracking(True)
        self.setUniformItemSizes(False)
        batched = QListWidget.LayoutMode.Batched  # to wrap a thousand sentences takes long
        self.setLayoutMode(batched)
        self.setBatchSize(AT_ONCE)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(name)

    def show_rows(self, rows: Sequence[PlaceRow], tip: str) -> None:
        """List other rows; the chosen place stays as far as there is one."""
        chosen = self.currentRow()
        self.clear()
        for row in rows:
            item = QListWidgetItem(row.text)
            item.setData(ROW, row)
            item.setToolTip(tip)
            self.addItem(item)
        self.setCurrentRow(min(chosen, len(rows) - 1))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.scheduleDelayedItemsLayout()


class _Drawn(QStyledItemDelegate):
    """Draws a `PlaceRow`, and takes clicks on its cross."""

    def __init__(self, shown_in: PlaceList) -> None:
        super().__init__(shown_in)
        self._list = shown_in

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """A control's height, and what the sentence takes below."""
        width = self._list.viewport().width()
        row: PlaceRow = index.data(ROW)
        height = current_theme().spacing.control - 2
        if row.sentence:
            height += self._sentence(row, QRect(0, 0, width, 0)).height() + 6
        return QSize(width, height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme, box, row = current_theme(), QRect(option.rect), index.data(ROW)
        for state, strength in (("Selected", 0.16), ("MouseOver", 0.07)):
            if option.state & QStyle.StateFlag[f"State_{state}"]:
                painter.fillRect(box, theme.tint("accent", strength))
                break
        line = QRect(box.left(), box.top(), box.width(), theme.spacing.control - 2)
        _mark(painter, line, row)
        right = self._cross(box).left() - 4 if row.removes else box.right() - PLACE_EDGE
        bold, mono = theme.font(bold=True), theme.mono(0.95)
        x = line.left() + PLACE_EDGE + MARK + 8
        x = _write(painter, line, x, right, row.title, bold, "text")
        wide = QFontMetrics(theme.font()).horizontalAdvance(row.figure)
        _write(painter, line, right - wide, right, row.figure, theme.font(), "text_dim")
        _write(painter, line, x, right - wide - GAP, row.code, mono, "text_dim")
        if row.removes:
            painter.setPen(theme.color("text_dim"))
            cross = _square(self._cross(box).center(), CROSS)
            painter.drawLine(cross.topLeft(), cross.bottomRight())
            painter.drawLine(cross.topRight(), cross.bottomLeft())
        if row.sentence:
            painter.setFont(theme.font())
            painter.setPen(theme.color("text_dim"))
            painter.drawText(self._sentence(row, box), WRAP | LEFT_TOP, row.sentence)

    def editorEvent(
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        if index.data(ROW).removes and isinstance(event, QMouseEvent):
            on = self._cross(QRect(option.rect)).contains(event.position().toPoint())
            if on and event.type() == QEvent.Type.MouseButtonRelease:
                self._list.removed.emit(index.row())
            return on
        return super().editorEvent(event, model, option, index)

    def _cross(self, box: QRect) -> QRect:
        """The part of a row in which a click removes it."""
        size = current_theme().spacing.control - 2
        return QRect(box.right() - size, box.top(), size, size)

    def _sentence(self, row: PlaceRow, box: QRect) -> QRect:
        theme = current_theme()
        left, top = box.left() + PLACE_EDGE + MARK + 8, box.top() + theme.spacing.control - 4
        room = QRect(left, top, max(box.right() - PLACE_EDGE - left, 1), 10_000)
        return QFontMetrics(theme.font()).boundingRect(room, WRAP | LEFT_TOP, row.sentence)


def _square(centre: QPoint, size: int) -> QRect:
    return QRect(centre.x() - size // 2, centre.y() - size // 2, size, size)


def _mark(painter: QPainter, line: QRect, row: PlaceRow) -> None:
    """A dot for a breakpoint, a triangle for a fault, as on the scrub bar."""
    theme = current_theme()
    spot = _square(QPoint(line.left() + PLACE_EDGE + MARK // 2, line.center().y()), MARK)
    path = QPainterPath()
    if row.fault:
        path.moveTo(spot.center().x() + 0.5, spot.top())
        path.lineTo(spot.right() + 1, spot.bottom() + 1)
        path.lineTo(spot.left(), spot.bottom() + 1)
        path.closeSubpath()
    else:
        path.addEllipse(spot)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if row.is_open:
        painter.strokePath(path, QPen(theme.color("error"), 1.2))
    else:
        painter.fillPath(path, theme.color("error"))
    painter.restore()


def _write(
    painter: QPainter, line: QRect, left: int, right: int, text: str, font: QFont, color: str
) -> int:
    """A text in its place, cut where it must be; where the next may begin."""
    metrics = QFontMetrics(font)
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(right - left, 0))
    painter.setFont(font)
    painter.setPen(current_theme().color(color))
    painter.drawText(QRect(left, line.top(), max(right - left, 0), line.height()), int(LEFT), shown)
    return left + metrics.horizontalAdvance(shown) + GAP
