"""Running sums: what threads hold in the variables that they store later, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.record_launch import record
from core.trace.block import BlockTrace

TOTAL = """
__global__ void k(const float* x, float* y, int n)
{
    float total = 0;
    for (int i = 0; i <= threadIdx.x; i++)
        total += x[i];
    y[threadIdx.x] = total;
}
"""
COMPUTED = TOTAL.replace("= total;", "= 2 * total;")
AT_ONCE = TOTAL.replace("total += x[i];", "{ total += x[i]; y[threadIdx.x] = total; }")
ATOMIC = TOTAL.replace("y[threadIdx.x] = total", "atomicAdd(&y[threadIdx.x], total)")
TWO_NAMES = """
__global__ void k(const float* x, float* y, int n)
{
    float odd = 0, even = 0;
    for (int i = 0; i < n; i += 2) {
        even += x[i];
        odd += x[i + 1];
    }
    if (threadIdx.x % 2)
        y[threadIdx.x] = odd;
    else
        y[threadIdx.x] = even;
}
"""
ARRAY = """
__global__ void k(const float* x, float* y, int n)
{
    float sums[2] = {};
    for (int i = 0; i < n; i++)
        sums[(i + threadIdx.x) % 2] += x[i];
    for (int i = 0; i < 2; i++)
        y[2 * threadIdx.x + i] = sums[i];
}
"""


def run(source: str, threads: int = 4) -> BlockTrace:
    x = ArrayArgument("x", np.arange(1, 9, dtype=np.float32) / 4, "input")
    y = ArrayArgument("y", np.zeros(8, np.float32), "inout")
    launch = Launch(Dim3(1), Dim3(threads), (x, y, ScalarArgument("n", np.int32(6))))
    return record(Workload("k", source, "k.cu", "k", launch), blocks="all").block(0)


def held(block: BlockTrace, name: str) -> list[dict[int, float]]:
    """What the variable holds for each thread, at every step, as the table of variables says."""
    return [
        {
            thread: v.value
            for thread in range(block.n_threads)
            for v in block.variables(step, thread)
            if v.name == name and v.value is not None
        }
        for step in range(block.n_steps)
    ]


def stores(block: BlockTrace) -> dict[int, int]:
    """The step that stores each element first."""
    found: dict[int, int] = {}
    for step in range(block.n_steps):
        access = block.access(step)
        if access is not None and access.kind == "store" and access.space == "global":
            for first in access.elements[access.active].tolist():
                for flat in range(first, first + access.width // access.array.dtype.itemsize):
                    found.setdefault(flat, step)
    return found


@pytest.mark.parametrize("source", [TOTAL, AT_ONCE])
def test_a_sum_is_what_the_variable_holds_until_it_is_stored(source):
    block = run(source)
    first, expected = stores(block), held(block, "total")
    seen = set()
    for step in range(block.n_steps):
        now = block.so_far("y", step)
        shown = dict(zip(now.flats.tolist(), now.values.tolist(), strict=True))
        assert shown == {t: v for t, v in expected[step].items() if first[t] > step}
        assert (now.flats == now.threads).all()
        assert now.used == (("total",) if shown else ())
        seen |= set(shown.values())
    assert seen >= ({0.0, 0.25, 0.75, 1.5} if source == TOTAL else {0.0})


@pytest.mark.parametrize("source", [COMPUTED, ATOMIC])
def test_what_is_computed_at_the_store_is_no_variable(source):
    block = run(source)
    assert not any(len(block.so_far("y", step).flats) for step in range(block.n_steps))


def test_each_thread_has_the_variable_that_it_stores_itself():
    block = run(TWO_NAMES)
    odd, even = held(block, "odd"), held(block, "even")
    last = min(stores(block).values()) - 1
    now = block.so_far("y", last)
    for flat, value in zip(now.flats.tolist(), now.values.tolist(), strict=True):
        assert value == (odd if flat % 2 else even)[last][flat]
        assert now.of_thread(flat).used == ("odd" if flat % 2 else "even",)
        assert now.of_thread(flat).values.tolist() == [value]
    assert sorted(now.flats.tolist()) == [0, 1, 2, 3]


def test_elements_of_a_local_array_are_followed_over_the_stack_in_any_order():
    block = run(ARRAY)
    expected = held(block, "sums")
    steps = [*range(block.n_steps), *range(block.n_steps)[::-3]]  # and backwards
    first, compared = stores(block), 0
    for step in steps:
        now = block.so_far("y", step)
        for flat, thread, value in zip(now.flats, now.threads, now.values, strict=True):
            assert first[int(flat)] > step
            assert value == expected[step][int(thread)][int(flat) % 2]
            compared += 1
    assert compared > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiled_bounds", "tile_2d", "vectorised", "tensor_half"])
def test_rungs_show_a_running_sum_of_every_element_until_it_is_stored(name):
    trace = record(load_ladder()[name].workload(), blocks=[0], only_recorded=True)
    block = trace.block(0)
    first = stores(block)
    now = block.so_far("C", min(first.values()) - 1)
    assert sorted(now.flats.tolist()) == sorted(first)
    stored = trace.outputs["C"].ravel()[now.flats]
    assert np.array_equal(now.values, stored)
    half = block.so_far("C", min(first.values()) // 2)
    assert len(half.flats) == len(first)
    assert not np.array_equal(half.values, now.values)


def test_a_sum_of_no_array_is_refused():
    with pytest.raises(KeyError):
        run(ARRAY).so_far("z", 0)
