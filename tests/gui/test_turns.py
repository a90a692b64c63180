"""What is read takes turns while the clock plays: nobody starves, and a pause shows everything."""

import gc
import weakref
from itertools import pairwise
from math import ceil

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QImage
from shiboken6 import isValid

from gui.export import WINDOW, image_of
from gui.main_window import MainWindow
from gui.scenes.once import last_for_each, once_for_each
from gui.scenes.session import MAX_SPEED, Session
from gui.scenes.turns import LEAST_A_SECOND, Turns
from gui.theme import apply_theme
from gui.views.base import SessionView

RECORDING_MS = 20_000
FRAME, LONGEST = frozenset({"step"}), int(MAX_SPEED) // LEAST_A_SECOND  # frames between two turns


# ---- the queue


@pytest.mark.parametrize(("speed", "most"), [(60, 4), (30, 2), (20, 2), (15, 1), (4, 1)])
@pytest.mark.parametrize("members", [1, 3, 7, 10])
def test_each_has_its_turn_fifteen_times_a_second(speed, most, members):
    turns, done = Turns(lambda: float(speed)), {who: [0] for who in range(members)}
    for frame in range(1, 41):
        with turns.change(FRAME):
            for who in range(members):
                turns.offer(who, lambda who=who, frame=frame: done[who].append(frame))
    gaps = [after - before for frames in done.values() for before, after in pairwise(frames)]
    assert max(gaps) <= most
    assert min(len(frames) for frames in done.values()) > 40 // most - 1
    done_at_once = ceil(members * LEAST_A_SECOND / speed)
    assert turns.waiting == max(members - done_at_once, 0)


def test_only_the_newest_work_is_done_and_its_place_is_kept():
    turns, done = Turns(lambda: 60.0), []
    for frame in range(2):
        with turns.change(FRAME):
            for who in "abcdefgh":
                turns.offer(who, lambda who=who, frame=frame: done.append((who, frame)))
    assert done == [("a", 0), ("b", 0), ("c", 1), ("d", 1)]
    turns.finish()
    assert sorted(done[4:]) == [(who, 1) for who in "abefgh"]
    assert not turns.waiting


@pytest.mark.parametrize("names", [{"playing"}, {"step", "playing"}, {"thread"}, {"trace", "step"}])
def test_any_other_change_waits_for_nobody(names):
    turns, done = Turns(lambda: 60.0), []
    with turns.change(FRAME):
        for who in range(8):
            turns.offer(who, lambda who=who: done.append(who))
    with turns.change(frozenset(names)):
        turns.offer(7, lambda: done.append("now"))
        assert done[-1] == "now"
    assert set(done) == {*range(7), "now"}
    assert not turns.waiting


def test_play_that_ends_within_a_frame_leaves_nothing_waiting():
    pace, done = [60.0], []
    turns = Turns(lambda: pace[0])
    with turns.change(FRAME):
        for who in range(8):
            turns.offer(who, lambda who=who: done.append(who))
        pace[0] = 0.0
        with turns.change(frozenset({"playing"})):
            pass
    assert sorted(done) == list(range(8))
    assert not turns.waiting


@pytest.mark.parametrize("act", ["offer", "change"])
def test_a_work_may_do_what_still_waits_in_its_batch(act):
    turns, done = Turns(lambda: 60.0), []

    def first():
        done.append("a")
        if act == "offer":
            turns.offer("b", lambda: done.append("b, newer"))
        else:
            with turns.change(frozenset({"thread"})):
                pass

    with turns.change(FRAME):
        turns.offer("a", first)
        for who in "bcdefgh":
            turns.offer(who, lambda who=who: done.append(who))
    turns.finish()
    second = "b, newer" if act == "offer" else "b"
    assert done == ["a", second, *"cdefgh"]
    assert not turns.waiting


def test_pointing_does_not_hurry_play():
    turns, done = Turns(lambda: 60.0), []
    with turns.change(FRAME):
        for who in range(8):
            turns.offer(who, lambda who=who: done.append(who))
    with turns.change(frozenset({"hover"})):
        pass
    assert (done, turns.waiting) == ([0, 1], 6)


def test_a_step_while_the_clock_stands_is_shown_at_once():
    turns, done = Turns(lambda: 0.0), []
    with turns.change(FRAME):
        turns.offer("a", lambda: done.append("a"))
        assert done == ["a"]


def test_a_change_within_another_belongs_to_it():
    turns, done = Turns(lambda: 60.0), []
    with turns.change(FRAME):
        with turns.change(FRAME):
            turns.offer("b", lambda: done.append("b"))
        assert not done
        turns.offer("a", lambda: done.append("a"))
        with turns.change(frozenset({"trace"})):
            turns.offer("c", lambda: done.append("c"))
        assert done == ["c"]
    assert done[0] == "c"
    turns.finish()
    assert sorted(done) == ["a", "b", "c"]


def test_a_fault_in_a_work_leaves_the_others():
    turns, done = Turns(lambda: 60.0), []

    def fails():
        raise ZeroDivisionError

    def frame():
        with turns.change(FRAME):
            turns.offer("a", fails)
            turns.offer("b", lambda: done.append("b"))

    with pytest.raises(ZeroDivisionError):
        frame()
    turns.finish()
    assert done == ["b"]
    with turns.change(frozenset({"thread"})):  # not as if the frame went on
        turns.offer("c", lambda: done.append("c"))
        assert done == ["b", "c"]


def test_a_session_plays_in_frames(trace):
    session, done = Session(), []
    session.trace = trace
    session.changed.connect(lambda names: session.turns.offer("x", lambda: done.append(names)))
    session.turns.offer("y", lambda: None)
    session.update(speed=MAX_SPEED)
    session.seek()
    assert len(done) == 2  # at once while nothing plays
    session.playing = 1
    assert len(done) == 3
    session.play_on()
    assert len(done) == 4  # alone in the queue: its turn comes in every frame
    session.playing = 0
    assert not session.turns.waiting


# ---- the window


@pytest.fixture
def window(qtbot, qapp, ladder):
    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    window.resize(1440, 900)
    window.show()
    qtbot.waitExposed(window)
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure("tiled", {"n": 12, "tile": 4})
    yield window
    if isValid(window):
        window.close()
    qapp.processEvents()


def play(window, qapp, frames):
    """Some frames at full speed, each painted; the test is the clock."""
    session = window.session
    session.update(speed=MAX_SPEED, playing=1)
    window.transport.stop()
    for _ in range(frames):
        if session.playing:
            session.play_on()
        qapp.processEvents()


def views_of(window):
    return [view for view in window.findChildren(SessionView) if view.isVisible()]


def pictures(window):
    return {
        type(view).__name__: view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        for view in views_of(window)
    }


def is_exact(window, qapp):
    """Whether the window looks as if every view had only just been told everything."""
    shown = pictures(window)
    captions = [view.caption.text() for view in views_of(window) if hasattr(view, "caption")]
    for view in views_of(window):
        view.refresh(view.WATCHES)
    qapp.processEvents()
    again = [view.caption.text() for view in views_of(window) if hasattr(view, "caption")]
    return pictures(window) == shown and again == captions


@pytest.mark.parametrize("front", ["Source", "PTX", "Phases"])
def test_a_pause_shows_everything(window, qapp, qtbot, front):
    session = window.session
    session.view = front
    if front == "Phases":  # its arrival would change the picture, too
        qtbot.waitUntil(lambda: window.phases.table is not None)
    session.first()
    waited = 0
    for frames in (1, 2, 7, 13):
        play(window, qapp, frames)
        waited += session.turns.waiting
        session.playing = 0
        assert not session.turns.waiting
        qapp.processEvents()
        assert is_exact(window, qapp)
    assert waited > 8  # there was something to wait


def test_no_view_starves_while_the_clock_plays(window, qapp):
    session, seen = window.session, {}
    session.first()
    reading = [view for view in views_of(window) if view.READ]
    assert {type(view).__name__ for view in reading} >= {
        "SourceView", "VariablesView", "TransportBar"
    }  # fmt: skip
    for view in reading:
        frames = seen.setdefault(view, [0])
        refresh = view.refresh
        view.refresh = lambda names, refresh=refresh, frames=frames: (
            frames.append(len(painted)),
            refresh(names),
        )
    painted = []
    session.update(speed=MAX_SPEED, playing=1)
    window.transport.stop()
    for _ in range(24):
        painted.append(session.step)
        session.play_on()
        qapp.processEvents()
        assert window.matrices.scene is not None
    for frames in seen.values():
        assert max(after - before for before, after in pairwise([*frames, 25])) <= LONGEST
    session.playing = 0


def test_pictures_move_in_every_frame(window, qapp):
    session = window.session
    session.first()
    session.update(speed=MAX_SPEED, playing=1)
    window.transport.stop()
    for _ in range(8):
        before = window.matrices.grab().toImage()
        step = session.step
        session.play_on()
        qapp.processEvents()
        assert session.step != step
        assert window.transport.scrub.x_of(session.step) != window.transport.scrub.x_of(step)
        assert window.matrices.grab().toImage() != before


def test_the_end_of_play_and_a_breakpoint_show_everything(window, qapp):
    session = window.session
    session.first()
    play(window, qapp, session.n_steps)
    assert session.playing == 0  # it ran to the end
    assert session.step == session.n_steps - 1
    assert not session.turns.waiting
    assert is_exact(window, qapp)
    session.first()
    session.line = 26
    window.stopping.toggle_at_line()
    play(window, qapp, session.n_steps)
    assert 0 < session.step < session.n_steps - 1
    assert is_exact(window, qapp)


def test_a_picture_saved_while_the_clock_plays_is_exact(window, qapp, monkeypatch, tmp_path):
    session, jobs = window.session, []
    monkeypatch.setattr(window.exporter.writer, "submit", jobs.append)
    session.first()
    play(window, qapp, 9)
    assert session.turns.waiting
    window.exporter.save(WINDOW, tmp_path / "window.png")
    assert not session.turns.waiting
    for view in views_of(window):
        view.refresh(view.WATCHES)
    now = image_of(window).convertToFormat(QImage.Format.Format_RGB32)
    now.setDevicePixelRatio(1)
    saved = QImage(str(jobs[0](None, lambda: False)))
    assert saved.convertToFormat(QImage.Format.Format_RGB32) == now


def test_both_sides_of_a_comparison_take_turns_together(window, qapp, qtbot):
    window.show_page("compare")
    page = window.pages.made("compare")
    qtbot.waitUntil(lambda: page.comparing.b.trace is not None, timeout=RECORDING_MS)
    a, b = window.session, page.comparing.b
    assert a.turns is b.turns
    a.first()
    play(window, qapp, 6)
    assert a.turns.waiting
    a.playing = 0
    assert not a.turns.waiting
    qapp.processEvents()
    assert is_exact(window, qapp)


def test_a_window_closed_while_it_plays_leaves_nothing(window, qapp):
    window.session.first()
    window.session.update(speed=MAX_SPEED, playing=1)
    for _ in range(5):
        window.session.play_on()
    window.close()
    assert not window.session.turns.waiting
    assert not [timer for timer in window.findChildren(QTimer) if timer.isActive()]


# ---- what is kept with a record


class Record:
    """Something that is told apart by identity."""

    def __eq__(self, other):
        raise AssertionError

    __hash__ = None


def test_answers_are_worked_out_once_and_go_with_their_record():
    asked = []

    @once_for_each
    def size(record):
        asked.append(1)
        return 7

    @last_for_each
    def scene(record, step, warp=0):
        asked.append((step, warp))
        return [step, warp]

    one, other = Record(), Record()
    assert [size(one), size(one), size(other)] == [7, 7, 7]
    assert asked == [1, 1]
    assert scene(one, 3) is scene(one, 3)
    assert scene(other, 3) is not scene(one, 3)
    assert asked == [1, 1, (3, 0), (3, 0)]
    assert scene(one, 4) == [4, 0]
    assert scene(one, 3, warp=1) == [3, 1]
    assert len(asked) == 6
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None
