"""Speed of the window, measured on Qt's offscreen platform: first paint, new trace, one step."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtCore import QEvent, QObject, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from core.ladder import load_ladder
from gui.headless import record
from gui.main_window import MainWindow
from gui.theme import apply_theme

STEPS = 200
SIZE = (1600, 1000)
CONFIGURATIONS: tuple[tuple[str, dict[str, int]], ...] = (
    ("tiled", {"n": 64, "tile": 16}),
    ("coalesced", {"n": 64, "block_x": 32, "block_y": 8}),
)
STEPPED: tuple[tuple[str, dict[str, int]], ...] = (
    ("tiled", {"n": 1024, "tile": 32}),
    ("coalesced", {"n": 1024, "block_x": 32, "block_y": 32}),
)


@dataclass(frozen=True)
class Figure:
    """One measurement and the most that the project allows."""

    what: str
    seconds: float
    most: float


def figures() -> Iterator[Figure]:
    """Measure everything. The first comes from a new process, as a user's start does."""
    started = time.time()
    command = [sys.executable, __file__, "--first-paint"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    yield Figure("start to first paint", float(done.stdout.split()[-1]) - started, 2.0)
    app, window = _window()
    record(window, app, "tiled", {})
    for rung, parameters in CONFIGURATIONS:
        yield Figure(
            f"new trace: {_named(rung, parameters)}", _change(app, window, rung, parameters), 0.5
        )
    for rung, parameters in STEPPED:
        _change(app, window, rung, parameters)
        for forward, way in ((True, "forwards"), (False, "backwards")):
            yield Figure(
                f"step {way}: {_named(rung, parameters)}", _step(app, window, forward), 0.016
            )
    window.close()


def _window() -> tuple[QApplication, MainWindow]:
    app = QApplication.instance() or QApplication(["bench"])
    assert isinstance(app, QApplication)
    qInstallMessageHandler(lambda *_: None)  # the offscreen platform's remarks on size hints
    apply_theme(app, "light")
    window = MainWindow(load_ladder())
    window.resize(*SIZE)
    window.show()
    return app, window


def _change(app: QApplication, window: MainWindow, rung: str, parameters: dict[str, int]) -> float:
    """Seconds from the new configuration until its trace is painted."""
    before = window.session.trace
    started = time.perf_counter()
    window.recorder.configure(rung, parameters)
    while window.session.trace is before:
        app.processEvents()
        time.sleep(0.001)
    window.grab()
    return time.perf_counter() - started


def _step(app: QApplication, window: MainWindow, forward: bool) -> float:
    """Median seconds of one step by access, with everything that changed painted."""
    times = []
    for _ in range(STEPS):
        started = time.perf_counter()
        window.session.seek(forward=forward)
        app.processEvents()  # paints what the step changed
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _named(rung: str, parameters: dict[str, int]) -> str:
    return f"{rung}, " + ", ".join(f"{name} = {value}" for name, value in parameters.items())


class _FirstPaint(QObject):
    """Prints the time of the window's first paint and leaves."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            sys.stdout.write(f"{time.time()}\n")
            sys.stdout.flush()
            os._exit(0)
        return False


def _first_paint() -> None:
    app, window = _window()
    watcher = _FirstPaint()
    app.installEventFilter(watcher)
    window.show()
    app.exec()


if __name__ == "__main__":
    _first_paint()
