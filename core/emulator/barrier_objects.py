"""`mbarrier`: barriers that live in shared memory, as `cuda::barrier` uses them.

The 64-bit object is opaque to programs. Ours holds the expected count in bits 0 to 19, what is
still to arrive in bits 20 to 39, and the number of the phase from bit 40 on. An arrival returns the
word as it was before. Transaction counts, which belong to bulk copies, are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import BarrierEvent
from core.emulator.groups import WARP
from core.emulator.lanes import Lanes, action_op
from core.emulator.operands import OperandDecoder
from core.emulator.program import Kind, Op, Reader
from core.errors import TilescopeError
from core.ptx.arithmetic.operation import immediate, refuse, unsupported
from core.ptx.ast import Address, Immediate, Instruction
from core.ptx.types import PRED, TYPES

# Barriers with a count or in a register, that only announce (`bar.arrive`) or vote (`bar.red`).
#
# A barrier lets a block's waiting threads go on when as many threads as its count says have come to
# it, or, without a count, all its living ones.


BARRIERS = 16  # of a block


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
        numbers, active = lanes.read(self.number), lanes.active
        count = None if self.count is None else lanes.read(self.count)
        must_exist(lanes.op.instruction, numbers[active], None if count is None else count[active])
        votes = active if self.predicate is None else lanes.read(self.predicate) & active
        lanes.machine.come(lanes, numbers, count, votes, waits=self.waits)
        return not self.waits


def must_exist(
    instruction: Instruction, numbers: NDArray[Any], counts: NDArray[Any] | None = None
) -> None:
    """Raises `TilescopeError` for a barrier that no block has, or a count of half a warp.

    PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier".
    """
    where = f"Line {instruction.position.line}: `{instruction.text.strip()}`"
    wrong = numbers[(numbers < 0) | (numbers >= BARRIERS)]
    if wrong.size:
        raise TilescopeError(
            f"{where} names barrier {int(wrong[0])}: a block has barriers 0 to {BARRIERS - 1}."
        )
    if counts is None:
        return
    odd = counts[(counts % WARP != 0) | ((counts == 0) & ("arrive" in instruction.modifiers))]
    if odd.size:
        raise TilescopeError(
            f"{where} counts {int(odd[0])} threads: a barrier counts whole warps, so give a "
            f"multiple of {WARP}."
        )


def named_barrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
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
    given = [immediate(operand) for operand in operands]
    constant = [None if value is None else np.array([value]) for value in given]
    if constant[0] is not None or constant[-1] is not None:
        known = constant[1] if len(constant) == 2 else None
        must_exist(instruction, constant[0] if constant[0] is not None else np.zeros(1), known)
    count = table.read(instruction, operands[1], TYPES["u32"]) if len(operands) == 2 else None
    number = table.read(instruction, operands[0], TYPES["u32"])
    action = ArriveOrWait(number, count, "arrive" not in modifiers, reduction, predicate, writers)
    return action_op(instruction, action, slots)


_COUNT = (1 << 20) - 1
_PENDING, _PHASE = 20, 40


def word_of(expected: int, pending: int, phase: int) -> int:
    """The object's content."""
    return expected | pending << _PENDING | phase << _PHASE


def _words(lanes: Lanes, address: Reader) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Shared memory as 64-bit words, and each lane's place in it."""
    region = lanes.machine.unit.shared
    assert region.lane_offset is not None
    offset = lanes.read(address) - region.base
    inside = (offset >= 0) & (offset + 8 <= region.nbytes) & (offset % 8 == 0)
    if not inside[lanes.active].all():
        raise unsupported(lanes.op.instruction, "names no mbarrier object in shared memory")
    return region.view(np.dtype(np.int64)), np.where(inside, offset + region.lane_offset, 0) // 8


@dataclass(frozen=True)
class Init:
    """`mbarrier.init` and, with a count of 0, `mbarrier.inval`."""

    address: Reader
    count: Reader

    def run(self, lanes: Lanes) -> bool:
        """Starts phase 0."""
        words, places = _words(lanes, self.address)
        counts = lanes.read(self.count).astype(np.int64) & _COUNT
        for lane in np.flatnonzero(lanes.active):
            count = int(counts[lane])
            words[places[lane]] = word_of(count, count, 0)
            lanes.machine.arrivals.pop(int(places[lane]), None)
        lanes.machine.unit.changes += 1
        return True


@dataclass(frozen=True)
class Arrive:
    """`mbarrier.arrive` and `mbarrier.arrive_drop`."""

    address: Reader
    count: Reader
    drop: bool
    writers: tuple[Callable[..., Any], ...]

    def run(self, lanes: Lanes) -> bool:
        """Counts each lane, in order; the last one ends the phase."""
        machine = lanes.machine
        words, places = _words(lanes, self.address)
        counts = lanes.read(self.count).astype(np.int64)
        states = np.zeros(machine.count, np.int64)
        for lane in np.flatnonzero(lanes.active):
            place = int(places[lane])
            states[lane] = before = int(words[place])
            count = int(counts[lane])
            expected = (before & _COUNT) - (count if self.drop else 0)
            pending, phase = (before >> _PENDING & _COUNT) - count, before >> _PHASE
            machine.arrivals.setdefault(place, set()).add(int(lane))
            if pending <= 0:
                pending, phase = expected, phase + 1
                self._completed(lanes, machine.arrivals.pop(place))
            words[place] = word_of(expected, pending, phase)
        machine.unit.changes += 1
        if self.writers:
            lanes.write((states,), self.writers)
        return True

    @staticmethod
    def _completed(lanes: Lanes, arrived: set[int]) -> None:
        """Tells the observers that these lanes have met."""
        machine = lanes.machine
        met = np.zeros(machine.count, bool)
        met[list(arrived)] = True
        nobody = np.zeros(0, np.intp)
        pc = lanes.op.instruction.pc
        event = BarrierEvent(machine.tick - 1, pc, lanes.mask, nobody, met, executed=False)
        machine.tell_barrier(event)


@dataclass(frozen=True)
class TestWait:
    """`mbarrier.test_wait` and `try_wait`, which here waits no longer than the former."""

    address: Reader
    state: Reader
    parity: bool
    writers: tuple[Callable[..., Any], ...]

    def run(self, lanes: Lanes) -> bool:
        """Whether the phase of the state, or of the parity, is over."""
        words, places = _words(lanes, self.address)
        phase = words[places] >> _PHASE
        state = lanes.read(self.state).astype(np.int64)
        over = (phase & 1) != (state & 1) if self.parity else phase != state >> _PHASE
        lanes.write((over,), self.writers)
        return True


@dataclass(frozen=True)
class PendingCount:
    """`mbarrier.pending_count` of a state."""

    state: Reader
    writers: tuple[Callable[..., Any], ...]

    def run(self, lanes: Lanes) -> bool:
        """Reads it out of the state."""
        pending = lanes.read(self.state).astype(np.int64) >> _PENDING & _COUNT
        lanes.write((pending.astype(np.uint32),), self.writers)
        return True


def arrive_after_copies(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """`cp.async.mbarrier.arrive`: copies are done at once, so it arrives at once.

    Without `.noinc` it adds one to the pending count first, so that the count stays the same.
    """
    where = instruction.operands[0]
    if "noinc" not in instruction.modifiers:
        return Op(Kind.NOTHING, instruction)
    if not isinstance(where, Address):
        raise unsupported(instruction, "has no address")
    address = decoder.address(instruction, where, "shared")
    one = decoder.table.read(instruction, Immediate(1), TYPES["u32"])
    return action_op(instruction, Arrive(address, one, drop=False, writers=()))


def mbarrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes the family; transaction counts and other blocks' objects are refused."""
    refuse(instruction, "expect_tx", "complete_tx", "shared::cluster")
    what, *_ = instruction.modifiers
    operands = list(instruction.operands)
    read = decoder.table.read
    b64, u32 = TYPES["b64"], TYPES["u32"]
    if what == "pending_count":
        slots, writers = decoder.plain_writers(instruction, (operands[0],), (u32,))
        return action_op(
            instruction, PendingCount(read(instruction, operands[1], b64), writers), slots
        )
    place = 0 if what in ("init", "inval") or isinstance(operands[0], Address) else 1
    where = operands[place]
    if not isinstance(where, Address):
        raise unsupported(instruction, "has no address")
    space = "shared" if any(m.split("::")[0] == "shared" for m in instruction.modifiers) else ""
    address = decoder.address(instruction, where, space)
    rest = operands[place + 1 :]
    if what in ("init", "inval"):
        count = read(instruction, rest[0] if rest else Immediate(0), u32)
        return action_op(instruction, Init(address, count))
    results = tuple(operands[:place])
    if what in ("arrive", "arrive_drop"):
        count = read(instruction, rest[0] if rest else Immediate(1), u32)
        slots, writers = decoder.plain_writers(instruction, results, (b64,) * len(results))
        return action_op(instruction, Arrive(address, count, what != "arrive", writers), slots)
    if what not in ("test_wait", "try_wait"):
        raise unsupported(instruction)
    slots, writers = decoder.plain_writers(instruction, results, (PRED,))
    parity = "parity" in instruction.modifiers
    state = read(instruction, rest[0], u32 if parity else b64)
    return action_op(instruction, TestWait(address, state, parity, writers), slots)
