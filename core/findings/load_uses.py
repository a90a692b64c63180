"""What becomes of the values that loads bring, read off the PTX, as far as hazards depend on it.

Three kinds of loads are not judged like others: those that only move bytes, plain ones whose value
a compare-and-swap checks again, and volatile ones whose value is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from core.ptx.ast import (
    Address,
    Function,
    Group,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    elements,
    immediate,
    registers,
    symbol_of,
)
from core.ptx.dataflow import reads, results
from core.ptx.loops import back_edges, leaves_loop
from core.ptx.opcodes import opcode_of

_Parameters = frozenset[tuple[str, int]]
"""Parameters of functions, each by its function and number."""


@dataclass
class Copies:
    """`loads`: (pc, element) that are no use; `stores`: (pc, element) -> loads it may take from."""

    loads: set[tuple[int, int]] = field(default_factory=set)
    stores: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=dict)


class LoadUses:
    """What the loads of a module are used for, worked out when it is asked for."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._copies: dict[str, Copies] = {}  # by function

    def copies(self, pc: int) -> Copies:
        """The loads that only move bytes, in the function that `pc` lies in."""
        function = self._module.function_at(pc)
        found = self._copies.get(function.name)
        if found is None:
            found = _copying_loads(self._module, function, self._shuffled, of_parameters=False)
            self._copies[function.name] = found
        return found

    @cached_property
    def rechecked(self) -> frozenset[int]:
        """The pcs of plain loads whose value a compare-and-swap checks again."""
        return _rechecked_loads(self._module)

    @cached_property
    def trusting(self) -> frozenset[int]:
        """The pcs of volatile loads for which the fence of another thread matters."""
        return _trusting_loads(self._module)

    @cached_property
    def _shuffled(self) -> _Parameters:
        return _shuffled_parameters(self._module)


# Loads that only move bytes, which need not have been written.
#
# Unoptimised code copies objects whole, with their holes and members not yet set, and sets a bit
# field by reading the word around it. A value is *used* where it goes anywhere but into a store: as
# it is, or, mixed with other bits, back to where it came from. What was copied without having been
# written counts as unwritten in its new place. What a lane hands to a shuffle is no use of its own:
# people let one lane set a variable that all lanes then take from there.


@dataclass(frozen=True)
class _Use:
    """Where a register is read, and as what.

    "stored": as one of a store's values, the one at place `element`; "begun anew": as a sum that a
    matrix product overwrites; "shuffled": handed to other lanes; "given back": as the argument of a
    call that returns it to `instruction`.
    """

    instruction: Instruction
    how: Literal["stored", "operand", "address or guard", "begun anew", "shuffled", "given back"]
    element: int = -1


def _shuffled_parameters(module: Module) -> _Parameters:
    """The parameters that functions, such as those of `__shfl_sync`, only hand to a shuffle."""
    functions = {f.name: f for f in module.functions.values() if not f.is_entry and f.parameters}
    callers: dict[str, set[str]] = {}
    todo: set[str] = set()
    for function in functions.values():
        for instruction in module.instructions[function.first_pc : function.end_pc]:
            if instruction.opcode == "shfl":
                todo.add(function.name)
            elif instruction.opcode == "call":
                for callee in filter(None, map(symbol_of, instruction.operands)):
                    callers.setdefault(callee, set()).add(function.name)
    found: _Parameters = frozenset()
    while todo:
        function = functions[todo.pop()]
        more = _handed_on(module, function, found) - found
        if more:
            found |= more
            todo |= callers.get(function.name, set())
    return found


def _handed_on(module: Module, function: Function, shuffled: _Parameters) -> _Parameters:
    """The parameters that one function only hands to a shuffle, given those of its callees."""
    moved = _copying_loads(module, function, shuffled, of_parameters=True)
    stored = {pc for several in moved.stores.values() for pc, _ in several}
    loads = {
        load.pc: symbol_of(load.operands[1])
        for load in _instructions(module, function)
        if load.opcode == "ld" and "param" in load.modifiers
    }
    used = {p for pc, p in loads.items() if (pc, 0) not in moved.loads or pc in stored}
    handed = {*loads.values()} - used
    own = enumerate(function.parameters)
    return frozenset((function.name, number) for number, p in own if p.name in handed)


def _copying_loads(
    module: Module, function: Function, shuffled: _Parameters, *, of_parameters: bool
) -> Copies:
    """The copying loads of parameters, or of memory; `shuffled` is from `_shuffled_parameters`."""
    found = Copies()
    instructions = _instructions(module, function)
    calls = (i for i in instructions if i.opcode == "call")
    handed = frozenset(name for call in calls for name in _arguments(call, shuffled))
    objects = _objects(function)
    given_back = dict(_given_back(instructions))
    uses: dict[str, list[_Use]] = {}
    for instruction in instructions:
        taker = given_back.get(_argument(instruction))
        for name, use in _reads(instruction, objects, handed):
            by_call = _Use(taker, "given back") if taker and use.how == "operand" else use
            uses.setdefault(name, []).append(by_call)
    for instruction in instructions:
        if instruction.opcode == "ld" and ("param" in instruction.modifiers) == of_parameters:
            for element, operand in enumerate(elements(instruction.operands[0])):
                if isinstance(operand, Register):
                    _follow(instruction, element, operand.name, uses, found)
    return found


_SAME_BITS = frozenset(
    {
        "__float_as_int",
        "__float_as_uint",
        "__int_as_float",
        "__uint_as_float",
        "__double_as_longlong",
        "__longlong_as_double",
    }
)
"""Functions that give back what they are given (CUDA Math API, "Type Casting Intrinsics")."""


def _given_back(instructions: list[Instruction]) -> Iterator[tuple[str, Instruction]]:
    """Arguments that come back as the bits that they are, each with the load of the result."""
    loads = {symbol_of(i.operands[1]): i for i in instructions if i.opcode == "ld"}
    for call in instructions:
        if call.opcode == "call" and _SAME_BITS.intersection(map(symbol_of, call.operands)):
            groups = [o.elements for o in call.operands if isinstance(o, Group)]
            if len(groups) == 2 and all(groups):
                result, argument = (symbol_of(group[0]) for group in groups)
                if argument and result in loads:
                    yield argument, loads[result]


def _argument(instruction: Instruction) -> str:
    """The argument of a call that an instruction sets; "" for none."""
    sets = instruction.opcode == "st" and "param" in instruction.modifiers
    return symbol_of(instruction.operands[0]) if sets else ""


def _instructions(module: Module, function: Function) -> list[Instruction]:
    """The instructions of a function that may be followed; it may be malformed."""
    own = module.instructions[function.first_pc : function.end_pc]
    return [i for i in own if len(i.operands) > 1]


def _follow(
    load: Instruction, element: int, name: str, uses: dict[str, list[_Use]], found: Copies
) -> None:
    """Notes the load if everything that its value reaches is a store."""
    stores: list[tuple[int, int]] = []
    todo, seen = [(name, False)], {(name, False)}
    while todo:
        register, mixed = todo.pop()
        if any(use.how == "begun anew" for use in uses.get(register, ())):
            continue  # what is stored from here on is the product's
        for use in uses.get(register, ()):
            if use.how == "shuffled":
                continue
            kind = opcode_of(use.instruction).kind
            if use.how == "stored":
                if mixed and use.instruction.operands[0] != load.operands[1]:
                    return
                if not mixed:
                    stores.append((use.instruction.pc, use.element))
            elif use.how == "given back" or (
                use.how == "operand" and kind in ("move", "bits", "conversion")
            ):
                target = use.instruction.operands[0]
                if not isinstance(target, Register):
                    return
                following = target.name, mixed or kind not in ("move", "load")
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
            else:
                return
    found.loads.add((load.pc, element))
    for store in stores:
        found.stores.setdefault(store, []).append((load.pc, element))


def _objects(function: Function) -> frozenset[str]:
    """_Parameters, of the function and of its calls, that hold objects and not single values."""
    found = (*function.parameters, *function.returns, *function.variables)
    return frozenset(v.name for v in found if v.space == "param" and v.nbytes > v.type.nbytes)


def _copies_into(instruction: Instruction, objects: frozenset[str]) -> bool:
    """Whether this is a store to memory or into a parameter that is an object."""
    where = instruction.operands[0] if instruction.opcode == "st" else None
    if not isinstance(where, Address):
        return False
    into_parameter = "param" in instruction.modifiers and isinstance(where.base, Symbol)
    return not into_parameter or getattr(where.base, "name", "") in objects


def _reads(
    instruction: Instruction, objects: frozenset[str], handed: frozenset[str]
) -> Iterator[tuple[str, _Use]]:
    """The registers that an instruction reads; arguments `handed` only go on to a shuffle."""
    if instruction.guard is not None:
        yield instruction.guard.name, _Use(instruction, "address or guard")
    if "mma_async" in instruction.modifiers:
        begins = immediate(instruction.operands[3]) in (None, 0)  # a predicate, or never adds
        for sum_ in elements(instruction.operands[0]):
            if isinstance(sum_, Register):
                yield sum_.name, _Use(instruction, "begun anew" if begins else "operand")
    stores = instruction.opcode == "st"
    copying = _copies_into(instruction, objects)
    operands = instruction.operands if stores else instruction.operands[1:]
    shuffles = 0 if instruction.opcode == "shfl" else -1  # the place of what it hands on
    if _argument(instruction) in handed:
        shuffles = 1
    for place, operand in enumerate(operands):
        for element, part in enumerate(elements(operand)):
            use = _Use(instruction, "operand")
            if place == shuffles:
                use = _Use(instruction, "shuffled")
            elif copying and place == 1:
                use = _Use(instruction, "stored", element)
            if isinstance(part, Register):
                yield part.name, use
            elif isinstance(part, Address) and isinstance(part.base, Register):
                yield part.base.name, _Use(instruction, "address or guard")
            elif not isinstance(part, Address):
                yield from ((name, use) for name in registers(part))


# Plain loads whose value an atomic compare-and-swap checks again before anything depends on it.
#
# `old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);` is how
# people write the atomics that CUDA lacks (CUDA C++ Programming Guide, "Atomic Functions"): should
# another thread change the word after the first load, the swap fails and the loop goes round.


def _rechecked_loads(module: Module) -> frozenset[int]:
    """The pcs of loads whose value reaches, by moves alone, what a compare-and-swap compares.

    Unoptimised code swaps in a function of its own, so that the way may lead through calls, and
    keeps a variable that is a pointer on the stack.
    """
    if ".cas" not in module.text:
        return frozenset()
    flows = [_Flow(module, f) for f in module.functions.values() if f.end_pc > f.first_pc]
    compared: _Parameters = frozenset()
    size = -1
    while len(compared) > size:
        size = len(compared)
        for flow in flows:
            compared |= flow.compared_parameters(compared)
    return frozenset(pc for flow in flows for pc in flow.loads)


_STACK = (Register("%SP"), Register("%SPL"))  # where a function's own variables begin


class _Flow:
    """The registers, and places on the stack, of one function that a compare-and-swap compares."""

    def __init__(self, module: Module, function: Function) -> None:
        self.function = function
        instructions = _instructions(module, function)
        self._calls = [i for i in instructions if i.opcode == "call"]
        self._loads = [i for i in instructions if i.opcode == "ld"]
        self._given = [i for i in instructions if _argument(i)]
        moves = (
            (i.operands[0], i.operands[-1])
            for i in instructions
            if i.opcode == "mov" or (i.opcode in ("ld", "st") and any(map(_slot, i.operands)))
        )
        self._moves = [(_held_in(to), _held_in(value)) for to, value in moves]
        given_back = dict(_given_back(instructions))
        for store in self._given:
            if (load := given_back.get(symbol_of(store.operands[0]))) is not None:
                self._moves.append((_register(load.operands[0]), _register(store.operands[1])))
        self.compared = {
            _register(i.operands[2])
            for i in instructions
            if i.opcode == "atom" and "cas" in i.modifiers and len(i.operands) > 2
        } - {""}
        self.loads: list[int] = []

    def compared_parameters(self, known: _Parameters) -> _Parameters:
        """Follows the values back, given what is known of the functions that are called."""
        names = {name for call in self._calls for name in _arguments(call, known)}
        for store in self._given:
            if symbol_of(store.operands[0]) in names:
                self.compared.add(_register(store.operands[1]))
        size = -1
        while len(self.compared) > size:
            size = len(self.compared)
            for to, value in self._moves:
                if to in self.compared - {""}:
                    self.compared.add(value)
        loads = [i for i in self._loads if _register(i.operands[0]) in self.compared - {""}]
        self.loads = [i.pc for i in loads if "param" not in i.modifiers]
        taken = {symbol_of(i.operands[1]) for i in loads if "param" in i.modifiers}
        own = enumerate(self.function.parameters)
        return frozenset((self.function.name, number) for number, p in own if p.name in taken)


# Volatile loads that a missing `__threadfence()` lets read an old value.
#
# Two volatile accesses are no race. But only a fence keeps a volatile store before the flag, or the
# count, by which another thread learns of it (PTX ISA, "Memory Consistency Model": a volatile
# access is a relaxed one, and causality order takes a fence). A loop that polls one flag after
# another does not mind: it reads each again until it likes what it sees.


_OWN = {"local", "param", "shared"}


def _trusting_loads(module: Module) -> frozenset[int]:
    """The pcs of volatile loads of global memory whose value the kernel takes as it is.

    Not those that decide if a loop goes on, nor what a function returns, perhaps to such a loop.
    """
    if "st.volatile" not in module.text or "ld.volatile" not in module.text:
        return frozenset()
    return frozenset[int]().union(
        *(_trusting_loads_of(module, f) for f in module.functions.values())
    )


def _trusting_loads_of(module: Module, function: Function) -> set[int]:
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


# The operands of an instruction by their names.


def _arguments(call: Instruction, known: _Parameters) -> list[str]:
    """The variables that a call hands to parameters which are known."""
    callee = next((o.name for o in call.operands if isinstance(o, Symbol)), "")
    groups = [o for o in call.operands if isinstance(o, Group)]
    arguments = groups[-1].elements if groups else ()
    return [symbol_of(o) for number, o in enumerate(arguments) if (callee, number) in known]


def _held_in(operand: Operand) -> str:
    """The register or the place on the stack that holds a value; "" for anything else."""
    return _register(operand) or _slot(operand)


def _slot(operand: Operand) -> str:
    """A place on the stack, under a name that no register has; "" for anything else."""
    if not isinstance(operand, Address) or operand.base not in _STACK:
        return ""
    return f"[stack+{operand.offset}]"


def _register(operand: Operand) -> str:
    return operand.name if isinstance(operand, Register) else ""
