"""A command of the window, and menus made of commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget


@dataclass(frozen=True)
class Command:
    """A menu entry: its text, shortcuts, and what it does.

    `checked` says of one that switches something whether it is on. `line` puts a line above it,
    `under` puts it into the submenu of that name. On the sheet of keys, neighbours of the same
    `row` share one line, which says that. `says` gives the entry's text where that changes.
    """

    text: str
    keys: tuple[str, ...]
    run: Callable[[], object]
    tip: str = ""
    checked: Callable[[], bool] | None = None
    line: bool = False
    under: str = ""
    row: str = ""
    says: Callable[[], str] | None = None


def fill_menu(menu: QMenu, commands: Iterable[Command], window: QWidget) -> dict[str, QMenu]:
    """Put commands into a menu; their shortcuts work in the whole window. Returns its submenus."""
    submenus: dict[str, QMenu] = {}
    for command in commands:
        place = submenus.get(command.under, menu)
        if command.line:
            place.addSeparator()
        if command.under and place is menu:
            place = submenus[command.under] = menu.addMenu(command.under)
        place.addAction(_action(command, window, place))
        if command.tip:
            place.setToolTipsVisible(True)
    return submenus


def _action(command: Command, window: QWidget, menu: QMenu) -> QAction:
    action = QAction(command.text, window)
    action.setShortcuts([QKeySequence(key) for key in command.keys])
    action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
    if command.tip:
        action.setStatusTip(command.tip)
        action.setToolTip(command.tip)
    action.triggered.connect(lambda _=False: command.run())
    checked = command.checked
    if checked is not None:
        action.setCheckable(True)
        menu.aboutToShow.connect(lambda: action.setChecked(checked()))
    says = command.says
    if says is not None:
        menu.aboutToShow.connect(lambda: action.setText(says()))
    return action
