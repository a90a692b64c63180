"""Where lanes that have parted do not meet, though their ways do.

ptxas has lanes wait for each other (`BSYNC`) at one place behind each branch and each loop. Others
at which several ways come together have none: the code behind a `goto` into a loop, or between a
loop's end and the place that a `goto` out of it leads to. Functions of a recursion have none at
all. There each part of a warp goes alone, until it meets those with which it began to wait.

Optimised code is left out: of its blocks the lines do not say well enough which is which.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from core.assembler.rewriting import Rewriting
from core.ptx.ast import Function, Module, Symbol

_Place = TypeVar("_Place")


def parting(module: Module, targets: Collection[int], met: Collection[tuple[int, int]]) -> Module:
    """The module in which such instructions are marked (`apart`).

    `targets` are the lines of the PTX that the machine code branches to, `met` those before which
    lanes wait for each other, each with the line at which they began to: lanes that were apart
    there stay so. Where a recursion parts them, these are marked, too (`parts`, `joins`, `begins`).
    """
    begins = dict[int, int]()  # what encloses the others comes first
    for line, begin in met:
        begins[line] = min(begin, begins.get(line, begin))
    apart, joins, has_parts = set[int](), dict[int, int](), False
    recursive = _recursive(module)
    for function in module.functions.values():
        if function.first_pc == function.end_pc or not targets:
            continue
        blocks = _blocks(module, function)
        before, after = _edges(module, function, blocks)
        lines = {first: _lines(module, first, end) for first, end in blocks.items()}
        waits, left, mine = set[int](), list[int](), set[int]()
        for first in blocks:
            if found := {begins[line] for line in lines[first] & begins.keys()}:
                waits.add(first)
                if outer := found - lines[first]:  # the others are within one instruction
                    joins[first] = min(outer)
        if function.name not in recursive:
            waits |= _heads(before, after, function.first_pc)
        for first, end in blocks.items():
            if any(one.opcode in _MEETING for one in module.instructions[first:end]):
                waits.add(first)
            elif before[first] and not lines[first].isdisjoint(targets):
                left.append(first)
        while left:
            if (first := left.pop()) not in waits | mine:
                mine.add(first)
                left += after[first]
        apart.update(pc for first in mine for pc in range(first, blocks[first]))
        has_parts |= bool(mine) and function.name in recursive
    rewriting, begun_at = Rewriting(module), {*begins.values()}
    for one in module.instructions if apart else ():
        is_apart, joined = one.pc in apart, joins.get(one.pc, 0) if has_parts else 0
        begun = one.ptx_line if has_parts and one.ptx_line in begun_at else 0
        if is_apart or begun or joined:
            is_part = is_apart and has_parts
            marked = replace(one, apart=is_apart, parts=is_part, begins=begun, joins=joined)
            rewriting.replace(one.pc, (marked,))
    return rewriting.module()


def _recursive(module: Module) -> set[str]:
    """The functions that call themselves, perhaps by way of others, by their names."""
    called = {
        f.name: [
            o.name
            for one in module.instructions[f.first_pc : f.end_pc]
            if one.opcode == "call"
            for o in one.operands
            if isinstance(o, Symbol) and o.name in module.functions
        ]
        for f in module.functions.values()
    }
    return {name for name, others in called.items() if name in _reached(others, called)}


def _reached(starts: list[_Place], after: dict[_Place, list[_Place]], *but: _Place) -> set[_Place]:
    """What some places lead to, these included, other than by way of one."""
    found, left = {*but}, [*starts]
    while left:
        if (block := left.pop()) not in found:
            found.add(block)
            left += after[block]
    return found.difference(but)


def _lines(module: Module, first: int, end: int) -> set[int]:
    """The lines of the PTX of a basic block."""
    return {one.ptx_line for one in module.instructions[first:end]}


def _blocks(module: Module, function: Function) -> dict[int, int]:
    """The end of each basic block, by its first pc."""
    inside = range(function.first_pc, function.end_pc)
    starts = {function.first_pc}
    for pc in inside:
        targets = module.targets(module.instructions[pc])
        starts |= {*targets, pc + 1} if targets else set()
    ordered = sorted(start for start in starts if start in inside)
    return dict(zip(ordered, [*ordered[1:], function.end_pc], strict=True))


def _edges(
    module: Module, function: Function, blocks: dict[int, int]
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """The blocks before and after each."""
    before: dict[int, list[int]] = {first: [] for first in blocks}
    after: dict[int, list[int]] = {first: [] for first in blocks}
    for first, end in blocks.items():
        last = module.instructions[end - 1]
        following = module.targets(last)
        if end < function.end_pc and (last.guard or last.opcode not in _LEAVING):
            following = [*following, end]
        after[first] = following
        for one in following:
            before[one].append(first)
    return before, after


_LEAVING = ("bra", "brx", "ret", "exit", "trap")
_MEETING = ("bar", "barrier")


def _heads(before: dict[int, list[int]], after: dict[int, list[int]], start: int) -> set[int]:
    """The first blocks of loops that have one way in."""
    found = set()
    for head in before:
        if all(block < head for block in before[head]):
            continue
        beside = _reached([start], after, head)
        outside = beside.intersection(before[head])
        if outside != {*before[head]} and not any(block > head for block in outside):
            found.add(head)
    return found
