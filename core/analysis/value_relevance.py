"""Which instructions of a module can carry a value from a load to a store: found once, statically.

Most of a kernel computes addresses and conditions. Leaving those out makes following the values
of a thread several times faster.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from core.ptx import ast

COPIES = ("mov", "cvt", "cvta")
MEMORY = ("ld", "ldu", "st", "atom", "red")


def relevant_pcs(module: ast.Module) -> NDArray[np.bool_]:
    """For each pc whether the instruction may hand a loaded value on; bool (instructions,)."""
    result = np.zeros(len(module.instructions), bool)
    for function in module.functions.values():
        body = module.instructions[function.first_pc : function.end_pc]
        _mark(body, function.is_entry, result)
    return result


def _mark(body: tuple[ast.Instruction, ...], entry: bool, result: NDArray[np.bool_]) -> None:
    wanted = _loaded(body, entry)
    wanted |= _feeding(body, wanted)
    for instruction in body:
        memory = instruction.opcode in MEMORY or instruction.opcode == "call"
        result[instruction.pc] = memory or bool(wanted & set(targets(instruction)))


def _loaded(body: tuple[ast.Instruction, ...], entry: bool) -> set[str]:
    """Registers that may depend on a load; a kernel's own parameters are no data."""
    found: set[str] = set()
    grew = True
    while grew:
        size = len(found)
        for instruction in body:
            loads = instruction.opcode in ("ld", "ldu", "atom")
            own = loads and not (entry and _of_kernel(instruction))
            if own or found.intersection(sources(instruction)):
                found.update(targets(instruction))
        grew = len(found) > size
    return found


def _feeding(body: tuple[ast.Instruction, ...], loaded: set[str]) -> set[str]:
    """Registers that meet a loaded value in an operation or are stored, and what they copy."""
    found: set[str] = set()
    for instruction in body:
        if instruction.opcode in ("st", "red", "atom") or loaded & set(targets(instruction)):
            found.update(sources(instruction))
    grew = True
    while grew:
        size = len(found)
        for instruction in body:
            if instruction.opcode in COPIES and found & set(targets(instruction)):
                found.update(sources(instruction))
        grew = len(found) > size
    return found


def _of_kernel(instruction: ast.Instruction) -> bool:
    """Whether a load reads a parameter under a function's own name."""
    return "param" in instruction.modifiers and "_param_" in instruction.text


def targets(instruction: ast.Instruction) -> Iterator[str]:
    """Names of the registers that an instruction writes."""
    if instruction.operands and instruction.opcode not in ("st", "red", "bra", "call", "bar"):
        yield from _names(instruction.operands[0])


def sources(instruction: ast.Instruction) -> Iterator[str]:
    """Names of the registers whose values an instruction uses; addresses do not count."""
    operands = instruction.operands
    for operand in operands if instruction.opcode in ("st", "red") else operands[1:]:
        yield from _names(operand)


def _names(operand: ast.Operand) -> Iterator[str]:
    if isinstance(operand, ast.Register):
        yield operand.name
    elif isinstance(operand, ast.Vector | ast.Group):
        for element in operand.elements:
            yield from _names(element)
    elif isinstance(operand, ast.Pair):
        yield from _names(operand.first)
        yield from _names(operand.second)
