"""What is read takes turns while the clock plays: nobody starves, and the newest work is done."""

from itertools import pairwise
from math import ceil

import pytest

from gui.scenes.refresh_queue import LEAST_A_SECOND, Turns
from gui.scenes.session import Session
from gui.scenes.setting_choices import MAX_SPEED

RECORDING_MS = 20_000
FRAME, LONGEST = frozenset({"step"}), int(MAX_SPEED) // LEAST_A_SECOND  # frames between two turns


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


def test_changes_made_together_are_read_once_at_the_end():
    done = []
    turns = Turns(lambda: 0.0)
    with turns.together():
        for names in ({"trace", "step"}, {"thread"}):
            with turns.change(frozenset(names)):
                turns.offer("a", lambda names=names: done.append(names))
        assert not done
    assert done == [{"thread"}]
    assert not turns.waiting
    turns.offer("a", lambda: done.append("now"))
    assert done[-1] == "now"


def test_a_fault_leaves_nothing_together():
    done = []
    turns = Turns(lambda: 0.0)

    def fail():
        with turns.together():
            turns.offer("a", lambda: done.append("a"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert done == ["a"]
    turns.offer("b", lambda: done.append("b"))
    assert done == ["a", "b"]
