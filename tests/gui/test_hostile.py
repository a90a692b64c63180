"""What a window must survive: keys mashed, sliders torn, closing in the middle, the very large."""

import random
import time

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt, QThread, QTimer
from PySide6.QtGui import QKeySequence, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QMenu, QWidget
from shiboken6 import isValid

from gui.looks.theme import apply_theme
from gui.shell.main_window import MainWindow

RECORDING_MS = 40_000
ENDS = {"Quit", "Full screen"}
DIALOGS = ("getOpenFileName", "getOpenFileNames", "getSaveFileName")


@pytest.fixture
def window(qtbot, qapp, ladder):
    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    window.resize(1280, 800)
    window.show()
    qtbot.waitExposed(window)
    yield window
    if isValid(window):
        window.close()
    qapp.processEvents()


def recorded(window, qtbot, rung, **parameters):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure(rung, parameters)


def settle(window, qtbot):
    qtbot.waitUntil(lambda: not window.recorder.worker.busy, timeout=RECORDING_MS)


@pytest.mark.slow
def test_keys_mashed(window, qtbot, monkeypatch):
    """Every shortcut in random order, wherever the keyboard is, while things are recorded."""
    for name in DIALOGS:
        monkeypatch.setattr(QFileDialog, name, lambda *_: ("", ""))
    monkeypatch.setattr(QDialog, "exec", lambda _: QDialog.DialogCode.Rejected)
    recorded(window, qtbot, "tiled", n=8, tile=4)
    rng = random.Random(11)
    keys = [
        key for commands in window.menus.values() for c in commands if c.text not in ENDS
        for key in c.keys
    ]  # fmt: skip
    letters = [Qt.Key.Key_A, Qt.Key.Key_Z, Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Delete]
    for _ in range(60):
        target = QApplication.focusWidget() or window
        if rng.random() < 0.75:
            combination = QKeySequence(rng.choice(keys))[0]
            qtbot.keyClick(target, combination.key(), combination.keyboardModifiers())
        else:
            qtbot.keyClick(target, rng.choice(letters))
        for widget in QApplication.topLevelWidgets():
            if widget is not window and widget.isVisible():
                widget.close()
    window.teaching.leave()
    settle(window, qtbot)
    session = window.session
    session.page = "step"
    assert 0 <= session.step < session.n_steps
    window.grab()


@pytest.mark.slow
def test_mouse_everywhere(window, qtbot):
    """Presses, drags, wheels and menus at random places of every view."""
    recorded(window, qtbot, "tiled_rect", m=9, k=5, n=7, tile=4)
    rng = random.Random(3)
    page = window.step_page
    views = [page.matrices, page.warp, page.shared, window.transport.scrub]
    views += [page.source.edit.viewport(), page.source.edit.gutter, page.phases.grid.viewport()]
    views.append(page.views["Variables"].table.viewport())
    for _ in range(120):
        view = rng.choice(views)
        if not view.isVisible():
            continue
        point = QPoint(rng.randrange(max(view.width(), 1)), rng.randrange(max(view.height(), 1)))
        kind = rng.randrange(4)
        if kind == 0:
            qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point)
        elif kind == 1:
            qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=point)
            drag(view, point + QPoint(rng.randrange(-90, 90), rng.randrange(-60, 60)))
            qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=point)
        elif kind == 2:
            wheel(view, point, rng.choice((-480, -120, 120, 480)))
        else:
            qtbot.mouseDClick(view, Qt.MouseButton.LeftButton, pos=point)
    for menu in window.findChildren(QMenu):
        menu.close()
    window.grab()


def drag(view, point):
    place = QPointF(point)
    event = QMouseEvent(
        QEvent.Type.MouseMove, place, view.mapToGlobal(place), Qt.MouseButton.NoButton,
        Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(view, event)


def wheel(view, point, delta):
    place = QPointF(point)
    event = QWheelEvent(
        place, view.mapToGlobal(place), QPoint(), QPoint(0, delta), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, event)


@pytest.mark.slow
def test_sizes_torn_while_it_computes_and_plays(window, qtbot):
    recorded(window, qtbot, "tiled", n=16, tile=4)
    window.session.update(speed=60.0, playing=1)
    for n in (64, 8, 128, 12, 256, 16, 512, 8):
        window.form.editors["n"].setValue(n)
        end = time.monotonic() + 0.06
        while time.monotonic() < end:
            QApplication.processEvents()
        window.session.update(block=3, thread=99, step=10**6)
        window.grab()
    qtbot.waitUntil(
        lambda: window.session.parameters.get("n") == 8 and not window.recorder.worker.busy,
        timeout=RECORDING_MS,
    )


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["recording", "counting", "playing", "exporting", "lesson"])
def test_closed_while_it_works(window, qtbot, qapp, tmp_path, moment):
    """Nothing of a closed window goes on: no thread, no timer, no widget."""
    recorded(window, qtbot, "tiled", n=8, tile=4)
    if moment == "recording":
        window.recorder.configure("coalesced", {"n": 256})
    elif moment == "counting":
        recorded(window, qtbot, "tiled", n=1024, tile=16)
        assert window.recorder.counter.busy
    elif moment == "playing":
        window.session.update(playing=1, speed=60.0)
    elif moment == "exporting":
        window.pictures.save("Whole window", tmp_path / "x.png")
    else:
        window.teaching.begin_lesson("1A")
    timers = window.findChildren(QTimer)
    assert timers
    children = window.findChildren(QWidget)
    window.close()
    qtbot.waitUntil(lambda: not isValid(window), timeout=5000)
    assert not any(isValid(timer) for timer in timers)
    assert not [c for c in children if isValid(c)]
    assert not [t for t in qapp.findChildren(QThread) if t.isRunning()]
    assert not [w for w in QApplication.topLevelWidgets() if w.isVisible()]
    assert all(isinstance(o, QObject) for o in timers)


@pytest.mark.slow
def test_four_by_four_and_four_thousand(window, qtbot):
    recorded(window, qtbot, "tiled", n=4, tile=2)
    window.grab()
    recorded(window, qtbot, "tiled", n=4096, tile=32)
    session = window.session
    assert session.trace.recorded_blocks == (0,)
    window.grab()
    for fraction in (0.1, 0.5, 0.9):
        session.step = int(session.n_steps * fraction)
        window.grab()
    canvas = window.step_page.matrices
    fitted = canvas._view.scale
    for _ in range(40):
        wheel(canvas, QPoint(canvas.width() // 2, canvas.height() // 2), 240)
    assert canvas._view.scale > 20 * fitted  # down to single elements
    times = []
    for _ in range(12):
        canvas.pan(7, 5)
        began = time.thread_time()
        canvas.grab()
        times.append(time.thread_time() - began)
    assert sorted(times)[len(times) // 2] < 0.1  # of processor time; SHARE of it on an idle machine
    for _ in range(40):
        wheel(canvas, QPoint(30, 30), -240)
    assert canvas._fitted
    recorded(window, qtbot, "tiled", n=2, tile=1)
    window.grab()


@pytest.mark.slow
def test_a_kernel_with_findings_all_the_way(window, qtbot):
    for rung in ("broken_fill_barrier", "broken_bounds"):
        recorded(window, qtbot, rung)
        view = window.step_page.views["Findings"]
        window.step_page.front("Findings")
        for row in range(min(view.list.count(), 4)):
            finding = window.session.trace.findings[row]
            view.list.itemClicked.emit(view.list.item(row))
            session = window.session
            if finding.step >= 0 and finding.block in session.trace.recorded_blocks:
                assert session.step == finding.step
            assert session.thread == finding.thread
            assert session.line == finding.line
            window.grab()


@pytest.mark.slow
def test_escape_codes_and_marks_of_direction_are_shown_as_such(window, qtbot, tmp_path):
    path = tmp_path / "k\x1b[31m\u202e.cu"
    text = "#include <cstdio>\n__global__ void k(float *x) { x[0] = 1; "
    path.write_text(text + 'printf("a\\033[2J"); }\n')
    with qtbot.waitSignal(window.recorder.recorded, timeout=20_000):
        window.workbench.open_file(str(path))
    assert window.session.trace.workload.title == "k\\x1b[31m\\u202e.cu: k"
    assert "a\\x1b[2J" in window.message.sentence
    assert not set("\x1b\u202e") & set(window.message.sentence)
    window.step_page.source.edit.setPlainText(f"{text}}}\n#error \x1b]0;\n")
    with qtbot.waitSignal(window.recorder.failed, timeout=20_000):
        window.workbench.run_source()
    assert any("\\x1b]0;" in error.message for error in window.step_page.source.edit.errors)
    assert "\x1b" not in window.message.sentence
