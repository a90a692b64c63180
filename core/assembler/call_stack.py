"""What calls put on the stack: parameters, results, and the registers that functions save.

Twelve registers of 4 bytes hold a call's parameters, and after it its result. In a build without
optimisation a parameter takes the first of them that are free and aligned as it is; one that finds
no place goes on the stack whole. So does a result of more than twelve registers, and its place
there takes one of them. The machine code of 30 functions showed it (`STL`, `LDL`).

A function that calls others keeps its way back and further registers there: it stores them where it
begins and loads them before it returns. No PTX shows any of this.

The optimiser removes recursion and large frames, and faults of the stack with them: that is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from core.assembler.rewriting import Rewriting
from core.ptx.ast import Function, Group, Instruction, Module, Operand, Symbol, symbol_of
from core.ptx.debug.mangled_names import source_name

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
            name = symbol_of(one.operands[one.opcode == "ld"])
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
    return tuple(symbol_of(e) for o in lists if isinstance(o, Group) for e in o.elements)


def saving(module: Module, saves: Sequence[tuple[str, int]]) -> Module:
    """The module whose functions save so many registers, by name."""
    known = dict(saves)
    if not known:
        return module
    functions = {n: replace(f, saves=known.get(n, 0)) for n, f in module.functions.items()}
    return replace(module, functions=MappingProxyType(functions))


# Which functions call which, and what of the stack the optimiser removes.

_CallGraph = Mapping[str, Mapping[str, int]]
"""By function: those that it calls by name, and the source line of the first call of each."""


def call_graph(module: Module) -> _CallGraph:
    """The calls of all functions of a module."""
    return {name: _calls(module, function) for name, function in module.functions.items()}


def _calls(module: Module, function: Function) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for one in module.instructions[function.first_pc : function.end_pc]:
        if one.opcode == "call":
            for operand in one.operands:
                if isinstance(operand, Symbol) and operand.name in module.functions:
                    found.setdefault(operand.name, one.position.line)
    return found


def _reached(graph: _CallGraph, start: str) -> Mapping[str, int]:
    """The functions that may be called from one, itself only if it is called again."""
    found: dict[str, int] = {}
    left = [start]
    while left:
        for name, line in graph[left.pop()].items():
            if name not in found:
                found[name] = line
                left.append(name)
    return found


def recursive(graph: _CallGraph) -> frozenset[str]:
    """The functions that may come to call themselves."""
    return frozenset(name for name in graph if name in _reached(graph, name))


def _recursive_from(graph: _CallGraph, kernel: str) -> Mapping[str, int]:
    """Those of them that a kernel may come to, with the line of a call."""
    return {
        name: _reached(graph, name)[name]
        for name in _reached(graph, kernel)
        if name in _reached(graph, name)
    }


def removed_faults(
    written: Module, compiled: Module, kernel: str, *, most_stack: int
) -> tuple[str, ...]:
    """What the build as written may do to the stack and the optimised one cannot, in sentences.

    That is recursion, and frames of more than `most_stack` bytes a thread. `kernel` is the name of
    the entry in both.
    """
    found = []
    before, now = call_graph(written), call_graph(compiled)
    if not _recursive_from(now, kernel):
        for name, line in _recursive_from(before, kernel).items():
            where = f" (line {line})" if line else ""
            found.append(
                f"As written {source_name(name)} calls itself{where}; the optimiser has removed "
                "that, so that a recursion without end shows only in the build as written."
            )
    frame = _largest_frame(written, before, kernel)
    if frame > most_stack >= _largest_frame(compiled, now, kernel):
        found.append(
            f"As written a thread's stack is {frame:,} bytes, more than the {most_stack:,} that a "
            "GPU allows; the optimiser has removed it, so that this shows only in the build as "
            "written."
        )
    return tuple(found)


def _largest_frame(module: Module, graph: _CallGraph, kernel: str) -> int:
    """Bytes of the largest local frame of the kernel and what it calls."""
    return max(
        sum(v.nbytes for v in module.functions[name].variables if v.space == "local")
        for name in {kernel, *_reached(graph, kernel)}
    )
