"""Opcodes that integers and floats share: each picks the form for its type."""

from __future__ import annotations

import numpy as np

from core.ptx.arithmetic import floating, integer, narrow, rounding
from core.ptx.arithmetic.operation import Operation, opcode, refuse, same_type, type_of
from core.ptx.ast import Instruction


@opcode("add", "sub")
def add(instruction: Instruction) -> Operation:
    """Sum or difference."""
    kind = type_of(instruction)
    negative = instruction.opcode == "sub"
    if "cc" in instruction.modifiers:
        return integer.add_with_carry(instruction)
    if kind.is_float:
        return floating.float_operation(instruction, np.subtract if negative else np.add)
    return integer.add_integers(instruction, kind, negative)


@opcode("mul")
def mul(instruction: Instruction) -> Operation:
    """Product."""
    kind = type_of(instruction)
    if kind.is_float:
        return floating.float_operation(instruction, np.multiply)
    return integer.mul_integers(instruction, kind)


@opcode("mad")
def mad(instruction: Instruction) -> Operation:
    """Multiply-add; of floats it is fused (PTX ISA, `mad` on sm_20 and later)."""
    kind = type_of(instruction)
    if "cc" in instruction.modifiers:
        return integer.multiply_with_carry(instruction)
    if kind.is_float:
        return floating.float_operation(instruction, rounding.fused(kind))
    return integer.mad_integers(instruction, kind)


@opcode("div")
def div(instruction: Instruction) -> Operation:
    """Quotient."""
    if type_of(instruction).is_float:
        return floating.float_operation(instruction, np.divide)
    return same_type(instruction, integer.divide)


@opcode("neg")
def neg(instruction: Instruction) -> Operation:
    """Negation."""
    if type_of(instruction).is_float:
        return same_type(instruction, floating.finished(instruction, floating.negate))
    return same_type(instruction, lambda a: -a)


@opcode("abs")
def absolute(instruction: Instruction) -> Operation:
    """Absolute value."""
    if type_of(instruction).is_float:
        return same_type(instruction, floating.finished(instruction, np.abs))
    return same_type(instruction, np.abs)


@opcode("min", "max")
def extremum(instruction: Instruction) -> Operation:
    """The smaller or the larger of two values."""
    smallest = instruction.opcode == "min"
    kind = type_of(instruction)
    if not kind.is_float:
        return integer.extremum(instruction, kind)
    refuse(instruction, "relu")
    if len(instruction.operands) > 3 or {"NaN", "xorsign"} & set(instruction.modifiers):
        return narrow.extremum_operation(instruction, kind)
    function = floating.minimum if smallest else floating.maximum
    return same_type(instruction, floating.modified(instruction, function))
