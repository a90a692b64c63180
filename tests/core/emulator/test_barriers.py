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


# Block 1 waits for a copy; by then the threads of block 0 stand in front of their last instruction.
LAST_TO_COME = r"""
extern "C" __global__ void __cluster_dims__(2) k(const int* x, int* c) {
  __shared__ __align__(16) int tile[32]; __shared__ unsigned long long full;
  unsigned t = threadIdx.x, b = (unsigned)__cvta_generic_to_shared(&full);
  if (blockIdx.x == 1) {
    if (t == 0) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" :: "r"(b) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1], 128, [%2];" :: "r"((unsigned)__cvta_generic_to_shared(tile)), "l"(x), "r"(b)
        : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], 0; "
      "@q bra done; bra again; done: }" :: "r"(b) : "memory");
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    c[t] = tile[31 - t] + 1;  // the store
    c[32 + t] = 2 * tile[t];
    asm volatile("barrier.cluster.wait;" ::: "memory");
    return;
  }
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
"""


def test_steps_after_an_arrival_that_lets_others_end_are_at_their_lines() -> None:
    x = np.arange(32, dtype=np.int32)
    arrays = {"x": x, "c": np.zeros(64, np.int32)}
    trace = trace_of(LAST_TO_COME, arrays, grid=2, kind="as_compiled")
    assert trace.findings == ()
    assert trace.outputs["c"].tolist() == [*(x[::-1] + 1), *(2 * x)]
    block = trace.block(1)
    line = line_of(LAST_TO_COME, "// the store")
    stores = np.flatnonzero(block.kind == EventKind.STORE)
    in_c = [int(block.line[s]) for s in stores if block.event_at(int(s)).region.name == "c"]
    assert in_c == [line, line + 1]
