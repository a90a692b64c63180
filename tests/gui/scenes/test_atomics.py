"""Atomics count wherever loads and stores do: by array, by line, in sentences, on the terminal."""

import io
from dataclasses import replace

import numpy as np
import pytest

from core.cli.console import Terminal
from core.cli.trace import show_trace
from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.explain.explanations import explain_access
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.record_launch import record
from gui.scenes.counter_table import CounterRow, counter_rows, counters_caption
from gui.scenes.session import Session
from gui.scenes.source_pane import line_totals, source_caption
from gui.scenes.warp_lanes import warp_scene
from gui.scenes.why_this_number import explain, topic_of_line, topic_of_row

SOURCE = """
__global__ void histogram(const int *values, int *bins, int n)
{
    __shared__ int seen[2];
    if (threadIdx.x < 2) seen[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[values[i] * 9], 1);
    atomicAdd(&seen[threadIdx.x % 2], 1);
}
"""
GLOBAL, SHARED = 9, 10  # the lines that call atomicAdd


@pytest.fixture(scope="module")
def trace():
    values = np.random.default_rng(3).integers(0, 4, 100).astype(np.int32)
    arguments = (
        ArrayArgument("values", values, "input"),
        ArrayArgument("bins", np.zeros(40, np.int32), "inout"),
        ScalarArgument("n", np.int32(100)),
    )
    launch = Launch(Dim3(2), Dim3(64), arguments)
    return record(
        Workload("histogram", source=SOURCE, source_name="h.cu", kernel="histogram", launch=launch)
    )


@pytest.fixture
def session(trace):
    session = Session()
    session.trace = trace
    return session


def test_they_are_counted_for_the_line_that_calls_them(trace):
    by_line, totals = trace.counters.by_line, trace.counters.totals
    assert set(by_line) <= set(range(1, SOURCE.count("\n") + 1))
    # One of each of four warps; of the last four lanes have yielded in `if (i < n)`, and go alone.
    for line, space, requests in ((GLOBAL, "global", 4), (SHARED, "shared", 5)):
        name = f"{space}_atom_requests"
        assert by_line[line][name] == totals[name]
        assert totals[name].value == requests


def test_rows_and_sentences_have_them(trace, session):
    rows = {(r.place, r.access): r for r in counter_rows(trace, "array")}
    bins = rows["bins", "atomic"]
    assert (bins.space, bins.requests) == ("global", 4)
    assert bins.moved > bins.ideal
    assert rows["seen", "atomic"].unit == "wavefronts"
    moved = sum(r.moved for r in rows.values() if r.space == "global")
    assert f"{moved} global sectors where" in counters_caption(session)
    totals = line_totals(trace)
    values = rows["values", "load"]
    assert totals[GLOBAL]["sectors"].actual == bins.moved + values.moved
    assert "wavefronts" not in totals[GLOBAL]  # no request to shared memory stands in that line
    assert totals[SHARED]["wavefronts"].actual == rows["seen", "atomic"].moved
    steps = (s for s in range(session.n_steps) if int(session.block_trace.line[s]) == SHARED)
    session.step = next(steps)
    assert "shared wavefront" in source_caption(session)


def test_each_figure_has_its_explanation(trace, session):
    for row in counter_rows(trace, "line"):
        assert isinstance(row, CounterRow)
        assert f"{row.moved} {row.unit}" in explain(session, topic_of_row(row)).title
    assert topic_of_line(session, SHARED, "wavefronts").way == "atom"


def test_each_step_moves_what_the_launch_counts(trace):
    """Passes visit a sector again and again: the view of a step counts as the counters do."""
    moved = 0
    for block in map(trace.block, trace.recorded_blocks):
        for step in block.access_steps.tolist():
            access = block.access(step)
            if access.kind == "atomic" and access.space == "global":
                each = [access.warp(warp).n_sectors for warp in range(block.n_warps)]
                assert access.warp_sectors.tolist() == each
                assert [w.sectors for w in warp_scene(block, step, 0).warps] == each
                assert f"Sectors = {each[0]}" in explain_access(access, 0).text
                moved += sum(each)
    count = trace.counters.totals["global_atom_sectors"]
    assert moved == count.value > count.ideal


def test_the_terminal_lists_them(trace):
    console = Terminal(file=io.StringIO(), width=120)
    show_trace(trace, console)
    text = console.file.getvalue()
    assert any("bins" in line and " atomic " in line for line in text.splitlines())
    assert any("seen" in line and " atomic " in line for line in text.splitlines())


def test_the_caption_says_where_counts_are_of_the_ptx_alone(trace):
    for accesses, said in ((None, False), ({}, True)):
        build = compile_ptx(SOURCE, source_name="h.cu", kind="as_compiled")
        build = build if accesses is None else replace(build, accesses=accesses)
        session = Session()
        session.trace = record(trace.workload, kind="as_compiled", build=build)
        assert ("Counts are of the PTX" in counters_caption(session)) == said
    session.trace = trace
    assert "PTX" not in counters_caption(session)
