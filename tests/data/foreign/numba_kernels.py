"""Kernels in Numba, whose PTX the tests of foreign PTX read."""

import math

import numba
from numba import cuda

TILE = 16
PITCH = TILE + 1


def vector_add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def tiled_matmul(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), numba.float32)
    tile_b = cuda.shared.array((TILE, TILE), numba.float32)
    row = cuda.blockIdx.y * TILE + cuda.threadIdx.y
    col = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    value = numba.float32(0)
    for phase in range((a.shape[1] + TILE - 1) // TILE):
        k = phase * TILE
        inside = row < a.shape[0] and k + cuda.threadIdx.x < a.shape[1]
        tile_a[cuda.threadIdx.y, cuda.threadIdx.x] = a[row, k + cuda.threadIdx.x] if inside else 0
        inside = k + cuda.threadIdx.y < b.shape[0] and col < b.shape[1]
        tile_b[cuda.threadIdx.y, cuda.threadIdx.x] = b[k + cuda.threadIdx.y, col] if inside else 0
        cuda.syncthreads()
        for i in range(TILE):
            value += tile_a[cuda.threadIdx.y, i] * tile_b[i, cuda.threadIdx.x]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = value


def tiled_transpose(x, out):
    tile = cuda.shared.array((TILE, PITCH), numba.float32)
    col = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    row = cuda.blockIdx.y * TILE + cuda.threadIdx.y
    if row < x.shape[0] and col < x.shape[1]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, col]
    cuda.syncthreads()
    col = cuda.blockIdx.y * TILE + cuda.threadIdx.x
    row = cuda.blockIdx.x * TILE + cuda.threadIdx.y
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


def block_sums(x, out):
    part = cuda.shared.array(128, numba.float64)
    i = cuda.grid(1)
    lane = cuda.threadIdx.x
    part[lane] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    half = 64
    while half > 0:
        if lane < half:
            part[lane] += part[lane + half]
        cuda.syncthreads()
        half //= 2
    if lane == 0:
        out[cuda.blockIdx.x] = part[0]


def histogram(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i] % bins.size, 1)


def stencil(x, out):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]


def gather(x, index, out):
    i = cuda.grid(1)
    if i < index.size:
        out[i] = x[index[i]]


def row_softmax(x, out):
    row = cuda.grid(1)
    if row < x.shape[0]:
        largest = x[row, 0]
        for j in range(1, x.shape[1]):
            largest = max(largest, x[row, j])
        total = 0.0
        for j in range(x.shape[1]):
            total += math.exp(x[row, j] - largest)
        for j in range(x.shape[1]):
            out[row, j] = math.exp(x[row, j] - largest) / total


def mandelbrot(out, left, top, step, most):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        c_re = left + col * step
        c_im = top + row * step
        re = im = 0.0
        count = 0
        while count < most and re * re + im * im <= 4.0:
            re, im = re * re - im * im + c_re, 2.0 * re * im + c_im
            count += 1
        out[row, col] = count


def warp_sums(x, out):
    i = cuda.grid(1)
    value = x[i]
    for shift in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, shift)
    if cuda.laneid == 0:
        out[i // 32] = value


def every_other(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]
