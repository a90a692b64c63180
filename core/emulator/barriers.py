"""Barriers of a block, and the end of threads, which lets others pass a barrier.

A barrier lets a block's waiting threads go on when all its living ones have come to it, or as many
as its count says: `bar` and `barrier`, those too with a count or in a register, that only announce
or vote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import BarrierEvent, Mask
from core.emulator.geometry import warp_rows
from core.emulator.machine_state import Group, Lanes, MachineState
from core.emulator.operands import OperandDecoder
from core.emulator.program import Kind, Op, Reader
from core.emulator.scheduling import RunQueue
from core.errors import TilescopeError
from core.launch import WARP
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Instruction, Operand, immediate
from core.ptx.types import PRED, TYPES, PtxType

_COUNTED = 1000  # more than there are barriers: one that counts or votes is number n + `_COUNTED`


@dataclass
class _Barrier:
    """One barrier: the lanes that have come, their votes, and each block's count (0: all)."""

    arrived: Mask
    votes: Mask
    count: NDArray[np.int64]


class Barriers:
    """Lanes that wait at a barrier until as many threads of their block have come as it wants."""

    def __init__(self, state: MachineState) -> None:
        self.state, self.queue = state, state.part(RunQueue)
        self._barriers: dict[int, _Barrier] = {}
        # By number and block, of this phase: the lane that said how many take part, and where.
        self._said: dict[tuple[int, int], tuple[int, int]] = {}

    def place(self, pc: int, depth: int, mask: Mask | None, latch: int = -1) -> None:
        """Puts lanes at a pc; behind a latch where they came there by a jump back.

        Lanes about to return from the kernel do so at once, so that no other lane waits for them.
        """
        code = self.state.image.code_at(pc)
        op = code.ops[pc - code.first_pc]
        group = Group(pc, depth, mask, latch=latch)
        if depth == 0 and op.kind is Kind.RETURN and op.guard < 0:
            tick = self.state.tick
            self.state.tick += 1
            self.exit(group)  # others may go on at once, and end, too
            self.state.segment(tick, pc, pc + 1, group)
        else:
            self.queue.enter(group)

    def set_apart(self, pc: int, depth: int, mask: Mask) -> None:
        """Puts some of the lanes that run at a pc."""
        self.state.exclusive = False
        self.place(pc, depth, mask)

    def exit(self, group: Group) -> None:
        """Threads end; those that wait for them at a barrier may go on."""
        if group.mask is None:
            self.state.alive[:] = False
        else:
            self.state.alive &= ~group.mask
        for number in list(self.state.waiting):
            waiting = self.state.waiting.get(number)
            if waiting is not None and len(self._complete(self._barriers[number])):
                pc = int(self.state.resume_at[waiting.argmax()]) - 1
                self._settle(number, pc, waiting, executed=False)
        for part in self.queue.parts:
            part.exited()

    def arrive(self, group: Group, op: Op, pc: int) -> bool:
        """Arrives where all of a block have to; True if the whole group may go on at once."""
        state, number = self.state, op.payload
        mask = np.ones(state.count, bool) if group.mask is None else group.mask
        self._will_go_on(mask, pc, group.depth)
        barrier = self._come(number, mask, None, mask)
        complete = self._complete(barrier)
        if number not in state.waiting and len(complete) == len(state.geometry.blocks):
            if not state.alive.all():  # else all threads have come to this one
                self.check(barrier.arrived, complete)
            event = BarrierEvent(state.tick - 1, pc, group.mask, complete)
            state.tell_barrier(event, note=True)
            del self._barriers[number]
            return True
        self._wait(number, mask)
        self._settle(number, pc, group.mask)
        return False

    def _will_go_on(self, mask: Mask, pc: int, depth: int) -> None:
        """Notes where lanes go on after a barrier."""
        self.state.resume_at[mask] = pc + 1
        self.state.resume_depth[mask] = depth
        self.state.arrived_at[mask] = self.state.tick - 1

    def _wait(self, number: int, who: Mask) -> None:
        self.state.waiting[number] = who | self.state.waiting.get(number, who)

    def check(self, arrived: Mask, complete: NDArray[np.intp]) -> None:
        """A barrier let a block through: every thread of it must have come to the same one."""
        shape = (len(self.state.geometry.blocks), self.state.geometry.threads)
        through = np.zeros(shape, bool)
        through[complete] = True
        here: Mask = arrived & through.reshape(-1)
        gone: Mask = ~self.state.alive & through.reshape(-1)
        if gone.any():
            affected = np.repeat(gone.reshape(shape).any(axis=1), shape[1])
            self._fault(np.flatnonzero(here & affected), np.flatnonzero(gone))
        first = here.reshape(shape).argmax(axis=1) + np.arange(shape[0]) * shape[1]
        same = self.state.resume_at == np.repeat(self.state.resume_at[first], shape[1])
        elsewhere = here & ~same
        if elsewhere.any():
            affected = np.repeat(elsewhere.reshape(shape).any(axis=1), shape[1])
            others = np.flatnonzero(elsewhere)
            at = int(self.state.resume_at[others[0]]) - 1
            self._fault(np.flatnonzero(here & same & affected), others, at)

    def _fault(self, lanes: NDArray[np.intp], others: NDArray[np.intp], other_pc: int = -1) -> None:
        pc, depth = int(self.state.resume_at[lanes[0]]) - 1, int(self.state.resume_depth[lanes[0]])
        tick = int(self.state.arrived_at[lanes[0]])
        self.state.fault("divergent_barrier", pc, depth, lanes, others, other_pc, tick=tick)

    def _places(self, go: Mask) -> Iterator[tuple[int, int, Mask]]:
        """Where these lanes go on after their barriers: pc, depth of calls, and who goes there."""
        state = self.state
        for pc in np.unique(state.resume_at[go]).tolist():
            for depth in np.unique(state.resume_depth[go]).tolist():
                mask = go & (state.resume_at == pc) & (state.resume_depth == depth)
                if mask.any():
                    yield pc, depth, mask

    def _come(self, number: int, who: Mask, count: NDArray[Any] | None, votes: Mask) -> _Barrier:
        """Notes that the lanes `who` have come."""
        blocks = len(self.state.geometry.blocks)
        barrier = self._barriers.get(number)
        if barrier is None:
            barrier = _Barrier(who, who & votes, np.zeros(blocks, np.int64))
            self._barriers[number] = barrier
        else:
            barrier.arrived = barrier.arrived | who
            barrier.votes = np.where(who, votes, barrier.votes)
        if count is not None:
            rows = np.where(who, count.astype(np.int64), 0).reshape(blocks, -1).max(axis=1)
            barrier.count = np.where(rows > 0, rows, barrier.count)
        return barrier

    def come(
        self,
        lanes: Lanes,
        numbers: NDArray[Any],
        count: NDArray[Any] | None,
        votes: Mask,
        *,
        waits: bool,
    ) -> None:
        """Each lane arrives at the barrier of its number, which counts or votes."""
        active, pc = lanes.active, lanes.op.instruction.pc
        present = [int(n) for n in np.unique(numbers[active])]
        if waits:
            self._will_go_on(active, pc, lanes.group.depth)
        for number in present:
            who = active & (numbers == number)
            if count is not None:
                self._compare(number, lanes, who, count)
            self._come(_COUNTED + number, who, count, votes)
            if waits:
                self._wait(_COUNTED + number, who)
        for number in present:
            self._settle(_COUNTED + number, pc, active & (numbers == number))

    def _compare(self, number: int, lanes: Lanes, who: Mask, count: NDArray[Any]) -> None:
        """A fault where those that meet give a barrier several counts.

        PTX ISA, "bar, barrier": the count is that of the threads that take part in a phase.
        """
        state, pc, depth = self.state, lanes.pc, lanes.group.depth
        barrier, coming = self._barriers.get(_COUNTED + number), np.flatnonzero(who)
        blocks = coming // state.geometry.threads
        for block in np.unique(blocks).tolist():
            here = coming[blocks == block]
            mine = int(count[here[0]])
            known = 0 if barrier is None else int(barrier.count[block])
            if not known:
                self._said[number, block] = int(here[0]), state.call_site(pc, depth, int(here[0]))
            elif mine not in (0, known):
                other, other_pc = self._said[number, block]
                detail = f"{number}|{mine}|{known}|{other}|{other_pc}"
                lanes.fault("divergent_barrier", here, detail)

    def _complete(self, barrier: _Barrier) -> NDArray[np.intp]:
        """The blocks of which enough threads have come; an incomplete warp counts whole."""
        geometry, alive = self.state.geometry, self.state.alive
        blocks = len(geometry.blocks)
        everybody = ~(alive & ~barrier.arrived).reshape(blocks, -1).any(axis=1)
        some = barrier.arrived.reshape(blocks, -1).any(axis=1)
        if not barrier.count.any():
            return np.flatnonzero(everybody & some)
        here = warp_rows(barrier.arrived, geometry, 0)
        missing = warp_rows(alive & ~barrier.arrived, geometry, 0).any(axis=1)
        threads = np.where(missing | ~here.any(axis=1), here.sum(axis=1), 32)
        counted = threads.reshape(blocks, -1).sum(axis=1) >= barrier.count
        return np.flatnonzero(np.where(barrier.count > 0, counted, everybody) & some)

    def _settle(self, number: int, pc: int, mask: Mask | None, *, executed: bool = True) -> None:
        """Tells the observers of an arrival, and releases the lanes that may go on."""
        state, barrier = self.state, self._barriers[number]
        complete = self._complete(barrier)
        through = np.zeros((len(state.geometry.blocks), state.geometry.threads), bool)
        through[complete] = True
        met = barrier.arrived & through.reshape(-1)
        counted = bool(barrier.count[complete].any())
        released = complete[:0] if counted else complete
        if len(released):
            self.check(barrier.arrived, released)
        met_here = met if counted else None
        event = BarrierEvent(state.tick - 1, pc, mask, released, met_here, executed)
        state.tell_barrier(event, note=executed or number >= _COUNTED)
        if len(complete):
            self._let_go(number, barrier, met)

    def _let_go(self, number: int, barrier: _Barrier, met: Mask) -> None:
        state = self.state
        waiting = state.waiting.pop(number, np.zeros(state.count, bool))
        go = waiting & met
        if (waiting & ~met).any():
            state.waiting[number] = waiting & ~met
        total = np.where(met, barrier.votes, False)
        barrier.arrived = barrier.arrived & ~met
        barrier.count = np.where(met.reshape(len(barrier.count), -1).any(axis=1), 0, barrier.count)
        state.exclusive = False
        for pc, depth, mask in self._places(go):
            self._give_result(pc - 1, depth, mask, total, met)
            self.place(pc, depth, mask)

    def _give_result(self, pc: int, depth: int, mask: Mask, votes: Mask, met: Mask) -> None:
        """Writes the result of a `bar.red` that the lanes of `mask` waited at."""
        state = self.state
        op = state.op_at(pc)
        if not op.destinations:
            return
        blocks, threads = len(state.geometry.blocks), state.geometry.threads
        yes, came = votes.reshape(blocks, -1), met.reshape(blocks, -1)
        functions: dict[str, Callable[[], NDArray[Any]]] = {
            "popc": lambda: yes.sum(axis=1).astype(np.uint32),
            "and": lambda: np.asarray((yes | ~came).all(axis=1)),
            "or": lambda: np.asarray(yes.any(axis=1)),
        }
        reduction = next(functions[m] for m in op.instruction.modifiers if m in functions)
        value = np.repeat(reduction(), threads)
        frame = state.frame(Group(pc, depth, mask))
        state.write(frame, op.destinations[0], op.writers[0](value), mask)


# The instructions.


_BARRIERS = 16  # of a block


def _arrive_or_wait(
    number: Reader, count: Reader | None, waits: bool, predicate: Reader | None, lanes: Lanes
) -> bool:
    """`bar` and `barrier` in any form but the plain one; True if the lanes go on at once."""
    numbers, active = lanes.read(number), lanes.active
    counts = None if count is None else lanes.read(count)
    _must_exist(lanes.op.instruction, numbers[active], None if counts is None else counts[active])
    votes = active if predicate is None else lanes.read(predicate) & active
    lanes.state.part(Barriers).come(lanes, numbers, counts, votes, waits=waits)
    return not waits


def _must_exist(
    instruction: Instruction, numbers: NDArray[Any], counts: NDArray[Any] | None = None
) -> None:
    """Raises `TilescopeError` for a barrier that no block has, or a count of half a warp.

    PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier".
    """
    where = f"Line {instruction.position.line}: `{instruction.text.strip()}`"
    wrong = numbers[(numbers < 0) | (numbers >= _BARRIERS)]
    if wrong.size:
        raise TilescopeError(
            f"{where} names barrier {int(wrong[0])}: a block has barriers 0 to {_BARRIERS - 1}."
        )
    if counts is None:
        return
    odd = counts[(counts % WARP != 0) | ((counts == 0) & ("arrive" in instruction.modifiers))]
    if odd.size:
        raise TilescopeError(
            f"{where} counts {int(odd[0])} threads: a barrier counts whole warps, so give a "
            f"multiple of {WARP}."
        )


def barrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `bar` and `barrier`: of a warp, a whole block, or some warps of it."""
    modifiers, operands = set(instruction.modifiers), instruction.operands
    if "warp" in modifiers:
        return Op(Kind.SYNC, instruction, payload=decoder.members(instruction))
    number = immediate(operands[0])
    if len(operands) == 1 and number is not None and not {"red", "arrive"} & modifiers:
        _must_exist(instruction, np.array([number]))
        return Op(Kind.BARRIER, instruction, payload=number)
    return _named_barrier(decoder, instruction)


def _named_barrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    table = decoder.table
    modifiers = instruction.modifiers
    operands = list(instruction.operands)
    predicate: Reader | None = None
    into: tuple[Operand, ...] = ()
    types: tuple[PtxType, ...] = ()
    if "red" in modifiers:
        reduction = next(m for m in ("popc", "and", "or") if m in modifiers)
        into, types = (operands.pop(0),), (TYPES["u32"] if reduction == "popc" else PRED,)
        predicate = table.read(instruction, operands.pop(), PRED)
    if not 1 <= len(operands) <= 2 or ("arrive" in modifiers and len(operands) != 2):
        raise unsupported(instruction, "has the wrong number of operands")
    given = [immediate(operand) for operand in operands]
    constant = [None if value is None else np.array([value]) for value in given]
    if constant[0] is not None or constant[-1] is not None:
        known = constant[1] if len(constant) == 2 else None
        _must_exist(instruction, constant[0] if constant[0] is not None else np.zeros(1), known)
    count = table.read(instruction, operands[1], TYPES["u32"]) if len(operands) == 2 else None
    number = table.read(instruction, operands[0], TYPES["u32"])
    action = partial(_arrive_or_wait, number, count, "arrive" not in modifiers, predicate)
    return decoder.action(instruction, action, into, types)
