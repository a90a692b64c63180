"""The application, which keeps a JSON file that says what its window shows.

Tests that drive it from outside start it as `python -m tests.gui.reported_app FILE OPTION …`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtWidgets import QListWidget, QTabBar, QWidget

from gui.__main__ import run
from gui.shell import main_window
from gui.shell.main_window import MainWindow

if TYPE_CHECKING:
    from gui.commands.second_launch import Comparing

EVERY_MS = 30
RESTS = 7
"""Looks in a row that find nothing new, after which the window has settled: of its own time."""


def state(window: MainWindow) -> dict[str, Any]:
    """What is selected and shown now."""
    session = window.session
    return {
        "rung": session.trace.workload.rung if session.trace else None,
        "parameters": dict(session.parameters),
        "step": session.step,
        "n_steps": session.n_steps,
        "block": session.block,
        "thread": session.thread,
        "current_line": session.current_line,
        "line": session.line,
        "unit": session.unit,
        "playing": session.playing,
        "theme": window.session.theme,
        "page": window.tabs.value,
        "versus": versus(window),
        "error": window.form.error.text() or window.message.sentence,
        "caption": window.transport.caption.text(),
        "geometry": geometry(window),
        "docks": docks(window),
    }


def compared(window: MainWindow) -> Comparing | None:
    """The comparison, where its page was made."""
    page = window.pages.made("compare")
    if page is None:
        return None
    from gui.shell.compare_page import ComparePage  # imported by then: it costs nothing before

    assert isinstance(page, ComparePage)
    return page.comparing


def versus(window: MainWindow) -> dict[str, Any] | None:
    """Side B of the comparison, where one was opened."""
    other = compared(window)
    session = other.b if other is not None else None
    if session is None or session.trace is None:
        return None
    return {
        "rung": session.trace.workload.rung,
        "parameters": dict(session.parameters),
        "step": session.step,
        "phase": session.phase,
        "thread": session.thread,
        "block": session.block,
    }


def geometry(window: MainWindow) -> dict[str, Any]:
    """Where some widgets lie in the window: (x, y, width, height), for a mouse from outside."""
    rows = window.ladder_panel.list
    places: dict[str, QWidget] = {"scrub": window.transport.scrub, "ladder": rows.viewport()}
    places |= window.form.editors
    places |= {f"{name} slider": slider for name, slider in window.form.sliders.items()}
    other = compared(window)
    if other is not None:
        sliders = other.column.form.sliders
        places |= {f"B {name} slider": slider for name, slider in sliders.items()}
    found: dict[str, Any] = {}
    for name, widget in places.items():
        corner = widget.mapTo(window, widget.rect().topLeft())
        found[name] = (corner.x(), corner.y(), widget.width(), widget.height())
    found["rungs"] = _rungs_in_sight(window, rows)
    return found


def _rungs_in_sight(window: MainWindow, rows: QListWidget) -> dict[str, tuple[int, int, int, int]]:
    """The ladder's rows that are whole in the window now, by their rungs' names."""
    sight = rows.viewport()
    boxes = {
        str(item.data(Qt.ItemDataRole.UserRole)): rows.visualItemRect(item)
        for item in map(rows.item, range(rows.count()))
    }
    corners = {name: sight.mapTo(window, box.topLeft()) for name, box in boxes.items()}
    return {
        name: (corners[name].x(), corners[name].y(), box.width(), box.height())
        for name, box in boxes.items()
        if sight.rect().contains(box)
    }


def docks(window: MainWindow) -> dict[str, Any]:
    """Of each view: where it lies in the window, and what of it can be dragged.

    `place`, `heading` and `tab` are (x, y, width, height), None for what there is not.
    """

    def place(part: QWidget, rect: QRect) -> tuple[int, int, int, int]:
        corner = part.mapToGlobal(rect.topLeft()) - window.mapToGlobal(QPoint(0, 0))
        return (corner.x(), corner.y(), rect.width(), rect.height())

    page = window.step_page
    tabs = {
        bar.tabText(i): place(bar, bar.tabRect(i))
        for bar in page.findChildren(QTabBar)
        for i in range(bar.count())
        if bar.isVisible()
    }
    return {
        name: {
            "place": place(dock, dock.rect()) if page.in_front(name) else None,
            "heading": place(dock.title, dock.title.rect()) if page.in_front(name) else None,
            "tab": tabs.get(dock.windowTitle()),
            "floats": dock.isFloating(),
            "with": sorted(other.objectName() for other in page.tabifiedDockWidgets(dock)),
        }
        for name, dock in page.docks.items()
    }


def keep_state_file(window: MainWindow, path: str, state: Callable[[MainWindow], Any]) -> None:
    """Keep `state` in the file `path`, whole or not at all, up to date within EVERY_MS.

    A test asks whether the window has settled by a number in the file beside it, `.asked`. The
    report repeats the number once the window has gone on for a while without a change. A busy
    machine gives the window little time: only it knows how much.
    """
    target = Path(path)
    draft, asked_file = target.with_suffix(".part"), target.with_suffix(".asked")
    last: dict[str, Any] = {}
    asked, settled, unchanged = "", "", 0

    def write() -> None:
        nonlocal asked, settled, unchanged
        now = state(window)
        number = asked_file.read_text(encoding="utf-8") if asked_file.exists() else ""
        unchanged = unchanged + 1 if now == last and number == asked else 0
        asked = number
        settles = unchanged >= RESTS and settled != asked
        if settles:
            settled = asked
        if now != last or settles:
            last.clear()
            last.update(now)
            draft.write_text(json.dumps(now | {"settled": settled}), encoding="utf-8")
            draft.replace(target)

    timer = QTimer(window)
    timer.timeout.connect(write)
    timer.start(EVERY_MS)


def main(state: Callable[[MainWindow], Any] = state) -> int:
    """Run the application as it is, but for the file."""
    _, path, *options = sys.argv
    sys.argv[1:] = options

    class Reported(MainWindow):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            keep_state_file(self, path, state)

    main_window.MainWindow = Reported  # type: ignore[misc]
    return run()


if __name__ == "__main__":
    sys.exit(main())
