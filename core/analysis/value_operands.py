"""What the operands and modifiers of a PTX instruction say, for following values through it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from core.ptx import ast


def bytes_of(modifiers: Sequence[str]) -> int:
    """The bytes of the type that an instruction's modifiers end with: `v2.f64` has 8."""
    bits = modifiers[-1].lstrip("abcdefghijklmnopqrstuvwxyz") if modifiers else ""
    return int(bits) // 8 if bits.isdecimal() else 0


def registers_of(operand: ast.Operand) -> Iterator[ast.Register]:
    """The registers that an operand names, in order."""
    if isinstance(operand, ast.Register):
        yield operand
    elif isinstance(operand, ast.Vector):
        for element in operand.elements:
            yield from registers_of(element)
    elif isinstance(operand, ast.Pair):
        yield from registers_of(operand.first)
        yield from registers_of(operand.second)


def number_of(operand: ast.Immediate) -> float:
    """The number that an operand is."""
    if operand.float_bits:
        code, size = ("<f", 4) if operand.float_bits == 32 else ("<d", 8)
        return float(struct.unpack(code, int(operand.value).to_bytes(size, "little"))[0])
    return operand.value
