"""Loads whose value nothing reads: ptxas leaves them out even in a build without optimisation.

A `-G` build has them where it copies a structure, such as a `__half2` that is passed by value.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from core.assembler.rewriting import Rewriting
from core.ptx.ast import Module, registers

_KEPT = frozenset(("volatile", "relaxed", "acquire", "mmio"))


def without_unused_loads(module: Module) -> Module:
    """The module in which these loads make no request. They still run, and may still be wrong."""
    rewriting = Rewriting(module)
    for function in module.functions.values():
        code = module.instructions[function.first_pc : function.end_pc]
        mentioned = Counter[str]()
        for one in code:
            mentioned.update(registers(*one.operands, *(() if one.guard is None else (one.guard,))))
        for one in code:
            is_of_memory = "param" not in one.modifiers or one.on_stack
            if one.opcode == "ld" and is_of_memory and not _KEPT & {*one.modifiers}:
                results = [*registers(one.operands[0])]
                if all(mentioned[name] == 1 for name in results):
                    rewriting.replace(one.pc, (replace(one, silent=True),))
    return rewriting.module()
