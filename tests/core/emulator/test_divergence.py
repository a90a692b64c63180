"""Threads that go different ways and meet again."""

from __future__ import annotations

import numpy as np

from core.trace import EventKind
from tests.core.emulator.machines import trace_of

BRANCHES = """
extern "C" __global__ void k(int* out, int n)
{
    int t = threadIdx.x;
    int v = 0;
    if (t % 3 == 0) {
        v = t * n;
        if (t % 2) v += 1000;
        else if (t > 20) v -= 500;
    } else {
        v = -t;
    }
    out[t] = v;
}
"""


def test_branches_give_each_thread_its_own_path() -> None:
    out = trace_of(BRANCHES, {"out": np.zeros(64, np.int32), "n": np.int32(7)}, block=64)
    want = [
        (t * 7 + (1000 if t % 2 else -500 if t > 20 else 0)) if t % 3 == 0 else -t
        for t in range(64)
    ]
    assert out.outputs["out"].tolist() == want


def test_an_if_with_an_else_reconverges() -> None:
    trace = trace_of(BRANCHES, {"out": np.zeros(64, np.int32), "n": np.int32(7)}, block=64)
    block = trace.block(0)
    stores = np.flatnonzero(block.kind == EventKind.STORE)
    assert len(stores) == 1
    assert block.active(int(stores[0])).all()
    assert trace.counters.totals["global_st_requests"].value == 2  # two warps, one request each


def test_an_if_without_an_else_reconverges() -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x, v = 1;
    if (t % 5 == 2) v = t;
    out[t] = v;
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.int32)})
    assert trace.outputs["out"].tolist() == [t if t % 5 == 2 else 1 for t in range(32)]
    assert trace.counters.totals["global_st_requests"].value == 1


LOOPS = """
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < t % 5; i++) {
        for (int j = i; j < t % 7; j++) {
            if ((i + j) % 4 == 3) continue;
            if (j == 5) break;
            sum += i * 10 + j;
        }
        sum ^= i;
    }
    out[t] = sum;
}
"""


def loops(t: int) -> int:
    total = 0
    for i in range(t % 5):
        for j in range(i, t % 7):
            if (i + j) % 4 == 3:
                continue
            if j == 5:
                break
            total += i * 10 + j
        total ^= i
    return total


def test_nested_loops_with_different_trip_counts() -> None:
    trace = trace_of(LOOPS, {"out": np.zeros(100, np.int32)}, block=100)
    assert trace.outputs["out"].tolist() == [loops(t) for t in range(100)]


def test_threads_meet_again_after_a_loop() -> None:
    trace = trace_of(LOOPS, {"out": np.zeros(32, np.int32)})
    assert trace.counters.totals["global_st_requests"].value == 1


def test_early_return() -> None:
    source = """
extern "C" __global__ void k(int* out, int n)
{
    int t = threadIdx.x;
    if (t >= n) return;
    out[t] = t + 1;
    if (t % 2) return;
    out[t] = -t;
}
"""
    trace = trace_of(source, {"out": np.zeros(40, np.int32), "n": np.int32(37)}, block=40)
    want = [(t + 1 if t % 2 else -t) if t < 37 else 0 for t in range(40)]
    assert trace.outputs["out"].tolist() == want
    assert trace.counters.totals["global_st_requests"].value == 4  # two stores, two warps
    block = trace.block(0)
    ends = [int(block.active(int(s)).sum()) for s in np.flatnonzero(block.kind == EventKind.EXIT)]
    assert sum(ends) == 40


def test_switches_and_short_circuits() -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x, v;
    switch (t % 8) {
        case 0: v = 10; break;
        case 1: v = 11;
        case 2: v = 12; break;
        case 5: case 6: v = 56; break;
        default: v = -1;
    }
    out[t] = (t > 4 && t % 3 == 0) || t == 31 ? v + 100 : v;
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.int32)})
    table = {0: 10, 1: 12, 2: 12, 5: 56, 6: 56}
    want = [
        table.get(t % 8, -1) + (100 if (t > 4 and t % 3 == 0) or t == 31 else 0) for t in range(32)
    ]
    assert trace.outputs["out"].tolist() == want
