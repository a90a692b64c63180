"""Float arithmetic against exact references."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import numpy as np
import pytest

from core.ptx.arithmetic.formats_and_rounding import fma32, fma64
from tests.core.emulator.machines import evaluate
from tests.core.ptx.arithmetic.floats import (
    F32,
    G32,
    INF,
    NAN,
    SPECIALS,
    any_floats,
    bits,
    rounded,
    same,
)


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
