"""Phases, accesses and barriers on the axis of steps, and what is said of a step."""

import pytest

from core.ladder import all_kernels, load_ladder
from core.recording.record_launch import record
from core.trace import EventKind
from gui.scenes.arrays_as_grids import grids_of
from gui.scenes.matrices import matrix_scene
from gui.scenes.names_of_elements_and_threads import longest_name, part_name
from gui.scenes.session import Session
from gui.scenes.source_pane import source_caption
from gui.scenes.transport_bar import Timeline, event_caption, phase_label, step_label, step_words


def test_timeline_has_every_phase_and_every_access(trace):
    block = trace.block(0)
    timeline = Timeline(block)
    assert [b.index for b in timeline.bands] == [0, 1]
    assert timeline.bands[0].last + 1 == timeline.bands[1].first
    loads, stores = timeline.steps("load"), timeline.steps("store")
    accesses = [s for s in range(block.n_steps) if block.access(s) is not None]
    assert sorted([*loads, *stores]) == accesses
    assert len(timeline.steps("barrier")) == 4


def test_a_mark_of_the_axis_says_what_it_is(trace):
    block = trace.block(0)
    said = [step_words(block, step) for step in range(block.n_steps)]
    timeline = Timeline(block)
    for step, words in enumerate(said):
        assert words.startswith(f"step {step}, line {int(block.line[step])}")
    for mark in ("load", "store"):
        for step in timeline.steps(mark).tolist():
            access = block.access(step)
            lanes = int(access.active.sum())
            thing = f"{lanes} thread{'s' * (lanes != 1)} {mark}{'s' * (lanes == 1)} {access.target}"
            assert said[step].endswith(f": {thing}")
    assert all(said[step].endswith(": barrier") for step in timeline.steps("barrier").tolist())


@pytest.mark.parametrize("width", [1, 37, 1000])
def test_axis_and_steps_are_inverse(trace, width):
    timeline = Timeline(trace.block(0))
    for step in range(timeline.n_steps):
        assert timeline.step_at(timeline.position(step, width), width) == step
    assert timeline.step_at(-5, width) == 0
    assert timeline.step_at(width + 5, width) == timeline.n_steps - 1
    columns = timeline.columns(timeline.steps("load"), width)
    assert columns.min() >= 0
    assert columns.max() < width


def test_steps_of_a_line(trace):
    timeline = Timeline(trace.block(0))
    steps = timeline.line_steps(17)
    assert len(steps) == 2 * 8 * 3  # two phases, eight k; the line, and its two loads
    assert not len(timeline.line_steps(None))


def test_labels_say_where_the_clock_stands(session):
    assert step_label(session) == f"{session.step} / {session.n_steps - 1}"
    assert phase_label(session) == "phase 0 (of 0..1)"
    assert step_label(Session()) == "–"


def test_each_kind_of_event_has_a_sentence(session):
    session.thread = 11
    said = set()
    for step in range(session.n_steps):
        session.step = step
        said.add(event_caption(session))
    assert "All threads load A at line 12; thread 11 loads A[1, 3]." in said
    assert "All threads wait at the barrier of line 14." in said
    assert "All threads store C at line 20; thread 11 stores C[1, 3]." in said
    assert "All threads leave the kernel." in said


def test_a_barrier_and_the_end_are_said_to_be_that(session):
    block, grids = session.block_trace, grids_of(session.trace)
    said = {}
    for step in range(session.n_steps):
        session.step = step
        shown = matrix_scene(block, grids, step, 0).caption
        said[int(block.kind[step])] = source_caption(session), shown
    assert said[EventKind.BARRIER][0].startswith("Line 18 is a barrier: the threads wait there")
    ends = "after the phases: all its threads have left the kernel."
    assert said[EventKind.EXIT][0].startswith("The threads leave the kernel at line ")
    assert said[EventKind.EXIT][1].endswith(ends)


@pytest.fixture(scope="module")
def ahead():
    """Launches that fill tiles in their first phase, and before it."""
    ladder = load_ladder()
    return {
        name: record(ladder[name].workload(k=24), blocks=[0], only_recorded=True)
        for name in ("double_buffered", "tuned")
    }


@pytest.mark.slow
def test_what_only_fills_ahead_says_so(ahead):
    session = Session()
    session.trace = ahead["double_buffered"]
    block = session.block_trace
    names = [part_name(block, phase.first) for phase in block.phases]
    assert names == ["phase 0 (of 0..3), fill ahead", *(f"phase {i} (of 0..3)" for i in (1, 2, 3))]
    assert part_name(block, 0) == "before the phases"
    assert [band.name for band in Timeline(block).bands][:2] == ["fill ahead", "phase 1"]
    assert len(longest_name(block)) >= max(len(part_name(block, s)) for s in range(block.n_steps))
    session.trace = ahead["tuned"]
    block = session.block_trace
    first = block.phases[0].first
    assert (part_name(block, first - 1), part_name(block, first)) == (
        "fill ahead",
        "phase 0 (of 0..2)",
    )
    assert part_name(block, block.n_steps - 1) == "after the phases"
    timeline = Timeline(block)
    assert timeline.ahead == first
    assert [band.name for band in timeline.bands] == ["phase 0", "phase 1", "phase 2"]
    scene = matrix_scene(block, grids_of(session.trace), first - 1, 0)
    assert scene.caption.startswith("Block (0, 0), fill ahead: ")
    assert scene.marks[0].tiles, "what is filled ahead is framed"
    end = matrix_scene(block, grids_of(session.trace), block.n_steps - 1, 0)
    assert not end.marks[0].tiles


def test_where_a_launch_hangs_the_last_step_says_so():
    kernel = all_kernels()["row_times_matrix_bulk"]
    session = Session()
    session.trace = record(kernel.workload(m=24, rows=4, stages=2, extra=1024))
    lines = {found.line for found in session.trace.findings if found.kind == "hang"}
    assert len(lines) == 2
    said = f"The launch hangs here: threads never get past lines {min(lines)} and {max(lines)}. "
    session.last()
    assert event_caption(session).startswith(said)
    session.step -= 1
    assert "hangs" not in event_caption(session)
    session.last()
    session.veiled = frozenset({"findings"})
    assert "hangs" not in event_caption(session)
    session.veiled = frozenset()
    session.trace = record(kernel.workload(m=24, rows=4, stages=2))
    session.last()
    assert "hangs" not in event_caption(session)
