"""What decides whether a loop goes on: the registers its exits depend on, and whether memory does.

A loop is the natural loop of the jumps back to one instruction (Aho, Lam, Sethi and Ullman,
*Compilers*, section 9.6). If everything that decides about its exits has the same value again after
some iterations, the loop never ends by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from core.emulator.program import FunctionCode, Kind, Op, ParameterAccess
from core.ptx.ast import registers

_ENDS = (Kind.RETURN, Kind.TRAP)
_FOLLOWED = (
    Kind.COMPUTE,
    Kind.BRANCH,
    Kind.INDEXED_BRANCH,
    Kind.NOTHING,
    Kind.BARRIER,
    Kind.FENCE,
    Kind.SYNC,
    Kind.RETURN,
    Kind.TRAP,
    Kind.MEMORY,
    Kind.PARAMETER,
)


@dataclass(frozen=True)
class Deciders:
    """The slots that a loop's exits depend on, whether they depend on loads too, and its pcs."""

    slots: tuple[int, ...]
    memory: bool
    body: frozenset[int]


def deciders(code: FunctionCode, head: int) -> Deciders:
    """What decides about the loop whose iterations begin at pc `head`; in doubt, every register."""
    ops, first = code.ops, code.first_pc
    places = _body(ops, first, head - first)
    body = frozenset(first + i for i in places)
    found = _deciding(_Loop(code, head - first, {i: ops[i] for i in sorted(places)}))
    if found is None:
        return Deciders(tuple(range(len(code.dtypes))), memory=True, body=body)
    slots, memory = found
    return Deciders(tuple(sorted(slots)), memory, body)


@dataclass(frozen=True)
class _Loop:
    """The instructions of a loop by their place in the function, ascending."""

    code: FunctionCode
    head: int
    ops: dict[int, Op]

    def after(self, place: int) -> tuple[int, ...]:
        """The places that may follow."""
        return _next(self.ops[place], place, self.code.first_pc)

    def may_leave(self, place: int) -> bool:
        """Whether the loop may end here."""
        op = self.ops[place]
        return op.kind in _ENDS or any(p not in self.ops for p in self.after(place))

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
            elif op.kind in (Kind.BRANCH, *_ENDS) and op.guard >= 0:
                found.add(op.guard)
        return found


def _deciding(loop: _Loop) -> tuple[set[int], bool] | None:
    """The slots, and whether memory decides too; None where this is unknown."""
    if not all(op.kind in _FOLLOWED for op in loop.ops.values()):
        return None
    exits = [place for place in loop.ops if loop.may_leave(place)]
    found = _sources(loop, loop.decisions(exits))
    if found is None:
        return None
    writers = [p for p, op in loop.ops.items() if found[0].intersection(op.destinations)]
    if all(loop.every_turn(place) for place in (*exits, *writers)):
        return found
    return _sources(loop, loop.decisions(loop.ops))  # other branches decide too


def _sources(loop: _Loop, wanted: set[int]) -> tuple[set[int], bool] | None:
    """Everything in the loop that the wanted slots are computed from."""
    memory, size = False, -1
    while len(wanted) > size:
        size = len(wanted)
        for op in loop.ops.values():
            if not wanted.intersection(op.destinations):
                continue
            if op.kind is Kind.PARAMETER and not _from_kernel(loop.code, op.payload):
                return None  # a call's result
            memory |= op.kind is Kind.MEMORY
            wanted |= _read(loop.code, op)
    return wanted, memory


def _from_kernel(code: FunctionCode, access: ParameterAccess) -> bool:
    return any(p.name == access.key[0] for p in code.function.parameters)


def _read(code: FunctionCode, op: Op) -> set[int]:
    """The slots that an instruction reads, its guard among them."""
    found = {code.slots[name] for name in registers(*op.instruction.operands) if name in code.slots}
    found.update(s for s in (*op.sources, op.guard) if s >= 0)
    return found


def _next(op: Op, index: int, first: int) -> tuple[int, ...]:
    """The instructions that may follow, as places in the function."""
    if op.kind is Kind.INDEXED_BRANCH:
        after = tuple(pc - first for pc in op.payload.targets)
    elif op.kind is Kind.BRANCH:
        after = (op.target - first,)
    elif op.kind in _ENDS:
        after = ()
    else:
        return (index + 1,)
    return after if op.guard < 0 else (*after, index + 1)


def must_pass(code: FunctionCode, pc: int, other: int) -> bool:
    """Whether a thread at `pc` comes to `other` before it ends, whatever way it takes."""
    first = code.first_pc
    return _way_to_an_end(code.ops, first, pc - first, frozenset({other - first})) is None


def reaches(code: FunctionCode, pc: int, other: int) -> bool:
    """Whether a thread at `pc` may come to `other`."""
    first = code.first_pc
    found, todo = set[int](), [pc - first]
    while todo:
        place = todo.pop()
        after = {i for i in _next(code.ops[place], place, first) if i < len(code.ops)} - found
        found |= after
        todo += after
    return other - first in found


def may_end_apart(code: FunctionCode, pc: int, other: int) -> bool:
    """Whether a thread at `other` may end without any instruction that all threads at `pc` execute.

    Where the two part for good: one returns early, and the other goes on.
    """
    ops, first = code.ops, code.first_pc
    before = _before(ops, first)
    way = _way_to_an_end(ops, first, pc - first, frozenset())
    joins = {i for i in way or () if len(before.get(i, ())) > 1 and not _only_ends(ops, first, i)}
    passed = {i for i in joins if _way_to_an_end(ops, first, pc - first, frozenset({i})) is None}
    return _way_to_an_end(ops, first, other - first, frozenset(passed)) is not None


def _way_to_an_end(
    ops: list[Op], first: int, start: int, closed: frozenset[int]
) -> tuple[int, ...] | None:
    """The places on a shortest way from `start` to the thread's end that passes none of `closed`.

    None where there is no such way.
    """
    came_from = {start: start}
    todo = deque([] if start in closed else [start])
    while todo:
        place = todo.popleft()
        if ops[place].kind in _ENDS:
            way = [place]
            while came_from[way[-1]] != way[-1]:
                way.append(came_from[way[-1]])
            return tuple(way)
        for after in _next(ops[place], place, first):
            if after not in came_from and after not in closed:
                came_from[after] = place
                todo.append(after)
    return None


def _only_ends(ops: list[Op], first: int, place: int) -> bool:
    """Whether nothing but the thread's end comes from this place on."""
    while ops[place].guard < 0 and ops[place].kind in (Kind.BRANCH, Kind.NOTHING):
        (following,) = _next(ops[place], place, first)
        if following <= place:
            return False
        place = following
    return ops[place].kind in _ENDS


def _before(ops: list[Op], first: int) -> dict[int, list[int]]:
    """The places that an instruction may come after, by its place."""
    before: dict[int, list[int]] = {}
    for i, op in enumerate(ops):
        for after in _next(op, i, first):
            before.setdefault(after, []).append(i)
    return before


def _body(ops: list[Op], first: int, head: int) -> set[int]:
    """The natural loop of every jump back to `head`."""
    before = _before(ops, first)
    body = {head}
    todo = [i for i in before.get(head, []) if i >= head]
    while todo:
        i = todo.pop()
        if i not in body:
            body.add(i)
            todo += before.get(i, [])
    return body
