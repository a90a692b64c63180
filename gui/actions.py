"""Every command of the window: menus, shortcuts, and the cheat sheet made from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import (
    QMenuBar,
    QWidget,
)

from gui.pages import PAGES
from gui.scenes.selection import UNITS, Unit
from gui.theme import NORMAL, load_theme, theme_names

if TYPE_CHECKING:
    from gui.main_window import MainWindow


@dataclass(frozen=True)
class Command:
    """A menu entry: its text, shortcuts, and what it does."""

    text: str
    keys: tuple[str, ...]
    run: Callable[[], object]
    tip: str = ""


def build_menus(window: MainWindow, bar: QMenuBar) -> dict[str, list[Command]]:
    """Fill the menu bar; returns the commands by menu, for the cheat sheet."""
    from gui.compare_menu import compare_commands

    menus = {
        "&File": _file_commands(window),
        "&Edit": _edit_commands(window),
        "&Step": _step_commands(window),
        "&Breakpoints": _break_commands(window),
        "&Select": _select_commands(window),
        "&View": _view_commands(window),
        "&Compare": compare_commands(window),
        "&Help": [
            Command("Keyboard shortcuts", ("F1",), window.show_cheat_sheet),
            Command("Tour", ("Ctrl+F1",), window.touring.start),
        ],
    }
    for title, commands in menus.items():
        menu = bar.addMenu(title)
        menu.setToolTipsVisible(any(command.tip for command in commands))
        for command in commands:
            action = QAction(command.text, window)
            action.setShortcuts([QKeySequence(key) for key in command.keys])
            action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            if command.tip:
                action.setStatusTip(command.tip)
                action.setToolTip(command.tip)
            action.triggered.connect(lambda _=False, run=command.run: run())
            menu.addAction(action)
        if title == "&View":
            menu.addSeparator()
            _add_themes(window, menu)
    return menus


def _file_commands(window: MainWindow) -> list[Command]:
    return [
        Command("Open a kernel…", ("Ctrl+O",), window.workbench.ask_for_file),
        Command("Save the source as…", ("Ctrl+Shift+S",), window.workbench.save_source),
        Command("Export the window…", ("Ctrl+S",), window.exporter.export_window),
        Command("Export a view…", ("Ctrl+Shift+E",), window.exporter.export_view),
        Command("Open a link…", ("Ctrl+L",), window.moments.ask_for_link),
        Command("Quit", ("Ctrl+Q",), window.close),
    ]


def _edit_commands(window: MainWindow) -> list[Command]:
    bench = window.workbench
    return [
        Command("Edit the source", ("Ctrl+E",), bench.edit_source),
        Command("Run the edited source", ("Ctrl+Return", "Ctrl+Enter"), bench.run_source),
        Command("Original source", ("Ctrl+Shift+O",), bench.run_original),
        Command("Copy link", ("Ctrl+Shift+C",), window.moments.copy_link),
    ]


def _step_commands(window: MainWindow) -> list[Command]:
    session = window.session

    def move(unit: Unit | None, forward: bool) -> Callable[[], None]:
        def run() -> None:
            session.playing = 0
            session.seek(unit, forward)

        return run

    def toggle(direction: int) -> Callable[[], None]:
        def run() -> None:
            session.playing = 0 if session.playing else direction

        return run

    def end(go: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            session.playing = 0
            go()

        return run

    def choose(unit: Unit) -> Callable[[], None]:
        def run() -> None:
            session.unit = unit

        return run

    def speed(factor: float) -> Callable[[], None]:
        def run() -> None:
            session.speed *= factor

        return run

    return [
        Command("Forward", ("Right",), move(None, True)),
        Command("Back", ("Left",), move(None, False)),
        Command("Next phase", ("Shift+Right",), move("phase", True)),
        Command("Previous phase", ("Shift+Left",), move("phase", False)),
        Command("Go to step…", ("Ctrl+G",), window.stopping.ask_for_step),
        Command("First step", ("Home",), end(session.first)),
        Command("Last step", ("End",), end(session.last)),
        Command("Play or pause", ("Space",), toggle(1)),
        Command("Play backwards or pause", ("Shift+Space",), toggle(-1)),
        Command("Faster", ("+", "="), speed(1.5)),
        Command("Slower", ("-",), speed(1 / 1.5)),
        *(
            Command(f"Step by {unit}", (str(key),), choose(unit))
            for key, unit in enumerate(UNITS, start=1)
        ),
    ]


def _break_commands(window: MainWindow) -> list[Command]:
    stopping = window.stopping
    forth, back = {"forward": True}, {"forward": False}
    return [
        Command("Run to the next breakpoint", ("F8",), partial(stopping.run_to_break, **forth)),
        Command("Run back to a breakpoint", ("Shift+F8",), partial(stopping.run_to_break, **back)),
        Command("Stop at this line, or not", ("F9",), stopping.toggle_at_line),
        Command("Stop at the selected element, or not", ("Shift+F9",), stopping.toggle_at_element),
        Command("Clear all breakpoints", ("Ctrl+Shift+F9",), stopping.clear),
        Command("Next step at the selected line", ("N",), window.next_at_line),
        Command(
            "Next touch of the selected element",
            ("T",),
            partial(stopping.go_to_touch, **forth),
        ),
        Command(
            "Previous touch of the selected element",
            ("Shift+T",),
            partial(stopping.go_to_touch, **back),
        ),
    ]


def _select_commands(window: MainWindow) -> list[Command]:
    session = window.session

    def change(name: str, by: int) -> Callable[[], None]:
        def run() -> None:
            setattr(session, name, getattr(session, name) + by)

        return run

    return [
        Command("Next thread", ("Down",), change("thread", 1)),
        Command("Previous thread", ("Up",), change("thread", -1)),
        Command("Next warp", ("Shift+Down",), change("warp", 1)),
        Command("Previous warp", ("Shift+Up",), change("warp", -1)),
        Command("Next block", ("Ctrl+Down",), change("block", 1)),
        Command("Previous block", ("Ctrl+Up",), change("block", -1)),
        Command("Select an element…", ("E",), window.stopping.ask_for_element),
        Command("Next kernel", ("PgDown",), lambda: window.ladder_panel.choose_next(1)),
        Command("Previous kernel", ("PgUp",), lambda: window.ladder_panel.choose_next(-1)),
        Command("Stop recording", ("Ctrl+.",), window.workbench.waiting.stop),
        Command("Back to the picture", ("Escape",), window.leave_field),
    ]


VIEW_KEYS = (
    ("Alt+1",),
    ("Alt+2",),
    ("Alt+3",),
    ("Alt+4", "F5"),
    ("Alt+5", "F6"),
    ("Alt+6", "F7"),
    ("Alt+7",),
    ("Alt+8",),
    ("Alt+9",),
    ("Alt+0",),
)


def _look_at(window: MainWindow, name: str) -> None:
    from gui.compare_menu import look_at

    if not look_at(window, name):
        window.show_page("step")
        window.step_page.front(name)


def _view_commands(window: MainWindow) -> list[Command]:
    session = window.session

    def follow() -> None:
        session.follow_memory = not session.follow_memory

    def heat() -> None:
        session.heat = not session.heat

    def trail() -> None:
        session.warp_trail = not session.warp_trail

    def close_up() -> None:
        session.close_up = not session.close_up

    def normal_size() -> None:
        session.text_size = NORMAL

    return [
        Command("Why this number?", ("W",), window.explaining.why),
        *(
            Command(dock.windowTitle(), keys, partial(_look_at, window, name))
            for (name, dock), keys in zip(window.step_page.docks.items(), VIEW_KEYS, strict=True)
        ),
        Command("Follow the step's memory, or not", ("Ctrl+M",), follow),
        Command("Times loaded, or this step", ("H",), heat),
        Command("Block, or whole matrices", ("Z",), close_up),
        Command("Read so far by the thread, or its warp", ("R",), trail),
        Command("One view large, or all of them", ("F10",), window.enlarging.toggle),
        Command("Reset the layout", ("Ctrl+0",), window.step_page.reset_layout),
        Command("Left column", ("Ctrl+B",), window.toggle_sidebar),
        *(
            Command(page.title, (f"Ctrl+{place}",), partial(window.look_at_page, page.key))
            for place, page in enumerate(PAGES, start=1)
        ),
        Command("Larger text", ("Ctrl++", "Ctrl+="), partial(window.change_text_size, 1)),
        Command("Smaller text", ("Ctrl+-",), partial(window.change_text_size, -1)),
        Command("Normal text size", ("Ctrl+Shift+T",), normal_size),
        Command("Next theme", ("Ctrl+T",), window.next_theme),
        Command("Full screen", ("F11",), window.toggle_full_screen),
    ]


def _add_themes(window: MainWindow, menu: QWidget) -> None:
    group, session = QActionGroup(window), window.session
    for name in theme_names():
        action = QAction(f"{load_theme(name).title} theme", window)
        action.setCheckable(True)
        action.setData(name)
        action.setChecked(name == window.theme_name)
        action.triggered.connect(lambda _=False, chosen=name: setattr(session, "theme", chosen))
        group.addAction(action)
        menu.addAction(action)
    window.theme_actions = group
