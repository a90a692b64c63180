"""Bitwise logic, shifts and bit fields (PTX ISA, "Logic and Shift Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.ast import Instruction
from core.ptx.semantics.operation import (
    Array,
    Operation,
    immediate,
    opcode,
    same_type,
    type_of,
    unsupported,
)
from core.ptx.types import TYPES

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


@opcode("popc", "clz", "brev", "bfind", "fns")
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
        return n + (x != 0)

    def highest(x: Array) -> Array:
        if kind.is_signed:
            signed = x.view(kind.dtype)
            x = np.where(signed < 0, ~x, x)
        top = length(x) - 1
        if "shiftamt" in instruction.modifiers:
            top = np.where(top >= 0, bits - 1 - top, -1)
        return top.astype(np.uint32)

    source = instruction.operands[1]
    if instruction.opcode == "fns":
        raise unsupported(instruction)
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
    top = kind.bits - 1

    def function(a: Array, position: Array, length: Array) -> Array:
        start, count = (position & 255).astype(np.int64), (length & 255).astype(np.int64)
        raw = a.view(unsigned.dtype)

        def bit_from(n: Array) -> Array:
            return (raw >> np.minimum(n, top).astype(unsigned.dtype)) & unsigned.dtype.type(1)

        shifted = np.where(
            start > top, unsigned.dtype.type(0), raw >> np.minimum(start, top).astype(raw.dtype)
        )
        full = count > top
        mask = (unsigned.dtype.type(1) << np.minimum(count, top).astype(raw.dtype)) - 1
        field = np.where(full, shifted, shifted & mask.astype(raw.dtype))
        if not kind.is_signed:
            return field
        last = np.minimum(start + count - 1, top)
        sign = np.where(count == 0, 0, bit_from(np.maximum(last, 0))).astype(bool)
        kept = np.minimum(count, np.maximum(top + 1 - start, 0))
        ones = np.where(
            kept > top,
            unsigned.dtype.type(0),
            ~unsigned.dtype.type(0) << np.minimum(kept, top).astype(raw.dtype),
        )
        return np.where(sign, field | ones, field).astype(raw.dtype).view(kind.dtype)

    a, b, c = instruction.operands[1:4]
    return Operation(function, ((a, kind), (b, _U32), (c, _U32)), (kind,))


@opcode("bfi")
def insert_field(instruction: Instruction) -> Operation:
    """`d & 255` low bits of a replace those of b from position `c & 255`."""
    kind = TYPES[f"u{type_of(instruction).bits}"]
    word = kind.dtype.type

    def function(a: Array, b: Array, position: Array, length: Array) -> Array:
        start, count = (position & 255).astype(np.int64), (length & 255).astype(np.int64)
        top = kind.bits - 1
        low = np.where(
            count > top, ~word(0), (word(1) << np.minimum(count, top).astype(kind.dtype)) - word(1)
        )
        mask = low << np.minimum(start, top).astype(kind.dtype)
        mask = np.where(start > top, word(0), mask).astype(kind.dtype)
        moved = a << np.minimum(start, top).astype(kind.dtype)
        return (b & ~mask) | (moved & mask)

    a, b, c, d = instruction.operands[1:5]
    return Operation(function, ((a, kind), (b, kind), (c, _U32), (d, _U32)), (kind,))


@opcode("prmt")
def permute_bytes(instruction: Instruction) -> Operation:
    """Picks four of the eight bytes of b:a by the nibbles of c; bit 3 copies the sign."""
    if any(m in instruction.modifiers for m in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")):
        raise unsupported(instruction, "in this mode is not supported")

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
