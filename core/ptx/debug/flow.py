"""Where a variable's value really is: NVRTC's location lists, followed along the control flow.

NVRTC's lists are right where they begin (a value was just computed) but are then extended line by
line to the next entry, whatever path leads there: in the `else` of an `if` that assigned `x`, the
list names the register of the branch not taken, and after `m = c ? x : y` it takes the register of
`m` for that of `y`. PTX registers are never reused for another value, so the right place can be
worked out: for each variable, the set of registers that hold its value before each instruction.

- An entry that begins after the instruction that computed it, or at a block's head: that register.
- `mov a, b` with b in the set adds a; any other write to a register removes it.
- Where paths meet, the registers that all of them agree on; where a scope is entered, none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from core.cancelling import check
from core.ptx.ast import Instruction, Module, Register
from core.ptx.debug.model import DebugInfo, FunctionInfo, Location, VariableInfo
from core.ptx.opcodes import opcode_of, results

_Held = frozenset[str]  # the registers that hold the variable's value
_NOWHERE: _Held = frozenset()


def with_true_locations(info: DebugInfo, module: Module) -> DebugInfo:
    """`info` with every register location replaced by what the control flow allows."""
    functions = {symbol: _mended(function, module) for symbol, function in info.functions.items()}
    return replace(info, functions=MappingProxyType(functions))


def _mended(function: FunctionInfo, module: Module) -> FunctionInfo:
    check()
    code = _Code(module, function.first_pc, function.end_pc)
    return replace(
        function, variables=tuple(_follow(variable, code) for variable in function.variables)
    )


def _follow(variable: VariableInfo, code: _Code) -> VariableInfo:
    if not variable.locations or any(place.register is None for place in variable.locations):
        return variable
    return replace(variable, locations=_Flow(variable, code).locations())


class _Code:
    """A function's instructions as this analysis sees them. Its blocks are runs of pcs."""

    def __init__(self, module: Module, first: int, end: int) -> None:
        self._module = module
        self.first = first
        self.end = min(end, len(module.instructions))
        self.writes: dict[int, tuple[str, ...]] = {}
        self.copies: dict[int, str] = {}  # pc of an unconditional mov -> its source register
        self.copied_to: dict[str, set[str]] = {}
        self.written_at: dict[str, list[int]] = {}
        for pc in range(self.first, self.end):
            self._read(module.instructions[pc])

    def _read(self, instruction: Instruction) -> None:
        written = tuple(results(instruction))
        if not written:
            return
        self.writes[instruction.pc] = written
        for register in written:
            self.written_at.setdefault(register, []).append(instruction.pc)
        source = instruction.operands[-1]
        if instruction.opcode == "mov" and isinstance(source, Register) and len(written) == 1:
            if instruction.guard is None:
                self.copies[instruction.pc] = source.name
            self.copied_to.setdefault(source.name, set()).add(written[0])

    @cached_property
    def leaders(self) -> list[int]:
        """The first pc of each block."""
        leaders = {self.first}
        for pc in range(self.first, self.end):
            instruction = self._module.instructions[pc]
            if not opcode_of(instruction).falls_through:
                leaders.update(self._module.targets(instruction))
                leaders.add(pc + 1)
        return sorted(pc for pc in leaders if self.first <= pc < self.end)

    @cached_property
    def blocks(self) -> Mapping[int, tuple[int, tuple[int, ...]]]:
        """Block's first pc -> (its end, the first pcs of the blocks that may follow)."""
        ends = [*self.leaders[1:], self.end]
        return {
            first: (end, self._successors(self._module.instructions[end - 1]))
            for first, end in zip(self.leaders, ends, strict=True)
        }

    def _successors(self, last: Instruction) -> tuple[int, ...]:
        falls = last.guard is not None or opcode_of(last).falls_through
        following = [*self._module.targets(last), *([last.pc + 1] if falls else [])]
        return tuple(pc for pc in following if self.first <= pc < self.end)


@dataclass(frozen=True)
class _Event:
    """From `pc` on, the variable's new value is in `register`."""

    pc: int
    register: str


class _Flow:
    """The analysis for one variable."""

    def __init__(self, variable: VariableInfo, code: _Code) -> None:
        self._variable = variable
        self._scope = variable.scope
        self._code = code
        self._events = {event.pc: event.register for event in self._assignments()}
        held = self._related()
        self._pcs = sorted(  # where the set can change
            {pc + 1 for register in held for pc in code.written_at.get(register, ())}
            | set(self._events)
            | {self._scope.first_pc, self._scope.end_pc}
        )

    def _assignments(self) -> Iterable[_Event]:
        """The entries that begin with a new value, not with a copy of the one before."""
        before = ""
        for place in self._variable.locations:
            register = place.register or ""
            if self._code.copies.get(place.first_pc - 1) == before and before:
                is_copy = register in self._code.writes.get(place.first_pc - 1, ())
            else:
                is_copy = False
            before = register
            if is_copy:
                continue
            # An entry for a whole block begins before its register is written.
            inside = [
                pc
                for pc in self._code.written_at.get(register, ())
                if place.first_pc <= pc < place.end_pc
            ]
            earlier = self._code.written_at.get(register, [self._code.first])[0] < place.first_pc
            if not inside or earlier:
                yield _Event(place.first_pc, register)
            else:
                yield from (_Event(pc + 1, register) for pc in inside)

    def _related(self) -> set[str]:
        """The registers that may ever hold the value: those of the entries, and copies of them."""
        related: set[str] = set()
        todo = {place.register for place in self._variable.locations if place.register}
        while todo:
            register = todo.pop()
            if register not in related:
                related.add(register)
                todo |= self._code.copied_to.get(register, set())
        return related

    def locations(self) -> tuple[Location, ...]:
        """Runs of pcs in the variable's scope with the register to read there."""
        states = self._solve()
        runs: list[Location] = []
        for first in self._code.leaders:
            if first in states:
                self._walk(first, states[first], runs)
        return tuple(runs)

    def _solve(self) -> dict[int, _Held]:
        """What is held on entry to each block that can be reached, where all paths agree."""
        blocks = self._code.blocks
        states: dict[int, _Held] = {self._code.first: _NOWHERE}
        todo = [self._code.first]
        while todo:
            first = todo.pop()
            leaving = self._walk(first, states[first], None)
            for following in blocks[first][1]:
                known = states.get(following)
                met = leaving if known is None else known & leaving
                if met != known:
                    states[following] = met
                    todo.append(following)
        return states

    def _walk(self, first: int, held: _Held, runs: list[Location] | None) -> _Held:
        """Follow one block; with `runs`, note where the value can be read."""
        end = self._code.blocks[first][0]
        at = bisect_right(self._pcs, first - 1)
        pc, held = first, self._enter(first, held, at_head=True)
        while True:
            if at < len(self._pcs) and self._pcs[at] <= pc:
                at += 1
                continue
            stop = min(self._pcs[at], end) if at < len(self._pcs) else end
            if runs is not None:
                self._note(runs, pc, stop, held)
            if stop == end:
                return self._leave(end, self._after(end - 1, held))
            pc, held = stop, self._enter(stop, self._after(stop - 1, held))

    def _after(self, pc: int, held: _Held) -> _Held:
        """What is held once the instruction at `pc` has been executed."""
        written = self._code.writes.get(pc, ())
        if not written:
            return held
        source = self._code.copies.get(pc)
        if source is not None and source in held:
            return held | {written[0]}
        return held.difference(written)

    def _enter(self, pc: int, held: _Held, *, at_head: bool = False) -> _Held:
        """What is held before the instruction at `pc`: a scope begins, or a value was assigned."""
        if pc == self._scope.first_pc or not self._scope.first_pc <= pc < self._scope.end_pc:
            held = _NOWHERE
        register = self._events.get(pc)
        if register is None or register in held:
            return held
        if at_head and self._assigned_before(pc):  # other ways into the block did not assign
            return held
        return frozenset({register})

    def _leave(self, end: int, held: _Held) -> _Held:
        """What a block hands on if its last instruction made an assignment."""
        register = self._events.get(end)
        if register is None or register in held or not self._assigned_before(end):
            return held
        return frozenset({register})

    def _assigned_before(self, pc: int) -> bool:
        """Whether the value that is there from `pc` on was computed by the instruction before."""
        inside = self._scope.first_pc < pc
        return inside and self._events[pc] in self._code.writes.get(pc - 1, ())

    def _note(self, runs: list[Location], first: int, end: int, held: _Held) -> None:
        if not held:
            return
        last = runs[-1] if runs else None
        if last is not None and last.end_pc == first and last.register in held:
            runs[-1] = replace(last, end_pc=end)
            return
        named = self._variable.location(first)
        register = named.register if named is not None and named.register in held else min(held)
        runs.append(Location(first, end, register=register))
