"""Whole launches: counts equal the hardware's, results equal float64 NumPy."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.cancelling import cancelled_by
from core.emulator.budget import Limits
from core.errors import (
    BudgetExceeded,
    Cancelled,
    LaunchError,
    ParameterError,
    TilescopeError,
)
from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from core.trace import Trace
from tests.core.emulator.machines import line_of, trace_of

REFERENCE = json.loads((Path(__file__).parents[2] / "data" / "nsight_h200.json").read_text())
ROWS = [r for r in REFERENCE["counters"] if r["N"] == 128 and r["build"] == "as_written"]
RUNGS = {
    "naive": ("coalesced", ("n", "tile")),
    "uncoalesced": ("uncoalesced", ("n", "tile")),
    "tiled": ("tiled", ("n", "tile")),
    "aat_strided": ("aat_strided", ("n", "tile")),
    "aat_shared": ("aat_padded", ("n", "tile", "pad")),  # pad 0 included
}
LADDER = load_ladder()


def test_all_rows_are_here() -> None:
    assert len(ROWS) == 12


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['kernel']}-{r['tile_width']}-{r['pad']}")
def test_counts_equal_the_hardware(row) -> None:
    name, parameters = RUNGS[row["kernel"]]
    given_as = {"n": row["N"], "tile": row["tile_width"], "pad": row["pad"]}
    trace = record(LADDER[name].workload(**{p: given_as[p] for p in parameters}))
    counted = {metric: trace.counters.totals[metric].value for metric in REFERENCE["metrics"]}
    assert counted == {metric: row[metric] for metric in REFERENCE["metrics"]}
    check_results(trace)


@pytest.mark.parametrize("tile", [16, 32])
def test_aat_shared_counts_as_the_padded_rung_without_padding(tile) -> None:
    row = next(r for r in ROWS if (r["kernel"], r["tile_width"], r["pad"]) ==
               ("aat_shared", tile, 0))  # fmt: skip
    trace = record(LADDER["aat_shared"].workload(n=128, tile=tile))
    for metric in REFERENCE["metrics"]:
        assert trace.counters.totals[metric].value == row[metric], metric


def check_results(trace: Trace) -> None:
    """Every output against float64, within the rounding of a float32 sum of K products.

    |error| <= gamma_K * sum |a||b| (Higham); the inputs lie in [-1, 1), and K + 1 roundings bound
    it from above.
    """
    workload = trace.workload
    assert workload.expected is not None
    k = max(workload.parameters.get("k", 0), workload.parameters["n"])
    tolerance = (k + 1) * np.finfo(np.float32).eps / 2 * k
    expected = workload.expected()
    assert expected
    for name, truth in expected.items():
        got = trace.outputs[name]
        assert got.shape == truth.shape
        error = np.abs(got.astype(np.float64) - truth)
        assert (error <= tolerance).all(), (name, error.max(), tolerance)
    for argument in workload.launch.arguments:
        if isinstance(argument, ArrayArgument) and argument.role == "input":
            np.testing.assert_array_equal(trace.outputs[argument.name], argument.data)


def sized(name: str, n: int) -> dict[str, int]:
    """Parameters of a rung for N = n, with a tile that divides N where the rung wants that."""
    wanted = {p.name for p in LADDER[name].parameters}
    divides = next(t for t in (8, 5, 4, 3, 2, 1) if n % t == 0)
    any_n = name in ("tiled_bounds", "tiled_rect")
    sizes = {"n": n, "tile": 4 if any_n else divides, "m": n + 3, "k": 2 * n - 1, "pad": 1}
    sizes |= {"block_x": 8, "block_y": 3}
    return {p: v for p, v in sizes.items() if p in wanted}


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 8, 13, 33])
@pytest.mark.parametrize("name", [n for n in LADDER.names if 10 <= LADDER[n].number < 30])
def test_results_of_every_rung(name, n) -> None:
    trace = record(LADDER[name].workload(seed=n, **sized(name, n)))
    check_results(trace)
    assert trace.findings == ()
    assert trace.complete


@pytest.mark.parametrize("name", [n for n in LADDER.names if LADDER[n].group == "broken"])
def test_broken_rungs_have_the_faults_they_teach(name) -> None:
    trace = record(LADDER[name].workload())
    assert {f.kind for f in trace.findings} == set(LADDER[name].faults)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(m=st.integers(1, 17), k=st.integers(1, 17), n=st.integers(1, 17), tile=st.integers(1, 6))
def test_rectangles_of_any_shape(m, k, n, tile) -> None:
    trace = record(LADDER["tiled_rect"].workload(seed=m * 400 + k, m=m, k=k, n=n, tile=tile))
    check_results(trace)
    assert trace.findings == ()


@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(
    name=st.sampled_from(["uncoalesced", "coalesced", "aat_strided"]),
    n=st.integers(1, 20), block_x=st.integers(1, 33), block_y=st.integers(1, 7),
)  # fmt: skip
def test_blocks_of_any_shape(name, n, block_x, block_y) -> None:
    check_results(record(LADDER[name].workload(n=n, block_x=block_x, block_y=block_y)))


# -- record's own options ---------------------------------------------------------------------

LOOP = """
extern "C" __global__ void k(int* out, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++)
        value += i;
    out[blockIdx.x * blockDim.x + threadIdx.x] = value + blockIdx.x;
}
"""


def loop(n: int, grid: int = 3, **options) -> Trace:
    arguments = {"out": np.full(grid * 32, -7, np.int32), "n": np.int32(n)}
    return trace_of(LOOP, arguments, grid=grid, **options)


def test_only_the_recorded_blocks_run() -> None:
    trace = loop(5, blocks=[2, 0], only_recorded=True)
    out = trace.outputs["out"].reshape(3, 32)
    assert (out[0] == 10).all()
    assert (out[1] == -7).all()
    assert (out[2] == 12).all()
    assert not trace.complete
    assert "2 of the 3" in trace.note
    assert trace.recorded_blocks == (0, 2)
    assert trace.counters.totals["global_st_requests"].value == 2


def test_all_blocks_run_and_count_whichever_are_recorded() -> None:
    some, every = loop(5, blocks=[1]), loop(5, blocks="all")
    assert some.recorded_blocks == (1,)
    assert every.recorded_blocks == (0, 1, 2)
    assert some.counters == every.counters
    np.testing.assert_array_equal(some.outputs["out"], every.outputs["out"])
    with pytest.raises(TilescopeError, match="Block 0 was not recorded; recorded are 1"):
        some.block(0)


def test_a_small_budget_of_memory_still_records_a_block() -> None:
    trace = loop(5, record_bytes=1)
    assert trace.recorded_blocks == (0,)
    assert trace.complete
    assert "1 were recorded" in trace.note


@pytest.mark.parametrize("blocks", [[3], [-1], []])
def test_blocks_that_are_not_there(blocks) -> None:
    with pytest.raises(ParameterError, match="from 0 to 2"):
        loop(5, blocks=blocks)


def test_outputs_are_read_only_and_arguments_untouched() -> None:
    before = np.full(96, -7, np.int32)
    trace = trace_of(LOOP, {"out": before, "n": np.int32(2)}, grid=3)
    assert (before == -7).all()
    with pytest.raises(ValueError, match="read-only"):
        trace.outputs["out"][0] = 1


def test_progress_rises_to_one() -> None:
    seen: list[float] = []
    loop(3, grid=300, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 1


def test_cancelled_before_and_during() -> None:
    with cancelled_by(lambda: True), pytest.raises(Cancelled):
        loop(5)
    begun = time.thread_time()
    with (
        cancelled_by(lambda: time.thread_time() - begun > 0.5),
        pytest.raises(Cancelled),
    ):
        loop(2_000_000_000)


def test_an_endless_loop_meets_the_budget() -> None:
    from core.emulator.machine import Limits

    with pytest.raises(BudgetExceeded, match="20,000 instructions"):
        loop(2_000_000_000, limits=Limits(20_000))


def test_the_same_launch_gives_the_same_trace() -> None:
    a, b = loop(6), loop(6)
    assert a.counters == b.counters
    assert a.instructions_issued == b.instructions_issued
    np.testing.assert_array_equal(a.block(1).kind, b.block(1).kind)


@pytest.mark.parametrize(
    ("grid", "block", "words"), [(1, 1025, "from 1 to 1024"), (0, 32, "Grid size x is 0")]
)
def test_launches_that_cuda_refuses(grid, block, words) -> None:
    with pytest.raises(LaunchError, match=words):
        trace_of(LOOP, {"out": np.zeros(1, np.int32), "n": np.int32(1)}, grid=grid, block=block)


def test_wrong_number_or_size_of_arguments() -> None:
    with pytest.raises(LaunchError, match="takes 2 arguments; 1 were given"):
        trace_of(LOOP, {"out": np.zeros(1, np.int32)})
    with pytest.raises(LaunchError, match="Argument n has 8 bytes"):
        trace_of(LOOP, {"out": np.zeros(1, np.int32), "n": np.int64(1)})


def test_a_trap_ends_its_thread_and_is_reported() -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    if (threadIdx.x == 3) __trap();
    out[threadIdx.x] = 1;
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.int32)})
    (finding,) = trace.findings
    assert (finding.kind, finding.thread) == ("trap", 3)
    assert trace.outputs["out"].tolist() == [int(t != 3) for t in range(32)]


def test_a_trap_is_at_the_line_that_calls_it() -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    if (threadIdx.x == 3) __trap();
    out[threadIdx.x] = 1;
}
"""
    (finding,) = trace_of(source, {"out": np.zeros(32, np.int32)}).findings
    assert finding.line == line_of(source, "__trap")


UNEVEN = """__global__ void uneven(int* a, const int* turns)
{
    for (int k = 0; k < turns[blockIdx.x]; k++)
        a[threadIdx.x + (k == 7 ? 900 : 32 * blockIdx.x)] += k;
}
"""


def uneven(turns, **options):
    """A launch of one block for each number of turns; the eighth turn goes out of bounds."""
    blocks = len(turns)
    arguments = (
        ArrayArgument("a", np.zeros(32 * blocks, np.int32), "inout"),
        ArrayArgument("turns", np.array(turns, np.int32)),
    )
    launch = Launch(Dim3(blocks), Dim3(32), arguments)
    return record(Workload("uneven", UNEVEN, "u.cu", "uneven", launch), **options)


def test_when_the_time_is_over_the_blocks_that_ran_are_all_that_counts():
    first = uneven([5, 5, 5, 5], seconds=0.0)
    assert not first.complete
    assert not first.cut
    assert first.note.startswith("The first block of 4 ran in ")
    assert first.recorded_blocks == (0,)
    assert first.counters.totals["global_st_requests"].value == 5
    assert first.outputs["a"].tolist() == [10] * 32 + [0] * 96
    whole = uneven([5, 5, 5, 5], seconds=1e6)
    assert whole.complete
    assert whole.counters.totals["global_st_requests"].value == 20


def test_what_is_found_in_blocks_that_take_too_long_is_kept():
    limits = Limits(instructions=20_000)
    trace = uneven([5, 1_000_000], seconds=1e6, limits=limits)
    assert not trace.complete
    assert trace.note.startswith("The first block of 2 ran in ")
    assert trace.counters.totals["global_st_requests"].value == 5
    assert {(f.kind, f.array, f.step) for f in trace.findings} == {("out_of_bounds", "a", -1)}
    with pytest.raises(BudgetExceeded):
        uneven([1_000_000, 5], seconds=1e6, limits=limits)
