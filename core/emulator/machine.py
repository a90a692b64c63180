"""The SIMT machine: runs the threads of some blocks in lock step, as one wide SIMD machine.

Every thread has a program counter of its own. Threads at the same instruction form a group; the
group with the deepest call and then the lowest program counter runs first, so that threads which
diverged meet again where the code meets. A block sees the same order of events beside others as
alone. Arrays of registers are never written in place, so that a record may hold references to them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.emulator.barriers import Barriers
from core.emulator.block_record import ChunkRecord
from core.emulator.budget import DEFAULTS, Limits
from core.emulator.calls import Calls
from core.emulator.events import Mask, Observer
from core.emulator.geometry import Geometry
from core.emulator.launch_image import Image
from core.emulator.machine_state import Action, Frame, Group, Lanes, MachineState
from core.emulator.program import IndexedBranch, Kind, Op
from core.emulator.scheduling import RunQueue, Schedule
from core.emulator.warp_primitives import WarpSync
from core.errors import BudgetExceeded

__all__ = ["Limits", "Machine"]


class Machine:
    """Runs the blocks of `geometry` to their end, telling the observers.

    It has a state, a queue of groups, barriers, what synchronises warps, and calls. What it does
    with an instruction (`compute`, `memory`, `branch`, `other`, `action`) may be extended.
    """

    def __init__(
        self,
        image: Image,
        geometry: Geometry,
        observers: tuple[Observer, ...] = (),
        record: ChunkRecord | None = None,
        limits: Limits = DEFAULTS,
        schedule: Schedule | None = None,
    ) -> None:
        """`schedule` None is lock step: all warps advance together."""
        self.state = MachineState(image, geometry, observers, record, limits)
        self.queue = self.state.parts[RunQueue] = RunQueue(self.state, schedule)
        self.barriers = self.state.part(Barriers)
        self.warps = self.state.part(WarpSync)
        self.calls = Calls(self.state)
        self.count, self.geometry, self.unit = geometry.lanes, geometry, self.state.unit

    def run(self) -> None:
        """Runs until every thread has exited, or none can go on (`stuck`).

        Raises `BudgetExceeded` and `Cancelled`.
        """
        self.queue.enter(Group(self.state.image.entry.first_pc, 0, None))
        with np.errstate(all="ignore"):
            while self.queue.groups or self.queue.unblock():
                self._run(self.queue.pick())
            for part in self.queue.parts:
                part.finish(stuck=self.queue.stuck)

    def _run(self, group: Group) -> None:
        """Runs a group until it ends, splits, waits, or meets another."""
        state, queue = self.state, self.queue
        queue.groups.remove(group)
        group.latch, group.paused = -1, False
        boundary = queue.boundary(group)
        state.exclusive = queue.alone() or (
            not any(g.depth >= group.depth for g in queue.groups) and queue.nobody_waits()
        )
        frame = state.frame(group)
        code = frame.code
        first, ops, ends = code.first_pc, code.ops, code.run_ends
        start_pc, start_tick = group.pc, state.tick
        pc = group.pc
        try:
            while True:
                if state.tick >= state.next_check:
                    state.check(pc)
                    if queue.gives_way():
                        state.segment(start_tick, start_pc, pc, group)
                        group.pc, group.paused = pc, True
                        queue.enter(group)
                        return
                op = ops[pc - first]
                if op.is_special and self._lets_others_go(frame, group, op, pc):
                    state.segment(start_tick, start_pc, pc, group)
                    queue.enter(group)
                    return
                if op.kind is Kind.COMPUTE:
                    end = ends[pc - first] + first
                    end = min(end, boundary)
                    if end <= pc:  # it has a guard
                        end = pc + 1
                    self.compute(frame, group, ops[pc - first : end - first])
                    pc = end
                elif op.kind is Kind.MEMORY:
                    self.memory(frame, group, op)
                    state.tick += 1
                    pc += 1
                    if queue.turn_left:
                        queue.turn_left -= 1
                        if not queue.turn_left:
                            boundary, group.paused = pc, True
                elif op.kind is Kind.BRANCH:
                    state.tick += 1
                    target = self.branch(frame, group, op, pc)
                    if target != pc + 1:
                        state.segment(start_tick, start_pc, pc + 1, group)
                        if target < 0:
                            return  # split
                        changes = state.unit.changes
                        if target <= pc:
                            seen = queue.spinning.spins(
                                code, group, target, frame.registers, changes
                            )
                            if seen is not None:
                                group.pc, group.since = target, state.tick - 1
                                queue.parked.append((group, seen))
                                return
                        start_pc, start_tick, boundary = target, state.tick, 0
                        group.pc = target
                        boundary = queue.boundary(group)
                        stands = target if op.latch < 0 else op.latch + 0.5
                        if any(
                            g.stands <= stands and g.depth == group.depth
                            for g in queue.peers(group)
                        ):
                            self.barriers.place(target, group.depth, group.mask, op.latch)
                            return
                    pc = target
                else:
                    state.tick += 1
                    now = state.tick
                    if not self.other(frame, group, op, pc):
                        state.segment(start_tick, start_pc, pc + 1, group)
                        return
                    pc += 1
                    if state.tick != now:  # lanes that it woke have ended, in ticks of their own
                        state.segment(start_tick, start_pc, pc, group)
                        start_tick, start_pc = state.tick, pc
                if pc >= boundary:
                    state.segment(start_tick, start_pc, pc, group)
                    group.pc = pc
                    queue.enter(group)
                    return
        except BudgetExceeded:  # the record goes as far as the run did
            state.segment(start_tick, start_pc, pc, group)
            raise

    def _lets_others_go(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Whether a group yields here, so that others go first. If it does not, tells of spills."""
        group.pc = pc
        if op.instruction.joins + op.instruction.begins and self.queue.joins(group, op.instruction):
            return True
        if op.instruction.yields:
            mask, any_left = self.state.effective(frame, group, op)
            group.yielded = self.queue.yields(group, mask) if any_left else False
            if group.yielded:
                return True
        for kind, words in zip(("store", "load"), op.instruction.spills, strict=True):
            self.calls.tell_stacked(kind, pc, group.depth, group.mask, words)
        return False

    def compute(self, frame: Frame, group: Group, ops: list[Op]) -> None:
        """A straight run of arithmetic; the hot loop of the whole program."""
        state = self.state
        registers, logs, tick = frame.registers, frame.logs, state.tick
        simple = state.exclusive or group.mask is None
        if state.watcher is not None:
            for i, op in enumerate(ops):
                state.watcher.watch(frame, group, op, tick + i)
        results = frame.results
        for i, op in enumerate(ops, ops[0].instruction.pc - frame.code.first_pc):
            slot = op.slot
            if slot >= 0 and simple:
                pair = op.pair
                if pair is None:
                    value = op.compute(registers)  # type: ignore[misc]
                else:
                    a, b = registers[pair[0]], registers[pair[1]]
                    known = results[i]
                    if known is not None and known[0] is a and known[1] is b:
                        value = known[2]
                    else:
                        value = op.compute(registers)  # type: ignore[misc]
                        results[i] = (a, b, value)
                registers[slot] = value
                log = logs[slot]
                if log is not None:
                    log((tick, value))
            else:
                state.tick = tick
                self._masked_compute(frame, group, op)
            tick += 1
        state.tick = tick

    def _masked_compute(self, frame: Frame, group: Group, op: Op) -> None:
        mask, any_left = self.state.effective(frame, group, op)
        if not any_left:
            return
        if op.guard < 0 and self.state.exclusive:
            mask = None
        assert op.compute is not None
        value = op.compute(frame.registers)
        values = value if isinstance(value, tuple) else (value,)
        for slot, one in zip(op.destinations, values, strict=True):
            self.state.write(frame, slot, one, mask)

    def _effective(self, frame: Frame, group: Group, op: Op, tick: int) -> tuple[Mask | None, bool]:
        """As `MachineState.effective`; the record is told whom the guard lets through."""
        mask, any_left = self.state.effective(frame, group, op)
        record = self.state.record
        if record is not None and (mask is not group.mask or not any_left):
            nobody = np.zeros(self.count, bool)
            record.guarded[tick] = nobody if mask is None or not any_left else mask
        return mask, any_left

    def memory(self, frame: Frame, group: Group, op: Op) -> None:
        """A load, store or atomic."""
        state, mask = self.state, group.mask
        if op.guard >= 0:
            mask, any_left = self._effective(frame, group, op, state.tick)
            if not any_left:
                return
        if state.watcher is not None:
            state.watcher.watch(frame, group, op, state.tick)
        site = -1 if frame.has_lines else state.site(op.instruction.pc, group.depth, mask)
        values = state.unit.execute(op, frame.registers, mask, state.tick, site)
        if op.payload.kind == "atomic":
            state.check_soon()
        keep = None if op.guard < 0 and state.exclusive else mask
        for slot, write, value in zip(op.destinations, op.writers, values, strict=False):
            state.write(frame, slot, write(value), keep)

    def branch(self, frame: Frame, group: Group, op: Op, pc: int) -> int:
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
        if count == (
            self.state.count if group.mask is None else len(group.lanes(self.state.count))
        ):
            return op.target
        rest = ~predicate if group.mask is None else ~predicate & group.mask
        self.barriers.place(op.target, group.depth, taken, op.latch)
        self.barriers.place(pc + 1, group.depth, rest)
        return -1

    def other(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Everything but arithmetic, memory and branches; False if the group ends here."""
        if op.kind is Kind.PARAMETER:
            if self.state.watcher is not None:
                self.state.watcher.parameter(frame, group, op)
            self.calls.parameter(frame, group, op)
            return True
        if op.kind is Kind.NOTHING:
            return True
        mask, any_left = self._effective(frame, group, op, self.state.tick - 1)
        if not any_left:
            return True
        if op.kind is Kind.FENCE:
            self.warps.tell(op.payload, pc, mask)
            return True
        together = (Kind.CROSS_LANE, Kind.ACTION, Kind.INDEXED_BRANCH)
        if op.guard >= 0 and mask is not None and op.kind not in together:
            return self._split_guarded(group, op, pc, mask)
        if op.kind is Kind.SYNC:
            return self.warps.sync_warp(frame, group, op, pc)
        if op.kind is Kind.CROSS_LANE:
            return self.warps.cross_lane(frame, group, op, pc, mask)
        if op.kind is Kind.BARRIER:
            return self.barriers.arrive(group, op, pc)
        if op.kind is Kind.ACTION:
            return self.action(Lanes(self.state, frame, group, op, mask))
        if op.kind is Kind.INDEXED_BRANCH:
            self.indexed_branch(Lanes(self.state, frame, group, op, mask))
            return False
        if op.kind is Kind.CALL:
            return self.calls.call(frame, group, op, pc)
        if op.kind is Kind.RETURN:
            if group.depth == 0 or op.payload:
                self.barriers.exit(group)
            else:
                self.calls.leave(frame, group)
            return False
        self.state.fault("trap", pc, group.depth, group.lanes(self.state.count))
        self.barriers.exit(group)
        return False

    def _split_guarded(self, group: Group, op: Op, pc: int, mask: Mask) -> bool:
        """A guarded call, return or barrier: the lanes whose guard holds go on their own."""
        unguarded = replace(op, guard=-1)
        rest = ~mask if group.mask is None else group.mask & ~mask
        if not rest.any():
            return self.other(self.state.frame(group), group, unguarded, pc)
        self.barriers.place(pc + 1, group.depth, rest)
        inner = Group(pc, group.depth, mask)
        self.state.exclusive = False
        if self.other(self.state.frame(inner), inner, unguarded, pc):
            self.barriers.place(pc + 1, group.depth, mask)
        return False

    def action(self, lanes: Lanes) -> bool:
        """An instruction that is an `Action`; False if the group ends here."""
        action: Action = lanes.op.payload
        self.state.check_soon()
        return action(lanes)

    def indexed_branch(self, lanes: Lanes) -> None:
        """Sends each lane to the label that its index picks."""
        branch: IndexedBranch = lanes.op.payload
        chosen = np.minimum(lanes.read(branch.index), len(branch.targets) - 1)
        pcs = np.array(branch.targets)[chosen]
        active = lanes.active
        for pc in np.unique(pcs[active]):
            self.barriers.set_apart(int(pc), lanes.group.depth, active & (pcs == pc))
