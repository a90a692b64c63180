"""A new trace is shown in several events and painted as one; what is done then finds it all."""

import threading
import weakref
from functools import partial

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtTest import QTest

from gui.background.still import is_still
from gui.scenes.refresh_queue import Turns

RECORDING_MS = 20_000
WORKS = "abc"


class Stage:
    """In place of the window."""

    def __init__(self):
        self.works, self.said = None, []

    def hold(self, works):
        self.works = works
        self.said.append("hold")

    def release(self):
        self.said.append("release")


@pytest.fixture
def stage():
    return Stage()


def begin(stage, done, works=None):
    """A new trace of which three views have something to show; gives the turns."""
    turns = Turns(lambda: 0.0)
    turns.stage = stage
    works = works or {who: lambda who=who: done.append(who) for who in WORKS}
    with turns.in_several_events(then=lambda: done.append("then")):
        with turns.change(frozenset({"trace", "step"})):
            for who, work in works.items():
                turns.offer(who, work)
        with turns.change(frozenset({"thread"})):  # which a listener makes of it
            turns.offer("b", works["b"])
        assert not done
    return turns


def test_each_work_is_an_event_of_its_own(stage):
    done = []
    turns = begin(stage, done)
    assert stage.said == ["hold"]
    for count in (1, 2, 3):
        next(stage.works)
        assert done == list(WORKS[:count])
    assert stage.said == ["hold"]
    assert next(stage.works, "the end") == "the end"
    assert stage.said == ["hold", "release"]
    assert done[-1] == "then"
    assert not turns.waiting


def test_pointing_and_asking_for_more_leave_it_and_anything_else_shows_all_at_once(stage):
    done = []
    turns = begin(stage, done)
    for quiet in ("hover", "configuration"):
        with turns.change(frozenset({quiet})):
            pass
    assert not done
    with turns.change(frozenset({"step"})):
        turns.offer("b", lambda: done.append("b, newer"))
    assert done == ["b, newer", "a", "c", "then"]
    assert stage.said == ["hold", "release"]
    turns.finish()
    assert done[3:] == ["then"]


def test_a_fault_leaves_the_others_and_the_window_paints_again(stage):
    done = []

    def fails():
        raise ZeroDivisionError

    turns = begin(stage, done, {"a": fails, "b": lambda: done.append("b")})
    with pytest.raises(ZeroDivisionError):
        next(stage.works)
    list(stage.works)
    assert done == ["b", "then"]
    assert stage.said == ["hold", "release"]
    assert not turns.waiting


def test_without_a_window_everything_is_there_at_once():
    done = []
    turns = Turns(lambda: 0.0)
    with turns.in_several_events(then=lambda: done.append("then")):
        with turns.change(frozenset({"trace"})):
            turns.offer("a", lambda: done.append("a"))
        assert done == ["a"]
    assert done == ["a", "then"]


# ---- the window


class Paints(QObject):
    """Counts what is painted anywhere."""

    def __init__(self, app):
        super().__init__(app)
        self.count = 0
        app.installEventFilter(self)

    def eventFilter(self, watched, event):
        self.count += event.type() == QEvent.Type.Paint
        return False


@pytest.fixture
def arriving(window, qtbot, monkeypatch):
    """A window in which a launch has just replaced another: the session has it, not all views.

    The later events are left out; whoever wants them starts `window.arriving.later`.
    """
    window.step_page.front("Source")
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure("uncoalesced", {"n": 8})
    works, pieces = [], window.arriving._pieces
    with monkeypatch.context() as held, qtbot.waitSignal(window.recorder.arrived):
        held.setattr(pieces, "start", works.append)
        window.recorder.configure("tiled", {"n": 12, "tile": 4})
    window.arriving.later = partial(pieces.start, works[0])
    return window


def shows(window):
    """Whether the texts are those of the session's trace."""
    source = window.session.trace.workload.source
    return window.source.edit.toPlainText() == source


def test_nothing_is_painted_before_everything_is_there(arriving, qtbot, qapp):
    paints, painted = Paints(qapp), []
    assert not shows(arriving)
    arriving.recorder.recorded.connect(lambda: painted.append((shows(arriving), paints.count)))
    arriving.matrices.update()
    qapp.processEvents()  # Qt asks the window to paint, in vain
    arriving.arriving.later()
    qtbot.waitUntil(lambda: bool(painted))
    assert painted == [(True, 0)]
    qtbot.waitUntil(lambda: paints.count > 5)
    qapp.removeEventFilter(paints)


def test_a_key_finds_everything_up_to_date(arriving):
    before = arriving.session.step
    QTest.keyClick(arriving, Qt.Key.Key_Right)
    assert shows(arriving)
    assert arriving.session.step > before
    assert not is_still(arriving)
    assert not arriving.session.turns.waiting


def test_a_window_closed_meanwhile_has_nothing_left_to_do(arriving):
    arriving.closing.emit()
    assert not arriving.session.turns.waiting
    assert not is_still(arriving)
    assert not arriving.arriving._pieces.busy


def test_launches_that_overtake_each_other_are_all_shown_to_the_end(window, qtbot):
    seen = []
    window.recorder.recorded.connect(lambda: seen.append(window.session.trace.workload.parameters))
    for n in (8, 12, 16):
        with qtbot.waitSignal(window.recorder.arrived, timeout=RECORDING_MS):
            window.recorder.configure("tiled", {"n": n, "tile": 4})
    qtbot.waitUntil(lambda: len(seen) == 3, timeout=RECORDING_MS)
    assert seen[-1]["n"] == 16
    assert not is_still(window)
    assert shows(window)


def test_the_trace_before_is_let_go_by_another_thread(window, qtbot):
    freed = []
    for n in (8, 12):
        with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
            window.recorder.configure("tiled", {"n": n, "tile": 4})
        weakref.finalize(window.session.trace, lambda: freed.append(threading.current_thread()))
    qtbot.waitUntil(lambda: bool(freed))
    assert freed[0] is not threading.main_thread()
