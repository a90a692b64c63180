"""A list of places in the kernel: a mark, what is there, and more about it on the same row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QFontMetrics, QMouseEvent, QPainter, QPainterPath, QResizeEvent
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from gui.looks.theme import current_theme

Index = QModelIndex | QPersistentModelIndex
MARK, EDGE, GAP = 9, 12, 12  # pixels: a mark's size, the row's margin, between two texts
AT_ONCE = 40  # rows that are laid out in one event
CROSS = 8  # a cross's size; what can be clicked is larger
WRAP = int(Qt.TextFlag.TextWordWrap)
LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
LEFT_TOP = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
ROW = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class PlaceRow:
    """One row: a title in bold, code beside it, a figure at the right, a sentence below.

    `fault` says whether its mark is that of a fault, a triangle, and not of a breakpoint; `removes`
    is the name of what its cross does, empty for none.
    """

    title: str
    code: str = ""
    figure: str = ""
    sentence: str = ""
    fault: bool = False
    removes: str = ""

    @property
    def text(self) -> str:
        """The row as one text, for screen readers."""
        return ", ".join(filter(None, (self.title, self.code, self.figure, self.sentence)))


class PlaceList(QListWidget):
    """Shows rows; `removed(row number)` when a cross is clicked."""

    removed = Signal(int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setItemDelegate(_Drawn(self))
        self.setMouseTracking(True)
        self.setUniformItemSizes(False)
        self.setLayoutMode(
            QListWidget.LayoutMode.Batched
        )  # to wrap a thousand sentences takes long
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
        """Sentences wrap anew."""
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
        """The mark, the texts in one line, the cross; below them the sentence."""
        theme, box, row = current_theme(), QRect(option.rect), index.data(ROW)
        for state, strength in (("Selected", 0.16), ("MouseOver", 0.07)):
            if option.state & QStyle.StateFlag[f"State_{state}"]:
                painter.fillRect(box, theme.tint("accent", strength))
                break
        line = QRect(box.left(), box.top(), box.width(), theme.spacing.control - 2)
        _mark(painter, line, fault=row.fault)
        right = self._cross(box).left() - 4 if row.removes else box.right() - EDGE
        bold, mono = theme.font(bold=True), theme.mono(0.95)
        x = line.left() + EDGE + MARK + 8
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
        self,
        event: QEvent,
        model: QAbstractItemModel,
        option: QStyleOptionViewItem,
        index: Index,
    ) -> bool:
        """A click on the cross removes the row, and does nothing else."""
        if index.data(ROW).removes and isinstance(event, QMouseEvent):
            on = self._cross(QRect(option.rect)).contains(event.position().toPoint())
            if on and event.type() == QEvent.Type.MouseButtonRelease:
                self._list.removed.emit(index.row())
            return on
        return super().editorEvent(event, model, option, index)

    def _cross(self, box: QRect) -> QRect:
        """What of a row is its cross to click on."""
        size = current_theme().spacing.control - 2
        return QRect(box.right() - size, box.top(), size, size)

    def _sentence(self, row: PlaceRow, box: QRect) -> QRect:
        """Where the sentence stands in a row, below its first line."""
        theme = current_theme()
        left, top = box.left() + EDGE + MARK + 8, box.top() + theme.spacing.control - 4
        room = QRect(left, top, max(box.right() - EDGE - left, 1), 10_000)
        return QFontMetrics(theme.font()).boundingRect(room, WRAP | LEFT_TOP, row.sentence)


def _square(centre: QPoint, size: int) -> QRect:
    return QRect(centre.x() - size // 2, centre.y() - size // 2, size, size)


def _mark(painter: QPainter, line: QRect, *, fault: bool) -> None:
    """A dot for a breakpoint, a triangle for a fault, as on the scrub bar."""
    theme = current_theme()
    spot = _square(QPoint(line.left() + EDGE + MARK // 2, line.center().y()), MARK)
    path = QPainterPath()
    if fault:
        path.moveTo(spot.center().x() + 0.5, spot.top())
        path.lineTo(spot.right() + 1, spot.bottom() + 1)
        path.lineTo(spot.left(), spot.bottom() + 1)
        path.closeSubpath()
    else:
        path.addEllipse(spot)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
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
    painter.drawText(QRect(left, line.top(), max(right - left, 0), line.height()), LEFT, shown)
    return left + metrics.horizontalAdvance(shown) + GAP
