"""PTX arithmetic on single values, in Python's integers, floats and fractions alone.

Written from the instruction pages of the PTX ISA. Integers are held as the unsigned value of their
bits; `signed` reads them. Floats are Python floats; those of f32 are always exactly representable.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

NAN, INF = math.nan, math.inf
F32, F64 = (24, -126, 127), (53, -1022, 1023)  # precision, lowest and highest exponent


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def typed(value: int, kind: str) -> int:
    """The low bits of a register as a number of an integer type."""
    bits = int(kind[1:])
    return signed(value, bits) if kind[0] == "s" else value & ((1 << bits) - 1)


def clamp(value: int, kind: str) -> int:
    bits = int(kind[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return min(max(value, low), high)


# -- integers ---------------------------------------------------------------------------------


def quotient(a: int, b: int) -> int:
    """Rounded towards zero; b is not zero."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def shift_left(a: int, n: int) -> int:
    return a << n if n < 64 else 0


def shift_right(a: int, n: int) -> int:
    return a >> min(n, 64)


def funnel(low: int, high: int, n: int, left: bool, wraps: bool) -> int:
    n = n & 31 if wraps else min(n, 32)
    both = high << 32 | low
    return both << n >> 32 if left else both >> n


def lop3(a: int, b: int, c: int, table: int) -> int:
    result = 0
    for i in range(8):
        if table >> i & 1:
            result |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
    return result


def permute(a: int, b: int, selection: int) -> int:
    both, result = b << 32 | a, 0
    for i in range(4):
        nibble = selection >> 4 * i & 15
        byte = both >> 8 * (nibble & 7) & 255
        result |= (255 * (byte >> 7) if nibble & 8 else byte) << 8 * i
    return result


def extract(a: int, pos: int, length: int, kind: str) -> int:
    """`bfe`: the field, filled up with its sign (or that of the whole value beyond it)."""
    bits = int(kind[1:])
    pos, length = pos & 255, length & 255
    if not length:
        return 0
    value = typed(a, kind) >> pos
    if kind[0] == "u" or pos + length >= bits:
        return value & ((1 << length) - 1) if kind[0] == "u" else value
    return signed(value, length)


def insert(a: int, b: int, pos: int, length: int) -> int:
    field = ((1 << (length & 255)) - 1) << (pos & 255)
    return b & ~field | a << (pos & 255) & field


def reverse(a: int, bits: int) -> int:
    return int(f"{a:0{bits}b}"[::-1], 2)


def highest(a: int, kind: str) -> int:
    """`bfind`: the highest bit that is not the sign; -1 where there is none."""
    value = typed(a, kind)
    return (~value if value < 0 else value).bit_length() - 1


def dot4(a: int, b: int, c: int, x: str, y: str) -> int:
    return c + sum(typed(a >> 8 * i, x + "8") * typed(b >> 8 * i, y + "8") for i in range(4))


def mul24(a: int, b: int, kind: str, high: bool) -> int:
    product = typed(a, kind[0] + "24") * typed(b, kind[0] + "24")
    return product >> 16 if high else product


# -- floats -----------------------------------------------------------------------------------


def rounded(exact: Fraction, form: tuple[int, int, int], mode: str) -> float:
    """A number that is not zero, rounded once into a binary format (IEEE 754)."""
    precision, bottom, top = form
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, bottom) - precision + 1)
    steps = exact / quantum
    whole = {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[mode](steps)
    largest = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** top
    value = whole * quantum
    if abs(value) > largest:
        outwards = mode == "rn" or (mode == "rp" and exact > 0) or (mode == "rm" and exact < 0)
        return math.copysign(INF if outwards else float(largest), -1 if exact < 0 else 1)
    return math.copysign(float(value), -1 if exact < 0 else 1)


def multiply_add(
    a: float, b: float, c: float, form: tuple[int, int, int], mode: str = "rn"
) -> float:
    """a * b + c rounded once; with b = 1 an addition."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        if not math.isfinite(c) and math.isfinite(a) and math.isfinite(b):
            return c
        return a * b + (0.0 if math.isfinite(c) else c)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return rounded(exact, form, mode)
    product = math.copysign(1, a) * math.copysign(1, b)
    if (a == 0 or b == 0) and product == math.copysign(1, c):
        return math.copysign(0.0, product)
    return -0.0 if mode == "rm" else 0.0


def multiply(a: float, b: float, form: tuple[int, int, int], mode: str = "rn") -> float:
    if not (math.isfinite(a) and math.isfinite(b)) or a == 0 or b == 0:
        return a * b
    return rounded(Fraction(a) * Fraction(b), form, mode)


def divide(a: float, b: float, form: tuple[int, int, int], mode: str = "rn") -> float:
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)) or a == b == 0:
        return NAN
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isinf(a) or b == 0:
        return math.copysign(INF, sign)
    if math.isinf(b) or a == 0:
        return math.copysign(0.0, sign)
    return rounded(Fraction(a) / Fraction(b), form, mode)


def narrowed(value: float, mode: str) -> float:
    """A float64 as float32."""
    if not math.isfinite(value) or value == 0:
        return value
    return rounded(Fraction(value), F32, mode)


def flushed(value: float) -> float:
    """`.ftz`: a subnormal float32 becomes a zero of its sign."""
    return math.copysign(0.0, value) if abs(value) < 2.0**-126 else value


def root(value: float, kind: str) -> float:
    """A square root rounded to nearest even; that of float64 has the digits for float32."""
    if value < 0:
        return NAN
    exact = math.sqrt(value)
    return narrowed(exact, "rn") if kind == "f" else exact


def integral(value: float, mode: str) -> float:
    """Rounded to a whole number; a zero keeps its sign."""
    if not math.isfinite(value):
        return value
    whole = {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[mode](value)
    return math.copysign(float(whole), value)


def pick(a: float, b: float, largest: bool) -> float:
    """`min` and `max`: a NaN loses, and -0 is below +0."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    if a == b:
        return a if (math.copysign(1, a) > 0) == largest else b
    return max(a, b) if largest else min(a, b)


def saturated(value: float) -> float:
    """`.sat`: into [0, 1]; a NaN, and -0, become +0."""
    return 0.0 if math.isnan(value) or value <= 0 else min(value, 1.0)


def from_integer(value: int, form: tuple[int, int, int], mode: str) -> float:
    return rounded(Fraction(value), form, mode) if value else 0.0


def to_integer(value: float, kind: str, mode: str, from_f64: bool) -> int:
    """`cvt` to an integer type: clamped; of NaN 0, or the top bit where 64 bits are in it."""
    bits = int(kind[1:])
    if math.isnan(value):
        return 1 << (bits - 1) if from_f64 or bits == 64 else 0
    if math.isinf(value):
        return clamp(1 << 70 if value > 0 else -(1 << 70), kind)
    return clamp(
        {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode](value), kind
    )


def compare(name: str, a: float, b: float) -> bool:
    """Comparisons of floats; those that end in u hold where one is NaN."""
    nan = math.isnan(a) or math.isnan(b)
    if name in ("num", "nan"):
        return nan == (name == "nan")
    if nan:
        return name.endswith("u")
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[
        name.removesuffix("u")
    ]


def bits_of(value: float, kind: str) -> int:
    """The bits of a float; every NaN as one."""
    if math.isnan(value):
        return -1
    return int.from_bytes(struct.pack("<f" if kind == "f" else "<d", value), "little")


def float_of(raw: int, kind: str) -> float:
    data = (raw & (2**32 - 1 if kind == "f" else 2**64 - 1)).to_bytes(
        4 if kind == "f" else 8, "little"
    )
    return float(struct.unpack("<f" if kind == "f" else "<d", data)[0])
