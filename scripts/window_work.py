"""The UI thread's work besides painting: the longest that one event keeps it from the next."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
from bench_figures import Figure
from window_stage import LARGE, SMALL, Launch, change, named, settle
from window_watch import WatchedApplication

from gui.scenes.grids import shares_of
from gui.shell.main_window import MainWindow

RUNS = 5
TRACED: tuple[Launch, ...] = (
    ("coalesced", {"n": 1024, "block_x": 32, "block_y": 32}),
    ("coalesced", {"n": 4096, "block_x": 32, "block_y": 32}),
    ("broken_bounds", {"n": 40, "tile": 4}),
)
"""Further launches whose traces arrive: many phases, the largest, one with findings."""
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
    actions["a click on an element of C"] = lambda: _click_on_result(window, dice)
    for launch in (SMALL, LARGE):
        times = [_longest_of_change(app, window, launch) for _ in range(RUNS)]
        yield _figure(f"a new trace: {named(launch)}", times)
        session.step = 2 * session.n_steps // 3
        for what, action in actions.items():
            times = [_longest(app, what, action) for _ in range(2 * RUNS)]
            yield _figure(f"{what}: {named(launch)}", times)
        session.line = session.element = None
    for launch in TRACED:
        times = [_longest_of_change(app, window, launch) for _ in range(RUNS)]
        yield _figure(f"a new trace: {named(launch)}", times)
    yield _figure("a slider that is dragged", [_slide(app, window) for _ in range(RUNS)])


def _click_on_result(window: MainWindow, dice: random.Random) -> None:
    """Select an element of the block's part of C, and with it the thread that stores it."""
    canvas = window.step_page.matrices
    assert canvas._layout is not None
    grid = next(grid for grid in canvas.grids if grid.result)
    (mine,) = shares_of(canvas._own, grid)
    flat = dice.choice(mine.flats.tolist())
    row, column = (int(place[0]) for place in grid.cells(np.array([flat])))
    canvas.click_at(canvas._layout.rect(grid, canvas._view, (row, column, 1, 1)).center())


def _slide(app: WatchedApplication, window: MainWindow) -> float:
    """Milliseconds of the longest single work while n is dragged and the traces follow."""
    change(app, window, SMALL)
    slider = window.form.sliders["n"]
    burden = app.watch()
    for place in (*range(8), *range(8, 0, -1)):
        slider.setValue(place)
        settle(app, 0.1)
    settle(app, 0.5)
    app.rest()
    return burden.longest * 1e3


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
