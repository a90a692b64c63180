"""Every command of the window: menus, shortcuts, and the cheat sheet made from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenuBar

from gui.command import Command, fill_menu
from gui.commands.lecture import LIST
from gui.scenes.selection import UNITS, Unit
from gui.view_menu import view_commands
from gui.views.transport_bar import UNIT_TIPS

if TYPE_CHECKING:
    from gui.main_window import MainWindow


def build_menus(window: MainWindow, bar: QMenuBar) -> dict[str, list[Command]]:
    """Fill the menu bar; returns the commands by menu, for the cheat sheet."""
    from gui.compare_menu import compare_commands

    menus = {
        "&File": _file_commands(window),
        "&Edit": _edit_commands(window),
        "&Step": _step_commands(window),
        "&Breakpoints": _break_commands(window),
        "&Select": _select_commands(window),
        "&View": view_commands(window),
        "&Compare": compare_commands(window),
        "&Help": [
            Command("Keyboard shortcuts", ("F1",), window.show_cheat_sheet),
            Command("Tour", ("Ctrl+F1",), window.touring.start),
        ],
    }
    for title, commands in menus.items():
        submenus = fill_menu(bar.addMenu(title), commands, window)
        if LIST in submenus:
            window.lecture.list_in(submenus[LIST])
    return menus


def _file_commands(window: MainWindow) -> list[Command]:
    return [
        Command("Open a kernel…", ("Ctrl+O",), window.workbench.ask_for_file),
        Command("Save the source as…", ("Ctrl+Shift+S",), window.workbench.save_source),
        Command("Export the window…", ("Ctrl+S",), window.exporter.export_window, line=True),
        Command("Export a view…", ("Ctrl+Shift+E",), window.exporter.export_view),
        Command("Open a link…", ("Ctrl+L",), window.moments.ask_for_link, line=True),
        *window.lecture.commands(),
        Command("Quit", ("Ctrl+Q",), window.close, line=True),
    ]


def _edit_commands(window: MainWindow) -> list[Command]:
    bench = window.workbench
    return [
        Command("Edit the source", ("Ctrl+E",), bench.edit_source),
        Command("Run the edited source", ("Ctrl+Return", "Ctrl+Enter"), bench.run_source),
        Command("Original source", ("Ctrl+Shift+O",), bench.run_original),
        Command("Copy link", ("Ctrl+Shift+C",), window.moments.copy_link, line=True),
        Command(
            "Copy a picture of the view",
            ("Ctrl+Alt+C",),
            window.exporter.copy_view,
            "Of the one in focus, else in front: to be pasted into slides",
        ),
        Command("Copy a picture of the window", ("Ctrl+Alt+Shift+C",), window.exporter.copy_window),
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

    def chosen(unit: Unit) -> bool:
        return session.unit == unit

    def speed(factor: float) -> Callable[[], None]:
        def run() -> None:
            session.speed *= factor

        return run

    return [
        Command("Forward", ("Right",), move(None, True)),
        Command("Back", ("Left",), move(None, False)),
        Command("Next phase", ("Shift+Right",), move("phase", True)),
        Command("Previous phase", ("Shift+Left",), move("phase", False)),
        Command("Go to step…", ("Ctrl+G",), window.stopping.ask_for_step, line=True),
        Command("First step", ("Home",), end(session.first)),
        Command("Last step", ("End",), end(session.last)),
        Command("Play or pause", ("Space",), toggle(1), line=True),
        Command("Play backwards or pause", ("Shift+Space",), toggle(-1)),
        Command("Faster", ("+", "="), speed(1.5)),
        Command("Slower", ("-",), speed(1 / 1.5)),
        *(
            Command(
                f"Step by {unit}",
                (str(key),),
                choose(unit),
                UNIT_TIPS[unit],
                checked=partial(chosen, unit),
                line=key == 1,
                row="Step by access, line, barrier, phase",
            )
            for key, unit in enumerate(UNITS, start=1)
        ),
    ]


def _break_commands(window: MainWindow) -> list[Command]:
    stopping = window.stopping
    forth, back = {"forward": True}, {"forward": False}
    return [
        Command("Run to the next breakpoint", ("F8",), partial(stopping.run_to_break, **forth)),
        Command("Run back to a breakpoint", ("Shift+F8",), partial(stopping.run_to_break, **back)),
        Command("Breakpoint at this line", ("F9",), stopping.toggle_at_line, line=True),
        Command("Breakpoint at the selected element", ("Shift+F9",), stopping.toggle_at_element),
        Command("Clear all breakpoints", ("Ctrl+Shift+F9",), stopping.clear),
        Command("Next step at the selected line", ("N",), stopping.next_at_line, line=True),
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
    session, stopping = window.session, window.stopping

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
        *(
            Command(text, (key,), partial(stopping.choose_line, forward=down), row="Select a line")
            for text, key, down in (
                ("Next line", "Alt+Down", True),
                ("Previous line", "Alt+Up", False),
            )
        ),
        Command("Select an element…", ("E",), stopping.ask_for_element, line=True),
        Command(
            "Next kernel",
            ("PgDown",),
            lambda: window.ladder_panel.choose_next(1),
            line=True,
        ),
        Command("Previous kernel", ("PgUp",), lambda: window.ladder_panel.choose_next(-1)),
        Command("Stop recording", ("Ctrl+.",), window.workbench.waiting.stop, line=True),
        Command("Back to the picture", ("Escape",), window.leave_field),
    ]
