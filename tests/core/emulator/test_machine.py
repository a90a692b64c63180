"""The SIMT machine: divergence, blocks, calls, memory, barriers, atomics, shuffles and limits."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest

from core.emulator.machine import Limits
from core.errors import BudgetExceeded
from core.launch import Dim3
from core.trace import EventKind
from tests.core.emulator.machines import line_of, trace_of

# -- divergence -------------------------------------------------------------------------------

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


# -- geometry ---------------------------------------------------------------------------------

PLACES = """
extern "C" __global__ void k(int* out)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int size = blockDim.x * blockDim.y * blockDim.z;
    out[block * size + thread] = threadIdx.x + 100 * threadIdx.y + 10000 * threadIdx.z
        + 1000000 * blockIdx.x + 10000000 * blockIdx.y + 100000000 * blockIdx.z;
}
"""


@pytest.mark.parametrize(
    ("grid", "block"),
    [(Dim3(3, 2, 4), Dim3(5, 3, 2)), (Dim3(1, 3, 2), Dim3(33)), (Dim3(2), Dim3(1, 1, 7)),
     (Dim3(5, 1, 2), Dim3(1))],
)  # fmt: skip
def test_grids_and_blocks_of_three_dimensions(grid, block) -> None:
    trace = trace_of(
        PLACES, {"out": np.full(grid.count * block.count, -1, np.int32)}, grid=grid, block=block
    )
    want = []
    for b in range(grid.count):
        bx, by, bz = b % grid.x, b // grid.x % grid.y, b // (grid.x * grid.y)
        for t in range(block.count):
            tx, ty, tz = t % block.x, t // block.x % block.y, t // (block.x * block.y)
            want.append(tx + 100 * ty + 10**4 * tz + 10**6 * bx + 10**7 * by + 10**8 * bz)
    assert trace.outputs["out"].tolist() == want
    last = trace.block(grid.count - 1)
    assert last.index == Dim3(grid.x - 1, grid.y - 1, grid.z - 1)
    assert last.n_warps == -(-block.count // 32)
    assert last.threads[-1].tolist() == [block.x - 1, block.y - 1, block.z - 1]


def test_a_block_that_is_no_multiple_of_a_warp() -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x;
    out[blockIdx.x * blockDim.x + t] = __popc(__ballot_sync(__activemask(), 1)) * 100 + t;
}
"""
    trace = trace_of(source, {"out": np.zeros(90, np.int32)}, grid=2, block=45)
    assert (
        trace.outputs["out"].tolist() == [(32 if t < 32 else 13) * 100 + t for t in range(45)] * 2
    )
    assert trace.counters.totals["global_st_requests"].value == 4


def test_more_threads_than_run_side_by_side() -> None:
    source = """
extern "C" __global__ void k(int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ int s[96];
    s[threadIdx.x] = i;
    __syncthreads();
    if (i < n) out[i] = s[blockDim.x - 1 - threadIdx.x];
}
"""
    n = 30_011
    grid = -(-n // 96)
    arguments = {"out": np.full(n, -1, np.int32), "n": np.int32(n)}
    trace = trace_of(source, arguments, grid=grid, block=96, blocks=[0, 200])
    i = np.arange(n)
    assert (trace.outputs["out"] == i // 96 * 96 + 95 - i % 96).all()
    assert trace.counters.totals["global_st_requests"].value == -(-n // 32)
    assert trace.findings == ()


# -- functions and the stack ------------------------------------------------------------------


def test_recursion_of_different_depth() -> None:
    source = """
__device__ __noinline__ long long fib(int n, int* calls)
{
    *calls += 1;
    if (n < 2) return n;
    return fib(n - 1, calls) + fib(n - 2, calls);
}
extern "C" __global__ void k(long long* out, int* made)
{
    int calls = 0;
    out[threadIdx.x] = fib(threadIdx.x % 9, &calls);
    made[threadIdx.x] = calls;
}
"""
    trace = trace_of(source, {"out": np.zeros(40, np.int64), "made": np.zeros(40, np.int32)},
                     block=40)  # fmt: skip
    fib, calls = [0, 1], [1, 1]
    for _ in range(8):
        fib.append(fib[-1] + fib[-2])
        calls.append(1 + calls[-1] + calls[-2])
    assert trace.outputs["out"].tolist() == [fib[t % 9] for t in range(40)]
    assert trace.outputs["made"].tolist() == [calls[t % 9] for t in range(40)]


def test_calls_from_different_places_and_a_return_in_a_loop() -> None:
    source = """
__device__ __noinline__ int find(const int* where, int n, int wanted)
{
    for (int i = 0; i < n; i++)
        if (where[i] == wanted) return i;
    return -1;
}
extern "C" __global__ void k(int* out, const int* data, int n)
{
    int t = threadIdx.x;
    int a = t % 2 ? find(data, n, t) : find(data, n / 2, t + 1) * 100;
    out[t] = a + find(data, n, 3 * t);
}
"""
    data = np.random.default_rng(3).permutation(40).astype(np.int32)

    def find(n: int, wanted: int) -> int:
        return next((i for i in range(n) if data[i] == wanted), -1)

    trace = trace_of(
        source, {"out": np.zeros(32, np.int32), "data": data, "n": np.int32(40)}, block=32
    )
    want = [(find(40, t) if t % 2 else find(20, t + 1) * 100) + find(40, 3 * t) for t in range(32)]
    assert trace.outputs["out"].tolist() == want


def test_structures_by_value() -> None:
    source = """
struct Pair { int a; double b; short c[3]; };
__device__ __noinline__ Pair turn(Pair p, int t)
{
    Pair q = {p.a + t, p.b * 2, {p.c[2], p.c[0], (short)t}};
    return q;
}
extern "C" __global__ void k(double* out, int n)
{
    Pair p = {n, 1.5, {1, 2, 3}};
    p = turn(turn(p, threadIdx.x), 5);
    out[threadIdx.x] = p.a * 1000 + p.b + p.c[0] * 10 + p.c[1] * 100;
}
"""
    trace = trace_of(source, {"out": np.zeros(32), "n": np.int32(4)})
    want = [(4 + t + 5) * 1000 + 6.0 + t * 10 + 3 * 100 for t in range(32)]
    assert trace.outputs["out"].tolist() == want


def test_local_arrays_belong_to_their_thread() -> None:
    source = """
extern "C" __global__ void k(int* out, int n)
{
    int t = threadIdx.x, a[9];
    short b[5];
    for (int i = 0; i < 9; i++) a[i] = t * i;
    for (int i = 0; i < 5; i++) b[i] = t - i;
    out[t] = a[(t + n) % 9] * 1000 + b[t % 5];
}
"""
    trace = trace_of(source, {"out": np.zeros(64, np.int32), "n": np.int32(2)}, block=64)
    want = [t * ((t + 2) % 9) * 1000 + t - t % 5 for t in range(64)]
    assert trace.outputs["out"].tolist() == want
    assert trace.findings == ()


def test_stacks_of_callers_do_not_overlap() -> None:
    source = """
__device__ __noinline__ int leaf(int x)
{
    int a[4];
    for (int i = 0; i < 4; i++) a[i] = x + i;
    int s = 0;
    for (int i = 0; i < 4; i++) s += a[(i + x) & 3];
    return s;
}
__device__ __noinline__ int small(int x) { return leaf(x); }
__device__ __noinline__ int big(int x)
{
    int a[64];
    for (int i = 0; i < 64; i++) a[i] = i * x;
    int s = leaf(x);
    for (int i = 0; i < 64; i++) s += a[(i + x) & 63];
    return s;
}
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x;
    int v = small(t);
    out[t] = v + big(t);
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.int32)})
    assert trace.outputs["out"].tolist() == [2 * (4 * t + 6) + t * 63 * 32 for t in range(32)]


# -- memory -----------------------------------------------------------------------------------


def test_dynamic_shared_memory_starts_after_the_static() -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    __shared__ int fixed[3];
    extern __shared__ double pool[];
    int t = threadIdx.x;
    if (t < 3) fixed[t] = t * 7;
    pool[t] = t * 0.5;
    __syncthreads();
    out[t] = fixed[t % 3] + (int)(2 * pool[31 - t]);
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.int32)}, shared_bytes=256)
    assert trace.outputs["out"].tolist() == [t % 3 * 7 + 31 - t for t in range(32)]
    pool = next(a for a in trace.shared_arrays if a.name == "pool")
    assert (pool.offset % 8, pool.shape, pool.dtype) == (0, (32,), np.dtype(np.float64))
    assert trace.findings == ()


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_all_widths_and_vectors(kind) -> None:
    source = """
extern "C" __global__ void k(const unsigned char* b, const short* h, const double* d,
                             const float4* q, const int2* p, double* out, uchar4* bytes)
{
    int t = threadIdx.x;
    float4 v = q[t];
    int2 w = p[t];
    out[t] = b[t] + h[t] + d[t] + v.x + 2 * v.y + 3 * v.z + 4 * v.w + w.x - w.y;
    bytes[t] = make_uchar4(t, t + 1, 255, b[t]);
}
"""
    rng = np.random.default_rng(5)
    b, h = rng.integers(0, 256, 32, np.uint8), rng.integers(-(2**15), 2**15, 32, np.int16)
    d, q = rng.random(32), rng.integers(-9, 9, (32, 4)).astype(np.float32)
    p = rng.integers(-9, 9, (32, 2)).astype(np.int32)
    arguments = {"b": b, "h": h, "d": d, "q": q, "p": p, "out": np.zeros(32),
                 "bytes": np.zeros((32, 4), np.uint8)}  # fmt: skip
    trace = trace_of(source, arguments, kind=kind)
    want = b.astype(float) + h + d + q @ [1, 2, 3, 4] + p[:, 0] - p[:, 1]
    assert np.abs(trace.outputs["out"] - want).max() <= 1e-9
    t = np.arange(32)
    assert (trace.outputs["bytes"] == np.stack([t, t + 1, 0 * t + 255, b], 1)).all()


def test_constants_and_device_variables() -> None:
    source = """
__constant__ float table[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ int offsets[4] = {10, 20, 30};
__device__ unsigned total;
extern "C" __global__ void k(float* out)
{
    int t = threadIdx.x;
    atomicAdd(&total, 1u);
    __syncthreads();
    out[t] = table[t % 2][t % 3] * 100 + offsets[t % 4] + total;
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.float32)})
    table, offsets = np.arange(1, 7).reshape(2, 3), [10, 20, 30, 0]
    want = [float(table[t % 2, t % 3] * 100 + offsets[t % 4] + 32) for t in range(32)]
    assert trace.outputs["out"].tolist() == want


def test_atomics() -> None:
    source = """
extern "C" __global__ void k(int* c, unsigned* u, float* f, unsigned long long* w, int* old)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ int s[2];
    if (threadIdx.x < 2) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[i & 1], i);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&c[0], s[0] + 1000 * s[1]);
    atomicMin(&c[1], -i); atomicMax(&c[2], i); atomicAnd(&c[3], ~(1 << i % 8));
    atomicOr(&c[4], 1 << i % 8); atomicXor(&c[5], i); atomicSub(&c[6], 2);
    old[i] = atomicAdd(&c[7], 1);
    atomicInc(&u[0], 9); atomicDec(&u[1], 6); atomicMin(&u[2], i + 3u);
    atomicAdd(f, 0.5f); atomicAdd(w, 1ull << 33);
    if (i == 5) atomicExch(&c[8], 77);
    atomicCAS(&c[9], 4, 44); atomicCAS(&c[10], 5, 55);
}
"""
    n = 96
    c = np.zeros(11, np.int32)
    c[3], c[9], c[10] = 0x1FF, 4, 4
    arguments = {"c": c, "u": np.array([0, 0, 99], np.uint32), "f": np.zeros(1, np.float32),
                 "w": np.zeros(1, np.uint64), "old": np.zeros(n, np.int32)}  # fmt: skip
    trace = trace_of(source, arguments, grid=3, block=32)
    i = np.arange(n)
    u0 = u1 = 0
    for _ in range(n):
        u0 = 0 if u0 >= 9 else u0 + 1
        u1 = 6 if u1 == 0 or u1 > 6 else u1 - 1
    even, odd = int(i[i % 2 == 0].sum()), int(i[i % 2 == 1].sum())
    want = [even + 1000 * odd, -95, 95, 0x100, 0xFF, int(np.bitwise_xor.reduce(i)), -2 * n, n, 77,
            44, 4]  # fmt: skip
    assert trace.outputs["c"].tolist() == want
    assert trace.outputs["u"].tolist() == [u0, u1, 3]
    assert trace.outputs["f"].tolist() == [n / 2]
    assert trace.outputs["w"].tolist() == [n << 33]
    assert sorted(trace.outputs["old"].tolist()) == list(range(n))


# -- lanes of a warp --------------------------------------------------------------------------


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


# -- barriers ---------------------------------------------------------------------------------


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


def test_an_endless_loop_meets_the_budget_quickly() -> None:
    source = 'extern "C" __global__ void k(int* out) { while (true) out[0] += 1; }'
    start = time.monotonic()
    with pytest.raises(BudgetExceeded, match="budget"):
        trace_of(source, {"out": np.zeros(1, np.int32)}, limits=Limits(50_000))
    assert time.monotonic() - start < 5


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


# -- blocks side by side ----------------------------------------------------------------------

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


# -- stopping ---------------------------------------------------------------------------------


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
