"""How tensor cores add up: as an H200 was seen to, bit for bit (`tests/data/isa`).

All the products of an instruction and C are aligned to the greatest exponent among them, where the
exponent of a product is the sum of its factors', cut off 25 bits below it, and added exactly. The
sum is cut off to float32, or rounded to nearest float16. `wmma` of tf32 is done as two halves, one
after the other. float64 goes through a chain of fused
multiply-adds in order of depth. Integers are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.ptx.semantics.ieee import fma64
from core.ptx.semantics.rounding import FORMATS, round_to

Matrices = NDArray[Any]
_KEPT_BITS = 25
_NOTHING = -(1 << 20)  # exponent of a zero


def integers(left: Matrices, right: Matrices, c: Matrices, *, saturate: bool) -> Matrices:
    """left (warps, m, k) times right (warps, n, k) plus c, in int32 or clamped to it."""
    total = left @ right.swapaxes(1, 2) + c
    return np.clip(total, -(2**31), 2**31 - 1) if saturate else total


def doubles(left: Matrices, right: Matrices, c: Matrices) -> Matrices:
    """float64: fused multiply-adds one after another."""
    total = c.reshape(-1)
    for depth in range(left.shape[2]):
        a, b = np.broadcast_arrays(left[:, :, None, depth], right[:, None, :, depth])
        total = fma64(a.reshape(-1), b.reshape(-1), total)
    return total.reshape(c.shape)


def floats(left: Matrices, right: Matrices, c: Matrices, result: str, block: int) -> Matrices:
    """Factors of at most 11 bits and C, in float64, to "f32" or "f16"; `block` depths at once."""
    for first in range(0, left.shape[2], block):
        part = slice(first, first + block)
        c = _block(left[:, :, part], right[:, :, part], c, result)
    return c


def _block(left: Matrices, right: Matrices, c: Matrices, result: str) -> Matrices:
    products = left[:, :, None, :] * right[:, None, :, :]
    exponents = _exponent(left)[:, :, None, :] + _exponent(right)[:, None, :, :]
    exponents = np.where(products == 0, _NOTHING, exponents)
    top = np.maximum(exponents.max(axis=3), _exponent(c))
    shift = _KEPT_BITS - np.where(top == _NOTHING, 0, top)
    kept = np.trunc(np.ldexp(products, shift[..., None])).sum(axis=3) + np.trunc(np.ldexp(c, shift))
    total = np.ldexp(kept, -shift)
    plain = products.sum(axis=3) + c  # says what becomes of infinities
    total = np.where(np.isfinite(plain), total, plain)
    return round_to(total, FORMATS[result], "rz" if result == "f32" else "rn")


def _exponent(x: Matrices) -> NDArray[np.int64]:
    exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))[1].astype(np.int64) - 1
    return np.where(x == 0, _NOTHING, exponent)
