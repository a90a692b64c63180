"""Rounding modes, small formats and carries against exact fractions and Python's integers."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import pytest

from tests.core.emulator.machines import evaluate

RANDOM = np.random.default_rng(20261121)
# precision, exponent of the smallest normal number, largest finite value
FORMATS = {
    "f16": (11, -14, Fraction(65504)),
    "bf16": (8, -126, (2 - Fraction(2) ** -7) * Fraction(2) ** 127),
    "f32": (24, -126, (2 - Fraction(2) ** -23) * Fraction(2) ** 127),
    "f64": (53, -1022, (2 - Fraction(2) ** -52) * Fraction(2) ** 1023),
}


def value_of(bits: int, name: str) -> float:
    if name == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    letter, code = {"f16": ("H", "e"), "f32": ("I", "f"), "f64": ("Q", "d")}[name]
    return struct.unpack("<" + code, struct.pack("<" + letter, bits))[0]


def rounded(exact: Fraction, name: str, mode: str) -> float:
    """The value of the format that an exact number rounds to; not for zero."""
    precision, bottom, largest = FORMATS[name]
    size, sign = abs(exact), 1 if exact > 0 else -1
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    while Fraction(2) ** exponent > size:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    quantum = Fraction(2) ** (max(exponent, bottom) - precision + 1)
    steps = exact / quantum
    whole = {
        "rn": lambda: round(steps),  # to even, as Python rounds fractions
        "rz": lambda: math.trunc(steps),
        "rm": lambda: math.floor(steps),
        "rp": lambda: math.ceil(steps),
    }[mode]()
    result = whole * quantum
    if abs(result) > largest:
        outwards = mode == "rn" or (mode != "rz" and (mode == "rp") == (exact > 0))
        return math.copysign(math.inf if outwards else float(largest), sign)
    return math.copysign(float(result), sign)


def operands(name: str, count: int) -> list[int]:
    """Bit patterns of finite numbers over the whole range, and many close to 1."""
    bits = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}[name]
    anything = (
        [int(x) for x in RANDOM.integers(0, 1 << bits, 4 * count, dtype=np.uint64)]
        if bits < 64
        else [int(x) for x in RANDOM.integers(0, 2**64, 4 * count, dtype=np.uint64)]
    )
    found = [x for x in anything if math.isfinite(value_of(x, name)) and value_of(x, name)]
    one = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000, "f64": 0x3FF0 << 48}[name]
    low = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[name]
    near = [one + int(x) for x in RANDOM.integers(-(1 << low), 1 << low, count)]
    return found[:count] + near


OPERATIONS = {
    "add": (2, lambda a, b: a + b), "sub": (2, lambda a, b: a - b), "mul": (2, lambda a, b: a * b),
    "fma": (3, lambda a, b, c: a * b + c), "div": (2, lambda a, b: a / b),
    "rcp": (1, lambda a: 1 / a),
}  # fmt: skip
CASES = [
    *((op, mode, name) for op in OPERATIONS for mode in ("rn", "rz", "rm", "rp")
      for name in ("f32", "f64")),
    *((op, "rn", name) for op in ("add", "sub", "mul", "fma") for name in ("f16", "bf16")),
]  # fmt: skip


@pytest.mark.parametrize(("op", "mode", "name"), CASES)
def test_rounds_once(op, mode, name) -> None:
    count, exact = OPERATIONS[op]
    columns = [operands(name, 60) for _ in range(count)]
    for column in columns[1:]:
        RANDOM.shuffle(column)
    kind = {"f16": "u16", "bf16": "u16", "f32": "u32", "f64": "u64"}[name]
    letters = "abc"[:count]
    code = f"{op}.{mode}.{name} {{d}}, " + ", ".join(f"{{{x}}}" for x in letters) + ";"
    got = evaluate(code, kind, **{x: (kind, c) for x, c in zip(letters, columns, strict=True)})
    for i, bits in enumerate(got.tolist()):
        values = [Fraction(value_of(c[i], name)) for c in columns]
        true = exact(*values)
        if true:
            assert value_of(bits, name) == rounded(true, name, mode), [float(v) for v in values]


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_square_roots(mode, name) -> None:
    kind = {"f32": "u32", "f64": "u64"}[name]
    column = [x for x in operands(name, 60) if value_of(x, name) > 0]
    got = evaluate(f"sqrt.{mode}.{name} {{d}}, {{a}};", kind, a=(kind, column))
    precision = FORMATS[name][0]
    for bits, given in zip(got.tolist(), column, strict=True):
        root, true = Fraction(value_of(bits, name)), Fraction(value_of(given, name))
        step = Fraction(math.ulp(float(root))) if name == "f64" else \
            Fraction(float(np.spacing(np.float32(float(root)))))  # fmt: skip
        if mode == "rp":
            assert root**2 >= true > (root - step) ** 2
        else:
            assert root**2 <= true < (root + step) ** 2, precision


def test_an_exact_zero_is_negative_only_towards_minus_infinity() -> None:
    for mode, top in (("rn", 0), ("rz", 0), ("rp", 0), ("rm", 1)):
        for name, kind, one in (("f32", "u32", 0x3F800000), ("f64", "u64", 0x3FF0 << 48)):
            got = evaluate(f"sub.{mode}.{name} {{d}}, {{a}}, {{a}};", kind, a=(kind, [one]))
            assert got.tolist() == [top << (31 if name == "f32" else 63)]


@pytest.mark.parametrize(("to", "mode"), [("bf16", "rn"), ("f16", "rn"), ("bf16", "rz")])
def test_conversions_from_single(to, mode) -> None:
    column = operands("f32", 150)
    got = evaluate(f"cvt.{mode}.{to}.f32 {{d}}, {{a}};", "u16", a=("u32", column))
    for bits, given in zip(got.tolist(), column, strict=True):
        assert value_of(bits, to) == rounded(Fraction(value_of(given, "f32")), to, mode)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_conversions_from_integers(mode, name) -> None:
    kind = {"f32": "u32", "f64": "u64"}[name]
    column = [1, 2**53 + 1, 2**63 - 1, 2**64 - 1, 2**54 + 3, 2**24 + 1,
              *(int(x) for x in RANDOM.integers(1, 2**64, 100, dtype=np.uint64))]  # fmt: skip
    got = evaluate(f"cvt.{mode}.{name}.u64 {{d}}, {{a}};", kind, a=("u64", column))
    wanted = [rounded(Fraction(x), name, mode) for x in column]
    assert [value_of(b, name) for b in got.tolist()] == wanted
    signed = [-x if i % 2 else x for i, x in enumerate(c >> 1 for c in column)]
    got = evaluate(f"cvt.{mode}.{name}.s64 {{d}}, {{a}};", kind, a=("s64", signed))
    wanted = [rounded(Fraction(x), name, mode) if x else 0.0 for x in signed]
    assert [value_of(b, name) for b in got.tolist()] == wanted


def e4m3(code: int) -> float:
    sign, exponent, fraction = code >> 7, code >> 3 & 15, code & 7
    if code & 0x7F == 0x7F:
        return math.nan
    size = (8 + fraction) * 2.0 ** (exponent - 10) if exponent else fraction * 2.0**-9
    return -size if sign else size


def test_eight_bit_floats_both_ways() -> None:
    codes = [c for c in range(256) if not math.isnan(e4m3(c))]
    halves = evaluate("cvt.rn.f16x2.e4m3x2 {d}, {a};", "u32", a=("u16", codes))
    low = (halves & 0xFFFF).astype(np.uint16).view(np.float16)
    assert low.tolist() == [e4m3(c) for c in codes]
    singles = np.array([e4m3(c) for c in codes], np.float32)
    back = evaluate("cvt.rn.satfinite.e4m3x2.f32 {d}, {a}, {b};", "u16",
                    a=("f32", singles), b=("f32", singles[::-1].copy()))  # fmt: skip
    assert (back >> 8).tolist() == codes
    assert (back & 0xFF).tolist() == codes[::-1]
    large = evaluate("cvt.rn.satfinite.e4m3x2.f32 {d}, {a}, {a};", "u16", a=("f32", [1e9, -1e9]))
    assert large.tolist() == [0x7E7E, 0xFEFE]


def test_pairs_do_each_half_for_itself() -> None:
    a = RANDOM.normal(size=(64, 2)).astype(np.float16)
    b = RANDOM.normal(size=(64, 2)).astype(np.float16)
    words = [x.view(np.uint32).reshape(-1) for x in (a, b)]
    got = evaluate("mul.rn.f16x2 {d}, {a}, {b};", "u32", a=("u32", words[0]), b=("u32", words[1]))
    assert (got.view(np.float16).reshape(-1, 2) == a * b).all()
    code = "setp.lt.f16x2 %p1|%p2, {a}, {b}; selp.u32 {d}, 1, 0, %p1; selp.u32 {e}, 1, 0, %p2;"
    low, high = evaluate(code, ("u32", "u32"), a=("u32", words[0]), b=("u32", words[1]))
    assert low.tolist() == (a < b)[:, 0].tolist()
    assert high.tolist() == (a < b)[:, 1].tolist()


def test_numbers_of_128_bits_in_four_words() -> None:
    def words(x: int) -> list[int]:
        return [x >> 32 * i & 0xFFFFFFFF for i in range(4)]

    pairs = [tuple(int(x) for x in RANDOM.integers(0, 2**64, 4, dtype=np.uint64))
             for _ in range(50)]  # fmt: skip
    numbers = [(p << 64 | q, r << 64 | s) for p, q, r, s in pairs] + [(0, 1), (2**128 - 1, 1)]
    columns = list(zip(*(words(a) + words(b) for a, b in numbers), strict=True))
    names = ["a", "b", "c", "g", "i", "j", "k", "l"]
    given = {n: ("u32", list(c)) for n, c in zip(names, columns, strict=True)}
    for op, exact in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b)):
        code = (
            f"{op}.cc.u32 {{d}}, {{a}}, {{i}}; {op}c.cc.u32 {{e}}, {{b}}, {{j}};"
            f"{op}c.cc.u32 {{f}}, {{c}}, {{k}}; {op}c.u32 {{h}}, {{g}}, {{l}};"
        ).replace("{h}", "%r1")
        code += "mov.u32 {d}, {d};"
        d, e, f = evaluate(code, ("u32",) * 3, **given)
        for i, (a, b) in enumerate(numbers):
            total = exact(a, b) & (2**128 - 1)
            assert [int(d[i]), int(e[i]), int(f[i])] == words(total)[:3]


def test_multiply_add_with_carry() -> None:
    a, b, c = ([int(x) for x in RANDOM.integers(0, 2**32, 64)] for _ in range(3))
    code = "mad.lo.cc.u32 {d}, {a}, {b}, {c}; madc.hi.u32 {e}, {a}, {b}, 0;"
    low, high = evaluate(code, ("u32", "u32"), a=("u32", a), b=("u32", b), c=("u32", c))
    for i in range(64):
        assert int(high[i]) << 32 | int(low[i]) == a[i] * b[i] + c[i]
