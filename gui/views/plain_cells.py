"""Cells of a table that changes with the clock, drawn without the style's help."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from gui.looks.theme import current_theme

EDGE = 8  # pixels between a cell's border and its text, as the stylesheet has it
Index = QModelIndex | QPersistentModelIndex
Role = Qt.ItemDataRole


class PlainCells(QStyledItemDelegate):
    """Draws the text of a cell in its font and colours, cut where it does not fit.

    A style sheet works out its rules for every cell anew, which takes several times as long. For
    tables in which nothing can be selected.
    """

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw one cell."""
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
