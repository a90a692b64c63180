"""The loops of a function, read off its branches: where they begin and end, what leaves them."""

from __future__ import annotations

from dataclasses import dataclass

from core.ptx.ast import Function, Module


@dataclass(frozen=True)
class Loop:
    """Instructions from `first` up to `end` (exclusive), entered at `first`.

    `test_end` is where the condition at the loop's head ends, or None if the loop tests at its end.
    """

    first: int
    end: int
    test_end: int | None


def outermost_loops(module: Module, function: Function) -> tuple[Loop, ...]:
    """The loops of a function that lie in no other.

    A loop is a branch backwards and all between its target and itself; NVRTC lays loops out so.
    """
    spans = sorted(back_edges(module, function))
    loops: list[tuple[int, int]] = []
    for first, end in spans:
        if loops and first < loops[-1][1]:
            loops[-1] = (loops[-1][0], max(end, loops[-1][1]))
        else:
            loops.append((first, end))
    return tuple(Loop(first, end, _test_end(module, first, end)) for first, end in loops)


def _target_of(module: Module, pc: int) -> int | None:
    """Where a branch leads, by its pc; None for another instruction, or a table of branches."""
    instruction = module.instructions[pc]
    found = module.targets(instruction) if instruction.opcode == "bra" else []
    return found[0] if found else None


def back_edges(module: Module, function: Function) -> list[tuple[int, int]]:
    """All loops of a function, those within others too: the pc at which each begins and ends."""
    found = []
    for pc in range(function.first_pc, function.end_pc):
        target = _target_of(module, pc)
        if target is not None and target <= pc:
            found.append((target, pc + 1))
    return found


def leaves_loop(module: Module, pc: int, first: int, end: int) -> bool:
    """Whether a branch in a loop, which begins and ends at these pcs, has a way that leads out."""
    target = _target_of(module, pc)
    if target is None or not first <= pc < end:
        return False
    return not all(first <= _arrival(module, way) < end for way in (target, pc + 1))


def _arrival(module: Module, pc: int | None) -> int:
    """The first instruction from here on that is no mere jump; -1 if no one can tell."""
    for _ in module.instructions:
        if pc is None or pc >= len(module.instructions):
            return -1
        instruction = module.instructions[pc]
        if instruction.opcode != "bra" or instruction.guard is not None:
            return pc
        pc = _target_of(module, pc)
    return -1


def _test_end(module: Module, first: int, end: int) -> int | None:
    """Where the head's test ends: at the first branches, if one of them leaves the loop."""
    pc = first
    while pc < end and _target_of(module, pc) is None:
        pc += 1
    leaves = False
    while pc < end:
        target = _target_of(module, pc)
        if target is None:
            break
        if target <= pc:
            return None
        leaves |= not first <= target < end
        pc += 1
    return pc if leaves else None
