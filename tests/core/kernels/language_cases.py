"""The launches of language.cu and hardware.cu."""

from __future__ import annotations

import numpy as np

from core.launch import Dim3
from tests.core.kernels.cases import Case, case, floats, rng

PARTICLE = np.dtype(
    {"names": ["position", "kind", "speed", "age"], "offsets": [0, 8, 12, 24], "itemsize": 32,
     "formats": ["f8", "u1", ("f4", 3), "i2"]}
)  # fmt: skip


def _ackermann(m: int, n: int) -> int:
    return (n + 1, n + 2, 2 * n + 3)[m]


@case
def recursion() -> Case:
    data = rng("recursion").integers(-99, 99, (8, 12)).astype(np.int32)
    arguments = {"out": np.zeros(8, np.uint32), "data": data.reshape(-1)}
    want = {"out": [_ackermann(t % 3, t // 3) for t in range(8)],
            "data": np.sort(data, axis=1).reshape(-1)}  # fmt: skip
    return Case("language", "recursion", arguments, want, Dim3(8))


@case
def templates() -> Case:
    x = floats("templates", 40)
    v, s = x.astype(np.float64), (x * np.float32(10)).astype(np.int16).astype(np.int64)
    want = np.stack([np.clip(1 - 2 * v + 0.5 * v**2 + 3 * v**3, -10, 10),
                     np.clip(7 + s + 2 * s * s, -300, 300)], 1)  # fmt: skip
    return Case("language", "templates", {"out": np.zeros(80), "in": x},
                {"out": want.reshape(-1)}, Dim3(40), relative=1e-12)  # fmt: skip


@case
def virtuals() -> Case:
    x, t = floats("virtuals", 40), np.arange(40)
    v = x.astype(np.float64)
    want = np.where(t % 3 == 0, 3 * v * v, v * (2 + t) + 400) + np.where(t % 2, 3.0, 1.0) * t * t
    return Case("language", "virtuals", {"out": np.zeros(40, np.float32), "in": x}, {"out": want},
                Dim3(40), relative=1e-5)  # fmt: skip


@case
def pointers() -> Case:
    x = rng("pointers").integers(0, 50, 40, np.int32)
    functions = (lambda v: 2 * v, lambda v: v * v, lambda v: -v)
    want = [functions[x[t] % 3](t) + (functions[2] if t & 1 else functions[1 if t % 5 == 0 else 0])
            (int(x[t])) for t in range(40)]  # fmt: skip
    return Case("language", "pointers", {"out": np.zeros(40, np.int32), "in": x}, {"out": want},
                Dim3(40))  # fmt: skip


@case
def structures() -> Case:
    draw, n = rng("structures"), 20
    data = np.zeros(n, PARTICLE)
    data["position"], data["kind"] = draw.random(n), draw.integers(0, 255, n)
    data["speed"], data["age"] = draw.random((n, 3)), draw.integers(-99, 99, n)
    want = data.copy()
    for t in range(n):
        want["speed"][t, t % 3] *= 2
        want["position"][t] += t
        want["age"][t] += 1
    want = np.roll(want, -1)
    want["kind"] = [ord("a") + t % 26 for t in range(n)]
    arguments = {"out": np.zeros(n * 32, np.uint8), "in": data.view(np.uint8), "n": np.int32(n)}
    return Case("language", "structures", arguments, {"out": want}, Dim3(n))


@case
def bits() -> Case:
    x = floats("bits", 32)
    kept = []
    for t in range(32):
        total = 0
        for i in range(100):
            if i % 3 == 1:
                continue
            if i > t:
                break
            total = (total + 11, total + 10, total - 3, total ^ 0x55)[i & 3]
        kept.append(total)
    want = np.stack([(x.astype(np.float64) * 4 * 64).astype(np.int64), kept], 1)
    return Case("language", "bits", {"out": np.zeros(64, np.int32), "in": x},
                {"out": want.reshape(-1)}, Dim3(32))  # fmt: skip


@case
def wide() -> Case:
    x = rng("wide").integers(0, 2**64, (33, 2), np.uint64)
    want = []
    for a, b in x.tolist():
        p = (a * b + ((a - b) >> 3)) % 2**128 // 12345678901
        want += [p % 2**64, p >> 64]
    return Case("language", "wide", {"out": np.zeros(66, np.uint64), "in": x.reshape(-1)},
                {"out": np.array(want, np.uint64)}, Dim3(33))  # fmt: skip


@case
def prints() -> Case:
    x = rng("prints").integers(0, 999, 40, np.int32)
    lines = tuple(
        f"thread {t} of many: {x[t] / 4.0:5.2f}, {int(x[t]) << 33}, {chr(97 + t)}, {x[t]:x}\n"
        for t in (3, 19, 35)
    )
    return Case("language", "prints", {"out": np.zeros(40, np.int32), "in": x}, {"out": x},
                Dim3(40), prints=lines)  # fmt: skip


# -- hardware.cu ------------------------------------------------------------------------------


def _bfloat(x: np.ndarray) -> np.ndarray:
    """float32 rounded to bfloat16, to nearest even."""
    raw = x.astype(np.float32).view(np.uint32)
    return ((raw + 0x7FFF + (raw >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


@case
def halves() -> Case:
    x = floats("halves", 90)
    a = x.astype(np.float16).reshape(-1, 2)
    wide = a.astype(np.float64)
    b = (wide * wide + 1).astype(np.float16)
    c = (np.sqrt(np.abs(wide)).astype(np.float16).astype(np.float64) * b).astype(np.float16)
    d = _bfloat(x.reshape(-1, 2)[:, 1])
    d = _bfloat(d + _bfloat(d * d).astype(np.float64))
    want = np.stack([b[:, 0].astype(np.float32) - c[:, 1].astype(np.float32), a.max(axis=1), d,
                     _bfloat(x.reshape(-1, 2)[:, 0]) + (a[:, 0] > a[:, 1])], 1)  # fmt: skip
    arguments = {"out": np.zeros(180, np.float32), "in": x, "n": np.int32(90)}
    return Case("hardware", "halves", arguments, {"out": want.reshape(-1)}, Dim3(32), Dim3(2),
                relative=1e-2)  # fmt: skip


@case
def tensor() -> Case:
    a, b = (floats(n, 16, 48).astype(np.float16) for n in ("left", "right"))
    want = 2 * (0.5 + a.astype(np.float64) @ b.astype(np.float64).T)
    arguments = {"d": np.zeros(256, np.float32), "a": a.reshape(-1), "b": b.reshape(-1),
                 "k": np.int32(48)}  # fmt: skip
    return Case("hardware", "tensor", arguments, {"d": want.reshape(-1)}, Dim3(32), relative=1e-4)


@case
def pipelined() -> Case:
    x = floats("pipelined", 5, 64, 4)
    want = (x.astype(np.float64)[:, ::-1] * [1, 2, 3, 4]).sum(axis=(0, 2))
    arguments = {"out": np.zeros(64, np.float32), "in": x.reshape(-1), "tiles": np.int32(5)}
    return Case("hardware", "pipelined", arguments, {"out": want}, Dim3(64), relative=1e-4)


@case
def pipeline_object() -> Case:
    x = rng("pipeline").integers(-99, 99, (5, 32), np.int32)
    want = (np.roll(x, -1, axis=1) * np.arange(1, 6)[:, None]).sum(axis=0)
    arguments = {"out": np.zeros(32, np.int32), "in": x.reshape(-1), "batches": np.int32(5)}
    return Case("hardware", "pipeline_object", arguments, {"out": want}, Dim3(32))


@case
def barrier_object() -> Case:
    x = rng("barrier").integers(-99, 99, 64, np.int32)
    want = np.append(x[::-1] + 3 * x, x.sum())
    return Case("hardware", "barrier_object", {"out": np.zeros(65, np.int32), "in": x},
                {"out": want}, Dim3(64))  # fmt: skip
