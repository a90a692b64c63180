"""Directed rounding against exact fractions, and carry chains against long integers."""

from __future__ import annotations

import math
import operator
import random
from fractions import Fraction

import numpy as np
import pytest

from core.ptx.types import TYPES
from tests.core.emulator.machines import evaluate


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
