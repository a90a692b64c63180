"""Phases are the iterations of the main loop; what only fills ahead is told from it."""

from itertools import pairwise

import numpy as np
import pytest

from core.ladder import load_ladder
from core.ptx.loops import Loop
from core.recording.record_launch import record
from core.trace import EventKind
from core.trace.phases import FilledAhead, filled_ahead, main_loops, phase_of
from tests.core.emulator.machines import trace_of

LADDER = load_ladder()
NONE = np.empty(0, np.int64)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "sizes", "count", "ahead"),
    [
        ("tiled", {"n": 12, "tile": 4}, 3, FilledAhead()),
        ("tile_1d", {"k": 20}, 3, FilledAhead()),
        ("double_buffered", {"k": 24}, 4, FilledAhead(phases=1)),
        ("tensor_core", {"k": 64}, 3, FilledAhead(phases=1)),
        ("tuned", {"k": 24}, 3, FilledAhead(before=True)),
        ("tensor_tuned", {"k": 4}, 1, FilledAhead(before=True)),
        ("vector_add", {}, 0, FilledAhead()),
    ],
)
def test_phases_of_the_ladder(rung, sizes, count, ahead):
    """As many as the source's variable `phases`, whatever its loops before and after them do."""
    block = record(LADDER[rung].workload(**sizes), blocks=[0], only_recorded=True).block(0)
    assert len(block.phases) == count
    assert [p.index for p in block.phases] == list(range(count))
    assert block.filling == ahead


@pytest.mark.parametrize("rung", ["tiled", "broken_fill_barrier"])
def test_warps_one_after_another_share_the_phases_that_a_barrier_holds_together(rung):
    workload = LADDER[rung].workload(n=24, tile=8)
    blocks = [
        record(workload, blocks=[0], only_recorded=True, order=order).block(0)
        for order in ("lockstep", "warp_by_warp")
    ]
    assert [len(block.phases) for block in blocks] == [3, 3]
    for block in blocks:
        assert all(a.last < b.first for a, b in pairwise(block.phases))
        loads = block.kind == EventKind.LOAD
        assert len(set(np.bincount(block.phase[loads & (block.phase >= 0)]).tolist())) == 1


def test_without_a_barrier_a_phase_is_one_stretch_of_time():
    workload = LADDER["coalesced"].workload(n=8, block_x=8, block_y=8)
    block = record(workload, blocks=[0], only_recorded=True, order="warp_by_warp").block(0)
    assert len(block.phases) == 2 * 8, "each of two warps goes through the sum by itself"
    assert all(a.last < b.first for a, b in pairwise(block.phases))


def test_a_producers_loop_beside_the_main_loop_is_none():
    pcs = np.array([0, 1, 10, 11, 12, 0, 1, 10, 11, 12, 0, 1, 10, 11, 12])
    loops, reads = (loop(0, 2), loop(10, 13)), np.array([3, 8, 13])
    of_all = phase_of(pcs, loops, reads)
    assert of_all.max() == 5
    producer = np.array([True, False])
    found = phase_of(pcs, loops, reads, lambda place: producer if pcs[place] < 10 else ~producer)
    assert found[pcs < 10].tolist() == [-1] * 6
    assert found[pcs == 11].tolist() == [0, 1, 2]
    both = np.array([True, True])
    after = phase_of(pcs, loops, reads, lambda place: producer if pcs[place] < 10 else both)
    assert after.max() == 5


def loop(first, end):
    return Loop(first, end, None)


def run(*parts):
    """What is executed: (first, end, times) of straight pieces that are repeated."""
    return np.concatenate([np.tile(np.arange(a, b), n) for a, b, n in parts]).astype(np.int64)


def test_loops_of_about_the_same_weight_are_numbered_through():
    pcs = run((0, 2, 1), (2, 8, 4), (8, 10, 1), (10, 14, 3), (14, 15, 1))
    loops = loop(2, 8), loop(10, 14)
    reads = np.flatnonzero((pcs == 3) | (pcs == 11))
    assert main_loops(pcs, loops, reads) == loops
    phases = phase_of(pcs, loops, reads)
    assert phases.max() == 6
    assert (phases == -1).sum() == 5


def test_short_loops_and_those_that_only_write_are_none():
    pcs = run((0, 2, 2), (2, 8, 10), (8, 11, 8))
    loops = loop(0, 2), loop(2, 8), loop(8, 11)
    everywhere = np.arange(len(pcs))
    assert main_loops(pcs, loops, everywhere) == loops[1:]
    assert main_loops(pcs, loops, np.flatnonzero(pcs < 8)) == loops[1:2]
    assert main_loops(pcs, loops, NONE) == loops[1:2], "the longest is always one"
    assert main_loops(pcs, (), everywhere) == ()
    assert (phase_of(pcs, (), everywhere) == -1).all()


def test_filling_needs_a_later_use():
    from core.trace.phases import Phase

    phases = Phase(0, 5, 9), Phase(1, 10, 19), Phase(2, 20, 29)
    at = np.array
    assert filled_ahead(phases, at([6]), at([7, 11, 21]), at([22])) == FilledAhead(2)
    assert filled_ahead(phases, at([6]), at([7]), at([12])) == FilledAhead(1)
    assert filled_ahead(phases, at([6]), at([7]), at([9])) == FilledAhead()
    assert filled_ahead(phases, at([1]), at([2, 7]), at([8])) == FilledAhead(before=True)
    assert filled_ahead(phases, NONE, at([2, 7]), at([8])) == FilledAhead(), "zeros are no tile"
    assert filled_ahead(phases, at([1]), at([2]), NONE) == FilledAhead()
    assert filled_ahead((), at([1]), at([2]), at([3])) == FilledAhead()


@pytest.mark.slow
def test_a_function_of_a_header_takes_no_step_of_its_own():
    """`min` is a function of CUDA's headers: its instructions belong to the line that calls it."""
    block = record(LADDER["tuned"].workload(k=24), blocks=[0], only_recorded=True).block(0)
    kinds, lines = block.kind, block.line
    repeated = [
        step
        for step in range(1, block.phases[0].first)
        if kinds[step] == kinds[step - 1] == EventKind.LINE and lines[step] == lines[step - 1]
    ]
    assert not repeated
    assert all(block.variables(step, 0) for step in range(5, block.phases[0].first))


def test_a_function_called_in_a_loop_belongs_to_the_phase():
    block = record(LADDER["tuned"].workload(k=24), blocks=[0], only_recorded=True).block(0)
    first, last = block.phases[0].first, block.phases[-1].last
    assert (block.phase[first : last + 1] >= 0).all()
    fetches = [
        s for s in block.access_steps if first < s and block.access(int(s)).array.name == "A"
    ]
    assert {int(block.phase[s]) for s in fetches} == {0}, "two of three tiles are filled ahead"


LOOPS = {
    "for": ("for (int i = 0; i < n; i++)\n        v += in[i];", 5),
    "while": ("int i = 0;\n    while (i < n) {\n        v += in[i];\n        i++;\n    }", 5),
    "do-while": (
        "int i = 0;\n    do {\n        v += in[i];\n        i++;\n    } while (i < n);", 5
    ),
    "two loops in a row": (
        "for (int i = 0; i < n; i++)\n        v += in[i];\n    for (int i = 0; i < 2; i++)\n"
        "        v *= in[i];",
        7,
    ),
    "nested": (
        "for (int i = 0; i < n; i++)\n        for (int j = 0; j < i; j++)\n            v += in[j];",
        5,
    ),
    "no loop": ("v = in[n];", 0),
    "a loop with no turn": ("for (int i = n; i < n; i++)\n        v += in[i];", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_phases_of_loops(name):
    statements, count = LOOPS[name]
    source = f"""
extern "C" __global__ void k(float* out, const float* in, int n)
{{
    float v = 0;
    {statements}
    out[threadIdx.x] = v;
}}
"""
    arguments = {"out": np.zeros(32, np.float32), "in": np.ones(9, np.float32), "n": np.int32(5)}
    block = trace_of(source, arguments).block(0)
    phases = block.phases
    assert [p.index for p in phases] == list(range(count))
    for phase in phases:
        assert (block.phase[phase.first : phase.last + 1] == phase.index).all()
    for a, b in pairwise(phases):
        assert a.last < b.first
    assert block.phase[0] == -1
    assert block.phase[-1] == -1
    for step in block.access_steps:
        access = block.access(int(step))
        inside = access.array.name == "in" and count > 0
        assert (block.phase[step] >= 0) == inside


def test_every_phase_of_the_tiled_product_has_its_loads_and_barriers():
    block = record(LADDER["tiled"].workload(n=12, tile=4), blocks=[8]).block(8)
    assert len(block.phases) == 3
    for phase in block.phases:
        kinds = block.kind[phase.first : phase.last + 1]
        assert (kinds == EventKind.BARRIER).sum() == 2
        assert (kinds == EventKind.LOAD).sum() == 2 + 2 * 4
