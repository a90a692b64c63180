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

from core.assembler.rewriting import Rewriting
from core.ptx.ast import Function, Module


def parting(module: Module, targets: Collection[int], met: Collection[tuple[int, int]]) -> Module:
    """The module in which such instructions are marked (`apart`).

    `targets` are the lines of the PTX that the machine code branches to, `met` those before which
    lanes wait for each other, each with the line at which they began to: lanes that were apart
    there stay so. Where any lanes part, these are marked, too (`joins`, `begins`).
    """
    begins = dict[int, int]()  # what encloses the others comes first
    for line, begin in met:
        begins[line] = min(begin, begins.get(line, begin))
    apart, joins = set[int](), dict[int, int]()
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
        if waits:
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
        if any(len(before[first]) > 1 or _leaves(first, before, after) for first in mine):
            apart.update(pc for first in mine for pc in range(first, blocks[first]))
    rewriting, begun_at = Rewriting(module), {*begins.values()}
    for one in module.instructions if apart else ():
        is_apart, joined = one.pc in apart, joins.get(one.pc, 0)
        begun = one.ptx_line if one.ptx_line in begun_at else 0
        if is_apart or begun or joined:
            marked = replace(one, apart=is_apart, begins=begun, joins=joined)
            rewriting.replace(one.pc, (marked,))
    return rewriting.module()


def _leaves(block: int, before: dict[int, list[int]], after: dict[int, list[int]]) -> bool:
    """Whether lanes may come to a block one turn of a loop after another, as it is behind it."""
    (last,) = before[block] or (block,)
    return last in _reached(after[last], after) and last not in _reached([block], after)


def _reached(starts: list[int], after: dict[int, list[int]], without: int = -1) -> set[int]:
    """The blocks that some lead to, these included, other than by way of one."""
    found, left = set[int](), [*starts]
    while left:
        if (block := left.pop()) not in found and block != without:
            found.add(block)
            left += after[block]
    return found


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
