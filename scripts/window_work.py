"""The UI thread's work besides painting: the longest that one event keeps it from the next."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from bench_figures import Figure
from window_stage import LARGE, SMALL, Launch, change, named, settle
from window_watch import WatchedApplication

from gui.main_window import MainWindow
from gui.pages import PAGES

RUNS = 5
GOAL = 8  # milliseconds


def work(app: WatchedApplication, window: MainWindow) -> Iterator[Figure]:
    """The longest single work in each use of the window."""
    session = window.session
    dice = random.Random(5)
    actions: dict[str, Callable[[], object]] = {
        "a step": lambda: session.seek(forward=True),
        "a jump": lambda: setattr(session, "step", dice.randrange(session.n_steps)),
        "another thread": lambda: setattr(session, "thread", dice.randrange(256)),
        "another line": lambda: setattr(session, "line", dice.randrange(18, 32)),
        "heat map on or off": lambda: setattr(session, "heat", not session.heat),
        "close-up on or off": lambda: setattr(session, "close_up", not session.close_up),
        "table of a warp on or off": lambda: setattr(session, "warp_table", not session.warp_table),
    }
    for launch in (SMALL, LARGE):
        times = [_longest_of_change(app, window, launch) for _ in range(RUNS)]
        yield _figure(f"a new trace: {named(launch)}", times)
        session.step = session.n_steps // 3
        for what, action in actions.items():
            times = [_longest(app, what, action) for _ in range(2 * RUNS)]
            yield _figure(f"{what}: {named(launch)}", times)


def looks(app: WatchedApplication, window: MainWindow) -> Iterator[Figure]:
    """The same for a new theme, and for the first look at each page: once in a session."""
    themes = ["dark", "light"] * RUNS
    times = [_longest(app, "theme", lambda name=name: window.set_theme(name)) for name in themes]  # type: ignore[misc]
    yield _figure("a new theme", times)
    for page in PAGES:
        if window.pages.made(page.key) is None:
            time = _longest(app, "page", lambda key=page.key: window.show_page(key))  # type: ignore[misc]
            yield _figure(f"the first look at the page {page.title}", [time])
    window.show_page("step")
    times = [_longest(app, "theme", lambda name=name: window.set_theme(name)) for name in themes]  # type: ignore[misc]
    yield _figure("a new theme, every page made", times)
    settle(app)


def _figure(what: str, times: list[float]) -> Figure:
    return Figure(f"work for {what}", tuple(times), "ms", GOAL)


def _longest_of_change(app: WatchedApplication, window: MainWindow, launch: Launch) -> float:
    rung, parameters = launch
    change(app, window, (rung, {**parameters, "n": parameters["n"] // 2}))
    burden = app.watch()
    change(app, window, launch)
    app.rest()
    return burden.longest * 1e3


def _longest(app: WatchedApplication, what: str, action: Callable[[], object]) -> float:
    burden = app.watch()
    app.run(what, action)
    settle(app, 0.05)
    app.rest()
    return burden.longest * 1e3
