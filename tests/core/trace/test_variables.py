"""Variables where functions are called: a caller's own are compared with its own."""

from __future__ import annotations

import sys
import threading
from itertools import pairwise

import numpy as np

from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.record_launch import record
from core.trace.block import BlockTrace

FETCH = """
__device__ __noinline__ float fetch(const float* p, int i) { float r = p[i]; return r; }
__global__ void k(const float* x, float* y, int n)
{
    int i = threadIdx.x;
    float s = 0;
    for (int step = 0; step < 2; ++step)
        s += fetch(x, i + step);
    y[i] = s;
}
"""
ADD = """
__global__ void k(const float* x, int* y, int n)
{
    int i = threadIdx.x;
    int v = i + n;
    atomicAdd(y, v);
    v = 2 * v;
    y[1] = v;
}
"""


def run(source: str, output: type = np.float32) -> BlockTrace:
    x = ArrayArgument("x", np.arange(1, 9, dtype=np.float32), "input")
    y = ArrayArgument("y", np.zeros(8, output), "inout")
    launch = Launch(Dim3(1), Dim3(4), (x, y, ScalarArgument("n", np.int32(5))))
    return record(Workload("k", source, "k.cu", "k", launch), blocks="all").block(0)


def lines(block: BlockTrace) -> list[tuple[int, str, dict[str, object], set[str]]]:
    """For each step its line, the event, thread 2's variables and those that just changed."""
    found = []
    for step in range(block.n_steps):
        shown = block.variables(step, 2)
        values = {v.name: v.value for v in shown}
        changed = {v.name for v in shown if v.changed}
        access = block.access(step)
        kind = access.kind if access is not None else ""
        found.append((int(block.line[step]), kind, values, changed))
    return found


def test_what_a_caller_holds_has_not_changed_when_a_function_returns():
    told = lines(run(FETCH))
    inside = [row for row in told if row[0] == 2]
    assert all(set(values) <= {"p", "i", "r"} for _, _, values, _ in inside)
    for (line, _, _, _), (after, _, values, changed) in pairwise(told):
        if line == 2 and after != 2:
            assert {"i", "s", "n", "x", "y"} <= set(values)
            assert changed <= {"s", "step"}
    sums = [values["s"] for line, _, values, _ in told if line == 9]
    assert sums[0] == 3.0 + 4.0  # x[2] + x[3]


def test_a_function_is_new_whenever_it_is_called():
    """Its variables are those of this call: `i` is set anew, though the call before had one."""
    told = lines(run(FETCH))
    loads = [row for row in told if row[:2] == (2, "load")]
    assert [values["i"] for _, _, values, _ in loads] == [2, 3]
    since = {"p": 0, "i": 0}
    for before, now in pairwise(told):
        if now[0] == 2 and before[0] != 2:
            assert not any(now[2][name] for name in since)  # not what the call before held
        for name in since.keys() & now[3] if now[0] == 2 else ():
            since[name] += 1
    assert since == {"p": 2, "i": 2}


def test_at_an_atomic_the_callers_variables_are_shown():
    told = lines(run(ADD, np.int32))
    at = next(place for place, row in enumerate(told) if row[1] == "atomic")
    line, _, values, changed = told[at]
    assert (line, values["i"], values["v"], changed) == (6, 2, 7, set())
    assert told[at + 1][3] == set()  # and nothing has changed on return
    doubled = next(row for row in told[at:] if row[2]["v"] == 14)
    assert doubled[3] == {"v"}


def test_a_variable_that_is_gone_has_not_just_changed():
    for source, output in ((FETCH, np.float32), (ADD, np.int32)):
        block = run(source, output)
        for step in range(block.n_steps):
            assert not [v for v in block.variables(step, 2) if v.changed and v.value is None]


def test_several_threads_of_the_application_ask_for_variables_at_once() -> None:
    """The window, and what writes a page to replay: each is told what the other's leaves alone."""
    source = """
    __global__ void k(const float* x, float* y, int n)
    {
        float a[64];
        for (int j = 0; j < 64; ++j)
            a[j] = j;
        for (int j = 0; j < 64; ++j)
            a[j] += 1;
        y[threadIdx.x] = a[n];
    }
    """
    block = run(source)
    steps = range(0, block.n_steps, 7)
    wanted = [block.variables(step, 1) for step in steps]
    found: list[list[bool]] = [[], []]

    def ask(said: list[bool], places: list[int]) -> None:
        said += [block.variables(steps[at], 1) == wanted[at] for at in places * 5]

    forth = list(range(len(steps)))
    threads = [
        threading.Thread(target=ask, args=pair)
        for pair in zip(found, (forth, forth[::-1]), strict=True)
    ]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == [[True] * 5 * len(steps)] * 2
