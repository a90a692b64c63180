"""Ways through a function's code: what follows what, where ways meet, straight runs and loops."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from core.emulator.program import FunctionCode, Kind, Op

ENDS = (Kind.RETURN, Kind.TRAP)


def run_ends(ops: Sequence[Op]) -> list[int]:
    """For each op, where the unguarded COMPUTE run that it belongs to ends (itself if in none)."""
    ends = [0] * len(ops)
    end = len(ops)
    for i in range(len(ops) - 1, -1, -1):
        if ops[i].kind is not Kind.COMPUTE or ops[i].guard >= 0:
            end = i
        ends[i] = end
        if ops[i].is_special:
            end = i
    return ends


def with_latches(ops: Sequence[Op], first_pc: int) -> list[Op]:
    """The ops, in which jumps back know the last one that goes where they go.

    Lanes that go on with a loop early (`continue`) wait there for those that are still in it, as
    ptxas has them do (`BSYNC` before the loop's one jump back).
    """
    back: dict[int, list[int]] = {}  # by target: who jumps back there
    for pc, op in enumerate(ops, first_pc):
        if op.kind is Kind.BRANCH and op.target <= pc:
            back.setdefault(op.target, []).append(pc)
    last = {pc: jumps[-1] for jumps in back.values() if len(jumps) > 1 for pc in jumps}
    return [
        replace(op, latch=last[pc]) if pc in last else op for pc, op in enumerate(ops, first_pc)
    ]


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
        after = {i for i in following(code.ops[place], place, first) if i < len(code.ops)} - found
        found |= after
        todo += after
    return other - first in found


def may_end_apart(code: FunctionCode, pc: int, other: int) -> bool:
    """Whether a thread at `other` may end without any instruction that all threads at `pc` execute.

    Where the two part for good: one returns early, and the other goes on.
    """
    ops, first = code.ops, code.first_pc
    before = _preceding(ops, first)
    way = _way_to_an_end(ops, first, pc - first, frozenset())
    joins = {i for i in way or () if len(before.get(i, ())) > 1 and not _only_ends(ops, first, i)}
    passed = {i for i in joins if _way_to_an_end(ops, first, pc - first, frozenset({i})) is None}
    return _way_to_an_end(ops, first, other - first, frozenset(passed)) is not None


def following(op: Op, index: int, first: int) -> tuple[int, ...]:
    """The instructions that may follow, as places in the function."""
    if op.kind is Kind.INDEXED_BRANCH:
        after = tuple(pc - first for pc in op.payload.targets)
    elif op.kind is Kind.BRANCH:
        after = (op.target - first,)
    elif op.kind in ENDS:
        after = ()
    else:
        return (index + 1,)
    return after if op.guard < 0 else (*after, index + 1)


def _preceding(ops: list[Op], first: int) -> dict[int, list[int]]:
    """The places that an instruction may come after, by its place."""
    before: dict[int, list[int]] = {}
    for i, op in enumerate(ops):
        for after in following(op, i, first):
            before.setdefault(after, []).append(i)
    return before


def loop_body(ops: list[Op], first: int, head: int) -> set[int]:
    """The natural loop of every jump back to `head`."""
    before = _preceding(ops, first)
    body = {head}
    todo = [i for i in before.get(head, []) if i >= head]
    while todo:
        i = todo.pop()
        if i not in body:
            body.add(i)
            todo += before.get(i, [])
    return body


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
        if ops[place].kind in ENDS:
            way = [place]
            while came_from[way[-1]] != way[-1]:
                way.append(came_from[way[-1]])
            return tuple(way)
        for after in following(ops[place], place, first):
            if after not in came_from and after not in closed:
                came_from[after] = place
                todo.append(after)
    return None


def _only_ends(ops: list[Op], first: int, place: int) -> bool:
    """Whether nothing but the thread's end comes from this place on."""
    while ops[place].guard < 0 and ops[place].kind in (Kind.BRANCH, Kind.NOTHING):
        (after,) = following(ops[place], place, first)
        if after <= place:
            return False
        place = after
    return ops[place].kind in ENDS
