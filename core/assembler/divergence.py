"""Where lanes that have parted do not meet, though their ways do.

ptxas has lanes wait for each other (`BSYNC`) at one place behind each branch and each loop. Others
at which several ways come together have none: the code behind a `goto` into a loop, or between a
loop's end and the place that a `goto` out of it leads to. There each part of a warp goes alone.

Optimised code is left out: of its blocks the lines do not say well enough which is which.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from core.assembler.rewriting import Rewriting
from core.ptx.ast import Function, Instruction, Module, Symbol


def parting(module: Module, targets: Collection[int], met: Collection[int]) -> Module:
    """The module in which such instructions are marked (`apart`).

    `targets` are the lines of the PTX that the machine code branches to, `met` those before which
    lanes wait for each other.
    """
    targets, met = {*targets}, {*met}
    functions = [f for f in module.functions.values() if targets and f.first_pc != f.end_pc]
    ways = {f.name: _Ways.of(module, f, targets, met) for f in functions}
    known, parted = -1, frozenset[str]()
    while len(parted) != known:  # who calls such a function parts, too
        known = len(parted)
        parted = frozenset(name for name, one in ways.items() if one.returns_apart(module, parted))
    rewriting = Rewriting(module)
    for one in ways.values():
        for first in one.apart(module, parted):
            for pc in range(first, one.blocks[first]):
                rewriting.replace(pc, (replace(module.instructions[pc], apart=True),))
    return rewriting.module()


@dataclass(frozen=True)
class _Ways:
    """The blocks of a function: the end of each and the blocks after it, by its first pc.

    At `waits` lanes meet, and those of `left` begin where they do not.
    """

    blocks: dict[int, int]
    after: dict[int, list[int]]
    waits: frozenset[int]
    left: tuple[int, ...]

    @classmethod
    def of(cls, module: Module, function: Function, targets: set[int], met: set[int]) -> _Ways:
        """Reads a function that has code."""
        blocks = _blocks(module, function)
        before, after = _edges(module, function, blocks)
        code = module.instructions[function.first_pc : function.end_pc]
        is_joined = any(one.ptx_line in met for one in code)  # functions of a recursion are not
        waits = _heads(before, after, function.first_pc) if is_joined else set[int]()
        left = list[int]()
        for first, end in blocks.items():
            code = module.instructions[first:end]
            if any(one.ptx_line in met or one.opcode in _MEETING for one in code):
                waits.add(first)
            elif before[first] and any(one.ptx_line in targets for one in code):
                left.append(first)
        return cls(blocks, after, frozenset(waits), tuple(left))

    def apart(self, module: Module, parted: Collection[str]) -> set[int]:
        """The first pcs of the blocks in which each part goes alone.

        `parted` are the functions from which lanes return apart.
        """
        ends = {end: _callee(module.instructions[end - 1]) for end in self.blocks.values()}
        left, found = [*self.left, *(end for end in ends if ends[end] in parted)], set[int]()
        while left:
            if (first := left.pop()) not in found | self.waits:
                found.add(first)
                left += self.after[first]
        return found

    def returns_apart(self, module: Module, parted: Collection[str]) -> bool:
        """Whether lanes that part in the function do not meet before its end."""
        apart = self.apart(module, parted)
        return any(module.instructions[self.blocks[first] - 1].opcode == "ret" for first in apart)


def _callee(one: Instruction) -> str:
    """The function that an instruction calls by its name, "" if it is no such call."""
    names = (o.name for o in one.operands if isinstance(o, Symbol))
    return next(names, "") if one.opcode == "call" else ""


def _blocks(module: Module, function: Function) -> dict[int, int]:
    """The end of each basic block, by its first pc."""
    inside = range(function.first_pc, function.end_pc)
    starts = {function.first_pc}
    for pc in inside:
        targets = module.targets(module.instructions[pc])
        is_end = targets or module.instructions[pc].opcode == "call"
        starts |= {*targets, pc + 1} if is_end else set()
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
