"""Loops that cannot end by themselves: found by a state that repeats.

The machine runs the lowest program counter first, and a thread that spins on a flag would starve
the one that sets it. Hardware since Volta promises progress to every thread (CUDA C++ Programming
Guide, "Independent Thread Scheduling"). Where everything that decides about a loop's end is the
same as some iterations before, the group can only wait for others to change memory; where no load
decides, it never ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Mask
from core.emulator.lane_groups import Group
from core.emulator.loop_exits import Deciders, deciders
from core.emulator.program import FunctionCode

_PERIOD = 128  # jumps back between two looks
_WINDOW = 8  # jumps back that a look lasts: the longest cycle of states that is found
FAIR = 100_000  # instructions after which a group that could run gets its turn
NEVER = -1  # in place of the count of memory's changes: no change can end the loop


@dataclass
class Loop:
    """A jump back that was seen: how often since the last look, and the state at that look."""

    decides: Deciders | None = None
    count: int = 0
    registers: list[NDArray[Any]] | None = None
    mask: Mask | None = None
    changes: int = 0  # what memory had seen of changes


class Spinning:
    """Watches the jumps back of one machine."""

    def __init__(self) -> None:
        self._loops: dict[tuple[int, int, int], Loop] = {}
        self._looked_at: dict[tuple[int, int, int], Loop] = {}  # the loops with a state to compare

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
            loop = self._loops[key] = Loop()
        loop.count += 1
        if loop.count < _PERIOD:
            return None
        decides = loop.decides = loop.decides or deciders(code, target)
        now = [registers[slot] for slot in decides.slots]
        if loop.registers is None or not _same_lanes(loop.mask, group.mask):
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


def _same_lanes(a: Mask | None, b: Mask | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def _same(a: NDArray[Any], b: NDArray[Any], mask: Mask | None) -> bool:
    if a is b:
        return True
    a, b = (x[mask] if x.size > 1 and mask is not None else x for x in (a, b))
    if a.size != b.size:
        a, b = np.broadcast_arrays(a, b)
    return a.tobytes() == b.tobytes()
