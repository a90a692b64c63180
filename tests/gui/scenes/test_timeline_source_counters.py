"""Timeline, source and counters, without Qt."""

from types import SimpleNamespace

import pytest

from core.ladder import load_ladder
from core.recording.record_launch import record
from core.trace import EventKind
from gui.scenes.counter_table import (
    CounterRow,
    counter_rows,
    counters_caption,
    efficiency,
    sections,
    total_rows,
)
from gui.scenes.grids import grids_of
from gui.scenes.matrices import matrix_scene
from gui.scenes.names_and_numbers import longest_name, part_name
from gui.scenes.session import Session
from gui.scenes.source_pane import highlight, line_totals, source_caption
from gui.scenes.transport_bar import Timeline, event_caption, phase_label, step_label, step_words
from tests.gui.fake_trace import SOURCE, fake_trace


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


def test_counters_by_array_and_by_line_sum_to_the_totals(trace):
    for grouping in ("array", "line"):
        rows = counter_rows(trace, grouping)
        for space in ("global", "shared"):
            assert efficiency(rows, space) == efficiency(total_rows(trace), space)
    assert [r.place for r in counter_rows(trace, "array")][:3] == ["A", "B", "C"]
    lines = [r.line for r in counter_rows(trace, "line")]
    assert lines == sorted(lines)


def test_counters_name_what_could_be_saved():
    row = CounterRow("A", "global", "load", 4, 128, 16, "sectors")
    assert row.excessive == 112
    assert row.times_ideal == "×8"
    assert row.tip == "A: 4 global load requests moved 128 sectors; 16 would do."
    assert sections((row,))[0] == "Global memory, 32-byte sectors"


def test_caption_of_the_counters(session):
    assert counters_caption(session) == (
        "The whole launch moved 160 global sectors, none of them wasted, and 288 shared "
        "wavefronts, none of them wasted."
    )
    assert "Nothing" in counters_caption(Session())


def test_counts_of_the_whole_launch_take_the_place_of_a_part(session, monkeypatch):
    part = session.trace
    monkeypatch.setattr(part, "complete", False)
    source = source_caption(session)
    assert counters_caption(session).startswith("The recorded blocks moved 160 global sectors")
    assert "in the recorded blocks:" in source
    whole = SimpleNamespace(workload=part.workload, counters=fake_trace(32).counters)
    session.counted = whole
    assert session.counts is whole
    assert counters_caption(session).startswith("The whole launch moved 1\u202f152 ")
    assert counter_rows(part, "array", whole) != counter_rows(part, "array")
    assert "over the launch:" in source_caption(session)


def test_counts_of_another_launch_are_not_taken(session):
    other = fake_trace(32)
    session.counted = SimpleNamespace(workload=other.workload, counters=other.counters)
    assert session.counted is None
    session.counted = SimpleNamespace(workload=session.trace.workload, counters=other.counters)
    assert session.counted is not None
    session.trace = other
    assert session.counted is None


def test_source_is_coloured_line_by_line():
    lines = highlight(SOURCE)
    assert len(lines) == SOURCE.count("\n") + 1
    assert [s.category for s in lines[0]] == ["comment"]
    for text, spans in zip(SOURCE.split("\n"), lines, strict=True):
        assert all(s.start >= 0 and s.start + s.length <= len(text) for s in spans)
    row = SOURCE.split("\n")[6]
    builtins = {row[s.start : s.start + s.length] for s in lines[6] if s.category == "builtin"}
    assert builtins >= {"blockIdx", "threadIdx"}


def test_line_totals_add_up(trace):
    totals = line_totals(trace)
    assert totals[12]["sectors"].text == "64/64"
    assert totals[17]["wavefronts"].actual == 256
    assert not totals[17]["wavefronts"].wasteful
    assert 14 not in totals


def test_source_caption_follows_the_line(session):
    assert source_caption(session) == (
        "Line 12, over the launch: 64 global sectors, none wasted; "
        "16 shared wavefronts, none wasted."
    )
    session.step = 0
    assert source_caption(session) == "Line 7 runs; it touches no memory."


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
