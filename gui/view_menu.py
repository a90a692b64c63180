"""The View menu: pages, how the matrices are shown, views, layout, text and theme."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gui.command import Command
from gui.looks.theme import NORMAL, load_theme, theme_names
from gui.pages import PAGES

if TYPE_CHECKING:
    from gui.main_window import MainWindow

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
VIEWS, LOOK = "Views", "Text and theme"


def view_commands(window: MainWindow) -> list[Command]:
    """Everything that changes how things are shown, and nothing of what is shown."""
    why = Command("Why this number?", ("W",), window.explaining.why)
    return [why, *_pages(window), *_matrices(window), *_layout(window), *_look(window)]


def _pages(window: MainWindow) -> list[Command]:
    session = window.session

    def shown(key: str) -> bool:
        return session.page == key

    return [
        Command(
            page.title,
            (f"Ctrl+{place}",),
            partial(window.look_at_page, page.key),
            checked=partial(shown, page.key),
            line=place == 1,
            row="The pages, from left to right",
        )
        for place, page in enumerate(PAGES, start=1)
    ]


def _matrices(window: MainWindow) -> list[Command]:
    return [
        _switch(window, "heat", "Times loaded", "H", "Instead of what the step touches", line=True),
        _switch(window, "close_up", "The block alone", "Z", "Not the whole matrices"),
        _switch(
            window, "warp_trail", "Read so far by the whole warp", "R", "Not by the thread alone"
        ),
        _switch(
            window,
            "follow_memory",
            "Follow the step's memory",
            "Ctrl+M",
            "The memory that a step accesses comes to the front",
        ),
    ]


def _switch(
    window: MainWindow, name: str, text: str, key: str, tip: str, *, line: bool = False
) -> Command:
    """Turns a setting of the session on and off."""
    session = window.session

    def run() -> None:
        session.update(**{name: not getattr(session, name)})

    return Command(text, (key,), run, tip, checked=lambda: bool(getattr(session, name)), line=line)


def _layout(window: MainWindow) -> list[Command]:
    page = window.step_page
    return [
        *(
            Command(
                dock.windowTitle(),
                keys,
                partial(_look_at, window, name),
                checked=partial(page.in_front, name),
                line=place == 0,
                under=VIEWS,
                row="The views, as the View menu lists them",
            )
            for place, ((name, dock), keys) in enumerate(
                zip(page.docks.items(), VIEW_KEYS, strict=True)
            )
        ),
        Command(
            "One view large",
            ("F10",),
            window.enlarging.toggle,
            "The view in focus over the whole page, or all of them again",
            checked=lambda: window.session.large,
        ),
        Command(
            "Left column",
            ("Ctrl+B",),
            window.toggle_sidebar,
            checked=lambda: not window.left.isHidden(),
        ),
        Command("Full screen", ("F11",), window.toggle_full_screen, checked=window.isFullScreen),
        Command("Reset the layout", ("Ctrl+0",), page.reset_layout),
    ]


def _look(window: MainWindow) -> list[Command]:
    session = window.session

    def normal_size() -> None:
        session.text_size = NORMAL

    def wear(name: str) -> Callable[[], None]:
        return lambda: session.update(theme=name)

    def worn(name: str) -> bool:
        return session.theme == name

    sizes = [
        Command(
            "Larger text",
            ("Ctrl++", "Ctrl+="),
            partial(window.change_text_size, 1),
            line=True,
            under=LOOK,
        ),
        Command("Smaller text", ("Ctrl+-",), partial(window.change_text_size, -1), under=LOOK),
        Command("Normal text size", ("Ctrl+Shift+T",), normal_size, under=LOOK),
        Command("Next theme", ("Ctrl+T",), window.next_theme, under=LOOK),
    ]
    themes = [
        Command(
            f"{load_theme(name).title} theme",
            (),
            wear(name),
            checked=partial(worn, name),
            line=place == 0,
            under=LOOK,
        )
        for place, name in enumerate(theme_names())
    ]
    return [*sizes, *themes]


def _look_at(window: MainWindow, name: str) -> None:
    from gui.compare_menu import look_at

    if not look_at(window, name):
        window.show_page("step")
        window.step_page.front(name)
