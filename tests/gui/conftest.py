"""Fixtures for the window's tests. Without a display they run on Qt's offscreen platform."""

import contextlib
import gc
import os
import threading
import time
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from core.ladder import load_ladder
from core.side_process import client
from tests.gui.fake_trace import fake_trace
from tests.gui.real_app import display, size  # noqa: F401 - fixtures


@pytest.fixture(scope="session")
def trace():
    """A tiled multiply, 16 x 16 in tiles of 8 (four blocks of two warps)."""
    return fake_trace(16, 8)


@pytest.fixture(scope="session")
def ladder():
    return load_ladder()


@pytest.fixture
def session(trace):
    from gui.scenes.session import Session

    session = Session()
    session.trace = trace
    return session


@pytest.fixture
def window(qtbot, qapp, ladder):
    """The application's window, shown in the light theme, with nothing recorded yet."""
    from shiboken6 import isValid

    from gui.looks.theme import apply_theme
    from gui.shell.main_window import MainWindow

    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    window.resize(1440, 900)
    window.show()
    qtbot.waitExposed(window)
    yield window
    if isValid(window):  # a test may have closed it
        window.close()
    qapp.processEvents()


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch):
    """A file dialog that no test expects fails at once: it would wait for a user for ever."""
    from PySide6.QtWidgets import QFileDialog

    for name in ("getOpenFileName", "getOpenFileNames", "getSaveFileName", "getExistingDirectory"):
        monkeypatch.setattr(QFileDialog, name, unexpected)


def unexpected(_parent=None, title="", *_):
    raise AssertionError(f"the window asks for a file ({title}): answer it in the test")


LONGEST_S = 60  # that a thread may take to end: far more than a busy machine needs
POOLS = {"python", "python3", "pytest", "Thread (pooled)", "QDBusConnection"}
"""Names of threads that are not one test's: the main one, those of BLAS and of Qt's own pools."""


def running():
    """Threads of Python's by name, and all of the system's that have a name of their own."""
    theirs = {t for t in threading.enumerate() if not isinstance(t, threading._DummyThread)}
    return theirs | {task for task in named_tasks() if task[1] not in POOLS}


def named_tasks():
    """(id, name) of the process's threads where the system tells; a QThread has its object's."""
    found = set()
    for task in Path("/proc/self/task").glob("*"):
        with contextlib.suppress(OSError):  # it has just ended
            found.add((task.name, (task / "comm").read_text().strip()))
    return found


def of_the_kept():
    """The threads that read what the side process says that waits for the next request.

    It stays from one test to the next, as from one kernel to the next in the window.
    """
    process = client._kept._process
    return set() if process is None else set(process._child._threads)


@pytest.fixture(autouse=True)
def nothing_left_running():
    """No test may leave a thread behind, of Python's or of Qt's, or the collector disabled."""
    before = running()
    yield
    assert gc.isenabled()  # tests after this one would fill gigabytes
    end = time.monotonic() + LONGEST_S
    while (left := running() - before - of_the_kept()) and time.monotonic() < end:
        time.sleep(0.01)
    assert not left
