"""Integers: arithmetic, logic and shifts, carries, and fields of bits.

PTX ISA, "Integer Arithmetic Instructions" and "Logic and Shift Instructions".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.ptx.arithmetic.operation import Array, Operation, opcode, same_type, type_of, unsupported
from core.ptx.ast import Instruction, Register, immediate
from core.ptx.types import PRED, TYPES, PtxType


def _wider(kind: PtxType) -> PtxType:
    """The type of twice the width: the result of `.wide`."""
    return TYPES[f"{kind.kind}{2 * kind.bits}"]


def _high_product(a: Array, b: Array, kind: PtxType) -> Array:
    """The upper half of the exact product, as `mul.hi` gives it."""
    if kind.bits < 64:
        big = _wider(kind).dtype
        return ((a.astype(big) * b.astype(big)) >> kind.bits).astype(kind.dtype)
    u, v = a.view(np.uint64), b.view(np.uint64)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    u0, u1, v0, v1 = u & mask, u >> half, v & mask, v >> half
    middle = u1 * v0 + ((u0 * v0) >> half)
    low_middle = (middle & mask) + u0 * v1
    high = u1 * v1 + (middle >> half) + (low_middle >> half)
    if kind.is_signed:  # the unsigned product counts a negative operand as that plus 2^64
        high = high - np.where(a < 0, v, np.uint64(0)) - np.where(b < 0, u, np.uint64(0))
    return np.asarray(high.view(kind.dtype))


def _product(instruction: Instruction, kind: PtxType) -> tuple[object, PtxType]:
    """The function and result type of `mul`'s `.lo`, `.hi` or `.wide` form."""
    if "wide" in instruction.modifiers:
        big = _wider(kind)
        return (lambda a, b: a.astype(big.dtype) * b.astype(big.dtype)), big
    if "hi" in instruction.modifiers:
        return (lambda a, b: _high_product(a, b, kind)), kind
    return np.multiply, kind


def _saturated(value: Array) -> Array:
    """A 64-bit sum clamped to 32 bits, for `.sat.s32`."""
    limits = np.iinfo(np.int32)
    return np.clip(value, limits.min, limits.max).astype(np.int32)


@opcode("rem")
def rem(instruction: Instruction) -> Operation:
    """Remainder with the sign of the dividend."""

    def function(a: Array, b: Array) -> Array:
        return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b).astype(b.dtype)))

    return same_type(instruction, function)


def _divide(a: Array, b: Array) -> Array:
    """Quotient rounded towards zero; all ones for a zero divisor, as the hardware gives."""
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    quotient = np.floor_divide(a, safe)
    if a.dtype.kind == "i":
        inexact = quotient * safe != a
        quotient = quotient + (inexact & ((a < 0) != (safe < 0))).astype(a.dtype)
    return np.where(b == 0, np.array(-1).astype(a.dtype), quotient)


@opcode("div")
def div(instruction: Instruction) -> Operation:
    """Quotient."""
    return same_type(instruction, _divide)


@opcode("neg", "abs")
def sign(instruction: Instruction) -> Operation:
    """-x and |x|."""
    return same_type(instruction, np.negative if instruction.opcode == "neg" else np.abs)


@opcode("add", "sub")
def add(instruction: Instruction) -> Operation:
    """Sum or difference."""
    if "cc" in instruction.modifiers:
        return add_with_carry(instruction)
    ufunc = np.subtract if instruction.opcode == "sub" else np.add
    if "sat" not in instruction.modifiers:
        return same_type(instruction, ufunc)
    return same_type(instruction, lambda a, b: _saturated(ufunc(a.astype("i8"), b.astype("i8"))))


@opcode("mul24", "mad24")
def mul24(instruction: Instruction) -> Operation:
    """Products of the low 24 bits."""
    kind = type_of(instruction)
    high = "hi" in instruction.modifiers

    def low24(x: Array) -> Array:
        return ((x << 8) >> 8).astype("i8")

    def multiply(a: Array, b: Array) -> Array:
        exact = low24(a) * low24(b)
        return (exact >> 16 if high else exact).astype(kind.dtype)

    if instruction.opcode == "mul24":
        return same_type(instruction, multiply)
    if "sat" in instruction.modifiers:
        return same_type(instruction, lambda a, b, c: _saturated(multiply(a, b) + c.astype("i8")))
    return same_type(instruction, lambda a, b, c: multiply(a, b) + c)


@opcode("mad")
def mad(instruction: Instruction) -> Operation:
    """Multiply-add: `.lo`, `.hi`, `.wide`."""
    if "cc" in instruction.modifiers:
        return multiply_with_carry(instruction)
    kind = type_of(instruction)
    multiply, result = _product(instruction, kind)
    a, b, c = instruction.operands[1:4]
    if "sat" in instruction.modifiers:  # mad.hi.sat.s32 is the only form
        return same_type(
            instruction, lambda x, y, z: _saturated(_high_product(x, y, kind).astype("i8") + z)
        )
    return Operation(
        lambda x, y, z: multiply(x, y) + z,  # type: ignore[operator]
        ((a, kind), (b, kind), (c, result)),
        (result,),
    )


@opcode("mul")
def mul(instruction: Instruction) -> Operation:
    """Product: `.lo`, `.hi`, `.wide`."""
    kind = type_of(instruction)
    multiply, result = _product(instruction, kind)
    a, b = instruction.operands[1:3]
    return Operation(multiply, ((a, kind), (b, kind)), (result,))  # type: ignore[arg-type]


@opcode("min", "max")
def extremum(instruction: Instruction) -> Operation:
    """`min` and `max`; `.relu` raises the result to 0 at least."""
    ufunc = np.minimum if instruction.opcode == "min" else np.maximum
    if "relu" in instruction.modifiers:
        return same_type(instruction, lambda a, b: np.maximum(ufunc(a, b), a.dtype.type(0)))
    return same_type(instruction, ufunc)


@opcode("add", "sub", "min", "max", types=("s16x2", "u16x2"))
def pair_of_shorts(instruction: Instruction) -> Operation:
    """The operation on each half of a register."""
    kind = type_of(instruction)
    half = np.dtype(np.int16 if kind.name[0] == "s" else np.uint16)
    ufunc = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}[
        instruction.opcode
    ]

    def function(a: Array, b: Array) -> Array:
        x, y = (np.ascontiguousarray(v).view(half).reshape(-1, 2) for v in (a, b))
        result = ufunc(x, y)
        if "relu" in instruction.modifiers:
            result = np.maximum(result, half.type(0))
        return np.ascontiguousarray(result).view(kind.dtype).reshape(-1)

    return same_type(instruction, function)


@opcode("sad")
def sad(instruction: Instruction) -> Operation:
    """|a - b| + c."""
    kind = type_of(instruction)
    unsigned = TYPES[f"u{kind.bits}"]

    def function(a: Array, b: Array, c: Array) -> Array:
        difference = np.maximum(a, b) - np.minimum(a, b)
        return (difference.view(unsigned.dtype) + c.view(unsigned.dtype)).view(kind.dtype)

    return same_type(instruction, function)


def bit_field(word: Array, first: int, bits: int, signed: bool) -> Array:
    """Bits of a register from number `first` on, as int64."""
    field = (word.astype(np.int64) >> first) & ((1 << bits) - 1)
    return np.where(field >> (bits - 1), field - (1 << bits), field) if signed else field


@opcode("dp4a", "dp2a")
def dot_product(instruction: Instruction) -> Operation:
    """Dot products of packed bytes (dp4a) or of two halves and two bytes (dp2a), added to c."""
    kinds = [m for m in instruction.modifiers if m in TYPES]
    a_signed, b_signed = (TYPES[k].is_signed for k in kinds)
    signed = a_signed or b_signed
    result = TYPES["s32" if signed else "u32"]
    lanes = 4 if instruction.opcode == "dp4a" else 2
    a_bits = 8 if lanes == 4 else 16
    b_first = 2 if "hi" in instruction.modifiers else 0

    def function(a: Array, b: Array, c: Array) -> Array:
        total = c.astype(np.int64)
        for i in range(lanes):
            second = bit_field(b, 8 * (b_first + i), 8, b_signed)
            total = total + bit_field(a, a_bits * i, a_bits, a_signed) * second
        return total.astype(result.dtype)

    a, b, c = instruction.operands[1:4]
    word = TYPES["u32"]
    return Operation(function, ((a, word), (b, word), (c, result)), (result,))


# Bitwise logic and shifts (PTX ISA, "Logic and Shift Instructions").


_U32, _B32 = TYPES["u32"], TYPES["b32"]


@opcode("and", "or", "xor")
def bitwise(instruction: Instruction) -> Operation:
    """Bitwise (or, on predicates, logical) and, or, exclusive or."""
    functions = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    return same_type(instruction, functions[instruction.opcode])


@opcode("not")
def invert(instruction: Instruction) -> Operation:
    """Bitwise complement."""
    return same_type(instruction, np.invert)


@opcode("cnot")
def cnot(instruction: Instruction) -> Operation:
    """1 where the operand is 0, else 0."""
    return same_type(instruction, lambda a: (a == 0).astype(a.dtype))


@opcode("shl", "shr")
def shift(instruction: Instruction) -> Operation:
    """Shifts; an amount beyond the width counts as the width."""
    kind = type_of(instruction)
    if instruction.opcode == "shr" and not kind.is_signed:
        kind = TYPES[f"u{kind.bits}"]
    move = np.left_shift if instruction.opcode == "shl" else np.right_shift
    value, amount = instruction.operands[1:3]
    constant = immediate(amount)
    if constant is not None:
        fixed = np.array([min(constant & 0xFFFFFFFF, kind.bits)]).astype(kind.dtype)
        return Operation(lambda a: move(a, fixed), ((value, kind),), (kind,))

    def function(a: Array, n: Array) -> Array:
        return move(a, np.minimum(n, kind.bits).astype(kind.dtype))

    return Operation(function, ((value, kind), (amount, _U32)), (kind,))


@opcode("shf")
def funnel_shift(instruction: Instruction) -> Operation:
    """Shifts the 64 bits b:a and returns 32 of them."""
    left, wrap = "l" in instruction.modifiers, "wrap" in instruction.modifiers

    def function(a: Array, b: Array, c: Array) -> Array:
        n = (c & 31 if wrap else np.minimum(c, 32)).astype(np.uint64)
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        moved = (both << n) >> np.uint64(32) if left else both >> n
        return moved.astype(np.uint32)

    return same_type(instruction, function, _U32)


@opcode("lop3")
def lop3(instruction: Instruction) -> Operation:
    """Any logical function of three operands, given by its truth table."""
    table = immediate(instruction.operands[-1])
    if table is None or len(instruction.operands) != 5:
        raise unsupported(instruction, "in this form is not supported")

    def function(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros(1, a.dtype)
        for row in range(8):
            if table >> row & 1:
                x = a if row & 4 else ~a
                y = b if row & 2 else ~b
                z = c if row & 1 else ~c
                result = result | (x & y & z)
        return result

    sources = tuple((operand, _B32) for operand in instruction.operands[1:4])
    return Operation(function, sources, (_B32,))


# Bits counted and found, fields of bits and bytes.


@opcode("popc", "clz", "brev", "bfind")
def count_bits(instruction: Instruction) -> Operation:
    """Population count, leading zeros, bit reversal, and the highest set bit."""
    kind = type_of(instruction)
    bits = kind.bits
    unsigned = TYPES[f"u{bits}"]

    def reverse(x: Array) -> Array:
        out = np.zeros_like(x)
        for i in range(bits):
            out |= ((x >> x.dtype.type(i)) & x.dtype.type(1)) << x.dtype.type(bits - 1 - i)
        return out

    def length(x: Array) -> Array:
        """Bits needed to write x: 0 for 0."""
        n = np.zeros(x.shape, np.int64)
        for step in (32, 16, 8, 4, 2, 1):
            if step < bits:
                more = (x >> x.dtype.type(step)) != 0
                n += np.where(more, step, 0)
                x = np.where(more, x >> x.dtype.type(step), x)
        return np.asarray(n + (x != 0))

    def highest(x: Array) -> Array:
        if kind.is_signed:
            signed = x.view(kind.dtype)
            x = np.where(signed < 0, ~x, x)
        top = length(x) - 1
        if "shiftamt" in instruction.modifiers:
            top = np.where(top >= 0, bits - 1 - top, -1)
        return top.astype(np.uint32)

    source = instruction.operands[1]
    if instruction.opcode == "brev":
        return Operation(reverse, ((source, unsigned),), (unsigned,))
    functions: dict[str, Callable[[Array], Array]] = {
        "popc": lambda x: np.bitwise_count(x).astype(np.uint32),
        "clz": lambda x: (bits - length(x)).astype(np.uint32),
        "bfind": highest,
    }
    return Operation(functions[instruction.opcode], ((source, unsigned),), (_U32,))


@opcode("bfe")
def extract_field(instruction: Instruction) -> Operation:
    """`c & 255` bits of a from position `b & 255`, sign-extended for signed types."""
    kind = type_of(instruction)
    unsigned = TYPES[f"u{kind.bits}"]
    word: Any = unsigned.dtype.type
    top = kind.bits - 1

    def function(a: Array, position: Array, length: Array) -> Array:
        start, count = (position & 255).astype(np.int64), (length & 255).astype(np.int64)
        raw = a.view(unsigned.dtype)

        def bit_from(n: Array) -> Array:
            return np.asarray((raw >> np.minimum(n, top).astype(unsigned.dtype)) & word(1))

        shifted = np.where(start > top, word(0), raw >> np.minimum(start, top).astype(raw.dtype))
        full = count > top
        mask = (word(1) << np.minimum(count, top).astype(raw.dtype)) - 1
        field = np.where(full, shifted, shifted & mask.astype(raw.dtype))
        if not kind.is_signed:
            return np.asarray(field)
        last = np.minimum(start + count - 1, top)
        sign = np.where(count == 0, 0, bit_from(np.maximum(last, 0))).astype(bool)
        kept = np.minimum(count, np.maximum(top + 1 - start, 0))
        ones = np.where(kept > top, word(0), ~word(0) << np.minimum(kept, top).astype(raw.dtype))
        return np.asarray(np.where(sign, field | ones, field).astype(raw.dtype).view(kind.dtype))

    a, b, c = instruction.operands[1:4]
    return Operation(function, ((a, kind), (b, _U32), (c, _U32)), (kind,))


@opcode("bfi")
def insert_field(instruction: Instruction) -> Operation:
    """`d & 255` low bits of a replace those of b from position `c & 255`."""
    kind = TYPES[f"u{type_of(instruction).bits}"]
    word: Any = kind.dtype.type

    def function(a: Array, b: Array, position: Array, length: Array) -> Array:
        start, count = (position & 255).astype(np.int64), (length & 255).astype(np.int64)
        top = kind.bits - 1
        low = np.where(
            count > top, ~word(0), (word(1) << np.minimum(count, top).astype(kind.dtype)) - word(1)
        )
        mask = low << np.minimum(start, top).astype(kind.dtype)
        mask = np.where(start > top, word(0), mask).astype(kind.dtype)
        moved = a << np.minimum(start, top).astype(kind.dtype)
        return np.asarray((b & ~mask) | (moved & mask))

    a, b, c, d = instruction.operands[1:5]
    return Operation(function, ((a, kind), (b, kind), (c, _U32), (d, _U32)), (kind,))


# Which bytes of b:a the modes of prmt take, lowest first, for each value of c & 3.
_SELECTORS: dict[str, list[list[int]]] = {
    "f4e": [[i + j for j in range(4)] for i in range(4)],
    "b4e": [[(i - j) % 8 for j in range(4)] for i in range(4)],
    "rc8": [[i] * 4 for i in range(4)],
    "ecl": [[max(i, j) for j in range(4)] for i in range(4)],
    "ecr": [[min(i, j) for j in range(4)] for i in range(4)],
    "rc16": [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
}


def _permute_by_mode(instruction: Instruction, selectors: Array) -> Operation:
    def function(a: Array, b: Array, c: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        chosen = selectors[(c & np.uint32(3)).astype(np.intp)]
        result = np.zeros(1, np.uint64)
        for i in range(4):
            byte = (both >> (chosen[:, i] * np.uint64(8))) & np.uint64(0xFF)
            result = result | (byte << np.uint64(8 * i))
        return result.astype(np.uint32)

    return same_type(instruction, function, _U32)


@opcode("szext")
def extend_field(instruction: Instruction) -> Operation:
    """Sign- or zero-extends the low b bits of a."""
    kind = type_of(instruction)
    wrap = "wrap" in instruction.modifiers

    def function(a: Array, b: Array) -> Array:
        count = (b & np.uint32(31)) if wrap else np.minimum(b, np.uint32(32))
        value = a.view(np.uint32).astype(np.int64)
        size = count.astype(np.int64)
        field = value & ((np.int64(1) << size) - 1)
        if kind.is_signed:
            top = np.where(size > 0, (field >> np.maximum(size - 1, 0)) & 1, 0)
            field = field - (top << size)
        return field.astype(np.uint32).view(kind.dtype)

    a, b = instruction.operands[1:3]
    return Operation(function, ((a, kind), (b, _U32)), (kind,))


@opcode("bmsk")
def bit_mask(instruction: Instruction) -> Operation:
    """b ones from bit a on."""
    wrap = "wrap" in instruction.modifiers

    def function(a: Array, b: Array) -> Array:
        first, count = (
            (x & np.uint32(31) if wrap else np.minimum(x, np.uint32(32))).astype(np.uint64)
            for x in (a, b)
        )
        ones = (np.uint64(1) << count) - np.uint64(1)
        return (ones << first).astype(np.uint32)

    return same_type(instruction, function, _U32)


@opcode("fns")
def find_set(instruction: Instruction) -> Operation:
    """The offset-th set bit of a mask from a base bit up (offset > 0) or down (< 0)."""

    def function(mask: Array, base: Array, offset: Array) -> Array:
        shape = np.broadcast_shapes(mask.shape, base.shape, offset.shape)
        wide = [np.broadcast_to(x, shape).astype(np.int64) for x in (mask, base, offset)]
        left, at = np.abs(wide[2]), wide[1].copy()
        step = np.where(wide[2] < 0, -1, 1)
        left = np.where(wide[2] == 0, 1, left)
        stay = wide[2] == 0  # only the base bit itself is looked at
        result = np.full(shape, 0xFFFFFFFF, np.int64)
        for turn in range(32):
            inside = (at >= 0) & (at < 32) & (left > 0) & ~(stay & (turn > 0))
            hit = inside & ((wide[0] >> np.clip(at, 0, 31)) & 1 == 1)
            left = left - hit
            result = np.where(hit & (left == 0), at, result)
            at = at + step
        return result.astype(np.uint32)

    a, b, c = instruction.operands[1:4]
    return Operation(function, ((a, _U32), (b, _U32), (c, TYPES["s32"])), (_U32,))


@opcode("prmt")
def permute_bytes(instruction: Instruction) -> Operation:
    """Picks four of the eight bytes of b:a by the nibbles of c; bit 3 copies the sign."""
    mode = next((m for m in instruction.modifiers if m in _SELECTORS), None)
    if mode is not None:
        return _permute_by_mode(instruction, np.array(_SELECTORS[mode], np.uint64))

    def function(a: Array, b: Array, c: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
        for i in range(4):
            nibble = (c >> np.uint32(4 * i)) & np.uint32(15)
            byte = (both >> ((nibble & np.uint32(7)).astype(np.uint64) * np.uint64(8))).astype(
                np.uint8
            )
            sign = np.where(byte & 0x80, 0xFF, 0).astype(np.uint8)
            chosen = np.where(nibble & np.uint32(8), sign, byte).astype(np.uint32)
            result |= chosen << np.uint32(8 * i)
        return result

    return same_type(instruction, function, _U32)


# Extended-precision arithmetic: the condition code's carry bit (PTX ISA, "CC.CF").
#
# The bit is a register of its own, `CARRY`, that `.cc` instructions write and `addc`, `subc` and
# `madc` read. After a subtraction it is set where there was no borrow, as in a + ~b + 1: seen on an
# H200, and NVRTC's 128-bit division reads it so with `addc`.


CARRY = "CC.CF"


def uses_carry(instruction: Instruction) -> bool:
    """Whether the instruction reads or writes the carry bit."""
    return instruction.opcode in ("addc", "subc", "madc") or "cc" in instruction.modifiers


def _add(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    """Unsigned a + b + carry, and the carry out."""
    partial = a + b
    total = partial + carry.astype(a.dtype)
    return total, (partial < a) | (total < partial)


def _operation(instruction: Instruction, function: Callable[..., tuple[Array, Array]]) -> Operation:
    """Adds the carry as a last source and, for `.cc`, as a second result."""
    kind = type_of(instruction)
    unsigned = TYPES[f"u{kind.bits}"]
    reads, writes = instruction.opcode[-1] == "c", "cc" in instruction.modifiers
    flag = Register(CARRY)
    none = np.array([instruction.opcode == "sub"])
    values = tuple((operand, unsigned) for operand in instruction.operands[1:])
    if len(values) != (3 if instruction.opcode.startswith("mad") else 2):
        raise unsupported(instruction, "has the wrong number of operands")
    sources = (*values, (flag, PRED)) if reads else values

    def compute(*args: Array) -> Array | tuple[Array, Array]:
        *operands, carry = args if reads else (*args, none)
        result, out = function(*operands, carry)
        return (result, out) if writes else result

    results: tuple[PtxType, ...] = (unsigned, PRED) if writes else (unsigned,)
    targets = (instruction.operands[0], flag) if writes else (instruction.operands[0],)
    return Operation(compute, sources, results, targets)


@opcode("addc", "subc")
def add_with_carry(instruction: Instruction) -> Operation:
    """`add.cc`, `addc`, `sub.cc`, `subc`."""
    if instruction.opcode.startswith("sub"):
        return _operation(instruction, lambda a, b, carry: _add(a, ~b, carry))
    return _operation(instruction, _add)


@opcode("madc")
def multiply_with_carry(instruction: Instruction) -> Operation:
    """`mad.lo.cc`, `mad.hi.cc`, `madc`."""
    kind = type_of(instruction)
    unsigned = TYPES[f"u{kind.bits}"]
    if "hi" not in instruction.modifiers and "lo" not in instruction.modifiers:
        raise unsupported(instruction, "has neither .lo nor .hi")
    high = "hi" in instruction.modifiers

    def function(a: Array, b: Array, c: Array, carry: Array) -> tuple[Array, Array]:
        if high:
            x, y = a.view(kind.dtype), b.view(kind.dtype)
            return _add(_high_product(x, y, kind).view(unsigned.dtype), c, carry)
        return _add(a * b, c, carry)

    return _operation(instruction, function)
