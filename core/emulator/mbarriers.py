"""`mbarrier`: barriers that live in shared memory, and count arrivals and copied bytes.

A phase ends when neither arrivals nor bytes are missing (PTX ISA, "mbarrier"). An arrival returns
the object's word as it was before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.emulator.in_flight import MOST, PENDING, PHASE, Word
from core.emulator.lanes import Lanes
from core.emulator.machine import ActionLanes
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Address, Immediate, Instruction, Operand
from core.ptx.opcodes import space_of
from core.ptx.register_makers import is_used
from core.ptx.types import PRED, TYPES


def _places(lanes: Lanes, address: Reader) -> NDArray[np.intp]:
    """Each lane's object, as its place among the 64-bit words of shared memory.

    A fault is told of lanes whose address is no multiple of 8 bytes: -1.
    """
    addresses = lanes.read(address)
    offset = lanes.state.unit.shared_offset(addresses)
    if (offset[lanes.active] < 0).any():
        raise unsupported(lanes.op.instruction, "names no mbarrier object in shared memory")
    wrong = np.flatnonzero(lanes.active & (offset % 8 != 0))
    for lane in wrong.tolist():
        lanes.illegal("misaligned", lane, int(addresses[lane]), 8)
    offset[wrong] = -8
    return offset // 8


@dataclass(frozen=True)
class Init:
    """`mbarrier.init`, and `mbarrier.inval`, which has no count."""

    address: Reader
    count: Reader | None

    def __call__(self, lanes: ActionLanes) -> bool:
        """Starts phase 0."""
        places, flight = _places(lanes, self.address), lanes.machine.flight
        there = lanes.active & (places >= 0)
        for lane in np.flatnonzero(there):
            place = int(places[lane])
            if self.count is None:
                flight.forget(place)
            else:
                count = int(lanes.read(self.count)[lane]) & MOST
                flight.start(place, Word(count, count))
        kind = "inval" if self.count is None else "init"
        flight.tell_phase(kind, lanes.pc, places, there, depth=lanes.group.depth)
        return True


@dataclass(frozen=True)
class Arrive:
    """`mbarrier.arrive`, `arrive_drop`, `expect_tx` and `complete_tx`, and what is one of each."""

    address: Reader
    count: Reader | None  # arrivals; None: none at all
    bytes: Reader | None  # that are expected on top
    drop: bool = False
    completes: bool = False  # the bytes have come
    is_relaxed: bool = False  # orders none of the accesses before it

    def __call__(self, lanes: ActionLanes) -> bool:
        """Counts each lane, in order; one that ends a phase does so before the next arrives."""
        places, flight = _places(lanes, self.address), lanes.machine.flight
        states = np.zeros(lanes.count, np.uint64)
        active = flight.in_living_blocks(lanes, places, flight.initialised(lanes, places))
        nothing = np.zeros(lanes.count, np.int64)
        counts = nothing if self.count is None else lanes.read(self.count).astype(np.int64)
        nbytes = nothing if self.bytes is None else lanes.read(self.bytes).astype(np.int64)
        untold = np.zeros(lanes.count, bool)  # lanes that came since a phase last ended

        def tell() -> None:
            flight.tell_phase(
                "arrive",
                lanes.pc,
                places,
                untold,
                is_relaxed=self.is_relaxed,
                depth=lanes.group.depth,
            )

        for lane in np.flatnonzero(active):
            place, count = int(places[lane]), int(counts[lane])
            states[lane] = flight.word(place).raw
            if nbytes[lane]:
                flight.expect(place, -int(nbytes[lane]) if self.completes else int(nbytes[lane]))
            if count:
                flight.arrive(lanes, place, int(lane), count, drop=self.drop)
            untold[lane] = self.count is not None
            if flight.is_over(place):  # what the lanes after this one did belongs to a later phase
                tell()
                untold[:] = False
                flight.settle(place)
        tell()
        if lanes.op.destinations:
            lanes.write(states.view(np.int64))
        return True


@dataclass(frozen=True)
class Wait:
    """`mbarrier.test_wait` and `try_wait`; the latter holds its lanes until the phase is over."""

    address: Reader
    state: Reader
    parity: bool
    blocks: bool

    def __call__(self, lanes: ActionLanes) -> bool:
        """Whether the phase of the state, or of the parity, is over."""
        places, flight = _places(lanes, self.address), lanes.machine.flight
        known = flight.initialised(lanes, places)
        state = lanes.read(self.state)
        if self.parity:
            phase = state.astype(np.int64) & 1
        else:
            phase = (state.view(np.uint64) >> np.uint64(PHASE)).astype(np.int64)
        now = flight.phases(places)
        over = (now & 1 if self.parity else now) != phase
        waiting = known & ~over
        lanes.write(~waiting)  # a fault is told once, and the kernel goes on
        flight.tell_phase("wait", lanes.pc, places, known & over, depth=lanes.group.depth)
        if not self.blocks or not waiting.any():
            return True
        flight.sleep(lanes, waiting, places, phase & 1)
        return False


@dataclass(frozen=True)
class PendingCount:
    """`mbarrier.pending_count` of a state."""

    state: Reader

    def __call__(self, lanes: ActionLanes) -> bool:
        """Reads it out of the state."""
        pending = lanes.read(self.state).view(np.uint64) >> np.uint64(PENDING) & np.uint64(MOST)
        lanes.write(pending.astype(np.uint32))
        return True


@dataclass(frozen=True)
class ArriveAfterCopies:
    """`cp.async.mbarrier.arrive`: those copies are done at once, so it arrives at once.

    `arrival` None: it adds one to the pending count first, so that the count stays the same.
    """

    address: Reader
    arrival: Arrive | None

    def __call__(self, lanes: ActionLanes) -> bool:
        """Tells that the objects' phases include the lanes' copies, and arrives."""
        lanes.tell_copies("track", places=_places(lanes, self.address))
        return self.arrival is None or self.arrival(lanes)


def arrive_after_copies(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `cp.async.mbarrier.arrive`."""
    where = instruction.operands[0]
    if not isinstance(where, Address):
        raise unsupported(instruction, "has no address")
    address = decoder.address(instruction, where, "shared")
    arrival = None
    if "noinc" in instruction.modifiers:
        one = decoder.table.read(instruction, Immediate(1), TYPES["u32"])
        arrival = Arrive(address, one, None)
    return decoder.action(instruction, ArriveAfterCopies(address, arrival))


def mbarrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes the family."""
    what, *others = instruction.modifiers
    operands = list(instruction.operands)
    read = decoder.table.read
    b64, u32 = TYPES["b64"], TYPES["u32"]
    if what == "pending_count":
        count_of = PendingCount(read(instruction, operands[1], b64))
        return decoder.action(instruction, count_of, (operands[0],), (u32,))
    place = 0 if isinstance(operands[0], Address) else 1
    where = operands[place]
    if not isinstance(where, Address):
        raise unsupported(instruction, "has no address")
    address = decoder.address(instruction, where, space_of(instruction))
    results, rest = tuple(operands[:place]), operands[place + 1 :]
    if what in ("init", "inval"):
        count = read(instruction, rest[0], u32) if what == "init" else None
        return decoder.action(instruction, Init(address, count))
    if what in ("expect_tx", "complete_tx"):
        nbytes = read(instruction, rest[0], u32)
        change = Arrive(address, None, nbytes, completes=what == "complete_tx")
        return decoder.action(instruction, change)
    if what in ("arrive", "arrive_drop"):
        arrivals, more = _amounts(decoder, instruction, rest, expects="expect_tx" in others)
        drop, is_relaxed = what == "arrive_drop", "relaxed" in others
        action = Arrive(address, arrivals, more, drop, is_relaxed=is_relaxed)
        return decoder.action(instruction, action, results, (b64,) * len(results))
    if what not in ("test_wait", "try_wait"):
        raise unsupported(instruction)
    parity = "parity" in others
    state = read(instruction, rest[0], u32 if parity else b64)
    # It may give up after a time, so that a kernel that does not look at its result has not waited.
    blocks = what == "try_wait" and is_used(instruction, decoder.instructions)
    waits = Wait(address, state, parity, blocks)
    return decoder.action(instruction, waits, results, (PRED,))


def _amounts(
    decoder: OperandDecoder, instruction: Instruction, rest: list[Operand], *, expects: bool
) -> tuple[Reader, Reader | None]:
    """Arrivals and bytes of an arrival."""
    read, u32 = decoder.table.read, TYPES["u32"]
    if expects:
        one = read(instruction, Immediate(1), u32)
        return one, read(instruction, rest[0], u32)
    return read(instruction, rest[0] if rest else Immediate(1), u32), None
