"""Threads that go different ways meet again; lanes that yield part as on an H200, and count so."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from core.emulator.events import Observer
from core.emulator.geometry import Geometry
from core.emulator.launch_image import Image
from core.emulator.machine import Machine
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.ptx.parser import parse
from core.recording.record_launch import record
from core.trace import EventKind
from tests.core.emulator.machines import HEADER, ONE, WARP, trace_of
from tests.yielding_set import BUILDS, COUNTS, MASKS, RECORDED, launches, together

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


TRUTH = json.loads(RECORDED.read_text("utf-8"))
LAUNCHES = list(launches())

# Whether the lanes that wait furthest in go on as well, after one yield, depends on the time that
# things take; so does who wins a race for one place.
TIMED = {
    "masks": {
        "two ifs deep, as_written",
        "two ifs deep, global, as_written",
        "cas two ifs deep, as_compiled",
        "cas in a loop, as_compiled",
        "pow, as_compiled",  # none of these: ptxas makes no branch of it
    },
    "counts": {
        *(f"hist loop, {p}, as_written" for p in ("first half", "odd")),
        *(f"compact, {p}, as_written" for p in ("mixed", "first half", "odd")),
        *(f"{n}, mixed, as_written" for n in ("nested", "two ifs", "call atomic", "call twice")),
        *(f"{n}, mixed, as_compiled" for n in ("call atomic", "call twice")),
    },
}


def test_each_launch_is_recorded() -> None:
    for of in ("masks", "counts"):
        names = {f"{name}, {build}" for kind, name, build, _ in LAUNCHES if kind == of}
        assert names == TRUTH[of].keys()
        assert names >= TIMED[of]
    assert len(LAUNCHES) > 450


@pytest.mark.parametrize(
    ("name", "build"),
    [
        pytest.param(
            name,
            build,
            id=f"{name}-{build}",
            marks=[] if (row + 2 * column) % 5 == 0 else [pytest.mark.slow],
        )
        for row, name in enumerate(MASKS)
        for column, build in enumerate(BUILDS)
    ],
)
def test_the_same_lanes_run_together(name, build) -> None:
    [workload] = [w for of, n, b, w in LAUNCHES if (of, n, b) == ("masks", name, build)]
    mine = together(record(workload, kind=build).outputs["masks"])
    is_right = mine == TRUTH["masks"][f"{name}, {build}"]
    assert is_right != (f"{name}, {build}" in TIMED["masks"])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if i % 4 else [])
        for i, name in enumerate(COUNTS)
    ],
)
def test_counts_are_the_hardwares(name) -> None:
    wrong = set()
    for of, each, build, workload in LAUNCHES:
        if of == "counts" and each.startswith(f"{name}, "):
            totals = record(workload, kind=build).counters.totals
            truth = TRUTH["counts"][f"{each}, {build}"]
            if {n: int(totals[n].value) for n in truth} != truth:
                wrong.add(f"{each}, {build}")
    assert wrong == {one for one in TIMED["counts"] if one.startswith(f"{name}, ")}


SLEEPS = """
.visible .entry k()
{
.reg .pred %p<2>;
.reg .b32 %r<2>;
mov.u32 %r1, %laneid;
setp.lt.u32 %p1, %r1, 16;
@%p1 bra OTHERS;
nanosleep.u32 5;
bra END;
OTHERS:
nanosleep.u32 5;
END:
ret;
}
"""


def test_lanes_that_come_back_to_where_they_have_yielded_spill_once() -> None:
    told = []

    class Spills(Observer):
        def on_save(self, event) -> None:
            told.append((event.kind, event.registers, int(event.mask.sum())))

    module = parse(HEADER + SLEEPS)
    code = [
        replace(one, yields=True, spills=(2, 1)) if one.opcode == "nanosleep" else one
        for one in module.instructions
    ]
    image = Image(replace(module, instructions=tuple(code)), "k", Launch(ONE, WARP, ()))
    Machine(image, Geometry(ONE, WARP, np.arange(1)), (Spills(),)).run()
    assert sorted(told) == [("load", 1, 16), ("load", 1, 16), ("store", 2, 16), ("store", 2, 16)]


RECURSION = """"
__device__ __noinline__ int f(int x, const int *in) {
    if (x & 1) return in[x & 63];
    for (int j = 0; j < (x & 3); j++) x += in[(x + j) & 63];
    if (x > 64) return f(x >> 3, in) + (x & 7);
    for (int j = 0; j < (x & 3); j++) {
        if (in[(x + j) & 63] & 1) continue;
        x += f(x >> 4, in);
    }
    return x + in[(x + 5) & 63];
}
__global__ void k(int *out, const int *in) {
    int i = threadIdx.x, s = in[i];
    if (in[(2 * i + s) & 63] % 4 == 1) s += f(s, in);
    for (int a = 0; a < (in[(i + 7) & 63] & 3) + 1; a++) {
        if (in[(6 * i + s) & 63] % 3 == 0) continue;
        for (int b = 0; b < (in[(i + 6) & 63] & 3) + 1; b++)
            for (int c = 0; c < (in[(i + 4) & 63] & 3) + 1; c++) s += in[(i + 2 * s) & 63];
        if (in[(i + s) & 63] % 5 == 1) s += in[(i + 5 * s) & 63];
    }
    out[i] = s;
}
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_recursion_parts_the_same_lanes_whatever_turns_warps_take(seed) -> None:
    given = np.random.default_rng(0).integers(0, 1000, 64).astype(np.int32)
    out = ArrayArgument("out", np.zeros(64, np.int32), "output")
    launch = Launch(Dim3(1), Dim3(64), (out, ArrayArgument("in", given, "input")))
    workload = Workload("k", RECURSION, "k.cu", "k", launch)
    at_once = record(workload)
    assert any(one.parts for one in at_once.instructions)
    in_turns = record(workload, order="random", seed=seed)
    assert in_turns.counters.totals == at_once.counters.totals
