# ruff: noqa: E501 - a statement of a kernel stays in one line
"""A further blind set: what people write, of kinds that tests/blind_set.py does not have.

Sparse matrices, scans, sorts, histograms, convolutions, norms, attention, matrix products in
pieces, transforms, particles, tables, objects and lambdas, pipelines. Written without a look at the
emulator, and counted by it before an H200 did (docs/evidence.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from core.launch import Workload
from tests.blind_set import BARRIER, GROUPS, HALF, JOIN, ODD, At, Kernel, launches

KERNELS: dict[str, Kernel] = {}


def _add(name: str, source: str, *launches: At, free: bool = False) -> None:
    KERNELS[name] = Kernel(source, launches, free)


WARP_SUM = r"""
__device__ __forceinline__ float warp_sum(float v) { for (int k = 16; k; k /= 2) v += __shfl_xor_sync(~0u, v, k); return v; }
__device__ __forceinline__ float warp_max(float v) { for (int k = 16; k; k /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, k)); return v; }
"""

# fmt: off
# -- sparse matrices -------------------------------------------------------------------------------

_add("csr, a warp a row", r"""
K { const float *val = (const float *)out + 4000; int lane = T & 31, row = I / 32;
  if (row < n) { int from = row * 37 + (b[row] & 7), to = from + b[row + 100] % 70; float sum = 0;
    for (int k = from + lane; k < to; k += 32) sum += (a[k] & 15) * (val[b[k & 4095]] + 1.f);
    for (int k = 16; k > 0; k >>= 1) sum += __shfl_down_sync(~0u, sum, k);
    if (lane == 0) ((float *)out)[row] = sum; } }
""", At(1, 64, 2), At(3, 96, 8))
_add("csr, a thread a row", r"""
K { int row = I; if (row >= n) return; int from = row * 13 + (b[row] & 3), to = from + b[row + 50] % 14; float sum = 0;
  for (int k = from; k < to; k++) sum += (a[k] & 31) * (float)a[b[k & 4095] & 1023]; ((float *)out)[row] = sum; }
""", *ODD)
_add("ell", r"""
K { int row = I, rows = n; if (row >= rows) return; double sum = 0;
  for (int k = 0; k < 9; k++) { int col = b[(k * rows + row) & 4095] - 1000; if (col < 0) continue; sum += (double)(a[(k * rows + row) & 8191] & 63) * a[col]; }
  ((double *)out)[row] = sum; }
""", *ODD)
_add("coo", r"""
K { float *y = (float *)out + 2000; if (T < 64 && blockIdx.x == 0) y[T] = 0; __syncthreads();
  for (int i = T; i < n && blockIdx.x == 0; i += THREADS) { int row = b[i] % 40, col = b[i + 1] & 511; atomicAdd(y + row, (float)(a[i] & 7) * (a[col] & 3)); } }
""", At(1, 32, 29), At(1, 103, 177))
_add("segments of a warp", r"""
K { int i = I, lane = T & 31, key = b[i] / 900; float v = a[i] & 255; int before = __shfl_up_sync(~0u, key, 1); bool head = lane == 0 || before != key;
  u32 heads = __ballot_sync(~0u, head); int start = 31 - __clz(heads & (2u << lane) - 1);
  for (int k = 1; k < 32; k *= 2) { float w = __shfl_up_sync(~0u, v, k); if (lane - k >= start) v += w; }
  bool tail = lane == 31 || heads >> (lane + 1) & 1; if (tail && i < n) ((float *)out)[i / 32 * 64 + __popc(heads & (2u << lane) - 1)] = v; }
""", At(1, 64, 60), At(2, (8, 12), 170))

# -- scans, sorts, packing -----------------------------------------------------------------------

_add("scan of a block", r"""
K { __shared__ int sums[32]; int i = I, lane = T & 31, w = T / 32, v = i < n ? a[i] & 4095 : 0, x = v;
  for (int k = 1; k < 32; k <<= 1) { int y = __shfl_up_sync(~0u, x, k); if (lane >= k) x += y; }
  if (lane == 31) sums[w] = x; __syncthreads();
  if (w == 0) { int s = lane < THREADS / 32 ? sums[lane] : 0; for (int k = 1; k < 32; k <<= 1) { int y = __shfl_up_sync(~0u, s, k); if (lane >= k) s += y; } sums[lane] = s; }
  __syncthreads(); if (w > 0) x += sums[w - 1]; if (i < n) { out[i] = x; out[8000 + i] = x - v; } }
""", At(1, 128, 100), At(2, (16, 6), 190))
_add("tree scan, padded", r"""
#define P(i) ((i) + ((i) >> 5))
K { __shared__ int s[264]; int t = T; s[P(2 * t)] = a[2 * I] & 1023; s[P(2 * t + 1)] = a[2 * I + 1] & 1023; int step = 1, m = 2 * THREADS;
  for (int d = m / 2; d > 0; d /= 2) { __syncthreads(); if (t < d) s[P(step * (2 * t + 2) - 1)] += s[P(step * (2 * t + 1) - 1)]; step *= 2; }
  if (t == 0) s[P(m - 1)] = 0;
  for (int d = 1; d < m; d *= 2) { step /= 2; __syncthreads(); if (t < d) { int x = P(step * (2 * t + 1) - 1), y = P(step * (2 * t + 2) - 1), v = s[x]; s[x] = s[y]; s[y] += v; } }
  __syncthreads(); ((int2 *)out)[I] = make_int2(s[P(2 * t)], s[P(2 * t + 1)]); }
""", At(1, 64, 0), At(2, 128, 0))
_add("radix digits", r"""
K { __shared__ int counts[4][16]; int lane = T & 31, w = T / 32, i = I; for (int k = T; k < 64; k += THREADS) counts[k / 16][k % 16] = 0; __syncthreads();
  int digit = i < n ? a[i] >> 8 & 15 : 15; u32 same = __match_any_sync(~0u, digit), before = same & ((1u << lane) - 1);
  if (before == 0) counts[w][digit] = __popc(same); __syncthreads();
  if (T < 16) { int sum = 0; for (int k = 0; k < 4; k++) { int c = counts[k][T]; counts[k][T] = sum; sum += c; } int all = sum; for (int k = 1; k < 16; k *= 2) { int y = __shfl_up_sync(0xffff, all, k, 16); if (T >= k) all += y; } all -= sum; for (int k = 0; k < 4; k++) counts[k][T] += all; }
  __syncthreads(); if (i < n) out[blockIdx.x * 128 + counts[w][digit] + __popc(before)] = a[i]; }
""", At(1, 128, 117), At(2, (32, 4), 256))
_add("split by bits", r"""
K { __shared__ u32 s[96]; __shared__ int zeros[3]; u32 v = a[I] & 255; int lane = T & 31, w = T / 32;
  for (int bit = 0; bit < n; bit++) { u32 ones = __ballot_sync(~0u, v >> bit & 1); if (lane == 0) zeros[w] = 32 - __popc(ones); __syncthreads();
    int all = zeros[0] + zeros[1] + zeros[2], mine = 0; for (int k = 0; k < w; k++) mine += zeros[k];
    int below = __popc(ones & ((1u << lane) - 1)), at = v >> bit & 1 ? all + (w * 32 - mine) + below : mine + lane - below; s[at] = v; __syncthreads(); v = s[T]; __syncthreads(); }
  out[I] = v; }
""", At(1, 96, 3), At(2, (8, 12), 8))
_add("packed by a counter", r"""
__device__ int total;
K { __shared__ int here, base; if (T == 0) here = 0; __syncthreads(); int i = I, v = a[i], at = -1; bool keep = i < n && v % 3 == 0;
  if (keep) at = atomicAdd(&here, 1); __syncthreads(); if (T == 0) { base = atomicAdd(out + 15000, here); total = base; } __syncthreads();
  if (keep) out[100 + ((base + at) & 1023)] = v; }
""", At(1, 32, 29), At(1, 103, 90), free=True)
_add("merged by search", r"""
K { __shared__ int s[256]; int t = T; for (int k = t; k < 64; k += THREADS) { s[k] = k * 5 + (b[k] & 3); s[128 + k] = k * 4 + (b[k + 64] & 3); } __syncthreads();
  int diag = t * n; if (diag < 128) { int lo = max(0, diag - 64), hi = min(diag, 64); while (lo < hi) { int mid = (lo + hi) / 2; if (s[mid] <= s[128 + diag - 1 - mid]) lo = mid + 1; else hi = mid; }
    int x = lo, y = diag - lo; for (int k = 0; k < n && x + y < 128; k++) { bool first = y >= 64 || (x < 64 && s[x] <= s[128 + y]); out[diag + k] = first ? s[x++] : s[128 + y++]; } } }
""", At(1, 64, 2), At(1, 50, 3), At(1, (8, 4), 4))
_add("merge sort of a block", r"""
K { __shared__ short s[2][128]; int t = T; s[0][t] = a[t] & 8191; __syncthreads(); int from = 0;
  for (int width = 1; width < n; width *= 2) { int group = t / (2 * width) * 2 * width, at = t - group; bool right = at >= width; short v = s[from][t]; int other = group + (right ? 0 : width), lo = 0, hi = width;
    while (lo < hi) { int mid = (lo + hi) / 2; short x = s[from][other + mid]; if (right ? x <= v : x < v) lo = mid + 1; else hi = mid; }
    s[from ^ 1][group + at % width + lo] = v; from ^= 1; __syncthreads(); }
  ((short *)out)[t] = s[from][t]; }
""", At(1, 64, 64), At(1, (16, 8), 32))
_add("bitonic of a warp", r"""
K { int lane = T & 31; u64 v = (u64)(u32)a[I] << 8 | lane;
  for (int k = 2; k <= 32; k *= 2) for (int j = k / 2; j > 0; j /= 2) { u64 o = __shfl_xor_sync(~0u, v, j); bool up = (lane & k) == 0, low = (lane & j) == 0; if ((v > o) == (up == low)) v = o; }
  ((u64 *)out)[I] = v; if (lane % n == 0) out[12000 + I] = a[v & 255]; }
""", At(1, 32, 3), At(2, 64, 5))

# -- histograms ------------------------------------------------------------------------------------

_add("histogram, private", r"""
K { __shared__ u32 s[2][64]; for (int k = T; k < 128; k += THREADS) (&s[0][0])[k] = 0; __syncthreads(); u32 *mine = s[(T >> 5) & 1]; const u32 *p = (const u32 *)a;
  for (int i = I; i < n; i += ALL) { u32 v = p[i]; atomicAdd(mine + (v & 63), 1u); atomicAdd(mine + (v >> 8 & 63), 1u); }
  __syncthreads(); for (int k = T; k < 64; k += THREADS) { u32 c = s[0][k] + s[1][k]; if (c) atomicAdd((u32 *)out + k, c); } }
""", At(1, 64, 200), At(2, 96, 333), free=True)
_add("histogram, aggregated", r"""
K { __shared__ int s[40]; if (T < 40) s[T] = 0; __syncthreads(); int i = I;
  if (i < n) { int bin = b[i] % 7, lane = T & 31; u32 same = __match_any_sync(__activemask(), bin); if (lane == __ffs(same) - 1) atomicAdd(&s[bin], __popc(same)); }
  __syncthreads(); if (T < 7 && blockIdx.x == 0) out[T] = s[T]; }
""", At(1, 32, 32), At(1, 96, 90), At(2, (5, 7, 2), 130))
_add("histogram of half words", r"""
K { __shared__ u32 s[64]; for (int k = T; k < 64; k += THREADS) s[k] = 0; __syncthreads(); const uchar4 *p = (const uchar4 *)a;
  if (T < n) { uchar4 c = p[T]; atomicAdd(s + (c.x >> 2), 1u << (c.x & 1) * 16); atomicAdd(s + (c.y >> 2), 1u << (c.y & 1) * 16); atomicAdd(s + (c.w >> 3), 1u); }
  __syncthreads(); for (int k = T; k < 64; k += THREADS) ((ushort2 *)out)[k] = make_ushort2(s[k] & 65535, s[k] >> 16); }
""", At(1, 32, 31), At(1, 64, 64))

# -- convolutions, stencils --------------------------------------------------------------------------

_add("convolution, constant filter", r"""
__constant__ float filter[5][5] = {{1, 2, 3, 2, 1}, {2, 4, 6, 4, 2}, {3, 6, 9, 6, 3}, {2, 4, 6, 4, 2}, {1, 2, 3, 2, 1}};
K { __shared__ float s[12][20]; int w = n, h = 20, x0 = blockIdx.x * 16 - 2;
  for (int k = T; k < 240; k += THREADS) { int x = x0 + k % 20, y = k / 20 - 2; s[k / 20][k % 20] = x >= 0 && x < w && y >= 0 && y < h ? (float)(a[y * w + x] & 255) : 0.f; }
  __syncthreads(); int x = threadIdx.x, y = threadIdx.y; if (x0 + 2 + x >= w) return; float sum = 0;
  for (int v = 0; v < 5; v++) for (int u = 0; u < 5; u++) sum += filter[v][u] * s[y + v][x + u]; ((float *)out)[y * w + x0 + 2 + x] = sum; }
""", At(1, (16, 8), 16), At(3, (16, 8), 41))
_add("convolution in three", r"""
__constant__ int weight[27] = {1, 2, 1, 2, 4, 2, 1, 2, 1, 2, 4, 2, 4, 8, 4, 2, 4, 2, 1, 2, 1, 2, 4, 2, 1, 2, 1};
K { int m = n, x = threadIdx.x, y = threadIdx.y, z = threadIdx.z + blockIdx.x * blockDim.z; if (x >= m || y >= m || z >= m) return; int sum = 0;
  for (int k = -1; k <= 1; k++) for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) { int u = x + i, v = y + j, w = z + k;
    if (u >= 0 && u < m && v >= 0 && v < m && w >= 0 && w < m) sum += weight[(k + 1) * 9 + (j + 1) * 3 + i + 1] * (a[(w * m + v) * m + u] >> 20); }
  out[(z * m + y) * m + x] = sum; }
""", At(1, (6, 5, 4), 6), At(3, (8, 8, 2), 7))
_add("rows in fours", r"""
K { __shared__ __align__(16) float s[4 * 68]; float4 *to = (float4 *)s; int t = T; for (int k = t; k < THREADS + 2; k += THREADS) { int4 v = ((const int4 *)a)[I - t + k]; to[k] = make_float4(v.x & 63, v.y & 63, v.z & 63, v.w & 63); }
  __syncthreads(); float r[4]; for (int k = 0; k < 4; k++) { float sum = 0; for (int u = -3; u <= 3; u++) sum += s[4 * t + 4 + k + u] * (4 - abs(u)); r[k] = sum; }
  ((float4 *)out)[I] = make_float4(r[0], r[1], r[2], r[3]); }
""", At(1, 32, 0), At(2, 63, 0))
_add("stencil with a queue", r"""
K { __shared__ float s[10][18]; const int *in = a; int tx = threadIdx.x, ty = threadIdx.y, w = 16, h = 8, plane = w * h, at = ty * w + tx;
  float below = 0, mid = in[at] & 255, above = in[at + plane] & 255;
  for (int k = tx + ty * 16; k < 180; k += 128) (&s[0][0])[k] = 0; __syncthreads();
  for (int z = 1; z < n; z++) { below = mid; mid = above; above = in[at + (z + 1) * plane] & 255; __syncthreads(); s[ty + 1][tx + 1] = mid;
    if (tx == 0) s[ty + 1][0] = mid; if (ty == 7) s[9][tx + 1] = -mid; __syncthreads();
    ((float *)out)[at + z * plane] = s[ty + 1][tx] + s[ty + 1][tx + 2] + s[ty][tx + 1] + s[ty + 2][tx + 1] + below + above - 6 * mid; } }
""", At(1, (16, 8), 2), At(1, (16, 8), 7))
_add("apron of bytes", r"""
K { __shared__ u8 s[10][36]; const u8 *in = (const u8 *)a; int w = 32 * gridDim.x + 2, x = threadIdx.x, y = threadIdx.y, x0 = blockIdx.x * 32;
  for (int v = y; v < 10; v += blockDim.y) for (int u = x; u < 34; u += blockDim.x) s[v][u] = in[v * w + x0 + u]; __syncthreads();
  for (int v = y; v < 8; v += blockDim.y) { int c = s[v + 1][x + 1], code = 0; for (int k = 0; k < 8; k++) { int p = k < 4 ? k : k + 1; code |= (s[v + p / 3][x + p % 3] >= c) << k; } ((u8 *)out)[v * w + x0 + x] = code; } }
""", At(1, (32, 4), 0), At(2, (32, 8), 0))
_add("edges of pixels", r"""
K { const uchar4 *in = (const uchar4 *)a; int w = 40, i = I, x = i % w, y = i / w; if (y >= n) return; int x1 = min(x + 1, w - 1), y1 = min(y + 1, n - 1), x2 = max(x - 1, 0), y2 = max(y - 1, 0);
  uchar4 r = in[y * w + x1], l = in[y * w + x2], u = in[y2 * w + x], d = in[y1 * w + x]; int gx = r.x + r.y + r.z - l.x - l.y - l.z, gy = d.x + d.y + d.z - u.x - u.y - u.z, g = min(255, (abs(gx) + abs(gy)) / 3);
  ((uchar4 *)out)[i] = make_uchar4(g, g, g, in[i].w); }
""", At(1, 103, 3), At(3, (5, 7, 3), 7))
_add("bilinear", r"""
K { const u8 *in = (const u8 *)a; int w = 61, i = I, x = i % 29, y = i / 29; if (y >= n) return; float fx = x * 2.07f, fy = y * 1.93f; int u = (int)fx, v = (int)fy; float p = fx - u, q = fy - v;
  float s = (in[v * w + u] * (1 - p) + in[v * w + u + 1] * p) * (1 - q) + (in[(v + 1) * w + u] * (1 - p) + in[(v + 1) * w + u + 1] * p) * q; ((u8 *)out)[i] = (u8)(s + 0.5f); }
""", At(1, 103, 3), At(3, 64, 6))

# -- norms, attention --------------------------------------------------------------------------------

_add("softmax of rows", WARP_SUM + r"""
K { __shared__ float part[8]; const int *row = a + blockIdx.x * n; float *to = (float *)out + blockIdx.x * n; int lane = T & 31, w = T / 32, ws = THREADS / 32;
  float m = -1e30f; for (int k = T; k < n; k += THREADS) m = fmaxf(m, (row[k] & 255) * 0.01f); m = warp_max(m); if (lane == 0) part[w] = m; __syncthreads();
  m = lane < ws ? part[lane] : -1e30f; m = warp_max(m); __syncthreads(); float s = 0; for (int k = T; k < n; k += THREADS) { float e = __expf((row[k] & 255) * 0.01f - m); to[k] = e; s += e; }
  s = warp_sum(s); if (lane == 0) part[w] = s; __syncthreads(); s = 0; for (int k = 0; k < ws; k++) s += part[k]; for (int k = T; k < n; k += THREADS) to[k] /= s; }
""", At(1, 64, 100), At(2, (32, 3), 333), free=True)
_add("layernorm of bfloats", HALF + WARP_SUM + r"""
K { __shared__ float2 part[4]; const u32 *in = (const u32 *)a + blockIdx.x * n; __nv_bfloat162 *to = (__nv_bfloat162 *)out + blockIdx.x * n; int lane = T & 31; float s = 0, q = 0;
  for (int k = T; k < n; k += THREADS) { u32 v = in[k] & 0x3f803f80; float2 f = __bfloat1622float2(*(__nv_bfloat162 *)&v); s += f.x + f.y; q += f.x * f.x + f.y * f.y; }
  s = warp_sum(s); q = warp_sum(q); if (lane == 0) part[T / 32] = make_float2(s, q); __syncthreads(); s = q = 0; for (int k = 0; k < THREADS / 32; k++) { s += part[k].x; q += part[k].y; }
  float mean = s / (2 * n), scale = rsqrtf(q / (2 * n) - mean * mean + 1.f); for (int k = T; k < n; k += THREADS) { u32 v = in[k] & 0x3f803f80; float2 f = __bfloat1622float2(*(__nv_bfloat162 *)&v); to[k] = __floats2bfloat162_rn((f.x - mean) * scale, (f.y - mean) * scale); } }
""", At(1, 32, 50), At(2, 128, 200), free=True)
_add("rmsnorm in sixteen bytes", HALF + WARP_SUM + r"""
K { __shared__ float part[4]; const int4 *in = (const int4 *)a + blockIdx.x * n; int4 *to = (int4 *)out + blockIdx.x * n; float q = 0; int4 keep = make_int4(0, 0, 0, 0);
  if (T < n) { keep = in[T]; u32 *w = (u32 *)&keep; for (int k = 0; k < 4; k++) { w[k] &= 0x3c003c00; float2 f = __half22float2(*(__half2 *)&w[k]); q += f.x * f.x + f.y * f.y; } }
  q = warp_sum(q); if ((T & 31) == 0) part[T / 32] = q; __syncthreads(); q = 0; for (int k = 0; k < THREADS / 32; k++) q += part[k]; __half2 scale = __float2half2_rn(rsqrtf(q / (8 * n) + 1));
  if (T < n) { __half2 *h = (__half2 *)&keep; for (int k = 0; k < 4; k++) h[k] = __hmul2(h[k], scale); to[T] = keep; } }
""", At(1, 32, 30), At(2, 96, 77), free=True)
_add("online softmax", r"""
K { int lane = T & 31, row = I / 32; float m = -1e30f, s = 0; for (int k = lane; k < n; k += 32) { float x = (a[row * n + k] & 127) * 0.05f, top = fmaxf(m, x); s = s * __expf(m - top) + __expf(x - top); m = top; }
  for (int k = 16; k > 0; k /= 2) { float m2 = __shfl_xor_sync(~0u, m, k), s2 = __shfl_xor_sync(~0u, s, k), top = fmaxf(m, m2); s = s * __expf(m - top) + s2 * __expf(m2 - top); m = top; }
  for (int k = lane; k < n; k += 32) ((float *)out)[row * n + k] = __expf((a[row * n + k] & 127) * 0.05f - m) / s; }
""", At(1, 64, 45), At(2, 96, 100), free=True)
_add("attention in tiles", r"""
K { __shared__ float q[8][17], key[16][17], val[16][16]; int t = T, r = t / 16, c = t % 16; q[r][c] = (a[I] & 15) * 0.1f; float m = -1e30f, l = 0, o = 0;
  for (int tile = 0; tile < n; tile++) { __syncthreads(); for (int k = t; k < 256; k += 128) { key[k / 16][k % 16] = (b[tile * 256 + k] & 15) * 0.1f; val[k / 16][k % 16] = a[4096 + tile * 256 + k] & 15; } __syncthreads();
    float s = 0; for (int k = 0; k < 16; k++) s += q[r][k] * key[c][k]; float top = s; for (int k = 8; k > 0; k /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, k, 16)); top = fmaxf(top, m);
    float p = __expf(s - top), f = __expf(m - top), sum = p; for (int k = 8; k > 0; k /= 2) sum += __shfl_xor_sync(~0u, sum, k, 16); l = l * f + sum; o *= f; m = top;
    for (int k = 0; k < 16; k++) o += __shfl_sync(~0u, p, k, 16) * val[k][c]; }
  ((float *)out)[I] = o / l; }
""", At(1, 128, 1), At(2, 128, 3), free=True)
_add("places of the greatest", r"""
struct Best { float v; int at; };
__device__ __forceinline__ Best better(Best x, Best y) { return y.v > x.v || (y.v == x.v && y.at < x.at) ? y : x; }
K { __shared__ Best s[32]; Best mine = {-1e30f, -1}; for (int i = T; i < n; i += THREADS) mine = better(mine, Best{(float)(a[i] >> 4), i});
  for (int k = 16; k > 0; k /= 2) mine = better(mine, Best{__shfl_down_sync(~0u, mine.v, k), __shfl_down_sync(~0u, mine.at, k)}); if ((T & 31) == 0) s[T / 32] = mine; __syncthreads();
  if (T == 0) { for (int k = 1; k < THREADS / 32; k++) mine = better(mine, s[k]); *(Best *)(out + 10) = mine; } }
""", At(1, 32, 100), At(1, 128, 777))
_add("means and variances", r"""
struct W { double mean, m2; int n; };
__device__ W joined(W x, W y) { if (y.n == 0) return x; if (x.n == 0) return y; double d = y.mean - x.mean; int n = x.n + y.n; return W{x.mean + d * y.n / n, x.m2 + y.m2 + d * d * x.n * y.n / n, n}; }
K { __shared__ W s[64]; W w = {0, 0, 0}; for (int i = T; i < n; i += THREADS) w = joined(w, W{(double)(a[i] & 1023), 0, 1}); s[T] = w; __syncthreads();
  for (int k = 32; k > 0; k /= 2) { if (T < k && T + k < THREADS) s[T] = joined(s[T], s[T + k]); __syncthreads(); } if (T == 0) { ((double *)out)[0] = s[0].mean; ((double *)out)[1] = s[0].m2; } }
""", At(1, 32, 50), At(1, (9, 7), 200))

# -- matrix products, transposes -----------------------------------------------------------------------

_add("gemm of bytes in words", r"""
K { __shared__ int x[16][17], y[16][17]; int tx = threadIdx.x, ty = threadIdx.y, c = 0, row = ty, col = blockIdx.x * 16 + tx;
  for (int tile = 0; tile < n; tile++) { x[ty][tx] = a[row * 16 * n + tile * 16 + tx]; y[ty][tx] = b[(col * 16 * n + tile * 16 + ty) & 4095]; __syncthreads(); for (int k = 0; k < 16; k++) c = __dp4a(x[ty][k], y[k][tx], c); __syncthreads(); }
  out[row * 16 * gridDim.x + col] = c; }
""", At(1, (16, 16), 1), At(2, (16, 16), 3))
_add("mma by ldmatrix", HALF + r"""
K { __shared__ __align__(16) __half x[16][24], y[16][24]; for (int k = T; k < 256; k += THREADS) { x[k / 16][k % 16] = __int2half_rn(a[k] & 7); y[k / 16][k % 16] = __int2half_rn(b[k] & 3); } __syncthreads(); u32 l = T & 31, p[4], q[4]; float c[8] = {};
  u32 at = AT(&x[l % 16][l / 16 * 8]), bt = AT(&y[l % 16][l / 16 * 8]); asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(q[0]), "=r"(q[1]), "=r"(q[2]), "=r"(q[3]) : "r"(bt));
  for (int k = 0; k < n; k++) for (int h = 0; h < 2; h++) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(c[4 * h]), "+f"(c[4 * h + 1]), "+f"(c[4 * h + 2]), "+f"(c[4 * h + 3]) : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[2 * h]), "r"(q[2 * h + 1]));
  float2 *to = (float2 *)out + T / 32 * 128; for (int h = 0; h < 2; h++) { to[l / 4 * 8 + h * 4 + l % 4] = make_float2(c[4 * h], c[4 * h + 1]); to[(l / 4 + 8) * 8 + h * 4 + l % 4] = make_float2(c[4 * h + 2], c[4 * h + 3]); } }
""", At(1, 32, 1), At(1, 64, 2))
_add("swizzled tiles", HALF + r"""
K { __shared__ __align__(128) int4 s[16 * 8]; int l = T & 31; for (int k = T; k < 128; k += THREADS) { int4 v = ((const int4 *)a)[k + blockIdx.x]; v.x &= 0x3c003c00; v.y &= 0x3c003c00; v.z &= 0x3c003c00; v.w &= 0x3c003c00; s[k / 8 * 8 + ((k % 8) ^ (k / 8 % 8))] = v; } __syncthreads(); u32 c[2] = {0, 0};
  for (int k = 0; k < n; k++) { u32 p[4], q[2]; u32 at = AT(&s[l % 16 * 8 + ((k * 2 + l / 16) ^ (l % 8))]), bt = AT(&s[l % 8 * 8 + ((k * 2 + l / 8 % 2) ^ (l % 8))]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3]) : "r"(at)); asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(q[0]), "=r"(q[1]) : "r"(bt));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};" : "+r"(c[0]), "+r"(c[1]) : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1])); }
  out[I] = c[0]; out[4000 + I] = c[1]; }
""", At(1, 32, 4), At(2, 96, 3))
_add("mma of tf32", r"""
K { __shared__ float s[16 * 12 + 8 * 8]; for (int k = T; k < 256; k += THREADS) s[k] = a[k] & 31; __syncthreads(); int l = T & 31, g = l / 4, t = l % 4; float c[4] = {0, 0, 0, 0};
  for (int k = 0; k < n; k++) { u32 x0 = __float_as_uint(s[g * 12 + t]), x1 = __float_as_uint(s[(g + 8) * 12 + t]), x2 = __float_as_uint(s[g * 12 + t + 4]), x3 = __float_as_uint(s[(g + 8) * 12 + t + 4]), y0 = __float_as_uint(s[192 + t * 8 + g]), y1 = __float_as_uint(s[192 + (t + 4) * 8 + g]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(y0), "r"(y1)); }
  ((float4 *)out)[I] = make_float4(c[0], c[1], c[2], c[3]); }
""", At(1, 32, 2), At(2, 64, 1))
_add("register tiles", r"""
K { __shared__ float x[32][9], y[8][36]; float c[2][4] = {}; int tx = threadIdx.x, ty = threadIdx.y, w = 8 * n;
  for (int tile = 0; tile < n; tile++) { for (int k = T; k < 256; k += THREADS) { x[k / 8][k % 8] = a[(k / 8) * w + tile * 8 + k % 8] & 15; y[k / 32][k % 32] = b[(tile * 8 + k / 32) * 32 + k % 32] & 15; } __syncthreads();
    for (int k = 0; k < 8; k++) { float p[2] = {x[ty * 2][k], x[ty * 2 + 1][k]}; for (int j = 0; j < 4; j++) { float q = y[k][tx + j * 8]; c[0][j] += p[0] * q; c[1][j] += p[1] * q; } } __syncthreads(); }
  for (int i = 0; i < 2; i++) for (int j = 0; j < 4; j++) ((float *)out)[(ty * 2 + i) * 32 + tx + j * 8] = c[i][j]; }
""", At(1, (8, 16), 1), At(1, (8, 16), 3))
_add("register tiles in fours", r"""
K { __shared__ __align__(16) float x[8][36], y[8][32]; float c[4][4] = {}; int tx = T % 8, ty = T / 8;
  for (int tile = 0; tile < n; tile++) { int r = T / 2, h = T % 2; float4 v = ((const float4 *)out)[2000 + r * 2 * n + tile * 2 + h]; x[h * 4][r] = v.x; x[h * 4 + 1][r] = v.y; x[h * 4 + 2][r] = v.z; x[h * 4 + 3][r] = v.w; *(float4 *)&y[T / 8][tx * 4] = ((const float4 *)out)[3000 + (tile * 8 + T / 8) * 8 + tx]; __syncthreads();
    for (int k = 0; k < 8; k++) { float4 p = *(float4 *)&x[k][ty * 4], q = *(float4 *)&y[k][tx * 4]; float pp[4] = {p.x, p.y, p.z, p.w}, qq[4] = {q.x, q.y, q.z, q.w}; for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) c[i][j] += pp[i] * qq[j]; } __syncthreads(); }
  for (int i = 0; i < 4; i++) ((float4 *)out)[(ty * 4 + i) * 8 + tx] = make_float4(c[i][0], c[i][1], c[i][2], c[i][3]); }
""", At(1, 64, 1), At(1, 64, 3))
_add("turned in fours", r"""
K { __shared__ float s[32][33]; int x = T % 8, y = T / 8; for (int r = y; r < 32; r += THREADS / 8) { int4 v = ((const int4 *)a)[(blockIdx.x * 32 + r) * 8 + x]; s[r][4 * x] = v.x; s[r][4 * x + 1] = v.y; s[r][4 * x + 2] = v.z; s[r][4 * x + 3] = v.w; } __syncthreads();
  for (int r = y; r < 32; r += THREADS / 8) ((float4 *)out)[(blockIdx.x * 32 + r) * 8 + x] = make_float4(s[4 * x][r], s[4 * x + 1][r], s[4 * x + 2][r], s[4 * x + 3][r]); }
""", At(1, 64, 0), At(2, 256, 0))
_add("turned by shuffles", r"""
K { int l = T & 3, i = I & ~3; int v[4]; for (int k = 0; k < 4; k++) v[k] = a[(i + k) * 4 + l];
  for (int m = 1; m < 4; m *= 2) for (int k = 0; k < 4; k++) if ((k & m) == 0) { int mine = l & m ? v[k] : v[k | m], got = __shfl_xor_sync(~0u, mine, m); if (l & m) v[k] = got; else v[k | m] = got; }
  ((int4 *)out)[I] = make_int4(v[0], v[1], v[2], v[3]); }
""", At(1, 32, 0), At(2, 96, 0))
_add("lu in shared memory", r"""
K { __shared__ double m[12][13]; int x = threadIdx.x, y = threadIdx.y; if (x < n && y < n) m[y][x] = (a[y * n + x] & 63) + (x == y ? 100 : 0); __syncthreads();
  for (int k = 0; k < n - 1; k++) { if (x == 0 && y > k && y < n) m[y][k] /= m[k][k]; __syncthreads(); if (x > k && x < n && y > k && y < n) m[y][x] -= m[y][k] * m[k][x]; __syncthreads(); }
  if (x < n && y < n) ((double *)out)[y * n + x] = m[y][x]; }
""", At(1, (8, 8), 7), At(1, (12, 12), 12))
_add("small inverses", r"""
K { int i = I; if (i >= n) return; float m[3][6]; for (int r = 0; r < 3; r++) for (int c = 0; c < 6; c++) m[r][c] = c < 3 ? (a[i * 9 + r * 3 + c] & 15) + (r == c) * 50 : c - 3 == r;
  for (int p = 0; p < 3; p++) { int best = p; for (int r = p + 1; r < 3; r++) if (fabsf(m[r][p]) > fabsf(m[best][p])) best = r; for (int c = 0; c < 6; c++) { float t = m[p][c]; m[p][c] = m[best][c]; m[best][c] = t; }
    for (int r = 0; r < 3; r++) if (r != p) { float f = m[r][p] / m[p][p]; for (int c = p; c < 6; c++) m[r][c] -= f * m[p][c]; } }
  for (int r = 0; r < 3; r++) for (int c = 0; c < 3; c++) ((float *)out)[i * 9 + r * 3 + c] = m[r][c + 3] / m[r][r]; }
""", *ODD[:2])
_add("tridiagonal", r"""
K { int i = I; if (i >= n) return; float c[16], d[16]; float x = 0, y = 0; for (int k = 0; k < 16; k++) { float p = (a[k * n + i] & 7) + 4.f, f = 1.f / (p - x); x = f; y = ((b[k * n + i] & 31) + y) * f; c[k] = x; d[k] = y; }
  float v = 0; for (int k = 15; k >= 0; k--) { v = d[k] + c[k] * v; ((float *)out)[k * n + i] = v; } }
""", At(1, 32, 29), At(2, 64, 99))

# -- transforms ------------------------------------------------------------------------------------

_add("fft of a block", r"""
__constant__ float2 root[32] = {{1, 0}, {.995f, -.098f}, {.98f, -.195f}, {.957f, -.29f}, {.924f, -.383f}};
K { __shared__ float2 s[64]; int t = T; for (int k = t; k < 64; k += 32) s[__brev(k) >> 26] = make_float2(a[blockIdx.x * 64 + k] & 255, 0); __syncthreads();
  for (int h = 1; h < 64; h *= 2) { int at = t / h * 2 * h + t % h; float2 w = root[t % h * (32 / h)], x = s[at], y = s[at + h], p = make_float2(y.x * w.x - y.y * w.y, y.x * w.y + y.y * w.x); s[at] = make_float2(x.x + p.x, x.y + p.y); s[at + h] = make_float2(x.x - p.x, x.y - p.y); __syncthreads(); }
  float2 *to = (float2 *)out + blockIdx.x * 64; to[t] = s[t]; to[t + 32] = s[t + 32]; }
""", At(1, 32, 0), At(3, (8, 4), 0))
_add("hadamard", r"""
K { extern __shared__ int s[]; int t = T, v = a[I] & 255; for (int k = 1; k < 32; k *= 2) { int o = __shfl_xor_sync(~0u, v, k); v = t & k ? o - v : v + o; }
  for (int k = 32; k < THREADS; k *= 2) { s[t] = v; __syncthreads(); int o = s[t ^ k]; v = t & k ? o - v : v + o; __syncthreads(); } out[I] = v; }
""", At(1, 128, 0, 512), At(2, (16, 4), 0, 256))
_add("anti-diagonals", r"""
K { __shared__ u8 s[3][40]; __shared__ int best; const u8 *p = (const u8 *)a, *q = (const u8 *)b; int t = T; for (int k = t; k < 120; k += THREADS) (&s[0][0])[k] = 0; if (t == 0) best = 0; __syncthreads();
  for (int d = 0; d < 2 * n - 1; d++) { u8 *now = s[d % 3], *last = s[(d + 2) % 3], *old = s[(d + 1) % 3]; int i = t, j = d - t; if (i < n && j >= 0 && j < n) { int v = (p[i] & 3) == (q[j] & 3) ? (i && j ? old[i - 1] : 0) + 1 : max(i ? last[i - 1] : 0, j ? last[i] : 0); now[i] = v; if (v % 3 == 0) atomicMax(&best, v); } __syncthreads(); }
  if (t == 0) ((short *)out)[7] = (short)best; if (t < n) ((u8 *)out)[100 + t] = s[(2 * n - 2) % 3][t]; }
""", At(1, 32, 20), At(1, 40, 37))

# -- particles, chance -------------------------------------------------------------------------------

_add("bodies", r"""
K { __shared__ float4 s[64]; int i = I; float4 me = make_float4(a[i] & 63, a[i + 500] & 63, a[i + 1000] & 63, 1); float3 f = make_float3(0, 0, 0);
  for (int tile = 0; tile < n; tile++) { int j = tile * THREADS + T; s[T] = make_float4(a[j] & 63, a[j + 500] & 63, a[j + 1000] & 63, b[j] & 7); __syncthreads();
    for (int k = 0; k < THREADS; k++) { float4 o = s[k]; float x = o.x - me.x, y = o.y - me.y, z = o.z - me.z, r = 1.f / (x * x + y * y + z * z + 1), w = r * r * o.w; f.x += x * w; f.y += y * w; f.z += z * w; } __syncthreads(); }
  ((float3 *)out)[i] = f; }
""", At(1, 32, 2), At(2, 50, 3))
_add("particles of 24 bytes", r"""
struct P { float x, y, u, v; int cell; short kind, flags; };
K { P *p = (P *)out; int i = I; if (i >= n) return; P m = p[i + 20]; m.x = (a[i] & 255) * 0.25f + m.u; m.y = (a[i + 999] & 255) * 0.25f; int c = ((int)m.y & 7) * 8 + ((int)m.x & 7); if (c != m.cell) { p[i + 20].cell = c; p[i + 20].flags |= 1; } p[i + 20].x = m.x; p[i + 20].y = m.y; if (m.kind & 1) p[i + 20] = m; }
""", *ODD)
_add("structures to arrays", r"""
struct A { float x, y, z; }; struct B { double t; float w; int id; char tag[8]; };
K { int i = I; if (i >= n) return; const A *p = (const A *)a; const B *q = (const B *)(a + 6000); float *to = (float *)out; to[i] = p[i].x + p[i].z; to[1000 + i] = q[i].w; ((double *)out)[1000 + i] = q[i].t; ((char *)out)[20000 + i] = q[i].tag[b[i] & 7]; B m = q[b[i] & 255]; ((B *)out)[500 + i] = m; }
""", *ODD)
_add("states of chance", r"""
__device__ u32 next(u32 *s, int &at) { u32 x = s[at & 3], y = s[(at + 3) & 3]; x ^= x << 11; x ^= x >> 8; y ^= y >> 19; at++; s[(at + 3) & 3] = x ^ y; return x ^ y; }
K { u32 s[4]; int i = I, at = b[i] & 3, hits = 0; for (int k = 0; k < 4; k++) s[k] = a[i * 4 + k] | 1; for (int k = 0; k < n; k++) { u32 x = next(s, at) & 1023, y = next(s, at) & 1023; if (x * x + y * y < 1024 * 1024) hits++; } out[i] = hits; out[4000 + i] = s[at & 3]; }
""", At(1, 32, 5), At(2, 50, 9))
_add("walks of unequal length", r"""
K { int i = I; if (i >= n) return; u32 s = a[i]; int at = b[i] & 1023, steps = 0; while (at > 100 && steps < 40) { s = s * 1664525u + 1013904223u; at = s >> 31 ? at / 2 : (at + b[at]) & 1023; steps++; if (a[at] % 13 == 0) break; } out[i] = steps; ((u8 *)out)[20000 + at * 4 + (i & 3)] = 1; }
""", *ODD, free=True)
_add("mandelbrot", r"""
K { int i = I, w = 24, x = i % w, y = i / w; if (y >= n) return; float cx = x * 0.1f - 1.9f, cy = y * 0.15f - 0.7f, u = 0, v = 0; int k = 0; do { float t = u * u - v * v + cx; v = 2 * u * v + cy; u = t; } while (++k < 50 && u * u + v * v < 4); ((u8 *)out)[i] = k; if (k == 50) out[4000 + i] = 1; else if (k > 9) out[6000 + a[i & 63] % 50 + 50] = 2; }
""", At(1, 103, 4), At(3, (5, 7, 3), 11))
_add("life in bits", r"""
K { __shared__ u64 s[2][66]; int t = T; s[0][t + 1] = ((const u64 *)a)[I]; if (t < 2) s[0][t * (THREADS + 1)] = s[1][t * (THREADS + 1)] = 0; __syncthreads();
  for (int g = 0; g < n; g++) { u64 *p = s[g & 1], n0 = 0, n1 = 0, n2 = 0; for (int r = 0; r < 3; r++) for (int d = -1; d < 2; d++) if (r != 1 || d) { u64 v = p[t + r]; v = d < 0 ? v << 1 : d ? v >> 1 : v; u64 c = n0 & v; n0 ^= v; u64 e = n1 & c; n1 ^= c; n2 |= e; } s[(g & 1) ^ 1][t + 1] = n1 & ~n2 & (n0 | p[t + 1]); __syncthreads(); }
  ((u64 *)out)[I] = s[n & 1][t + 1]; }
""", At(1, 32, 3), At(2, 64, 2))

# -- tables -------------------------------------------------------------------------------------------

_add("hash table", r"""
K { int i = I; if (i >= 32 || T >= 32) return; u32 *table = (u32 *)out + 1024; for (int k = T; k < 64; k += 32) table[k] = 0; __syncwarp(); u32 key = (a[i] & 63) + 1, at = key * 7 & 63; int tries = 0;
  if (i < n) while (tries < 64) { u32 was = atomicCAS(table + at, 0u, key); if (was == 0 || was == key) break; at = (at + 1) & 63; tries++; } __syncwarp(); out[i] = (int)at * 0 + (i < n ? (int)table[at] - (int)key : 0); }
""", At(1, 32, 20), At(1, 64, 32), free=True)
_add("hash table, shared", r"""
K { __shared__ u32 table[128]; for (int k = T; k < 128; k += THREADS) table[k] = ~0u; __syncthreads(); int i = T; u32 key = b[i] & 511, at = key * 5 & 127; if (i < n && i < 32) for (;;) { u32 was = atomicCAS(&table[at], ~0u, key); if (was == ~0u || was == key) break; at = (at + 1) & 127; } __syncthreads(); out[i] = i < n && i < 32 ? table[at] == key : -1; }
""", At(1, 32, 20), At(1, 50, 32), free=True)
_add("checksums", r"""
__constant__ u32 table[16] = {0, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
K { int i = I; if (i >= n) return; const u8 *p = (const u8 *)a + i * 21; u32 c = ~0u; int len = 9 + b[i] % 12; for (int k = 0; k < len; k++) { c ^= p[k]; c = table[c & 15] ^ c >> 4; c = table[c & 15] ^ c >> 4; } out[i] = ~c; }
""", *ODD)
_add("boxes of bytes", r"""
K { __shared__ u8 box[256]; for (int k = T; k < 256; k += THREADS) box[k] = ((const u8 *)b)[k * 4] ^ k; __syncthreads(); uint4 v = ((const uint4 *)a)[I]; u32 *w = (u32 *)&v;
  for (int r = 0; r < n; r++) for (int k = 0; k < 4; k++) w[k] = (u32)box[w[k] & 255] | (u32)box[w[(k + 1) & 3] >> 8 & 255] << 8 | (u32)box[w[(k + 2) & 3] >> 16 & 255] << 16 | (u32)box[w[k] >> 24] << 24; ((uint4 *)out)[I] = v; }
""", At(1, 33, 1), At(2, 64, 2))
_add("three bytes to four", r"""
__constant__ char code[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
K { int i = I; if (i >= n) return; const u8 *p = (const u8 *)a + 3 * i; u32 v = p[0] << 16 | p[1] << 8 | p[2]; char *to = (char *)out + 4 * i; to[0] = code[v >> 18]; to[1] = code[v >> 12 & 63]; to[2] = code[v >> 6 & 63]; to[3] = code[v & 63]; }
""", *ODD)
_add("bit fields", r"""
struct F { u32 kind : 5, size : 11, next : 16; u64 wide : 40, rest : 24; };
K { __shared__ F s[64]; F *p = (F *)out; int i = I; if (i >= n) return; F f = p[i]; f.kind = b[i]; f.next = f.size + a[i]; p[i].wide = f.next * 3u; p[i].size++; s[T & 63] = f; s[T & 63].rest = i; p[1000 + i].kind = s[T & 63].next; }
""", At(1, 32, 29), At(2, 50, 90))
_add("words out of bytes", r"""
K { int i = I; if (i >= n) return; const u8 *p = (const u8 *)a + 5 * i + (b[i] & 3); int w; memcpy(&w, p, 4); short h; memcpy(&h, p + 4, 2); double d = w; u8 *to = (u8 *)out + 11 * i; memcpy(to, &d, 8); memcpy(to + 8, &h, 2); to[10] = w & 255; }
""", *ODD)

# -- atomics -------------------------------------------------------------------------------------------

_add("floats by integers", r"""
__device__ __forceinline__ void most(float *p, float v) { if (v >= 0) atomicMax((int *)p, __float_as_int(v)); else atomicMin((u32 *)p, __float_as_uint(v)); }
K { __shared__ float s[8]; if (T < 8) s[T] = -1e30f; __syncthreads(); int i = I; float v = a[i] * 1e-5f; most(&s[b[i] & 7], v); if (blockIdx.x == 0 && i < n) most((float *)out + 100 + (b[i] & 3) * 9, v); __syncthreads(); if (T < 8) ((float *)out)[8 * blockIdx.x + T] = s[T]; }
""", At(1, 32, 20), At(2, 50, 45))
_add("atomics of the language", r"""
K { __shared__ u32 s[16]; if (T < 16) s[T] = 0; __syncthreads(); int i = I, c = b[i] % n; u32 *g = (u32 *)out;
  __nv_atomic_fetch_add(g + c, 2u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE); u32 was = __nv_atomic_fetch_or(g + 64 + c, 4u, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM); __nv_atomic_fetch_max(s + (c & 15), (u32)i, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  u32 x = __nv_atomic_load_n(g + 200 + i, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE); __nv_atomic_store_n(g + 800 + i, x + 1, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE); __syncthreads(); if (T < 16) out[2000 + T] = s[T]; out[3000 + i] = was > 5000; }
""", At(1, 32, 3), At(1, 77, 20))
_add("sixteen bytes compared", r"""
K { int i = I; if (i >= n) return; ulonglong2 *p = (ulonglong2 *)out + b[i] % 5 * 3; u64 lo = p->x * 0 + i, hi = 7, x, y, z = 0;
  asm volatile("{.reg .b128 d, c, s; mov.b128 c, {%2, %2}; mov.b128 s, {%3, %4}; atom.global.cas.b128 d, [%5], c, s; mov.b128 {%0, %1}, d;}" : "=l"(x), "=l"(y) : "l"(z), "l"(lo), "l"(hi), "l"(p) : "memory"); out[9000 + i] = (x == y) * 0; }
""", At(1, 32, 20), At(1, 50, 50), free=True)
_add("atomics in a loop", r"""
K { int i = I; for (int k = i; k < n; k += ALL) { int c = b[k] & 31; if (a[k] & 1) atomicSub(out + c, k); else if (a[k] & 2) atomicXor((u64 *)out + 50 + c, (u64)k << 30); else { u32 was = atomicDec((u32 *)out + 300 + c, 70u); out[5000 + k] = was > 100; } } }
""", At(1, 33, 90), At(1, 103, 300))
_add("exchanges along a list", r"""
K { int i = I; if (i >= n) return; int bucket = b[i] & 7, was = atomicExch(out + 1000 + bucket * 4, i); out[2000 + i] = was; __threadfence(); float f = atomicExch((float *)out + 1200 + bucket, 2.f); ((float *)out)[3000 + i] = f * 0; }
""", At(1, 32, 29), At(1, 64, 60), free=True)

# -- calls, objects, control flow ---------------------------------------------------------------------

_add("objects", r"""
struct Shape { int id; __device__ virtual int area(const int *p) const { return p[id]; } __device__ virtual ~Shape() {} }; struct Box : Shape { int w; __device__ int area(const int *p) const override { return p[id * 2] * w; } }; struct Disc : Shape { short r; __device__ int area(const int *p) const override { return r * r * 3; } };
K { int i = I; if (i >= n) return; Box x; Disc y; Shape z; x.id = i; x.w = b[i] & 7; y.r = b[i] & 15; y.id = 1; z.id = i + 3; const Shape *s = b[i] % 3 == 0 ? (const Shape *)&x : b[i] % 3 == 1 ? (const Shape *)&y : &z; out[i] = s->area(a); }
""", *ODD)
_add("lambdas", r"""
template <class F> __device__ int summed(int count, F f) { int s = 0; for (int k = 0; k < count; k++) s += f(k); return s; }
template <int N, class... A> __device__ int most(A... v) { int all[] = {v...}; int m = all[0]; for (int k = 1; k < N; k++) m = max(m, all[k]); return m; }
K { int i = I; if (i >= n) return; int local[6] = {i, 2, b[i], 4, 5, a[i]}; auto f = [&](int k) { return local[(k + b[i]) % 6] ^ a[k * 3]; }; auto g = [=](int k) { return b[i + k] - k; }; out[i] = summed(4, f) + summed(b[i] & 3, g) + most<3>(a[i], b[i], i); }
""", *ODD)
_add("arrays to a function", r"""
__device__ __noinline__ int folded(const int (&v)[8], int *to, int at) { int s = 0; for (int k = 0; k < 8; k++) { s = s * 3 + v[(k + at) & 7]; to[k & 3] += s; } return s; }
K { int i = I; if (i >= n) return; int v[8], to[4] = {1, 2, 3, 4}; for (int k = 0; k < 8; k++) v[k] = a[i + k * 32]; int s = folded(v, to, b[i]); if (s & 1) s += folded(v, to + 0, s); out[i] = s + to[s & 3]; }
""", *ODD)
_add("structures by value", r"""
struct Big { int v[20]; float f[4]; };
__device__ __noinline__ Big shifted(Big x, int by) { Big y; for (int k = 0; k < 20; k++) y.v[k] = x.v[(k + by) % 20]; for (int k = 0; k < 4; k++) y.f[k] = x.f[3 - k] * by; return y; }
K { int i = I; if (i >= n) return; Big x; for (int k = 0; k < 20; k++) x.v[k] = a[i * 2 + k]; for (int k = 0; k < 4; k++) x.f[k] = k; Big y = shifted(x, b[i] % 20); if (b[i] & 1) y = shifted(y, 3); out[i] = y.v[i % 20]; ((float *)out)[5000 + i] = y.f[b[i] & 3]; }
""", *ODD)
_add("large frames", r"""
K { int i = I; if (i >= n) return; short heap[150]; int size = 0; for (int k = 0; k < 30; k++) { int v = a[i * 30 + k & 8191] & 511, at = size++; while (at > 0 && heap[(at - 1) / 2] > v) { heap[at] = heap[(at - 1) / 2]; at = (at - 1) / 2; } heap[at] = v; } int s = 0; for (int k = 0; k < 4; k++) { s = s * 7 + heap[0]; short last = heap[--size]; int at = 0; for (;;) { int c = 2 * at + 1; if (c >= size) break; if (c + 1 < size && heap[c + 1] < heap[c]) c++; if (heap[c] >= last) break; heap[at] = heap[c]; at = c; } heap[at] = last; } out[i] = s; }
""", *ODD[:2])
_add("machine of states", r"""
K { int i = I; if (i >= n) return; const u8 *p = (const u8 *)a + i * 7; int state = 0, words = 0, k = 0; do { u8 c = p[k++] & 63; switch (state) { case 0: if (c < 8) break; state = c < 30 ? 1 : 2; words++; case 1: if (c > 50) state = 0; else if (c == 33) goto done; break; case 2: if (c < 20) { out[2000 + i] = k; state = 3; } break; case 3: words += b[c]; state = c & 1 ? 0 : 2; } } while (k < 20 && words < 3000); done: out[i] = words * 32 + k; }
""", *ODD)
_add("unrolled by a switch", r"""
K { int i = I; if (i >= n) return; const int *p = a + i * 11; int count = b[i] % 11 + 1, s = 0, turns = (count + 3) / 4; switch (count % 4) { case 0: do { s += *p++; case 3: s ^= *p++; case 2: s += *p++; case 1: s ^= *p++; } while (--turns > 0); } out[i] = s; }
""", *ODD)
_add("out of two loops", r"""
K { int i = I; if (i >= n) return; int at = -1; for (int r = 0; r < 6 && at < 0; r++) { const int *row = a + (r * 50 + i); int c = 0; do { if (row[c] % 19 == 0) { at = r * 8 + c; break; } if (b[c + i] % 23 == 0) goto out_of_all; } while (++c < 8); } out[3000 + i] = at; out_of_all: out[i] = at; }
""", *ODD)
_add("both sides of conditions", r"""
K { int i = I; bool in = i < n && a[i] != 0; int v = in && (b[i] & 1 || a[i + 40] > 0) && !(b[i + 1] & 2 && a[i + 80] < 0) ? (b[i] & 4 ? a[2 * i] : b[3 * i & 4095]) : (in ? out[4000 + i] : 0); if (in || (i & 1 && b[i & 4095] > 2000)) out[i] = v; }
""", *ODD)
_add("warps that leave", r"""
K { __shared__ int s[128]; int t = T, w = t / 32; s[t] = a[I]; __syncthreads(); if (w == n) return; if (w > n && (t & 31) > 20) return; for (int r = 0; r < 3; r++) { int v = s[(t + 33 * r) % THREADS]; __syncthreads(); s[t] = v + r; __syncthreads(); } out[I] = s[t]; }
""", At(1, 96, 1), At(2, 128, 2))
_add("counts at barriers", r"""
K { __shared__ int s[105]; int i = I, v = a[i]; int c = __syncthreads_count(v > 0); if (__syncthreads_or(v % 97 == 0)) s[T] = v; if (!__syncthreads_and(b[i] > 5)) c += 1000; for (int k = 0; k < n && __syncthreads_or((v >> k) & 1); k++) c++; out[i] = c; }
""", At(1, 33, 3), At(2, (5, 7, 3), 5))
_add("parts of a warp", r"""
K { __shared__ int s[64]; int t = T & 63, lane = t & 31; s[t] = a[t]; __syncwarp(); if (lane < 12) { u32 m = 0xfff; int v = s[t ^ 1]; __syncwarp(m); s[t] = v + __shfl_xor_sync(m, v, 1); __syncwarp(m); v = s[(t & 32) + (lane * 5) % 12]; out[I] = v; } else if (lane & 1) { u32 m = 0xaaaaa000; int v = s[t - 1]; __syncwarp(m); s[t] = v * 2; __syncwarp(m); out[I] = s[t & ~0 ] + __reduce_add_sync(m, v); } else out[I] = s[t]; }
""", At(1, 32, 0), At(1, 64, 0))
_add("shuffles of parts", r"""
K { int i = I; double d = a[i] & 255; short h = b[i]; for (int w = 4; w <= 16; w *= 2) { d += __shfl_down_sync(~0u, d, w / 2, w); h ^= __shfl_up_sync(~0u, h, 1, w); } while (__any_sync(~0u, h > n)) { h = h > n ? h / 2 : h; if (h & 1) out[8000 + i] = h; } ((double *)out)[i] = d; if (__all_sync(~0u, h < n)) ((short *)out)[16000 + i] = h; }
""", At(1, 32, 40), At(2, 96, 9))

# -- cooperative groups, copies, clusters --------------------------------------------------------------

_add("scans of groups", GROUPS + "#include <cooperative_groups/scan.h>\n" + r"""
K { auto w = cg::tiled_partition<32>(cg::this_thread_block()); int i = I, v = a[i] & 63; auto q = cg::tiled_partition<8>(w); int s = cg::inclusive_scan(q, v), e = cg::exclusive_scan(w, v, cg::plus<int>()); auto half = cg::binary_partition(w, v & 1); int r = cg::reduce(half, v, cg::less<int>()); auto same = cg::labeled_partition(w, b[i] % 5); out[i] = s + e + r; if (same.thread_rank() == 0) out[2000 + i] = same.size(); w.sync(); if (w.any(v > 60)) out[4000 + i] = w.shfl(s, 3) + w.match_any(b[i] & 3); }
""", At(1, 64, 0), At(2, 96, 0))
_add("groups copy", "#include <cooperative_groups.h>\n#include <cooperative_groups/memcpy_async.h>\nnamespace cg = cooperative_groups;\n" + r"""
K { __shared__ __align__(16) int s[512]; auto block = cg::this_thread_block(); cg::memcpy_async(block, s, a + blockIdx.x * 512, n * 4); cg::wait(block); for (int k = T; k < n; k += THREADS) out[blockIdx.x * 512 + k] = s[n - 1 - k]; }
""", At(1, 64, 256), At(2, 96, 500))
_add("stages with edges", r"""
K { __shared__ __align__(16) float s[3][128]; int t = T, stages = 3; float sum = 0; auto load = [&](int k) { int at = k * 128 + t * 4; int left = (n - at) * 4, bytes = left >= 16 ? 16 : left > 0 ? left : 0; asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(AT(&s[k % 3][t * 4])), "l"(a + (bytes ? at : 0)), "r"(bytes) : "memory"); };
  for (int k = 0; k < stages - 1; k++) { load(k); asm volatile("cp.async.commit_group;" ::: "memory"); } int tiles = (n + 127) / 128;
  for (int k = 0; k < tiles; k++) { asm volatile("cp.async.wait_group 1;" ::: "memory"); __syncthreads(); if (k + 2 < tiles) load(k + 2); asm volatile("cp.async.commit_group;" ::: "memory"); for (int j = 0; j < 4; j++) sum += __float_as_int(s[k % 3][(t + j * 32) % 128]) & 255; }
  asm volatile("cp.async.wait_all;" ::: "memory"); ((float *)out)[I] = sum; }
""", At(1, 32, 300), At(2, 32, 701))
_add("ring of bulk copies", BARRIER + r"""
K { __shared__ __align__(128) int s[2][256]; __shared__ u64 bar[2]; start(&bar[0]); start(&bar[1]); int sum = 0;
  if (T == 0) for (int k = 0; k < 2 && k < n; k++) { expect(&bar[k], 1024); fetch(s[k], a + (blockIdx.x * n + k) * 256, 1024, &bar[k]); }
  for (int k = 0; k < n; k++) { wait(&bar[k & 1], k >> 1 & 1); for (int j = T; j < 256; j += THREADS) sum += s[k & 1][j] >> 4; __syncthreads(); if (T == 0 && k + 2 < n) { expect(&bar[k & 1], 1024); fetch(s[k & 1], a + (blockIdx.x * n + k + 2) * 256, 1024, &bar[k & 1]); } }
  out[I] = sum; }
""", At(1, 64, 3), At(2, 96, 5))
_add("arrivals without copies", r"""
K { __shared__ u64 full[2], empty[2]; __shared__ int s[2][32]; int w = T / 32, lane = T & 31; if (T == 0) for (int k = 0; k < 2; k++) { asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(AT(&full[k]))); asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(AT(&empty[k]))); } __syncthreads();
  auto arrive = [](u64 *p) { asm volatile("{.reg .b64 t; mbarrier.arrive.shared.b64 t, [%0];}" :: "r"(AT(p)) : "memory"); }; auto wait = [](u64 *p, int parity) { asm volatile("{\n.reg .pred q;\nagain:\nmbarrier.try_wait.parity.shared.b64 q, [%0], %1;\n@q bra done;\nbra again;\ndone:\n}" :: "r"(AT(p)), "r"(parity) : "memory"); };
  for (int k = 0; k < n; k++) { int h = k & 1; if (w == 0) { if (k > 1) wait(&empty[h], (k / 2 - 1) & 1); s[h][lane] = a[k * 32 + lane]; arrive(&full[h]); } else { wait(&full[h], k / 2 & 1); out[(k * 2 + w - 1) * 32 + lane] = s[h][lane ^ w]; arrive(&empty[h]); } } }
""", At(1, 96, 2), At(1, 96, 5))
_add("histogram of a cluster", GROUPS + r"""
K { __shared__ int s[32]; auto c = cg::this_cluster(); if (T < 32) s[T] = 0; c.sync(); int bin = b[I] & 63, per = 64 / c.num_blocks(); int *p = c.map_shared_rank(s, bin / per % c.num_blocks()); if (I < n) atomicAdd(p + bin % per % 32, 1); c.sync(); if (T < 32) out[blockIdx.x * 32 + T] = s[T]; }
""", At(2, 32, 50, 0, 2), At(4, 50, 170, 0, 4))
_add("sums of a cluster", JOIN + r"""
K { __shared__ float4 s[32]; __shared__ float part[8]; int t = T; u32 me = __clusterRelativeBlockRank(), blocks = __clusterDim().x; float4 v = make_float4(a[I] & 15, b[I] & 15, t, me); if (t < 32) s[t] = v; JOIN
  if (me == 0 && t < 32) { float4 sum = s[t]; for (u32 r = 1; r < blocks; r++) { float4 o = *(float4 *)__cluster_map_shared_rank(&s[t], r); sum.x += o.x; sum.y += o.y; sum.z += o.z; sum.w += o.w; } ((float4 *)out)[blockIdx.x * 32 + t] = sum; }
  if (t < (int)blocks) *(float *)__cluster_map_shared_rank(&part[me], t) = me + 0.5f; JOIN if (t < (int)blocks) ((float *)out)[4000 + I] = part[t]; }
""", At(2, 64, 0, 0, 2), At(4, 33, 0, 0, 4))

# -- written after the first record, before the rules that it led to were tried on them ------------

_add("one counter", r"""
__device__ u32 every;
K { __shared__ u32 s[8]; if (T < 8) s[T] = 0; __syncthreads(); int i = I; if (i < n) { atomicAdd(&s[0], (u32)a[i] & 7); u32 at = atomicAdd(&s[1], 1u); if (a[i] & 1) atomicMax(&s[2], at); atomicAdd((u32 *)out + 4000, 1u); if (b[i] & 2) atomicAdd((u32 *)out + 4001 + blockIdx.x, 3u); }
  u32 was = atomicOr(&s[3], 1u << (i & 31)); atomicAdd(&every, 2u); __syncthreads(); if (T < 8) out[blockIdx.x * 8 + T] = s[T] * 0 + (was > 5 ? 0 : 0); }
""", *ODD, free=True)
_add("lengths added up", r"""
K { __shared__ int used, most; if (T == 0) used = most = 0; __syncthreads(); int i = I, len = b[i & 4095] & 3, at = -1; if (i < n) at = atomicAdd(&used, len); atomicMax(&most, len); atomicMin((int *)out + 9000, i);
  int slot = atomicAdd(out + 9100, b[i & 4095] & 1); __syncthreads(); if (at >= 0) out[i] = at - at + slot * 0; if (T == 0) out[2000 + blockIdx.x] = used * 0 + most; }
""", At(1, 64, 64), At(1, 64, 50), At(2, 103, 150), free=True)
_add("sums of kinds", r"""
K { __shared__ unsigned long long w; __shared__ int s[4]; __shared__ float f; if (T < 4) s[T] = 0; if (T == 0) { w = 0; f = 0; } __syncthreads(); int i = I; atomicAnd(&s[0], a[i]); atomicXor(&s[1], a[i]); atomicSub(&s[2], 5); atomicInc((u32 *)&s[3], 1000u);
  if (T < 32) { atomicAdd(&w, 1ull); atomicAdd(&f, 1.f); } atomicAdd((u64 *)out + 2000, 7ull); atomicAdd((u64 *)out + 2001, (u64)i); atomicMax((u64 *)out + 2002, (u64)i); atomicAdd((float *)out + 4100, 0.f); atomicDec((u32 *)out + 4200, 50u);
  __syncthreads(); if (T < 4) out[blockIdx.x * 4 + T] = s[T]; if (T == 4) out[100 + blockIdx.x] = (int)w + (int)f; }
""", At(1, 32, 0), At(2, 50, 0), free=True)
_add("one element a warp", r"""
K { __shared__ int s[8]; if (T < 8) s[T] = 0; __syncthreads(); int i = I, w = T / 32; if (a[i] & 1) atomicAdd(&s[w], 2); for (int k = 0; k < n; k++) { atomicAdd(&s[k], k + 1); atomicAdd(out + 1000 + k, a[i] & 3); if ((a[i] >> k) & 1) atomicMax(out + 2000 + k * 8, i); } __syncthreads(); if (T < 8) out[blockIdx.x * 8 + T] = s[T]; }
""", At(1, 32, 3), At(2, 103, 5))
_add("thirteen words", r"""
struct V { int v[13]; }; struct W { double d[4]; short s[3]; };
__device__ __noinline__ V made(W w, int k, const int *p) { V v; for (int j = 0; j < 13; j++) v.v[j] = p[j] + (int)w.d[j & 3] + w.s[k % 3]; return v; }
__device__ __noinline__ int read(int k, V v, short m, V u, long long q) { return v.v[k] + u.v[(k + m) % 13] + (int)q; }
K { int i = I; if (i >= n) return; W w; for (int k = 0; k < 4; k++) w.d[k] = b[i + k]; for (int k = 0; k < 3; k++) w.s[k] = i * k; V v = made(w, b[i], a + i); V u = v; u.v[i % 13] = 3; out[i] = read(i % 13, v, 2, u, 5); if (b[i] & 1) out[i] += read(b[i] % 13, u, 1, v, 7); }
""", *ODD)
_add("fifteen parameters", r"""
__device__ __noinline__ int mixed(int a, char b, long long c, short d, float e, double f, int g, u8 h, long long i, int j, int k, const int *p) { return a + b + (int)c + d + (int)e + (int)f + g + h + (int)i + j + p[k & 63]; }
__device__ __noinline__ double longs(double a, int b, double c, double d, int e, double f, double g, int h) { return a + b * c - d + e * f + g + h; }
K { int i = I; if (i >= n) return; out[i] = mixed(i, 2, 3, b[i], 5.f, 6., 7, 8, 9, i, b[i], a); ((double *)out)[2000 + i] = longs(i, b[i], 2., 3., i, 4., 5., 6); }
""", *ODD)
_add("into a loop", r"""
K { int i = I; if (i >= n) return; int v = b[i & 4095], k = 0, s = 0; if (v & 1) goto middle; if (v & 2) goto end;
top: s += a[(i + k * 32) & 4095]; if (s & 64) { out[4000 + i] = k; }
middle: k++; s ^= b[(i * 3 + k) & 4095]; if (k < (v & 7) + 1) goto top;
end: out[i] = s * 16 + k; }
""", *ODD)
_add("past the end of a search", r"""
K { int i = I; if (i >= n) return; int at = -1, v = b[i & 4095] & 255; for (int k = 0; k < 9; k++) { int w = a[(v + k * 7) & 4095] & 63; if (w == 3) goto out_of_it; if (w < 9) { at = k; break; } if (w > 60) return; } out[2000 + i] = at; if (at > 3) { out[4000 + i * 2] = v; }
out_of_it: out[i] = at; }
""", *ODD)
_add("or else", r"""
K { int i = I; if (i >= n) return; int v = a[i], w = b[i & 4095], r; if ((v & 3) == 0 || (w & 7) == 1 && a[i + 64] > 0 || (w & 8) && b[(i + 5) & 4095] & 1) { r = a[i + 128]; out[3000 + i] = r; } else if (w & 16 && a[i + 256] & 1) r = out[5000 + i]; else r = b[(i * 3) & 4095] + b[(i + 9) & 4095]; out[i] = r; }
""", *ODD)
_add("tests in a loop", r"""
K { int i = I, s = 0; for (int k = i; k < n; k += ALL) { int v = a[k]; bool big = (v & 15) > 9 && b[k & 4095] & 3 || (v & 64 && a[k + 1000] & 1); if (big ? b[(k + 7) & 4095] & 1 : v & 128) { s += a[k + 2000]; if (s & 1 && v & 2) continue; out[6000 + k] = s; } s ^= k; } out[i] = s; }
""", At(1, 33, 200), At(2, 103, 700))
_add("pairs stored, twofold", r"""
K { __shared__ u64 s[256]; int t = T & 31; u64 v = ((const u64 *)a)[t]; int x = (t / n) * 2 * n + t % n; s[x] = v; s[x + n] = v + 1; __syncwarp(); u64 w = s[t]; __syncwarp(); s[x + 64] = w; __syncwarp(); s[x + 64 + n] = w + 2; __syncwarp(); s[x] = s[t + 64]; __syncwarp(); ((u64 *)out)[t] = s[t * 2 + (n & 1)] + w; }
""", At(1, 32, 2), At(1, 32, 4), At(1, 32, 8))
_add("updates in two branches", r"""
K { int i = I; for (int k = i; k < n; k += ALL) { int c = b[k] & 31; if (a[k] & 1) atomicAdd(out + c, k); else atomicMax(out + 100 + c, k); out[4000 + k] = c; } }
""", At(1, 32, 60), At(1, 96, 200))

ZEROS = r"""
K { int i = I; unsigned *o = (unsigned *)out; unsigned x = a[i] & 0x80008000u, y = b[i] & 1 ? 0x80000000u : 0x00008000u;
  for (int r = 0; r < 4; r++) o[i + 512 * r] = y; __syncthreads();
  unsigned short lo = x & 0xffff, hi = x >> 16;
  asm volatile("red.relaxed.gpu.global.v2.f16.min.noftz [%0], {%1, %2};" :: "l"(o + i), "h"(lo), "h"(hi) : "memory");
  asm volatile("red.relaxed.gpu.global.v2.f16.max.noftz [%0], {%1, %2};" :: "l"(o + 512 + i), "h"(lo), "h"(hi) : "memory");
  asm volatile("red.relaxed.gpu.global.v2.bf16.min.noftz [%0], {%1, %2};" :: "l"(o + 1024 + i), "h"(lo), "h"(hi) : "memory");
  asm volatile("red.relaxed.gpu.global.v2.bf16.max.noftz [%0], {%1, %2};" :: "l"(o + 1536 + i), "h"(lo), "h"(hi) : "memory"); }
"""
_add("zeros of halves", ZEROS, At(1, 32, 0), At(2, 96, 0))
_add("nans of halves", ZEROS.replace("unsigned x = a[i] & 0x80008000u", "unsigned x = a[i] | (a[i] & 4 ? 0x7c007f80u : 0x7f807c00u)"), At(1, 32, 0), At(2, 96, 0))

# fmt: on


def all_launches() -> Iterator[tuple[str, str, Workload]]:
    """The launches of both sets: name, build and workload."""
    return chain(launches(), launches(KERNELS))
