"""A window on Qt's offscreen platform for those who measure it, and what they have it do."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from bench_figures import Figure
from PySide6.QtCore import QEvent, Qt, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QTabBar

from core.garbage_collection import keep_pauses_short
from core.ladder import load_ladder
from gui.looks.theme import apply_theme
from gui.shell.main_window import MainWindow

SIZE = (1920, 1080)
Launch = tuple[str, dict[str, int]]
Frame = tuple[float, float]  # milliseconds on the clock, and of the UI thread's processor time
SMALL: Launch = ("tiled", {"n": 64, "tile": 16})
LARGE: Launch = ("tiled", {"n": 1024, "tile": 32})

# The goals, in milliseconds: what a person feels.
FRAME_MS = 16.7  # while playing, scrubbing, dragging, zooming
ANSWER_MS = 100  # to a click, a step or a key
NEW_MS = 300  # a new page, theme or launch
START_MS = 1300  # from the start of the process to the first paint


def open_window() -> tuple[QApplication, MainWindow, list[str]]:
    """The application, its window, and what Qt remarks from now on."""
    app = QApplication(["bench"])
    messages: list[str] = []
    qInstallMessageHandler(lambda kind, context, text: messages.append(text))
    apply_theme(app, "light")
    window = MainWindow(load_ladder())
    window.resize(*SIZE)
    window.show()
    keep_pauses_short()
    return app, window, messages


def settle(app: QApplication, seconds: float = 0.2) -> None:
    """Let everything happen that is under way."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        app.processEvents()
        time.sleep(0.001)
    # What is to be deleted goes at once in the application's own loop, not in `processEvents`.
    app.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def open_every_view(app: QApplication, window: MainWindow) -> None:
    """Every view in a place of its own, none behind another."""
    page = window.step_page
    page.arranged = True
    docks = list(page.docks.values())
    for dock in docks:
        page.removeDockWidget(dock)
    rows = [docks[:2], docks[2:6], docks[6:]]
    for i, row in enumerate(rows):
        page.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, row[0])
        if i:
            page.splitDockWidget(rows[i - 1][0], row[0], Qt.Orientation.Vertical)
    for row in rows:
        for left, right in pairwise(row):
            page.splitDockWidget(left, right, Qt.Orientation.Horizontal)
    for dock in docks:
        dock.show()
    for row in rows:
        page.resizeDocks(row, [page.width() // len(row)] * len(row), Qt.Orientation.Horizontal)
    settle(app, 0.5)
    for bar in page.findChildren(QTabBar):
        bar.hide()  # Qt leaves those that were there before
    hidden = [name for name in page.docks if not page.in_front(name)]
    if hidden:
        raise RuntimeError(f"these views could not be opened: {hidden}")


def change(app: QApplication, window: MainWindow, launch: Launch) -> Frame:
    """From the new configuration until its trace is painted; the time of both threads."""
    shown: list[bool] = []
    connection = window.recorder.recorded.connect(lambda: shown.append(True))
    started, spent = time.perf_counter(), time.process_time()
    window.recorder.configure(*launch)
    while not shown:
        app.processEvents()
        time.sleep(0.0005)
    window.recorder.recorded.disconnect(connection)
    app.processEvents()
    taken = (time.perf_counter() - started) * 1e3, (time.process_time() - spent) * 1e3
    settle(app, 0.5)
    return taken


def frame(app: QApplication, act: Callable[[], object]) -> Frame:
    """From a change until everything that it touched is painted; the UI thread's time."""
    started, spent = time.perf_counter(), time.thread_time()
    act()
    app.processEvents()
    return (time.perf_counter() - started) * 1e3, (time.thread_time() - spent) * 1e3


def figure(what: str, frames: Sequence[Frame], goal: float) -> Figure:
    """Times with their goal, which processor time may meet where the machine is busy."""
    processor = statistics.median(spent for _, spent in frames)
    return Figure(what, tuple(wall for wall, _ in frames), "ms", goal, processor=processor)


def answer(app: QApplication, act: Callable[[], object]) -> Frame:
    """From something that is done until all that it changed is painted; then there is quiet."""
    taken = frame(app, act)
    settle(app)
    return taken


def named(launch: Launch) -> str:
    """A launch in words."""
    rung, parameters = launch
    return f"{rung}, " + ", ".join(f"{name} = {value}" for name, value in parameters.items())
