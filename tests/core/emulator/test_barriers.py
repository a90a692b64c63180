"""Barriers, threads that end, and spin locks."""

from __future__ import annotations

import numpy as np

from core.emulator.machine import Limits
from core.trace import EventKind
from tests.core.emulator.machines import line_of, trace_of


def test_barriers_in_a_loop() -> None:
    source = """
extern "C" __global__ void k(float* out)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = t + blockIdx.x;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (t < step) s[t] += s[t + step];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
"""
    trace = trace_of(source, {"out": np.zeros(5, np.float32)}, grid=5, block=128)
    assert trace.outputs["out"].tolist() == [127 * 64 + 128.0 * b for b in range(5)]
    assert trace.findings == ()
    assert int((trace.block(3).kind == EventKind.BARRIER).sum()) == 8


def test_exited_threads_are_not_waited_for() -> None:
    source = """
extern "C" __global__ void k(int* out, int n)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t >= n) return;
    s[t] = t;
    __syncthreads();
    out[t] = s[n - 1 - t];
}
"""
    trace = trace_of(source, {"out": np.full(64, -1, np.int32), "n": np.int32(41)}, block=64)
    assert trace.outputs["out"].tolist() == [40 - t if t < 41 else -1 for t in range(64)]


def test_a_barrier_that_some_never_reach_is_a_deadlock() -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    __shared__ volatile int flag;
    if (threadIdx.x < 8) {
        asm volatile("bar.sync 1;");
    } else {
        asm volatile("bar.sync 2;");
    }
    out[threadIdx.x] = 1;
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.int32)})
    assert {(f.kind, f.line, f.count) for f in trace.findings} == {
        ("deadlock", line_of(source, "bar.sync 1"), 8),
        ("deadlock", line_of(source, "bar.sync 2"), 24),
    }
    assert not trace.outputs["out"].any()


def test_a_spin_lock_makes_progress() -> None:
    """Volta and later schedule diverged threads independently, so that this ends."""
    source = """
extern "C" __global__ void k(int* lock, int* count)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *count += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
    while (atomicCAS(lock, 0, 1) != 0);
    *count += 1;
    __threadfence();
    atomicExch(lock, 0);
}
"""
    arguments = {"lock": np.zeros(1, np.int32), "count": np.zeros(1, np.int32)}
    trace = trace_of(source, arguments, block=4, limits=Limits(20_000))
    assert trace.outputs["count"].tolist() == [8]


def test_assertions_are_reported_with_their_thread() -> None:
    source = """
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x;
    if (t == 5) __assertfail("t != 5", "test.cu", 7, "k", 1);
    out[t] = t;
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.int32)})
    (finding,) = [f for f in trace.findings if f.kind == "assert"]
    assert finding.thread == 5
    assert finding.line == line_of(source, "if (t == 5)")
    assert "t != 5" in finding.message
