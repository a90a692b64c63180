# ruff: noqa: E501 - a statement of a kernel stays in one line
"""A fourth blind set: what courses, answers and libraries have, as people write it.

Scans, sorts, sparse matrices, stencils, norms, attention, dynamic programs, graphs, tables of
bytes, small factorisations, pipelines, recursion. Written before the emulator or an H200 counted
it (docs/evidence.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from core.launch import Workload
from tests import blind_more
from tests.blind_set import GROUPS, HALF, ODD, At, Kernel, launches

KERNELS: dict[str, Kernel] = {}


def _add(name: str, source: str, *launches: At, free: bool = False) -> None:
    KERNELS[name] = Kernel(source, launches, free)


WHOLE = (At(1, 64, 61), At(2, 96, 170))
"""Launches of whole warps."""

# fmt: off
# -- scans, sorts, packing -------------------------------------------------------------------------

_add("look-back over tiles", r"""
K { __shared__ int warp[4], tile, before; int lane = T & 31, w = T / 32, tiles = (n + THREADS - 1) / THREADS;
  volatile u64 *state = (volatile u64 *)out + 4096;
  for (int k = T; k < tiles; k += THREADS) state[k] = 0;
  if (T == 0) out[16000] = 0;
  __syncthreads();
  for (;;) {
    if (T == 0) tile = atomicAdd(out + 16000, 1);
    __syncthreads();
    int k = tile; if (k >= tiles) return;
    int i = k * THREADS + T, x = i < n ? a[i] & 255 : 0;
    for (int d = 1; d < 32; d *= 2) { int y = __shfl_up_sync(~0u, x, d); if (lane >= d) x += y; }
    if (lane == 31) warp[w] = x;
    __syncthreads();
    int sum = 0, all = 0;
    for (int j = 0; j < THREADS / 32; j++) { if (j < w) sum += warp[j]; all += warp[j]; }
    if (T == 0) {
      state[k] = 1ull << 32 | (u32)all; __threadfence();
      int p = 0;
      for (int j = k - 1; j >= 0; j--) { u64 s; do { s = state[j]; } while (s >> 32 == 0); p += (u32)s; if (s >> 32 == 2) break; }
      state[k] = 2ull << 32 | (u32)(p + all); before = p;
    }
    __syncthreads();
    if (i < n) out[i] = before + sum + x;
    __syncthreads();
  } }
""", At(1, 64, 200), At(1, 96, 310))
_add("segments by flags", r"""
K { __shared__ float v[128]; __shared__ u8 head[128]; int i = I, t = T;
  v[t] = i < n ? (float)(a[i] & 255) : 0.f; head[t] = t == 0 || (i < n && b[i] % 5 == 0);
  __syncthreads();
  for (int d = 1; d < THREADS; d <<= 1) {
    float x = 0; u8 f = 1;
    if (t >= d) { x = v[t - d]; f = head[t - d]; }
    __syncthreads();
    if (t >= d && !head[t]) { v[t] += x; head[t] |= f; }
    __syncthreads();
  }
  if (i < n) ((float *)out)[i] = v[t]; }
""", *ODD)
_add("radix sort, two bits a pass", r"""
K { __shared__ u32 key[128], other[128]; __shared__ int count[4][4]; int t = T, lane = t & 31, w = t / 32;
  key[t] = I < n ? (u32)a[I] >> 20 : ~0u;
  __syncthreads();
  u32 *from = key, *to = other;
  for (int shift = 0; shift < 12; shift += 2) {
    u32 x = from[t]; int d = x >> shift & 3, rank = 0;
    for (int k = 0; k < 4; k++) { u32 m = __ballot_sync(~0u, d == k); if (d == k) rank = __popc(m & ((1u << lane) - 1)); if (lane == k) count[w][k] = __popc(m); }
    __syncthreads();
    if (t == 0) { int s = 0; for (int k = 0; k < 4; k++) for (int j = 0; j < THREADS / 32; j++) { int c = count[j][k]; count[j][k] = s; s += c; } }
    __syncthreads();
    to[count[w][d] + rank] = x;
    __syncthreads();
    u32 *swap = from; from = to; to = swap;
  }
  out[I] = from[t]; }
""", At(1, 64, 61), At(2, 96, 170))
_add("bitonic in global memory", r"""
__device__ __forceinline__ void exchange(int *v, int i, int j, bool up) { int x = v[i], y = v[j]; if ((x > y) == up) { v[i] = y; v[j] = x; } }
K { int size = 1; while (size < n) size *= 2;
  for (int i = T; i < size; i += THREADS) out[i] = i < n ? a[i] : 0x7fffffff;
  __syncthreads();
  for (int k = 2; k <= size; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      for (int i = T; i < size; i += THREADS) { int other = i ^ j; if (other > i) exchange(out, i, other, (i & k) == 0); }
      __syncthreads();
    } }
""", At(1, 32, 50), At(1, 103, 177))
_add("ranks by counting", r"""
K { extern __shared__ int s[]; int i = I; int v = i < n ? a[i] : 0, rank = 0;
  for (int base = 0; base < n; base += THREADS) {
    s[T] = base + T < n ? a[base + T] : 0x7fffffff;
    __syncthreads();
    int m = min(THREADS, n - base);
#pragma unroll 4
    for (int k = 0; k < m; k++) rank += s[k] < v || (s[k] == v && base + k < i);
    __syncthreads();
  }
  if (i < n) out[rank] = v; }
""", At(1, 32, 29, 128), At(2, 103, 177, 412))
_add("compaction in order", r"""
K { __shared__ int base[5], used; int t = T, lane = t & 31, w = t / 32; if (t == 0) used = 0;
  for (int from = 0; from < n; from += THREADS) {
    int i = from + t; bool keep = i < n && a[i] % 3 == 0;
    u32 m = __ballot_sync(~0u, keep);
    if (lane == 0) base[w] = __popc(m);
    __syncthreads();
    if (t == 0) { int s = used; for (int k = 0; k < THREADS / 32; k++) { int c = base[k]; base[k] = s; s += c; } used = s; }
    __syncthreads();
    if (keep) out[base[w] + __popc(m & (1u << lane) - 1)] = a[i];
    __syncthreads();
  }
  if (t == 0) out[8000] = used; }
""", At(1, 64, 150), At(1, 128, 300))
_add("sum, unrolled by template", r"""
template <unsigned N> __device__ void last(volatile float *s, unsigned t) {
  if (N >= 64) s[t] += s[t + 32]; if (N >= 32) s[t] += s[t + 16]; if (N >= 16) s[t] += s[t + 8];
  if (N >= 8) s[t] += s[t + 4]; if (N >= 4) s[t] += s[t + 2]; if (N >= 2) s[t] += s[t + 1]; }
K { __shared__ float s[160]; unsigned t = T, i = blockIdx.x * 256 + t; float sum = 0;
  s[t] = 0; if (t < 32) s[128 + t] = 0;
  while (i < n) { sum += a[i] & 63; if (i + 128 < n) sum += a[i + 128] & 63; i += gridDim.x * 256; }
  s[t] = sum; __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) last<64>(s, t);
  if (t == 0) ((float *)out)[blockIdx.x] = s[0]; }
""", At(1, 128, 300), At(2, 128, 777))
_add("runs of equal values", r"""
K { __shared__ int start[128], total; int t = T, v = t < n ? (a[t] >> 3) & 3 : -1, before = t ? (t - 1 < n ? (a[t - 1] >> 3) & 3 : -1) : -2;
  bool head = v != before && t < n; int at = head; start[t] = at; __syncthreads();
  for (int d = 1; d < THREADS; d *= 2) { int x = t >= d ? start[t - d] : 0; __syncthreads(); start[t] += x; __syncthreads(); }
  at = start[t] - 1; if (t == THREADS - 1) total = start[t]; __syncthreads();
  if (head) { out[at] = v; out[1000 + at] = t; } __syncthreads();
  if (t < total) out[2000 + t] = (t + 1 < total ? out[1001 + t] : n) - out[1000 + t]; }
""", At(1, 32, 29), At(1, 103, 90))

# -- sparse matrices, vectors and matrices -----------------------------------------------------------

_add("csr, eight lanes a row", GROUPS + r"""
template <int N> __device__ float row_sum(const int *a, const int *b, int from, int to) {
  auto tile = cg::tiled_partition<N>(cg::this_thread_block()); float sum = 0;
  for (int k = from + tile.thread_rank(); k < to; k += N) sum += (a[k & 8191] & 15) * (float)(a[8192 + b[k & 4095]] & 7);
  for (int d = N / 2; d; d /= 2) sum += tile.shfl_down(sum, d);
  return sum; }
K { int row = I / 8; int from = row * 11 + (b[row] & 3), to = row < n ? from + b[row + 64] % 30 : from;
  float s = row_sum<8>(a, b, from, to); if (row < n && (T & 7) == 0) ((float *)out)[row] = s; }
""", At(1, 64, 7), At(2, 96, 23))
_add("diagonals", r"""
__constant__ int offsets[5] = {-17, -1, 0, 1, 17};
K { int row = I; if (row >= n) return; double sum = 0;
#pragma unroll
  for (int d = 0; d < 5; d++) { int col = row + offsets[d]; if (col >= 0 && col < n) sum += (a[d * n + row] & 127) * ((const double *)b)[col & 1023]; }
  ((double *)out)[row] = sum; }
""", *ODD)
_add("rows in slices", r"""
K { int slice = blockIdx.x, row = I; const int *first = b; int width = first[slice] % 7 + 3, base = slice * THREADS * 9; float sum = 0;
  for (int k = 0; k < width; k++) { int at = base + k * THREADS + T; int col = b[at & 4095]; if (col >= 3500) break; sum = fmaf((float)(a[at] & 255), (float)(a[col] & 3), sum); }
  if (row < n) ((float *)out)[row] = sum; }
""", *ODD)
_add("gemv, four columns a thread", r"""
K { int lane = T & 31, row = I / 32, cols = 160; if (row >= n) return;
  const float4 *x = (const float4 *)out + 3000; float sum = 0;
  for (int k = lane; k < cols / 4; k += 32) { int4 m = __ldg((const int4 *)(a + row * cols) + k); float4 v = x[k];
    sum += (m.x & 7) * (__float_as_int(v.x) & 63) + (m.y & 7) * (__float_as_int(v.y) & 63) + (m.z & 7) * (__float_as_int(v.z) & 63) + (m.w & 7) * (__float_as_int(v.w) & 63); }
#pragma unroll
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, d);
  if (lane == 0) ((float *)out)[row] = sum; }
""", At(1, 64, 2), At(3, 96, 8))
_add("gemv, transposed", r"""
K { __shared__ float x[32]; int col = I; float sum = 0;
  for (int base = 0; base < 45; base += 32) {
    if (T < 32) x[T] = base + T < 45 ? (float)(b[base + T] & 15) : 0.f;
    __syncthreads();
    if (col < n) for (int k = 0; k < 32 && base + k < 45; k++) sum += (a[(base + k) * n + col] & 31) * x[k];
    __syncthreads();
  }
  if (col < n) ((float *)out)[col] = sum; }
""", *ODD)
_add("product, naive", r"""
K { int col = blockIdx.x * blockDim.x + threadIdx.x, row = threadIdx.y;
  if (row < n && col < n) { float s = 0; for (int k = 0; k < n; k++) s += (a[row * n + k] & 7) * (float)(b[k * n + col] & 7); ((float *)out)[row * n + col] = s; } }
""", At(1, (16, 16), 13), At(3, (8, 20), 19))
_add("product in tiles of eight", r"""
#define W 8
K { __shared__ float x[W][W], y[W][W + 1]; int tx = threadIdx.x, ty = threadIdx.y, row = ty + W * (blockIdx.x / 3), col = tx + W * (blockIdx.x % 3); float s = 0;
  for (int k = 0; k < (n + W - 1) / W; k++) {
    x[ty][tx] = row < n && k * W + tx < n ? (float)(a[row * n + k * W + tx] & 31) : 0.f;
    y[ty][tx] = col < n && k * W + ty < n ? (float)(b[(k * W + ty) * n + col] & 31) : 0.f;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < W; j++) s += x[ty][j] * y[j][tx];
    __syncthreads();
  }
  if (row < n && col < n) ((float *)out)[row * n + col] = s; }
""", At(1, (8, 8), 7), At(9, (8, 8), 21))
_add("batch of four by four", r"""
struct __align__(16) M { float m[4][4]; };
__device__ M times(const M &x, const M &y) { M r; for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) { float s = 0; for (int k = 0; k < 4; k++) s += x.m[i][k] * y.m[k][j]; r.m[i][j] = s; } return r; }
__device__ M loaded(const int *p) { M r; for (int i = 0; i < 4; i++) { int4 v = ((const int4 *)p)[i]; r.m[i][0] = v.x & 15; r.m[i][1] = v.y & 15; r.m[i][2] = v.z & 15; r.m[i][3] = v.w & 15; } return r; }
K { int i = I; if (i >= n) return; M x = loaded(a + i * 16), y = loaded(b + (i & 127) * 16); ((M *)out)[i] = times(x, y); }
""", *ODD)
_add("transpose of shorts, odd sizes", r"""
K { __shared__ short tile[16][17]; int w = 45, h = n; const short *from = (const short *)a; short *to = (short *)out;
  for (int by = 0; by * 16 < h; by++) for (int bx = blockIdx.x; bx * 16 < w; bx += gridDim.x) {
    for (int k = threadIdx.y; k < 16; k += blockDim.y) { int x = bx * 16 + threadIdx.x, y = by * 16 + k; if (x < w && y < h) tile[k][threadIdx.x] = from[y * w + x]; }
    __syncthreads();
    for (int k = threadIdx.y; k < 16; k += blockDim.y) { int x = by * 16 + threadIdx.x, y = bx * 16 + k; if (x < h && y < w) to[y * h + x] = tile[threadIdx.x][k]; }
    __syncthreads(); } }
""", At(1, (16, 4), 21), At(3, (16, 6), 37))
_add("transpose of doubles, swizzled", r"""
K { __shared__ double tile[16 * 16]; int x = T & 15, y = T / 16; const longlong2 *p = (const longlong2 *)a;
  for (int k = y; k < 16; k += THREADS / 16) { longlong2 v = p[(blockIdx.x * 16 + k) * 16 + x]; tile[k * 16 + (x ^ k)] = (double)((v.x ^ v.y) & 1023); }
  __syncthreads();
  for (int k = y; k < 16; k += THREADS / 16) if (blockIdx.x * 256 + k * 16 + x < n) ((double *)out)[blockIdx.x * 256 + k * 16 + x] = tile[x * 16 + (k ^ x)]; }
""", At(1, 64, 250), At(2, (16, 5), 500))

# -- stencils and images ------------------------------------------------------------------------------

_add("five by five with halo", r"""
#define R 2
__constant__ float weight[5][5] = {{1, 2, 3, 2, 1}, {2, 4, 6, 4, 2}, {3, 6, 9, 6, 3}, {2, 4, 6, 4, 2}, {1, 2, 3, 2, 1}};
K { __shared__ float s[8 + 2 * R][16 + 2 * R]; int w = 50, h = n, bx = blockIdx.x * 16, tx = threadIdx.x, ty = threadIdx.y;
  for (int by = 0; by < h; by += 8) {
    for (int k = T; k < (8 + 2 * R) * (16 + 2 * R); k += THREADS) { int y = by + k / (16 + 2 * R) - R, x = bx + k % (16 + 2 * R) - R; y = max(0, min(h - 1, y)); x = max(0, min(w - 1, x)); s[k / (16 + 2 * R)][k % (16 + 2 * R)] = a[y * w + x] & 1023; }
    __syncthreads();
    float sum = 0;
    for (int v = 0; v < 5; v++) for (int u = 0; u < 5; u++) sum += weight[v][u] * s[ty + v][tx + u];
    if (bx + tx < w && by + ty < h) ((float *)out)[(by + ty) * w + bx + tx] = sum;
    __syncthreads();
  } }
""", At(1, (16, 8), 13), At(4, (16, 8), 18))
_add("thirteen points in space", r"""
K { const int nx = 20, ny = 11; int x = threadIdx.x, y = threadIdx.y, plane = nx * ny; if (x >= nx || y >= ny) return;
  const float c0 = .5f, c1 = .25f, c2 = .125f; int at = y * nx + x; float m2 = 0, m1 = 0, c = a[at] & 255, p1 = a[at + plane] & 255, p2;
  for (int z = 0; z < n; z++, at += plane) {
    p2 = z + 2 < n ? (float)(a[at + 2 * plane] & 255) : 0.f;
    float s = c0 * c + c1 * (m1 + p1) + c2 * (m2 + p2);
    if (x > 1 && x < nx - 2) s += c1 * ((a[at - 1] & 255) + (a[at + 1] & 255)) + c2 * ((a[at - 2] & 255) + (a[at + 2] & 255));
    if (y > 1 && y < ny - 2) s += c1 * ((a[at - nx] & 255) + (a[at + nx] & 255)) + c2 * ((a[at - 2 * nx] & 255) + (a[at + 2 * nx] & 255));
    ((float *)out)[at] = s; m2 = m1; m1 = c; c = p1; p1 = p2;
  } }
""", At(1, (22, 12), 5), At(1, (32, 7), 3))
_add("columns of a separable filter", r"""
__constant__ float taps[7] = {.03f, .11f, .22f, .28f, .22f, .11f, .03f};
template <int N> __device__ float filtered(const float *s, int stride) { return s[(N - 1) * stride] * taps[N - 1] + filtered<N - 1>(s, stride); }
template <> __device__ float filtered<0>(const float *, int) { return 0.f; }
K { __shared__ float s[22 * 16]; int w = 40, x = blockIdx.x * 16 + threadIdx.x;
  for (int k = threadIdx.y; k < 22; k += blockDim.y) { int y = k - 3; s[k * 16 + threadIdx.x] = y >= 0 && y < n && x < w ? (float)(a[y * w + x] & 255) : 0.f; }
  __syncthreads();
  for (int y = threadIdx.y; y < 16 && y < n; y += blockDim.y) if (x < w) ((float *)out)[y * w + x] = filtered<7>(s + y * 16 + threadIdx.x, 16); }
""", At(1, (16, 6), 13), At(3, (16, 4), 16))
_add("bilateral filter", r"""
K { int w = 37, i = I; if (i >= n) return; int x = i % w, y = i / w, h = (n + w - 1) / w; const u8 *p = (const u8 *)a; float c = p[y * w + x], sum = 0, norm = 0;
  for (int v = max(0, y - 2); v <= min(h - 1, y + 2); v++) for (int u = max(0, x - 2); u <= min(w - 1, x + 2); u++) {
    float q = p[v * w + u], d = q - c, g = exp2f(-(d * d) * .001f - ((u - x) * (u - x) + (v - y) * (v - y)) * .125f); sum += g * q; norm += g; }
  ((u8 *)out)[i] = (u8)(sum / norm + .5f); }
""", *ODD)
_add("median of nine", r"""
__device__ __forceinline__ void order(u8 &x, u8 &y) { u8 m = min(x, y); y = max(x, y); x = m; }
K { int w = 33, i = I; if (i >= n) return; int x = i % w, y = i / w; const u8 *p = (const u8 *)a; u8 v[9]; int m = 0;
  for (int dy = -1; dy <= 1; dy++) for (int dx = -1; dx <= 1; dx++) v[m++] = p[(y + dy < 0 ? 0 : y + dy) * w + (x + dx < 0 ? 0 : x + dx >= w ? w - 1 : x + dx)];
  for (int k = 0; k < 5; k++) for (int j = k + 1; j < 9; j++) order(v[k], v[j]);
  ((u8 *)out)[i] = v[4]; }
""", *ODD)
_add("cosine transform of blocks", r"""
__constant__ float table[64] = {.35f, .49f, .46f, .42f, .35f, .28f, .19f, .1f, .35f, .42f, .19f, -.1f, -.35f, -.49f, -.46f, -.28f, .35f, .28f, -.19f, -.49f, -.35f, .1f, .46f, .42f};
K { __shared__ float s[2][64], t[2][64]; int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, at = y * 8 + x, tile = blockIdx.x * 2 + z; bool on = tile < n;
  s[z][at] = on ? (float)((a[tile * 64 + at] & 255) - 128) : 0.f; __syncthreads();
  float sum = 0; for (int k = 0; k < 8; k++) sum += table[y * 8 + k] * s[z][k * 8 + x]; t[z][at] = sum; __syncthreads();
  sum = 0; for (int k = 0; k < 8; k++) sum += t[z][y * 8 + k] * table[x * 8 + k]; if (on) ((short *)out)[tile * 64 + at] = (short)rintf(sum); }
""", At(1, (8, 8, 2), 1), At(2, (8, 8, 2), 3))
_add("life on bytes", r"""
K { __shared__ u8 s[2][20][24]; int x = threadIdx.x, y = threadIdx.y, w = blockDim.x, h = blockDim.y; const u8 *p = (const u8 *)a;
  s[0][y][x] = p[y * w + x] & 1; __syncthreads();
  for (int k = 0; k < n; k++) { u8 (*now)[24] = s[k & 1], (*next)[24] = s[~k & 1]; int l = (x + w - 1) % w, r = (x + 1) % w, u = (y + h - 1) % h, d = (y + 1) % h;
    int c = now[u][l] + now[u][x] + now[u][r] + now[y][l] + now[y][r] + now[d][l] + now[d][x] + now[d][r];
    next[y][x] = c == 3 || (c == 2 && now[y][x]); __syncthreads(); }
  ((u8 *)out)[y * w + x] = s[n & 1][y][x]; }
""", At(1, (11, 9), 3), At(1, (24, 7), 4))
_add("nearest centre", r"""
K { __shared__ float cx[12], cy[12]; __shared__ int sums[12][3]; int t = T; if (t < 12) { cx[t] = b[t] & 255; cy[t] = b[t + 12] & 255; sums[t][0] = sums[t][1] = sums[t][2] = 0; } __syncthreads();
  for (int i = I; i < n; i += ALL) { int2 p = ((const int2 *)a)[i]; float x = p.x & 255, y = p.y & 255, best = 1e30f; int at = 0;
    for (int k = 0; k < 12; k++) { float dx = x - cx[k], dy = y - cy[k], d = dx * dx + dy * dy; if (d < best) { best = d; at = k; } }
    out[1000 + i] = at; atomicAdd(&sums[at][0], (int)x); atomicAdd(&sums[at][1], (int)y); atomicAdd(&sums[at][2], 1); }
  __syncthreads(); if (t < 12) { atomicAdd(out + t * 3, sums[t][0]); atomicAdd(out + t * 3 + 1, sums[t][1]); atomicAdd(out + t * 3 + 2, sums[t][2]); } }
""", At(1, 32, 50), At(2, 103, 300))

# -- norms, attention, narrow numbers --------------------------------------------------------------------

_add("layernorm by welford", r"""
K { int lane = T & 31, row = I / 32, cols = 90; if (row >= n) return; const float *gamma = (const float *)out + 8000; float mean = 0, m2 = 0, count = 0;
  for (int k = lane; k < cols; k += 32) { float x = a[row * cols + k] & 127; count += 1; float d = x - mean; mean += d / count; m2 += d * (x - mean); }
  for (int d = 16; d; d >>= 1) { float m = __shfl_down_sync(~0u, mean, d), q = __shfl_down_sync(~0u, m2, d), c = __shfl_down_sync(~0u, count, d); float all = count + c; if (all > 0) { float e = m - mean; mean += e * c / all; m2 += q + e * e * count * c / all; count = all; } }
  mean = __shfl_sync(~0u, mean, 0); float scale = rsqrtf(__shfl_sync(~0u, m2, 0) / cols + 1e-5f);
  for (int k = lane; k < cols; k += 32) ((float *)out)[row * cols + k] = ((a[row * cols + k] & 127) - mean) * scale * (1.f + (__float_as_int(gamma[k]) & 3)); }
""", At(1, 64, 2), At(2, 96, 5), free=True)
_add("softmax in halves", HALF + r"""
K { __shared__ float part[4]; __shared__ float most, total; int t = T, row = blockIdx.x, cols = n; const u32 *p = (const u32 *)a + row * cols; float m = -1e30f;
  for (int k = t; k < cols; k += THREADS) { u32 w = p[k] & 0x3fff3fff; float2 f = __half22float2(*(__half2 *)&w); m = fmaxf(m, fmaxf(f.x, f.y)); }
  for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d)); if ((t & 31) == 0) part[t / 32] = m; __syncthreads();
  if (t == 0) { for (int k = 1; k < THREADS / 32; k++) m = fmaxf(m, part[k]); most = m; } __syncthreads(); m = most; float s = 0;
  for (int k = t; k < cols; k += THREADS) { u32 w = p[k] & 0x3fff3fff; float2 f = __half22float2(*(__half2 *)&w); s += exp2f(f.x - m) + exp2f(f.y - m); }
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d); if ((t & 31) == 0) part[t / 32] = s; __syncthreads();
  if (t == 0) { for (int k = 1; k < THREADS / 32; k++) s += part[k]; total = 1.f / s; } __syncthreads(); s = total;
  for (int k = t; k < cols; k += THREADS) { u32 w = p[k] & 0x3fff3fff; float2 f = __half22float2(*(__half2 *)&w); ((__half2 *)out)[row * cols + k] = __floats2half2_rn(exp2f(f.x - m) * s, exp2f(f.y - m) * s); } }
""", At(1, 32, 50), At(3, 96, 130))
_add("attention, a warp a query", r"""
#define D 48
K { __shared__ float q[3][D]; int lane = T & 31, w = T / 32, row = blockIdx.x * (THREADS / 32) + w; if (row < n) for (int k = lane; k < D; k += 32) q[w][k] = (a[row * D + k] & 15) * .125f; __syncwarp();
  if (row >= n) return; float m = -1e30f, l = 0, acc0 = 0, acc1 = 0;
  for (int base = 0; base <= row; base += 32) { int key = base + lane; float s = -1e30f; if (key <= row) { s = 0; for (int k = 0; k < D; k++) s += q[w][k] * ((b[(key * D + k) & 4095] & 15) * .0625f); }
    float mm = s; for (int d = 16; d; d /= 2) mm = fmaxf(mm, __shfl_xor_sync(~0u, mm, d)); float next = fmaxf(m, mm), scale = exp2f(m - next), p = key <= row ? exp2f(s - next) : 0; m = next; float sum = p; for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d); l = l * scale + sum; acc0 *= scale; acc1 *= scale;
    for (int j = 0; j < 32 && base + j <= row; j++) { float pj = __shfl_sync(~0u, p, j); const int *v = a + 8192 + (base + j) * D; acc0 += pj * (v[lane] & 7); if (lane + 32 < D) acc1 += pj * (v[lane + 32] & 7); } }
  ((float *)out)[row * D + lane] = acc0 / l; if (lane + 32 < D) ((float *)out)[row * D + lane + 32] = acc1 / l; }
""", At(1, 64, 2), At(14, 96, 40), free=True)
_add("products of halves", HALF + r"""
K { int lane = T & 31, row = I / 32; if (row >= n) return; const u32 *m = (const u32 *)a + row * 75, *x = (const u32 *)b; __half2 sum = __float2half2_rn(0.f);
#pragma unroll 3
  for (int k = lane; k < 75; k += 32) { u32 u = m[k] & 0x33ff33ff, v = x[k] & 0x33ff33ff; sum = __hfma2(*(__half2 *)&u, *(__half2 *)&v, sum); }
  float f = __low2float(sum) + __high2float(sum); for (int d = 16; d; d >>= 1) f += __shfl_down_sync(~0u, f, d); if (lane == 0) ((__half *)out)[row] = __float2half(f); }
""", At(1, 64, 2), At(3, 96, 8))
_add("gelu of bfloats", HALF + r"""
K { const __nv_bfloat16 *bias = (const __nv_bfloat16 *)b; for (int i = I; i < n; i += ALL) { u32 w = ((const u32 *)a)[i] & 0x3fff3fff; __nv_bfloat162 v = *(__nv_bfloat162 *)&w; float2 f = __bfloat1622float2(v); f.x += __bfloat162float(bias[2 * (i % 9)]); f.y += __bfloat162float(bias[2 * (i % 9) + 1]);
    f.x = f.x / (1.f + exp2f(-f.x * 2.455f)); f.y = f.y / (1.f + exp2f(-f.y * 2.455f)); ((__nv_bfloat162 *)out)[i] = __floats2bfloat162_rn(f.x, f.y); } }
""", At(1, 50, 130), At(2, 103, 500))
_add("four bits to floats", r"""
K { int i = I; if (i >= n) return; const u8 *q = (const u8 *)a; const float *scale = (const float *)out + 9000; float s = (__float_as_int(scale[i / 16]) & 7) + 1;
  u32 w = *(const u32 *)(q + 4 * i); float4 lo, hi; lo.x = ((w & 15) - 8) * s; lo.y = ((int)(w >> 4 & 15) - 8) * s; lo.z = ((int)(w >> 8 & 15) - 8) * s; lo.w = ((int)(w >> 12 & 15) - 8) * s; hi.x = ((int)(w >> 16 & 15) - 8) * s; hi.y = ((int)(w >> 20 & 15) - 8) * s; hi.z = ((int)(w >> 24 & 15) - 8) * s; hi.w = ((int)(w >> 28) - 8) * s;
  ((float4 *)out)[2 * i] = lo; ((float4 *)out)[2 * i + 1] = hi; }
""", *ODD)
_add("rows to bytes", r"""
K { __shared__ int most; int t = T, row = blockIdx.x; if (t == 0) most = 0; __syncthreads(); int m = 0;
  for (int k = t; k < n; k += THREADS) m = max(m, abs(a[row * n + k] >> 8));
  atomicMax(&most, m); __syncthreads(); float scale = 127.f / most; signed char *to = (signed char *)out + 64;
  for (int k = t; k < n; k += THREADS) to[row * n + k] = (signed char)__float2int_rn((a[row * n + k] >> 8) * scale);
  if (t == 0) ((float *)out)[row] = 1.f / scale; }
""", At(1, 32, 75), At(3, (5, 7, 3), 290))

# -- structures, tables, text ---------------------------------------------------------------------------

_add("particles padded to sixteen", r"""
struct __align__(16) P { float3 at; float mass; float3 speed; short kind; char alive; };
K { const P *p = (const P *)a; P *to = (P *)out; for (int i = I; i < n; i += ALL) { P v = p[i & 511]; if (!(v.alive & 1)) continue; v.kind = (short)(b[i] + v.kind); v.at.x = i; v.speed.z = .5f * (b[i] & 3); v.at.y = v.speed.z * i; to[i & 511].at = v.at; to[i & 511].kind = v.kind; to[i & 511].speed.z = v.speed.z; } }
""", At(1, 32, 29), At(2, 103, 400))
_add("particles in arrays", r"""
struct S { float *x, *y; short *kind; u8 *alive; };
__device__ void step(S s, int i, float dt) { if (!s.alive[i]) return; s.x[i] += dt * s.kind[i]; s.y[i] -= dt; if (s.y[i] < 20.f) s.alive[i] = 0; }
K { S s = {(float *)out, (float *)out + 1000, (short *)(out + 2000), (u8 *)(out + 3000)}; int i = I; if (i < n) { s.x[i] = b[i]; s.y[i] = a[i] & 63; for (int k = 0; k < 3; k++) step(s, i, .5f); } }
""", *ODD)
_add("search by shifts", r"""
__constant__ u8 pattern[6] = {1, 0, 2, 1, 0, 1};
K { __shared__ u8 shift[4]; if (T < 4) { shift[T] = 6; for (int k = 0; k < 5; k++) if (pattern[k] == T) shift[T] = 5 - k; } __syncthreads();
  const u8 *text = (const u8 *)a + I * 50; if (I >= n) return; int at = 0, found = -1;
  while (at + 6 <= 50) { int k = 5; while (k >= 0 && (text[at + k] & 3) % 3 == pattern[k]) k--; if (k < 0) { found = at; break; } at += shift[(text[at + 5] & 3) % 3]; }
  out[I] = found; }
""", *ODD)
_add("distance of words", r"""
K { int i = I; if (i >= n) return; const u8 *s = (const u8 *)a + i * 9, *t = (const u8 *)b + i * 5; u8 row[13]; for (int k = 0; k <= 12; k++) row[k] = k;
  for (int y = 1; y <= 8; y++) { u8 diagonal = row[0]; row[0] = y; for (int x = 1; x <= 12; x++) { u8 up = row[x]; u8 cost = (s[y - 1] & 3) == (t[x - 1] & 3) ? diagonal : 1 + min(diagonal, min(up, row[x - 1])); diagonal = up; row[x] = cost; } }
  ((u8 *)out)[i] = row[12]; }
""", *ODD)
_add("base 64", r"""
__device__ const char letters[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
K { int i = I, groups = (n + 2) / 3; if (i >= groups) return; const u8 *p = (const u8 *)a + 3 * i; char *to = (char *)out + 4 * i; u32 w = p[0] << 16; if (3 * i + 1 < n) w |= p[1] << 8; if (3 * i + 2 < n) w |= p[2];
  to[0] = letters[w >> 18]; to[1] = letters[w >> 12 & 63]; to[2] = 3 * i + 1 < n ? letters[w >> 6 & 63] : '='; to[3] = 3 * i + 2 < n ? letters[w & 63] : '='; }
""", At(1, 32, 80), At(2, 103, 500))
_add("tables in shared memory", r"""
K { __shared__ u8 box[256]; __shared__ u32 wide[64]; for (int k = T; k < 256; k += THREADS) box[k] = (k * 167 + 13) ^ k >> 3; for (int k = T; k < 64; k += THREADS) wide[k] = a[k]; __syncthreads();
  int i = I; if (i >= n) return; uint4 s = ((const uint4 *)a)[i]; for (int r = 0; r < 3; r++) { u32 x = box[s.x & 255] | box[s.y >> 8 & 255] << 8 | box[s.z >> 16 & 255] << 16 | (u32)box[s.w >> 24] << 24; s.x = s.y ^ wide[x & 63]; s.y = s.z ^ wide[x >> 6 & 63]; s.z = s.w; s.w = x; }
  ((uint4 *)out)[i] = s; }
""", *ODD)
_add("lower bounds", r"""
K { int i = I; if (i >= n) return; int key = a[i] & 0xffff, lo = 0, hi = 700; while (lo < hi) { int mid = lo + (hi - lo) / 2; int v = mid * 90 + (b[mid] & 63); if (v < key) lo = mid + 1; else hi = mid; } out[i] = lo; if (lo < 700 && lo * 90 + (b[lo] & 63) == key) out[4000 + i] = 1; }
""", *ODD)
_add("bloom filter", r"""
K { __shared__ u32 bits[16]; if (T < 16) bits[T] = 0; __syncthreads(); for (int i = T; i < n; i += THREADS) { u32 h = (u32)a[i] * 2654435761u; for (int k = 0; k < 3; k++) { atomicOr(&bits[h >> 28], 1u << (h >> 23 & 31)); h = h * 5 + 1; } } __syncthreads();
  for (int i = I; i < n; i += ALL) { u32 h = (u32)a[i + 1000] * 2654435761u; bool in = true; for (int k = 0; k < 3 && in; k++) { in = bits[h >> 28] >> (h >> 23 & 31) & 1; h = h * 5 + 1; } if (in) out[i] = -1; } }
""", At(1, 32, 29), At(2, 103, 120))
_add("histogram of words of bytes", r"""
K { __shared__ u32 s[2][64]; for (int k = T; k < 128; k += THREADS) s[0][k] = 0; __syncthreads(); u32 *mine = s[T / 32 & 1]; const uint2 *p = (const uint2 *)a;
  for (int i = I; i < n; i += ALL) { uint2 v = p[i]; for (int k = 0; k < 4; k++) { atomicAdd(mine + (v.x >> 8 * k & 63), 1u); atomicAdd(mine + (v.y >> 8 * k & 63), 1u); } } __syncthreads();
  for (int k = T; k < 64; k += THREADS) { u32 c = s[0][k] + s[1][k]; if (c) atomicAdd((u32 *)out + k, c); } }
""", At(1, 64, 100), At(2, 103, 300))

# -- graphs, tables of keys ------------------------------------------------------------------------------

_add("insert by compare and swap", r"""
K { u64 *table = (u64 *)out + 4096; for (int k = T; k < 256; k += THREADS) table[k] = ~0ull; __syncthreads();
  for (int i = T; i < n; i += THREADS) { u64 key = (u32)b[i] & 1023, slot = key * 37 & 255; while (true) { u64 was = atomicCAS(table + slot, ~0ull, key << 32 | i); if (was == ~0ull || was >> 32 == key) break; slot = (slot + 1) & 255; } } }
""", At(1, 32, 29), At(1, 32, 90), free=True)
_add("joined sets", r"""
__device__ int root(volatile int *parent, int x) { while (parent[x] != x) { int up = parent[parent[x]]; parent[x] = up; x = up; } return x; }
K { int *parent = out; for (int k = T; k < 128; k += THREADS) parent[k] = k; __syncthreads();
  for (int i = T; i < n; i += THREADS) { int x = b[2 * i] & 127, y = b[2 * i + 1] & 127; for (;;) { x = root(parent, x); y = root(parent, y); if (x == y) break; if (x < y) { int s = x; x = y; y = s; } if (atomicCAS(parent + x, x, y) == x) break; } }
  __syncthreads(); for (int k = T; k < 128; k += THREADS) out[1000 + k] = root(parent, k); }
""", At(1, 32, 20), At(1, 64, 90), free=True)
_add("breadth first", r"""
K { __shared__ int queue[2][128], count[2]; int *level = out; for (int k = T; k < 128; k += THREADS) level[k] = -1; if (T == 0) { queue[0][0] = n; count[0] = 1; count[1] = 0; } __syncthreads(); if (T == 0) level[n] = 0; __syncthreads();
  for (int d = 1;; d++) { int from = ~d & 1, size = count[from]; if (size == 0) break;
    for (int k = T; k < size; k += THREADS) { int v = queue[from][k]; for (int e = 0; e < (b[v] & 3); e++) { int to = b[v * 4 + e + 500] & 127; if (atomicCAS(level + to, -1, d) == -1) queue[d & 1][atomicAdd(&count[d & 1], 1)] = to; } }
    __syncthreads(); if (T == 0) count[from] = 0; __syncthreads(); } }
""", At(1, 32, 3), At(1, 64, 7), free=True)
_add("triangles", r"""
K { int i = I; if (i >= n) return; int total = 0; for (int v = 0; v < (b[i] & 3); v++) { int j = b[i * 4 + v & 4095] & 255, p = i * 6, q = j * 6, x = 0, y = 0, ex = b[i] % 6, ey = b[j] % 6, av = 0, bv = 0;
    while (x < ex && y < ey) { int u = a[p + x] & 15, w = a[q + y] & 15; av += u; bv += w; if (av == bv) { total++; x++; y++; } else if (av < bv) x++; else y++; } if (total) atomicAdd(out + 4000 + (j & 7), total); }
  out[i] = total; }
""", *ODD)
_add("shortest paths of a tile", r"""
K { __shared__ int d[24 * 25]; int w = 24; for (int k = T; k < w * w; k += THREADS) d[k / w * 25 + k % w] = a[k] & 1023; __syncthreads();
  for (int k = 0; k < n; k++) { for (int at = T; at < w * w; at += THREADS) { int y = at / w, x = at % w, through = d[y * 25 + k] + d[k * 25 + x]; if (through < d[y * 25 + x]) d[y * 25 + x] = through; } __syncthreads(); }
  for (int k = T; k < w * w; k += THREADS) out[k] = d[k / w * 25 + k % w]; }
""", At(1, 64, 4), At(1, (24, 5), 9))

# -- solvers, transforms, chance ----------------------------------------------------------------------------

_add("jacobi until it rests", r"""
K { __shared__ float x[2][106]; __shared__ int moving; int t = T; x[0][t + 1] = x[1][t + 1] = a[t] & 63; if (t == 0) { x[0][0] = x[1][0] = 5; x[0][THREADS + 1] = x[1][THREADS + 1] = 9; } int k = 0;
  do { __syncthreads(); if (t == 0) moving = 0; __syncthreads(); float was = x[k & 1][t + 1], now = .5f * (x[k & 1][t] + x[k & 1][t + 2]); x[~k & 1][t + 1] = now; if (fabsf(was - now) > 4.f) moving = 1; __syncthreads(); k++; } while (moving && k < n);
  ((float *)out)[t] = x[k & 1][t + 1]; if (t == 0) out[500] = k; }
""", At(1, 32, 9), At(1, 103, 12))
_add("gauss-seidel, red and black", r"""
K { __shared__ float s[10][18]; for (int k = T; k < 180; k += THREADS) s[k / 18][k % 18] = a[k] & 127; __syncthreads();
  for (int k = 0; k < n; k++) for (int colour = 0; colour < 2; colour++) { for (int at = T; at < 128; at += THREADS) { int y = at / 16 + 1, x = at % 16 + 1; if (((x + y) & 1) == colour) s[y][x] = .25f * (s[y - 1][x] + s[y + 1][x] + s[y][x - 1] + s[y][x + 1]); } __syncthreads(); }
  for (int at = T; at < 128; at += THREADS) ((float *)out)[at] = s[at / 16 + 1][at % 16 + 1]; }
""", At(1, 32, 2), At(1, 103, 3))
_add("cholesky of small tiles", r"""
K { __shared__ float m[4][8][9]; int lane = T & 7, tile = T / 8; bool on = I / 8 < n; for (int r = 0; r < 8; r++) m[tile][r][lane] = r == lane ? 200.f : (float)(a[(I / 8 * 64 + (r > lane ? r * 8 + lane : lane * 8 + r)) & 16383] & 15); __syncthreads();
  for (int k = 0; k < 8; k++) { if (lane == k) m[tile][k][k] = sqrtf(m[tile][k][k]); __syncthreads(); if (lane > k) m[tile][lane][k] /= m[tile][k][k]; __syncthreads(); if (lane > k) for (int j = k + 1; j <= lane; j++) m[tile][lane][j] -= m[tile][lane][k] * m[tile][j][k]; __syncthreads(); }
  if (on) for (int r = 0; r < 8; r++) ((float *)out)[I / 8 * 64 + r * 8 + lane] = r >= lane ? m[tile][r][lane] : 0.f; }
""", At(1, 32, 3), At(2, 32, 7))
_add("one step of lu", r"""
K { int w = n, k = 2; float *m = (float *)out; for (int at = T; at < w * w; at += THREADS) m[at] = (a[at] & 63) + 1 + (at % (w + 1) == 0) * 500; __syncthreads(); int t = T; if (t > k && t < w) m[t * w + k] /= m[k * w + k]; __syncthreads();
  for (int y = k + 1 + threadIdx.y; y < w; y += blockDim.y) for (int x = k + 1 + threadIdx.x; x < w; x += blockDim.x) m[y * w + x] -= m[y * w + k] * m[k * w + x]; }
""", At(1, (16, 4), 19), At(1, (13, 7), 22))
_add("fft in fours", r"""
__device__ __forceinline__ float2 times(float2 x, float2 y) { return make_float2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); }
__constant__ float2 turn[4] = {{1, 0}, {.92f, -.38f}, {.71f, -.71f}, {.38f, -.92f}};
K { __shared__ float2 s[256]; int t = T; if (t < 64) { float2 v[4]; for (int k = 0; k < 4; k++) { int2 w = ((const int2 *)a)[t + 64 * k]; v[k] = make_float2(w.x & 63, w.y & 63); }
    for (int ns = 1; ns < 256; ns *= 4) { int j = t % ns; float2 w = turn[(4 * j / ns) & 3]; for (int k = 1; k < 4; k++) { float2 f = w; for (int m = 1; m < k; m++) f = times(f, w); v[k] = times(v[k], f); }
      float2 p = make_float2(v[0].x + v[2].x, v[0].y + v[2].y), q = make_float2(v[0].x - v[2].x, v[0].y - v[2].y), r = make_float2(v[1].x + v[3].x, v[1].y + v[3].y), u = make_float2(v[1].y - v[3].y, v[3].x - v[1].x);
      int at = t / ns * ns * 4 + j; s[at] = make_float2(p.x + r.x, p.y + r.y); s[at + ns] = make_float2(q.x + u.x, q.y + u.y); s[at + 2 * ns] = make_float2(p.x - r.x, p.y - r.y); s[at + 3 * ns] = make_float2(q.x - u.x, q.y - u.y);
      asm volatile("bar.sync 1, 64;" ::: "memory"); for (int k = 0; k < 4; k++) v[k] = s[t + 64 * k]; asm volatile("bar.sync 1, 64;" ::: "memory"); }
    for (int k = 0; k < 4; k++) ((float2 *)out)[t + 64 * k] = v[k]; } if (I < n) out[8000 + I] = t; }
""", At(1, 64, 50), At(1, 96, 90))
_add("darts", r"""
__device__ u32 next(u32 &s) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; }
K { u32 s = a[I] | 1; int hits = 0; for (int k = 0; k < n; k++) { float x = (next(s) >> 8) * (1.f / 16777216.f), y = (next(s) >> 8) * (1.f / 16777216.f); if (x * x + y * y <= 1.f) hits++; else if (k > 5 && (s & 15) == 0) break; }
  for (int d = 16; d; d >>= 1) hits += __shfl_down_sync(~0u, hits, d); if ((T & 31) == 0) atomicAdd(out + 100, hits); out[200 + I] = s; }
""", At(1, 32, 20), At(2, 96, 30))
_add("bodies in tiles of float4", r"""
K { extern __shared__ float4 tile[]; int i = I; float4 me = make_float4(a[4 * (i & 511)] & 63, a[4 * (i & 511) + 1] & 63, b[i] & 63, 1); float3 acc = make_float3(0, 0, 0);
  for (int base = 0; base < n; base += THREADS) { int j = base + T; tile[T] = j < n ? make_float4(a[4 * j] & 63, a[4 * j + 1] & 63, b[j] & 63, a[4 * j + 3] & 7) : make_float4(0, 0, 0, 0); __syncthreads();
#pragma unroll 8
    for (int k = 0; k < THREADS; k++) { float4 o = tile[k]; float x = o.x - me.x, y = o.y - me.y, z = o.z - me.z, r = x * x + y * y + z * z + .5f, inv = 1.f / (r * sqrtf(r)) * o.w; acc.x += x * inv; acc.y += y * inv; acc.z += z * inv; } __syncthreads(); }
  if (i < n) { ((float3 *)out)[i] = acc; } }
""", At(1, 32, 29, 512), At(2, 103, 177, 1648))
_add("julia in doubles", r"""
K { int w = 24; for (int i = I; i < n; i += ALL) { double x = (i % w - 12) * .12, y = (i / w - 6) * .14; int k = 0; do { double t = x * x - y * y - .8; y = 2 * x * y + .156; x = t; if (x * x + y * y > 4) break;
#pragma unroll 2
      for (int j = 0; j < 2; j++) { t = x * x - y * y - .8; y = 2 * x * y + .156; x = t; } } while (++k < 12); ((short *)out)[i] = k; if (k == 12) out[4000 + i] = (int)(x * 1000); } }
""", At(1, 32, 90), At(2, 103, 280))
_add("three n plus one", r"""
K { __shared__ int longest; if (T == 0) longest = 0; __syncthreads(); int i = I; if (i < n) { u64 v = b[i] + 1; int steps = 0; do { if (v & 1) v = 3 * v + 1; else v >>= 1; if (++steps > 60) goto give_up; } while (v != 1); out[i] = steps; if (steps > longest) atomicMax(&longest, steps); give_up: if (steps > 60) out[i] = -1; } __syncthreads(); if (T == 0) out[2000 + blockIdx.x] = longest; }
""", *ODD)

# -- functions, pipelines, matrices of the hardware --------------------------------------------------------

_add("quicksort, recursive", r"""
__device__ __noinline__ void sort(int *v, int lo, int hi) { if (lo >= hi) return; int p = v[(lo + hi) / 2], i = lo, j = hi; while (i <= j) { while (v[i] < p) i++; while (v[j] > p) j--; if (i <= j) { int t = v[i]; v[i] = v[j]; v[j] = t; i++; j--; } } sort(v, lo, j); sort(v, i, hi); }
K { int i = I; if (i >= n) return; int *mine = out + i * 10; for (int k = 0; k < 10; k++) mine[k] = a[i * 10 + k]; sort(mine, 0, 9); }
""", At(1, 32, 29), At(1, (5, 9), 40))
_add("ackermann and towers", r"""
__device__ int ack(int m, int k) { if (m == 0) return k + 1; if (k == 0) return ack(m - 1, 1); return ack(m - 1, ack(m, k - 1)); }
__device__ void move(int d, int from, int to, int *pegs) { if (d == 0) return; int by = 3 - from - to; move(d - 1, from, by, pegs); pegs[from] -= d; pegs[to] += d; move(d - 1, by, to, pegs); }
K { int i = I; if (i >= n) return; out[i] = ack(b[i] % 3, b[i + 1] & 1); int *pegs = out + 1000 + 3 * i; pegs[0] = 6; pegs[1] = pegs[2] = 0; move(b[i] & 3, 0, 2, pegs); }
""", *ODD)
_add("operations by virtual call", r"""
struct Op { __device__ virtual int of(const int *p, int k) const = 0; };
struct Plus : Op { int by; __device__ Plus(int x) : by(x) {} __device__ int of(const int *p, int k) const override { return p[k] + by; } };
struct Pair : Op { __device__ int of(const int *p, int k) const override { return p[k] ^ p[k + 1]; } };
K { int i = I; if (i >= n) return; Plus plus(i); Pair pair; const Op *op = b[i] & 1 ? (const Op *)&plus : &pair; int s = 0; for (int k = 0; k < 3; k++) s += op->of(a, i + 40 * k); out[i] = s; }
""", *ODD)
_add("checked by asserts", r"""
#undef assert
#define assert(x) do { if (!(x)) __trap(); } while (0)
struct Stack { int v[8]; int top; __device__ void push(int x) { assert(top < 8); v[top++] = x; } __device__ int pop() { assert(top > 0); return v[--top]; } };
K { int i = I; if (i >= n) return; Stack s; s.top = 0; for (int k = 0; k < 12; k++) { int x = b[i + k * 7]; switch (x & 3) { case 0: if (s.top < 8) s.push(a[i + k]); break; case 1: if (s.top > 1) s.push(s.pop() + s.pop()); break; case 2: if (s.top) { out[1000 + i] = s.pop(); break; } default: if (s.top == 8) s.top = 2; s.push(k); } } out[i] = s.top ? s.pop() : -1; }
""", *ODD)
_add("best three of many", r"""
K { int i = I; if (i >= n) return; float best[3] = {1e30f, 1e30f, 1e30f}; int at[3] = {-1, -1, -1}; int2 me = ((const int2 *)b)[i & 1023];
  for (int k = 0; k < 40; k++) { int2 p = ((const int2 *)a)[k]; float dx = (p.x & 4095) - me.x, dy = (p.y & 4095) - me.y, d = dx * dx + dy * dy; if (d < best[2]) { int j = 2; while (j > 0 && best[j - 1] > d) { best[j] = best[j - 1]; at[j] = at[j - 1]; j--; } best[j] = d; at[j] = k; } }
  for (int k = 0; k < 3; k++) out[3 * i + k] = at[k]; }
""", *ODD)
_add("axpy, unrolled", r"""
extern "C" __global__ void kernel(const int *__restrict__ a, const int *__restrict__ b, int *__restrict__ out, int n) {
  const float *x = (const float *)b; float *y = (float *)out; int step = ALL;
#pragma unroll 4
  for (int i = I; i < n; i += step) { float v = (float)(__ldg(a + i) & 255); y[i] = 2.5f * v + x[i & 1023]; } }
""", At(1, 50, 330), At(2, 103, 1500))
_add("pipeline of two stages", "#include <cuda_pipeline.h>\n" + r"""
K { __shared__ __align__(16) int s[2][4 * 64]; int t = T, tiles = n, sum = 0; const int *from = a + blockIdx.x * tiles * THREADS * 4;
  __pipeline_memcpy_async(&s[0][t * 4], from + t * 4, 16); __pipeline_commit();
  for (int k = 0; k < tiles; k++) { if (k + 1 < tiles) { __pipeline_memcpy_async(&s[(k + 1) & 1][t * 4], from + (k + 1) * THREADS * 4 + t * 4, 16); __pipeline_commit(); __pipeline_wait_prior(1); } else __pipeline_wait_prior(0); __syncthreads();
    for (int j = 0; j < 4; j++) sum += s[k & 1][(t + j * THREADS + 5) % (4 * THREADS)] >> 3; __syncthreads(); }
  out[I] = sum; }
""", At(1, 32, 3), At(2, 50, 4))
_add("wmma over tiles", "#include <mma.h>\nusing namespace nvcuda;\n" + r"""
K { __shared__ __align__(32) __half x[16 * 24], y[16 * 24]; wmma::fragment<wmma::accumulator, 16, 16, 16, float> c; wmma::fill_fragment(c, 0.f);
  for (int k = 0; k < n; k++) { for (int j = T; j < 256; j += THREADS) { x[j / 16 * 24 + j % 16] = __int2half_rn(a[k * 256 + j] & 7); y[j / 16 * 24 + j % 16] = __int2half_rn(b[k * 256 + j] & 7); } __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> f; wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> g; wmma::load_matrix_sync(f, x, 24); wmma::load_matrix_sync(g, y, 24); wmma::mma_sync(c, f, g, c); __syncthreads(); }
  if (T < 32) wmma::store_matrix_sync((float *)out, c, 16, wmma::mem_row_major); }
""", At(1, 32, 2), At(1, 64, 3))
_add("mma of bfloats", r"""
K { int lane = T & 31, g = lane / 4, q = lane % 4; float d[4] = {0, 0, 0, 0}; const u32 *p = (const u32 *)a, *r = (const u32 *)a + 8192;
  for (int k = 0; k < n; k++) { u32 x[4], y[2]; x[0] = p[g * 8 * n + k * 8 + q]; x[1] = p[(g + 8) * 8 * n + k * 8 + q]; x[2] = p[g * 8 * n + k * 8 + q + 4]; x[3] = p[(g + 8) * 8 * n + k * 8 + q + 4]; y[0] = r[g * 8 * n + k * 8 + q]; y[1] = r[g * 8 * n + k * 8 + q + 4]; for (int j = 0; j < 4; j++) x[j] = x[j] & 0x00030003 | 0x3f803f80; for (int j = 0; j < 2; j++) y[j] = y[j] & 0x00030003 | 0x3f803f80;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1])); }
  ((float2 *)out)[(T / 32 * 16 + g) * 4 + q] = make_float2(d[0], d[1]); ((float2 *)out)[(T / 32 * 16 + g + 8) * 4 + q] = make_float2(d[2], d[3]); }
""", At(1, 32, 2), At(1, 64, 3))
_add("two arrays in dynamic memory", r"""
K { extern __shared__ __align__(16) u8 raw[]; double *d = (double *)raw; short *s = (short *)(d + THREADS); u8 *f = (u8 *)(s + THREADS); int t = T, i = I; d[t] = i < n ? (double)(a[i] & 1023) : 0; s[t] = b[i] & 255; f[t] = i < n && b[i] & 1; __syncthreads();
  double sum = 0; for (int k = 0; k < 5; k++) { int at = (t + k * k) % THREADS; if (f[at]) sum += d[at] * s[at]; else sum -= s[(at + 1) % THREADS]; } if (i < n) ((double *)out)[i] = sum; }
""", At(1, 32, 29, 352), At(2, 103, 177, 1136), At(3, (5, 7, 3), 290, 1156))

# -- written after the first record, before the rules that it led to were tried on them ------------

_add("mutual recursion", r"""
__device__ int odd(const int *p, int k);
__device__ int even(const int *p, int k) { if (k <= 0) return 1; int v = p[k] & 3; return v + odd(p, k - 1 - (v == 2)); }
__device__ int odd(const int *p, int k) { if (k <= 0) return 0; int v = p[2 * k] & 7; if (v == 5) return v; return even(p, k - 1) * 2 - v; }
K { int i = I; if (i >= n) return; out[i] = even(a + i, b[i] & 7); if (b[i] & 8) out[2000 + i] = odd(a + 3 * i, b[i + 1] & 3); }
""", *ODD)
_add("queens", r"""
__device__ int solve(int row, int size, u32 columns, u32 left, u32 right, int *first) { if (row == size) { if (*first < 0) *first = (int)columns; return 1; } int found = 0; u32 free = ~(columns | left | right) & ((1u << size) - 1); while (free) { u32 bit = free & -free; free ^= bit; found += solve(row + 1, size, columns | bit, (left | bit) << 1, (right | bit) >> 1, first); } return found; }
K { int i = I; if (i >= n) return; int first = -1, size = 4; u32 bit = 1u << (b[i] & 3); out[i] = solve(1, size, bit, bit << 1, bit >> 1, &first); out[1000 + i] = first; }
""", At(1, 32, 29), At(1, (5, 9), 40))
_add("behind a recursion", r"""
__device__ int depth(const int *p, int at) { return at > 60 || p[at] % 4 == 0 ? 0 : 1 + depth(p, at * 2 + (p[at] & 1)); }
__device__ int scored(const int *p, int at, int *to) { int d = depth(p, at); if (d > 1) to[0] = d; return d * 3; }
K { __shared__ int s[128]; int i = I, t = T; s[t] = scored(a + (i & 63), 1, out + 4000 + i); int v = b[i]; if (v & 1) v += s[t]; else v -= a[i + 5]; s[t] += v; __syncthreads(); v = s[(t + 1) % THREADS]; for (int k = 0; k < (v & 3); k++) v ^= a[k + i]; if (i < n) out[i] = v; }
""", *ODD)
_add("sum of a tree", r"""
__device__ __noinline__ float total(const int *p, int lo, int hi) { if (hi - lo == 1) return p[lo] & 15; if (hi - lo == 2) return (p[lo] & 15) + (p[lo + 1] & 15); int mid = lo + (hi - lo) / 2; return total(p, lo, mid) + total(p, mid, hi); }
K { int i = I; if (i < n) ((float *)out)[i] = total(a + i, 0, (b[i] & 7) + 1); }
""", *ODD)
_add("neighbours in range", r"""
K { extern __shared__ float s[]; int i = I; float v = i < n ? (float)(a[i] & 1023) : 0.f; int near = 0; float sum = 0; s[T] = v; __syncthreads(); int m = min(THREADS, n - (int)blockIdx.x * THREADS);
  for (int k = 0; k < m; k++) { float d = s[k] - v; if (d * d < 4e4f && k != T) { near++; sum += s[k]; } } if (i < n) { out[i] = near; ((float *)out)[4000 + i] = sum; } }
""", At(1, 32, 29, 128), At(2, 103, 177, 412))
_add("first that is larger", r"""
K { __shared__ int s[128]; int i = I, t = T, at = -1; s[t] = a[i & 8191] & 4095; __syncthreads(); for (int k = t + 1; k < THREADS; k++) if (s[k] > s[t]) { at = k; break; } int less = 0; for (int k = 0; k < (n & 31) + 5; k++) less += s[k & 31] < s[t] && s[k & 31] & 1; if (i < n) out[i] = at * 64 + less; }
""", *ODD)
_add("best of two tables", r"""
K { __shared__ int s[32]; __shared__ double d[16]; if (T < 32) s[T] = b[T]; if (T < 16) d[T] = a[T] & 63; __syncthreads(); int i = I, v = a[i] & 4095; double best = 0; int m = n % 17;
#pragma unroll 4
  for (int k = 0; k < m; k++) { if (s[k] > v) best = fmax(best, d[k]); else if (s[k + 8] & 1) best += 1; } if (i < n) ((double *)out)[i] = best; }
""", *ODD)
_add("votes by thirds", r"""
K { int i = I; for (int k = i; k < n; k += ALL) { int v = (u32)a[k] % 3; if (v == 0) { atomicAdd(out + (b[k] & 15), 1); out[2000 + k] = 1; } else if (v == 1) atomicMax(out + 64 + (b[k] & 15), k); else atomicOr(out + 128 + (b[k] & 15), 1 << (k & 15)); } out[4000 + i] = i; }
""", At(1, 32, 70), At(2, 103, 500))
_add("some vote twice", r"""
K { __shared__ int s[16]; if (T < 16) s[T] = 0; __syncthreads(); int i = I; if (i < n) for (int k = 0; k < (b[i] & 3); k++) { int v = a[i + 32 * k]; if ((v & 7) == 3) { atomicAdd(&s[v >> 3 & 15], 1); if (v & 64) atomicSub(&s[v >> 5 & 15], 1); } else out[2000 + i + k * 300] = v; } __syncthreads(); if (T < 16) out[blockIdx.x * 16 + T] = s[T]; }
""", *ODD)
_add("edges relaxed", r"""
K { int *dist = out; for (int k = T; k < 64; k += THREADS) dist[k] = k ? 1 << 20 : 0; __syncthreads(); for (int r = 0; r < 2; r++) { for (int e = T; e < n; e += THREADS) { int from = b[e] & 63, to = b[e + 700] & 63, d = dist[from]; if (d < 1 << 20) { int next = d + (a[e] & 15) + 1; if (next < dist[to]) atomicMin(dist + to, next); } } __syncthreads(); } }
""", At(1, 32, 120), At(1, 64, 200), free=True)

# fmt: on


def all_launches() -> Iterator[tuple[str, str, Workload]]:
    """The launches of all sets: name, build and workload."""
    return chain(blind_more.all_launches(), launches(KERNELS))
