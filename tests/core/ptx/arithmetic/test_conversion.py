"""Conversions between integers and floats, against exact fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from core.ptx.types import TYPES
from tests.core.emulator.machines import evaluate
from tests.core.ptx.arithmetic.floats import INF, NAN, SPECIALS, any_floats, bits, rounded, same

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
