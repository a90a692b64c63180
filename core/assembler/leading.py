"""Atomics that one lane does for all of its warp.

Where all lanes update one element, and ptxas knows it, optimised code puts their values together
first (`REDUX`, or the lanes counted, `VOTE` and `POPC`); then a predicate lets one lane through.
Read off the machine code of 30 atomics (NVRTC 13.5, compute capability 9.0), in shared and in
global memory: additions, and where nobody uses the old value also minima, maxima and `and`, `or`,
`xor`. If the lanes want the old value of an addition of different values, this is done only where
all 32 lanes take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.assembler.rewriting import Rewriting
from core.compiler.cubin import ATOMICS, MachineAccess
from core.ptx.ast import Address, Function, Immediate, Instruction, Module, Special, registers
from core.ptx.opcodes import opcode_of, reads, results

_SAME = ("%ctaid", "%nctaid", "%ntid", "%cluster")  # special registers that a warp's lanes share
_TOGETHER = frozenset(("add", "min", "max", "and", "or", "xor"))


def leading(module: Module, kernel: str, accesses: Sequence[MachineAccess]) -> Module:
    """The module in which such atomics of a kernel are marked (`led`)."""
    guarded: dict[int, bool] = {}
    for access in accesses:
        if access.name in ATOMICS:
            guarded[access.line] = access.guarded and guarded.get(access.line, True)
    function, rewriting = module.functions[kernel], Rewriting(module)
    code = module.instructions[function.first_pc : function.end_pc]
    for one in code:
        kind = opcode_of(one).kind
        if kind not in ("atomic", "reduction") or not guarded.get(one.ptx_line) or one.guard:
            continue
        old = results(one) if kind == "atomic" else frozenset[str]()
        used = any(old & reads(other) for other in code if other.pc != one.pc)
        if _TOGETHER.isdisjoint(one.modifiers) or (used and "add" not in one.modifiers):
            continue
        if _is_uniform(module, function, one):
            whole = used and not isinstance(one.operands[-1], Immediate)
            rewriting.replace(one.pc, (replace(one, led="whole" if whole else "any"),))
    return rewriting.module()


def _is_uniform(module: Module, function: Function, one: Instruction) -> bool:
    """Whether the address is computed from what all lanes of a warp have in common."""
    code = module.instructions[function.first_pc : function.end_pc]
    address = next(operand for operand in one.operands if isinstance(operand, Address))
    left, seen = [*registers(address)], set[str]()
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        for other in code:
            if name in results(other):
                specials = [o.name for o in other.operands if isinstance(o, Special)]
                differs = opcode_of(other).kind in ("atomic", "call", "lanes")
                if differs or not all(name.startswith(_SAME) for name in specials):
                    return False
                left += reads(other)
    return True
