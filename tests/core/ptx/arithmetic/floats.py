"""What the tests of float instructions share: exact rounding, and values worth trying."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from core.ptx.types import TYPES

NAN, INF = math.nan, math.inf
SPECIALS = [0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 1e-40, -1e-40, 3e38, -3e38, INF, -INF, NAN]
F32 = np.array([x for x in SPECIALS for _ in SPECIALS], np.float32)
G32 = np.array(SPECIALS * len(SPECIALS), np.float32)


def rounded(exact: Fraction, kind: np.dtype) -> float:
    """`exact` rounded to nearest even in a binary format; overflow to infinity (IEEE 754)."""
    info = np.finfo(kind)
    if exact == 0:
        return 0.0
    sign, size = (-1 if exact < 0 else 1), abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, info.minexp) - info.nmant)
    steps = size / quantum
    whole = steps.numerator // steps.denominator
    rest = steps - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2):
        whole += 1
    value = whole * quantum
    if value >= Fraction(2) ** (info.maxexp):
        return sign * INF
    return sign * float(value)


def bits(x: np.ndarray) -> list[int]:
    return x.view(f"u{x.itemsize}").tolist()


def same(got: np.ndarray, want: list[float]) -> None:
    """Equal bit for bit, any NaN for a NaN."""
    expected = np.array(want, np.float64).astype(got.dtype)
    for i, (g, w) in enumerate(zip(got, expected, strict=True)):
        if math.isnan(w):
            assert math.isnan(g), (i, g, w)
        else:
            assert g == w, (i, g, w)
            assert math.copysign(1, g) == math.copysign(1, w), (i, g, w)


def any_floats(kind: str, count: int, seed: int) -> np.ndarray:
    """Random finite bit patterns, and numbers so near each other that they cancel."""
    rng = np.random.default_rng(seed)
    width = TYPES[kind].bits
    x = rng.integers(0, 2**width, count, dtype=np.uint64).astype(f"u{width // 8}").view(
        TYPES[kind].dtype
    )  # fmt: skip
    size = 2 ** (5 if width == 16 else 20)
    near = rng.integers(-size, size, count) * 2.0 ** rng.integers(-12, 6, count)
    return np.where(np.isfinite(x) & (rng.random(count) < 0.5), x, near.astype(x.dtype))
