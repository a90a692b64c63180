"""How the registers of a machine that runs one block depend on which block it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.affine.block_values import (
    ZERO,
    Affine,
    Blocks,
    Dependence,
    Mark,
    OverBlocks,
    as_kind,
    corners_of,
    merged,
    of_lanes,
    range_of,
    select,
    special_dependence,
    tidy,
    transfer,
)
from core.emulator.call_frames import Frame
from core.emulator.events import Ints, Mask
from core.emulator.lane_groups import Group
from core.emulator.program import Op
from core.emulator.state import MachineState
from core.ptx.ast import Immediate, Register
from core.ptx.types import PRED, TYPES, PtxType


class DependsOnData(Exception):
    """One block cannot represent others; the text says where and why."""


class Dependences:
    """Follows how the registers of a machine that runs a single block depend on blockIdx.

    Whenever a comparison depends on blockIdx, the blocks for which it would come out otherwise are
    taken from `equivalent`.
    """

    def __init__(self, state: MachineState, candidates: Ints, origin: Ints) -> None:
        """`candidates` (n, 3) are the blockIdx to compare with; `origin` is this block's."""
        self.state = state
        self._steps = candidates - origin
        self.equivalent: Mask = np.ones(len(candidates), bool)
        self._narrowed()
        self._deps: dict[int, list[Dependence]] = {}
        self._compared: dict[tuple[int, ...], tuple[list[Any], Mask]] = {}

    def _narrow(self, same: Mask) -> None:
        """Keeps of the equivalent blocks those of `same`."""
        if not same[self.equivalent].all():
            self.equivalent &= same
            self._narrowed()

    def _narrowed(self) -> None:
        steps = self._steps[self.equivalent]
        self._corners = corners_of(steps)
        self._varying = [bool(axis.any()) for axis in steps.T]

    def of(self, frame: Frame) -> list[Dependence]:
        """The dependence of each slot of a frame."""
        found = self._deps.get(id(frame))
        if found is None:
            found = [None] * len(frame.registers)
            for slot, name in frame.code.specials:
                if name.startswith("%"):
                    found[slot] = special_dependence(name)
            self._deps[id(frame)] = found
        return found

    def seen_by(self, dependence: Dependence, mask: Mask | None) -> Affine | Mark | None:
        """The dependence as the lanes of a mask see it, among blocks that are still equivalent."""
        found = of_lanes(dependence, mask)
        if not isinstance(found, Affine):
            return found
        table = found.table
        if table is not None and not table[self.equivalent].any():
            table = None
        still = all(v or not a for v, a in zip(self._varying, found.axes, strict=True))
        if table is found.table and still:
            return found
        parts = (found.x, found.y, found.z)
        x, y, z = (c if v else ZERO for c, v in zip(parts, self._varying, strict=True))
        return tidy(Affine(x, y, z, table))

    def refuse(self, op: Op, what: str, mark: Mark) -> DependsOnData:
        """The error of an instruction that needs what cannot be followed."""
        line = self.state.image.source_line(op.instruction.pc)
        return DependsOnData(f"{what} of line {line} depends on {mark.value}")

    def check_guard(self, group: Group, op: Op, deps: list[Dependence]) -> None:
        """Raises `DependsOnData` where the instruction's guard cannot be followed."""
        if op.guard >= 0:
            mark = of_lanes(deps[op.guard], group.mask)
            if isinstance(mark, Mark):
                raise self.refuse(op, "the condition", mark)

    @staticmethod
    def put(deps: list[Dependence], op: Op, new: Dependence, mask: Mask | None) -> None:
        """Gives the destinations of an instruction, for the lanes of `mask`, a new dependence."""
        for slot in op.destinations:
            if slot >= 0:
                deps[slot] = new if mask is None else merged(deps[slot], new, mask)

    def result(self, frame: Frame, group: Group, op: Op, deps: list[Dependence]) -> Dependence:
        """The dependence of what an instruction computes."""
        self.check_guard(group, op, deps)
        seen = {slot: self.seen_by(deps[slot], group.mask) for slot in op.sources}
        if all(dependence is None for dependence in seen.values()):
            return None
        if op.instruction.opcode in ("setp", "set"):
            return self._compare(frame, group, op, seen)
        found = transfer(op, lambda i: self._operand(frame, op, i, seen), self._in_range)
        if found is Mark.UNKNOWN:
            return self._regrouped(frame, group, op, seen)
        return found

    def _operand(
        self, frame: Frame, op: Op, index: int, deps: dict[int, Affine | Mark | None]
    ) -> tuple[NDArray[Any], Affine | Mark | None]:
        """The value of a source operand, as its instruction reads it, and its dependence."""
        operand = op.instruction.operands[index + 1]
        named = [TYPES[m] for m in op.instruction.modifiers if m in TYPES]
        kind = named[-1] if named else TYPES["b64"]  # of an address: isspacep names no type
        if isinstance(operand, Immediate):  # an unsigned factor may be printed as a negative one
            return np.array([operand.value]).astype(kind.dtype), None
        if isinstance(operand, Register):
            slot = frame.code.slots[operand.name]
            if op.instruction.opcode == "selp" and index == 2:
                kind = PRED
            return as_kind(frame.registers[slot], kind), deps.get(slot)
        slots = [s for s, n in frame.code.specials if n == getattr(operand, "name", "")]
        if slots:
            return frame.registers[slots[0]], deps.get(slots[0])
        return np.zeros(1, np.int64), None

    def _in_range(self, value: NDArray[Any], dependence: Affine, kind: PtxType) -> bool:
        """Whether the value stays within its type for every block that is still equivalent."""
        low, high = range_of(kind)
        exact = value.astype(np.int64)
        least = most = 0
        if dependence.table is not None:
            moves = dependence.table[self.equivalent]
            least, most = int(moves.min()), int(moves.max())
        for corner in self._corners:
            moved = exact + dependence.shift(corner)
            if int(moved.min()) + least < low or int(moved.max()) + most > high:
                return False
        return True

    def _compare(
        self, frame: Frame, group: Group, op: Op, deps: dict[int, Affine | Mark | None]
    ) -> Dependence:
        """Keeps the blocks in which the comparison has the same results."""
        for dependence in deps.values():
            if isinstance(dependence, Mark):
                return dependence
        arrays = [frame.registers[slot] for slot in op.sources]
        key = (op.instruction.pc, id(group.mask), *(id(a) for a in arrays))
        known = self._compared.get(key)
        if known is None:
            over = self._over_blocks(frame, group, op, deps)
            if over is None:
                return Mark.UNKNOWN
            same = self._where(
                over, [a == b for a, b in zip(over.results(), over.here(), strict=True)]
            )
            self._compared[key] = ([*arrays, group.mask], same)  # kept alive: ids stay theirs
        else:
            same = known[1]
        self._narrow(same)
        return None

    def _over_blocks(
        self, frame: Frame, group: Group, op: Op, deps: dict[int, Affine | Mark | None]
    ) -> OverBlocks | None:
        affine = {slot: d for slot, d in deps.items() if isinstance(d, Affine)}
        blocks = Blocks(self._steps, self.equivalent)
        over = OverBlocks(op, frame.registers, affine, blocks, group.mask)
        return None if over.is_too_much else over

    def _where(self, over: OverBlocks, alike: list[Mask]) -> Mask:
        """The equivalent blocks for which all lanes of `alike` (lanes, m) say yes."""
        same = self.equivalent.copy()
        same[same] = np.all([a.all(axis=0) for a in alike], axis=0)[over.inverse]
        return same

    def _regrouped(
        self, frame: Frame, group: Group, op: Op, deps: dict[int, Affine | Mark | None]
    ) -> Dependence:
        """The dependence of a result that is worked out block by block.

        It can be followed where all lanes move alike; of a minimum or maximum, which may hold some
        lanes fast, also where the same lanes take the same operand.
        """
        kinds = [TYPES[m] for m in op.instruction.modifiers if m in TYPES]
        marked = any(isinstance(d, Mark) for d in deps.values())
        if marked or len(op.destinations) != 1 or any(kind.is_float for kind in kinds):
            return Mark.UNKNOWN
        over = self._over_blocks(frame, group, op, deps)
        if over is None:
            return Mark.UNKNOWN
        (results,), (here,) = over.results(), over.here()
        moved = results.astype(np.int64) - here.astype(np.int64)
        if (moved == moved[0]).all():
            if not moved[0].any():
                return None
            table = np.zeros(len(self._steps), np.int64)
            table[self.equivalent] = moved[0][over.inverse]
            return Affine(ZERO, ZERO, ZERO, table)
        if op.instruction.opcode in ("min", "max"):
            return self._bounded(frame, group, op, deps)
        return Mark.UNKNOWN

    def _bounded(
        self, frame: Frame, group: Group, op: Op, deps: dict[int, Affine | Mark | None]
    ) -> Dependence:
        """Keeps the blocks in which each lane's minimum or maximum is the same operand."""
        over = self._over_blocks(frame, group, op, deps)
        operand = op.instruction.operands[1]
        if over is None or not isinstance(operand, Register):
            return Mark.UNKNOWN
        slot = frame.code.slots[operand.name]
        (results,), (here,) = over.results(), over.here()
        own = as_kind(over.operand(slot).astype(frame.registers[slot].dtype), _kind(op))
        before = as_kind(frame.registers[slot], _kind(op))
        first = here[:, 0] == over.of_lanes(before)
        self._narrow(self._where(over, [(results == own) == first[:, None]]))
        values = [self._operand(frame, op, i, deps) for i in range(2)]
        condition = over.to_lanes(first, max(value.size for value, _ in values))
        a, b = (self.seen_by(dependence, group.mask) for _, dependence in values)
        return select(condition, a, b)


def _kind(op: Op) -> PtxType:
    return [TYPES[m] for m in op.instruction.modifiers if m in TYPES][-1]
