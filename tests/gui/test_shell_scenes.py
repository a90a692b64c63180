"""Timeline, source, variables, counters and text, without Qt."""

from types import SimpleNamespace

import numpy as np
import pytest

from core.ladder import load_ladder
from core.recording import record
from core.trace import EventKind
from gui.scenes.counters import (
    CounterRow,
    counter_rows,
    counters_caption,
    efficiency,
    sections,
    total_rows,
)
from gui.scenes.grids import grids_of
from gui.scenes.matrices import matrix_scene
from gui.scenes.phase_words import longest_name, part_name
from gui.scenes.session import Session
from gui.scenes.source import highlight, line_totals, source_caption
from gui.scenes.text import compact, join, plural, ratio, spaced, variable_text
from gui.scenes.timeline import Timeline, event_caption, phase_label, step_label
from gui.scenes.variables import builtin_rows, table_rows, variable_rows, variables_caption
from tests.gui.fake_trace import SOURCE, fake_trace


@pytest.fixture(scope="module")
def trace():
    return fake_trace(16, 8)


@pytest.fixture
def session(trace):
    session = Session()
    session.trace = trace
    return session


def test_timeline_has_every_phase_and_every_access(trace):
    block = trace.block(0)
    timeline = Timeline(block)
    assert [b.index for b in timeline.bands] == [0, 1]
    assert timeline.bands[0].last + 1 == timeline.bands[1].first
    loads, stores = timeline.steps("load"), timeline.steps("store")
    accesses = [s for s in range(block.n_steps) if block.access(s) is not None]
    assert sorted([*loads, *stores]) == accesses
    assert len(timeline.steps("barrier")) == 4


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
    assert step_label(session) == f"{session.step + 1} / {session.n_steps}"
    assert phase_label(session) == "phase 0 of 2"
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


def test_variables_of_a_thread_and_of_its_warp(session):
    session.update(step=40, thread=37)
    rows = {r.name: r for r in variable_rows(session, warp_table=True)}
    assert rows["row"].value == "4"
    assert rows["column"].value == "5"
    assert rows["column"].lanes == tuple(str(i % 8) for i in range(32))
    assert rows["k"].uniform
    assert not rows["column"].uniform


def test_changed_variables_are_named(session):
    session.step = 0
    while "row" not in {r.name for r in variable_rows(session)}:
        session.seek("line")
    assert [r.name for r in variable_rows(session) if r.changed] == ["row"]
    assert variables_caption(session, variable_rows(session)).endswith("row just changed.")


def test_builtins_are_cudas(session):
    session.update(block=2, thread=11)
    assert dict(builtin_rows(session)) == {
        "threadIdx": "(3, 1, 0)",
        "blockIdx": "(0, 1, 0)",
        "blockDim": "(8, 8, 1)",
        "gridDim": "(2, 2, 1)",
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (9999, "9999"), (10_000, "10.0k"), (123_456, "123k"), (2_500_000, "2.50M")],
)
def test_compact(value, text):
    assert compact(value) == text
    assert len(compact(value)) <= 5


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("(7,680 accesses like it.)", "(7\u202f680 accesses like it.)"),
        ("5 x 3,072 = 15,360 of 1,234,567", "5 × 3\u202f072 = 15\u202f360 of 1\u202f234\u202f567"),
        ("8,303.7 GFLOPS, then 1,024.", "8\u202f303.7 GFLOPS, then 1\u202f024."),
        *((same, same) for same in ("A[0,128] and A[0, 128]", "`64,128` is no size", "x=1,128")),
        *((same, same) for same in ("0.1,234", "blocks 12,3456", "/tmp/1,234.cu", "(0, 128)")),
    ],
)
def test_sentences_of_the_core_get_the_windows_spaces(said, shown):
    assert spaced(said) == shown


def test_small_words():
    assert plural(1, "sector") == "1 sector"
    assert plural(2112, "sector") == "2\u202f112 sectors"
    assert ratio(33, 4) == "×8.25"
    assert ratio(5, 0) == ""
    assert join(["A", "B", "C"]) == "A, B and C"
    assert variable_text(np.float32(1.5)) == "1.5"
    assert variable_text(3.0) == "3.0"
    assert variable_text(None) == "–"
    assert variable_text(float("nan")) == "nan"


@pytest.fixture(scope="module")
def ahead():
    """Launches that fill tiles in their first phase, and before it."""
    ladder = load_ladder()
    return {
        name: record(ladder[name].workload(k=24), blocks=[0], only_recorded=True)
        for name in ("double_buffered", "tuned")
    }


def test_what_only_fills_ahead_says_so(ahead):
    session = Session()
    session.trace = ahead["double_buffered"]
    block = session.block_trace
    names = [part_name(block, phase.first) for phase in block.phases]
    assert names == ["phase 0 of 4, fill ahead", *(f"phase {i} of 4" for i in (1, 2, 3))]
    assert part_name(block, 0) == "before the phases"
    assert [band.name for band in Timeline(block).bands][:2] == ["fill ahead", "phase 1"]
    assert len(longest_name(block)) >= max(len(part_name(block, s)) for s in range(block.n_steps))
    session.trace = ahead["tuned"]
    block = session.block_trace
    first = block.phases[0].first
    assert (part_name(block, first - 1), part_name(block, first)) == ("fill ahead", "phase 0 of 3")
    assert part_name(block, block.n_steps - 1) == "after the phases"
    timeline = Timeline(block)
    assert timeline.ahead == first
    assert [band.name for band in timeline.bands] == ["phase 0", "phase 1", "phase 2"]
    scene = matrix_scene(block, grids_of(session.trace), first - 1, 0)
    assert scene.caption.startswith("Block (0, 0), fill ahead: ")
    assert scene.marks[0].tiles, "what is filled ahead is framed"
    end = matrix_scene(block, grids_of(session.trace), block.n_steps - 1, 0)
    assert not end.marks[0].tiles


def test_a_local_array_has_a_row_for_each_element():
    """16 sums of a thread: rows of their own, after the others, of which one changes at a time."""
    session = Session()
    session.trace = record(load_ladder()["tile_2d"].workload())
    block = session.block_trace
    whole = {v.name: v.value for v in block.variables(block.n_steps // 2, 3)}["values"]
    session.update(step=block.n_steps // 2, thread=3)
    rows = {row.name: row for row in variable_rows(session, warp_table=True)}
    names = list(rows)
    assert "values" not in rows
    assert names.index("values[0][0]") > names.index("phase")
    for place, value in enumerate(whole):
        row = rows[f"values[{place // 4}][{place % 4}]"]
        assert (row.type, row.value, row.lanes[3]) == ("float", variable_text(value), row.value)
    added = 0
    for step in range(134, 180):  # the first products are added
        session.step = step
        rows = variable_rows(session)
        changed = [r.name for r in rows if r.changed and r.name.startswith("values[")]
        old, new = (
            {v.name: v.value for v in block.variables(at, 3)}["values"] for at in (step - 1, step)
        )
        places = [place for place in range(16) if old[place] != new[place]]
        assert changed == [f"values[{place // 4}][{place % 4}]" for place in places]
        added += len(changed)
    assert added >= 8


def test_rows_of_the_table_end_with_cudas_own_and_pointers(session):
    session.step = 8
    rows = table_rows(session, warp_table=True)
    names = [row.name for row in rows]
    given = [row.name for row in rows if row.given]
    assert given == ["threadIdx", "blockIdx", "blockDim", "gridDim"]
    first = names.index("threadIdx")
    assert all(row.pointer for row in rows[first + 4 :])
    assert not any(row.pointer for row in rows[:first])
    threads = rows[first]
    assert threads.lanes[:2] == ("(0, 0, 0)", "(1, 0, 0)")
    assert not threads.uniform
    assert rows[first + 1].uniform


def test_addresses_are_written_as_such():
    assert variable_text(1099511627776, "float (*)[8][36]") == "0x10000000000"
    assert variable_text(1099511627776, "const float *") == "0x10000000000"
