"""Atomics that one lane does for all of its warp.

Where all lanes update one element, and ptxas knows it, optimised code puts their values together
first (`REDUX`, or the lanes counted, `VOTE` and `POPC`); then a predicate lets one lane through.
Read off the machine code of 30 atomics (NVRTC 13.5, compute capability 9.0), in shared and in
global memory: additions, and where nobody uses the old value also minima, maxima and `and`, `or`,
`xor`. If the lanes want the old value of an addition of different values, this is done only where
all 32 lanes take part. Of 8 bytes only what is the same for all lanes is added so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.assembler.rewriting import Rewriting
from core.compiler.cubin import ATOMICS, MachineAccess
from core.ptx.ast import Address, Instruction, Module, Operand, Special, registers
from core.ptx.dataflow import reads, results
from core.ptx.opcodes import opcode_of

_SAME = ("%ctaid", "%nctaid", "%ntid", "%cluster")  # special registers that a warp's lanes share
_TOGETHER = frozenset(("add", "min", "max", "and", "or", "xor"))


def leading(module: Module, kernel: str, accesses: Sequence[MachineAccess]) -> Module:
    """The module in which such atomics of a kernel are marked (`led`)."""
    guarded: dict[int, bool] = {}
    for access in accesses:
        if access.name in ATOMICS:
            guarded[access.line] = access.guarded and guarded.get(access.line, True)
    if not guarded:
        return module
    function, rewriting = module.functions[kernel], Rewriting(module)
    code = module.instructions[function.first_pc : function.end_pc]
    made: dict[str, list[Instruction]] = {}
    for one in code:
        for name in results(one):
            made.setdefault(name, []).append(one)
    for one in code:
        is_atomic = opcode_of(one).kind in ("atomic", "reduction")
        if not is_atomic or one.guard or one.ptx_line not in guarded:
            continue
        is_loop = {"shared", "add", "u64"} <= {*one.modifiers}  # in a branch of that lane
        if not (guarded[one.ptx_line] or is_loop):
            continue
        old = results(one)
        used = any(old & reads(other) for other in code if other.pc != one.pc)
        if _TOGETHER.isdisjoint(one.modifiers) or (used and "add" not in one.modifiers):
            continue
        address = next(operand for operand in one.operands if isinstance(operand, Address))
        is_same = _is_uniform(made, one.operands[-1])
        if _is_uniform(made, address) and (is_same or not is_loop):
            led = "whole" if used and not is_same else "any"
            rewriting.replace(one.pc, (replace(one, led=led),))
    return rewriting.module()


def _is_uniform(made: Mapping[str, Sequence[Instruction]], operand: Operand) -> bool:
    """Whether an operand is computed from what all lanes of a warp have in common.

    `made` has what computes each register.
    """
    left, seen = [*registers(operand)], set[str]()
    while left:
        if (name := left.pop()) in seen:
            continue
        seen.add(name)
        for one in made.get(name, ()):
            specials = [o.name for o in one.operands if isinstance(o, Special)]
            differs = opcode_of(one).kind in ("atomic", "call", "lanes")
            if differs or not all(special.startswith(_SAME) for special in specials):
                return False
            left += reads(one)
    return True
