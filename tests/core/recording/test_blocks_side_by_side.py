"""The blocks of a small launch run at once, unless one of them sees what another does.

And of grids of more blocks than memory could list one is recorded all the same.
"""

from dataclasses import replace

import numpy as np
import pytest

from core.errors import LaunchError
from core.guessing.launch_guess import completed
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.blocks_side_by_side import MOST_BLOCKS, MOST_THREADS
from core.recording.count_launch import count
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch
from tests.core.emulator.machines import trace_of

APART = "out[i] = in[i] + 1; if (i % 2) in[i] = out[i];"  # a block's own elements, again and again
STORES_MEET = "out[threadIdx.x] = blockIdx.x;"
LATER = "out[i] = in[(i + 32) % 96]; in[i] = 7;"  # what the next block has not stored yet
EARLIER = "out[i] = in[(i + 64) % 96]; in[i] = 7;"  # what the block before has stored
IN_ORDER = "out[i] = atomicAdd(&in[0], 1);"
TOLD = 'printf("%d\\n", (int)blockIdx.x); out[i] = 0;'


def run(body: str, **options):
    source = f"""extern "C" __global__ void k(int *in, int *out) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}"""
    arguments = {"in": np.arange(96, dtype=np.int32), "out": np.zeros(96, np.int32)}
    return trace_of(source, arguments, grid=3, block=32, **options)


@pytest.mark.parametrize(
    ("body", "at_once"),
    [
        (APART, True),
        (STORES_MEET, False),
        (LATER, False),
        (EARLIER, False),
        (IN_ORDER, False),
        (TOLD, False),
    ],
)
@pytest.mark.parametrize("checks", [True, False])
def test_blocks_run_at_once_where_none_sees_what_another_does(body, at_once, checks) -> None:
    trace = run(body, checks=checks)
    assert (len(trace.records) == 1) == at_once
    first = run(body, checks=checks, blocks=[0])  # the first block alone, and then the others
    np.testing.assert_array_equal(trace.outputs["out"], first.outputs["out"])
    np.testing.assert_array_equal(trace.outputs["in"], first.outputs["in"])
    assert trace.counters == first.counters
    assert trace.printed == first.printed
    said = [[(f.kind, f.block, f.thread, f.count) for f in t.findings] for t in (trace, first)]
    assert said[0] == said[1]


def test_a_large_record_is_of_few_blocks_as_ever() -> None:
    assert len(run(APART, record_bytes=1).recorded_blocks) == 1


def test_a_long_run_goes_block_by_block(monkeypatch) -> None:
    long = "for (int j = 0; j < 50; ++j) out[i] = in[i] + j;"
    assert len(run(long).records) == 1
    monkeypatch.setattr("core.recording.record_launch._AT_ONCE", 100)
    assert len(run(long).records) == 2


SOURCE = """
__global__ void put(int* v, int n) {
    int i = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (i < n) v[i] = 2 * i + 1;
}
"""


def put(grid, n):
    arguments = (
        ArrayArgument("v", np.full(n, -7, np.int32), "inout"),
        ScalarArgument("n", np.int32(n)),
    )
    return Workload("put", SOURCE, "put.cu", "put", Launch(grid, Dim3(1), arguments))


@pytest.mark.parametrize("chosen", [[0], [5, 6, 9], [2**31 * 3 + 1]])
def test_a_few_blocks_of_a_vast_grid_are_recorded(chosen):
    trace = record(put(Dim3(2**31 - 1, 65535, 65535), 8), blocks=chosen, only_recorded=True)
    assert trace.recorded_blocks == tuple(chosen)
    written = np.flatnonzero(trace.outputs["v"] != -7)
    assert written.tolist() == [block for block in chosen if block < 8]


@pytest.mark.parametrize("seed", range(4))
def test_the_blocks_between_those_chosen_run_too(seed):
    rng = np.random.default_rng(seed)
    chosen = sorted(rng.choice(37, size=int(rng.integers(1, 9)), replace=False).tolist())
    trace = record(put(Dim3(37), 37), blocks=chosen[::-1])
    assert trace.recorded_blocks == tuple(chosen)
    assert np.array_equal(trace.outputs["v"], 2 * np.arange(37) + 1)
    assert trace.complete


def test_too_many_blocks_to_count_are_a_sentence():
    with pytest.raises(LaunchError, match="2,147,483,647 blocks is too large to count: use"):
        count(put(Dim3(2**31 - 1), 8))
    assert count(put(Dim3(MOST_BLOCKS // 1024), 8)).workload.launch.grid.count == 16384


def test_a_size_of_thousands_of_digits_guesses_no_grid():
    source = SOURCE.replace("gridDim.x + blockIdx.x", "gridDim.x + threadIdx.x")
    asked = FileLaunch("put.cu", "", "", "", "", "", (("n", "9" * 5000),))
    plain = completed(source, FileLaunch("put.cu", "", "", "", "", "")).launch
    assert completed(source, asked).launch.grid == plain.grid


@pytest.mark.parametrize(
    ("grid", "kinds"),
    [((2**31 - 1,), False), ((65535, 65535, 65535), False), ((MOST_BLOCKS, 1), True)],
)
@pytest.mark.parametrize("blocks", [None, "all", [3, 1]])
def test_more_threads_than_can_be_run_are_a_sentence_before_anything_runs(grid, kinds, blocks):
    work = put(Dim3(*grid), 8)
    work = replace(work, launch=replace(work.launch, block=Dim3(64)), source="no CUDA at all")
    total = work.launch.grid.count * 64
    with pytest.raises(LaunchError, match=f"are {total:,} threads, and at most") as raised:
        record(work, blocks=blocks)
    assert "--blocks 0,1 --only" in str(raised.value)
    assert ("--counters-only" in str(raised.value)) == kinds


@pytest.mark.slow
def test_a_count_that_has_to_run_every_block_of_too_many_is_a_sentence():
    table = ArrayArgument("table", np.arange(5, dtype=np.int32), "input")
    source = "__global__ void f(int* v, const int* table) { v[table[blockIdx.x % 5]] = 1; }"
    grid = Dim3(MOST_THREADS // 64 + 1)
    launch = Launch(grid, Dim3(64), (put(Dim3(1), 8).launch.arguments[0], table))
    with pytest.raises(LaunchError, match="134,217,792 threads, and at most") as raised:
        count(Workload("f", source, "f.cu", "f", launch))
    assert "--counters-only" not in str(raised.value), "that is what was tried"
