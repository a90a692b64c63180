"""The commands that compare two launches, for the menus and the cheat sheet."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gui.command import Command
from gui.scenes.presets import PRESETS, Preset
from gui.scenes.selection import COMPARED_VIEWS

if TYPE_CHECKING:
    from gui.main_window import MainWindow
    from gui.views.compare_page import ComparePage

DOCKS = {"Matrices": "Matrices", "Warp": "Global", "Shared": "Shared", "Source": "Source"}
DOCKS |= {"Counters": "Counters"}
"""Views of the step page that a comparison has too, by the names of both."""


def compare_commands(window: MainWindow) -> list[Command]:
    """Everything that can be done with a comparison; each shows its page first."""

    def on_page(act: Callable[[ComparePage], object]) -> Callable[[], None]:
        def run() -> None:
            act(compare_page(window))

        return run

    def example(preset: Preset) -> Callable[[], None]:
        return on_page(lambda page: page.comparing.show_preset(preset))

    return [
        Command(
            "Compare with its counterpart", ("Ctrl+D",), on_page(lambda p: p.comparing.suggest())
        ),
        Command("Copy A to B", ("Ctrl+Shift+D",), on_page(lambda p: p.comparing.copy_to_b())),
        Command("Swap A and B", ("Ctrl+Shift+X",), on_page(lambda p: p.comparing.swap())),
        Command("Configure the other side", ("Ctrl+J",), on_page(lambda p: p.configure_other())),
        Command(
            "Next difference", ("D",), on_page(lambda p: p.comparing.differing.go()), line=True
        ),
        Command(
            "Previous difference",
            ("Shift+D",),
            on_page(lambda p: p.comparing.differing.go(forward=False)),
        ),
        Command("Next view of both sides", ("V",), partial(next_view, window), line=True),
        Command("Differences by array, or totals", ("G",), on_page(lambda p: p.toggle_grouping())),
        *(
            Command(preset.title, (), example(preset), preset.lesson, line=preset is PRESETS[0])
            for preset in PRESETS
        ),
    ]


def compare_page(window: MainWindow) -> ComparePage:
    """The page, shown."""
    from gui.views.compare_page import ComparePage

    window.show_page("compare")
    page = window.pages.made("compare")
    assert isinstance(page, ComparePage)
    return page


def next_view(window: MainWindow) -> None:
    """Have both sides show the next of their views."""
    compare_page(window)
    place = COMPARED_VIEWS.index(window.session.compared_view) + 1
    window.session.compared_view = COMPARED_VIEWS[place % len(COMPARED_VIEWS)]


def look_at(window: MainWindow, name: str) -> bool:
    """Show a view of the step page in the comparison, if that is open and has it."""
    if window.session.page != "compare" or name not in DOCKS:
        return False
    window.session.compared_view = DOCKS[name]
    return True
