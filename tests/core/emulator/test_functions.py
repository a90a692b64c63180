"""Calls, recursion, structures by value, and what lies on a thread's stack."""

from __future__ import annotations

import numpy as np

from tests.core.emulator.machines import trace_of


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
