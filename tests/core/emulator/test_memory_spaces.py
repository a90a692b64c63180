"""Shared, constant and global memory, every width, and atomics."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core.emulator.machines import trace_of


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
