"""Stepping by access passes over a thread's own arrays, which no view of shared data shows."""

import numpy as np
import pytest

from core.compiler.builds import compile_ptx
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from core.trace import EventKind

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
