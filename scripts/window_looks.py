"""The first look at each page, and new themes: the longest event, and when all is painted.

The first look comes once in a process, so each is a process of its own: `cold` asks for the page
as soon as there is something to see, `ahead` when the window has had time to make it.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script as well

from bench_figures import Figure
from window_stage import SMALL, change, open_window, settle
from window_watch import WatchedApplication

from gui.background.still import is_still
from gui.shell.main_window import MainWindow
from gui.shell.pages import PAGES
from gui.views import page_stack

RUNS = 5
GOAL = 8  # milliseconds of work in one event
COLD_MS, AHEAD_MS = 300, 100  # from the click until the page is painted
THEME_MS = 150
PATIENCE_S = 60.0
NEVER_MS = 10**9


@dataclass(frozen=True)
class Look:
    """Milliseconds of one look at something."""

    work: float
    """The longest event, without its painting."""
    painted: float = 0.0
    """Until everything is painted."""
    spent: float = 0.0
    """Processor time of all threads until then."""


def first_looks() -> Iterator[Figure]:
    """Of each page but the one at the start, before and after it was made ahead."""
    for way, goal in (("cold", COLD_MS), ("ahead", AHEAD_MS)):
        for page in PAGES[1:]:
            seen = [_in_new_process(page.key, way) for _ in range(RUNS)]
            what = f"the first look at the page {page.title}, {_WAYS[way]}"
            yield from _figures(what, seen, goal)
    making = [_in_new_process("", "making") for _ in range(RUNS)]
    yield Figure("work for making pages ahead", tuple(m.work for m in making), "ms", GOAL)


_WAYS = {"cold": "not made ahead", "ahead": "made ahead"}


def themes(app: WatchedApplication, window: MainWindow) -> Iterator[Figure]:
    """New themes, with one page made and with all of them; pages shown again."""
    yield from _themes(app, window, "")
    for page in PAGES:
        window.show_page(page.key)
        settle(app, 1.0)
    _rest(app, window)
    again = [_turn(app, window, page.key) for _ in range(RUNS) for page in PAGES]
    works = tuple(look.work for look in again)
    yield Figure("work for a page that was seen before", works, "ms", GOAL)
    window.show_page("step")
    settle(app, 1.0)
    yield from _themes(app, window, ", every page made")


def _themes(app: WatchedApplication, window: MainWindow, where: str) -> Iterator[Figure]:
    sizes = {"a new theme": "dark", "a theme with larger type, and back": "projector"}
    for what, other in sizes.items():
        seen = [_theme(app, window, name) for name in (other, "light") * RUNS]
        yield from _figures(what + where, seen, THEME_MS)


def _rest(app: WatchedApplication, window: MainWindow) -> None:
    """Wait until nothing is counted any more for the ceilings' plot."""
    from gui.views.ceilings_view import CeilingsView  # later: what a first look costs is measured

    page, end = window.pages.ready("ceilings"), time.perf_counter() + PATIENCE_S
    assert isinstance(page, CeilingsView)
    while page.model.placing and time.perf_counter() < end:
        settle(app, 0.1)


def _figures(what: str, seen: list[Look], goal: float) -> Iterator[Figure]:
    yield Figure(f"work for {what}", tuple(look.work for look in seen), "ms", GOAL)
    painted = tuple(look.painted for look in seen)
    spent = statistics.median(look.spent for look in seen)
    yield Figure(f"{what}: painted", painted, "ms", goal, processor=spent)


def _theme(app: WatchedApplication, window: MainWindow, name: str) -> Look:
    def act() -> None:
        window.session.theme = name

    look = _look(app, window, act, lambda: window.session.theme == name)
    settle(app, 0.3)
    return look


def _turn(app: WatchedApplication, window: MainWindow, key: str) -> Look:
    def act() -> None:
        window.session.page = key

    pages = window.pages
    look = _look(app, window, act, lambda: pages.currentWidget() is pages.ready(key))
    settle(app, 0.3)
    return look


def _look(
    app: WatchedApplication,
    window: MainWindow,
    act: Callable[[], None],
    there: Callable[[], bool],
) -> Look:
    """Do something, and wait until what it leads to is painted, and all that follows it is done."""
    burden, started, before = app.watch(), time.perf_counter(), time.process_time()
    app.run("the click", act)
    while not there() or is_still(window):
        app.processEvents()
        if time.perf_counter() - started > PATIENCE_S:
            raise RuntimeError("nothing came into sight")
    app.processEvents()  # what was kept from being painted
    painted, spent = time.perf_counter() - started, time.process_time() - before
    while window.dressing.busy:
        app.processEvents()
    settle(app, 0.3)
    app.rest()
    return Look(burden.longest * 1e3, painted * 1e3, spent * 1e3)


def _in_new_process(key: str, way: str) -> Look:
    command = [sys.executable, __file__, key, way]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Look(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """One look at one page, printed."""
    key, way = sys.argv[1:]
    page_stack.FIRST_MS = NEVER_MS if way == "cold" else 0
    app, window, _ = open_window()
    change(app, window, SMALL)
    if way == "making":
        burden = app.watch()
        _wait_for_pages(app, window)
        look = Look(burden.longest * 1e3)
    else:
        if way == "ahead":
            _wait_for_pages(app, window)
        settle(app, 0.5)
        look = _turn(app, window, key)
    window.close()
    settle(app, 0.3)
    print(json.dumps(asdict(look)))


def _wait_for_pages(app: WatchedApplication, window: MainWindow) -> None:
    ahead = [page.key for page in PAGES if page.ahead]
    while not all(window.pages.ready(key) for key in ahead):
        app.processEvents()


if __name__ == "__main__":
    main()
