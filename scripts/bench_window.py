"""Speed of the window on Qt's offscreen platform: start, traces, steps, play, scrubbing, memory.

Frames and steps are timed on the clock, from the change until everything that it changed is
painted. What the UI thread does besides painting is taken in its own processor time, so that other
programs on the machine do not count.
"""

from __future__ import annotations

import gc
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from bench_figures import Figure
from PySide6.QtCore import QEvent, QObject, QPointF, Qt, QTimer, qInstallMessageHandler
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication
from window_watch import WatchedApplication

from core.ladder import load_ladder
from gui.headless import record
from gui.main_window import MainWindow
from gui.scenes.session import MAX_SPEED
from gui.theme import apply_theme

SIZE = (1920, 1080)
STEPS = 200
RUNS = 5
PLAY_MINUTES = 5.0
FRAMES = 600
Launch = tuple[str, dict[str, int]]
Frame = tuple[float, float]  # milliseconds on the clock, and of the UI thread's processor time
SMALL: Launch = ("tiled", {"n": 64, "tile": 16})
LARGE: Launch = ("tiled", {"n": 1024, "tile": 32})
CONFIGURATIONS: tuple[Launch, ...] = (SMALL, ("coalesced", {"n": 64, "block_x": 32, "block_y": 8}))
STEPPED: tuple[Launch, ...] = (LARGE, ("coalesced", {"n": 1024, "block_x": 32, "block_y": 32}))


def figures(minutes: float = PLAY_MINUTES) -> Iterator[Figure]:
    """Measure everything. The start is that of new processes, as a user's is."""
    yield _figure("start to first paint", list(_first_paints()), 1500)
    app, window, messages = _window()
    record(window, app, "tiled", {})
    for launch in CONFIGURATIONS:
        frames = list(_changes(app, window, launch))
        yield _figure(f"new trace, painted: {_named(launch)}", frames, 300)
    for launch in STEPPED:
        _change(app, window, launch)
        for forward, way in ((True, "forwards"), (False, "backwards")):
            what = f"step {way}, painted, 19 of 20 under: {_named(launch)}"
            yield _share(what, _steps(app, window, forward), 16)
    _open_every_view(app, window)
    _change(app, window, SMALL)
    yield _share(
        "a frame of play, every view open, 19 of 20 under: n = 64", _play(app, window), 16.7
    )
    for launch in (SMALL, LARGE):
        _change(app, window, launch)
        yield _figure(
            f"slowest frame while the scrub bar is dragged from end to end: {_named(launch)}",
            [_drag(app, window) for _ in range(RUNS)],
            50,
        )
    yield from _work(app, window)
    yield from _memory(app, window, minutes)
    yield from _close(app, window, messages)


# ---- the window


def _window() -> tuple[WatchedApplication, MainWindow, list[str]]:
    app = WatchedApplication(["bench"])
    messages: list[str] = []
    qInstallMessageHandler(lambda kind, context, text: messages.append(text))
    apply_theme(app, "light")
    window = MainWindow(load_ladder())
    window.resize(*SIZE)
    window.show()
    return app, window, messages


def _first_paints() -> Iterator[Frame]:
    """From the start of a process to the window's first paint."""
    for i in range(RUNS + 1):
        started = time.time()
        command = [sys.executable, __file__, "--first-paint"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        if i:  # the first one warms up the disk
            painted, spent = (float(word) for word in done.stdout.split()[-2:])
            yield (painted - started) * 1e3, spent * 1e3


class _FirstPaint(QObject):
    """Prints the time of the window's first paint and leaves."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.UpdateRequest:
            QTimer.singleShot(0, self._leave)
        return False

    def _leave(self) -> None:
        sys.stdout.write(f"{time.time()} {time.process_time()}\n")
        sys.stdout.flush()
        os._exit(0)


def _first_paint() -> None:
    """The application's own start, ended after its first paint."""
    from gui import app as application

    watcher = _FirstPaint()
    show = MainWindow.show

    def watched(window: MainWindow) -> None:
        window.installEventFilter(watcher)
        show(window)

    MainWindow.show = watched  # type: ignore[method-assign,assignment]
    application.main(["--fresh", "--session", os.devnull])


def _settle(app: QApplication, seconds: float = 0.2) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        app.processEvents()
        time.sleep(0.001)


def _open_every_view(app: QApplication, window: MainWindow) -> None:
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
    _settle(app, 0.5)
    hidden = [name for name in page.docks if not page.in_front(name)]
    if hidden:
        raise RuntimeError(f"these views could not be opened: {hidden}")


# ---- traces, steps, frames


def _change(app: QApplication, window: MainWindow, launch: Launch) -> Frame:
    """From the new configuration until its trace is painted; the time of both threads."""
    before = window.session.trace
    started, spent = time.perf_counter(), time.process_time()
    window.recorder.configure(*launch)
    while window.session.trace is before:
        app.processEvents()
        time.sleep(0.0005)
    app.processEvents()
    frame = (time.perf_counter() - started) * 1e3, (time.process_time() - spent) * 1e3
    _settle(app, 0.5)
    return frame


def _changes(app: QApplication, window: MainWindow, launch: Launch) -> Iterator[Frame]:
    """The same several times, coming from another configuration each time."""
    rung, parameters = launch
    _change(app, window, launch)
    for i in range(RUNS):
        _change(app, window, (rung, {**parameters, "n": 32 + 16 * (i % 2)}))
        yield _change(app, window, launch)


def _steps(app: QApplication, window: MainWindow, forward: bool) -> list[Frame]:
    """Milliseconds of each of many steps by access."""
    (window.session.first if forward else window.session.last)()
    app.processEvents()
    return [_frame(app, lambda: window.session.seek(forward=forward)) for _ in range(STEPS)]


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
        times.append(_frame(app, session.play_on))
    session.playing = 0
    return times


def _drag(app: QApplication, window: MainWindow) -> Frame:
    """Milliseconds of the slowest frame while the scrub bar is dragged from end to end."""
    bar = window.transport.scrub
    left, kinds = Qt.MouseButton.LeftButton, QEvent.Type

    def mouse(kind: QEvent.Type, x: int) -> None:
        place = QPointF(x, bar.height() / 2)
        away = QPointF(bar.mapToGlobal(place))
        held = Qt.MouseButton.NoButton if kind == kinds.MouseButtonRelease else left
        QApplication.sendEvent(
            bar, QMouseEvent(kind, place, away, left, held, Qt.KeyboardModifier.NoModifier)
        )

    times = [_frame(app, lambda: mouse(kinds.MouseButtonPress, 0))]
    times += [
        _frame(app, lambda x=x: mouse(kinds.MouseMove, x))  # type: ignore[misc]
        for x in range(0, bar.width(), 6)
    ]
    mouse(kinds.MouseButtonRelease, bar.width())
    walls, spent = zip(*times[1:], strict=True)
    return max(walls), max(spent)


def _frame(app: QApplication, change: Callable[[], object]) -> Frame:
    started, spent = time.perf_counter(), time.thread_time()
    change()
    app.processEvents()  # paints what the change touched
    return (time.perf_counter() - started) * 1e3, (time.thread_time() - spent) * 1e3


def _share(what: str, frames: list[Frame], goal: float) -> Figure:
    """The 95th percentile of frames, taken in several stretches so that it has a spread."""
    size = len(frames) // RUNS
    parts = [_sorted(frames[i * size : (i + 1) * size]) for i in range(RUNS)]
    place = int(0.95 * size)
    return _figure(what, [(wall[place], spent[place]) for wall, spent in parts], goal)


def _sorted(frames: list[Frame]) -> tuple[list[float], list[float]]:
    return sorted(wall for wall, _ in frames), sorted(spent for _, spent in frames)


def _figure(what: str, frames: list[Frame], goal: float) -> Figure:
    processor = statistics.median(spent for _, spent in frames)
    return Figure(what, tuple(wall for wall, _ in frames), "ms", goal, processor=processor)


# ---- the UI thread's work besides painting


def _work(app: WatchedApplication, window: MainWindow) -> Iterator[Figure]:
    """The longest single work on the UI thread in a use of the window, painting apart."""
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
        longest = [_longest_of_change(app, window, launch) for _ in range(RUNS)]
        yield Figure(f"work for a new trace: {_named(launch)}", tuple(longest), "ms", 8)
        session.step = session.n_steps // 3
        for what, action in actions.items():
            times = [_longest(app, what, action) for _ in range(2 * RUNS)]
            yield Figure(f"work for {what}: {_named(launch)}", tuple(times), "ms", 8)


def _longest_of_change(app: WatchedApplication, window: MainWindow, launch: Launch) -> float:
    rung, parameters = launch
    _change(app, window, (rung, {**parameters, "n": parameters["n"] // 2}))
    burden = app.watch()
    _change(app, window, launch)
    app.rest()
    return burden.longest * 1e3


def _longest(app: WatchedApplication, what: str, action: Callable[[], object]) -> float:
    burden = app.watch()
    app.run(what, action)
    _settle(app, 0.05)
    app.rest()
    return burden.longest * 1e3


# ---- memory, and what is left


def _memory(app: QApplication, window: MainWindow, minutes: float) -> Iterator[Figure]:
    """Growth of the process while it plays, after it has played through once."""
    _change(app, window, SMALL)
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
    _settle(app, 0.5)
    gc.collect()
    left = [t for t in threading.enumerate() if t is not threading.main_thread()]
    running = sum(timer.isActive() for timer in app.findChildren(QTimer))
    yield Figure(
        "threads and running timers left when the window has closed", (len(left) + running,), "", 1
    )
    ours = [text for text in messages if "propagateSizeHints" not in text]
    yield Figure("Qt's warnings", (len(ours),), "", 1)


def _named(launch: Launch) -> str:
    rung, parameters = launch
    return f"{rung}, " + ", ".join(f"{name} = {value}" for name, value in parameters.items())


if __name__ == "__main__":
    _first_paint()
