"""Floating-point formats, how their values lie in registers, and rounding to them, exactly.

A result is first computed in float64 *rounded to odd*: the nearest value towards zero with its last
bit set where something was cut off. Such a value rounds to any format of at most 51 bits as the
exact one would, in every mode (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums",
2008). float64 itself is rounded by the sign of the error (`directed`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from core.ptx.arithmetic.operation import Array
from core.ptx.ast import Instruction
from core.ptx.types import PtxType


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: precision with the hidden bit, and exponents of its range.

    Numbers are below 2**`top`; the smallest normal one is 2**`bottom`. `largest` is the greatest
    finite one.
    """

    name: str
    precision: int
    top: int
    bottom: int
    largest: float


def _ieee(name: str, precision: int, top: int) -> Format:
    return Format(name, precision, top, 2 - top, (2 - 2.0 ** (1 - precision)) * 2.0 ** (top - 1))


FORMATS = MappingProxyType(
    {
        f.name: f
        for f in (
            _ieee("f16", 11, 16),
            _ieee("bf16", 8, 128),
            _ieee("tf32", 11, 128),
            _ieee("f32", 24, 128),
            _ieee("e5m2", 3, 16),
            Format("e4m3", 4, 9, -6, 448.0),
            Format("e2m1", 2, 3, 0, 6.0),
            Format("e2m3", 4, 3, 0, 7.5),
            Format("e3m2", 3, 5, -2, 28.0),
        )
    }
)


NARROW = ("f16", "f16x2", "bf16", "bf16x2", "f32x2")  # types of halves, and of pairs
_CANONICAL = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF}


@dataclass(frozen=True)
class Codec:
    """How the values of a type lie in a register: `lanes` of them, of format `form`."""

    kind: PtxType
    form: Format
    lanes: int

    def decode(self, raw: Array) -> Array:
        """float64 of shape (threads, lanes)."""
        word = np.dtype(f"u{self.kind.nbytes // self.lanes}")
        bits = np.ascontiguousarray(raw).view(word).reshape(-1, self.lanes)
        if self.form.name == "bf16":
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        return bits.view(f"f{word.itemsize}").astype(np.float64)

    def encode(self, values: Array) -> Array:
        """The register's content for float64 values that are of the format, in the type's dtype."""
        name = self.form.name
        word = np.dtype(f"u{self.kind.nbytes // self.lanes}")
        if name == "bf16":
            bits = (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(word)
        else:
            bits = values.astype(f"f{word.itemsize}").view(word)
        bits = np.where(np.isnan(values), word.type(_CANONICAL[name]), bits)
        return np.ascontiguousarray(bits).view(self.kind.dtype).reshape(-1)


def codec(kind: PtxType) -> Codec:
    """The codec of a float type, packed or not."""
    base = kind.name.removesuffix("x2")
    return Codec(kind, FORMATS[base], 2 if kind.name.endswith("x2") else 1)


# Formats of 8 bits and less, whose pairs fill a register.

SMALL = ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2")
_WIDTH = {"e4m3": 8, "e5m2": 8, "e2m1": 4, "e2m3": 6, "e3m2": 6}
_CANONICAL_NAN = {"e4m3": 0x7F, "e5m2": 0x7F}


@cache
def small_values(name: str) -> Array:
    """The values of the positive codes of a small format, in order.

    PTX ISA, "Alternate floating-point data formats": e4m3 has no infinity and one NaN.
    """
    form = FORMATS[name]
    fraction = form.precision - 1
    codes = np.arange(1 << (_WIDTH[name] - 1))
    exponent, mantissa = codes >> fraction, codes & ((1 << fraction) - 1)
    normal = (1 + mantissa / (1 << fraction)) * 2.0 ** (exponent - 1 + form.bottom)
    values = np.where(exponent == 0, mantissa * 2.0 ** (form.bottom - fraction), normal)
    if name == "e5m2":
        values[codes == 0x7C] = np.inf
        values[codes > 0x7C] = np.nan
    if name == "e4m3":
        values[codes == 0x7F] = np.nan
    return values


def decode_small(raw: Array, name: str) -> Array:
    """Pairs of a small format as float64 of shape (threads, 2)."""
    width = _WIDTH[name]
    bits = np.ascontiguousarray(raw).view(np.uint8)
    codes = np.stack([bits & 15, bits >> 4], 1) if width == 4 else bits.reshape(-1, 2)
    values = small_values(name)[codes & ((1 << (width - 1)) - 1)]
    return np.asarray(np.where(codes >> (width - 1) & 1, -values, values))


def encode_small(x: Array, kind: PtxType) -> Array:
    """The register's content for pairs of values that are of the format, in the type's dtype."""
    name = kind.name.removesuffix("x2")
    width = _WIDTH[name]
    values = small_values(name)
    finite = values[np.isfinite(values)]
    codes = np.searchsorted(finite, np.abs(x)).astype(np.uint8)
    if name == "e5m2":
        codes = np.where(np.isinf(x), np.uint8(0x7C), codes)
    codes = codes | (np.signbit(x).astype(np.uint8) << np.uint8(width - 1))
    if name in _CANONICAL_NAN:
        codes = np.where(np.isnan(x), np.uint8(_CANONICAL_NAN[name]), codes)
    else:
        codes = np.where(np.isnan(x), np.uint8((1 << (width - 1)) - 1), codes)
    if width == 4:
        return (codes[:, 0] | (codes[:, 1] << np.uint8(4))).astype(np.uint8).view(np.int8)
    return np.ascontiguousarray(codes.astype(np.uint8)).view(kind.dtype).reshape(-1)


# What IEEE 754 and the hardware have and NumPy lacks: flushed subnormals, one NaN, fused products.
#
# Array in, array out; nothing here knows of instructions.


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


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its exact error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _to_odd(rounded: Array, error: Array) -> Array:
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
        return _to_odd(*_two_sum(product, c.astype(np.float64))).astype(np.float32)
    return result


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its exact error (Dekker), barring overflow and underflow."""
    product = a * b
    (ah, al), (bh, bl) = _split(a), _split(b)
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def _split(a: Array) -> tuple[Array, Array]:
    """The upper 26 bits of float64 `a`, and the rest."""
    big = a * 134217729.0  # 2^27 + 1
    high = big - (big - a)
    return high, a - high


def _fma_parts(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """a*b+c as a float64 near it and what is missing from that, rounded to odd."""
    product, low = _two_product(a, b)
    upper, upper_error = _two_sum(c, low)
    high, high_error = _two_sum(upper, product)
    return high, _to_odd(*_two_sum(high_error, upper_error))


def fma64(a: Array, b: Array, c: Array) -> Array:
    """float64 a*b+c with a single rounding (Boldo and Melquiond).

    Their algorithm needs room for the parts of the product; lanes that lack it, because a part
    would overflow or become subnormal, are computed with exact fractions.
    """
    high, tail = _fma_parts(a, b, c)
    exact, product = high + tail, a * b
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


def fused(kind: PtxType) -> Callable[[Array, Array, Array], Array]:
    """The fused multiply-add of f32 or f64."""
    return {64: fma64, 32: fma32}[kind.bits]


_MODES = ("rn", "rz", "rm", "rp", "rna")


_STEPS: dict[str, Callable[[Array], Array]] = {
    "rn": np.rint,
    "rz": np.trunc,
    "rm": np.floor,
    "rp": np.ceil,
    "rna": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}


def mode_of(instruction: Instruction) -> str:
    """The rounding mode that the instruction names; "rn" where it names none."""
    return next((m for m in instruction.modifiers if m in _MODES), "rn")


def round_to(x: Array, form: Format, mode: str) -> Array:
    """float64 `x` (rounded to odd where inexact) as the value of `form` it rounds to, in float64.

    Infinities and NaN stay; what is too large becomes infinite or the largest number, as the mode
    says.
    """
    finite = np.isfinite(x)
    safe = np.where(finite, x, 0.0)
    _, exponent = np.frexp(safe)
    quantum = np.maximum(exponent, form.bottom + 1) - form.precision
    rounded = np.copysign(np.ldexp(_STEPS[mode](np.ldexp(safe, -quantum)), quantum), safe)
    over = np.abs(rounded) > form.largest
    if over.any():
        to_infinity = {"rz": False, "rm": rounded < 0, "rp": rounded > 0}.get(mode, True)
        beyond = np.where(to_infinity, np.inf, form.largest)
        rounded = np.where(over, np.copysign(beyond, rounded), rounded)
    return np.where(finite, rounded, x)


# Exact operations on values of at most 24 bits, rounded to odd in float64.


def sum_to_odd(a: Array, b: Array) -> Array:
    """a + b."""
    return _to_odd(*_two_sum(a, b))


def fma_to_odd(a: Array, b: Array, c: Array) -> Array:
    """a * b + c."""
    return _to_odd(*_two_sum(a * b, c))


def quotient_to_odd(a: Array, b: Array) -> Array:
    """a / b."""
    quotient = a / b
    return _odd(quotient, _quotient_error(quotient, a, b))


def root_to_odd(a: Array) -> Array:
    """The square root of a."""
    root = np.sqrt(a)
    return _odd(root, _root_error(root, a))


def _odd(nearest: Array, error: Array) -> Array:
    """Rounded to odd; a result of infinities is exact."""
    return _to_odd(nearest, np.where(np.isnan(error), 0.0, error))


def zero_sign(result: Array, name: str, mode: str, operands: Sequence[Array]) -> Array:
    """An exact sum of zero is -0 towards minus infinity, unless both its terms are +0."""
    if mode != "rm" or name not in ("add", "sub", "fma", "mad"):
        return result
    first = operands[0] * operands[1] if len(operands) == 3 else operands[0]
    last = -operands[-1] if name == "sub" else operands[-1]
    return np.where((result == 0) & (np.signbit(first) | np.signbit(last)), -0.0, result)


def flush_below(x: Array, form: Format) -> Array:
    """Subnormals of `form` become zeros of the same sign."""
    return np.where(np.abs(x) < 2.0**form.bottom, np.copysign(0.0, x), x)


def integer_to_odd(x: Array) -> Array:
    """Integers of up to 64 bits as float64, rounded to odd."""
    return _to_odd(*_nearest_integer(x))


def _nearest_integer(x: Array) -> tuple[Array, Array]:
    """Integers as their nearest float64, and the error."""
    wide = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
    high = (wide >> wide.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (wide & wide.dtype.type(0xFFFFFFFF)).astype(np.float64)
    return _two_sum(high, low)


# float64 in the directed rounding modes.
#
# The nearest result comes from NumPy, the sign of its error from error-free transformations. These
# fail where an intermediate value overflows or loses bits below the smallest number; such lanes,
# which are rare, are done in exact fractions.


_LOW, _HIGH = 2.0**-900, 2.0**900
_Exact = Callable[..., Fraction]


def _quotient_error(quotient: Array, a: Array, b: Array) -> Array:
    product, low = _two_product(quotient, b)
    return np.asarray(((a - product) - low) * np.where(b < 0, -1.0, 1.0))


def _root_error(root: Array, a: Array) -> Array:
    product, low = _two_product(root, root)
    return np.asarray((a - product) - low)


def _extreme(x: Array) -> Array:
    """Finite, not zero, and so large or so small that a transformation may fail."""
    size = np.abs(x)
    return ((size < _LOW) & (size > 0)) | ((size > _HIGH) & np.isfinite(size))


def _is_hard(nearest: Array, *operands: Array) -> Array:
    """Where a transformation may fail: a value overflows, vanishes, or is extreme."""
    product = operands[0] * operands[1] if len(operands) == 3 else nearest
    vanished = product == 0
    for factor in operands[:2]:
        vanished = vanished & (factor != 0)
    found = vanished | np.isinf(nearest) | np.isinf(product)
    for value in (product, nearest, *operands):
        found = found | _extreme(value)
    return np.asarray(found)


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
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "fma": fma64,
}
_ERRORS: dict[str, Callable[..., Array]] = {
    "add": lambda s, a, b: _two_sum(a, b)[1],
    "sub": lambda s, a, b: _two_sum(a, -b)[1],
    "mul": lambda s, a, b: _two_product(a, b)[1],
    "div": _quotient_error,
    "sqrt": _root_error,
    "fma": lambda s, a, b, c: _two_sum(*_fma_parts(a, b, c))[1],
}


def _directed_one(name: str, mode: str, operands: list[Any], nearest: float) -> float:
    """One lane in exact arithmetic."""
    if name == "sqrt":
        error = Fraction(operands[0]) - Fraction(nearest) ** 2
    else:
        error = _EXACT[name](*operands) - Fraction(nearest)
    if error == 0 and nearest == 0:
        return float(zero_sign(np.array(nearest), name, mode, operands))
    sign = np.array([(error > 0) - (error < 0)], np.float64)
    return float(_moved(np.array([nearest]), sign, mode)[0])


def directed(name: str, mode: str, *operands: Array) -> Array:
    """Operation `name` ("add", "sub", "mul", "div", "fma", "sqrt") rounded by rz, rm or rp."""
    nearest = _NEAREST[name](*operands)
    error = _ERRORS[name](nearest, *operands)
    error = np.where(np.isnan(error) | ~np.isfinite(nearest), 0.0, error)
    result = _moved(nearest, error, mode)
    result = np.where(error == 0, zero_sign(nearest, name, mode, operands), result)
    hard = _is_hard(nearest, *operands)
    if name == "div":
        hard &= operands[1] != 0
    if not hard.any():
        return result
    # An overflow enters as the largest number, which the exact result then exceeds.
    stand_in = np.where(np.isinf(nearest), np.copysign(np.finfo(np.float64).max, nearest), nearest)
    result, hard, *full = np.broadcast_arrays(result, hard, *operands, stand_in)
    result = result.copy()
    for lane in np.flatnonzero(hard):
        *values, near = (float(values[lane]) for values in full)
        if np.isfinite([*values, near]).all():
            result[lane] = _directed_one(name, mode, values, near)
    return result


def from_integer(x: Array, mode: str) -> Array:
    """64-bit integers as float64, by rz, rm or rp."""
    return _moved(*_nearest_integer(x), mode)


# Floats to integers: rounding, then the limits of the integer type.


TO_INTEGER: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


def limits(kind: PtxType) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    if kind.is_signed:
        return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1
    return 0, (1 << kind.bits) - 1


def float_to_integer(x: Array, to: PtxType, rounding: Callable[[Array], Array]) -> Array:
    """Rounds, then clamps to the range of `to`; NaN gives 0, or the top bit where 64 bits meet."""
    low, high = limits(to)
    rounded = rounding(x.astype(np.float64))
    nan = 0 if x.dtype.itemsize < 8 and to.bits < 64 else 1 << (to.bits - 1)
    inside = np.where((rounded >= low) & (rounded < float(high)), rounded, 0).astype(to.dtype)
    result = np.where(rounded >= float(high), np.array(high).astype(to.dtype), inside)
    result = np.where(rounded < low, np.array(low).astype(to.dtype), result)
    bits = np.array(nan, dtype=f"u{to.nbytes}").view(to.dtype)
    return np.where(np.isnan(x), bits, result)
