"""What IEEE 754 and the hardware have and NumPy lacks: flushed subnormals, one NaN, fused products.

Array in, array out; nothing here knows of instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from core.ptx.semantics.operation import Array
from core.ptx.types import PtxType

_SMALLEST_NORMAL = 2.0**-126  # of float32
_NAN = {2: 0x7FFF, 4: 0x7FFFFFFF, 8: 0x7FF8000000000000}


def flush(x: Array) -> Array:
    """Subnormals become zeros of the same sign (`.ftz`)."""
    tiny = np.finfo(x.dtype).tiny
    return np.where(np.abs(x) < tiny, np.copysign(x.dtype.type(0), x), x)


def canonical(x: Array) -> Array:
    """Every NaN becomes the one that the hardware writes (PTX ISA: 0x7fffffff for f32).

    A sum of squares is NaN only if an element is, and is quicker than a look at each of them.
    """
    if x.ndim == 1 and x.dtype.itemsize > 2:
        squares = x.dot(x)
        if squares == squares:  # noqa: PLR0124
            return x
    bad = np.isnan(x)
    if not bad.any():
        return x
    pattern = np.array(_NAN[x.dtype.itemsize], dtype=f"u{x.dtype.itemsize}").view(x.dtype)
    return np.where(bad, pattern, x)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its exact error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def to_odd(rounded: Array, error: Array) -> Array:
    """A float64 sum rounded to odd, given the nearest rounding and its error.

    Rounding to odd first makes a second rounding to fewer bits correct (Boldo and Melquiond, 2008).
    """
    bits = rounded.view(np.int64)
    fix = (error != 0) & ((bits & 1) == 0) & np.isfinite(rounded)
    away = (error > 0) == (rounded > 0)
    return np.where(fix, bits + np.where(away, 1, -1), bits).view(np.float64)


def fma32(a: Array, b: Array, c: Array) -> Array:
    """float32 a*b+c with a single rounding: the product is exact in float64, the sum nearly.

    Rounding the rounded sum again goes wrong only where it lies just between two float32 values;
    those, which are rare, and subnormal results are done by rounding to odd first.
    """
    product = a.astype(np.float64) * b
    total = product + c
    result = total.astype(np.float32)
    between = (total.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    if np.abs(result).min() < _SMALLEST_NORMAL:
        between |= (np.abs(total) < _SMALLEST_NORMAL) & (total != 0)
    if between.any():
        return to_odd(*two_sum(product, c.astype(np.float64))).astype(np.float32)
    return result


def _split(a: Array) -> tuple[Array, Array]:
    big = a * 134217729.0  # 2^27 + 1 (Dekker)
    high = big - (big - a)
    return high, a - high


def fma64(a: Array, b: Array, c: Array) -> Array:
    """float64 a*b+c with a single rounding (Boldo and Melquiond).

    Their algorithm needs room for the parts of the product; lanes that lack it, because a part
    would overflow or become subnormal, are computed with exact fractions.
    """
    product = a * b
    (ah, al), (bh, bl) = _split(a), _split(b)
    low = ((ah * bh - product) + ah * bl + al * bh) + al * bl
    upper, upper_error = two_sum(c, low)
    high, high_error = two_sum(upper, product)
    tail, tail_error = two_sum(high_error, upper_error)
    exact = high + to_odd(tail, tail_error)
    plain = product + c
    if np.isinf(c).any():  # finite factors whose rounded product overflows do not matter then
        plain = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, plain)
    result = np.where(np.isfinite(exact) & (exact != 0), exact, plain)
    largest = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.maximum(np.abs(product), np.abs(c)))
    unsafe = (largest > 2.0**990) | ((np.abs(product) < 2.0**-960) & (a != 0) & (b != 0))
    if unsafe.any():
        finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
        rows = np.flatnonzero(unsafe & finite)
        triples = (np.broadcast_to(x, result.shape)[rows] for x in (a, b, c))
        result[rows] = [_exact_fma(*(float(v) for v in t)) for t in zip(*triples, strict=True)]
    return result


def _exact_fma(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # the sign of a zero
    try:
        return exact.numerator / exact.denominator  # one rounding
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def fma16(a: Array, b: Array, c: Array) -> Array:
    """float16 a*b+c with a single rounding: the product is exact in float64."""
    total, error = two_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
    return to_odd(total, error).astype(np.float16)


def fused(kind: PtxType) -> Callable[[Array, Array, Array], Array]:
    """The fused multiply-add of a float type."""
    return {64: fma64, 32: fma32, 16: fma16}[kind.bits]
