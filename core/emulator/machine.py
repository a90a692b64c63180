"""The SIMT machine: runs the threads of some blocks in lock step, as one wide SIMD machine.

Every thread has a program counter of its own. Threads at the same instruction form a group; the
group with the deepest call and then the lowest program counter runs first, so that threads which
diverged meet again where the code meets. A block that runs beside others sees the same order of
events as it would alone. Arrays of registers are never written in place: what was recorded stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator import collective
from core.emulator.access import MemoryUnit
from core.emulator.action import Action, Lanes
from core.emulator.events import (
    BarrierEvent,
    CallEvent,
    FaultEvent,
    Mask,
    Observer,
    SyncEvent,
)
from core.emulator.groups import WARP, Geometry, Group, lanes_of_rows, warp_rows
from core.emulator.host_calls import Printed, host_call
from core.emulator.image import Image
from core.emulator.program import Call, FunctionCode, Kind, Op, ParameterAccess
from core.emulator.record import ChunkRecord
from core.emulator.schedule import Schedule
from core.emulator.spinning import FAIR, Spinning
from core.errors import BudgetExceeded, Cancelled
from core.ptx.ast import Function
from core.ptx.semantics.operation import unsupported
from core.ptx.types import PtxType

_CHECK_EVERY = 4096  # instructions between two looks at the budget and at `cancelled`
_FRAME_GAP = 256  # bytes between two stack frames, so that what runs off one hits nothing


@dataclass(frozen=True)
class Limits:
    """How long a kernel may run: instructions issued for the blocks that run together."""

    instructions: int = 2_000_000


class Frame:
    """One activation of a function: its registers (one array a slot) and parameters."""

    def __init__(self, code: FunctionCode, machine: Machine, depth: int, local_base: int) -> None:
        self.code = code
        self.local_base = local_base
        self.has_lines = _has_lines(code, machine.image)
        self.registers: list[NDArray[Any]] = [np.zeros(1, dtype) for dtype in code.dtypes]
        self.parameters: dict[tuple[str, int], NDArray[Any]] = {}
        for slot, value in code.constants:
            self.registers[slot] = value
        for slot, name in code.specials:
            offset = code.local_offsets.get(name)
            self.registers[slot] = (
                machine.special(name)
                if offset is None
                else np.array([local_base + offset], np.int64)
            )
        if machine.record is not None:
            machine.record.stack_bases[(code.function.name, depth)] = local_base
        self.logs: list[Callable[[tuple[int, NDArray[Any]]], None] | None] = (
            machine.record.logs(code, depth) if machine.record else [None] * len(code.dtypes)
        )


class Machine:
    """Runs the blocks of `geometry` to their end, telling the observers."""

    def __init__(
        self,
        image: Image,
        geometry: Geometry,
        observers: tuple[Observer, ...] = (),
        record: ChunkRecord | None = None,
        limits: Limits = Limits(),
        cancelled: Callable[[], bool] | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        """`schedule` None is lock step: all warps advance together."""
        self.image, self.geometry, self.observers = image, geometry, observers
        self.schedule = schedule
        self._on_sync = [s for o in observers if (s := getattr(o, "on_sync", None))]
        self._on_call = [c for o in observers if (c := getattr(o, "on_call", None))]
        self.record, self.limits, self.cancelled = record, limits, cancelled
        self.count = geometry.lanes
        self.unit = MemoryUnit(image, geometry, observers)
        self.tick = 0
        self._next_check = _CHECK_EVERY
        self.alive = np.ones(self.count, bool)
        self.groups: list[Group] = []
        self.held: list[Group] = []  # wait for lanes of their warp
        self.parked: list[tuple[Group, int]] = []  # spin; and the changes of memory they had seen
        self.stuck = False  # whether threads were left that could not go on
        self._spinning = Spinning()
        self._turn = 0  # memory accesses left of a warp's turn, 0 for no limit
        self._warp_of_lane = np.arange(self.count) // geometry.threads * geometry.warps + (
            np.arange(self.count) % geometry.threads // WARP
        )
        self.waiting: dict[int, Mask] = {}  # barrier number -> lanes that wait there
        self.resume_at = np.zeros(self.count, np.int64)  # pc after the barrier
        self.resume_depth = np.zeros(self.count, np.int64)
        self.arrived_at = np.zeros(self.count, np.int64)  # tick of the arrival at a barrier
        self.return_to: list[NDArray[np.int64]] = []  # by depth: pc to go on at, one a lane
        self.frames: dict[tuple[str, int], Frame] = {}
        self.exclusive = True
        self.printed: list[Printed] = []
        self._enter(Group(image.entry.first_pc, 0, None))

    # -- scheduling -------------------------------------------------------------------------

    def run(self) -> None:
        """Runs until every thread has exited, or none can go on (`stuck`).

        Raises `BudgetExceeded` and `Cancelled`.
        """
        with np.errstate(all="ignore"):
            while self.groups or self._unblock():
                self._run(self._pick())

    def _unblock(self) -> bool:
        """Nobody can run: wakes who spins, lets go who waits in vain; False at the end."""
        for group, changes in self.parked[:]:
            if changes != self.unit.changes:
                self.parked.remove((group, changes))
                self.groups.append(group)
        if not self.groups and self.held:
            group = min(self.held, key=lambda g: g.pc)
            self.held.remove(group)
            group.forced = True
            self.groups.append(group)
        if not self.groups:
            self._give_up()
        return bool(self.groups)

    def _give_up(self) -> None:
        """The threads that are left can never go on: a GPU would hang."""
        for group, _ in self.parked:
            lanes = group.lanes(self.count)
            self._fault("livelock", group.pc, group.depth, lanes, tick=group.since)
        waiting = [mask for mask in self.waiting.values() if mask.any()]
        for mask in waiting:
            lanes = np.flatnonzero(mask)
            others = np.flatnonzero(self.alive & ~mask & self._in_block_of(int(lanes[0])))
            at = int(self.resume_at[lanes[0]]) - 1
            depth, tick = int(self.resume_depth[lanes[0]]), int(self.arrived_at[lanes[0]])
            self._fault("deadlock", at, depth, lanes, others, tick=tick)
        self.stuck = bool(self.parked or waiting)
        self.parked.clear()
        self.waiting.clear()

    def _in_block_of(self, lane: int) -> Mask:
        same: Mask = np.arange(self.count) // self.geometry.threads == lane // self.geometry.threads
        return same

    def _pick(self) -> Group:
        groups = self.groups
        if self.schedule is not None:
            warp, self._turn = self.schedule.turn(sorted({g.warp for g in groups}))
            groups = [g for g in groups if g.warp == warp]
        elif len(groups) > 1 and (starved := self._starved()) is not None:
            return starved
        group = max(groups, key=lambda g: (g.depth, -g.pc))
        for other in [g for g in groups if g is not group]:
            if other.pc == group.pc and other.depth == group.depth:
                self.groups.remove(other)
                self.groups.remove(group)
                assert group.mask is not None
                assert other.mask is not None
                group = self._enter(
                    Group(group.pc, group.depth, group.mask | other.mask, group.warp)
                )
        return group

    def _starved(self) -> Group | None:
        """A group that could have run for long."""
        oldest = min(self.groups, key=lambda g: g.since)
        return oldest if self.tick - oldest.since > FAIR else None

    def _enter(self, group: Group) -> Group:
        """Puts a group among those that can run."""
        group.since = self.tick
        if self.schedule is None or group.warp >= 0:
            self.groups.append(group)
            return group
        lanes = group.lanes(self.count)
        for warp in np.unique(self._warp_of_lane[lanes]):
            mask = self._warp_of_lane == warp
            mask = mask if group.mask is None else mask & group.mask
            self.groups.append(Group(group.pc, group.depth, mask, int(warp), self.tick))
        return group

    def _peers(self, group: Group) -> list[Group]:
        """The groups that this one may meet: all, or those of its warp."""
        if self.schedule is None:
            return self.groups
        return [g for g in self.groups if g.warp == group.warp]

    def _boundary(self, group: Group) -> int:
        """The lowest pc ahead at which another group of the same depth stands."""
        peers = self._peers(group)
        ahead = [g.pc for g in peers if g.depth == group.depth and g.pc > group.pc]
        return min(ahead, default=1 << 60)

    def _alone(self) -> bool:
        """Whether no other group is anywhere."""
        return not (self.groups or self.waiting or self.held or self.parked)

    def _run(self, group: Group) -> None:
        """Runs a group until it ends, splits, waits, or meets another."""
        self.groups.remove(group)
        boundary = self._boundary(group)
        self.exclusive = self._alone() or (
            not any(g.depth >= group.depth for g in self.groups)
            and not (self.waiting or self.held or self.parked)
        )
        frame = self.frame(group)
        code = frame.code
        first, ops, ends = code.first_pc, code.ops, code.run_ends
        start_pc, start_tick = group.pc, self.tick
        pc = group.pc
        while True:
            if self.tick >= self._next_check:
                self._check()
                if self.groups and self._starved() is not None:
                    self._segment(start_tick, start_pc, pc, group)
                    group.pc = pc
                    self._enter(group)
                    return
            op = ops[pc - first]
            if op.kind is Kind.COMPUTE:
                end = max(min(ends[pc - first] + first, boundary), pc + 1)
                self._compute(frame, group, ops[pc - first : end - first])
                pc = end
            elif op.kind is Kind.MEMORY:
                self._memory(frame, group, op)
                self.tick += 1
                pc += 1
                if self._turn:
                    self._turn -= 1
                    if not self._turn:
                        boundary = pc
            elif op.kind is Kind.BRANCH:
                self.tick += 1
                target = self._branch(frame, group, op, pc)
                if target != pc + 1:
                    self._segment(start_tick, start_pc, pc + 1, group)
                    if target < 0:
                        return  # split
                    changes = self.unit.changes
                    if target <= pc and self._spinning.spins(
                        group, target, frame.registers, changes
                    ):
                        group.pc, group.since = target, self.tick - 1
                        self.parked.append((group, changes))
                        return
                    start_pc, start_tick, boundary = target, self.tick, 0
                    group.pc = target
                    boundary = self._boundary(group)
                    if any(g.pc <= target and g.depth == group.depth for g in self._peers(group)):
                        self._place(target, group.depth, group.mask)
                        return
                pc = target
            else:
                self.tick += 1
                if not self._other(frame, group, op, pc):
                    self._segment(start_tick, start_pc, pc + 1, group)
                    return
                pc += 1
            if pc >= boundary:
                self._segment(start_tick, start_pc, pc, group)
                group.pc = pc
                self._enter(group)
                return

    def _segment(self, tick: int, first: int, end: int, group: Group) -> None:
        if self.record is not None:
            self.record.segment(tick, first, end, group.mask, group.depth)

    def _check(self) -> None:
        self._next_check = self.tick + _CHECK_EVERY
        if self.tick > self.limits.instructions:
            raise BudgetExceeded(
                f"The kernel had not ended after {self.limits.instructions:,} instructions of its "
                "threads; if it does end, raise the instruction budget (--budget)."
            )
        if self.cancelled is not None and self.cancelled():
            raise Cancelled("Stopped.")

    # -- state ------------------------------------------------------------------------------

    def frame(self, group: Group) -> Frame:
        """The activation that the group executes in."""
        code = self.image.code_at(group.pc)
        key = (code.function.name, group.depth)
        frame = self.frames.get(key)
        if frame is None:
            base = sum(  # a place of its own: lanes may call it from functions yet to come
                f.code.local_bytes + _FRAME_GAP
                for f in self.frames.values()
                if f.code.local_bytes
            )
            self.unit.need_local(base + code.local_bytes)
            self.unit.open_frame(base, _stack_bytes(code))
            frame = self.frames[key] = Frame(code, self, group.depth, base)
        return frame

    def special(self, name: str) -> NDArray[Any]:
        """The value of a special register, one a lane or one for all."""
        if name in ("%clock64", "%globaltimer"):
            return np.array([self.tick], np.int64)
        if name == "%dynamic_smem_size":
            return np.array([self.image.launch.shared_bytes], np.int32)
        return self.geometry.special(name)

    def _write(self, frame: Frame, slot: int, value: NDArray[Any], mask: Mask | None) -> None:
        """Gives the lanes of `mask` a new value; None, or nobody else in the frame: all lanes."""
        if slot < 0:
            return
        if mask is not None:
            value = np.where(mask, value, frame.registers[slot])
        frame.registers[slot] = value
        log = frame.logs[slot]
        if log is not None:
            log((self.tick, value))

    def _effective(self, frame: Frame, group: Group, op: Op) -> tuple[Mask | None, bool]:
        """The mask after the guard predicate, and whether any lane is left."""
        if op.guard < 0:
            return group.mask, True
        predicate = frame.registers[op.guard]
        if op.guard_negated:
            predicate = ~predicate
        if predicate.size == 1:
            return group.mask, bool(predicate[0])
        mask = predicate if group.mask is None else predicate & group.mask
        return mask, bool(mask.any())

    # -- instructions -----------------------------------------------------------------------

    def _compute(self, frame: Frame, group: Group, ops: list[Op]) -> None:
        """A straight run of arithmetic; the hot loop of the whole program."""
        registers, logs, tick = frame.registers, frame.logs, self.tick
        simple = self.exclusive or group.mask is None
        for op in ops:
            assert op.compute is not None
            if simple and op.guard < 0 and len(op.destinations) == 1:
                slot = op.destinations[0]
                value = registers[slot] = op.compute(registers)
                log = logs[slot]
                if log is not None:
                    log((tick, value))
            else:
                self.tick = tick
                self._masked_compute(frame, group, op)
            tick += 1
        self.tick = tick

    def _masked_compute(self, frame: Frame, group: Group, op: Op) -> None:
        mask, any_left = self._effective(frame, group, op)
        if not any_left:
            return
        if op.guard < 0 and self.exclusive:
            mask = None
        assert op.compute is not None
        value = op.compute(frame.registers)
        values = value if isinstance(value, tuple) else (value,)
        for slot, one in zip(op.destinations, values, strict=True):
            self._write(frame, slot, one, mask)

    def _memory(self, frame: Frame, group: Group, op: Op) -> None:
        mask, any_left = self._effective(frame, group, op)
        if not any_left:
            return
        site = -1 if frame.has_lines else self._site(op.instruction.pc, group.depth, mask)
        values = self.unit.execute(op, frame.registers, mask, self.tick, site)
        keep = None if op.guard < 0 and self.exclusive else mask
        for slot, write, value in zip(op.destinations, op.payload.writers, values, strict=False):
            self._write(frame, slot, write(value), keep)

    def _branch(self, frame: Frame, group: Group, op: Op, pc: int) -> int:
        """The pc the whole group goes to, or -1 if it split in two."""
        if op.guard < 0:
            return op.target
        predicate = frame.registers[op.guard]
        if op.guard_negated:
            predicate = ~predicate
        if predicate.size == 1:
            return op.target if predicate[0] else pc + 1
        taken = predicate if group.mask is None else predicate & group.mask
        count = np.count_nonzero(taken)
        if count == 0:
            return pc + 1
        if count == (self.count if group.mask is None else len(group.lanes(self.count))):
            return op.target
        rest = ~predicate if group.mask is None else ~predicate & group.mask
        self._place(op.target, group.depth, taken)
        self._place(pc + 1, group.depth, rest)
        return -1

    def _place(self, pc: int, depth: int, mask: Mask | None) -> None:
        """Puts lanes at a pc.

        Lanes about to return from the kernel do so at once: nothing can come between, and nobody
        has to wait for them.
        """
        code = self.image.code_at(pc)
        op = code.ops[pc - code.first_pc]
        group = Group(pc, depth, mask)
        if depth == 0 and op.kind is Kind.RETURN and op.guard < 0:
            self.tick += 1
            self._exit(group)
            self._segment(self.tick - 1, pc, pc + 1, group)
        else:
            self._enter(group)

    def _other(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Everything but arithmetic, memory and branches; False if the group ends here."""
        if op.kind is Kind.PARAMETER:
            self._parameter(frame, group, op)
            return True
        if op.kind is Kind.NOTHING:
            return True
        mask, any_left = self._effective(frame, group, op)
        if not any_left:
            return True
        if op.kind is Kind.FENCE:
            self._sync("fence", pc, mask)
            return True
        together = (Kind.CROSS_LANE, Kind.ACTION)
        if op.guard >= 0 and mask is not None and op.kind not in together:
            return self._split_guarded(group, op, pc, mask)
        if op.kind is Kind.SYNC:
            return self._warp_sync(frame, group, op, pc)
        if op.kind is Kind.CROSS_LANE:
            return self._cross_lane(frame, group, op, pc, mask)
        if op.kind is Kind.BARRIER:
            return self._barrier(group, op, pc)
        if op.kind is Kind.ACTION:
            return self._action(Lanes(self, frame, group, op, mask))
        if op.kind is Kind.CALL:
            return self._call(frame, group, op, pc)
        if op.kind is Kind.RETURN:
            if group.depth == 0 or op.payload:
                self._exit(group)
            else:
                self._return(frame, group)
            return False
        self._fault("trap", pc, group.depth, group.lanes(self.count))
        self._exit(group)
        return False

    def _split_guarded(self, group: Group, op: Op, pc: int, mask: Mask) -> bool:
        """A guarded call, return or barrier: the lanes whose guard holds go on their own."""
        rest = ~mask if group.mask is None else group.mask & ~mask
        if not rest.any():
            op_unguarded = self._unguarded(op)
            return self._other(self.frame(group), group, op_unguarded, pc)
        self._place(pc + 1, group.depth, rest)
        inner = Group(pc, group.depth, mask)
        self.exclusive = False
        if self._other(self.frame(inner), inner, self._unguarded(op), pc):
            self._place(pc + 1, group.depth, mask)
        return False

    def _action(self, lanes: Lanes) -> bool:
        """An instruction that has a file of its own; False if the group ends here."""
        action: Action = lanes.op.payload
        return action.run(lanes)

    def write(self, frame: Frame, slot: int, value: NDArray[Any], mask: Mask | None) -> None:
        """Gives a register a value, for an action."""
        self._write(frame, slot, value, mask)

    def place(self, pc: int, depth: int, mask: Mask) -> None:
        """Puts lanes at a pc, for an action."""
        self.exclusive = False
        self._place(pc, depth, mask)

    def report(self, kind: str, pc: int, group: Group, detail: str = "") -> None:
        """Tells of a fault of all the lanes of a group."""
        self._fault(kind, pc, group.depth, group.lanes(self.count), detail=detail)

    @staticmethod
    def _unguarded(op: Op) -> Op:
        return Op(op.kind, op.instruction, destinations=op.destinations, payload=op.payload)

    # -- lanes of a warp together -------------------------------------------------------------

    def _cross_lane(self, frame: Frame, group: Group, op: Op, pc: int, mask: Mask | None) -> bool:
        """A shuffle or vote; False if only some of the lanes go on."""
        members = op.payload[3]
        if members is None or op.guard >= 0:
            self._exchange(frame, group, op, mask)
            return True
        whole = self._gather(group, pc)
        self._check_members(members(frame.registers), whole, pc)
        ready = self._those_ready(members(frame.registers), whole, pc)
        if ready is not None:
            if not ready.any():
                return False
            self._exchange(frame, Group(pc, group.depth, ready), op, ready)
            self._sync("warp", pc, ready, members(frame.registers))
            self._place(pc + 1, group.depth, ready)
            return False
        self._exchange(frame, whole, op, whole.mask)
        self._sync("warp", pc, whole.mask, members(frame.registers))
        if whole is group:
            return True
        assert whole.mask is not None
        self._place(pc + 1, group.depth, whole.mask)
        return False

    def _check_members(self, members: NDArray[Any], group: Group, pc: int) -> None:
        """A lane must be named by its own member mask (PTX ISA, "shfl.sync")."""
        words = members.view(np.uint32)
        if words.size == 1 and words[0] == 0xFFFFFFFF:
            return
        mask = np.ones(self.count, bool) if group.mask is None else group.mask
        outside = collective.strangers(words, mask, self.geometry)
        if outside.any():
            lanes = np.flatnonzero(outside)
            self._fault("inactive_lane", pc, group.depth, lanes, detail="not a member")

    def _gather(self, group: Group, pc: int) -> Group:
        """The group with those that are held at the same instruction."""
        mates = [h for h in self.held if h.pc == pc and h.depth == group.depth
                 and h.warp == group.warp]  # fmt: skip
        if not mates or group.mask is None:
            return group
        mask = group.mask
        for mate in mates:
            self.held.remove(mate)
            assert mate.mask is not None
            mask = mask | mate.mask
        expected = next((m.expected for m in mates if m.expected is not None), None)
        return Group(pc, group.depth, mask, group.warp, forced=group.forced, expected=expected)

    def _those_ready(
        self, members: NDArray[Any], group: Group, pc: int, also: Mask | None = None
    ) -> Mask | None:
        """None if all may go on; else those that may, the others being held.

        `also` are lanes that wait in another place and count as present.
        """
        if group.mask is None:
            return None
        members = members.view(np.uint32)
        present = group.mask if also is None else group.mask | also
        expected = self.alive.copy() if group.expected is None else group.expected
        lack = collective.lacking(members, present, expected, self.geometry) & group.mask
        if not lack.any():
            return None
        if group.forced:
            missing = collective.missing_lanes(members, group.mask, expected, self.geometry)
            self._fault(
                "divergent_warp",
                pc,
                group.depth,
                np.flatnonzero(lack),
                np.flatnonzero(missing),
                tick=group.since,
            )
            group.forced, group.expected = False, None
            return None
        self.exclusive = False
        since = self.tick - 1
        self.held.append(Group(pc, group.depth, lack, group.warp, since, expected=expected))
        return group.mask & ~lack

    def _warp_sync(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """`__syncwarp`: lanes may meet that stand at different ones."""
        mates = [h for h in self.held if self._op_at(h.pc).kind is Kind.SYNC]
        also = _union(mates) if mates else None
        members = op.payload(frame.registers)
        ready = self._those_ready(members, group, pc, also)
        gone = np.ones(self.count, bool) if group.mask is None else group.mask
        if ready is not None:
            gone = ready
        for mate in mates:
            assert mate.mask is not None
            words = self._op_at(mate.pc).payload(self.frame(mate).registers).view(np.uint32)
            present = mate.mask | (also if also is not None else mate.mask) | gone
            expected = self.alive if mate.expected is None else mate.expected
            lack = collective.lacking(words, present, expected, self.geometry) & mate.mask
            free = mate.mask & ~lack
            if free.any():
                self.held.remove(mate)
                if lack.any():
                    self.held.append(
                        Group(mate.pc, mate.depth, lack, mate.warp, mate.since, expected=expected)
                    )
                self._place(mate.pc + 1, mate.depth, free)
                gone = gone | free
                self.exclusive = False
        if gone.any():
            self._sync("warp", pc, None if group.mask is None else gone, members)
        if ready is None:
            return True
        if ready.any():
            self._place(pc + 1, group.depth, ready)
        return False

    def _op_at(self, pc: int) -> Op:
        code = self.image.code_at(pc)
        return code.ops[pc - code.first_pc]

    def _sync(
        self, kind: str, pc: int, mask: Mask | None, members: NDArray[Any] | None = None
    ) -> None:
        """Tells who met; lanes with different member masks met in different circles."""
        if not self._on_sync:
            return
        masks = [mask]
        if members is not None and members.size > 1:
            words = members.view(np.uint32)
            here = np.ones(self.count, bool) if mask is None else mask
            several = np.unique(words[here])
            masks = [here & (words == word) for word in several] if len(several) > 1 else [mask]
        for one in masks:
            for tell in self._on_sync:
                tell(SyncEvent(self.tick - 1, pc, kind, one))

    def _exchange(self, frame: Frame, group: Group, op: Op, mask: Mask | None) -> None:
        function, sources, writers, _ = op.payload
        active = np.ones(self.count, bool) if mask is None else mask
        rows = [warp_rows(active, self.geometry, 0)]
        for read in sources:
            value = read(frame.registers)
            if value.size == 1:
                value = np.repeat(value, self.count)
            rows.append(warp_rows(value, self.geometry, 0))
        if op.instruction.opcode == "shfl" and not rows[0].all():
            lonely = collective.reading_nobody(function, active, rows[1:], self.geometry)
            if lonely.any():
                self._fault("inactive_lane", op.instruction.pc, group.depth, np.flatnonzero(lonely))
        result = function(*rows)
        results = result if isinstance(result, tuple) else (result,)
        keep = None if op.guard < 0 and self.exclusive else mask
        for slot, write, value in zip(op.destinations, writers, results, strict=True):
            self._write(frame, slot, write(lanes_of_rows(value, self.geometry)), keep)

    # -- barriers and ends ------------------------------------------------------------------

    def _barrier(self, group: Group, op: Op, pc: int) -> bool:
        """Arrives; True if the whole group may go on at once."""
        number = op.payload
        mask = np.ones(self.count, bool) if group.mask is None else group.mask
        waiting = self.waiting.pop(number, None)
        arrived = mask if waiting is None else mask | waiting
        self.resume_at[mask] = pc + 1
        self.resume_depth[mask] = group.depth
        self.arrived_at[mask] = self.tick - 1
        complete = self._complete(arrived)
        if len(complete):
            self._check_barrier(arrived, complete)
        self._notify_barrier(pc, group.mask, complete)
        if waiting is None and len(complete) == len(self.geometry.blocks):
            return True
        self._release(number, arrived, complete)
        return False

    def _complete(self, arrived: Mask) -> NDArray[np.intp]:
        """The blocks all of whose living threads have arrived (and at least one has)."""
        shape = (len(self.geometry.blocks), self.geometry.threads)
        here = arrived.reshape(shape)
        return np.flatnonzero((here | ~self.alive.reshape(shape)).all(1) & here.any(1))

    def _check_barrier(self, arrived: Mask, complete: NDArray[np.intp]) -> None:
        """A barrier let a block through: every thread of it must have come to the same one."""
        shape = (len(self.geometry.blocks), self.geometry.threads)
        through = np.zeros(shape, bool)
        through[complete] = True
        here: Mask = arrived & through.reshape(-1)
        gone: Mask = ~self.alive & through.reshape(-1)
        if gone.any():
            affected = np.repeat(gone.reshape(shape).any(axis=1), shape[1])
            self._barrier_fault(np.flatnonzero(here & affected), np.flatnonzero(gone))
        first = here.reshape(shape).argmax(axis=1) + np.arange(shape[0]) * shape[1]
        same = self.resume_at == np.repeat(self.resume_at[first], shape[1])
        elsewhere = here & ~same
        if elsewhere.any():
            affected = np.repeat(elsewhere.reshape(shape).any(axis=1), shape[1])
            others = np.flatnonzero(elsewhere)
            at = int(self.resume_at[others[0]]) - 1
            self._barrier_fault(np.flatnonzero(here & same & affected), others, at)

    def _barrier_fault(
        self, lanes: NDArray[np.intp], others: NDArray[np.intp], other_pc: int = -1
    ) -> None:
        pc, depth = int(self.resume_at[lanes[0]]) - 1, int(self.resume_depth[lanes[0]])
        tick = int(self.arrived_at[lanes[0]])
        self._fault("divergent_barrier", pc, depth, lanes, others, other_pc, tick=tick)

    def _fault(
        self,
        kind: str,
        pc: int,
        depth: int,
        lanes: NDArray[np.intp],
        others: NDArray[np.intp] | None = None,
        other_pc: int = -1,
        detail: str = "",
        tick: int = -1,
    ) -> None:
        """Tells the observers of a fault that is no memory access; `tick` -1 is now."""
        site = self._call_site(pc, depth, int(lanes[0]))
        if other_pc >= 0 and others is not None:
            other_pc = self._call_site(other_pc, int(self.resume_depth[others[0]]), int(others[0]))
        event = FaultEvent(
            self.tick - 1 if tick < 0 else tick, pc, kind, lanes, np.zeros(0, np.int64), 0, None,
            detail, site, others, other_pc,
        )  # fmt: skip
        for observer in self.observers:
            observer.on_fault(event)

    def _site(self, pc: int, depth: int, mask: Mask | None) -> int:
        return self._call_site(pc, depth, 0 if mask is None else int(mask.argmax()))

    def _call_site(self, pc: int, depth: int, lane: int) -> int:
        """`pc`, or the innermost call that led there from a function with source lines."""
        here = pc
        while depth > 0 and not _has_lines(self.image.code_at(here), self.image):
            depth -= 1
            here = int(self.return_to[depth][lane]) - 1
        return here

    def _release(self, number: int, arrived: Mask, complete: NDArray[np.intp]) -> None:
        free = np.zeros((len(self.geometry.blocks), self.geometry.threads), bool)
        free[complete] = True
        go = free.reshape(-1) & arrived
        stay = arrived & ~go
        if stay.any():
            self.waiting[number] = stay
        for pc in np.unique(self.resume_at[go]):
            for depth in np.unique(self.resume_depth[go]):
                mask = go & (self.resume_at == pc) & (self.resume_depth == depth)
                if mask.any():
                    self._place(int(pc), int(depth), mask)

    def _notify_barrier(self, pc: int, mask: Mask | None, complete: NDArray[np.intp]) -> None:
        event = self._tell_barrier(pc, mask, complete)
        if self.record is not None:
            self.record.barrier(event)

    def _tell_barrier(self, pc: int, mask: Mask | None, complete: NDArray[np.intp]) -> BarrierEvent:
        event = BarrierEvent(self.tick - 1, pc, mask, complete)
        for observer in self.observers:
            observer.on_barrier(event)
        return event

    def _exit(self, group: Group) -> None:
        """Threads end; those that wait for them at a barrier may go on."""
        if group.mask is None:
            self.alive[:] = False
        else:
            self.alive &= ~group.mask
        for number in list(self.waiting):
            arrived = self.waiting[number]
            complete = self._complete(arrived)
            if len(complete):
                self._check_barrier(arrived, complete)
                self._tell_barrier(int(self.resume_at[arrived.argmax()]) - 1, arrived, complete)
                del self.waiting[number]
                self._release(number, arrived, complete)

    # -- functions --------------------------------------------------------------------------

    def _parameter(self, frame: Frame, group: Group, op: Op) -> None:
        access: ParameterAccess = op.payload
        name, offset = access.key
        mask, any_left = self._effective(frame, group, op)
        if not any_left:
            return
        keep = None if op.guard < 0 and self.exclusive else mask
        for i, slot in enumerate(op.destinations):
            value = self._read_parameter(frame, op, (name, offset + i * access.types.nbytes))
            self._write(frame, slot, access.writers[i](value), keep)
        for i, read in enumerate(access.values):
            key = (name, offset + i * access.types.nbytes)
            value = read(frame.registers)
            old = frame.parameters.get(key)
            if keep is not None and old is not None and old.itemsize == value.itemsize:
                value = np.where(keep, value, old.view(value.dtype))
            frame.parameters[key] = value

    def _read_parameter(self, frame: Frame, op: Op, key: tuple[str, int]) -> NDArray[Any]:
        kind = op.payload.types
        found = frame.parameters.get(key)
        if found is not None and found.dtype.itemsize == kind.nbytes:
            return found.view(kind.dtype)
        raw = self.image.parameters.get(key[0]) if frame.code is self.image.entry else None
        if raw is None:
            return self._parameter_pieces(frame, op, key)
        if key[1] + kind.nbytes > len(raw):
            raise unsupported(op.instruction, "reads beyond the end of a parameter")
        return np.frombuffer(raw, kind.dtype, 1, key[1]).copy()

    def _parameter_pieces(self, frame: Frame, op: Op, key: tuple[str, int]) -> NDArray[Any]:
        """A parameter read in another width than it was written in: put together from bytes."""
        kind: PtxType = op.payload.types
        raw = np.zeros((self.count, kind.nbytes), np.uint8)
        for (name, offset), value in frame.parameters.items():
            first, size = offset - key[1], value.itemsize
            if name != key[0] or first >= kind.nbytes or first + size <= 0:
                continue
            full = np.repeat(value, self.count) if value.size == 1 else value
            octets = np.ascontiguousarray(full).view(np.uint8).reshape(self.count, size)
            low, high = max(first, 0), min(first + size, kind.nbytes)
            raw[:, low:high] = octets[:, low - first : high - first]
        return raw.view(kind.dtype).reshape(-1)

    def _call(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        call: Call = op.payload
        for name, read in call.values:
            frame.parameters[name, 0] = read(frame.registers)
        if call.pointer is not None:
            return self._call_pointer(frame, group, op, pc)
        return self._enter_function(
            frame, group, op, pc, self.image.module.functions[call.function]
        )

    def _call_pointer(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Each lane calls the function whose address it has."""
        address = op.payload.pointer(frame.registers)
        if address.size == 1:
            address = np.repeat(address, self.count)
        active = np.ones(self.count, bool) if group.mask is None else group.mask
        targets = np.unique(address[active])
        self.exclusive = self.exclusive and len(targets) == 1
        for target in targets:
            mask = group.mask if len(targets) == 1 else active & (address == target)
            part = Group(pc, group.depth, mask, group.warp)
            function = self.image.function_at(int(target))
            if function is None:
                self.report("bad_call", pc, part, hex(int(target)))
                self._exit(part)
            elif self._enter_function(frame, part, op, pc, function):
                assert mask is not None or len(targets) == 1
                self._enter(Group(pc + 1, group.depth, mask, group.warp))
        return False

    def _enter_function(
        self, frame: Frame, group: Group, op: Op, pc: int, function: Function
    ) -> bool:
        call: Call = op.payload
        if function.first_pc == function.end_pc:
            goes_on = host_call(self, frame, group, op, function.name)
            if goes_on:
                self._set_results(frame, call, group.mask)
            else:
                self._exit(group)
            return goes_on
        depth = group.depth + 1
        inner = Group(function.first_pc, depth, group.mask, group.warp)
        callee = self.frame(inner)
        alone = self.exclusive
        for formal, actual in zip(function.parameters, call.arguments, strict=True):
            self._copy_parameter(frame, actual, callee, formal.name, None if alone else group.mask)
            if formal.space == "reg":
                slot = callee.code.slots[formal.name]
                value = callee.parameters[formal.name, 0].view(callee.registers[slot].dtype)
                self._write(callee, slot, value, None if alone else group.mask)
        if len(self.return_to) < depth:
            self.return_to.append(np.zeros(self.count, np.int64))
        self.return_to[depth - 1][group.lanes(self.count)] = pc + 1
        for tell in self._on_call:
            code = callee.code
            tell(CallEvent(self.tick - 1, pc, group.mask, callee.local_base, code.local_bytes))
        self._enter(inner)
        return False

    def _set_results(self, frame: Frame, call: Call, mask: Mask | None) -> None:
        """Results that go to registers, not to parameter variables."""
        for name, slot in call.targets:
            value = frame.parameters[name, 0].view(frame.registers[slot].dtype)
            self._write(frame, slot, value, mask)

    def _copy_parameter(
        self, source: Frame, source_name: str, to: Frame, to_name: str, mask: Mask | None
    ) -> None:
        for (name, offset), value in list(source.parameters.items()):
            if name == source_name:
                old = to.parameters.get((to_name, offset))
                keep = value if mask is None or old is None else None
                if keep is None and mask is not None and old is not None:
                    keep = np.where(mask, value, old.view(value.dtype))
                to.parameters[(to_name, offset)] = value if keep is None else keep

    def _return(self, frame: Frame, group: Group) -> None:
        """Goes on after the call, each lane where it came from."""
        function = frame.code.function
        targets = self.return_to[group.depth - 1]
        lanes = group.lanes(self.count)
        alone = self._alone()
        for pc in np.unique(targets[lanes]):
            here = targets == pc
            mask = here if group.mask is None else here & group.mask
            whole = group.mask if bool(mask.sum() == len(lanes)) else mask
            caller_group = Group(int(pc), group.depth - 1, whole, group.warp)
            caller = self.frame(caller_group)
            call: Call = caller.code.ops[int(pc) - 1 - caller.code.first_pc].payload
            for formal, actual in zip(function.returns, call.results, strict=True):
                keep = None if alone and whole is group.mask else mask
                if formal.space == "reg":
                    value = frame.registers[frame.code.slots[formal.name]]
                    frame.parameters[formal.name, 0] = value
                self._copy_parameter(frame, formal.name, caller, actual, keep)
            self._set_results(caller, call, mask)
            self._enter(caller_group)


def _has_lines(code: FunctionCode, image: Image) -> bool:
    """Whether any instruction of the function comes from a line of the user's source."""
    function = code.function
    instructions = image.module.instructions[function.first_pc : function.end_pc]
    source = image.module.source_file
    return any(i.position.file == source and i.position.line > 0 for i in instructions)


def _stack_bytes(code: FunctionCode) -> int:
    """Bytes of the function's objects in local memory."""
    nbytes = {v.name: v.nbytes for v in code.function.variables}
    return max((o + nbytes[name] for name, o in code.local_offsets.items()), default=0)


def _union(groups: list[Group]) -> Mask:
    """The lanes of groups, none of which is everybody."""
    masks = [g.mask for g in groups if g.mask is not None]
    result: Mask = np.any(masks, axis=0)
    return result
