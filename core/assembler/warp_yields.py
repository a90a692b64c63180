"""Where lanes of a warp let the others go first, as its machine code says.

Since Volta each thread has a program counter, and lanes that have parted meet where their ways meet
again: they wait there (`BSYNC`). ptxas breaks this where a thread may wait for another one: in
loops that an atomic or a strong access may end, and in functions that have one. There it puts
`YIELD`, and then the lanes that wait go on without those that have yielded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.assembler.rewriting import Rewriting
from core.ptx.ast import Function, Instruction, Module
from core.ptx.opcodes import opcode_of

_STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "cv", "cg"))
_WAITS = frozenset(("try_wait", "test_wait"))


def yielding(module: Module, lines: Sequence[int]) -> Module:
    """The module in which the accesses yield for which its machine code does.

    `lines` are those of the PTX at which it does. An access of the innermost loop around such a
    line stands for it, or one of the function: the first at the line or after it. Before it a
    function may have plain accesses, of which the first stands for it. `nanosleep` always yields.
    """
    rewriting = Rewriting(module)
    yields = {i.ptx_line for i in module.instructions if i.opcode == "nanosleep"}
    functions = sorted(module.functions.values(), key=lambda function: function.first_pc)
    for line in lines:
        if (access := _access(module, functions, line)) is not None:
            yields.add(access.ptx_line)
    for one in module.instructions:
        if one.ptx_line in yields:
            rewriting.replace(one.pc, (replace(one, yields=True),))
    return rewriting.module()


def _access(module: Module, functions: Sequence[Function], line: int) -> Instruction | None:
    """The strong access that a `YIELD` at a line belongs to, if there is one.

    The line is in the first function that ends behind it: it may be that of the function's name.
    """
    code = module.instructions
    for function in functions:
        inside = range(function.first_pc, function.end_pc)
        if inside and line <= code[inside[-1]].ptx_line:
            break
    else:
        return None
    at = next(pc for pc in inside if code[pc].ptx_line >= line)
    bodies = [
        range(target, jump.pc + 1)
        for jump in code[at : function.end_pc]
        for target in module.targets(jump)
        if target <= at
    ]
    for body in (*sorted(bodies, key=len), inside):
        strong = [code[pc] for pc in body if _is_strong(code[pc])]
        if strong:
            found = next((i for i in strong if i.pc >= at), strong[0])
            if body == inside and not function.is_entry:  # it yields where it begins
                before = (code[pc] for pc in range(at, found.pc))
                accesses = (i for i in before if i.opcode in ("ld", "st"))
                found = next((i for i in accesses if "param" not in i.modifiers), found)
            return found
    return None


def _is_strong(instruction: Instruction) -> bool:
    """Whether a thread may wait for another one by this instruction (PTX ISA, "Strong operations").

    Loads that skip L1 (`.cg`) count as ptxas counts them.
    """
    modifiers = {*instruction.modifiers}
    if instruction.opcode in ("atom", "red"):
        return True
    if instruction.opcode == "mbarrier":
        return not modifiers.isdisjoint(_WAITS)
    return opcode_of(instruction).is_memory and not modifiers.isdisjoint(_STRONG)
