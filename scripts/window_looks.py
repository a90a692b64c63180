"""The first look at each page, pages shown again, and new themes: until all is painted.

The first look comes once in a process, so each is a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script as well

from bench_figures import Figure
from PySide6.QtWidgets import QApplication
from window_stage import NEW_MS, SMALL, Frame, answer, change, figure, open_window, settle

from gui.shell.main_window import MainWindow
from gui.shell.pages import PAGES, read_ahead

RUNS = 5
PATIENCE_S = 60.0


def first_looks() -> Iterator[Figure]:
    """Of each page but the one at the start."""
    for page in PAGES[1:]:
        seen = [_in_new_process(page.key) for _ in range(RUNS)]
        yield figure(f"the first look at the page {page.title}, painted", seen, NEW_MS)


def themes(app: QApplication, window: MainWindow) -> Iterator[Figure]:
    """New themes, with one page made and with all of them; pages shown again."""
    yield from _themes(app, window, "")
    for page in PAGES:
        window.show_page(page.key)
        settle(app, 1.0)
    _rest(app, window)
    again = [_turn(app, window, page.key) for _ in range(RUNS) for page in PAGES]
    yield figure("a page that was seen before, painted", again, NEW_MS)
    window.show_page("step")
    settle(app, 1.0)
    yield from _themes(app, window, ", every page made")
    dressed = []
    for name in ("dark", "light") * RUNS:
        window.session.theme = name
        dressed += [_turn(app, window, page.key) for page in (*PAGES[1:], PAGES[0])]
    yield figure("a page that is dressed when it is shown, painted", dressed, NEW_MS)


def _themes(app: QApplication, window: MainWindow, where: str) -> Iterator[Figure]:
    sizes = {"a new theme": "dark", "a theme with larger type, and back": "projector"}
    for what, other in sizes.items():
        seen = [_theme(app, window, name) for name in (other, "light") * RUNS]
        yield figure(f"{what}{where}, painted", seen, NEW_MS)


def _rest(app: QApplication, window: MainWindow) -> None:
    """Wait until nothing is counted any more for the ceilings' plot."""
    from gui.views.ceilings_view import CeilingsView  # later: what a first look costs is measured

    page, end = window.pages.made("ceilings"), time.perf_counter() + PATIENCE_S
    assert isinstance(page, CeilingsView)
    while page.model.placing and time.perf_counter() < end:
        settle(app, 0.1)


def _theme(app: QApplication, window: MainWindow, name: str) -> Frame:
    return answer(app, lambda: setattr(window.session, "theme", name))


def _turn(app: QApplication, window: MainWindow, key: str) -> Frame:
    return answer(app, lambda: setattr(window.session, "page", key))


def _in_new_process(key: str) -> Frame:
    command = [sys.executable, __file__, key]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall, spent = json.loads(done.stdout.splitlines()[-1])
    return wall, spent


def main() -> None:
    """One look at one page, printed."""
    (key,) = sys.argv[1:]
    app, window, _ = open_window()
    change(app, window, SMALL)
    settle(app, 0.5)
    read_ahead().join()  # as the application does, while somebody looks at the first page
    look = _turn(app, window, key)
    window.close()
    settle(app, 0.3)
    print(json.dumps(look))


if __name__ == "__main__":
    main()
