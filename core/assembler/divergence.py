"""Where lanes that have parted do not meet, though their ways do.

ptxas has lanes wait for each other (`BSYNC`) at one place behind each branch and each loop. Others
at which several ways come together have none: the code behind a `goto` into a loop, or between a
loop's end and the place that a `goto` out of it leads to. There each part of a warp goes alone.

Optimised code is left out: of its blocks the lines do not say well enough which is which.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from core.assembler.rewriting import Rewriting
from core.ptx.ast import Function, Module


def parting(module: Module, targets: Collection[int], met: Collection[int]) -> Module:
    """The module in which such instructions are marked (`apart`).

    `targets` are the lines of the PTX that the machine code branches to, `met` those before which
    lanes wait for each other.
    """
    targets, met, rewriting = {*targets}, {*met}, Rewriting(module)
    for function in module.functions.values():
        if function.first_pc == function.end_pc or not targets:
            continue
        blocks = _blocks(module, function)
        before, after = _edges(module, function, blocks)
        waits, left = _heads(before, after, function.first_pc), list[int]()
        for first, end in blocks.items():
            code = module.instructions[first:end]
            if any(one.ptx_line in met or one.opcode in _MEETING for one in code):
                waits.add(first)
            elif before[first] and any(one.ptx_line in targets for one in code):
                left.append(first)
        apart = set[int]()
        while left:
            if (first := left.pop()) not in apart | waits:
                apart.add(first)
                left += after[first]
        for first in apart:
            for pc in range(first, blocks[first]):
                rewriting.replace(pc, (replace(module.instructions[pc], apart=True),))
    return rewriting.module()


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
        beside, left = set[int](), [start] if start != head else []
        while left:
            if (block := left.pop()) not in beside and block != head:
                beside.add(block)
                left += after[block]
        outside = beside.intersection(before[head])
        if outside != {*before[head]} and not any(block > head for block in outside):
            found.add(head)
    return found
