"""Blocks and grids of every shape."""

from __future__ import annotations

import numpy as np
import pytest

from core.launch import Dim3
from tests.core.emulator.machines import trace_of

PLACES = """
extern "C" __global__ void k(int* out)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int size = blockDim.x * blockDim.y * blockDim.z;
    out[block * size + thread] = threadIdx.x + 100 * threadIdx.y + 10000 * threadIdx.z
        + 1000000 * blockIdx.x + 10000000 * blockIdx.y + 100000000 * blockIdx.z;
}
"""


@pytest.mark.parametrize(
    ("grid", "block"),
    [(Dim3(3, 2, 4), Dim3(5, 3, 2)), (Dim3(1, 3, 2), Dim3(33)), (Dim3(2), Dim3(1, 1, 7)),
     (Dim3(5, 1, 2), Dim3(1))],
)  # fmt: skip
def test_grids_and_blocks_of_three_dimensions(grid, block) -> None:
    trace = trace_of(
        PLACES, {"out": np.full(grid.count * block.count, -1, np.int32)}, grid=grid, block=block
    )
    want = []
    for b in range(grid.count):
        bx, by, bz = b % grid.x, b // grid.x % grid.y, b // (grid.x * grid.y)
        for t in range(block.count):
            tx, ty, tz = t % block.x, t // block.x % block.y, t // (block.x * block.y)
            want.append(tx + 100 * ty + 10**4 * tz + 10**6 * bx + 10**7 * by + 10**8 * bz)
    assert trace.outputs["out"].tolist() == want
    last = trace.block(grid.count - 1)
    assert last.index == Dim3(grid.x - 1, grid.y - 1, grid.z - 1)
    assert last.n_warps == -(-block.count // 32)
    assert last.threads[-1].tolist() == [block.x - 1, block.y - 1, block.z - 1]


def test_a_block_that_is_no_multiple_of_a_warp() -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x;
    out[blockIdx.x * blockDim.x + t] = __popc(__ballot_sync(__activemask(), 1)) * 100 + t;
}
"""
    trace = trace_of(source, {"out": np.zeros(90, np.int32)}, grid=2, block=45)
    assert (
        trace.outputs["out"].tolist() == [(32 if t < 32 else 13) * 100 + t for t in range(45)] * 2
    )
    assert trace.counters.totals["global_st_requests"].value == 4


def test_more_threads_than_run_side_by_side() -> None:
    source = """
extern "C" __global__ void k(int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ int s[96];
    s[threadIdx.x] = i;
    __syncthreads();
    if (i < n) out[i] = s[blockDim.x - 1 - threadIdx.x];
}
"""
    n = 30_011
    grid = -(-n // 96)
    arguments = {"out": np.full(n, -1, np.int32), "n": np.int32(n)}
    trace = trace_of(source, arguments, grid=grid, block=96, blocks=[0, 200])
    i = np.arange(n)
    assert (trace.outputs["out"] == i // 96 * 96 + 95 - i % 96).all()
    assert trace.counters.totals["global_st_requests"].value == -(-n // 32)
    assert trace.findings == ()
