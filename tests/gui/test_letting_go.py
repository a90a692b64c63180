"""Records are large: none is kept for anything but being shown."""

import gc
import weakref

import pytest

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.scenes.selection import Breakpoint
from gui.scenes.session import Session
from gui.views.phase_table_view import PhaseView


@pytest.fixture
def session():
    session = Session()
    session.trace = recorded(8)
    return session


def recorded(n):
    return record(load_ladder()["tiled"].workload(n=n, tile=4))


def test_breakpoints_do_not_keep_a_block(session):
    session.breakpoints = frozenset({Breakpoint(line=session.current_line)})
    assert len(session.break_steps)
    session.breakpoints = frozenset()
    before = weakref.ref(session.block_trace)
    session.trace = recorded(4)
    gc.collect()
    assert before() is None


def test_steps_of_breakpoints_are_those_of_the_block_that_is_shown(session):
    session.breakpoints = frozenset({Breakpoint(element=("C", (0, 0)))})
    assert len(session.break_steps)
    session.block = 1
    assert not len(session.break_steps)
    session.block = 0
    assert len(session.break_steps)


def test_a_hidden_phase_table_does_not_keep_its_block(session, qtbot):
    view = PhaseView(session)
    qtbot.addWidget(view)
    view.show()
    qtbot.waitUntil(lambda: view.table is not None)
    view.hide()
    before = weakref.ref(session.block_trace)
    session.trace = recorded(4)
    gc.collect()
    assert before() is None
    view.show()
    qtbot.waitUntil(lambda: view.table is not None and len(view.table.rows) == 16)
    view.shut_down()
