"""The keyboard shortcuts on one sheet, made from the menus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

if TYPE_CHECKING:
    from gui.actions import Command


class CheatSheet(QDialog):
    """A sheet with one column for each menu."""

    def __init__(self, menus: Mapping[str, Sequence[Command]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.setObjectName("shell")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(28, 24, 28, 24)
        layout.setSpacing(36)
        columns: list[list[str]] = [
            ["&Step", "&Select"],
            ["&View", "&Compare", "&Help"],
            ["&Breakpoints", "&Edit", "&File"],
        ]
        for titles in columns:
            column = QVBoxLayout()
            column.setSpacing(6)
            for title in titles:
                self._add(column, title.replace("&", ""), menus[title])
            column.addStretch(1)
            layout.addLayout(column)

    def _add(self, column: QVBoxLayout, title: str, commands: Sequence[Command]) -> None:
        heading = QLabel(title)
        heading.setProperty("role", "heading")
        column.addWidget(heading)
        grid = QGridLayout()
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        for row, command in enumerate(command for command in commands if command.keys):
            native = QKeySequence.SequenceFormat.NativeText
            keys = " or ".join(QKeySequence(k).toString(native) for k in command.keys)
            key = QLabel(keys)
            key.setProperty("role", "figure")
            key.setAlignment(Qt.AlignmentFlag.AlignRight)
            what = QLabel(command.text.rstrip("…"))
            what.setProperty("role", "caption")
            grid.addWidget(key, row, 0)
            grid.addWidget(what, row, 1)
        column.addLayout(grid)
        column.addSpacing(14)
