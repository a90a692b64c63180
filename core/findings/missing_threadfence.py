"""Volatile loads that a missing `__threadfence()` lets read an old value.

Two volatile accesses are no race. But only a fence keeps a volatile store before the flag, or the
count, by which another thread learns of it (PTX ISA, "Memory Consistency Model": a volatile access
is a relaxed one, and causality order takes a fence). A loop that polls one flag after another does
not mind: it reads each again until it likes what it sees.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.ptx.ast import Function, Instruction, Module
from core.ptx.dataflow import reads, results
from core.trace.phases import back_edges, leaves_loop

_OWN = {"local", "param", "shared"}


def trusting_loads(module: Module) -> frozenset[int]:
    """The pcs of volatile loads of global memory whose value the kernel takes as it is.

    Not those that decide if a loop goes on, nor what a function returns, perhaps to such a loop.
    """
    if "st.volatile" not in module.text or "ld.volatile" not in module.text:
        return frozenset()
    return frozenset[int]().union(*(_of_function(module, f) for f in module.functions.values()))


def _of_function(module: Module, function: Function) -> set[int]:
    own = module.instructions[function.first_pc : function.end_pc]
    found = {
        load.pc
        for load in own
        if load.opcode == "ld" and "volatile" in load.modifiers and not _OWN & {*load.modifiers}
    }
    if found:
        gives = (i for i in own if i.opcode == "st" and "param" in i.modifiers)
        found -= _loads_behind(own, () if function.is_entry else tuple(gives))
        for first, end in back_edges(module, function):
            body = module.instructions[first:end]
            exits = [
                i
                for i in body
                if i.opcode in ("ret", "exit") or leaves_loop(module, i.pc, first, end)
            ]
            found -= _loads_behind(body, exits)
    return found


def _loads_behind(own: Sequence[Instruction], users: Sequence[Instruction]) -> set[int]:
    """The pcs of the loads whose values these instructions use, or what is made of them."""
    wanted = {name for user in users for name in reads(user, addresses=False)}
    size = -1
    while len(wanted) > size:
        size = len(wanted)
        for instruction in own:
            if instruction.opcode != "ld" and wanted & results(instruction):
                wanted |= reads(instruction, addresses=False)
    return {i.pc for i in own if i.opcode == "ld" and wanted & results(i)}
