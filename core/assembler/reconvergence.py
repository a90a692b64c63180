"""Where lanes of a warp that have parted wait for each other, as the machine code says.

Since Volta each thread has a program counter, and lanes that have parted meet where their ways meet
again: they wait there (`BSYNC`). This has two exceptions, which a module is marked with:

- Where a thread may wait for another one (in loops that an atomic or a strong access may end, and
  in functions that have one), ptxas puts `YIELD`: lanes that wait go on without those that yielded.
- ptxas has lanes wait at one place behind each branch and each loop. Others at which several ways
  come together have none: the code behind a `goto` into a loop, or between a loop's end and the
  place that a `goto` out of it leads to. Functions of a recursion have none at all. There each part
  of a warp goes alone, until it meets those with which it began to wait. Optimised code is left
  out: of its blocks the lines do not say well enough which is which.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from core.assembler.call_stack import call_graph, recursive
from core.assembler.rewriting import Rewriting
from core.ptx.ast import Function, Instruction, Module
from core.ptx.opcodes import opcode_of

_STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "cv", "cg"))
_WAITS = frozenset(("try_wait", "test_wait"))


def yielding(module: Module, lines: Sequence[int]) -> Module:
    """The module in which the accesses yield for which its machine code does.

    `lines` are those of the PTX at which it does. An access of the innermost loop around such a
    line stands for it, or one of the function: the first at the line or after it. Before it a
    function may have plain accesses, of which the first stands for it. `nanosleep` always yields.
    """
    rewriting = Rewriting(module)
    yields = {i.ptx_line for i in module.instructions if i.opcode == "nanosleep"}
    functions = sorted(module.functions.values(), key=lambda function: function.first_pc)
    for line in lines:
        if (access := _access(module, functions, line)) is not None:
            yields.add(access.ptx_line)
    for one in module.instructions:
        if one.ptx_line in yields:
            rewriting.replace(one.pc, (replace(one, yields=True),))
    return rewriting.module()


def _access(module: Module, functions: Sequence[Function], line: int) -> Instruction | None:
    """The strong access that a `YIELD` at a line belongs to, if there is one.

    The line is in the first function that ends behind it: it may be that of the function's name.
    """
    code = module.instructions
    for function in functions:
        inside = range(function.first_pc, function.end_pc)
        if inside and line <= code[inside[-1]].ptx_line:
            break
    else:
        return None
    at = next(pc for pc in inside if code[pc].ptx_line >= line)
    bodies = [
        range(target, jump.pc + 1)
        for jump in code[at : function.end_pc]
        for target in module.targets(jump)
        if target <= at
    ]
    for body in (*sorted(bodies, key=len), inside):
        strong = [code[pc] for pc in body if _is_strong(code[pc])]
        if strong:
            found = next((i for i in strong if i.pc >= at), strong[0])
            if body == inside and not function.is_entry:  # it yields where it begins
                before = (code[pc] for pc in range(at, found.pc))
                accesses = (i for i in before if i.opcode in ("ld", "st"))
                found = next((i for i in accesses if "param" not in i.modifiers), found)
            return found
    return None


def _is_strong(instruction: Instruction) -> bool:
    """Whether a thread may wait for another one by this instruction (PTX ISA, "Strong operations").

    Loads that skip L1 (`.cg`) count as ptxas counts them.
    """
    modifiers = {*instruction.modifiers}
    if instruction.opcode in ("atom", "red"):
        return True
    if instruction.opcode == "mbarrier":
        return not modifiers.isdisjoint(_WAITS)
    return opcode_of(instruction).is_memory and not modifiers.isdisjoint(_STRONG)


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
    recursion = recursive(call_graph(module))
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
        if function.name not in recursion:
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
        has_parts |= bool(mine) and function.name in recursion
    rewriting, begun_at = Rewriting(module), {*begins.values()}
    for one in module.instructions if apart else ():
        is_apart, joined = one.pc in apart, joins.get(one.pc, 0) if has_parts else 0
        begun = one.ptx_line if has_parts and one.ptx_line in begun_at else 0
        if is_apart or begun or joined:
            is_part = is_apart and has_parts
            marked = replace(one, apart=is_apart, parts=is_part, begins=begun, joins=joined)
            rewriting.replace(one.pc, (marked,))
    return rewriting.module()


def _reached(start: int, after: dict[int, list[int]], but: int) -> set[int]:
    """The blocks that one leads to, itself included, other than by way of a third."""
    found, left = {but}, [start]
    while left:
        if (block := left.pop()) not in found:
            found.add(block)
            left += after[block]
    return found - {but}


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
        beside = _reached(start, after, head)
        outside = beside.intersection(before[head])
        if outside != {*before[head]} and not any(block > head for block in outside):
            found.add(head)
    return found
