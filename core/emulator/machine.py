"""The SIMT machine: runs the threads of some blocks in lock step, as one wide SIMD machine.

Every thread has a program counter of its own. Threads at the same instruction form a group; the
group with the deepest call and then the lowest program counter runs first, so that threads which
diverged meet again where the code meets. A block that runs beside others sees the same order of
events as it would alone. Arrays of registers are never written in place: what was recorded stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.action import Action, Lanes
from core.emulator.budget import Limits
from core.emulator.calls import Calls
from core.emulator.events import Mask
from core.emulator.frames import Frame
from core.emulator.groups import Group
from core.emulator.program import Kind, Op

__all__ = ["Limits", "Machine"]


class Machine(Calls):
    """Runs the blocks of `geometry` to their end, telling the observers."""

    def run(self) -> None:
        """Runs until every thread has exited, or none can go on (`stuck`).

        Raises `BudgetExceeded` and `Cancelled`.
        """
        self._enter(Group(self.image.entry.first_pc, 0, None))
        with np.errstate(all="ignore"):
            while self.groups or self._unblock():
                self._run(self._pick())

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
                self._check(pc)
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
                    if target <= pc:
                        seen = self._spinning.spins(code, group, target, frame.registers, changes)
                        if seen is not None:
                            group.pc, group.since = target, self.tick - 1
                            self.parked.append((group, seen))
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

    def _compute(self, frame: Frame, group: Group, ops: list[Op]) -> None:
        """A straight run of arithmetic; the hot loop of the whole program."""
        registers, logs, tick = frame.registers, frame.logs, self.tick
        simple = self.exclusive or group.mask is None
        pairs, results = frame.pairs, frame.results
        for i, op in enumerate(ops, ops[0].instruction.pc - frame.code.first_pc):
            assert op.compute is not None
            if simple and op.guard < 0 and len(op.destinations) == 1:
                slot, pair = op.destinations[0], pairs[i]
                if pair is None:
                    value = op.compute(registers)
                else:
                    a, b = registers[pair[0]], registers[pair[1]]
                    known = results[i]
                    if known is not None and known[0] is a and known[1] is b:
                        value = known[2]
                    else:
                        value = op.compute(registers)
                        results[i] = (a, b, value)
                registers[slot] = value
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
        if op.payload.kind == "atomic":
            self.check_soon()
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
        self.check_soon()
        return action.run(lanes)

    def write(self, frame: Frame, slot: int, value: NDArray[Any], mask: Mask | None) -> None:
        """Gives a register a value, for an action."""
        self._write(frame, slot, value, mask)

    def place(self, pc: int, depth: int, mask: Mask) -> None:
        """Puts lanes at a pc, for an action."""
        self.exclusive = False
        self._place(pc, depth, mask)

    @staticmethod
    def _unguarded(op: Op) -> Op:
        return Op(op.kind, op.instruction, destinations=op.destinations, payload=op.payload)
