"""The registers of a block, of which its warpgroups give some up and take others: `setmaxnreg`.

No value depends on them here. What is told is who would wait for ever: PTX ISA, "setmaxnreg", has
`.inc` wait until the block's pool has enough registers, and all warps of a warpgroup execute the
same instruction. An H200 (driver 580.159.04, 2026-11-30) hangs in both cases, and the registers of
threads that have ended do not come back to the pool.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from core.emulator.geometry import WARPGROUP, warp_rows
from core.emulator.machine_state import Lanes, MachineState
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op
from core.emulator.scheduling import MachinePart
from core.launch import WARP
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Function, Instruction, immediate

_OF_SM = 1 << 16  # registers (CUDA C++ Programming Guide, compute capability 9.0)
_STEP, _MOST = 8, 256  # registers of a thread come in eights


def _at_launch(function: Function) -> int:
    """The most registers that a thread of a kernel with `setmaxnreg` has as the launch begins.

    NVIDIA's assembler gives it all that the bounds of its block allow, and ignores the instruction
    where there are none: then it is 0.
    """
    most = math.prod(function.wanted_threads or function.most_threads or (0,))
    return min(_OF_SM // most // _STEP * _STEP, _MOST) if most else 0


@dataclass(frozen=True)
class _Change:
    """One `setmaxnreg` of a warp: how many registers a thread has then."""

    pc: int
    depth: int
    tick: int
    lane: int
    count: int


class RegisterPool(MachinePart):
    """What the warps of a machine made of their registers."""

    def __init__(self, state: MachineState) -> None:
        super().__init__(state)
        self.changes: dict[int, list[_Change]] = {}  # by warp, in order

    def change(self, lanes: Lanes, count: int) -> None:
        """The warps of these lanes have `count` registers a thread from now on."""
        geometry = self.state.geometry
        rows = warp_rows(lanes.active, geometry, 0)
        for warp in np.flatnonzero(rows.any(axis=1)).tolist():
            block, number = divmod(warp, geometry.warps)
            lane = block * geometry.threads + number * WARP + int(rows[warp].argmax())
            made = _Change(lanes.pc, lanes.group.depth, self.state.tick - 1, lane, count)
            self.changes.setdefault(warp, []).append(made)

    def finish(self, *, stuck: bool) -> None:
        """All threads have ended: tells who had waited for ever.

        Where they are `stuck`, some may not have come to their change yet.
        """
        launched = _at_launch(self.state.image.function)
        if stuck or not self.changes or not launched:
            return
        each = self.state.geometry.warps
        for block in range(len(self.state.geometry.blocks)):
            warps = range(block * each, (block + 1) * each)
            if not self._parted(warps):
                self._exhausted(warps, launched)

    def _parted(self, warps: range) -> bool:
        """Tells of warpgroups of which some warps execute what the others do not."""
        found = False
        for first in warps[::WARPGROUP]:
            group = [w for w in warps if first <= w < first + WARPGROUP]
            several = {w: [c.count for c in self.changes.get(w, ())] for w in group}
            longest = max(group, key=lambda w: len(several[w]))
            others = [w for w in group if several[w] != several[longest]]
            if not others:
                continue
            found = True
            theirs = several[others[0]]
            place = next(i for i, n in enumerate(several[longest]) if theirs[i : i + 1] != [n])
            geometry = self.state.geometry
            block, number = divmod(others[0], geometry.warps)
            away = block * geometry.threads + number * WARP
            made = self.changes[longest][place]
            self._tell(made, f"{WARPGROUP}", np.array([away]))
        return found

    def _exhausted(self, warps: range, launched: int) -> None:
        """Tells of a block whose warps take more registers than it has."""
        latest = [self.changes.get(w, [])[-1:] for w in warps]
        counts = [made[0].count if made else launched for made in latest]
        total, pool = WARP * sum(counts), WARP * launched * len(warps)
        grown = [made[0] for made in latest if made and made[0].count > launched]
        if total > pool and grown:
            last = max(grown, key=lambda made: made.tick)
            self._tell(last, f"{last.count}|{total}|{pool}|{launched}")

    def _tell(self, made: _Change, detail: str, others: NDArray[np.intp] | None = None) -> None:
        lanes = np.array([made.lane])
        self.state.fault(
            "deadlock", made.pc, made.depth, lanes, others, detail=detail, tick=made.tick
        )


def change_registers(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `setmaxnreg`."""
    count = immediate(instruction.operands[0])
    if count is None:
        raise unsupported(instruction, "does not say how many registers")
    return decoder.action(instruction, partial(_change, count))


def _change(count: int, lanes: Lanes) -> bool:
    lanes.state.part(RegisterPool).change(lanes, count)
    return True
