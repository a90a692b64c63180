"""Speed of the window on Qt's offscreen platform: start, traces, steps, play, scrubbing, memory.

Frames and steps are timed on the clock, from the change until everything that it changed is
painted. What the UI thread does besides painting is taken in its own processor time, so that other
programs on the machine do not count.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench_figures import Figure
from PySide6.QtCore import QEvent, QPointF, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication
from window_answers import answers
from window_looks import first_looks, themes
from window_moves import moves
from window_once import once
from window_stage import (
    ANSWER_MS,
    FRAME_MS,
    LARGE,
    NEW_MS,
    SMALL,
    START_MS,
    Frame,
    Launch,
    change,
    figure,
    frame,
    named,
    open_every_view,
    open_window,
    settle,
)
from window_start import first_paints

from core.side_process.client import end_kept
from gui.headless import record
from gui.scenes.configuration import Configuration
from gui.scenes.setting_choices import MAX_SPEED
from gui.shell.main_window import MainWindow

STEPS = 200
RUNS = 5
PLAY_MINUTES = 5.0
FRAMES = 600
CONFIGURATIONS: tuple[Launch, ...] = (SMALL, ("coalesced", {"n": 64, "block_x": 32, "block_y": 8}))
STEPPED: tuple[Launch, ...] = (LARGE, ("coalesced", {"n": 1024, "block_x": 32, "block_y": 32}))
COMPARED = {"n": 64, "tile": 32}


def figures(minutes: float = PLAY_MINUTES) -> Iterator[Figure]:
    """Measure everything. The start is that of new processes, as a user's is."""
    yield figure("start to first paint", list(first_paints(RUNS)), START_MS)
    yield from first_looks()
    app, window, messages = open_window()
    record(window, app, "tiled", {})
    for launch in CONFIGURATIONS:
        frames = list(_changes(app, window, launch))
        yield figure(f"a new launch, painted: {named(launch)}", frames, NEW_MS)
    for launch in STEPPED:
        change(app, window, launch)
        for forward, way in ((True, "forwards"), (False, "backwards")):
            what = f"step {way}, painted, 19 of 20 under: {named(launch)}"
            yield _share(what, _steps(app, window, forward), ANSWER_MS)
    change(app, window, LARGE)
    for unit in ("line", "phase"):
        window.session.unit = unit
        what = f"step by {unit}, painted, 19 of 20 under: {named(LARGE)}"
        yield _share(what, _steps(app, window, forward=True), ANSWER_MS)
    window.session.unit = "access"
    yield from moves(app, window)
    open_every_view(app, window)
    change(app, window, SMALL)
    yield _share(
        "a frame of play, every view open, 19 of 20 under: n = 64", _play(app, window), FRAME_MS
    )
    for launch in (SMALL, LARGE):
        change(app, window, launch)
        yield figure(
            f"a frame of scrubbing from end to end, 19 of 20 under: {named(launch)}",
            [_drag(app, window) for _ in range(RUNS)],
            FRAME_MS,
        )
    yield from answers(app, window)
    yield from once(app, window)
    yield from _memory(app, window, minutes)
    yield from _comparison(app, window)
    yield from themes(app, window)
    yield from _close(app, window, messages)


# ---- traces, steps, frames


def _changes(app: QApplication, window: MainWindow, launch: Launch) -> Iterator[Frame]:
    """The same several times, coming from another configuration each time."""
    rung, parameters = launch
    change(app, window, launch)
    for i in range(RUNS):
        change(app, window, (rung, {**parameters, "n": 32 + 16 * (i % 2)}))
        yield change(app, window, launch)


def _steps(app: QApplication, window: MainWindow, forward: bool) -> list[Frame]:
    """Milliseconds of each of many steps by access; at the end they begin anew."""
    session, times = window.session, []
    begin = session.first if forward else session.last
    begin()
    app.processEvents()
    for _ in range(STEPS):
        before = session.step
        taken = frame(app, lambda: session.seek(forward=forward))
        if session.step != before:
            times.append(taken)
        else:
            begin()
            app.processEvents()
    return times


def _play(app: QApplication, window: MainWindow) -> list[Frame]:
    """Milliseconds of each frame of playing at full speed from the beginning, and again."""
    session = window.session
    session.speed = MAX_SPEED
    session.first()
    app.processEvents()
    times = []
    for _ in range(FRAMES):
        if not session.playing:
            session.update(step=0, playing=1)
            window.transport.stop()  # this loop is the clock
            app.processEvents()
        times.append(frame(app, session.play_on))
    session.playing = 0
    return times


def _drag(app: QApplication, window: MainWindow) -> Frame:
    """Milliseconds of the 19th of 20 frames while the scrub bar is dragged from end to end."""
    bar = window.transport.scrub
    left, kinds = Qt.MouseButton.LeftButton, QEvent.Type

    def mouse(kind: QEvent.Type, x: int) -> None:
        place = QPointF(x, bar.height() / 2)
        away = QPointF(bar.mapToGlobal(place))
        held = Qt.MouseButton.NoButton if kind == kinds.MouseButtonRelease else left
        QApplication.sendEvent(
            bar, QMouseEvent(kind, place, away, left, held, Qt.KeyboardModifier.NoModifier)
        )

    times = [frame(app, lambda: mouse(kinds.MouseButtonPress, 0))]
    times += [
        frame(app, lambda x=x: mouse(kinds.MouseMove, x))  # type: ignore[misc]
        for x in range(0, bar.width(), 6)
    ]
    mouse(kinds.MouseButtonRelease, bar.width())
    walls, spent = _sorted(times[1:])
    place = int(0.95 * len(walls))
    return walls[place], spent[place]


def _comparison(app: QApplication, window: MainWindow) -> Iterator[Figure]:
    """Steps and frames of play of two tiles side by side, the pictures in front in turn."""
    session = window.session
    change(app, window, SMALL)
    session.versus = Configuration("tiled", COMPARED)
    window.show_page("compare")
    settle(app, 2.0)
    for view in ("Memory", "Matrices"):
        session.compared_view = view
        settle(app)
        what = f"comparison of two tiles, {view.lower()} in front"
        yield _share(
            f"{what}: a step, 19 of 20 under", _steps(app, window, forward=True), ANSWER_MS
        )
        yield _share(f"{what}: a frame of play, 19 of 20 under", _play(app, window), FRAME_MS)
    window.show_page("step")


def _share(what: str, frames: list[Frame], goal: float) -> Figure:
    """The 95th percentile of frames, taken in several stretches so that it has a spread."""
    size = len(frames) // RUNS
    parts = [_sorted(frames[i * size : (i + 1) * size]) for i in range(RUNS)]
    place = int(0.95 * size)
    return figure(what, [(wall[place], spent[place]) for wall, spent in parts], goal)


def _sorted(frames: list[Frame]) -> tuple[list[float], list[float]]:
    return sorted(wall for wall, _ in frames), sorted(spent for _, spent in frames)


# ---- memory, and what is left


def _memory(app: QApplication, window: MainWindow, minutes: float) -> Iterator[Figure]:
    """Growth of the process while it plays, after it has played through once."""
    change(app, window, SMALL)
    _play_for(app, window, 20)
    before = _resident()
    _play_for(app, window, minutes * 60)
    yield Figure(
        f"growth of memory in {minutes:g} minutes of play at 60 a second",
        (_resident() - before,),
        "MB",
        5,
    )


def _play_for(app: QApplication, window: MainWindow, seconds: float) -> None:
    session, end = window.session, time.perf_counter() + seconds
    session.speed = 60
    while time.perf_counter() < end:
        if not session.playing:
            session.update(step=0, playing=1)
        app.processEvents()
        time.sleep(0.001)
    session.playing = 0
    gc.collect()


def _resident() -> float:
    """Memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _close(app: QApplication, window: MainWindow, messages: list[str]) -> Iterator[Figure]:
    """Threads and running timers that outlive the window, and what Qt had to remark."""
    window.close()
    end_kept()  # as the application does when its window has closed
    settle(app, 0.5)
    gc.collect()
    alive = {int(task.name) for task in Path("/proc/self/task").iterdir()}
    main = threading.main_thread()  # Python goes on naming Qt's threads that have ended
    left = [t for t in threading.enumerate() if t is not main and t.native_id in alive]
    running = sum(timer.isActive() for timer in app.findChildren(QTimer))
    yield Figure(
        "threads and running timers left when the window has closed", (len(left) + running,), "", 1
    )
    ours = [text for text in messages if not text.startswith("This plugin does not support")]
    yield Figure("Qt's warnings", (len(ours),), "", 1)
