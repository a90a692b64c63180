"""Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions")."""

from __future__ import annotations

import numpy as np

from core.ptx.ast import Instruction
from core.ptx.semantics.operation import Array, Operation, opcode, same_type, type_of
from core.ptx.types import TYPES, PtxType


def wider(kind: PtxType) -> PtxType:
    """The type of twice the width: the result of `.wide`."""
    return TYPES[f"{kind.kind}{2 * kind.bits}"]


def high_product(a: Array, b: Array, kind: PtxType) -> Array:
    """The upper half of the exact product, as `mul.hi` gives it."""
    if kind.bits < 64:
        big = wider(kind).dtype
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


def product(instruction: Instruction, kind: PtxType) -> tuple[object, PtxType]:
    """The function and result type of `mul`'s `.lo`, `.hi` or `.wide` form."""
    if "wide" in instruction.modifiers:
        big = wider(kind)
        return (lambda a, b: a.astype(big.dtype) * b.astype(big.dtype)), big
    if "hi" in instruction.modifiers:
        return (lambda a, b: high_product(a, b, kind)), kind
    return np.multiply, kind


def saturated(value: Array) -> Array:
    """A 64-bit sum clamped to 32 bits, for `.sat.s32`."""
    limits = np.iinfo(np.int32)
    return np.clip(value, limits.min, limits.max).astype(np.int32)


@opcode("rem")
def rem(instruction: Instruction) -> Operation:
    """Remainder with the sign of the dividend."""

    def function(a: Array, b: Array) -> Array:
        return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b).astype(b.dtype)))

    return same_type(instruction, function)


def divide(a: Array, b: Array) -> Array:
    """Quotient rounded towards zero; all ones for a zero divisor, as the hardware gives."""
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    quotient = np.floor_divide(a, safe)
    if a.dtype.kind == "i":
        inexact = quotient * safe != a
        quotient = quotient + (inexact & ((a < 0) != (safe < 0))).astype(a.dtype)
    return np.where(b == 0, np.array(-1).astype(a.dtype), quotient)


def add_integers(instruction: Instruction, kind: PtxType, negative: bool) -> Operation:
    """`add` and `sub` of integers."""
    ufunc = np.subtract if negative else np.add
    if "sat" not in instruction.modifiers:
        return same_type(instruction, ufunc)
    return same_type(instruction, lambda a, b: saturated(ufunc(a.astype("i8"), b.astype("i8"))))


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
        return same_type(instruction, lambda a, b, c: saturated(multiply(a, b) + c.astype("i8")))
    return same_type(instruction, lambda a, b, c: multiply(a, b) + c)


def mad_integers(instruction: Instruction, kind: PtxType) -> Operation:
    """`mad` of integers: `.lo`, `.hi`, `.wide`."""
    multiply, result = product(instruction, kind)
    a, b, c = instruction.operands[1:4]
    if "sat" in instruction.modifiers:  # mad.hi.sat.s32 is the only form
        return same_type(
            instruction, lambda x, y, z: saturated(high_product(x, y, kind).astype("i8") + z)
        )
    return Operation(
        lambda x, y, z: multiply(x, y) + z,  # type: ignore[operator]
        ((a, kind), (b, kind), (c, result)),
        (result,),
    )


def mul_integers(instruction: Instruction, kind: PtxType) -> Operation:
    """`mul` of integers: `.lo`, `.hi`, `.wide`."""
    multiply, result = product(instruction, kind)
    a, b = instruction.operands[1:3]
    return Operation(multiply, ((a, kind), (b, kind)), (result,))  # type: ignore[arg-type]


def extremum(instruction: Instruction, kind: PtxType) -> Operation:
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

    def field(x: Array, index: int, bits: int, is_signed: bool) -> Array:
        word = x.astype(np.int64)
        part = (word >> (index * bits)) & ((1 << bits) - 1)
        return np.where(part >> (bits - 1), part - (1 << bits), part) if is_signed else part

    def function(a: Array, b: Array, c: Array) -> Array:
        total = c.astype(np.int64)
        for i in range(lanes):
            total = total + field(a, i, a_bits, a_signed) * field(b, b_first + i, 8, b_signed)
        return total.astype(result.dtype)

    a, b, c = instruction.operands[1:4]
    word = TYPES["u32"]
    return Operation(function, ((a, word), (b, word), (c, result)), (result,))
