"""What calls put on the stack: parameters, results, and the registers that functions save.

Twelve registers of 4 bytes hold a call's parameters, and after it its result. In a build without
optimisation a parameter takes the first of them that are free and aligned as it is; one that finds
no place goes on the stack whole. So does a result of more than twelve registers, and its place
there takes one of them. The machine code of 30 functions showed it (`STL`, `LDL`).

A function that calls others keeps its way back and further registers there: it stores them where it
begins and loads them before it returns. No PTX shows any of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from core.assembler.rewriting import Rewriting
from core.ptx.ast import Address, Function, Group, Instruction, Module, Operand, Symbol

_REGISTERS = 12
_WORD = 4


def passing(module: Module) -> Module:
    """The module in which loads and stores of parameters on the stack are marked (`on_stack`)."""
    stacked = {n: _on_stack(f) for n, f in module.functions.items() if not f.is_entry}
    rewriting = Rewriting(module)
    if any(stacked.values()):
        for function in module.functions.values():
            own = stacked.get(function.name, frozenset())
            for one in _passed(module, function, own, stacked):
                rewriting.replace(one.pc, (replace(one, on_stack=True),))
    return rewriting.module()


def _passed(
    module: Module, function: Function, own: frozenset[str], stacked: dict[str, frozenset[str]]
) -> list[Instruction]:
    """The loads and stores of a function's own such parameters, and of those of its calls."""
    found, given = [], list[tuple[str, Instruction]]()
    results: set[str] = set()
    for one in module.instructions[function.first_pc : function.end_pc]:
        if one.opcode == "call":
            callee, arguments, returned = _call(module, one)
            on_stack = stacked.get(callee.name, frozenset()) if callee else frozenset[str]()
            formal = dict(zip(arguments, callee.parameters if callee else (), strict=False))
            found += [i for name, i in given if name in formal and formal[name].name in on_stack]
            given = []
            results = {
                name
                for name, variable in zip(returned, callee.returns if callee else (), strict=False)
                if variable.name in on_stack
            }
        elif "param" in one.modifiers and one.opcode in ("ld", "st"):
            name = _name(one.operands[one.opcode == "ld"])
            if name in own or (one.opcode == "ld" and name in results):
                found.append(one)
            elif one.opcode == "st":
                given.append((name, one))
    return found


def _on_stack(function: Function) -> frozenset[str]:
    """The names of the parameters and results of a function that find no registers."""
    large = {v.name for v in function.returns if v.nbytes > _REGISTERS * _WORD}
    free = [True] * _REGISTERS
    if large:
        free[0] = False
    for variable in function.parameters:
        words = -(-variable.nbytes // _WORD)
        place = _place(free, words, max(1, variable.align // _WORD))
        if place is None:
            large.add(variable.name)
        else:
            free[place : place + words] = [False] * words
    return frozenset(large)


def _place(free: Sequence[bool], words: int, step: int) -> int | None:
    starts = range(0, _REGISTERS - words + 1, step)
    return next((at for at in starts if all(free[at : at + words])), None)


def _call(
    module: Module, one: Instruction
) -> tuple[Function | None, tuple[str, ...], tuple[str, ...]]:
    """The function that is called by its name, and the names of arguments and results."""
    at = next((i for i, o in enumerate(one.operands) if not isinstance(o, Group)), 0)
    callee = one.operands[at]
    function = module.functions.get(callee.name) if isinstance(callee, Symbol) else None
    return function, _names(one.operands[at + 1 : at + 2]), _names(one.operands[:at])


def _names(lists: Sequence[Operand]) -> tuple[str, ...]:
    """The names in the list of a call, if it has one."""
    return tuple(_name(e) for o in lists if isinstance(o, Group) for e in o.elements)


def _name(operand: Operand) -> str:
    base = operand.base if isinstance(operand, Address) else operand
    return base.name if isinstance(base, Symbol) else ""


def saving(module: Module, saves: Sequence[tuple[str, int]]) -> Module:
    """The module whose functions save so many registers, by name."""
    known = dict(saves)
    if not known:
        return module
    functions = {n: replace(f, saves=known.get(n, 0)) for n, f in module.functions.items()}
    return replace(module, functions=MappingProxyType(functions))
