"""Extended-precision arithmetic: the condition code's carry bit (PTX ISA, "CC.CF").

The bit is a register of its own, `CARRY`, that `.cc` instructions write and `addc`, `subc` and
`madc` read. After a subtraction it is set where there was no borrow, as in a + ~b + 1: seen on an
H200, and NVRTC's 128-bit division reads it so with `addc`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.ast import Instruction, Register
from core.ptx.semantics.integer import high_product
from core.ptx.semantics.operation import Array, Operation, opcode, type_of, unsupported
from core.ptx.types import PRED, TYPES, PtxType

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


def add_with_carry(instruction: Instruction) -> Operation:
    """`add.cc`, `addc`, `sub.cc`, `subc`."""
    return _operation(instruction, _subtract if instruction.opcode[:3] == "sub" else _add)


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


@opcode("addc", "subc")
def addc(instruction: Instruction) -> Operation:
    """Sum or difference with the carry bit."""
    return add_with_carry(instruction)


@opcode("madc")
def madc(instruction: Instruction) -> Operation:
    """Multiply-add with the carry bit."""
    return multiply_with_carry(instruction)
