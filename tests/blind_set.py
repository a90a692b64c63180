# ruff: noqa: E501 - a statement of a kernel stays in one line
"""Kernels of kinds that the other recorded sets cover least, written without a look at the counts.

Bytes and odd structures, dynamic local arrays, calls, cache hints, atomics of every width, copies,
matrices, partial warps, clusters. All have one signature. `scripts/record_blind.py` records them on
a GPU (tests/data/blind_h200.json).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.rules.counters import METRICS

RECORDED = Path(__file__).parent / "data" / "blind_h200.json"
BUILDS = {"as_written": ("-G",), "as_compiled": ("-lineinfo",)}
# Beyond the counters that Tilescope names: what helps to explain a difference.
FURTHER = {
    "global_ld_hits": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "shared_ldsm": "smsp__sass_inst_executed_op_ldsm.sum",
    "shared_ldgsts": "smsp__sass_inst_executed_op_ldgsts.sum",
}
ALL_METRICS: Mapping[str, str] = {**METRICS, **FURTHER}

SIGNATURE = 'extern "C" __global__ void kernel(const int *a, const int *b, int *out, int n)'
"""What K stands for at the begin of a line."""
HEAD = r"""
typedef unsigned u32; typedef unsigned long long u64; typedef unsigned char u8;
#define T (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))
#define THREADS (int)(blockDim.x * blockDim.y * blockDim.z)
#define I (int)(blockIdx.x * THREADS + T)
#define ALL (int)(gridDim.x * THREADS)
#define AT(p) (u32)__cvta_generic_to_shared(p)
"""
HALF = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
GROUPS = (
    "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
    "namespace cg = cooperative_groups;\n"
)
BARRIER = r"""
__device__ __forceinline__ void start(u64 *bar) {
  if (T == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(AT(bar)));
  asm volatile("fence.proxy.async;" ::: "memory"); __syncthreads(); }
__device__ __forceinline__ void expect(u64 *bar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
    :: "r"(AT(bar)), "r"(bytes)); }
__device__ __forceinline__ void wait(u64 *bar, u32 parity) {
  asm volatile("{\n.reg .pred q;\nagain:\n"
    "mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1;\n@q bra done;\nbra again;\ndone:\n}"
    :: "r"(AT(bar)), "r"(parity) : "memory"); }
__device__ __forceinline__ void fetch(void *to, const void *from, u32 bytes, u64 *bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[%0], [%1], %2, [%3];" :: "r"(AT(to)), "l"(from), "r"(bytes), "r"(AT(bar)) : "memory"); }
"""


class At(NamedTuple):
    """A launch: blocks, threads of a block, `n`, bytes of dynamic shared memory, cluster."""

    grid: int
    block: int | tuple[int, ...]
    n: int
    shared: int = 0
    cluster: int = 0


class Kernel(NamedTuple):
    """A source and its launches.

    `free`: the order of atomics, or an approximate function's last bit, decides what it writes.
    """

    source: str
    launches: tuple[At, ...]
    free: bool = False


ODD = (At(1, 32, 29), At(2, 103, 177), At(3, (5, 7, 3), 290))
"""Launches with partial warps."""
BOTH = (At(1, 33, 7), At(2, (16, 6), 5))

KERNELS: dict[str, Kernel] = {}


def _add(name: str, source: str, *launches: At, free: bool = False) -> None:
    KERNELS[name] = Kernel(source, launches, free)


# fmt: off
# -- small elements and odd structures ---------------------------------------------------------

_add("char4 sums", r"""
K { const char4 *p = (const char4 *)a; int i = I;
  if (i < n) { char4 c = p[i * 3 + 1]; out[i] = c.x + 2 * c.y - c.z * c.w;
    ((signed char *)out)[8192 + i * 2] = c.w; } }
""", *ODD)
_add("short2 gather", r"""
K { const short2 *p = (const short2 *)a; int i = I;
  if (i < n) { short2 v = p[b[i]]; short2 w = p[b[i] ^ 1];
    ((unsigned short *)out)[3 * i] = v.x + w.y; ((short2 *)out)[4096 + (i ^ 5)] = v; } }
""", *ODD)
_add("half2 axpy", HALF + r"""
K { const u32 *p = (const u32 *)a; __half2 *to = (__half2 *)out; int i = I;
  for (; i < n; i += ALL) { u32 x = p[i] & 0x3fff3fff, y = p[i + 777] & 0x3fff3fff;
    to[i] = __hfma2(*(__half2 *)&x, __float2half2_rn(1.5f), *(__half2 *)&y); } }
""", At(1, 50, 130), At(2, 103, 500))
_add("half scattered", HALF + r"""
K { const unsigned short *p = (const unsigned short *)a; __half *to = (__half *)out; int i = I;
  if (i < n) { unsigned short h = p[b[i] * 2 + (i & 1)] & 0x3fff;
    to[i * 5] = __hmul(__ushort_as_half(h), __float2half(0.5f)); } }
""", *ODD)
_add("float3 turned", r"""
struct V { float x, y, z; };
K { const V *p = (const V *)a; V *to = (V *)out; int i = I;
  if (i < n) { V v = p[i + n % 5]; to[2 * i] = V{v.z, v.x, v.y}; } }
""", *ODD)
_add("five words", r"""
struct V { int k[5]; };
K { const V *p = (const V *)a; V *to = (V *)out; int i = I;
  if (i < n && i % 7 != 3) { V v = p[b[i] % 500]; v.k[1] += v.k[4]; to[i].k[0] = v.k[1];
    to[i].k[3] = v.k[2]; } }
""", *ODD)
_add("aligned 24", r"""
struct V { double d; int2 p; short s; char c; };
K { const V *p = (const V *)a; V *to = (V *)out; int i = I;
  if (i < n) { int at = (i * 11) % 600; to[i].p = p[at].p; to[i].s = p[at].s + p[at].c;
    to[i].c = 3; to[i].d = p[at].p.x * 0.5; } }
""", *ODD)
_add("packed seven", r"""
struct __attribute__((packed)) V { char c; short s; int v; };
K { const V *p = (const V *)a; V *to = (V *)out; int i = I;
  if (i < n) { V v = p[2 * i + 1]; v.v += v.c; to[i] = v; } }
""", *ODD)
_add("vectors in part", r"""
K { const int4 *p = (const int4 *)a; int4 *to = (int4 *)out; int i = I;
  if (i < n) { int4 v = make_int4(i, 1, 2, 3); if ((b[i] & 3) != 1) v = p[b[i] & 2047];
    if (i % 5 > 1) to[(i * 3) % 2000] = v; else out[8100 + i] = v.x ^ v.w; } }
""", *ODD)
_add("long pairs backwards", r"""
K { const longlong2 *p = (const longlong2 *)a; longlong2 *to = (longlong2 *)out; int i = I;
  if (i < n) { longlong2 v = p[n - 1 - i + (i & 8)]; to[i ^ 6] = make_longlong2(v.y, v.x); } }
""", *ODD)
_add("blur of bytes", r"""
K { const u8 *in = (const u8 *)a; u8 *to = (u8 *)out; int w = 53, h = n;
  for (int i = I; i < w * h; i += ALL) { int x = i % w, y = i / w, s = 0, m = 0;
    for (int v = -1; v <= 1; v++) for (int u = -1; u <= 1; u++)
      if (x + u >= 0 && x + u < w && y + v >= 0 && y + v < h) { s += in[(y + v) * w + x + u]; m++; }
    to[i] = s / m; } }
""", At(2, 103, 9), At(3, (5, 7, 3), 13))
_add("pixels of three bytes", r"""
K { const uchar3 *p = (const uchar3 *)a; int i = I;
  if (i < n) { uchar3 c = p[i]; ((u8 *)out)[i] = (c.x * 77 + c.y * 150 + c.z * 29) >> 8;
    ((uchar3 *)out)[1000 + i] = make_uchar3(c.z, c.y, c.x); } }
""", *ODD)
_add("flags", r"""
K { const u8 *p = (const u8 *)a; bool *to = (bool *)out; int i = I;
  if (i < n) { bool x = p[i] > 100, y = p[i * 33 % 4000] < 50; to[i + 1] = x != y;
    if (x && y) to[4000 + i] = true; } }
""", *ODD)

# -- local memory, calls -------------------------------------------------------------------------

_add("local words", r"""
K { int tab[24]; int i = I; if (i >= n) return;
  for (int k = 0; k < 24; k++) tab[k] = a[i * 24 + k];
  int at = b[i] % 24; for (int k = 0; k < 9; k++) { tab[(at + k * k) % 24] ^= k; at = tab[at] & 15; }
  out[i] = tab[at] + tab[b[i + 1] % 24]; }
""", *ODD)
_add("local bytes", r"""
K { u8 tab[40]; int i = I; if (i >= n) return; const u8 *p = (const u8 *)a;
  for (int k = 0; k < 40; k++) tab[k] = p[k + i * 3];
  for (int k = 0; k < 12; k++) { u8 x = tab[(b[i] + k) % 40]; tab[x % 40] = x + k; }
  out[i] = tab[b[i] % 40] | tab[(b[i] >> 6) % 40] << 8; }
""", *ODD)
_add("local doubles", r"""
K { double s[6]; int i = I; for (int k = 0; k < 6; k++) s[k] = k;
  if (i < n) { for (int k = 0; k < 14; k++) s[(b[i] + k * i) % 6] += a[(i + k) & 511] * 0.5;
    ((double *)out)[i] = s[b[i] % 6] - s[5]; } }
""", *ODD)
_add("local vectors", r"""
K { int4 s[5]; int i = I; if (i >= n) return;
  for (int k = 0; k < 5; k++) s[k] = ((const int4 *)a)[(i + 31 * k) & 1023];
  for (int k = 0; k < 7; k++) { int4 v = s[(b[i] >> k) % 5]; s[(v.x >> 1 & 7) % 5].y += v.z; }
  out[i] = s[b[i] % 5].y; }
""", *ODD)
_add("recursion", r"""
__device__ __noinline__ int walk(const int *a, int at, int depth) {
  if (depth == 0) return a[at & 1023];
  int left = walk(a, at * 2 + 1, depth - 1);
  return left & 1 ? left + walk(a, at * 2 + 2, depth / 2) : left ^ depth; }
K { int i = I; if (i < n) out[i] = walk(a, i, b[i] & 3); }
""", *ODD)
_add("structures returned", r"""
struct S { int v[9]; float f; };
__device__ __noinline__ S made(const int *a, int at) {
  S s; for (int k = 0; k < 9; k++) s.v[k] = a[at + k]; s.f = at * 0.5f; return s; }
__device__ __noinline__ int picked(S s, int k) { return s.v[k % 9] + (int)s.f; }
K { int i = I; if (i < n) { S s = made(a, (i * 5) & 1023); s.v[i % 9] = 7; out[i] = picked(s, b[i]); } }
""", *ODD)
_add("function pointers", r"""
__device__ __noinline__ int f0(const int *a, int i) { return a[i]; }
__device__ __noinline__ int f1(const int *a, int i) { return a[i * 2] - a[i * 2 + 1]; }
__device__ __noinline__ int f2(const int *a, int i) { return ((const short *)a)[i * 7] * 3; }
typedef int (*F)(const int *, int);
__device__ F table[3] = {f0, f1, f2};
K { int i = I; if (i < n) out[i] = table[b[i] % 3](a, i); }
""", *ODD)
_add("sort with a stack", r"""
K { int v[12], lo[8], hi[8]; int i = I; if (i >= n) return;
  for (int k = 0; k < 12; k++) v[k] = a[i * 12 + k] & 255;
  int top = 0; lo[0] = 0; hi[0] = 11;
  while (top >= 0) { int l = lo[top], h = hi[top--]; if (l >= h) continue;
    int p = v[h], m = l; for (int k = l; k < h; k++) if (v[k] < p) { int t = v[k]; v[k] = v[m]; v[m++] = t; }
    v[h] = v[m]; v[m] = p;
    if (m - l > h - m) { top++; lo[top] = l; hi[top] = m - 1; top++; lo[top] = m + 1; hi[top] = h; }
    else { top++; lo[top] = m + 1; hi[top] = h; top++; lo[top] = l; hi[top] = m - 1; } }
  for (int k = 0; k < 12; k++) out[k * 300 + i] = v[k]; }
""", *ODD)

# -- cache hints, aliases -------------------------------------------------------------------------

_add("load hints", r"""
K { int i = I; if (i >= n) return; const int *p = a + (b[i] & 511) * 2;
  int s = __ldg(p) + __ldcg(p + 1) * 2 + __ldcs(a + i * 3) + __ldlu(a + 900 + i);
  s ^= __ldcv(b + 1000 + i); int4 v = __ldg((const int4 *)a + (i ^ 3)); short w = __ldcg((const short *)a + i);
  out[i] = s + v.y + w; }
""", *ODD)
_add("store hints", r"""
K { int i = I; if (i >= n) return; int v = a[i];
  __stcg(out + i * 2, v); __stcs((short *)out + 8000 + i, (short)v); __stwt((int2 *)out + 3000 + i, make_int2(v, i));
  __stwb((u8 *)out + 40000 + i * 3, (u8)v); if (v & 1) __stcs((int4 *)out + 3000 + i, make_int4(v, v, 1, 2)); }
""", *ODD)
_add("volatile pairs", r"""
K { volatile int *p = out; int i = I; if (i >= n) return;
  int v = p[i] + p[i]; p[i] = v; p[i] = v + a[i]; out[4000 + i] = p[i] + (p[i + 4000 - 4000] & 1); }
""", *ODD)
_add("aliases", r"""
K { int i = I; if (i >= n) return; short *s = (short *)out; long long *q = (long long *)out;
  out[2 * i] = a[i]; s[4 * i + 1] = 5; long long v = q[i]; s[4 * i + 2] = (short)(v >> 16);
  out[8000 + i] = out[2 * i + 1] + (int)v; }
""", *ODD)
_add("store, then neighbours", r"""
K { int i = I; bool on = i < n; if (on) out[i] = a[i]; __syncwarp();
  int v = 0; if (on && (i ^ 1) < n && (T ^ 1) / 32 == T / 32 && (T ^ 1) < THREADS) v = out[i ^ 1];
  __syncwarp(); if (on) out[i] += v; __syncthreads(); if (on) out[5000 + i] = out[i - T + (T * 7) % (T / 32 * 0 + 1)]; }
""", At(1, 64, 61), At(1, 96, 80))
_add("restrict", r"""
extern "C" __global__ void kernel(const int *__restrict__ a, const int *__restrict__ b,
                                  int *__restrict__ out, int n) {
  int i = I; if (i >= n) return; int s = 0;
  for (int k = 0; k < 5; k++) { s += a[i + k] * b[k]; out[i * 5 + k] = s + a[i]; } }
""", *ODD)
_add("wide in assembly", r"""
K { int i = I; if (i >= n) return; u64 x, y; u32 p, q, r, s; short h; int c;
  asm volatile("ld.global.v2.b64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "l"(a + 4 * (i ^ 2)));
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(p), "=r"(q), "=r"(r), "=r"(s) : "l"(a + 8 * i));
  asm volatile("ld.global.L1::evict_last.L2::64B.s16 %0, [%1];" : "=h"(h) : "l"((const short *)a + 3 * i));
  asm volatile("ld.global.s8 %0, [%1];" : "=r"(c) : "l"((const char *)a + b[i]));
  asm volatile("st.global.v2.u16 [%0], {%1, %1};" :: "l"(out + 2 * i), "h"(h));
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(out + 1024 + 4 * i), "r"((u32)(x ^ y)), "r"(p + q), "r"(r - s), "r"(c)); }
""", *ODD)
_add("cache policies", r"""
K { int i = I; if (i >= n) return; u64 policy; int v, w;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(v) : "l"(a + 5 * i), "l"(policy));
  asm volatile("prefetch.global.L1 [%0];" :: "l"(a + 3000 + 32 * i));
  asm volatile("prefetch.global.L2::evict_last [%0];" :: "l"(a + 3000 + 8 * i));
  asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(w) : "l"(out + 9000 + i));
  asm volatile("st.release.cta.global.b32 [%0], %1;" :: "l"(out + (i ^ 1)), "r"(v + w) : "memory"); }
""", *ODD)

# -- atomics -------------------------------------------------------------------------------------

CELLS = (At(1, 32, 1), At(1, 33, 3), At(2, 50, 7), At(1, (8, 3, 4), 32))
"""Launches in which lanes meet in n cells."""

_add("global reductions", r"""
K { int i = I, c = b[i] % n; atomicAdd(out + c, i); atomicAdd((u64 *)out + 500 + c, (u64)i << 20);
  atomicAdd((float *)out + 3000 + c * 9, (float)(i & 7) * 0); atomicMax(out + 4000 + c, a[i]);
  atomicMin((u64 *)out + 2500 + c * 3, (u64)(u32)a[i]); atomicOr((u32 *)out + 6000 + c * 33, 1u << c); }
""", *CELLS)
_add("global atomics used", r"""
K { int i = I, c = b[i] % n, s = 0; s += atomicAdd(out + c * 2, 3); s ^= (int)atomicMax((u64 *)out + 500 + c, (u64)(u32)a[i]);
  s += atomicExch(out + 3000 + c, i); s += atomicCAS(out + 4000 + c * 8, 5, i); s += atomicSub(out + 5000 + c, 2);
  s += (int)atomicInc((u32 *)out + 6000 + c, 60u); s += (int)atomicExch((u64 *)out + 4000 + c, 9ull);
  out[12000 + i] = s; }
""", *CELLS, free=True)
_add("global doubles", r"""
K { int i = I; double *d = (double *)out; for (int k = I; k < 64; k += ALL) d[2000 + k] = 0; __syncthreads();
  int c = b[i] % n; if (blockIdx.x == 0) { atomicAdd(d + 2000 + c, (double)(i + 1));
    if (i % 3 == 1) { double was = atomicAdd(d + 2100 + c * 5, 0.0); out[12000 + i] = was != was; } } }
""", At(1, 32, 2), At(1, 77, 5), At(1, (8, 3, 4), 32))
_add("half atomics", HALF + r"""
K { int i = I; u32 *w = (u32 *)out; if (i < 200) { w[i] = 0; w[1000 + i] = 0; } __syncthreads();
  int c = b[i] % n; atomicAdd((__half2 *)out + c, __floats2half2_rn(1.f, (float)(i & 1)));
  atomicAdd((__nv_bfloat162 *)out + 1000 + c * 2, __floats2bfloat162_rn((float)(i & 1), 1.f));
  if (i & 2) atomicAdd((__half *)out + 200 + c * 3, __float2half(1.f)); }
""", At(1, 32, 1), At(1, 33, 3), At(1, 100, 7), At(1, (8, 3, 4), 32))
_add("vector atomics", r"""
K { int i = I; float *f = (float *)out; for (int k = T; k < 1024; k += THREADS) f[k] = 0; __syncthreads();
  int c = b[i] % n; atomicAdd((float2 *)f + c * 3, make_float2(1.f, (float)(i & 3)));
  if (i % 3) atomicAdd((float4 *)f + 128 + c, make_float4(1.f, 2.f, (float)(i & 1), 0.f));
  float2 was = atomicAdd((float2 *)f + 400 + (i & 63), make_float2(0.f, 0.f)); out[9000 + i] = was.x == was.y; }
""", At(1, 32, 1), At(1, 33, 3), At(1, (8, 3, 4), 32))
_add("cas of doubles", r"""
K { int i = I; if (T >= 32) return; u64 *p = (u64 *)out + 32 * blockIdx.x + b[i] % n; u64 old = *p, seen;
  do { seen = old; old = atomicCAS(p, seen, (u64)__double_as_longlong(__longlong_as_double(seen) * 0 + i)); }
  while (old != seen); }
""", At(1, 32, 1), At(2, 32, 3), At(1, 32, 9), free=True)
_add("cas of shorts", r"""
K { int i = I; unsigned short *p = (unsigned short *)out; int c = b[i] % n;
  unsigned short was = atomicCAS(p + c * 3, p[c * 3 + 1], (unsigned short)i); out[9000 + i] = was != 0x7777; }
""", At(1, 32, 5), At(1, 31, 31), free=True)
_add("aggregated", r"""
K { int i = I; int v = i < 8000 ? a[i] : 0; if (i < 4 * n && v % 3 == 0) {
    u32 on = __activemask(), me = T & 31; int lead = __ffs(on) - 1, base = 0;
    if (me == lead) base = atomicAdd(out + blockIdx.x * 8 + T / 32, __popc(on)); base = __shfl_sync(on, base, lead);
    out[1000 + (blockIdx.x * 8 + T / 32) * 200 + base + __popc(on & ((1u << me) - 1))] = v; } }
""", At(1, 32, 9), At(2, 103, 48))
_add("shared words, atomics", r"""
K { __shared__ u32 s[256]; for (int k = T; k < 256; k += THREADS) s[k] = a[k] & 31; __syncthreads();
  int i = I, c = b[i] % n; atomicAdd(&s[c], (u32)i); atomicMin((int *)&s[32 + c * 4], i); atomicAnd(&s[200 + (c & 15)], ~(u32)i);
  u32 old = atomicXor(&s[(c * 32 + 9) & 255], 0u); old += atomicDec(&s[190], 50u); atomicExch(&s[180 + (c & 7)], 7u);
  __syncthreads(); for (int k = T; k < 256; k += THREADS) out[blockIdx.x * 256 + k] = s[k]; out[8000 + i] = old != 9999u; }
""", *CELLS, free=True)
_add("shared longs, atomics", r"""
K { __shared__ u64 s[96]; for (int k = T; k < 96; k += THREADS) s[k] = (u64)(u32)a[k]; __syncthreads();
  int i = I, c = b[i] % n; if (T < 32) atomicAdd(&s[c], (u64)i << 33); u64 old = atomicExch(&s[32 + c], 12345ull);
  if (i % 3 != 1) old += atomicCAS(&s[64 + c], 5ull, (u64)i); if (T < 32) atomicMax(&s[(c + 7) & 31], 1ull);
  __syncthreads(); for (int k = T; k < 96; k += THREADS) ((u64 *)out)[blockIdx.x * 96 + k] = s[k];
  out[8000 + i] = old != 77777ull; }
""", *CELLS, free=True)
_add("shared floats, atomics", r"""
K { __shared__ float f[64]; __shared__ double d[64]; for (int k = T; k < 64; k += THREADS) { f[k] = 0; d[k] = k; }
  __syncthreads(); if (T < 32) { int c = b[T] % n; atomicAdd(&f[c], (float)(T + 1)); if (T & 5) atomicAdd(&d[c * 2], 2.0); }
  __syncthreads(); for (int k = T; k < 64; k += THREADS) { ((float *)out)[k] = f[k]; ((double *)out)[500 + k] = d[k]; } }
""", At(1, 32, 1), At(1, 33, 3), At(1, 50, 7), At(1, (8, 3, 4), 32))
_add("shared halves, atomics", HALF + r"""
K { __shared__ __half2 h[32]; __shared__ __nv_bfloat162 q[32]; if (T < 32) { h[T] = __float2half2_rn(0.f); q[T] = __float2bfloat162_rn(0.f); }
  __syncthreads(); if (T < 32) { int c = b[T] % n; atomicAdd(&h[c], __float2half2_rn(1.f)); if (T & 4) atomicAdd(&q[c], __float2bfloat162_rn(2.f)); }
  __syncthreads(); if (T < 32) { ((__half2 *)out)[T] = h[T]; ((__nv_bfloat162 *)out)[64 + T] = q[T]; } }
""", At(1, 32, 1), At(1, 40, 5), At(1, (8, 3, 4), 32))
_add("scopes", r"""
K { __shared__ int s[40]; if (T < 40) s[T] = T; __syncthreads(); int i = I, c = b[i] % n;
  atomicAdd_block(out + c, 1); atomicAdd_system(out + 100 + c * 2, 2); atomicMax_block(&s[c], i); atomicOr_system(&s[c & 7], 64);
  __syncthreads(); if (T < 40) out[1000 + blockIdx.x * 40 + T] = s[T]; }
""", At(1, 64, 1), At(2, 50, 7), At(1, (8, 5, 4), 32))
_add("reductions in assembly", r"""
K { __shared__ u32 s[64]; if (T < 64) s[T] = 0; __syncthreads(); int i = I, c = b[i] % n;
  asm volatile("red.global.add.v2.f32 [%0], {%1, %1};" :: "l"((float2 *)out + c), "f"(0.f) : "memory");
  asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" :: "l"(out + 500 + c), "r"(i) : "memory");
  asm volatile("red.shared.or.b32 [%0], %1;" :: "r"(AT(s + c)), "r"(1 << (i & 7)) : "memory");
  asm volatile("red.shared.inc.u32 [%0], %1;" :: "r"(AT(s + 32 + (c & 15))), "r"(1000) : "memory");
  u32 old; asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(out + 700 + c), "r"(99) : "memory");
  __syncthreads(); if (T < 64) out[1000 + T] = s[T]; out[2000 + i] = old > 200; }
""", At(1, 64, 1), At(1, 65, 7), At(1, (8, 5, 4), 32), free=True)
_add("exchange of sixteen bytes", r"""
K { int i = I, c = b[i] % n; u64 x = i, y = 2 * i, p, q;
  asm volatile("{.reg .b128 d, s; mov.b128 s, {%2, %3}; atom.global.exch.b128 d, [%4], s; mov.b128 {%0, %1}, d;}"
    : "=l"(p), "=l"(q) : "l"(x), "l"(y), "l"((longlong2 *)out + c) : "memory");
  out[9000 + i] = p == q; }
""", At(1, 32, 32), At(1, 32, 5), free=True)
_add("generic in parts", r"""
K { __shared__ int s[128]; for (int k = T; k < 128; k += THREADS) s[k] = a[k]; __syncthreads(); int i = I;
  int *p = b[i] % 3 == 0 ? &s[(i * 3) & 127] : out + 4 * i; int v = *p; __syncthreads();
  if (i % 5) *p = v + 1; __syncthreads(); if (T < 128) out[4000 + blockIdx.x * 128 + T] = s[T]; }
""", At(1, 32, 0), At(2, 40, 0), At(1, (5, 5, 5), 0), free=True)
_add("generic atomics in parts", r"""
K { __shared__ int s[64]; if (T < 64) s[T] = 0; __syncthreads(); int i = I, c = b[i] % n;
  int *p = a[i] & 1 ? s + c : out + c * 4; atomicAdd(p, 2); if (b[i] & 4) atomicMax(p, 3);
  __syncthreads(); if (T < 64) out[4000 + blockIdx.x * 64 + T] = s[T]; }
""", At(1, 64, 3), At(1, 67, 20), free=True)
_add("last block", r"""
__device__ u32 ticket;
K { __shared__ bool last; __shared__ int s[128]; s[T] = a[I]; __syncthreads();
  for (int k = 64; k > 0; k /= 2) { if (T < k && T + k < THREADS) s[T] += s[T + k]; __syncthreads(); }
  if (T == 0) { out[blockIdx.x] = s[0]; __threadfence(); last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1; }
  __syncthreads(); if (last) { int v = T < gridDim.x ? ((volatile int *)out)[T] : 0; s[T] = v; __syncthreads();
    if (T == 0) { int sum = 0; for (int k = 0; k < gridDim.x; k++) sum += s[k]; out[100] = sum; } } }
""", At(7, 128, 0), At(3, 77, 0))

# -- warps ---------------------------------------------------------------------------------------

_add("reductions of warps", r"""
K { int i = I; int v = a[i]; u32 m = __ballot_sync(~0u, b[i] & 1);
  if (b[i] & 1) { int s = __reduce_add_sync(m, v); u32 x = __reduce_xor_sync(m, (u32)v); out[i] = s ^ (int)x;
    if ((T & 31) == __ffs(m) - 1) out[2000 + i] = __reduce_max_sync(1u << (T & 31), v); }
  else { u32 w = ~m; out[i] = __reduce_min_sync(w, v) + (int)__reduce_or_sync(w, (u32)v & 255); } }
""", At(1, 32, 0), At(2, 96, 0), At(1, (16, 2, 3), 0))
_add("shuffles in branches", r"""
K { int i = I, v = a[i], lane = T & 31; u32 m = __ballot_sync(~0u, (b[i] & 3) != 0);
  if (b[i] & 3) { int to = 31 - __clz(m); int w = __shfl_sync(m, v, to); if (lane & 1) out[i] = w; else out[i ^ 64] = w + a[w & 1023]; }
  v += __shfl_up_sync(~0u, v, 3); out[1000 + i] = a[v & 2047] + __shfl_xor_sync(~0u, v, 21); }
""", At(1, 64, 0), At(1, (16, 2, 4), 0))
_add("groups of equals", r"""
K { int i = I, key = b[i] % n; u32 m = __match_any_sync(__activemask(), key); int lane = T & 31;
  if (lane == __ffs(m) - 1) { out[blockIdx.x * 1000 + key * 8 + (T >> 5)] = __popc(m); out[2000 + i] = a[key]; }
  else if (lane == 31 - __clz(m)) out[3000 + i / 32 * 64 + key] = i; }
""", At(1, 64, 5), At(1, 49, 3), At(2, (3, 11, 2), 40))
_add("packed in shared", r"""
K { __shared__ int s[256]; __shared__ int size[8]; int i = I, w = T / 32, lane = T & 31; if (T < 8) size[T] = 0;
  for (int k = T; k < 256; k += THREADS) s[k] = -1; __syncthreads();
  bool keep = a[i] % 5 > 0; u32 m = __ballot_sync(__activemask(), keep); int at = __popc(m & ((1u << lane) - 1));
  if (keep) s[w * 32 + at] = a[i]; if (lane == 0) size[w] = __popc(m); __syncthreads();
  int before = 0; for (int k = 0; k < w; k++) before += size[k]; if (lane < size[w]) out[blockIdx.x * 256 + before + lane] = s[w * 32 + lane]; }
""", At(1, 64, 0), At(2, 103, 0), At(1, (5, 7, 3), 0))
_add("cooperative groups", GROUPS + r"""
K { auto block = cg::this_thread_block(); auto w = cg::tiled_partition<32>(block); auto q = cg::tiled_partition<4>(w); int i = I, v = a[i] & 255;
  int s = cg::reduce(q, v, cg::plus<int>()); if (q.thread_rank() == 0) out[i / 4] = s;
  if (v % 3 == 0) { cg::coalesced_group c = cg::coalesced_threads(); int r = cg::reduce(c, v, cg::greater<int>());
    if (c.thread_rank() == 0) out[1000 + i] = r; out[2000 + i / 32 * 32 + c.thread_rank()] = c.shfl(v, 0); }
  block.sync(); out[4000 + i] = out[blockIdx.x * THREADS / 4 + T / 4]; }
""", At(1, 64, 0), At(2, 96, 0))

# -- copies ----------------------------------------------------------------------------------------

_add("copies of all sizes", r"""
K { __shared__ __align__(16) int s[1024]; for (int k = T; k < 1024; k += THREADS) s[k] = -k; __syncthreads(); int i = I;
  u32 four = b[i] % 5 == 0 ? 0 : 4, eight = b[i] & 8, sixteen = (b[i] % 3) * 8;
  if (T < 96) { asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(AT(s + T)), "l"(a + (b[i] & 1023)), "r"(four) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" :: "r"(AT(s + 128 + 2 * T)), "l"(a + 2 * (i ^ 1)), "r"(eight) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(AT(s + 512 + 4 * T)), "l"(a + 4 * (b[i] & 511)), "r"(sixteen) : "memory"); }
  asm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads(); for (int k = T; k < 1024; k += THREADS) out[blockIdx.x * 1024 + k] = s[k]; }
""", *ODD)
_add("copied rows, permuted", r"""
K { __shared__ __align__(16) int s[16 * 36]; int r = b[T / 8] % 60; __syncthreads();
  if (T < 128 && T % 9 != n) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(AT(s + T / 8 * 36 + (T % 8) * 4)), "l"(a + r * 32 + ((T % 8) ^ (T / 8 & 3)) * 4) : "memory");
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory"); __syncthreads();
  if (T < 128 && T % 9 != n) out[T] = s[T / 8 * 36 + (T % 8) * 4] + s[T / 8 * 36 + (T % 8) * 4 + 3]; }
""", At(1, 128, 4), At(1, 57, 99), At(1, (8, 13), 0))
_add("two stages", r"""
K { __shared__ __align__(16) float s[2][256]; float sum = 0; int steps = n;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;" :: "r"(AT(&s[0][T])), "l"(a + T) : "memory");
  for (int k = 0; k < steps; k++) { if (k + 1 < steps) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(AT(&s[(k + 1) & 1][T])), "l"(a + (k + 1) * THREADS + T) : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 1;" ::: "memory"); __syncthreads();
    sum += __float_as_int(s[k & 1][(T * 5 + 1) % THREADS]) & 127; __syncthreads(); }
  ((float *)out)[I] = sum; }
""", At(1, 50, 5), At(1, 103, 3), At(2, 64, 6))
_add("bulk there and back", BARRIER + r"""
K { __shared__ __align__(128) int s[1024]; __shared__ u64 bar; start(&bar); int words = n * 4;
  if (T == 0) { expect(&bar, words * 8); fetch(s, a + blockIdx.x * 200 + 4, words * 4, &bar); fetch(s + 512, a + 4096, words * 4, &bar); }
  wait(&bar, 0); for (int k = T; k < words; k += THREADS) s[k] ^= s[512 + k];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
  if (T == 0) { asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(out + blockIdx.x * 1024 + 8), "r"(AT(s)), "r"(words * 4) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory"); } }
""", At(1, 33, 7), At(2, 96, 61), At(1, 64, 120))
_add("bulk sums", BARRIER + r"""
K { __shared__ __align__(16) int s[512]; for (int k = T; k < 512; k += THREADS) s[k] = a[k] & 1023;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
  if (T == 0) { asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" :: "l"(out + 4), "r"(AT(s)), "r"(n * 16) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory"); } }
""", At(1, 64, 5), At(2, 33, 40))

# -- matrices --------------------------------------------------------------------------------------

_add("ldmatrix, odd rows", r"""
K { __shared__ __align__(16) u32 s[1024]; for (int k = T; k < 1024; k += THREADS) s[k] = a[k]; __syncthreads();
  u32 l = T & 31, p, q, r, t, at = AT(s) + 16 * ((l * n + 3) % 250), o = 0;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(p) : "r"(at)); o += p;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(p) : "r"(at)); o ^= p;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(p), "=r"(q) : "r"(at)); o += p ^ q;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(p), "=r"(q), "=r"(r), "=r"(t) : "r"(at)); o += p + q * 3 + r * 5 + t * 7;
  out[I] = o; }
""", At(1, 32, 1), At(1, 64, 5), At(1, 32, 8), At(1, 96, 17))
_add("stmatrix, odd rows", r"""
K { __shared__ __align__(16) u32 s[2048]; for (int k = T; k < 2048; k += THREADS) s[k] = k; __syncthreads();
  u32 l = T & 31, w = T / 32, at = AT(s + 1024 * w) + 16 * ((l * n) & 255), v = a[I];
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(at), "r"(v) : "memory"); __syncwarp();
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" :: "r"(at), "r"(v), "r"(v + 1) : "memory"); __syncwarp();
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" :: "r"(at), "r"(v), "r"(~v), "r"(v * 3), "r"(l) : "memory");
  __syncthreads(); for (int k = T; k < 2048; k += THREADS) out[k] = s[k]; }
""", At(1, 32, 1), At(1, 64, 5), At(1, 32, 8))
_add("mma of bytes", r"""
K { __shared__ u32 s[512]; for (int k = T; k < 512; k += THREADS) s[k] = a[k]; __syncthreads(); u32 l = T & 31; int c[4] = {1, 2, 3, 4};
  for (int k = 0; k < n; k++) asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(s[l / 4 * 8 + l % 4 + k]), "r"(s[l / 4 * 8 + 64 + l % 4]), "r"(s[l * 3 & 511]), "r"(s[l]), "r"(s[(l ^ k) + 100]), "r"(s[200 + l / 2]));
  ((int2 *)out)[T * 2] = make_int2(c[0], c[1]); ((int2 *)out)[T * 2 + 1 + 300] = make_int2(c[2], c[3]); }
""", At(1, 32, 1), At(1, 64, 4))
_add("mma of doubles", r"""
K { __shared__ double s[256]; for (int k = T; k < 256; k += THREADS) s[k] = a[k] & 63; __syncthreads(); int l = T & 31; double p = 1, q = 2;
  for (int k = 0; k < n; k++) asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(p), "+d"(q) : "d"(s[l / 4 * 9 + l % 4 + k]), "d"(s[l % 4 * 12 + l / 4 + 128]));
  ((double2 *)out)[T] = make_double2(p, q); }
""", At(1, 32, 3), At(2, 64, 5))
_add("wmma", "#include <mma.h>\nusing namespace nvcuda;\n" + HALF + r"""
K { __shared__ __align__(32) __half s[16 * 24]; for (int k = T; k < 384; k += THREADS) s[k] = __int2half_rn(a[k] & 7); __half *g = (__half *)out;
  for (int k = T; k < 512; k += THREADS) g[k] = __int2half_rn(b[k] & 3); __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x; wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c; wmma::fill_fragment(c, 1.f); wmma::load_matrix_sync(x, s, 24); wmma::load_matrix_sync(y, g, 32);
  wmma::mma_sync(c, x, y, c); __syncthreads(); if (T < 32) wmma::store_matrix_sync((float *)out + 1024, c, 20, wmma::mem_row_major); }
""", At(1, 32, 0), At(1, 64, 0))

# -- shared memory ---------------------------------------------------------------------------------

MASKS = (At(1, 32, 1), At(1, 32, 2), At(1, 50, 3), At(1, (6, 7), 9), At(1, 32, 16))
"""Launches in which b decides which lanes go, and n is a stride."""

_add("eight bytes in part", r"""
K { __shared__ u64 s[512]; for (int k = T; k < 512; k += THREADS) s[k] = ((const u64 *)a)[k]; __syncthreads(); u64 v = 0;
  if (b[T] % 3) v = s[(T * n) & 511]; if (T % 7 > 2) v += s[((T / 2) * n + 4) & 511]; __syncthreads();
  if (b[T] & 2) s[T * n & 511] = v; __syncthreads(); ((u64 *)out)[T] = v + s[511 - T]; }
""", *MASKS)
_add("sixteen bytes in part", r"""
K { __shared__ int4 s[256]; for (int k = T; k < 256; k += THREADS) s[k] = ((const int4 *)a)[k]; __syncthreads(); int4 v = make_int4(T, 0, 0, 0);
  if (b[T] % 3) v = s[(T * n) & 255]; int4 w = v; if (T % 5) w = s[(T / 2 * 2 * n + (T & 4)) & 255]; __syncthreads();
  if (b[T] & 2) s[(T * n + 1) & 255] = w; __syncthreads(); out[T] = s[255 - T].z + v.y + w.x; }
""", At(1, 32, 1), At(1, 32, 2), At(1, 50, 3), At(1, (6, 7), 5), free=True)
_add("twelve bytes shared", r"""
struct V { int x, y, z; };
K { __shared__ V s[128]; int t = T; s[t] = V{a[t], a[2 * t], b[t]}; __syncthreads(); V v = s[(t * n + 1) % THREADS]; __syncthreads();
  if (t & 3) s[t].y = v.z; __syncthreads(); out[t] = s[THREADS - 1 - t].y + v.x; }
""", *MASKS)
_add("bytes shared", r"""
K { __shared__ u8 s[64 * 50]; for (int k = 0; k < 64; k++) s[k * THREADS + T] = 0; const u8 *p = (const u8 *)a;
  for (int k = 0; k < n; k++) s[(p[T * n + k] & 63) * THREADS + T]++; __syncthreads();
  for (int k = T; k < 64; k += THREADS) { int sum = 0; for (int j = 0; j < THREADS; j++) sum += s[k * THREADS + j]; out[k] = sum; } }
""", At(1, 32, 9), At(1, 50, 5), At(1, (6, 7), 12))
_add("shorts turned", r"""
K { __shared__ short s[33][34]; const short *p = (const short *)a; int w = 33; for (int k = T; k < w * w; k += THREADS) s[k / w][k % w] = p[k]; __syncthreads();
  for (int k = T; k < w * w; k += THREADS) ((short *)out)[k] = s[k % w][k / w]; }
""", *BOTH)
_add("carved", r"""
extern __shared__ __align__(16) u8 space[];
K { double *d = (double *)space; int *w = (int *)(d + THREADS); u8 *c = (u8 *)(w + 2 * THREADS); int t = T, m = THREADS;
  d[t] = a[t]; w[t] = b[t]; w[m + t] = b[2 * t]; c[t] = (u8)a[t]; __syncthreads();
  int at = w[t] % m; out[t] = (int)d[at] + w[m + (t * 3) % m] + c[(t * 5) % m]; ((double *)out)[1000 + t] = d[m - 1 - t]; }
""", At(1, 33, 0, 33 * 17 + 8), At(1, 103, 0, 103 * 17 + 8), At(1, (5, 7, 3), 0, 1800))
_add("turned in three", r"""
K { __shared__ int s[8][8][9]; int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z; s[z][y][x] = a[I]; __syncthreads();
  int v = 0; if (x < blockDim.z && z < blockDim.x) v = s[x][y][z]; __syncthreads(); if (y & 1) s[z][y][x] = v; __syncthreads(); out[I] = s[z][blockDim.y - 1 - y][x] + v; }
""", At(1, (4, 3, 4), 0), At(2, (7, 5, 3), 0), At(1, (3, 2, 8), 0))
_add("volatile shared", r"""
K { __shared__ volatile int s[64]; int t = T; s[t] = a[t]; __syncwarp(); int v = s[t] + s[t];
  for (int k = 1; k < 8; k *= 2) { int w = s[t ^ k]; __syncwarp(); s[t] = w + v; __syncwarp(); } out[t] = s[t]; }
""", At(1, 32, 0), At(1, 64, 0))
_add("bitonic", r"""
K { __shared__ int s[64]; int t = T; s[t] = a[I] & 65535; __syncthreads();
  for (int k = 2; k <= 64; k *= 2) for (int j = k / 2; j > 0; j /= 2) { int o = t ^ j;
    if (o > t && (s[t] > s[o]) == ((t & k) == 0)) { int x = s[t]; s[t] = s[o]; s[o] = x; } __syncthreads(); }
  out[I] = s[t]; }
""", At(1, 64, 0), At(2, (8, 8), 0))
_add("unrolled by three", r"""
K { __shared__ float s[300]; for (int k = T; k < 300; k += THREADS) s[k] = a[k] & 15; __syncthreads(); float x = 0, y = 0;
  _Pragma("unroll 3") for (int k = 0; k < n; k++) { x += s[(T + k) % 300] * s[k]; y -= s[(2 * k) % 300]; }
  ((float *)out)[I] = x + y; }
""", At(1, 33, 10), At(1, 64, 22))
_add("odd-even in place", r"""
K { __shared__ int s[2 * 48 + 1]; s[2 * T] = a[2 * T] % 99; s[2 * T + 1] = a[2 * T + 1] % 99; __syncthreads();
  for (int r = 0; r < n; r++) { int k = 2 * T + (r & 1); if (k + 1 < 2 * THREADS && s[k] > s[k + 1]) { int x = s[k]; s[k] = s[k + 1]; s[k + 1] = x; } __syncthreads(); }
  ((int2 *)out)[T] = make_int2(s[2 * T], s[2 * T + 1]); }
""", At(1, 40, 7), At(1, (6, 8), 12))

# -- constants, control flow -------------------------------------------------------------------------

_add("constants, divergent", r"""
__constant__ int table[64] = {5, 3, 8, 1, 9, 2, 7, 7, 4, 6}; __constant__ struct { short s[4]; double d; } c = {{1, 2, 3, 4}, 0.5};
K { int i = I; if (i >= n) return; const int *p = b[i] & 1 ? table : a; out[i] = table[b[i] & 63] + c.s[i & 3] + p[i & 31];
  ((double *)out)[1000 + i] = c.d * table[i % 10]; }
""", *ODD)
_add("return before the barrier", r"""
K { __shared__ int s[128]; int t = T; s[t] = a[I]; if (t >= n) return; __syncthreads(); int v = s[(t * 3) % n];
  if (v % 4 == 0) return; out[I] = v; __syncthreads(); out[1000 + I] = s[t] + v; }
""", At(1, 103, 77), At(2, 64, 40), At(1, (5, 7, 3), 90))
_add("named barriers", r"""
K { __shared__ int s[2][64]; int t = T, w = t / 32, lane = t & 31;
  for (int k = 0; k < n; k++) { int h = k & 1;
    if (w < 2) { if (k > 1) asm volatile("bar.sync %0, 128;" :: "r"(3 + h) : "memory"); s[h][t] = a[k * 64 + t]; asm volatile("bar.arrive %0, 128;" :: "r"(1 + h) : "memory"); }
    else { asm volatile("bar.sync %0, 128;" :: "r"(1 + h) : "memory"); out[k * 64 + t - 64] = s[h][63 - (t - 64)] + s[h][lane]; if (k + 2 < n) asm volatile("bar.arrive %0, 128;" :: "r"(3 + h) : "memory"); } } }
""", At(1, 128, 3), At(1, (32, 4), 6))
_add("switch of twelve", r"""
K { int i = I; if (i >= n) return; int v = a[i], r = 0;
  switch (b[i] % 12) { case 0: r = a[v & 255]; break; case 1: r = a[i * 2]; out[2000 + i] = 1; break; case 2: r = ((const short *)a)[i]; break;
    case 3: out[3000 + (v & 63)] = 5; case 4: r = v * 3; break; case 5: r = b[v & 127] + b[i + 9]; break; case 6: r = ((const u8 *)a)[i * 3]; break;
    case 7: r = 7; break; case 8: for (int k = 0; k < (v & 3); k++) r += a[i + k]; break; case 9: r = a[b[i + 1]]; break; case 10: out[4000 + i] = v; break; default: r = -1; }
  out[i] = r; }
""", *ODD)
_add("interpreter", r"""
K { int i = I; if (i >= n) return; int acc = i, at = i & 15; const u8 *code = (const u8 *)a;
  for (int step = 0; step < 14; step++) { u8 op = code[(at * 5 + step) & 255];
    switch (op % 7) { case 0: acc += a[acc & 511]; break; case 1: acc ^= op; break; case 2: out[1000 + i] = acc; break; case 3: at = (at + op) & 63; break;
      case 4: acc = out[1000 + i] - 1; break; case 5: if (acc & 1) step += 2; break; default: acc >>= 1; } }
  out[i] = acc; }
""", *ODD)
_add("conditions", r"""
K { int i = I; if (i >= n) return; if (a[i] > 0 && b[a[i] & 1023] % 2 && out[i] != 3) out[2000 + i] = 1;
  int v = b[i] % 3 == 0 ? a[i + 5] : b[i] % 3 == 1 ? b[i + 7] : out[4000 + i]; if (v < 0 || a[i * 2] < 0) v = -v; out[i] = v; }
""", *ODD)
_add("break and continue", r"""
K { int i = I, s = 0; for (int k = i; k < n; k += ALL) { int v = a[k]; if (v % 5 == 0) continue; for (int j = 0; j < 6; j++) { int w = b[(k + j * 50) & 2047]; if (w % 11 == 3) break; s += w; if (w & 1) continue; s ^= a[w]; }
    if (v % 17 == 1) break; out[k] = s; } }
""", At(1, 33, 200), At(2, 103, 900), At(1, (5, 7, 3), 333))
_add("goto", r"""
K { int i = I; if (i >= n) return; int v = a[i] & 127, k = 0;
again: k++; if (v & 1) { v = b[v] & 127; if (k < 6) goto again; goto end; } v /= 2; out[1000 + i] = v; if (v > 9 && k < 6) goto again;
end: out[i] = v * 100 + k; }
""", *ODD)
_add("pointers chased", r"""
K { int i = I; if (i >= n) return; int at = i, k = 0; while (k < 20 && b[at] % 9) { at = b[at]; k++; } out[i] = at; ((u8 *)out)[30000 + i] = k; }
""", *ODD)
_add("memory functions", r"""
K { int i = I; if (i >= n) return; u8 buf[24]; const u8 *p = (const u8 *)a; memcpy(buf, p + i * 24, 24); memset(buf + 5, 3, 6);
  memcpy((u8 *)out + i * 24, buf, 24); memset(out + 6000 + i * 3, i, 12); memcpy(out + 8000 + i * 2, a + (b[i] & 1023) * 2, 8);
  memcpy((u8 *)out + 40000 + i * 5, p + i * 7, b[i] & 3); out[12000 + i] = buf[b[i] % 24]; }
""", *ODD)
_add("stencil of doubles", r"""
K { double *d = (double *)out; for (int k = I; k < 600; k += ALL) d[k] = a[k] & 255; __syncthreads(); int i = I; if (i < 1 || i >= n || blockIdx.x) return;
  double v = d[i - 1] * 0.25 + d[i] * 0.5 + d[i + 1] * 0.25; d[2000 + i] = v; if (v > 100) d[3000 + i * 2] = v - 100; }
""", At(1, 103, 99), At(1, (5, 7, 3), 60))
_add("complex doubles", r"""
K { const int4 *p = (const int4 *)a; double2 *to = (double2 *)out; int i = I; if (i >= n) return;
  int4 v = p[i * 2]; double x = v.x & 63, y = v.y & 63, u = v.z & 63, w = v.w & 63; to[i] = make_double2(x * u - y * w, x * w + y * u); to[500 + i * 3] = make_double2(x, w); }
""", *ODD)
_add("dot of bytes", r"""
K { int row = I / 4, q = I & 3, s = 0; if (row < n) for (int k = q; k < 23; k += 4) s = __dp4a(a[row * 23 + k], b[k], s);
  s += __shfl_xor_sync(~0u, s, 1); s += __shfl_xor_sync(~0u, s, 2); if (row < n && q == 0) out[row] = s; }
""", At(1, 64, 13), At(2, 96, 41))
_add("grid strides", r"""
K { for (int i = I; i < n; i += ALL) { int4 v = ((const int4 *)a)[i]; out[i * 2] = v.x + v.w; if (v.y & 4) out[i * 2 + 1] = b[i & 1023]; } }
""", At(1, 33, 300), At(3, 103, 1000), At(2, (5, 7, 3), 777))

# -- clusters --------------------------------------------------------------------------------------

CLUSTER = (At(2, 64, 0, 0, 2), At(4, 50, 0, 0, 4))
JOIN = "#define JOIN { __cluster_barrier_arrive(); __cluster_barrier_wait(); }\n"

_add("others' rows", JOIN + r"""
K { __shared__ int s[128]; __shared__ int4 w[64]; int t = T; s[t] = a[I]; w[t & 63] = make_int4(t & 63, 1, 2, 3); JOIN
  u32 blocks = __clusterDim().x, r = (__clusterRelativeBlockRank() + 1 + (t & 1)) % blocks;
  int *p = (int *)__cluster_map_shared_rank(s, r); int4 *q = (int4 *)__cluster_map_shared_rank(w, (b[t] & 3) % blocks);
  int v = p[(t * 5) % THREADS] + q[(t * 3) & 31].x; out[I] = v; JOIN }
""", *CLUSTER)
_add("stored at others'", JOIN + r"""
K { __shared__ int s[256]; int t = T; for (int k = t; k < 256; k += THREADS) s[k] = -1; JOIN
  u32 blocks = __clusterDim().x, me = __clusterRelativeBlockRank(); int *p = (int *)__cluster_map_shared_rank(s, (me + 1) % blocks);
  if (b[t] % 3) p[t * 2] = a[I]; JOIN for (int k = t; k < 256; k += THREADS) out[blockIdx.x * 256 + k] = s[k]; JOIN }
""", *CLUSTER)
_add("added at the first", JOIN + r"""
K { __shared__ int s[64]; int t = T; if (t < 64) s[t] = 0; JOIN
  u32 me = __clusterRelativeBlockRank(); if (me == 1) { int *p = (int *)__cluster_map_shared_rank(s, 0); if (a[I] & 3) atomicAdd(p + (b[I] & 15), 2); }
  JOIN if (t < 64) out[blockIdx.x * 64 + t] = s[t]; JOIN }
""", *CLUSTER)


# -- written after the first record, before the rules that it led to were tried on them ------------

_add("while and continue", r"""
K { int i = I, k = 0, v = b[i & 1023] & 63, s = 0; if (i >= n) return;
  while (k < 8) { k++; if (v & 1) { s += a[v]; v = v * 3 + 1; continue; } out[2000 + i * 2] = v; v /= 2; if (v == 0) break; }
  out[i] = s + v; }
""", *ODD)
_add("continue twice", r"""
K { int i = I, k = 0, v = b[i & 1023] & 255; if (i >= n) return;
  while (true) { if (++k > 7) break; if (v % 3 == 0) { v = b[v] & 255; continue; } if (v % 3 == 1) { out[3000 + i] = v; v++; continue; } v = a[v + k] & 255; }
  out[i] = v + k; }
""", *ODD)
_add("for, continue and break", r"""
K { int i = I, s = 0; if (i >= n) return;
  for (int k = 0; k < 6; k++) { int v = b[(i * 5 + k * 7) & 1023]; if (v % 4 == 0) continue; if (v % 7 == 1) break; s += a[v & 511]; }
  out[i] = s; }
""", *ODD)
_add("continue in two loops", r"""
K { int i = I, s = 0, v = b[i & 1023]; if (i >= n) return; int r = 0;
  while (r++ < 4) { if ((v >> r) & 1) continue; int k = 0;
    while (k++ < 3) { if ((v >> (r + k)) & 1) continue; s += a[(v + k * r) & 1023]; if (s & 8) break; }
    out[4000 + (i * 4 + r)] = s; }
  out[i] = s; }
""", *ODD)
_add("three arrays by lane", r"""
__device__ int more[256];
K { int i = I; if (i < 256) more[i] = i * 3; __syncthreads(); if (i >= n) return; int w = b[i & 1023] % 4;
  int *p = w == 0 ? out + 5000 : w == 1 ? more : (int *)a; int v = p[i & 127]; if (w < 2) p[128 + (i & 31) * 2] = v; out[i] = v; }
""", *ODD, free=True)
_add("atomics on either", r"""
__device__ u32 more[512];
K { int i = I; u32 *p = b[i & 1023] & 1 ? more : (u32 *)out; if (i < n) { atomicAdd(p + (b[i & 1023] >> 1 & 7) * 9, 2u); u32 was = atomicMax(p + 100 + (i & 15) * 3, 7u); out[4000 + i] = was; } }
""", *ODD, free=True)
_add("longs in parts", r"""
K { __shared__ u64 s[48]; if (T < 48) s[T] = 0; __syncthreads(); int i = I, c = b[i & 1023] % 11;
  u64 *p = a[i] & 1 ? s + c * 2 : (u64 *)out + 100 + c * 3; atomicAdd(p, 3ull); if (b[i & 1023] & 4) atomicExch(p, 3ull); if (a[i] & 8) atomicCAS(p, 3ull, 4ull);
  __syncthreads(); if (T < 48) out[4000 + blockIdx.x * 48 + T] = (int)s[T]; }
""", At(1, 64, 3), At(1, 67, 20), free=True)
_add("read in parts", r"""
K { __shared__ int s[64]; int local[8]; for (int k = 0; k < 8; k++) local[k] = k * n; if (T < 64) s[T] = T; __syncthreads(); int i = I, w = b[i & 1023] % 3;
  const int *p = w == 0 ? s : w == 1 ? a + 40 : local; int v = p[b[i & 1023] & 7]; int *q = w == 0 ? s + 32 : out + 900; if (w < 2) q[i & 31] = v; __syncthreads(); out[i] = v + s[i & 63]; }
""", At(1, 64, 3), At(1, 50, 20), free=True)
_add("other 2-byte atomics", HALF + r"""
K { int i = I; u32 *w = (u32 *)out; for (int k = T; k < 600; k += THREADS) w[k] = 0; __syncthreads(); int c = b[i & 1023] % n;
  atomicAdd((__nv_bfloat16 *)out + c * 5, __float2bfloat16(1.f)); if (i % 5) { __half was = atomicAdd((__half *)out + 400 + c * 2, __float2half(2.f)); out[1000 + i] = __half2int_rn(was) & 0; } }
""", At(1, 32, 2), At(1, 31, 9), free=True)
_add("2-byte atomics in shared memory", HALF + r"""
K { __shared__ u32 s[128]; for (int k = T; k < 128; k += THREADS) s[k] = 0; __syncthreads(); int i = I, c = b[i & 1023] % n;
  if (T < 32) atomicAdd((__half *)s + c * 3, __float2half(1.f)); __syncthreads(); if (T < 32 && i % 3) atomicAdd((__nv_bfloat16 *)s + 100 + c, __float2bfloat16(1.f));
  __syncthreads(); if (T < 32) atomicCAS((unsigned short *)s + 180 + c, (unsigned short)0, (unsigned short)(i + 1)); __syncthreads();
  for (int k = T; k < 128; k += THREADS) out[k] = s[k]; }
""", At(1, 32, 1), At(1, 32, 4), At(1, (6, 7), 9), free=True)
_add("wmma by columns", "#include <mma.h>\nusing namespace nvcuda;\n" + HALF + r"""
K { __shared__ __align__(32) __half s[16 * 40]; for (int k = T; k < 640; k += THREADS) s[k] = __int2half_rn(a[k] & 7); __half *g = (__half *)out;
  for (int k = T; k < 700; k += THREADS) g[k] = __int2half_rn(b[k] & 3); __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::col_major> x; wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> y; wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> z;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c; wmma::fill_fragment(c, 1.f); wmma::load_matrix_sync(x, g, 24); wmma::load_matrix_sync(y, s, 40); wmma::load_matrix_sync(z, g, 40);
  wmma::mma_sync(c, x, y, c); wmma::mma_sync(c, x, z, c); __syncthreads(); if (T < 32) wmma::store_matrix_sync((float *)out + 1024, c, 16, wmma::mem_col_major); }
""", At(1, 32, 0), At(1, 64, 0))
_add("wmma of bytes", "#include <mma.h>\nusing namespace nvcuda;\n" + r"""
K { __shared__ __align__(32) signed char s[16 * 48]; for (int k = T; k < 768; k += THREADS) s[k] = a[k] & 7;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> x; wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> y; wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> z;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> c; wmma::fill_fragment(c, 1); __syncthreads(); wmma::load_matrix_sync(x, (const signed char *)a, 32); wmma::load_matrix_sync(y, (const signed char *)b, 16); wmma::load_matrix_sync(z, s, 48);
  wmma::mma_sync(c, x, y, c); wmma::mma_sync(c, x, z, c); if (T < 32) wmma::store_matrix_sync(out + 1024, c, 20, wmma::mem_row_major); }
""", At(1, 32, 0), At(1, 64, 0))
_add("odd shared layout", r"""
__constant__ short c1[5] = {1, 2, 3, 4, 5}; __constant__ double c2[6] = {.5, 1.5}; __constant__ char c3[7] = {7}; __constant__ int c4[40] = {9, 8};
K { __shared__ char flag[3]; __shared__ int s[70]; __shared__ double d[33]; int t = T; if (t < 3) flag[t] = t; for (int k = t; k < 70; k += THREADS) s[k] = a[k]; for (int k = t; k < 33; k += THREADS) d[k] = k; __syncthreads();
  const char *p = b[I & 1023] & 1 ? (const char *)s : flag; int v = p[t % 3] + s[(t * 3) % 70] + (int)d[(t * 2) % 33]; int i = I; if (i < n) out[i] = v + c1[i % 5] + (int)c2[b[i & 1023] % 6] + c3[i % 7] + c4[b[i & 1023] % 40]; }
""", *ODD)

# -- registers that spill -------------------------------------------------------------------------

FEW = '\nextern "C" __global__ void __launch_bounds__(1024, 2) kernel(const int *a, const int *b, int *out, int n)'
"""With 32 registers a thread."""

_add("spills, straight", FEW + r""" { int s[52];
  for (int k = 0; k < 52; k++) s[k] = a[(I + k * 67) & 16383];
  int x = b[n & 4095]; for (int k = 0; k < 52; k++) x = (x ^ s[(k * 11) % 52]) * 33 + s[(k * 7 + 3) % 52]; out[I] = x; }
""", At(1, 32, 3), At(2, 77, 5))
_add("spills in a loop", FEW + r""" { float s[48]; const float *f = (const float *)b;
  for (int k = 0; k < 48; k++) s[k] = (a[I + k * 64] & 255) * 0.01f;
  for (int j = 0; j < n; j++) { for (int k = 0; k < 48; k++) s[k] = s[k] * (b[j * 48 + k] & 3) + s[(k + 7) % 48]; }
  for (int k = 0; k < 48; k++) out[I + k * 128] = (int)s[k]; }
""", At(1, 32, 5), At(1, 77, 3))
_add("spills around a loop", FEW + r""" { int s[40], x = 0;
  for (int k = 0; k < 40; k++) s[k] = a[(I * 3 + k * 65) & 16383];
#pragma unroll 1
  for (int j = 0; j < n; j++) { int y = b[(x + j) & 4095];
#pragma unroll 1
    for (int k = 0; k < (y & 3); k++) x += a[(y + k * 37 + I) & 16383]; x ^= y; }
  for (int k = 0; k < 40; k++) x = x * 5 + s[(k * 9) % 40]; out[I] = x; }
""", At(1, 32, 6), At(2, 45, 4))
_add("spills of some lanes", FEW + r""" { int x = a[I]; if (b[I & 4095] % 3 == 1) { int s[44];
    for (int k = 0; k < 44; k++) s[k] = a[(x + k * 67) & 16383];
    for (int k = 0; k < 44; k++) x = (x ^ s[(k * 13) % 44]) * 3 + s[(k * 7 + 3) % 44]; }
  else x *= n; out[I] = x; }
""", At(1, 64, 7), At(2, 77, 9))
_add("spilled doubles", FEW + r""" { double s[26]; for (int k = 0; k < 26; k++) s[k] = a[(I + k * 67) & 16383];
  for (int j = 0; j < n; j++) for (int k = 0; k < 26; k++) s[k] = s[k] * 0.5 + s[(k + 11) % 26];
  double x = 0; for (int k = 0; k < 26; k++) x += s[k]; out[I] = (int)x; }
""", At(1, 32, 3), At(2, 77, 2))
_add("spills and a local array", FEW + r""" { int s[40], t[9]; for (int k = 0; k < 9; k++) t[k] = k; for (int k = 0; k < 9; k++) t[(b[k] + k) % 9] = a[I + k];
  for (int k = 0; k < 40; k++) s[k] = a[(I + k * 67) & 16383];
  int x = n; for (int k = 0; k < 40; k++) x = (x ^ s[(k * 11) % 40]) * 33 + t[(unsigned)x % 9u]; out[I] = x; }
""", At(1, 32, 3), At(2, 77, 5))
_add("a tile whose sums spill", r"""
extern "C" __global__ void __launch_bounds__(64, 32) kernel(const int *a, const int *b, int *out, int n)
{ __shared__ int s[64 * 9], t[8 * 64]; int sums[36], y = T / 8, x = T % 8; for (int k = 0; k < 36; k++) sums[k] = 0;
  for (int tile = 0; tile < n; tile++) { for (int k = 0; k < 8; k++) { s[T * 9 + k] = a[(T * 64 + tile * 8 + k) & 16383]; t[k * 64 + T] = b[(tile * 512 + k * 64 + T) & 4095]; } __syncthreads();
    for (int k = 0; k < 8; k++) for (int i = 0; i < 6; i++) for (int j = 0; j < 6; j++) sums[i * 6 + j] += s[(y * 8 + i) * 9 + k] * t[k * 64 + x * 8 + j];
    __syncthreads(); }
  for (int i = 0; i < 36; i++) out[T * 40 + i] = sums[i]; }
""", At(1, 64, 3), At(2, 64, 2))
_add("spills and calls", r"""
__device__ __noinline__ int mixed(int x, const int *a) { for (int k = 0; k < (x & 3); k++) x += a[(x + k) & 16383]; return x * 3; }
extern "C" __global__ void __launch_bounds__(1024, 2) kernel(const int *a, const int *b, int *out, int n)
{ int s[40]; for (int k = 0; k < 40; k++) s[k] = a[(I + k * 67) & 16383];
  int x = mixed(b[I & 4095], a); for (int k = 0; k < 40; k++) x = (x ^ s[(k * 11) % 40]) * 33 + s[(k * 7 + 3) % 40]; out[I] = mixed(x, a) + n; }
""", At(1, 32, 3), At(2, 77, 5))
_add("spills in an unrolled loop", FEW + r""" { int s[36], x = 0; for (int k = 0; k < 36; k++) s[k] = a[(I * 3 + k * 65) & 16383];
#pragma unroll 4
  for (int j = 0; j < n; j++) { x += a[(I + j * 33) & 16383] * s[j & 1 ? 3 : 5]; for (int k = 0; k < 36; k++) s[k] = s[k] * 3 + x; }
  for (int k = 0; k < 36; k++) x = x * 5 + s[(k * 9) % 36]; out[I] = x; }
""", At(1, 32, 11), At(2, 45, 6))
_add("spills in inner loops", FEW + r""" { int s[30], x = 0; for (int k = 0; k < 30; k++) s[k] = a[(I * 5 + k * 65) & 16383];
  for (int j = 0; j < n; j++) { for (int k = 0; k < 30; k++) s[k] += x; int stop = b[(j + x) & 4095] % 3;
    for (int i = 0; i < stop; i++) { for (int k = 0; k < 30; k++) s[k] = s[k] * 3 + s[(k + 11) % 30]; x += s[i]; } x ^= s[7]; }
  for (int k = 0; k < 30; k++) x = x * 5 + s[(k * 7) % 30]; out[I] = x; }
""", At(1, 32, 7), At(2, 45, 4))
_add("spills around branches", FEW + r""" { int s[40], x = n; for (int k = 0; k < 40; k++) s[k] = a[(I + k * 67) & 16383];
  for (int k = 0; k < 40; k++) { if (s[k] & 1) x += s[(k * 3) % 40]; else x ^= s[(k * 7) % 40] * 5; if ((x & 15) == 3) x += b[(x >> 4) & 4095]; }
  for (int k = 0; k < 40; k++) x = x * 3 + s[(k * 11) % 40]; out[I] = x; }
""", At(1, 32, 7), At(2, 77, 4))
_add("spills and barriers", FEW + r""" { __shared__ float t[128 * 5]; float s[40]; for (int k = 0; k < 40; k++) s[k] = (b[(I + k * 67) & 4095] & 63) * .5f;
  for (int j = 0; j < n; j++) { for (int k = 0; k < 5; k++) t[T * 5 + k] = s[k * 8]; __syncthreads(); float y = t[((T * 3 + j) % THREADS) * 5]; __syncthreads();
    for (int k = 0; k < 40; k++) s[k] = s[k] * y + s[(k + 9) % 40]; }
  float x = 0; for (int k = 0; k < 40; k++) x += s[k]; out[I] = (int)x; }
""", At(1, 64, 3), At(2, 77, 2))
_add("spills of float4", FEW + r""" { const int4 *p = (const int4 *)a; int4 s[11]; for (int k = 0; k < 11; k++) s[k] = p[(I + k * 67) & 4095]; int x = n;
  while (x != 0) { int4 v = s[0]; for (int k = 0; k < 10; k++) { s[k].x += s[k + 1].y ^ x; s[k].w -= s[k + 1].z; } s[10] = v; x--; if (v.x & 1) continue; s[3].x += p[(v.y >> 3) & 4095].x; }
  for (int k = 0; k < 11; k++) x += s[k].x ^ s[k].y * 3 ^ s[k].z ^ s[k].w; out[I] = x; }
""", At(1, 32, 5), At(2, 45, 3))
_add("spills in a switch", FEW + r""" { int s[36], x = 0; for (int k = 0; k < 36; k++) s[k] = a[(I + k * 67) & 16383];
  for (int j = 0; j < n; j++) switch (b[(I * 3 + j) & 4095] % 4) { case 0: for (int k = 0; k < 36; k++) s[k] += s[(k + 5) % 36]; break; case 1: x += s[3] * s[4]; case 2: for (int k = 0; k < 36; k++) s[k] ^= x; break; default: x -= j; }
  for (int k = 0; k < 36; k++) x = x * 3 + s[(k * 11) % 36]; out[I] = x; }
""", At(1, 32, 4), At(2, 45, 3))
_add("spills and a short loop", FEW + r""" { int s[40], x = 0; for (int k = 0; k < 40; k++) s[k] = a[(I + k * 67) & 16383];
  for (int j = 0; j < n; j++) x = x * 3 + a[(x + j) & 16383];
  for (int j = 0; j < (n & 3); j++) x ^= j * x + 7;
  for (int k = 0; k < 40; k++) x = (x ^ s[(k * 11) % 40]) * 33 + s[(k * 7 + 3) % 40]; out[I] = x; }
""", At(1, 32, 9), At(2, 77, 6))
_add("spills and early ends", FEW + r""" { int s[40], x = 0, i = I; for (int k = 0; k < 40; k++) s[k] = a[(i + k * 67) & 16383];
  if (b[i & 4095] % 5 == 0) return; for (int k = 0; k < 40; k++) { x = (x ^ s[(k * 11) % 40]) * 33 + s[(k * 7 + 3) % 40]; if (k == 20 && (x & 7) == 1) return; }
  for (int k = 0; k < 40; k++) x = x * 3 + s[(k * 13) % 40]; out[i] = x; }
""", At(1, 64, 9), At(2, 77, 6))
_add("two functions that spill", r"""
__device__ __noinline__ int many(int x, const int *a) { int s[36]; for (int k = 0; k < 36; k++) s[k] = a[(x + k * 67) & 16383]; for (int k = 0; k < 36; k++) x = (x ^ s[(k * 11) % 36]) * 33 + s[(k * 7 + 3) % 36]; return x; }
__device__ __noinline__ int more(int x, const int *a, int n) { for (int k = 0; k < n; k++) x += many(x ^ k, a); return x; }
extern "C" __global__ void __launch_bounds__(1024, 2) kernel(const int *a, const int *b, int *out, int n)
{ int x = b[I & 4095]; if (x & 1) x = many(x, a); out[I] = more(x, a, n & 3); }
""", At(1, 32, 3), At(2, 77, 6))


# fmt: on
# -- launches ----------------------------------------------------------------------------------------


def launches(kernels: Mapping[str, Kernel] = KERNELS) -> Iterator[tuple[str, str, Workload]]:
    """Each launch: its name, its build and the workload."""
    for name, kernel in kernels.items():
        for at in kernel.launches:
            block = at.block if isinstance(at.block, tuple) else (at.block,)
            shape = f"{at.grid} x {'x'.join(map(str, block))}, n {at.n}"
            launch = Launch(
                Dim3(at.grid),
                Dim3(*block),
                _arguments(at),
                at.shared,
                cluster=Dim3(at.cluster) if at.cluster else None,
            )
            headers, _, body = f"\n{kernel.source}".partition("\n\n")
            body = body.replace("K {", f"{SIGNATURE} {{", 1)
            source = f"{headers}\n{HEAD}{body}"
            work = Workload(name, source, "blind.cu", "kernel", launch, architecture="compute_90")
            for build in BUILDS:
                yield f"{name}, {shape}", build, work


def _arguments(at: At) -> tuple[Any, ...]:
    """Random words, random places (0 to 4095), and words 0 to 99 to write to."""
    rng = np.random.default_rng([at.grid, *np.atleast_1d(at.block), at.n])
    return (
        ArrayArgument("a", rng.integers(-(1 << 31), 1 << 31, 16384, np.int32)),
        ArrayArgument("b", rng.integers(0, 4096, 4096, np.int32)),
        ArrayArgument("out", rng.integers(0, 100, 16384, np.int32), "inout"),
        ScalarArgument("n", np.int32(at.n)),
    )
