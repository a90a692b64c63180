"""Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.arithmetic.operation import (
    Array,
    Operation,
    immediate,
    opcode,
    same_type,
    type_of,
    unsupported,
)
from core.ptx.ast import Instruction, Register
from core.ptx.types import PRED, TYPES, PtxType


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


@opcode("div")
def div(instruction: Instruction) -> Operation:
    """Quotient."""
    return same_type(instruction, divide)


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


@opcode("mad")
def mad(instruction: Instruction) -> Operation:
    """Multiply-add: `.lo`, `.hi`, `.wide`."""
    if "cc" in instruction.modifiers:
        return multiply_with_carry(instruction)
    kind = type_of(instruction)
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


@opcode("mul")
def mul(instruction: Instruction) -> Operation:
    """Product: `.lo`, `.hi`, `.wide`."""
    kind = type_of(instruction)
    multiply, result = product(instruction, kind)
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


def _subtract(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    """Unsigned a + ~b + carry, and the carry out."""
    return _add(a, ~b, carry)


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
    return _operation(instruction, _subtract if instruction.opcode[:3] == "sub" else _add)


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
            return _add(high_product(x, y, kind).view(unsigned.dtype), c, carry)
        return _add(a * b, c, carry)

    return _operation(instruction, function)
