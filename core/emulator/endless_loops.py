"""Loops that cannot end by themselves: found by a state that repeats.

The machine runs the lowest program counter first, and a thread that spins on a flag would starve
the one that sets it. Hardware since Volta promises progress to every thread (CUDA C++ Programming
Guide, "Independent Thread Scheduling"). Where everything that decides about a loop's end is the
same as some iterations before, the group can only wait for others to change memory; where no load
decides, it never ends.

A loop is the natural loop of the jumps back to one instruction (Aho, Lam, Sethi and Ullman,
*Compilers*, section 9.6).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.control_flow import ENDS, following, loop_body
from core.emulator.events import Mask
from core.emulator.geometry import same_lanes
from core.emulator.machine_state import Group
from core.emulator.program import FunctionCode, Kind, Op
from core.ptx.ast import registers

_PERIOD = 128  # jumps back between two looks
_WINDOW = 8  # jumps back that a look lasts: the longest cycle of states that is found
FAIR = 100_000  # instructions after which a group that could run gets its turn
NEVER = -1  # in place of the count of memory's changes: no change can end the loop


@dataclass
class _Seen:
    """A jump back that was seen: how often since the last look, and the state at that look."""

    decides: _Deciders | None = None
    count: int = 0
    registers: list[NDArray[Any]] | None = None
    mask: Mask | None = None
    changes: int = 0  # what memory had seen of changes


class Spinning:
    """Watches the jumps back of one machine."""

    def __init__(self) -> None:
        self._loops: dict[tuple[int, int, int], _Seen] = {}
        self._looked_at: dict[tuple[int, int, int], _Seen] = {}  # the loops with a state to compare

    def spins(
        self,
        code: FunctionCode,
        group: Group,
        target: int,
        registers: list[NDArray[Any]],
        changes: int,
    ) -> int | None:
        """Takes every jump back, with the number of changes of memory so far.

        None where the loop may end; `NEVER` where it cannot; or `changes` where it can only if
        memory changes again.
        """
        key = (target, group.depth, group.warp)
        if self._looked_at:
            self._left(key)
        loop = self._loops.get(key)
        if loop is None:
            loop = self._loops[key] = _Seen()
        loop.count += 1
        if loop.count < _PERIOD:
            return None
        decides = loop.decides = loop.decides or _deciders(code, target)
        now = [registers[slot] for slot in decides.slots]
        if loop.registers is None or not same_lanes(loop.mask, group.mask):
            loop.registers, loop.mask, loop.changes = now, group.mask, changes
            self._looked_at[key] = loop
            return None
        same = (loop.changes == changes or not decides.memory) and all(
            _same(a, b, group.mask) for a, b in zip(loop.registers, now, strict=True)
        )
        if not same and loop.count < _PERIOD + _WINDOW:
            return None
        loop.count = _PERIOD - 1 if same else 0  # once woken, the next look comes soon
        loop.registers = None
        del self._looked_at[key]
        if not same:
            return None
        return changes if decides.memory else NEVER

    def entered(self, depth: int) -> None:
        """A function was called: forgets the states of loops at its depth."""
        for key in [k for k in self._looked_at if k[1] >= depth]:
            self._forget(key)

    def _left(self, jump: tuple[int, int, int]) -> None:
        """Forgets the state of loops that a jump back to another place has left."""
        target, depth, warp = jump
        for key, loop in list(self._looked_at.items()):
            assert loop.decides is not None
            outside = key[1] == depth and target not in loop.decides.body
            if key[2] == warp and (key[1] > depth or outside):
                self._forget(key)

    def _forget(self, key: tuple[int, int, int]) -> None:
        self._looked_at.pop(key).registers = None


def _same(a: NDArray[Any], b: NDArray[Any], mask: Mask | None) -> bool:
    if a is b:
        return True
    a, b = (x[mask] if x.size > 1 and mask is not None else x for x in (a, b))
    if a.size != b.size:
        a, b = np.broadcast_arrays(a, b)
    return a.tobytes() == b.tobytes()


# What decides whether a loop goes on: the registers its exits depend on, and whether memory does.


_NOT_FOLLOWED = (Kind.CALL, Kind.CROSS_LANE, Kind.ACTION)


@dataclass(frozen=True)
class _Deciders:
    """The slots that a loop's exits depend on, whether they depend on loads too, and its pcs."""

    slots: tuple[int, ...]
    memory: bool
    body: frozenset[int]


def _deciders(code: FunctionCode, head: int) -> _Deciders:
    """What decides about the loop whose iterations begin at pc `head`; in doubt, every register."""
    ops, first = code.ops, code.first_pc
    places = loop_body(ops, first, head - first)
    body = frozenset(first + i for i in places)
    loop = _Loop(code, head - first, {i: ops[i] for i in sorted(places)})
    found = None
    if not any(op.kind in _NOT_FOLLOWED for op in loop.ops.values()):
        exits = [place for place in loop.ops if loop.may_leave(place)]
        found = _sources(loop, loop.decisions(exits))
    if found is not None:
        writers = [p for p, op in loop.ops.items() if found[0].intersection(op.destinations)]
        if not all(loop.every_turn(place) for place in (*exits, *writers)):
            found = _sources(loop, loop.decisions(loop.ops))  # other branches decide too
    if found is None:
        return _Deciders(tuple(range(len(code.dtypes))), memory=True, body=body)
    return _Deciders(tuple(sorted(found[0])), found[1], body)


@dataclass(frozen=True)
class _Loop:
    """The instructions of a loop by their place in the function, ascending."""

    code: FunctionCode
    head: int
    ops: dict[int, Op]

    def after(self, place: int) -> tuple[int, ...]:
        """The places that may follow."""
        return following(self.ops[place], place, self.code.first_pc)

    def may_leave(self, place: int) -> bool:
        """Whether the loop may end here."""
        op = self.ops[place]
        return op.kind in ENDS or any(p not in self.ops for p in self.after(place))

    def every_turn(self, place: int) -> bool:
        """Whether every iteration executes this instruction."""
        if place == self.head:
            return True
        todo, seen = [self.head], {self.head, place}
        while todo:
            for after in self.after(todo.pop()):
                if after == self.head:
                    return False
                if after in self.ops and after not in seen:
                    seen.add(after)
                    todo.append(after)
        return True

    def decisions(self, places: Iterable[int]) -> set[int]:
        """The slots that branches, or ends, look at."""
        found: set[int] = set()
        for op in (self.ops[p] for p in places):
            if op.kind is Kind.INDEXED_BRANCH:
                found |= _read(self.code, op)
            elif op.kind in (Kind.BRANCH, *ENDS) and op.guard >= 0:
                found.add(op.guard)
        return found


def _sources(loop: _Loop, wanted: set[int]) -> tuple[set[int], bool] | None:
    """The slots in the loop that the wanted ones are computed from, and whether memory is read.

    None where this is unknown.
    """
    memory, size = False, -1
    own = {parameter.name for parameter in loop.code.function.parameters}
    while len(wanted) > size:
        size = len(wanted)
        for op in loop.ops.values():
            if not wanted.intersection(op.destinations):
                continue
            if op.kind is Kind.PARAMETER and op.payload.key[0] not in own:
                return None  # a call's result
            memory |= op.kind is Kind.MEMORY
            wanted |= _read(loop.code, op)
    return wanted, memory


def _read(code: FunctionCode, op: Op) -> set[int]:
    """The slots that an instruction reads, its guard among them."""
    found = {code.slots[name] for name in registers(*op.instruction.operands) if name in code.slots}
    found.update(s for s in (*op.sources, op.guard) if s >= 0)
    return found
