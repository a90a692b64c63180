"""The keyboard shortcuts on one sheet, made from the menus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

if TYPE_CHECKING:
    from gui.actions import Command


Lines = Sequence[tuple[str, str]]

MOUSE: Lines = (
    ("Wheel", "Zoom a matrix about the pointer"),
    ("Drag", "Move a matrix; drag a heading to move its view"),
    ("Click", "Select an element, a thread, a warp or a line"),
    ("Click a number", "Why this number?"),
    ("Right click an element", "Stop when it is touched"),
    ("Click a line's number", "Set or clear a breakpoint"),
    ("Double click a line", "Go to its next step"),
    ("+  −  0", "Zoom in or out, or show all, with the keyboard in a matrix"),
)
COLUMNS = 3  # at most, where there is room for them


class CheatSheet(QDialog):
    """Every command that has a key, menu by menu, and what the mouse does."""

    def __init__(self, menus: Mapping[str, Sequence[Command]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.setObjectName("shell")
        parts = [(title.replace("&", ""), _keys(commands)) for title, commands in menus.items()]
        parts.append(("Mouse", MOUSE))
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setAccessibleName("Keyboard shortcuts")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
        room = parent.screen().availableSize()
        bar = area.verticalScrollBar().sizeHint().width() + 4
        for count in range(COLUMNS, 0, -1):
            sheet = self._sheet(parts, count)
            for label in sheet.findChildren(QLabel):
                label.ensurePolished()
            wanted = sheet.sizeHint() + QSize(bar, 4)
            if wanted.width() <= room.width() or count == 1:
                break
            sheet.hide()
            sheet.deleteLater()
        area.setWidget(sheet)
        self.resize(min(wanted.width(), room.width()), min(wanted.height(), room.height()))

    def _sheet(self, parts: Sequence[tuple[str, Lines]], count: int) -> QWidget:
        """All parts in so many columns; it belongs to the dialog, for that has the type's size."""
        sheet = QWidget(self)
        sheet.setObjectName("shell")
        row = QHBoxLayout(sheet)
        row.setContentsMargins(28, 24, 28, 24)
        row.setSpacing(36)
        for some in columns(parts, count):
            column = QVBoxLayout()
            column.setSpacing(6)
            for title, lines in some:
                self._add(column, title, lines)
            column.addStretch(1)
            row.addLayout(column)
        return sheet

    def _add(self, column: QVBoxLayout, title: str, lines: Lines) -> None:
        heading = QLabel(title)
        heading.setProperty("role", "heading")
        column.addWidget(heading)
        grid = QGridLayout()
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        for row, (keys, text) in enumerate(lines):
            key = QLabel(keys)
            key.setProperty("role", "figure")
            key.setAlignment(Qt.AlignmentFlag.AlignRight)
            what = QLabel(text)
            what.setProperty("role", "caption")
            grid.addWidget(key, row, 0)
            grid.addWidget(what, row, 1)
        column.addLayout(grid)
        column.addSpacing(14)


def _keys(commands: Sequence[Command]) -> Lines:
    native = QKeySequence.SequenceFormat.NativeText
    return tuple(
        (" or ".join(QKeySequence(key).toString(native) for key in c.keys), c.text.rstrip("…"))
        for c in commands
        if c.keys
    )


def columns(parts: Sequence[tuple[str, Lines]], count: int) -> list[list[tuple[str, Lines]]]:
    """Deal parts out to columns of about the same height, the longest parts first."""
    dealt: list[list[tuple[str, Lines]]] = [[] for _ in range(count)]
    heights = [0] * count
    for title, lines in sorted(parts, key=lambda part: -len(part[1])):
        if not lines:
            continue
        place = heights.index(min(heights))
        dealt[place].append((title, lines))
        heights[place] += len(lines) + 2
    return dealt
