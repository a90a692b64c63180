"""Integer, logic and shift instructions against scalar references in plain Python.

The references follow the pseudocode of the PTX ISA's instruction pages.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.core.emulator.machines import evaluate
from tests.core.ptx.arithmetic.integers import (
    FEW,
    check,
    truncated,
    values,
    wrap,
)

INTEGERS = ["u16", "s16", "u32", "s32", "u64", "s64"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize(
    ("opcode", "reference"),
    [("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul.lo", lambda a, b: a * b),
     ("min", min), ("max", max)],
)  # fmt: skip
def test_wraparound(opcode, reference, kind) -> None:
    @FEW
    @given(values(kind), values(kind))
    def run(a, b) -> None:
        check(f"{opcode}.{kind} {{d}}, {{a}}, {{b}};", kind, reference, a=(kind, a), b=(kind, b))

    run()


def test_wraparound_by_hand() -> None:
    a = ("s32", [2**31 - 1, -(2**31), -1])
    assert evaluate("add.s32 {d}, {a}, 1;", "s32", a=a).tolist() == [-(2**31), -(2**31) + 1, 0]
    assert evaluate("neg.s32 {d}, {a};", "s32", a=a).tolist() == [-(2**31) + 1, -(2**31), 1]
    assert evaluate("abs.s32 {d}, {a};", "s32", a=a).tolist() == [2**31 - 1, -(2**31), 1]
    assert evaluate("add.sat.s32 {d}, {a}, {a};", "s32", a=a).tolist() == [2**31 - 1, -(2**31), -2]
    assert evaluate("sub.sat.s32 {d}, {a}, 5;", "s32", a=a).tolist() == [2**31 - 6, -(2**31), -6]


@pytest.mark.parametrize("kind", INTEGERS)
def test_high_half_of_a_product(kind) -> None:
    @FEW
    @given(values(kind), values(kind))
    def run(a, b) -> None:
        code = f"mul.hi.{kind} {{d}}, {{a}}, {{b}};"
        check(code, kind, lambda x, y: (x * y) >> int(kind[1:]), a=(kind, a), b=(kind, b))

    run()


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32"])
def test_wide_product_and_multiply_add(kind) -> None:
    big = f"{kind[0]}{2 * int(kind[1:])}"

    @FEW
    @given(values(kind), values(kind), values(big))
    def run(a, b, c) -> None:
        ab = {"a": (kind, a), "b": (kind, b)}
        check(f"mul.wide.{kind} {{d}}, {{a}}, {{b}};", big, lambda x, y: x * y, **ab)
        code = f"mad.wide.{kind} {{d}}, {{a}}, {{b}}, {{c}};"
        check(code, big, lambda x, y, z: x * y + z, **ab, c=(big, c))

    run()


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64", "s16"])
def test_multiply_add(kind) -> None:
    @FEW
    @given(values(kind), values(kind), values(kind))
    def run(a, b, c) -> None:
        abc = {"a": (kind, a), "b": (kind, b), "c": (kind, c)}
        check(f"mad.lo.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind, lambda x, y, z: x * y + z, **abc)
        width = int(kind[1:])
        check(f"mad.hi.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind,
              lambda x, y, z: ((x * y) >> width) + z, **abc)  # fmt: skip
        check(
            f"sad.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind, lambda x, y, z: abs(x - y) + z, **abc
        )

    run()


@pytest.mark.parametrize("kind", INTEGERS)
def test_division_rounds_towards_zero(kind) -> None:
    @FEW
    @given(values(kind), values(kind))
    def run(a, b) -> None:
        b = [y or 7 for y in b]
        ab = {"a": (kind, a), "b": (kind, b)}
        check(f"div.{kind} {{d}}, {{a}}, {{b}};", kind, truncated, **ab)
        check(f"rem.{kind} {{d}}, {{a}}, {{b}};", kind, lambda x, y: x - y * truncated(x, y), **ab)

    run()


def test_division_by_hand() -> None:
    a, b = ("s32", [7, -7, 7, -7, -(2**31)]), ("s32", [2, 2, -2, -2, -1])
    assert evaluate("div.s32 {d}, {a}, {b};", "s32", a=a, b=b).tolist() == [3, -3, -3, 3, -(2**31)]
    assert evaluate("rem.s32 {d}, {a}, {b};", "s32", a=a, b=b).tolist() == [1, -1, 1, -1, 0]


def test_division_by_zero_does_not_raise() -> None:
    """The PTX ISA leaves the value open; the hardware gives all ones, and the dividend."""
    a, b = ("s32", [5, -5, 0]), ("s32", [0, 0, 0])
    assert evaluate("div.s32 {d}, {a}, {b};", "s32", a=a, b=b).tolist() == [-1, -1, -1]
    assert evaluate("rem.s32 {d}, {a}, {b};", "s32", a=a, b=b).tolist() == [5, -5, 0]


@FEW
@given(values("s32"), values("s32"), values("s32"))
def test_24_bit_products(a, b, c) -> None:
    def low(x: int, signed: bool) -> int:
        x &= 0xFFFFFF
        return x - (1 << 24) if signed and x >> 23 else x

    for kind in ("s32", "u32"):
        signed = kind == "s32"
        ab = {"a": (kind, [wrap(x, kind) for x in a]), "b": (kind, [wrap(x, kind) for x in b])}
        abc = {**ab, "c": (kind, [wrap(x, kind) for x in c])}
        for half, shift in (("lo", 0), ("hi", 16)):

            def product(x: int, y: int, shift: int = shift, signed: bool = signed) -> int:
                return (low(x, signed) * low(y, signed)) >> shift

            check(f"mul24.{half}.{kind} {{d}}, {{a}}, {{b}};", kind, product, **ab)
            check(f"mad24.{half}.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind,
                  lambda x, y, z, p=product: p(x, y) + z, **abc)  # fmt: skip
