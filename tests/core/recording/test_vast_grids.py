"""Grids of more blocks than memory could list: one of them is recorded all the same."""

from dataclasses import replace

import numpy as np
import pytest

from core.errors import LaunchError
from core.guessing.launch_guess import complete
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.own_files.launch_texts import FileLaunch
from core.recording.blocks_side_by_side import MOST_BLOCKS, MOST_THREADS
from core.recording.count_launch import count
from core.recording.record_launch import record

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
    plain = complete(source, FileLaunch("put.cu", "", "", "", "", ""))
    assert complete(source, asked).grid == plain.grid


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
