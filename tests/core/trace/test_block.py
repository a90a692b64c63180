"""Moving through a record: by every unit, forwards and backwards, at awkward sizes.

Stepping by access passes over a thread's own arrays, which no view of shared data shows.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from core.trace import EventKind
from tests.core.emulator.machines import trace_of

UNITS = ("access", "line", "barrier", "phase")
ACCESSES = (EventKind.LOAD, EventKind.STORE, EventKind.ATOMIC)


@cache
def tiled():
    return record(load_ladder()["tiled"].workload(seed=3, n=12, tile=4), blocks="all")


@pytest.mark.parametrize("unit", UNITS)
def test_seeking_forwards_and_backwards(unit) -> None:
    block = tiled().block(0)
    stops = {
        "access": np.flatnonzero(np.isin(block.kind, ACCESSES)),
        "line": np.flatnonzero(block.kind == EventKind.LINE),
        "barrier": np.flatnonzero(block.kind == EventKind.BARRIER),
        "phase": np.array([p.first for p in block.phases]),
    }[unit].tolist()
    assert len(stops) > 2
    for step in range(block.n_steps):
        ahead = [s for s in stops if s > step]
        behind = [s for s in stops if s < step]
        assert block.seek(step, unit, forward=True) == (ahead[0] if ahead else block.n_steps - 1)
        assert block.seek(step, unit, forward=False) == (behind[-1] if behind else 0)


def snapshot(block, step: int):
    access = block.access(step)
    return (
        int(block.kind[step]), int(block.line[step]), block.active(step).tolist(),
        [(v.name, v.value) for v in block.variables(step, 9)],
        {n: (s.values.tolist(), s.last_writer.tolist()) for n, s in block.shared(step).items()},
        None if access is None else (access.elements.tolist(), access.values[:16].tolist()),
    )  # fmt: skip


def test_stepping_back_shows_the_same_as_forward() -> None:
    trace = tiled()
    forward = [snapshot(trace.block(6), s) for s in range(trace.block(6).n_steps)]
    fresh = record(trace.workload, blocks=[6]).block(6)  # has never been asked anything
    backward = [snapshot(fresh, s) for s in reversed(range(fresh.n_steps))]
    assert forward == backward[::-1]
    order = np.random.default_rng(0).permutation(fresh.n_steps).tolist()
    assert all(snapshot(fresh, s) == forward[s] for s in order)


def test_threads_may_ask_for_shared_memory_at_once() -> None:
    block = tiled().block(3)
    wanted = [snapshot(block, step)[4] for step in range(block.n_steps)]
    fresh = record(tiled().workload, blocks=[3]).block(3)

    def all_of(seed: int) -> bool:
        order = np.random.default_rng(seed).permutation(fresh.n_steps).tolist()
        return all(snapshot(fresh, step)[4] == wanted[step] for step in order)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(all_of, range(4)))


@pytest.mark.parametrize(("n", "tile"), [(1, 1), (7, 3)])
def test_small_and_awkward_sizes_can_be_stepped_through(n, tile) -> None:
    trace = record(load_ladder()["tiled_bounds"].workload(n=n, tile=tile), blocks="all")
    for number in trace.recorded_blocks:
        block = trace.block(number)
        for step in range(block.n_steps):
            snapshot_of = block.variables(step, block.n_threads - 1)
            assert all(v.name for v in snapshot_of)
            block.shared(step)
            access = block.access(step)
            if access is not None:
                assert access.warp(0).n_sectors >= 1
        assert len(block.phases) == -(-n // tile)


CLUSTER = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int* out)
{
    out[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
"""


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_the_last_to_come_lets_others_end_while_it_goes_on(kind) -> None:
    out = np.zeros(128, np.int32)
    options = {"kind": kind, "order": "warp_by_warp"}
    trace = trace_of(CLUSTER, {"out": out}, grid=2, block=64, **options)
    assert trace.findings == ()
    for number in range(2):
        block = trace.block(number)
        pcs = range(len(block.instructions))
        ticks = [tick for pc in pcs for tick, _ in block.executions(pc)]
        assert len(ticks) > 8
        assert len({*ticks}) == len(ticks), "two instructions at one time"
        exits = np.flatnonzero(block.kind == EventKind.EXIT).tolist()
        assert sum(int(block.active(step).sum()) for step in exits) == 64


OWN = """
extern "C" __global__ void own(const float *A, float *C)
{
    float kept[4];
    for (int i = 0; i < 4; i++)
        kept[i] = A[threadIdx.x + 32 * i];
    float sum = 0.0f;
    for (int i = 0; i < 4; i++)
        sum += kept[i];
    C[threadIdx.x] = sum;
}
"""
ALONE = """
extern "C" __global__ void alone(float *C)
{
    volatile float kept[2];
    kept[1] = 2.0f;
    kept[0] = kept[1];
}
"""


def block_of(source, name, *arrays):
    assert compile_ptx(source).ptx
    launch = Launch(Dim3(1), Dim3(32), arrays)
    return record(Workload(name, source, f"{name}.cu", name, launch)).block(0)


@pytest.fixture(scope="module")
def own():
    data = np.random.default_rng(3).random(128, np.float32)
    return block_of(
        OWN,
        "own",
        ArrayArgument("A", data, "input"),
        ArrayArgument("C", np.full(32, np.nan, np.float32), "output"),
    )


def test_only_what_threads_share_is_stepped_to(own):
    seen, step = [], 0
    while True:
        following = own.seek(step, "access", forward=True)
        if own.access(following) is None or following == step:
            break
        seen.append((own.access(following).kind, own.access(following).array.name))
        step = following
    assert seen == [("load", "A")] * 4 + [("store", "C")]
    kinds = (EventKind.LOAD, EventKind.STORE)
    every = [s for s in range(own.n_steps) if own.kind[s] in kinds]
    assert sum(own.access(s).space == "local" for s in every) == 8
    assert len(own.access_steps) == 5
    assert set(own.access_steps) < set(every)


def test_lines_still_lead_to_them(own):
    lines = set()
    step = 0
    while (following := own.seek(step, "line", forward=True)) != step:
        step = following
        lines.add(int(own.line[step]))
    assert {6, 9} <= lines


def test_a_block_with_nothing_else_stops_at_its_own():
    block = block_of(ALONE, "alone", ArrayArgument("C", np.zeros(1, np.float32), "output"))
    assert len(block.access_steps) == 3
    assert {block.access(int(s)).space for s in block.access_steps} == {"local"}
