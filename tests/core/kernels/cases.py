"""What the kernels of this folder are launched with, and what they must compute, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.launch import Dim3

Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A launch: arguments by name, and the expected contents of arrays."""

    file: str
    kernel: str
    arguments: Arrays
    expected: Arrays
    block: Dim3
    grid: Dim3 = field(default_factory=lambda: Dim3(1))
    shared_bytes: int = 0
    relative: float = 0.0  # 0: equal
    prints: tuple[str, ...] = ()


CASES: dict[str, Callable[[], Case]] = {}


def case(maker: Callable[[], Case]) -> Callable[[], Case]:
    """Registers a case under its kernel's name."""
    CASES[maker.__name__] = maker
    return maker


def rng(name: str) -> np.random.Generator:
    """Numbers of its own for each kernel."""
    return np.random.default_rng(sum(name.encode()))


def floats(name: str, *shape: int) -> np.ndarray:
    """Floats from -2 to 2, with no symmetry."""
    return (rng(name).random(shape) * 4 - 2).astype(np.float32)


# -- parallel.cu ------------------------------------------------------------------------------


@case
def reduce_groups() -> Case:
    data = floats("reduce_groups", 1003)
    arguments = {"out": np.zeros(1), "in": data, "n": np.int32(1003)}
    return Case("parallel", "reduce_groups", arguments, {"out": [data.sum(dtype=np.float64)]},
                Dim3(96), Dim3(3), relative=1e-12)  # fmt: skip


@case
def scan_groups() -> Case:
    data = rng("scan").integers(-99, 99, 150, np.int32)
    rows = np.pad(data, (0, 10)).reshape(-1, 16)
    want = (np.cumsum(rows, axis=1) - rows).reshape(-1)[:150]
    arguments = {"out": np.full(150, 7, np.int32), "in": data, "n": np.int32(150)}
    return Case("parallel", "scan_groups", arguments, {"out": want}, Dim3(80), Dim3(2))


@case
def aggregate() -> Case:
    data = rng("aggregate").integers(-50, 50, 200, np.int32)
    kept = data[data > 0]
    arguments = {"counter": np.zeros(1, np.uint32), "kept": np.zeros(200, np.int32), "in": data,
                 "n": np.int32(200)}  # fmt: skip
    want = {"counter": [len(kept)], "kept": np.pad(kept, (0, 200 - len(kept)))}
    return Case("parallel", "aggregate", arguments, want, Dim3(64), Dim3(4))


@case
def scan_blelloch() -> Case:
    data = floats("blelloch", 128)
    want = np.cumsum(data.astype(np.float64)) - data
    return Case("parallel", "scan_blelloch", {"out": np.zeros(128, np.float32), "in": data},
                {"out": want}, Dim3(64), shared_bytes=512, relative=1e-5)  # fmt: skip


@case
def sort_bitonic() -> Case:
    data = floats("bitonic", 512)
    want = np.sort(data.reshape(2, 256), axis=1).reshape(-1)
    return Case("parallel", "sort_bitonic", {"data": data}, {"data": want}, Dim3(256), Dim3(2))


@case
def sort_radix() -> Case:
    data = rng("radix").integers(0, 2**32, 128, np.uint32)
    return Case("parallel", "sort_radix", {"data": data}, {"data": np.sort(data)}, Dim3(128))


@case
def histogram() -> Case:
    data = (rng("histogram").normal(128, 30, 3001)).clip(0, 255).astype(np.uint8)
    arguments = {"bins": np.zeros(256, np.uint32), "text": data, "n": np.int32(3001)}
    return Case("parallel", "histogram", arguments, {"bins": np.bincount(data, minlength=256)},
                Dim3(96), Dim3(3))  # fmt: skip


@case
def reduce_last_block() -> Case:
    data = floats("last", 700)
    arguments = {"result": np.zeros(1, np.float32), "parts": np.zeros(3, np.float32), "in": data,
                 "n": np.int32(700)}  # fmt: skip
    return Case("parallel", "reduce_last_block", arguments,
                {"result": [data.sum(dtype=np.float64)]}, Dim3(128), Dim3(3),
                relative=1e-5)  # fmt: skip


@case
def warp_tools() -> Case:
    data = rng("warp").integers(-(2**20), 2**20, 32, np.int32)
    data[7] = 5
    same = [sum(1 << j for j in range(32) if (data[i] & 3) == (data[j] & 3)) for i in range(32)]
    swapped = [int(data[i ^ 5]) for i in range(32)]
    want = np.zeros((32, 6), np.int64)
    want[:, 0], want[:, 1] = same, 7
    want[:, 2], want[:, 3] = data.sum(), data.max()
    want[:, 4] = np.bitwise_xor.reduce(data)
    want[:, 5] = np.array(swapped) + 1 + 0xFFFFFFFF
    arguments = {"out": np.zeros(192, np.uint32), "in": data}
    return Case("parallel", "warp_tools", arguments, {"out": (want & 0xFFFFFFFF).reshape(-1)},
                Dim3(32))  # fmt: skip


@case
def long_atomics() -> Case:
    data = rng("long").integers(-(2**62), 2**62, 150, np.int64)
    arguments = {"largest": np.full(1, -(2**63), np.int64), "sum": np.zeros(1, np.uint64),
                 "total": np.zeros(1), "in": data, "n": np.int32(150)}  # fmt: skip
    want = {"largest": [data.max()], "sum": [data.view(np.uint64).sum()],
            "total": [(data >> 40).astype(np.float64).sum()]}  # fmt: skip
    return Case("parallel", "long_atomics", arguments, want, Dim3(48), Dim3(2))


# -- numeric.cu -------------------------------------------------------------------------------


@case
def convolve() -> Case:
    """The constant weights are zero, as nobody copies any."""
    arguments = {"out": np.ones(15 * 9, np.float32), "in": floats("convolve", 135),
                 "w": np.int32(15), "h": np.int32(9)}  # fmt: skip
    return Case("numeric", "convolve", arguments, {"out": np.zeros(135)}, Dim3(8, 4), Dim3(2, 3))


@case
def set_weights_and_convolve() -> Case:
    data, k = floats("row", 61), floats("k", 7)
    want = np.correlate(np.pad(data.astype(np.float64), 3), k.astype(np.float64), "valid")
    arguments = {"out": np.zeros(61, np.float32), "in": data, "k": k, "n": np.int32(61)}
    return Case("numeric", "set_weights_and_convolve", arguments, {"out": want}, Dim3(64),
                relative=1e-5)  # fmt: skip


@case
def stencil() -> Case:
    data = floats("stencil", 5, 7, 11)
    p = np.pad(data.astype(np.float64), 1)
    want = (p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1] + p[1:-1, :-2, 1:-1]
            + p[1:-1, 1:-1, 2:] + p[1:-1, 1:-1, :-2] - 6 * p[1:-1, 1:-1, 1:-1])  # fmt: skip
    arguments = {"out": np.zeros(385, np.float32), "in": data.reshape(-1), "nx": np.int32(11),
                 "ny": np.int32(7), "nz": np.int32(5)}  # fmt: skip
    return Case("numeric", "stencil", arguments, {"out": want.reshape(-1)}, Dim3(8, 4), Dim3(2, 2),
                relative=1e-5)  # fmt: skip


@case
def spmv() -> Case:
    draw, n, m = rng("spmv"), 9, 50
    dense = np.where(draw.random((n, m)) < 0.5, floats("spmv", n, m), 0).astype(np.float32)
    rows = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int32)
    x = floats("x", m)
    arguments = {"y": np.zeros(n, np.float32), "values": dense[dense != 0],
                 "columns": np.nonzero(dense)[1].astype(np.int32), "rows": rows, "x": x,
                 "n": np.int32(n)}  # fmt: skip
    return Case("numeric", "spmv", arguments, {"y": dense.astype(np.float64) @ x}, Dim3(64),
                Dim3(5), relative=1e-5)  # fmt: skip


@case
def gemv() -> Case:
    a, x = floats("a", 7, 152), floats("x", 152)
    arguments = {"y": np.zeros(7, np.float32), "a": a.reshape(-1), "x": x, "rows": np.int32(7),
                 "columns4": np.int32(38)}  # fmt: skip
    return Case("numeric", "gemv", arguments, {"y": a.astype(np.float64) @ x}, Dim3(32, 2), Dim3(4),
                relative=1e-5)  # fmt: skip


@case
def bodies() -> Case:
    body = floats("bodies", 45, 4)
    b = body.astype(np.float64)
    d = b[None, :, :3] - b[:, None, :3]
    scale = b[None, :, 3] / ((d**2).sum(axis=2) + 0.01) ** 1.5
    want = np.concatenate([(d * scale[:, :, None]).sum(axis=1), b[:, 3:]], axis=1)
    arguments = {"force": np.zeros(180, np.float32), "body": body.reshape(-1), "n": np.int32(45)}
    return Case("numeric", "bodies", arguments, {"force": want.reshape(-1)}, Dim3(32), Dim3(2),
                relative=1e-4)  # fmt: skip


@case
def mandelbrot() -> Case:
    w, h, zoom, most = 21, 11, 0.15, 40
    want = np.zeros((h, w), np.int64)
    for y in range(h):
        for x in range(w):
            c, z, i = complex((x - w // 2) * zoom - 0.5, (y - h // 2) * zoom), 0j, 0
            while z.real**2 + z.imag**2 <= 4 and i < most:
                z, i = z * z + c, i + 1
            want[y, x] = i
    arguments = {"turns": np.zeros(w * h, np.uint16), "w": np.int32(w), "h": np.int32(h),
                 "zoom": np.float64(zoom), "most": np.int32(most)}  # fmt: skip
    return Case("numeric", "mandelbrot", arguments, {"turns": want.reshape(-1)}, Dim3(8, 8),
                Dim3(3, 2))  # fmt: skip


@case
def monte_carlo() -> Case:
    hits, mask = 0, 2**64 - 1
    for seed in range(1, 81):
        state = (seed * 2685821657736338717 + 1) & mask
        drawn = []
        for _ in range(20):
            state ^= state << 13 & mask
            state ^= state >> 7
            state ^= state << 17 & mask
            drawn.append((state >> 11) / 2**53)
        hits += sum(x * x + y * y < 1 for x, y in zip(drawn[::2], drawn[1::2], strict=True))
    arguments = {"inside": np.zeros(1, np.uint32), "tries": np.int32(10)}
    return Case("numeric", "monte_carlo", arguments, {"inside": [hits]}, Dim3(40), Dim3(2))


@case
def fft() -> Case:
    data = floats("fft", 64, 2)
    want = np.fft.fft(data[:, 0].astype(np.float64) + 1j * data[:, 1])
    arguments = {"data": data.reshape(-1), "log2n": np.int32(6)}
    out = np.stack([want.real, want.imag], 1).reshape(-1)
    return Case("numeric", "fft", arguments, {"data": out}, Dim3(20), shared_bytes=512,
                relative=1e-5)  # fmt: skip


@case
def cholesky() -> Case:
    m = rng("cholesky").random((13, 13))
    a = m @ m.T + np.eye(13)
    return Case("numeric", "cholesky", {"a": a.reshape(-1), "n": np.int32(13)},
                {"a": np.linalg.cholesky(a).reshape(-1)}, Dim3(16, 16), relative=1e-12)  # fmt: skip


@case
def functions() -> Case:
    x = floats("functions", 40)
    row = [[math.sin(v), math.cos(v), math.tan(v), math.exp(v), math.log(abs(v) + 1),
            abs(v) ** 1.5, math.atan2(v, 2), math.tanh(v), math.erf(v), float(np.cbrt(v)),
            math.hypot(v, 3), math.fmod(v, float(np.float32(0.7))), math.lgamma(abs(v) + 1),
            math.expm1(v), math.asinh(v),
            float(np.rint(v) + np.floor(v) + np.trunc(v) + np.ceil(v))]
           for v in map(float, x)]  # fmt: skip
    arguments = {"out": np.zeros(640, np.float32), "in": x, "n": np.int32(40)}
    return Case("numeric", "functions", arguments, {"out": np.array(row).reshape(-1)}, Dim3(64),
                relative=2e-6)  # fmt: skip
