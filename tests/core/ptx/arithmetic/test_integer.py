"""Integer, logic and shift instructions, bit fields and bytes against scalar references in Python.

The references follow the pseudocode of the PTX ISA's instruction pages.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from core.ptx.types import TYPES
from tests.core.emulator.machines import evaluate

LANES = 64
FEW = settings(
    max_examples=5, deadline=None, derandomize=True, database=None,
    phases=[Phase.explicit, Phase.generate],  # a failing column names its row: nothing to shrink
)  # fmt: skip


def limits(kind: str) -> tuple[int, int]:
    info = np.iinfo(TYPES[kind].dtype) if kind[0] == "s" else np.iinfo(f"u{int(kind[1:]) // 8}")
    return int(info.min), int(info.max)


def wrap(value: int, kind: str) -> int:
    bits = int(kind[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


def bits_of(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def interesting(kind: str) -> list[int]:
    low, high = limits(kind)
    near = {low, low + 1, high, high - 1, 0, 1, 2, 3, 5, 7, 31, 32, 33, high // 2, high // 3}
    if low < 0:
        near |= {-v for v in (1, 2, 3, 7, 32)}
    return sorted(near)


def values(kind: str):
    """Columns of LANES values, about half of them at the edges of the type."""
    low, high = limits(kind)
    edges = interesting(kind)

    def column(seed: int) -> list[int]:
        rng = random.Random(seed)
        return [
            rng.choice(edges) if rng.random() < 0.5 else rng.randint(low, high)
            for _ in range(LANES)
        ]

    return st.integers(0, 2**32).map(column)


def check(code: str, result: str, reference: Callable[..., int], **operands) -> None:
    got = evaluate(code, result, **operands)
    columns = [column for _, column in operands.values()]
    want = [wrap(reference(*row), result) for row in zip(*columns, strict=True)]
    for row, g, w in zip(zip(*columns, strict=True), got.tolist(), want, strict=True):
        assert bits_of(g, TYPES[result].bits) == bits_of(w, TYPES[result].bits), (code, row, g, w)


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


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


@pytest.mark.parametrize("width", [16, 32, 64])
def test_bitwise(width) -> None:
    kind, result = f"u{width}", f"b{width}"

    @FEW
    @given(values(kind), values(kind))
    def run(a, b) -> None:
        ab = {"a": (kind, a), "b": (kind, b)}
        for opcode, reference in (
            ("and", lambda x, y: x & y), ("or", lambda x, y: x | y), ("xor", lambda x, y: x ^ y),
        ):  # fmt: skip
            check(f"{opcode}.{result} {{d}}, {{a}}, {{b}};", result, reference, **ab)
        check(f"not.{result} {{d}}, {{a}};", result, lambda x: ~x, a=(kind, a))
        check(f"cnot.{result} {{d}}, {{a}};", result, lambda x: int(x == 0), a=(kind, a))

    run()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64"])
def test_shifts_beyond_the_width(kind) -> None:
    width = int(kind[1:])
    source = kind.replace("b", "u")
    amounts = [0, 1, width - 1, width, width + 1, 2 * width, 200, 2**31, 2**32 - 1]

    @FEW
    @given(values(source))
    def run(a) -> None:
        n = [amounts[i % len(amounts)] for i in range(LANES)]
        an = {"a": (source, a), "n": ("u32", n)}
        left = f"b{width}"
        check(f"shl.{left} {{d}}, {{a}}, {{n}};", left, lambda x, s: x << s if s < 99 else 0, **an)
        check(f"shr.{kind} {{d}}, {{a}}, {{n}};", left, lambda x, s: x >> min(s, width), **an)
        for s in amounts[:-1]:
            code = f"shl.{left} {{d}}, {{a}}, {s};"
            check(code, left, lambda x, s=s: x << s if s < 99 else 0, a=(source, a))
            code = f"shr.{kind} {{d}}, {{a}}, {s};"
            check(code, left, lambda x, s=s: x >> min(s, width), a=(source, a))

    run()


@FEW
@given(values("u32"), values("u32"), values("u32"))
def test_funnel_shifts(a, b, c) -> None:
    def reference(x: int, y: int, n: int, left: bool, wraps: bool) -> int:
        n = n & 31 if wraps else min(n, 32)
        both = y << 32 | x
        return (both << n) >> 32 if left else both >> n

    c = [v % 70 if i % 2 else v for i, v in enumerate(c)]
    for way in "lr":
        for mode in ("wrap", "clamp"):
            check(
                f"shf.{way}.{mode}.b32 {{d}}, {{a}}, {{b}}, {{c}};", "b32",
                lambda x, y, n, w=way, m=mode: reference(x, y, n, w == "l", m == "wrap"),
                a=("u32", a), b=("u32", b), c=("u32", c),
            )  # fmt: skip


@pytest.mark.parametrize("table", [0x00, 0xFF, 0x80, 0xFE, 0x96, 0xE8, 0x1B, 0xCA, 0x01, 0x40])
def test_lop3(table) -> None:
    rng = np.random.default_rng(table)
    a, b, c = rng.integers(0, 2**32, (3, LANES), dtype=np.uint64).tolist()

    def reference(x: int, y: int, z: int) -> int:
        rows = [(x >> i & 1) << 2 | (y >> i & 1) << 1 | (z >> i & 1) for i in range(32)]
        return sum((table >> row & 1) << i for i, row in enumerate(rows))

    code = f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table:#x};"
    check(code, "b32", reference, a=("u32", a), b=("u32", b), c=("u32", c))


@pytest.mark.parametrize("width", [32, 64])
def test_counting_bits(width) -> None:
    kind = f"u{width}"

    def found(x: int, signed: bool) -> int:
        if signed and x >> (width - 1):
            x = ~x & ((1 << width) - 1)
        return x.bit_length() - 1  # -1 where there is none

    @FEW
    @given(values(kind))
    def run(a) -> None:
        a = {"a": (kind, [*a[1:], 0])}
        check(f"popc.b{width} {{d}}, {{a}};", "u32", int.bit_count, **a)
        check(f"clz.b{width} {{d}}, {{a}};", "u32", lambda x: width - x.bit_length(), **a)
        check(f"brev.b{width} {{d}}, {{a}};", kind, lambda x: int(f"{x:0{width}b}"[::-1], 2), **a)
        for signed in (False, True):
            t = f"{'s' if signed else 'u'}{width}"
            check(f"bfind.{t} {{d}}, {{a}};", "u32", lambda x, s=signed: found(x, s), **a)

            def shift(x: int, s: bool = signed) -> int:
                return -1 if found(x, s) < 0 else width - 1 - found(x, s)

            check(f"bfind.shiftamt.{t} {{d}}, {{a}};", "u32", shift, **a)

    run()


def _controls(seed: int) -> list[int]:
    rng = random.Random(seed)
    edges = [0, 1, 31, 32, 63, 64, 255, 256, 300, 2**32 - 1]
    return [rng.choice([rng.choice(edges), rng.randint(0, 70)]) for _ in range(LANES)]


CONTROLS = st.integers(0, 2**32).map(_controls)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_extracting_bit_fields(kind) -> None:
    msb = int(kind[1:]) - 1

    def reference(a: int, b: int, c: int) -> int:
        pos, length, a = b & 255, c & 255, bits_of(a, msb + 1)
        sign = 0 if kind[0] == "u" or not length else a >> min(pos + length - 1, msb) & 1
        return sum(
            (a >> (pos + i) & 1 if i < length and pos + i <= msb else sign) << i
            for i in range(msb + 1)
        )

    @settings(FEW, max_examples=10)
    @given(values(kind), CONTROLS, CONTROLS)
    def run(a, b, c) -> None:
        code = f"bfe.{kind} {{d}}, {{a}}, {{b}}, {{c}};"
        check(code, kind, reference, a=(kind, a), b=("u32", b), c=("u32", c))

    run()


@pytest.mark.parametrize("width", [32, 64])
def test_inserting_bit_fields(width) -> None:
    kind = f"u{width}"

    def reference(a: int, b: int, c: int, d: int) -> int:
        pos, length = c & 255, d & 255
        for i in range(length):
            if pos + i < width:
                b = b & ~(1 << pos + i) | (a >> i & 1) << pos + i
        return b

    @settings(FEW, max_examples=10)
    @given(values(kind), values(kind), CONTROLS, CONTROLS)
    def run(a, b, p, n) -> None:
        code = f"bfi.b{width} {{d}}, {{a}}, {{b}}, {{p}}, {{n}};"
        check(code, f"b{width}", reference, a=(kind, a), b=(kind, b), p=("u32", p), n=("u32", n))

    run()


@FEW
@given(values("u32"), values("u32"), values("u32"))
def test_permuting_bytes(a, b, c) -> None:
    def reference(x: int, y: int, selection: int) -> int:
        source = [(y << 32 | x) >> 8 * i & 255 for i in range(8)]
        result = 0
        for i in range(4):
            nibble = selection >> 4 * i & 15
            byte = source[nibble & 7]
            result |= (0xFF * (byte >> 7) if nibble & 8 else byte) << 8 * i
        return result

    code = "prmt.b32 {d}, {a}, {b}, {c};"
    check(code, "b32", reference, a=("u32", a), b=("u32", b), c=("u32", c))


def test_permuting_bytes_by_hand() -> None:
    a, b = ("u32", [0x76543210]), ("u32", [0xFEDCBA98])
    for selector, want in ((0x3210, 0x76543210), (0x7654, 0xFEDCBA98), (0x0123, 0x10325476),
                           (0xFFFF, 0xFFFFFFFF), (0x8888, 0x00000000)):  # fmt: skip
        got = evaluate(f"prmt.b32 {{d}}, {{a}}, {{b}}, {selector};", "u32", a=a, b=b)
        assert got.view(np.uint32).tolist() == [want], hex(selector)


@FEW
@given(values("u32"), values("u32"), values("s32"))
def test_dot_products_of_bytes(a, b, c) -> None:
    def part(x: int, i: int, bits: int, signed: bool) -> int:
        return wrap(x >> i * bits, f"{'s' if signed else 'u'}{bits}")

    for x in "su":
        for y in "su":
            kind = "u32" if x == y == "u" else "s32"
            abc = {"a": ("u32", a), "b": ("u32", b), "c": (kind, [wrap(v, kind) for v in c])}

            def four(p: int, q: int, r: int, x: str = x, y: str = y) -> int:
                return r + sum(part(p, i, 8, x == "s") * part(q, i, 8, y == "s") for i in range(4))

            check(f"dp4a.{x}32.{y}32 {{d}}, {{a}}, {{b}}, {{c}};", kind, four, **abc)
            for half, first in (("lo", 0), ("hi", 2)):

                def two(p: int, q: int, r: int, x: str = x, y: str = y, f: int = first) -> int:
                    return r + sum(
                        part(p, i, 16, x == "s") * part(q, f + i, 8, y == "s") for i in range(2)
                    )

                check(f"dp2a.{half}.{x}32.{y}32 {{d}}, {{a}}, {{b}}, {{c}};", kind, two, **abc)


def test_narrow_registers_are_extended_by_their_type() -> None:
    """A `cvt` or a load into a wider register extends by the instruction's type (PTX ISA)."""
    a = ("s32", [0x80, 0x7F, 0x1FF, -1])
    assert evaluate("cvt.s32.s8 {d}, {a};", "s32", a=a).tolist() == [-128, 127, -1, -1]
    assert evaluate("cvt.u32.u8 {d}, {a};", "s32", a=a).tolist() == [128, 127, 255, 255]
    assert evaluate("cvt.s16.s8 %v_h, {a}; cvt.s32.s16 {d}, %v_h;".replace("%v_h", "{e}"),
                    ["s32", "s16"], a=a)[0].tolist() == [-128, 127, -1, -1]  # fmt: skip


def test_packing_and_unpacking() -> None:
    a, b = ("u32", [0x11223344]), ("u32", [0x55667788])
    packed = evaluate("mov.b64 {d}, {{{a}, {b}}};", "u64", a=a, b=b)
    assert packed.view(np.uint64).tolist() == [0x5566778811223344]
    low, high = evaluate("mov.b64 {{{d}, {e}}}, {a};", ["u32", "u32"], a=("u64", packed))
    assert (int(low[0]), int(high[0])) == (0x11223344, 0x55667788)
    halves = evaluate("mov.b32 {{{d}, {e}}}, {a};", ["u16", "u16"], a=a)
    assert [int(h[0]) for h in halves] == [0x3344, 0x1122]
    (high,) = evaluate("mov.b64 {{_, {d}}}, {a};", ["u32"], a=("u64", packed))
    assert int(high[0]) == 0x55667788
