"""Comparison, selection and predicates, against Python."""

from __future__ import annotations

import math
import operator

import pytest

from core.ptx.types import TYPES
from tests.core.emulator.machines import evaluate
from tests.core.ptx.arithmetic.floats import F32, G32, INF, NAN

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
