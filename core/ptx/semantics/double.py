"""float64 in the directed rounding modes.

The nearest result comes from NumPy, the sign of its error from error-free transformations. These
fail where an intermediate value overflows or loses bits below the smallest number; such lanes,
which are rare, are done in exact fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from core.ptx.semantics.ieee import fma64, to_odd, two_sum
from core.ptx.semantics.operation import Array
from core.ptx.semantics.rounding import split, zero_sign

_LOW, _HIGH = 2.0**-900, 2.0**900
_Exact = Callable[..., Fraction]


def _sum_error(total: Array, a: Array, b: Array) -> Array:
    return two_sum(a, b)[1]


def _product_error(product: Array, a: Array, b: Array) -> Array:
    (ah, al), (bh, bl) = split(a), split(b)
    low: Array = ((ah * bh - product) + ah * bl + al * bh) + al * bl
    return low


def _quotient_error(quotient: Array, a: Array, b: Array) -> Array:
    product = quotient * b
    return np.asarray(
        ((a - product) - _product_error(product, quotient, b)) * np.where(b < 0, -1.0, 1.0)
    )


def _root_error(root: Array, a: Array) -> Array:
    product = root * root
    return np.asarray((a - product) - _product_error(product, root, root))


def _fma_parts(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """a*b+c as its nearest float64 and what is missing from it, rounded to odd."""
    product = a * b
    upper, upper_error = two_sum(c, _product_error(product, a, b))
    high, high_error = two_sum(upper, product)
    tail = to_odd(*two_sum(high_error, upper_error))
    return two_sum(high, tail)


def _extreme(x: Array) -> Array:
    """Finite, not zero, and so large or so small that a transformation may fail."""
    size = np.abs(x)
    return ((size < _LOW) & (size > 0)) | ((size > _HIGH) & np.isfinite(size))


def _hard_product(product: Array, a: Array, b: Array) -> Array:
    vanished = (product == 0) & (a != 0) & (b != 0)
    return np.asarray(_extreme(a) | _extreme(b) | _extreme(product) | vanished | np.isinf(product))


def _hard_fma(result: Array, a: Array, b: Array, c: Array) -> Array:
    return _hard_product(a * b, a, b) | (np.abs(c) > _HIGH) | np.isinf(result)


def _hard_quotient(quotient: Array, a: Array, b: Array) -> Array:
    lost = ((quotient == 0) & (a != 0)) | np.isinf(quotient)
    return np.asarray((_extreme(a) | _extreme(b) | _extreme(quotient) | lost) & (b != 0))


def _patched(result: Array, lanes: Array, one: Callable[..., float], *operands: Array) -> Array:
    """`result` with the given lanes computed one by one where all operands are finite."""
    shape = np.broadcast_shapes(result.shape, lanes.shape, *(o.shape for o in operands))
    full = [np.broadcast_to(o, shape) for o in operands]
    out = np.broadcast_to(result, shape).copy()
    for lane in np.flatnonzero(np.broadcast_to(lanes, shape)):
        values = [float(f[lane]) for f in full]
        if all(np.isfinite(v) for v in values):
            out[lane] = one(*values)
    return out


def _moved(nearest: Array, error: Array, mode: str) -> Array:
    """The nearest result moved to where the mode wants it, given the sign of its error."""
    up, down = np.inf, -np.inf
    if mode == "rp":
        return np.where(error > 0, np.nextafter(nearest, up), nearest)
    if mode == "rm":
        return np.where(error < 0, np.nextafter(nearest, down), nearest)
    inwards = ((nearest > 0) & (error < 0)) | ((nearest < 0) & (error > 0))
    return np.where(inwards, np.nextafter(nearest, 0.0), nearest)


_EXACT: dict[str, _Exact] = {
    "add": lambda a, b: Fraction(a) + Fraction(b),
    "sub": lambda a, b: Fraction(a) - Fraction(b),
    "mul": lambda a, b: Fraction(a) * Fraction(b),
    "fma": lambda a, b, c: Fraction(a) * Fraction(b) + Fraction(c),
    "div": lambda a, b: Fraction(a) / Fraction(b),
}
_NEAREST: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "fma": fma64,
}  # fmt: skip
_ERRORS: dict[str, Callable[..., Array]] = {
    "add": _sum_error,
    "sub": lambda s, a, b: _sum_error(s, a, -b),
    "mul": _product_error,
    "div": _quotient_error,
    "sqrt": _root_error,
    "fma": lambda s, a, b, c: _fma_parts(a, b, c)[1],
}


def _directed_one(name: str, mode: str, operands: list[float], nearest: float) -> float:
    """One lane in exact arithmetic."""
    if name == "sqrt":
        error = Fraction(operands[0]) - Fraction(nearest) ** 2
    else:
        error = _EXACT[name](*operands) - Fraction(nearest)
    if error == 0 and nearest == 0 and name in ("add", "sub", "fma"):
        first = operands[0] * operands[1] if name == "fma" else operands[0]
        last = -operands[-1] if name == "sub" else operands[-1]
        parts = [np.array([x]) for x in (nearest, first, last)]
        return float(zero_sign(parts[0], mode, parts[1], parts[2])[0])
    sign = np.array([(error > 0) - (error < 0)], np.float64)
    return float(_moved(np.array([nearest]), sign, mode)[0])


_HARD: dict[str, Callable[..., Array]] = {
    "add": lambda s, a, b: np.abs(s) > _HIGH,
    "sub": lambda s, a, b: np.abs(s) > _HIGH,
    "mul": _hard_product,
    "div": _hard_quotient,
    "sqrt": lambda s, a: _extreme(a),
    "fma": _hard_fma,
}


def directed(name: str, mode: str, *operands: Array) -> Array:
    """Operation `name` ("add", "sub", "mul", "div", "fma", "sqrt") rounded by rz, rm or rp."""
    nearest = _NEAREST[name](*operands)
    error = _ERRORS[name](nearest, *operands)
    error = np.where(np.isnan(error) | ~np.isfinite(nearest), 0.0, error)
    result = _moved(nearest, error, mode)
    if name in ("add", "sub", "fma"):
        last = -operands[-1] if name == "sub" else operands[-1]
        first = operands[0] * operands[1] if name == "fma" else operands[0]
        result = np.where(error == 0, zero_sign(nearest, mode, first, last), result)
    hard = _HARD[name](nearest, *operands)
    if not hard.any():
        return result
    # An overflow enters as the largest number, which the exact result then exceeds.
    stand_in = np.where(np.isinf(nearest), np.copysign(np.finfo(np.float64).max, nearest), nearest)

    def one(*values: float) -> float:
        return _directed_one(name, mode, list(values[:-1]), values[-1])

    return _patched(result, hard, one, *operands, stand_in)


def from_integer(x: Array, mode: str) -> Array:
    """64-bit integers as float64, by rz, rm or rp."""
    wide = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
    high = (wide >> wide.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (wide & wide.dtype.type(0xFFFFFFFF)).astype(np.float64)
    nearest, error = two_sum(high, low)
    return _moved(nearest, error, mode)
