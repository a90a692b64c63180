"""The collector of garbage goes through little: what stays as long as the window is left out."""

import gc
import sys

import pytest

from gui.shell import pauses
from gui.shell.pauses import SWITCH_S, THRESHOLDS, ShortPauses


@pytest.fixture(autouse=True)
def collector():
    """The collector as it was, so that other tests' windows are collected."""
    before, interval = gc.get_threshold(), sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)
    gc.unfreeze()
    gc.set_threshold(*before)


def test_what_stays_is_out_of_the_collectors_sight(window, qtbot, monkeypatch):
    monkeypatch.setattr(pauses, "SETTLED_MS", 50)
    ShortPauses(window)
    assert gc.get_threshold() == THRESHOLDS
    assert sys.getswitchinterval() == pytest.approx(SWITCH_S)
    first = gc.get_freeze_count()
    assert first > 10 * len(gc.get_objects())
    with qtbot.waitSignal(window.recorder.recorded, timeout=20_000):
        window.recorder.configure("tiled", {"n": 8, "tile": 4})
    qtbot.waitUntil(lambda: gc.get_freeze_count() > first)
    frozen = gc.get_freeze_count()
    window.show_page("occupancy")
    qtbot.waitUntil(lambda: gc.get_freeze_count() > frozen)


def test_only_the_first_of_each_is_kept(window, qtbot, monkeypatch):
    monkeypatch.setattr(pauses, "SETTLED_MS", 0)
    calls = []
    monkeypatch.setattr(pauses.gc, "freeze", lambda: calls.append(1))
    ShortPauses(window)
    for _ in range(3):
        window.recorder.recorded.emit()
        window.show_page("compare")
        window.show_page("step")
    qtbot.wait(20)
    assert len(calls) == 3  # the window, the first trace, the one other page
