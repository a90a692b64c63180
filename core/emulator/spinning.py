"""Threads that wait in a loop: found by a state that repeats, so that others get their turn.

The machine runs the lowest program counter first, and a thread that spins on a flag would starve
the one that sets it. Hardware since Volta promises progress to every thread (CUDA C++ Programming
Guide, "Independent Thread Scheduling"). A group whose registers are the same again after a turn of
its loop, while it changed no memory, can only wait for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Mask
from core.emulator.groups import Group

_PERIOD = 128  # jumps back between two looks
_WINDOW = 4  # jumps back that a look lasts
FAIR = 100_000  # instructions after which a group that could run gets its turn


@dataclass
class Loop:
    """A jump back that was seen: how often since the last look, and the state at that look."""

    count: int = 0
    registers: list[NDArray[Any]] | None = None
    mask: Mask | None = None
    changes: int = -1  # what memory had seen of changes


class Spinning:
    """Watches the jumps back of one machine."""

    def __init__(self) -> None:
        self._loops: dict[tuple[int, int, int], Loop] = {}

    def spins(self, group: Group, target: int, registers: list[NDArray[Any]], changes: int) -> bool:
        """Told of every jump back: whether the group is at its target in the same state again."""
        key = (target, group.depth, group.warp)
        loop = self._loops.get(key)
        if loop is None:
            loop = self._loops[key] = Loop()
        loop.count += 1
        if loop.count < _PERIOD:
            return False
        old, loop.registers = loop.registers, list(registers)
        before, loop.changes = loop.changes, changes
        same_lanes = loop.mask is group.mask or np.array_equal(loop.mask, group.mask)  # type: ignore[arg-type]
        loop.mask = group.mask
        if loop.count >= _PERIOD + _WINDOW:
            loop.count, loop.registers = 0, None
        if old is None or before != changes or not same_lanes:
            return False
        same = all(_same(a, b, group.mask) for a, b in zip(old, registers, strict=True))
        if same:  # when it is woken, the next look comes soon
            loop.count, loop.registers = _PERIOD - 1, None
        return same


def _same(a: NDArray[Any], b: NDArray[Any], mask: Mask | None) -> bool:
    if a is b:
        return True
    a, b = (x[mask] if x.size > 1 and mask is not None else x for x in (a, b))
    if a.size != b.size:
        a, b = np.broadcast_arrays(a, b)
    return a.tobytes() == b.tobytes()
