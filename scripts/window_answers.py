"""How soon the window answers what is done all the time: steps, clicks, switches, sliders."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from bench_figures import Figure
from PySide6.QtWidgets import QApplication
from window_stage import (
    ANSWER_MS,
    LARGE,
    NEW_MS,
    SMALL,
    Frame,
    Launch,
    answer,
    change,
    figure,
    frame,
    named,
    settle,
)

from gui.scenes.arrays_as_grids import shares_of
from gui.shell.main_window import MainWindow

RUNS = 5
TRACED: tuple[Launch, ...] = (
    SMALL,
    LARGE,
    ("coalesced", {"n": 1024, "block_x": 32, "block_y": 32}),
    ("coalesced", {"n": 4096, "block_x": 32, "block_y": 32}),
    ("broken_bounds", {"n": 40, "tile": 4}),
)
"""Launches whose traces arrive: small, many phases, the largest, one with findings."""


def answers(app: QApplication, window: MainWindow) -> Iterator[Figure]:
    """The answer to each of these, painted."""
    session = window.session
    dice = random.Random(5)
    actions: dict[str, Callable[[], object]] = {
        "a jump": lambda: setattr(session, "step", dice.randrange(session.n_steps)),
        "another thread": lambda: setattr(session, "thread", dice.randrange(256)),
        "another line": lambda: setattr(session, "line", dice.randrange(18, 32)),
        "heat map on or off": lambda: setattr(session, "heat", not session.heat),
        "close-up on or off": lambda: setattr(session, "close_up", not session.close_up),
        "table of a warp on or off": lambda: setattr(session, "warp_table", not session.warp_table),
    }
    actions["a click on an element of C"] = lambda: _click_on_result(window, dice)
    for launch in (SMALL, LARGE):
        change(app, window, launch)
        session.step = 2 * session.n_steps // 3
        for what, action in actions.items():
            frames = [answer(app, action) for _ in range(2 * RUNS)]
            yield figure(f"{what}: {named(launch)}", frames, ANSWER_MS)
        session.line = session.element = None
    for launch in TRACED:
        times = [_arrival(app, window, launch) for _ in range(RUNS)]
        yield figure(f"the UI thread at a new launch: {named(launch)}", times, NEW_MS)
    slides = [_slide(app, window) for _ in range(RUNS)]
    yield figure("the slowest answer to a slider that is dragged", slides, ANSWER_MS)


def _click_on_result(window: MainWindow, dice: random.Random) -> None:
    """Select an element of the block's part of C, and with it the thread that stores it."""
    canvas = window.step_page.matrices
    assert canvas._layout is not None
    grid = next(grid for grid in canvas.grids if grid.result)
    (mine,) = shares_of(canvas._own, grid)
    flat = dice.choice(mine.flats.tolist())
    row, column = (int(place[0]) for place in grid.cells(np.array([flat])))
    canvas.click_at(canvas._layout.rect(grid, canvas._view, (row, column, 1, 1)).center())


def _slide(app: QApplication, window: MainWindow) -> Frame:
    """The slowest answer while n is dragged and the traces follow."""
    change(app, window, SMALL)
    slider = window.form.sliders["n"]
    frames = []
    for place in (*range(8), *range(8, 0, -1)):
        frames.append(frame(app, lambda place=place: slider.setValue(place)))  # type: ignore[misc]
        settle(app, 0.1)
    settle(app, 0.5)
    walls, spent = zip(*frames, strict=True)
    return max(walls), max(spent)


def _arrival(app: QApplication, window: MainWindow, launch: Launch) -> Frame:
    """What the UI thread does to show a record that another thread has made."""
    rung, parameters = launch
    change(app, window, (rung, {**parameters, "n": parameters["n"] // 2}))
    recorder, seen = window.recorder, list[Frame]()

    def take(recorded: Any) -> None:
        seen.append(frame(app, lambda: recorder._take(recorded)))

    recorder.worker.finished.disconnect(recorder._take)
    recorder.worker.finished.connect(take)
    change(app, window, launch)
    recorder.worker.finished.disconnect(take)
    recorder.worker.finished.connect(recorder._take)
    return seen[-1]
