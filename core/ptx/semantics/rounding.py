"""Floating-point formats and rounding modes, exactly.

A result is first computed in float64 *rounded to odd*: the nearest value towards zero with its last
bit set where something was cut off. Such a value rounds to any format of at most 51 bits as the
exact one would, in every mode (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums",
2008). float64 itself is rounded by the sign of the error (`core.ptx.semantics.double`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from core.ptx.ast import Instruction
from core.ptx.semantics.ieee import flush, to_odd, two_sum
from core.ptx.semantics.operation import Array

MODES = ("rn", "rz", "rm", "rp", "rna")


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: precision with the hidden bit, and exponents of its range.

    Numbers are below 2**`top`; the smallest normal one is 2**`bottom`. `largest` is the greatest
    finite one. Formats without infinities overflow to NaN.
    """

    name: str
    precision: int
    top: int
    bottom: int
    largest: float
    has_infinity: bool = True


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
            Format("e4m3", 4, 9, -6, 448.0, has_infinity=False),
            Format("e2m1", 2, 3, 0, 6.0, has_infinity=False),
            Format("e2m3", 4, 3, 0, 7.5, has_infinity=False),
            Format("e3m2", 3, 5, -2, 28.0, has_infinity=False),
        )
    }
)


def _nearest_away(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


_STEPS: dict[str, Callable[[Array], Array]] = {
    "rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil, "rna": _nearest_away,
}  # fmt: skip


def mode_of(instruction: Instruction) -> str:
    """The rounding mode that the instruction names; "rn" where it names none."""
    return next((m for m in instruction.modifiers if m in MODES), "rn")


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


# -- exact operations on values of at most 24 bits, rounded to odd in float64 ---------------------


def add(a: Array, b: Array) -> Array:
    """a + b."""
    return to_odd(*two_sum(a, b))


def multiply(a: Array, b: Array) -> Array:
    """a * b, which is exact."""
    return a * b


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c."""
    return to_odd(*two_sum(a * b, c))


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its exact error (Dekker), barring overflow and underflow."""
    product = a * b
    (ah, al), (bh, bl) = split(a), split(b)
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def split(a: Array) -> tuple[Array, Array]:
    """The upper 26 bits of float64 `a`, and the rest."""
    big = a * 134217729.0  # 2^27 + 1
    high = big - (big - a)
    return high, a - high


def divide(a: Array, b: Array) -> Array:
    """a / b."""
    quotient = a / b
    product, low = two_product(quotient, b)
    return _odd(quotient, np.where(b < 0, -1.0, 1.0) * ((a - product) - low))


def square_root(a: Array) -> Array:
    """The square root of a."""
    root = np.sqrt(a)
    product, low = two_product(root, root)
    return _odd(root, (a - product) - low)


def _odd(nearest: Array, error: Array) -> Array:
    """Rounded to odd; a result of infinities is exact."""
    return to_odd(nearest, np.where(np.isnan(error), 0.0, error))


def zero_sign(result: Array, mode: str, *terms: Array) -> Array:
    """An exact sum of zero is -0 towards minus infinity, unless all its terms are +0."""
    if mode != "rm":
        return result
    negative = np.signbit(terms[0])
    for term in terms[1:]:
        negative = negative | np.signbit(term)
    return np.where((result == 0) & negative, -0.0, result)


# -- values as bits -------------------------------------------------------------------------------


def flush_below(x: Array, form: Format) -> Array:
    """Subnormals of `form` become zeros of the same sign."""
    return np.where(np.abs(x) < 2.0**form.bottom, np.copysign(0.0, x), x)


def integer_to_odd(x: Array) -> Array:
    """Integers of up to 64 bits as float64, rounded to odd."""
    wide = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
    high = (wide >> wide.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (wide & wide.dtype.type(0xFFFFFFFF)).astype(np.float64)
    return to_odd(*two_sum(high, low))


__all__ = ["FORMATS", "MODES", "Format", "flush", "mode_of", "round_to", "two_product"]
