"""The UI thread's work for what is done now and then: opening, choosing, laying out, typing."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench_figures import Figure
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication
from window_stage import SIZE, SMALL, change, settle
from window_watch import WatchedApplication

from gui.scenes.tour import STOPS
from gui.shell.cheat_sheet import CheatSheet
from gui.shell.main_window import MainWindow

RUNS = 5
GOAL = 8  # milliseconds
PATIENCE_S = 30.0
QUIET_S = 0.3  # after which all that follows an action is done
NARROW = (1280, 800)
LONG = 1000  # lines
OWN = """
__global__ void scale(const float *a, float *b, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = factor * a[i];
}
__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 0;
    for (int i = 0; i < k && row < m && col < n; ++i) value += a[row * k + i] * b[i * n + col];
    if (row < m && col < n) c[row * n + col] = value;
}
"""


def once(app: WatchedApplication, window: MainWindow) -> Iterator[Figure]:
    """The longest single work in each run of these, the first of the process with the others."""
    change(app, window, SMALL)
    for what, runs in (
        ("the sheet of keys", _sheet),
        ("a stop of the tour", _tour),
        ("one view large, and all back", _large),
        ("the layout made anew", _layout),
        ("another size of the window", _sizes),
        ("the answer to Why?", _why),
        ("choosing a kernel of the ladder", _ladder),
        ("opening a kernel of one's own", _own_file),
        (f"a key typed into {LONG} lines", _typing),
    ):
        times = [max(runs(app, window)) for _ in range(RUNS)]
        yield Figure(f"work for {what}", tuple(times), "ms", GOAL)
    window.step_page.source.put_original()
    change(app, window, SMALL)


def longest(
    app: WatchedApplication,
    act: Callable[[], object],
    there: Callable[[], bool] = lambda: True,
) -> float:
    """Milliseconds of the longest work from an action until it is `there` and all is quiet."""
    burden, end = app.watch(), time.perf_counter() + PATIENCE_S
    app.run("the action", act)
    while not there():
        app.processEvents()
        if time.perf_counter() > end:
            raise RuntimeError("what was asked for did not come")
    settle(app, QUIET_S)
    app.rest()
    return burden.longest * 1e3


def _sheet(app: WatchedApplication, window: MainWindow) -> Iterator[float]:
    def seen() -> bool:
        sheet = window.findChild(CheatSheet)
        return sheet is not None and sheet.isVisible()

    yield longest(app, window.show_cheat_sheet, seen)
    sheet = window.findChild(CheatSheet)
    assert sheet is not None
    yield longest(app, sheet.close)


def _tour(app: WatchedApplication, window: MainWindow) -> Iterator[float]:
    touring = window.touring
    yield longest(app, touring.start)
    for _ in STOPS:
        yield longest(app, lambda: touring.move(1))
    if window.overlay is not None:
        touring.leave()


def _large(app: WatchedApplication, window: MainWindow) -> Iterator[float]:
    for name in ("Matrices", "Source", "Counters"):
        window.step_page.front(name)
        settle(app)
        yield longest(app, window.enlarging.toggle)
        yield longest(app, window.enlarging.toggle)


def _layout(app: WatchedApplication, window: MainWindow) -> Iterator[float]:
    window.step_page.docks["PTX"].setFloating(True)
    settle(app)
    yield longest(app, window.step_page.reset_layout)


def _sizes(app: WatchedApplication, window: MainWindow) -> Iterator[float]:
    for size in (NARROW, SIZE):
        yield longest(app, lambda size=size: window.resize(*size))  # type: ignore[misc]


def _why(app: WatchedApplication, window: MainWindow) -> Iterator[float]:
    session = window.session
    for share in (0.1, 0.5, 0.9):
        session.step = int(share * session.n_steps)
        settle(app)
        yield longest(app, window.explaining.why)
        yield longest(app, lambda: session.seek(forward=True))
        yield longest(app, window.explaining.why)


def _ladder(app: WatchedApplication, window: MainWindow) -> Iterator[float]:
    """Rungs with two parameters and with eleven, with and without shared memory."""
    for name in ("tuned", "vector_add", "tiled"):
        yield _recorded(app, window, lambda name=name: window.ladder_panel.chosen.emit(name))  # type: ignore[misc]


def _own_file(app: WatchedApplication, window: MainWindow) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "own.cu")
        path.write_text(OWN, "utf-8")
        file = window.form.file
        yield _recorded(app, window, lambda: window.workbench.open_file(str(path)))
        yield _recorded(app, window, lambda: file.kernel_chosen.emit("product"))
        yield _recorded(app, window, lambda: window.ladder_panel.chosen.emit("tiled"))


def _recorded(app: WatchedApplication, window: MainWindow, act: Callable[[], object]) -> float:
    shown: list[bool] = []
    connection = window.recorder.recorded.connect(lambda: shown.append(True))
    taken = longest(app, act, lambda: bool(shown))
    window.recorder.recorded.disconnect(connection)
    return taken


def _typing(app: WatchedApplication, window: MainWindow) -> Iterator[float]:
    """Letters, the beginning of a comment and its end in the middle of a long text."""
    edit = window.step_page.source.edit
    lines = (f"// line {i}: value += A[{i}] * B[{i}];" for i in range(LONG))
    edit.setPlainText("\n".join(lines))
    settle(app, 1.0)
    cursor = edit.textCursor()
    cursor.setPosition(len(edit.toPlainText()) // 2)
    edit.setTextCursor(cursor)
    edit.editing = True
    settle(app)
    for letter in ("x", "/", "*", "*", "/", "\r"):
        yield longest(app, lambda letter=letter: _key(edit, letter))  # type: ignore[misc]


def _key(edit: QObject, letter: str) -> None:
    event = QKeyEvent(QEvent.Type.KeyPress, 0, Qt.KeyboardModifier.NoModifier, letter)
    QApplication.sendEvent(edit, event)
