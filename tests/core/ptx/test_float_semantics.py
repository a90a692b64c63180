"""Float arithmetic, comparison, selection and conversion, against exact references."""

from __future__ import annotations

import math
import operator
import random
from fractions import Fraction

import numpy as np
import pytest

from core.ptx.semantics.ieee import fma32, fma64
from core.ptx.types import TYPES
from tests.core.emulator.machines import evaluate

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


# -- arithmetic -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(
    ("opcode", "function"),
    [("add", operator.add), ("sub", operator.sub), ("mul", operator.mul),
     ("div", operator.truediv)],
)  # fmt: skip
def test_every_operation_rounds_once(opcode, function, kind) -> None:
    a, b = any_floats(kind, 200, 1), any_floats(kind, 200, 2)
    b[b == 0] = 3
    got = evaluate(f"{opcode}.rn.{kind} {{d}}, {{a}}, {{b}};", kind, a=(kind, a), b=(kind, b))
    for x, y, g in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        assert g == rounded(function(Fraction(x), Fraction(y)), got.dtype), (x, y)


def fma_exact(a: float, b: float, c: float, kind: np.dtype) -> float:
    return rounded(Fraction(a) * Fraction(b) + Fraction(c), kind)


def test_fma32_rounds_once() -> None:
    a, b, c = (any_floats("f32", 3000, seed) for seed in (3, 4, 5))
    half = np.arange(3000) % 2 == 0  # where a*b nearly cancels c, or lies on a tie
    with np.errstate(all="ignore"):
        c = np.where(half & np.isfinite(a * b), -(a * b) * np.float32(1 + 2.0**-23), c)
        c = np.where(np.isfinite(c), c, 1).astype(np.float32)
        got = fma32(a, b, c)
    for x, y, z, g in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        assert g == fma_exact(x, y, z, got.dtype), (x.hex(), y.hex(), z.hex())


def test_fma32_on_double_rounding_traps() -> None:
    """Sums that a float64 intermediate would round to a tie of float32."""
    one = np.float32(1 + 2**-23)
    a = np.array([one, 1 + 2**-12, 2**-75], np.float32)
    b = np.array([one, 1 + 2**-12, 2**-75], np.float32)
    c = np.array([2.0**60, 2.0**30, 2.0**-149], np.float32)
    got = evaluate("fma.rn.f32 {d}, {a}, {b}, {c};", "f32", a=("f32", a), b=("f32", b),
                   c=("f32", c))  # fmt: skip
    want = [fma_exact(*map(float, row), got.dtype) for row in zip(a, b, c, strict=True)]
    assert got.tolist() == want
    tie = np.float32(2.0**24)  # 2^24 + 1 is a tie; the tiny product decides
    up = evaluate("fma.rn.f32 {d}, {a}, {b}, {c};", "f32", a=("f32", [1 + 2**-20]),
                  b=("f32", [1.0]), c=("f32", [tie]))  # fmt: skip
    assert up.tolist() == [2.0**24 + 2]


def test_fma64_rounds_once() -> None:
    rng = np.random.default_rng(6)
    shape = 1500
    a, b = rng.uniform(-4, 4, shape), rng.uniform(-4, 4, shape)
    c = np.where(rng.random(shape) < 0.5, -(a * b) * (1 + rng.integers(-3, 4, shape) * 2.0**-52),
                 rng.uniform(-1, 1, shape) * 2.0 ** rng.integers(-120, 120, shape))  # fmt: skip
    got = fma64(a, b, c)
    for x, y, z, g in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        assert g == fma_exact(x, y, z, got.dtype), (x.hex(), y.hex(), z.hex())


def test_fma64_at_the_ends_of_the_range() -> None:
    a = any_floats("f64", 600, 7)
    b, c = any_floats("f64", 600, 8), any_floats("f64", 600, 9)
    m, n = np.random.default_rng(1).uniform(1, 2, (2, 600))
    a[:200], b[:200] = m[:200] * 2.0**-530, n[:200] * 2.0**-530  # the product's error is subnormal
    c[:200] = np.where(np.arange(200) % 2, 2.0**-1060, n[200:400] * 2.0**-1020)
    a[200:300], b[200:300], c[200:300] = 2.0**1000 * m[:100], 2.0**20 * n[:100], -(2.0**1020)
    a[300], b[300], c[300] = 2.0**-537 * (1 + 2.0**-52), 2.0**-537, 2.0**-1021  # just over a tie
    a[301], b[301] = 2.0**600, 2.0**600
    a[302], b[302], c[302] = 2.0**600 * 1.5, 2.0**424, -(2.0**1023)  # only the product overflows
    a[303:600:3] = 0.0
    c[301] = -1.0
    with np.errstate(all="ignore"):
        got = fma64(a, b, c)
    for x, y, z, g in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        assert g == fma_exact(x, y, z, got.dtype), (x.hex(), y.hex(), z.hex())


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fma_of_specials(kind) -> None:
    rows = [
        (INF, 0.0, 1.0, NAN), (INF, 1.0, -INF, NAN), (INF, -2.0, 5.0, -INF), (NAN, 1.0, 1.0, NAN),
        (1.0, 1.0, INF, INF), (-0.0, 1.0, 0.0, 0.0), (-0.0, 1.0, -0.0, -0.0), (1.0, 1.0, -1.0, 0.0),
        (0.0, -3.0, 0.0, 0.0), (2.0, 3.0, -INF, -INF),
    ]  # fmt: skip
    a, b, c, want = (list(column) for column in zip(*rows, strict=True))
    got = evaluate(f"fma.rn.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind, a=(kind, a), b=(kind, b),
                   c=(kind, c))  # fmt: skip
    same(got, want)


def test_half_precision_rounds_once() -> None:
    a, b = any_floats("f16", 300, 10), any_floats("f16", 300, 11)
    for opcode, function in (("add", operator.add), ("mul", operator.mul), ("sub", operator.sub)):
        code = f"{opcode}.rn.f16 {{d}}, {{a}}, {{b}};"
        got = evaluate(code, "f16", a=("f16", a), b=("f16", b))
        for x, y, g in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
            assert g == rounded(function(Fraction(x), Fraction(y)), got.dtype), (opcode, x, y)


def test_half_precision_fma_rounds_once() -> None:
    a, b, c = (any_floats("f16", 4000, seed) for seed in (12, 13, 14))
    a[:4], b[:4], c[:4] = 1 + 2.0**-10, 1 + 2.0**-10, (2.0**-24, -(2.0**-24), 2048, 2.0**-14)
    got = evaluate("fma.rn.f16 {d}, {a}, {b}, {c};", "f16", a=("f16", a), b=("f16", b),
                   c=("f16", c))  # fmt: skip
    for x, y, z, g in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        assert g == fma_exact(x, y, z, got.dtype), (x, y, z)


def test_flush_to_zero() -> None:
    tiny = np.array([1e-40, -1e-40, 2.0**-126, -(2.0**-126)], np.float32)
    one = ("f32", [1.0, 1.0, 0.5, 0.5])
    kept = evaluate("mul.f32 {d}, {a}, {b};", "f32", a=("f32", tiny), b=one)
    same(kept, [float(tiny[0]), float(tiny[1]), 2.0**-127, -(2.0**-127)])
    flushed = evaluate("mul.ftz.f32 {d}, {a}, {b};", "f32", a=("f32", tiny), b=one)
    same(flushed, [0.0, -0.0, 0.0, -0.0])
    assert evaluate("setp.eq.ftz.f32 %p1, {a}, 0f00000000; selp.u32 {d}, 1, 0, %p1;", "u32",
                    a=("f32", tiny)).tolist() == [1, 1, 0, 0]  # fmt: skip


def test_saturation() -> None:
    a = ("f32", [0.25, 2.0, -1.0, NAN, INF, -0.0])
    got = evaluate("add.sat.f32 {d}, {a}, 0f00000000;", "f32", a=a)
    same(got, [0.25, 1.0, 0.0, 0.0, 1.0, 0.0])


def test_minimum_and_maximum() -> None:
    def pick(x: float, y: float, largest: bool) -> float:
        if math.isnan(x) or math.isnan(y):
            return y if math.isnan(x) else x
        if x == y:  # +0 is above -0
            return max(x, y, key=lambda v: math.copysign(1, v) if largest else -math.copysign(1, v))
        return max(x, y) if largest else min(x, y)

    pairs = list(zip(F32.tolist(), G32.tolist(), strict=True))
    for largest, opcode in ((False, "min"), (True, "max")):
        got = evaluate(f"{opcode}.f32 {{d}}, {{a}}, {{b}};", "f32", a=("f32", F32), b=("f32", G32))
        same(got, [pick(x, y, largest) for x, y in pairs])
        wide = evaluate(f"{opcode}.f64 {{d}}, {{a}}, {{b}};", "f64", a=("f64", F32), b=("f64", G32))
        same(wide, [pick(x, y, largest) for x, y in pairs])
    both = evaluate("min.f32 {d}, {a}, {a};", "f32", a=("f32", [NAN]))
    assert bits(both) == [0x7FFFFFFF]


def test_sign_operations() -> None:
    a = ("f32", SPECIALS)
    same(evaluate("neg.f32 {d}, {a};", "f32", a=a), [-x for x in np.float32(SPECIALS).tolist()])
    same(evaluate("abs.f32 {d}, {a};", "f32", a=a), [abs(x) for x in np.float32(SPECIALS).tolist()])
    got = evaluate("copysign.f32 {d}, {a}, {b};", "f32", a=("f32", [-1.0, 2.0, -0.0]),
                   b=("f32", [5.0, -6.0, 7.0]))  # fmt: skip
    same(got, [-5.0, 6.0, -7.0])


def test_roots() -> None:
    a = np.abs(any_floats("f32", 200, 15))
    got = evaluate("sqrt.rn.f32 {d}, {a};", "f32", a=("f32", a))
    for x, g in zip(
        a.tolist(), got.tolist(), strict=True
    ):  # g is nearest if no neighbour is nearer
        low, high = np.nextafter(np.float32(g), np.float32([-INF, INF])).astype(float)
        middle = (Fraction(low) + Fraction(g)) / 2, (Fraction(high) + Fraction(g)) / 2
        assert (g == 0 and x == 0) or middle[0] ** 2 <= Fraction(x) <= middle[1] ** 2
    b = any_floats("f32", 200, 16)
    b[b == 0] = 1
    got = evaluate("rcp.rn.f32 {d}, {a};", "f32", a=("f32", b))
    assert got.tolist() == [rounded(1 / Fraction(x), got.dtype) for x in b.tolist()]
    same(evaluate("rcp.rn.f32 {d}, {a};", "f32", a=("f32", [0.0, -0.0, INF, -INF, NAN])),
         [INF, -INF, 0.0, -0.0, NAN])  # fmt: skip
    same(evaluate("sqrt.rn.f32 {d}, {a};", "f32", a=("f32", [-1.0, -0.0, INF])), [NAN, -0.0, INF])
    same(evaluate("rsqrt.approx.f32 {d}, {a};", "f32", a=("f32", [4.0, 0.0, -0.0, INF, -1.0])),
         [0.5, INF, -INF, 0.0, NAN])  # fmt: skip


def test_approximate_functions_are_within_their_documented_error() -> None:
    x = np.random.default_rng(2).uniform(0.01, 3, 100).astype(np.float32)
    for opcode, function, tolerance in (
        ("ex2", lambda v: 2**v, 2**-22), ("lg2", math.log2, 2**-21), ("sin", math.sin, 2**-20),
        ("cos", math.cos, 2**-20), ("tanh", math.tanh, 2**-11),
    ):  # fmt: skip
        got = evaluate(f"{opcode}.approx.f32 {{d}}, {{a}};", "f32", a=("f32", x))
        want = np.array([function(v) for v in x.tolist()])
        error = np.abs(got - want) / np.maximum(np.abs(want), 1)
        assert (error <= tolerance).all(), opcode
    same(evaluate("lg2.approx.f32 {d}, {a};", "f32", a=("f32", [0.0, -1.0, INF])), [-INF, NAN, INF])
    same(evaluate("ex2.approx.f32 {d}, {a};", "f32", a=("f32", [-INF, INF, 3.0])), [0.0, INF, 8.0])


def test_properties() -> None:
    tests = {
        "finite": math.isfinite, "infinite": math.isinf, "notanumber": math.isnan,
        "number": lambda x: not math.isnan(x),
        # zeros are normal (PTX ISA, testp)
        "normal": lambda x: x == 0 or (math.isfinite(x) and abs(x) >= 2.0**-126),
        "subnormal": lambda x: 0 < abs(x) < 2.0**-126,
    }  # fmt: skip
    for name, test in tests.items():
        code = f"testp.{name}.f32 %p1, {{a}}; selp.u32 {{d}}, 1, 0, %p1;"
        got = evaluate(code, "u32", a=("f32", SPECIALS))
        assert got.tolist() == [int(test(float(np.float32(x)))) for x in SPECIALS], name


# -- comparison and selection -----------------------------------------------------------------

ORDERED = {"eq": operator.eq, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
           "ge": operator.ge, "ne": operator.ne}  # fmt: skip


def compare(name: str, x: float, y: float) -> bool:
    nan = math.isnan(x) or math.isnan(y)
    if name in ("num", "nan"):
        return nan == (name == "nan")
    if name in ORDERED:
        return not nan and ORDERED[name](x, y)
    return nan or ORDERED[name[:-1]](x, y)


@pytest.mark.parametrize("kind", ["f32", "f64", "f16"])
@pytest.mark.parametrize("name", [*ORDERED, *(f"{n}u" for n in ORDERED), "num", "nan"])
def test_float_comparisons(name, kind) -> None:
    code = f"setp.{name}.{kind} %p1, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, %p1;"
    got = evaluate(code, "u32", a=(kind, F32.clip(-6e4, 6e4)), b=(kind, G32.clip(-6e4, 6e4)))
    pairs = zip(F32.clip(-6e4, 6e4).tolist(), G32.clip(-6e4, 6e4).tolist(), strict=True)
    kinds = TYPES[kind].dtype.type
    assert got.tolist() == [int(compare(name, float(kinds(x)), float(kinds(y)))) for x, y in pairs]


def test_integer_comparisons_by_signedness() -> None:
    a, b = [-1, 1, 5, -(2**31)], [1, -1, 5, 2**31 - 1]
    for name, function in ORDERED.items():
        code = f"setp.{name}.s32 %p1, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, %p1;"
        got = evaluate(code, "u32", a=("s32", a), b=("s32", b))
        assert got.tolist() == [int(function(x, y)) for x, y in zip(a, b, strict=True)], name
        unsigned = {"lt": "lo", "le": "ls", "gt": "hi", "ge": "hs"}.get(name, name)
        for suffix in (f"{name}.u32", f"{unsigned}.u32"):
            code = f"setp.{suffix} %p1, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, %p1;"
            got = evaluate(code, "u32", a=("s32", a), b=("s32", b))
            want = [int(function(x % 2**32, y % 2**32)) for x, y in zip(a, b, strict=True)]
            assert got.tolist() == want, suffix


@pytest.mark.parametrize(
    ("combination", "function"),
    [("and", operator.and_), ("or", operator.or_), ("xor", operator.xor)],
)
@pytest.mark.parametrize("negated", [False, True])
def test_comparison_combined_with_a_predicate(combination, function, negated) -> None:
    a, b, c = [1, 2, 3, 4], [2, 2, 2, 2], [0, 0, 1, 1]
    code = (
        f"setp.ne.u32 %p3, {{c}}, 0; setp.lt.{combination}.s32 %p1|%p2, {{a}}, {{b}}, "
        f"{'!' if negated else ''}%p3; selp.u32 {{d}}, 1, 0, %p1; selp.u32 {{e}}, 1, 0, %p2;"
    )
    first, second = evaluate(code, ["u32", "u32"], a=("s32", a), b=("s32", b), c=("u32", c))
    for x, y, z, p, q in zip(a, b, c, first.tolist(), second.tolist(), strict=True):
        condition = bool(z) != negated
        assert p == function(x < y, condition)
        assert q == function(not x < y, condition)


def test_both_results_of_an_unordered_comparison() -> None:
    code = "setp.lt.f32 %p1|%p2, {a}, {b}; selp.u32 {d}, 1, 0, %p1; selp.u32 {e}, 1, 0, %p2;"
    first, second = evaluate(code, ["u32", "u32"], a=("f32", [NAN, 1.0, 2.0]), b=("f32", [1.0] * 3))
    assert first.tolist() == [0, 0, 0]
    assert second.tolist() == [1, 1, 1]


def test_set_gives_all_ones_or_one() -> None:
    a, b = ("f32", [1.0, NAN, 3.0]), ("f32", [2.0, 2.0, 2.0])
    assert evaluate("set.lt.u32.f32 {d}, {a}, {b};", "u32", a=a, b=b).tolist() == [2**32 - 1, 0, 0]
    assert evaluate("set.lt.s32.f32 {d}, {a}, {b};", "s32", a=a, b=b).tolist() == [-1, 0, 0]
    assert evaluate("set.geu.f32.f32 {d}, {a}, {b};", "f32", a=a, b=b).tolist() == [0.0, 1.0, 1.0]


def test_selection() -> None:
    a, b = ("s32", [1, 2, 3, 4, 5]), ("s32", [-1, -2, -3, -4, -5])
    code = "setp.ne.u32 %p1, {c}, 0; selp.s32 {d}, {a}, {b}, %p1;"
    got = evaluate(code, "s32", a=a, b=b, c=("u32", [1, 0, 1, 0, 9]))
    assert got.tolist() == [1, -2, 3, -4, 5]
    got = evaluate(
        "slct.s32.s32 {d}, {a}, {b}, {c};", "s32", a=a, b=b, c=("s32", [0, -1, 7, -7, 1])
    )
    assert got.tolist() == [1, -2, 3, -4, 5]
    conditions = ("f32", [-0.0, NAN, 1e-40, -1e-40, INF])
    got = evaluate("slct.s32.f32 {d}, {a}, {b}, {c};", "s32", a=a, b=b, c=conditions)
    assert got.tolist() == [1, -2, 3, -4, 5]
    got = evaluate("slct.ftz.s32.f32 {d}, {a}, {b}, {c};", "s32", a=a, b=b, c=conditions)
    assert got.tolist() == [1, -2, 3, 4, 5]


def test_predicates_are_combined_and_negated() -> None:
    code = (
        "setp.ne.u32 %p1, {a}, 0; setp.ne.u32 %p2, {b}, 0; {op}.pred %p3, %p1, %p2;"
        "not.pred %p4, %p3; selp.u32 {d}, 1, 0, %p3; selp.u32 {e}, 1, 0, %p4;"
    )
    for name, function in (("and", operator.and_), ("or", operator.or_), ("xor", operator.xor)):
        first, second = evaluate(code.replace("{op}", name), ["u32", "u32"],
                                 a=("u32", [0, 0, 4, 4]), b=("u32", [0, 2, 0, 2]))  # fmt: skip
        want = [function(x, y) for x, y in ((0, 0), (0, 1), (1, 0), (1, 1))]
        assert first.tolist() == want
        assert second.tolist() == [1 - w for w in want]


# -- conversion -------------------------------------------------------------------------------

ROUND = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@pytest.mark.parametrize("rounding", ROUND)
@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("to", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
def test_float_to_integer(to, source, rounding) -> None:
    rng = random.Random(f"{to}{source}{rounding}")
    x = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, -0.0, INF, -INF, NAN, 127.5, 255.5, 2.0**31,
         -(2.0**31), 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30]  # fmt: skip
    x += [rng.choice([-1, 1]) * rng.random() * 2.0 ** rng.randint(0, 66) for _ in range(100)]
    values = np.array(x, TYPES[source].dtype)
    got = evaluate(f"cvt.{rounding}.{to}.{source} {{d}}, {{a}};", to, a=(source, values))
    width = int(to[1:])
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if to[0] == "s" else (0, 2**width - 1)
    for value, g in zip(values.tolist(), got.tolist(), strict=True):
        if math.isnan(value):  # PTX ISA, cvt: "NaN input results"
            want = 2 ** (width - 1) if source == "f64" or width == 64 else 0
            assert g % 2**width == want
        elif math.isinf(value):
            assert g == (high if value > 0 else low)
        else:
            assert g == min(max(ROUND[rounding](value), low), high), value


@pytest.mark.parametrize("source", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("to", ["f16", "f32", "f64"])
def test_integer_to_float(to, source) -> None:
    rng = random.Random(f"{to}{source}")
    width = int(source[1:])
    low, high = ((-(2 ** (width - 1)), 2 ** (width - 1) - 1) if source[0] == "s"
                 else (0, 2**width - 1))  # fmt: skip
    x = [low, high, 0, 1, high - 1, high // 2 + 1] + [rng.randint(low, high) for _ in range(100)]
    if width > 16:  # ties of float16 and float32, and just beside them
        x += [2049, 2051, 65519, 65520, 2**24 + 1, 2**24 + 3, 2**30 + 2**6]
    if width == 64:
        x += [2**24 + 1 + 2**62, 2**53 + 1, 2**62 + 2**38 + 1, 2**62 + 2**38, 2**62 + 2**38 - 1]
    got = evaluate(f"cvt.rn.{to}.{source} {{d}}, {{a}};", to, a=(source, x))
    assert got.tolist() == [rounded(Fraction(v), got.dtype) for v in x]


def test_conversions_between_integers() -> None:
    a = ("s64", [2**40 + 5, -1, -(2**40), 200, 2**31])
    assert evaluate("cvt.s32.s64 {d}, {a};", "s32", a=a).tolist() == [5, -1, 0, 200, -(2**31)]
    got = evaluate("cvt.sat.s32.s64 {d}, {a};", "s32", a=a)
    assert got.tolist() == [2**31 - 1, -1, -(2**31), 200, 2**31 - 1]
    assert evaluate("cvt.sat.u8.s64 {d}, {a};", "u8", a=a).tolist() == [255, 0, 0, 200, 255]
    assert evaluate("cvt.sat.s8.s64 {d}, {a};", "s8", a=a).tolist() == [127, -1, -128, 127, 127]
    b = ("u64", [2**63, 2**64 - 1, 7])
    assert evaluate("cvt.sat.s64.u64 {d}, {a};", "s64", a=b).tolist() == [2**63 - 1, 2**63 - 1, 7]
    assert evaluate("cvt.sat.u64.s64 {d}, {a};", "u64", a=("s64", [-5, 9])).tolist() == [0, 9]
    assert evaluate("cvt.s64.s32 {d}, {a};", "s64", a=("s32", [-5, 9])).tolist() == [-5, 9]
    assert evaluate("cvt.u64.u32 {d}, {a};", "u64", a=("s32", [-5, 9])).tolist() == [2**32 - 5, 9]


def test_conversions_between_floats() -> None:
    a = np.concatenate([any_floats("f64", 300, 20), [1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-50, 1e-45,
                        65519.999, 65520.0, 2.0**-25, 2.0**-25 * 1.000001]])  # fmt: skip
    for to in ("f32", "f16"):
        got = evaluate(f"cvt.rn.{to}.f64 {{d}}, {{a}};", to, a=("f64", a))
        assert got.tolist() == [rounded(Fraction(v), got.dtype) for v in a.tolist()], to
    same(evaluate("cvt.f64.f32 {d}, {a};", "f64", a=("f32", SPECIALS)),
         np.float32(SPECIALS).astype(float).tolist())  # fmt: skip
    x = ("f32", [1.5, 2.5, -1.5, -0.4, INF, NAN, 3e38])
    same(evaluate("cvt.rni.f32.f32 {d}, {a};", "f32", a=x), [2, 2, -2, -0.0, INF, NAN, 3e38])
    same(evaluate("cvt.rmi.f32.f32 {d}, {a};", "f32", a=x), [1, 2, -2, -1, INF, NAN, 3e38])
    same(evaluate("cvt.rpi.f32.f32 {d}, {a};", "f32", a=x), [2, 3, -1, -0.0, INF, NAN, 3e38])
    same(evaluate("cvt.rzi.f32.f32 {d}, {a};", "f32", a=x), [1, 2, -1, -0.0, INF, NAN, 3e38])
    same(evaluate("cvt.sat.f32.f32 {d}, {a};", "f32", a=x), [1, 1, 0, 0, 1, 0, 1])
    same(evaluate("cvt.ftz.f64.f32 {d}, {a};", "f64", a=("f32", [1e-40, -1e-40])), [0.0, -0.0])
    nan = evaluate("cvt.rn.f32.f64 {d}, {a};", "f32", a=("f64", [NAN]))
    assert bits(nan) == [0x7FC00000]  # on an H200 the upper bits of the fraction are kept


def test_saturating_conversion_of_an_integer_to_float() -> None:
    """`.sat` limits a float result to [0, 1], whatever it comes from (PTX ISA, cvt)."""
    got = evaluate("cvt.rn.sat.f32.s32 {d}, {a};", "f32", a=("s32", [5, -5, 0, 1]))
    same(got, [1.0, 0.0, 0.0, 1.0])


def test_a_nan_result_is_the_hardwares() -> None:
    """PTX ISA, floating point: `add`, `mul`, `fma` … of f32 give the canonical NaN 0x7fffffff."""
    a = ("f32", [INF, NAN])
    got = evaluate("sub.f32 {d}, {a}, {a};", "f32", a=a)
    assert bits(got) == [0x7FFFFFFF] * 2
