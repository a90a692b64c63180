"""Counters by array and by line, and what is said of them."""

from types import SimpleNamespace

from gui.scenes.counter_table import (
    CounterRow,
    counter_rows,
    counters_caption,
    efficiency,
    sections,
    total_rows,
)
from gui.scenes.session import Session
from gui.scenes.source_pane import source_caption
from tests.gui.fake_trace import fake_trace


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
