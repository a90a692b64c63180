"""Loads that only move bytes: what they bring need not have been written.

Unoptimised code copies objects whole, with their holes and members not yet set, and sets a bit
field by reading the word around it. A value is *used* where it goes anywhere but into a store: as
it is, or, mixed with other bits, back to where it came from. What was copied without having been
written counts as unwritten in its new place.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field

from core.ptx.ast import (
    Address,
    Function,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    Vector,
)

_MOVES = {"mov"}
_MIXES = {"and", "or", "xor", "not", "shl", "shr", "bfi", "prmt", "cvt"}


@dataclass
class Copies:
    """`loads`: (pc, element) that are no use; `stores`: (pc, element) -> loads it may take from."""

    loads: set[tuple[int, int]] = field(default_factory=set)
    stores: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Use:
    """Where a register is read.

    `element` is its place among a store's values, -1 for another operand, -2 for an address or
    a guard.
    """

    instruction: Instruction
    element: int


class CopiesOf:
    """The copying loads of a module's functions, each looked at when it is asked for."""

    def __init__(self, module: Module) -> None:
        self._module = module
        defined = [f for f in module.functions.values() if f.end_pc > f.first_pc]
        self._functions = sorted(defined, key=lambda f: f.first_pc)
        self._starts = [f.first_pc for f in self._functions]
        self._known: dict[int, Copies] = {}

    def at(self, pc: int) -> Copies:
        """Those of the function that `pc` lies in."""
        number = bisect.bisect_right(self._starts, pc) - 1
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = copies(self._module, self._functions[number])
        return found


def copies(module: Module, function: Function) -> Copies:
    """The copying loads of a function."""
    found = Copies()
    own = module.instructions[function.first_pc : function.end_pc]
    instructions = [i for i in own if len(i.operands) > 1]  # a function may be malformed
    objects = _objects(function)
    uses: dict[str, list[_Use]] = {}
    for instruction in instructions:
        for name, use in _reads(instruction, objects):
            uses.setdefault(name, []).append(use)
    for instruction in instructions:
        if instruction.opcode == "ld" and "param" not in instruction.modifiers:
            for element, operand in enumerate(_elements(instruction.operands[0])):
                if isinstance(operand, Register):
                    _follow(instruction, element, operand.name, uses, found)
    return found


def _follow(
    load: Instruction, element: int, name: str, uses: dict[str, list[_Use]], found: Copies
) -> None:
    """Notes the load if everything that its value reaches is a store."""
    stores: list[tuple[int, int]] = []
    todo, seen = [(name, False)], {(name, False)}
    while todo:
        register, mixed = todo.pop()
        for use in uses.get(register, ()):
            opcode = use.instruction.opcode
            if use.element >= 0:
                if mixed and use.instruction.operands[0] != load.operands[1]:
                    return
                if not mixed:
                    stores.append((use.instruction.pc, use.element))
            elif use.element == -1 and (opcode in _MOVES or opcode in _MIXES):
                target = use.instruction.operands[0]
                if not isinstance(target, Register):
                    return
                following = target.name, mixed or opcode in _MIXES
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
            else:
                return
    found.loads.add((load.pc, element))
    for store in stores:
        found.stores.setdefault(store, []).append((load.pc, element))


def _objects(function: Function) -> frozenset[str]:
    """Parameters, of the function and of its calls, that hold objects and not single values."""
    found = (*function.parameters, *function.returns, *function.variables)
    return frozenset(v.name for v in found if v.space == "param" and v.nbytes > v.type.nbytes)


def _copies_into(instruction: Instruction, objects: frozenset[str]) -> bool:
    """Whether this is a store to memory or into a parameter that is an object."""
    where = instruction.operands[0] if instruction.opcode == "st" else None
    if not isinstance(where, Address):
        return False
    into_parameter = "param" in instruction.modifiers and isinstance(where.base, Symbol)
    return not into_parameter or getattr(where.base, "name", "") in objects


def _reads(instruction: Instruction, objects: frozenset[str]) -> Iterator[tuple[str, _Use]]:
    """The registers that an instruction reads."""
    if instruction.guard is not None:
        yield instruction.guard.name, _Use(instruction, -2)
    stores = instruction.opcode == "st"
    copying = _copies_into(instruction, objects)
    operands = instruction.operands if stores else instruction.operands[1:]
    for place, operand in enumerate(operands):
        for element, part in enumerate(_elements(operand)):
            use = _Use(instruction, element if copying and place == 1 else -1)
            if isinstance(part, Register):
                yield part.name, use
            elif isinstance(part, Address) and isinstance(part.base, Register):
                yield part.base.name, _Use(instruction, -2)
            elif not isinstance(part, Address):
                yield from ((name, use) for name in _inner(part))


def _inner(operand: Operand) -> Iterator[str]:
    for part in vars(operand).values():
        if isinstance(part, Register):
            yield part.name
        elif isinstance(part, tuple):
            for one in part:
                if isinstance(one, Register):
                    yield one.name


def _elements(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, Vector) else (operand,)
