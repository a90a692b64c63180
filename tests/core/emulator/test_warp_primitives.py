"""Shuffles, votes and reductions."""

from __future__ import annotations

import numpy as np

from tests.core.emulator.machines import trace_of


def test_shuffles() -> None:
    source = """
extern "C" __global__ void k(int* out, int width)
{
    int t = threadIdx.x, v = t * t;
    int* row = out + 8 * t;
    row[0] = __shfl_sync(~0u, v, t + 5);
    row[1] = __shfl_up_sync(~0u, v, 3);
    row[2] = __shfl_down_sync(~0u, v, 3);
    row[3] = __shfl_xor_sync(~0u, v, 9);
    row[4] = __shfl_sync(~0u, v, t + 1, 8);
    row[5] = __shfl_up_sync(~0u, v, 2, 4);
    row[6] = __shfl_down_sync(~0u, v, 2, width);
    row[7] = (int)__shfl_xor_sync(~0u, (double)v, 1);
}
"""
    trace = trace_of(source, {"out": np.zeros((64, 8), np.int32), "width": np.int32(16)}, block=64)
    for t, row in enumerate(trace.outputs["out"].tolist()):
        warp, lane = t // 32 * 32, t % 32

        def v(other: int, warp: int = warp) -> int:
            return (warp + other) ** 2

        want = [
            v((t + 5) % 32), v(lane - 3 if lane >= 3 else lane),
            v(lane + 3 if lane + 3 < 32 else lane), v(lane ^ 9),
            v(lane // 8 * 8 + (t + 1) % 8), v(lane - 2 if lane % 4 >= 2 else lane),
            v(lane + 2 if lane % 16 + 2 < 16 else lane), v(lane ^ 1),
        ]  # fmt: skip
        assert row == want, t


def test_votes_and_reductions() -> None:
    source = """
extern "C" __global__ void k(int* out, int n)
{
    int t = threadIdx.x;
    int* row = out + 8 * t;
    row[0] = __all_sync(~0u, t < n);
    row[1] = __any_sync(~0u, t == n);
    row[2] = __ballot_sync(~0u, t % 3 == 0);
    row[3] = __reduce_add_sync(~0u, t);
    row[4] = __reduce_max_sync(~0u, (t * 7) % 32);
    row[5] = __match_any_sync(~0u, t % 4);
    if (t % 2) row[6] = __activemask();
    row[7] = __reduce_xor_sync(~0u, (unsigned)t);
}
"""
    trace = trace_of(source, {"out": np.zeros((64, 8), np.int32), "n": np.int32(40)}, block=64)
    for t, row in enumerate(trace.outputs["out"].view(np.uint32).tolist()):
        lanes = range(t // 32 * 32, t // 32 * 32 + 32)
        ballot = sum(1 << i % 32 for i in lanes if i % 3 == 0)
        match = sum(1 << i % 32 for i in lanes if i % 4 == t % 4)
        xor = int(np.bitwise_xor.reduce(list(lanes)))
        want = [int(all(i < 40 for i in lanes)), int(40 in lanes), ballot, sum(lanes), 31, match,
                0xAAAAAAAA if t % 2 else 0, xor]  # fmt: skip
        assert row == want, t
