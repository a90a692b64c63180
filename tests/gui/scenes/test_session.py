"""The shared session: clamping, one signal for each change, and what survives a new trace."""

import pytest

from gui.scenes.configuration import Configuration
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from tests.gui.fake_trace import fake_trace


def heard(session, *names):
    log = []
    session.changed.connect(
        lambda changed: log.extend(
            (name, getattr(session, name)) for name in names if name in changed
        )
    )
    return log


def test_a_new_trace_starts_at_the_first_access(session, trace):
    first = trace.block(0)
    assert session.block_trace is first
    assert session.step == first.seek(0, "access", forward=True)
    assert first.access(session.step).array.name == "A"
    assert (session.block, session.thread, session.line, session.element) == (0, 0, None, None)


def test_an_empty_session_answers_everything():
    session = Session()
    assert session.trace is None
    assert session.block_trace is None
    assert (session.n_steps, session.step, session.phase) == (0, 0, -1)
    assert session.current_line is None
    assert not session.seek()
    session.last()
    assert session.step == 0


def test_setters_clamp_and_emit_only_changes(session):
    log = heard(session, "step", "thread", "line")
    session.step = 10**9
    session.step = 10**9
    session.thread = -4
    session.line = 12
    session.line = 12
    assert log == [("step", session.n_steps - 1), ("line", 12)]


def test_seek_moves_by_unit_and_says_when_it_cannot(session):
    session.first()
    assert session.seek("phase")
    assert session.phase == 0
    assert session.seek("phase")
    assert session.phase == 1
    assert session.seek("phase", forward=False)
    assert session.phase == 0
    session.last()
    assert not session.seek("line")


@pytest.mark.parametrize("unit", ["access", "line", "barrier", "phase"])
def test_going_back_returns_to_where_going_forward_came_from(session, unit):
    session.first()
    path = []
    while session.seek(unit):
        path.append(session.step)
    back = [session.step]
    while session.seek(unit, forward=False):
        back.append(session.step)
    assert path == sorted(set(path))
    assert [s for s in reversed(back) if s in path] == path


def test_the_warp_keeps_the_lane_and_the_last_warp_is_the_last(session):
    session.thread = 5
    session.warp = 1
    assert (session.thread, session.warp, session.lane) == (37, 1, 5)
    session.warp = 99
    assert session.warp == 1
    session.lane = 31
    assert session.thread == 63


def test_one_action_is_one_change(session):
    batches = []
    session.changed.connect(batches.append)
    session.update(block=2, step=30, thread=9)
    assert batches == [frozenset({"block", "step", "thread"})]
    assert (session.block, session.step, session.thread) == (2, 30, 9)
    with pytest.raises(AttributeError, match="colour"):
        session.update(colour=1)


def test_listeners_see_the_whole_change(session):
    seen = []
    session.block_changed.connect(lambda block: seen.append((block, session.step)))
    session.update(block=1, step=44)
    assert seen == [(1, 44)]


def test_the_same_rung_keeps_block_thread_and_step(session):
    session.update(block=3, thread=60, step=80)
    phase = session.phase
    session.trace = fake_trace(8, 4)  # 4 blocks of 16 threads, fewer steps
    assert session.block == 3
    assert session.thread == 15
    assert session.phase == phase == 1
    assert session.parameters == {"n": 8, "tile": 4}


def test_an_element_that_does_not_exist_is_none(session):
    session.element = ("A", (1, 2))
    for wrong in (("A", (99, 0)), ("A", (3,)), ("A", (-1, 0)), ("Z", (0, 0)), ("A", ())):
        session.element = wrong
        assert session.element is None


def test_an_element_that_no_longer_exists_is_let_go(session):
    session.element = ("A", (15, 15))
    session.trace = fake_trace(8, 4)
    assert session.element is None


def test_a_block_that_was_not_recorded_is_asked_for(session, trace, monkeypatch):
    wanted = []
    session.block_wanted.connect(wanted.append)
    monkeypatch.setattr(trace, "recorded_blocks", (0, 2))
    session.block = 1
    assert wanted == [1]
    assert session.block == 0
    session.block = 2
    assert session.block == 2
    session.block = 99
    assert wanted == [1, 3]


def test_a_refused_change_asks_for_no_block_later(session, trace, monkeypatch):
    monkeypatch.setattr(trace, "recorded_blocks", (0, 3))
    asked = []
    session.block_wanted.connect(asked.append)
    with pytest.raises(ValueError, match="expected one of"):
        session.update(block=2, unit="year")
    session.step = 3
    assert asked == []


def test_unit_speed_and_play_are_part_of_the_session(session):
    session.unit = "line"
    with pytest.raises(ValueError, match="access, line"):
        session.unit = "hour"
    session.speed = 1e9
    assert session.speed == 60.0
    session.playing = -7
    assert session.playing == -1


def test_hover_and_configuration_are_values(session):
    log = heard(session, "hover", "configuration")
    session.hover = Hover(thread=3)
    session.hover = Hover(thread=3)
    session.configuration = Configuration("tiled", {"n": 8})
    session.configuration = Configuration("tiled", {"n": 8})
    assert [name for name, _ in log] == ["hover", "configuration"]
