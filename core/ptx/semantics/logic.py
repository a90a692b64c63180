"""Bitwise logic and shifts (PTX ISA, "Logic and Shift Instructions")."""

from __future__ import annotations

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
