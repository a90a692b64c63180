"""Barriers with a count or in a register, that only announce (`bar.arrive`) or vote (`bar.red`).

A barrier lets a block's waiting threads go on when as many threads as its count says have come to
it, or, without a count, all its living ones. The lanes that wait are kept with those of plain
barriers, under the barrier's number plus `NAMED`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.action import Lanes, action_op
from core.emulator.events import BarrierEvent, Mask
from core.emulator.groups import Group, warp_rows
from core.emulator.program import Op, Reader
from core.ptx.ast import Instruction
from core.ptx.semantics.operation import refuse, unsupported
from core.ptx.types import PRED, TYPES

if TYPE_CHECKING:
    from core.emulator.decode import Decoder
    from core.emulator.machine import Machine

NAMED = 1000  # more than there are plain barriers


@dataclass
class _State:
    """One barrier: who has come, how each voted, and the count of each block (0: all)."""

    arrived: Mask
    votes: Mask
    count: NDArray[np.int64]


@dataclass
class NamedBarriers:
    """The named barriers of a machine."""

    machine: Machine
    states: dict[int, _State] = field(default_factory=dict)

    def arrive(
        self, lanes: Lanes, number: int, who: Mask, count: NDArray[Any] | None, votes: Mask
    ) -> _State:
        """Notes that the lanes `who` have come."""
        blocks, size = len(self.machine.geometry.blocks), self.machine.count
        state = self.states.get(number)
        if state is None:
            nobody = np.zeros(size, bool)
            state = _State(nobody, nobody, np.zeros(blocks, np.int64))
            self.states[number] = state
        state.arrived = state.arrived | who
        state.votes = np.where(who, votes, state.votes)
        if count is not None:
            rows = np.where(who, count.astype(np.int64), 0).reshape(blocks, -1).max(axis=1)
            state.count = np.where(rows > 0, rows, state.count)
        return state

    def complete(self, state: _State) -> NDArray[np.intp]:
        """The blocks that have come in sufficient number; an incomplete warp counts as a whole."""
        geometry, alive = self.machine.geometry, self.machine.alive
        blocks = len(geometry.blocks)
        here = warp_rows(state.arrived, geometry, 0)
        missing = warp_rows(alive & ~state.arrived, geometry, 0).any(axis=1)
        threads = np.where(missing | ~here.any(axis=1), here.sum(axis=1), 32)
        counted = threads.reshape(blocks, -1).sum(axis=1) >= state.count
        everybody = ~(alive & ~state.arrived).reshape(blocks, -1).any(axis=1)
        some = state.arrived.reshape(blocks, -1).any(axis=1)
        return np.flatnonzero(np.where(state.count > 0, counted, everybody) & some)

    def settle(self, number: int, pc: int, mask: Mask | None) -> None:
        """Tells the observers of an arrival and lets go who may go on."""
        machine, state = self.machine, self.states[number]
        complete = self.complete(state)
        through = np.zeros((len(machine.geometry.blocks), machine.geometry.threads), bool)
        through[complete] = True
        met = state.arrived & through.reshape(-1)
        counted = bool(state.count[complete].any())
        released = complete[:0] if counted else complete
        if len(released):
            machine._check_barrier(state.arrived, released)
        event = BarrierEvent(machine.tick - 1, pc, mask, released, met if counted else None)
        for observer in machine.observers:
            observer.on_barrier(event)
        if machine.record is not None:
            machine.record.barrier(event)
        if len(complete):
            self._let_go(number, state, met)

    def _let_go(self, number: int, state: _State, met: Mask) -> None:
        machine = self.machine
        waiting = machine.waiting.pop(NAMED + number, np.zeros(machine.count, bool))
        go = waiting & met
        if (waiting & ~met).any():
            machine.waiting[NAMED + number] = waiting & ~met
        total = np.where(met, state.votes, False)
        state.arrived = state.arrived & ~met
        state.count = np.where(met.reshape(len(state.count), -1).any(axis=1), 0, state.count)
        machine.exclusive = False
        for pc in np.unique(machine.resume_at[go]):
            for depth in np.unique(machine.resume_depth[go]):
                mask = go & (machine.resume_at == pc) & (machine.resume_depth == depth)
                if mask.any():
                    self._give_result(int(pc) - 1, int(depth), mask, total, met)
                    machine.place(int(pc), int(depth), mask)

    def _give_result(self, pc: int, depth: int, mask: Mask, votes: Mask, met: Mask) -> None:
        """Writes the result of a `bar.red` that the lanes of `mask` waited at."""
        machine = self.machine
        op = machine._op_at(pc)
        action: ArriveOrWait = op.payload
        if not action.reduction:
            return
        blocks, threads = len(machine.geometry.blocks), machine.geometry.threads
        yes, came = votes.reshape(blocks, -1), met.reshape(blocks, -1)
        functions: dict[str, Callable[[], NDArray[Any]]] = {
            "popc": lambda: yes.sum(axis=1).astype(np.uint32),
            "and": lambda: np.asarray((yes | ~came).all(axis=1)),
            "or": lambda: np.asarray(yes.any(axis=1)),
        }
        value = np.repeat(functions[action.reduction](), threads)
        frame = machine.frame(Group(pc, depth, mask))
        machine.write(frame, op.destinations[0], action.writers[0](value), mask)

    def after_exit(self) -> None:
        """Threads have ended: those that waited for them may go on."""
        for number, state in list(self.states.items()):
            waiting = self.machine.waiting.get(NAMED + number)
            if waiting is not None and len(self.complete(state)):
                pc = int(self.machine.resume_at[waiting.argmax()]) - 1
                self.settle(number, pc, waiting)


@dataclass(frozen=True)
class ArriveOrWait:
    """`bar` and `barrier` in any form but the plain one."""

    number: Reader
    count: Reader | None
    waits: bool
    reduction: str
    predicate: Reader | None
    writers: tuple[Callable[..., Any], ...]

    def run(self, lanes: Lanes) -> bool:
        """Arrives; True if the lanes go on at once."""
        machine = lanes.machine
        numbers, active = lanes.read(self.number), lanes.active
        count = None if self.count is None else lanes.read(self.count)
        votes = active if self.predicate is None else lanes.read(self.predicate) & active
        pc = lanes.op.instruction.pc
        present = [int(n) for n in np.unique(numbers[active])]
        if self.waits:
            machine.resume_at[active] = pc + 1
            machine.resume_depth[active] = lanes.group.depth
            machine.arrived_at[active] = machine.tick - 1
        for number in present:
            who = active & (numbers == number)
            machine.named.arrive(lanes, number, who, count, votes)
            if self.waits:
                waiting = machine.waiting.get(NAMED + number)
                machine.waiting[NAMED + number] = who if waiting is None else who | waiting
        for number in present:
            machine.named.settle(number, pc, active & (numbers == number))
        return not self.waits


def named_barrier(decoder: Decoder, instruction: Instruction) -> Op:
    """Decodes any form of `bar` and `barrier` but `bar.sync` of everybody."""
    refuse(instruction, "cluster")
    table = decoder.table
    modifiers = instruction.modifiers
    operands = list(instruction.operands)
    reduction, predicate = "", None
    slots: tuple[int, ...] = ()
    writers: tuple[Callable[..., Any], ...] = ()
    if "red" in modifiers:
        reduction = next(m for m in ("popc", "and", "or") if m in modifiers)
        kind = TYPES["u32"] if reduction == "popc" else PRED
        slots, writers = decoder.plain_writers(instruction, (operands.pop(0),), (kind,))
        predicate = table.read(instruction, operands.pop(), PRED)
    if not 1 <= len(operands) <= 2 or ("arrive" in modifiers and len(operands) != 2):
        raise unsupported(instruction, "has the wrong number of operands")
    count = table.read(instruction, operands[1], TYPES["u32"]) if len(operands) == 2 else None
    number = table.read(instruction, operands[0], TYPES["u32"])
    action = ArriveOrWait(number, count, "arrive" not in modifiers, reduction, predicate, writers)
    return action_op(instruction, action, slots)
