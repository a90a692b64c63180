"""Rounding modes, small formats and carry chains against exact fractions and long integers."""

from __future__ import annotations

import math
import operator
import random
import struct
from fractions import Fraction

import numpy as np
import pytest

from core.ptx.types import TYPES
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


def directed(exact: Fraction, kind: np.dtype, mode: str) -> float:
    """`exact` rounded towards zero, minus or plus infinity; beyond the range as IEEE 754 says."""
    info = np.finfo(kind)
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, info.minexp) - info.nmant)
    down, up = math.floor(exact / quantum) * quantum, math.ceil(exact / quantum) * quantum
    value = {"rm": down, "rp": up, "rz": down if exact > 0 else up}[mode]
    largest = Fraction(float(info.max))
    if abs(value) > largest:
        outwards = mode == ("rp" if exact > 0 else "rm")
        limit = math.inf if outwards else float(largest)
        return limit if exact > 0 else -limit
    return float(value)


def numbers(kind: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2 ** TYPES[kind].bits, 200, dtype=np.uint64)
    wild = bits.astype(f"u{TYPES[kind].nbytes}").view(TYPES[kind].dtype)
    near = (rng.integers(-(2**20), 2**20, 200) * 2.0 ** rng.integers(-12, 6, 200)).astype(
        wild.dtype
    )
    found = np.where(np.isfinite(wild) & (rng.random(200) < 0.5), wild, near)
    return np.where(found == 0, found.dtype.type(3), found)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_directed_rounding(mode, kind) -> None:
    a, b, c = (numbers(kind, seed) for seed in (1, 2, 3))
    rows = [tuple(map(Fraction, row)) for row in zip(*(x.tolist() for x in (a, b, c)), strict=True)]
    abc = {"a": (kind, a), "b": (kind, b), "c": (kind, c)}
    for name, function in (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul),
                           ("div", operator.truediv)):  # fmt: skip
        code = f"{name}.{mode}.{kind} {{d}}, {{a}}, {{b}};"
        got = evaluate(code, kind, a=abc["a"], b=abc["b"])
        assert got.tolist() == [directed(function(x, y), got.dtype, mode) for x, y, _ in rows], name
    got = evaluate(f"fma.{mode}.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind, **abc)
    assert got.tolist() == [directed(x * y + z, got.dtype, mode) for x, y, z in rows]


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_directed_rounding_with_a_constant(mode) -> None:
    """A constant has one place for all threads."""
    a, third = numbers("f64", 1), Fraction(1 / 3)
    for name, function in (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul),
                           ("div", operator.truediv)):  # fmt: skip
        for first, second in (("{a}", f"{1 / 3!r}"), (f"{1 / 3!r}", "{a}")):
            got = evaluate(f"{name}.{mode}.f64 {{d}}, {first}, {second};", "f64", a=("f64", a))
            pairs = [(x, third) if first == "{a}" else (third, x) for x in map(Fraction, a)]
            assert got.tolist() == [directed(function(*p), got.dtype, mode) for p in pairs], name
    got = evaluate(f"fma.{mode}.f64 {{d}}, {{a}}, {1 / 3!r}, 3.0;", "f64", a=("f64", a))
    assert got.tolist() == [directed(x * third + 3, got.dtype, mode) for x in map(Fraction, a)]


def pieces(values: list[int], place: int) -> tuple[str, list[int]]:
    return "u32", [v >> 32 * place & 0xFFFFFFFF for v in values]


def joined(parts) -> list[int]:
    columns = [p.view(np.uint32).tolist() for p in parts]
    return [sum(v << 32 * i for i, v in enumerate(row)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize(("name", "function"), [("add", operator.add), ("sub", operator.sub)])
def test_sums_of_96_bits(name, function) -> None:
    rng = random.Random(name)
    a = [2**96 - 1, 0, 2**64, *(rng.getrandbits(96) for _ in range(61))]
    b = [1, 1, 2**32, *(rng.getrandbits(96) for _ in range(61))]
    code = (
        f"{name}.cc.u32 {{d}}, {{a}}, {{p}}; {name}c.cc.u32 {{e}}, {{b}}, {{q}};"
        f"{name}c.u32 {{f}}, {{c}}, {{r}};"
    )
    operands = {n: pieces(a, i) for i, n in enumerate("abc")}
    operands |= {n: pieces(b, i) for i, n in enumerate("pqr")}
    got = joined(evaluate(code, ["u32"] * 3, **operands))
    assert got == [function(x, y) % 2**96 for x, y in zip(a, b, strict=True)]


def test_products_of_128_bits() -> None:
    rng = random.Random(5)
    a = [2**64 - 1, *(rng.getrandbits(64) for _ in range(63))]
    b = [2**64 - 1, *(rng.getrandbits(64) for _ in range(63))]
    code = """
        mul.lo.u32 {d}, {a}, {p}; mul.hi.u32 {e}, {a}, {p};
        mad.lo.cc.u32 {e}, {a}, {q}, {e}; madc.hi.u32 {f}, {a}, {q}, 0;
        mad.lo.cc.u32 {e}, {b}, {p}, {e}; madc.hi.cc.u32 {f}, {b}, {p}, {f}; addc.u32 {g}, 0, 0;
        mad.lo.cc.u32 {f}, {b}, {q}, {f}; madc.hi.u32 {g}, {b}, {q}, {g};
    """
    operands = {"a": pieces(a, 0), "b": pieces(a, 1), "p": pieces(b, 0), "q": pieces(b, 1)}
    got = joined(evaluate(code, ["u32"] * 4, **operands))
    assert got == [x * y for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_an_infinite_addend_wins_over_a_finite_product_that_overflows(mode) -> None:
    """Found by the random programs: the product alone would be infinite, of the other sign."""
    a, b = [3.4e38, 1e200, -1e200, 2.0], [1.7e308, -1e200, 1e200, 1e308]
    c = [-np.inf, np.inf, np.inf, -np.inf]
    got = evaluate(f"fma.{mode}.f64 {{d}}, {{a}}, {{b}}, {{c}};", "f64", a=("f64", a),
                   b=("f64", b), c=("f64", c))  # fmt: skip
    assert got.tolist() == c


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_a_sum_that_is_exactly_zero_has_the_sign_of_its_mode(mode) -> None:
    """Also among numbers so large that they are done in exact fractions."""
    a, b = [1e300, 1e300, 2.0**950, 3.0, 0.0], [-0.0, 0.0, 1.0, 0.0, -0.0]
    c = [0.0, 0.0, -(2.0**950), -0.0, -0.0]
    got = evaluate(f"fma.{mode}.f64 {{d}}, {{a}}, {{b}}, {{c}};", "f64", a=("f64", a),
                   b=("f64", b), c=("f64", c))  # fmt: skip
    mixed = -1.0 if mode == "rm" else 1.0
    assert np.copysign(1.0, got).tolist() == [mixed, 1.0, mixed, mixed, -1.0]
    assert not got.any()
