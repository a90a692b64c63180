"""A block's record does not depend on the blocks that run beside it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.core.emulator.machines import trace_of

MIXED = """
extern "C" __global__ void k(float* out, const float* in, int n)
{
    __shared__ float s[48];
    int t = threadIdx.x, b = blockIdx.x;
    float v = 0;
    for (int i = 0; i < (t * 5 + b * 3) % 7; i++) {
        v += in[(t + i * b) % n];
        if (v > 2.0f) break;
    }
    s[t] = v;
    __syncthreads();
    for (int p = 0; p < b % 3 + 1; p++) {
        if ((t + b) % 4 == 0) v += s[(t + p) % 48];
        __syncthreads();
        s[t] = v;
        __syncthreads();
    }
    if (b % 2 && t > 10) return;
    out[b * 48 + t] = v;
}
"""
BRANCHY = """
extern "C" __global__ void k(float* out, const float* in, int n)
{
    int t = threadIdx.x, b = blockIdx.x;
    float v;
    if ((t ^ b) & 1) v = in[t] * b;
    else { v = in[t + 1]; if (b > 2) v *= 2; }
    if (t % (b + 1) == 0) out[b * 48 + t] = v;
    else out[b * 48 + t] = -v;
    out[b * 48 + t] += 1;
}
"""


@cache
def side_by_side(source: str, only: int | None = None):
    data = np.random.default_rng(11).random(64).astype(np.float32)
    arguments = {"out": np.zeros(6 * 48, np.float32), "in": data, "n": np.int32(61)}
    options = {"blocks": "all"} if only is None else {"blocks": [only], "only_recorded": True}
    return trace_of(source, arguments, grid=6, block=48, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", [pytest.param(MIXED, id="loops"), pytest.param(BRANCHY, id="branches")]
)
def test_a_blocks_record_does_not_depend_on_its_neighbours(source) -> None:
    every = side_by_side(source)
    for number in range(6):
        alone, beside = side_by_side(source, number).block(number), every.block(number)
        assert alone.n_steps == beside.n_steps
        for column in ("kind", "line", "phase", "pc"):
            np.testing.assert_array_equal(getattr(alone, column), getattr(beside, column), column)
        for step in range(0, alone.n_steps, 3):
            np.testing.assert_array_equal(alone.active(step), beside.active(step))
            one, other = alone.access(step), beside.access(step)
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                active = one.active
                np.testing.assert_array_equal(one.elements, other.elements)
                np.testing.assert_array_equal(one.values[active], other.values[active])
        cut = slice(number * 48, number * 48 + 48)
        np.testing.assert_array_equal(
            side_by_side(source, number).outputs["out"][cut], every.outputs["out"][cut]
        )


def test_counts_are_the_sum_of_the_blocks() -> None:
    whole = side_by_side(MIXED).counters.totals
    for name, count in whole.items():
        parts = [side_by_side(MIXED, b).counters.totals[name] for b in range(6)]
        assert count.value == sum(p.value for p in parts), name
        assert count.ideal == sum(p.ideal for p in parts), name
