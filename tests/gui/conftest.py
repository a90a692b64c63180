"""Fixtures for the window's tests. Without a display they run on Qt's offscreen platform."""

import os
import threading
import time

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from core.ladder import load_ladder
from tests.gui.fake_trace import fake_trace


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


@pytest.fixture(autouse=True)
def nothing_left_running():
    """No test may leave a thread behind."""
    before = set(threading.enumerate())
    yield
    end = time.monotonic() + 5
    while (left := set(threading.enumerate()) - before) and time.monotonic() < end:
        time.sleep(0.01)
    assert not left
