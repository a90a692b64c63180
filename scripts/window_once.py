"""How soon the window answers what is done now and then: opening, laying out, typing."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench_figures import Figure
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication
from window_stage import (
    ANSWER_MS,
    NEW_MS,
    SIZE,
    SMALL,
    Frame,
    answer,
    change,
    figure,
    settle,
)

from gui.shell.help_sheets import CheatSheet
from gui.shell.main_window import MainWindow

RUNS = 5
PATIENCE_S = 30.0
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


def once(app: QApplication, window: MainWindow) -> Iterator[Figure]:
    """The slowest answer in each run of these, the first of the process with the others."""
    change(app, window, SMALL)
    for what, runs, goal in (
        ("the sheet of keys", _sheet, ANSWER_MS),
        ("the course page", _course, NEW_MS),
        ("one view large, and all back", _large, NEW_MS),
        ("the layout made anew", _layout, NEW_MS),
        ("another size of the window", _sizes, NEW_MS),
        ("the answer to Why?", _why, ANSWER_MS),
        ("choosing a kernel of the ladder", _ladder, NEW_MS),
        ("opening a kernel of one's own", _own_file, NEW_MS),
        (f"a key typed into {LONG} lines", _typing, ANSWER_MS),
    ):
        times = [max(runs(app, window)) for _ in range(RUNS)]
        yield figure(f"{what}, painted, the slowest", times, goal)
    window.step_page.source.put_original()
    change(app, window, SMALL)


def _sheet(app: QApplication, window: MainWindow) -> Iterator[Frame]:
    yield answer(app, window.show_cheat_sheet)
    sheet = window.findChild(CheatSheet)
    assert sheet is not None
    yield answer(app, sheet.close)


def _course(app: QApplication, window: MainWindow) -> Iterator[Frame]:
    for page in ("course", "step"):
        yield answer(app, lambda page=page: window.show_page(page))  # type: ignore[misc]


def _large(app: QApplication, window: MainWindow) -> Iterator[Frame]:
    for name in ("Matrices", "Source", "Counters"):
        window.step_page.front(name)
        settle(app)
        yield answer(app, window.enlarging.toggle)
        yield answer(app, window.enlarging.toggle)


def _layout(app: QApplication, window: MainWindow) -> Iterator[Frame]:
    window.step_page.docks["PTX"].setFloating(True)
    settle(app)
    yield answer(app, window.step_page.reset_layout)


def _sizes(app: QApplication, window: MainWindow) -> Iterator[Frame]:
    for size in (NARROW, SIZE):
        yield answer(app, lambda size=size: window.resize(*size))  # type: ignore[misc]


def _why(app: QApplication, window: MainWindow) -> Iterator[Frame]:
    session = window.session
    for share in (0.1, 0.5, 0.9):
        session.step = int(share * session.n_steps)
        settle(app)
        yield answer(app, window.explaining.why)
        yield answer(app, lambda: session.seek(forward=True))
        yield answer(app, window.explaining.why)


def _ladder(app: QApplication, window: MainWindow) -> Iterator[Frame]:
    """Rungs with two parameters and with eleven, with and without shared memory."""
    for name in ("tuned", "vector_add", "tiled"):
        yield _recorded(app, window, lambda name=name: window.ladder_panel.chosen.emit(name))  # type: ignore[misc]


def _own_file(app: QApplication, window: MainWindow) -> Iterator[Frame]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "own.cu")
        path.write_text(OWN, "utf-8")
        file = window.form.file
        yield _recorded(app, window, lambda: window.workbench.open_file(str(path)))
        yield _recorded(app, window, lambda: file.kernel_chosen.emit("product"))
        yield _recorded(app, window, lambda: window.ladder_panel.chosen.emit("tiled"))


def _recorded(app: QApplication, window: MainWindow, act: Callable[[], object]) -> Frame:
    """Until the launch is shown; processor time of all threads."""
    shown: list[bool] = []
    connection = window.recorder.recorded.connect(lambda: shown.append(True))
    started, spent = time.perf_counter(), time.process_time()
    act()
    while not shown:
        app.processEvents()
        time.sleep(0.0005)  # as Qt's own loop waits: else this one takes the recording's time
        if time.perf_counter() - started > PATIENCE_S:
            raise RuntimeError("what was asked for did not come")
    app.processEvents()
    taken = (time.perf_counter() - started) * 1e3, (time.process_time() - spent) * 1e3
    window.recorder.recorded.disconnect(connection)
    settle(app)
    return taken


def _typing(app: QApplication, window: MainWindow) -> Iterator[Frame]:
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
        yield answer(app, lambda letter=letter: _key(edit, letter))  # type: ignore[misc]


def _key(edit: QObject, letter: str) -> None:
    event = QKeyEvent(QEvent.Type.KeyPress, 0, Qt.KeyboardModifier.NoModifier, letter)
    QApplication.sendEvent(edit, event)
