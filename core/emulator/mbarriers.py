"""`mbarrier`: barriers that live in shared memory, and count arrivals and copied bytes.

A phase ends when neither arrivals nor bytes are missing (PTX ISA, "mbarrier"). An arrival returns
the object's word as it was before.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from core.emulator.in_flight import MOST, PENDING, PHASE, Word
from core.emulator.machine import Action, ActionLanes
from core.emulator.machine_state import Lanes
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Address, Immediate, Instruction, Operand
from core.ptx.dataflow import is_used
from core.ptx.opcodes import space_of
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


def start(address: Reader, count: Reader | None, lanes: ActionLanes) -> bool:
    """`mbarrier.init`, and `mbarrier.inval`, which has no count."""
    places, flight = _places(lanes, address), lanes.machine.flight
    there = lanes.active & (places >= 0)
    for lane in np.flatnonzero(there):
        place = int(places[lane])
        if count is None:
            flight.forget(place)
        else:
            arrivals = int(lanes.read(count)[lane]) & MOST
            flight.start(place, Word(arrivals, arrivals))
    kind = "inval" if count is None else "init"
    flight.tell_phase(kind, lanes.pc, places, there, depth=lanes.group.depth)
    return True


def arrive(
    address: Reader,
    count: Reader | None,
    expected: Reader | None,
    lanes: ActionLanes,
    *,
    drop: bool = False,
    completes: bool = False,
    is_relaxed: bool = False,
) -> bool:
    """`mbarrier.arrive`, `arrive_drop`, `expect_tx` and `complete_tx`, and what is one of each.

    `count` arrivals (None: none at all) count, and bytes that are `expected` on top, or that have
    come where it `completes`. `is_relaxed`: it orders none of the accesses before it. Lanes count
    in order; one that ends a phase does so before the next arrives.
    """
    places, flight = _places(lanes, address), lanes.machine.flight
    states = np.zeros(lanes.count, np.uint64)
    active = flight.in_living_blocks(lanes, places, flight.initialised(lanes, places))
    nothing = np.zeros(lanes.count, np.int64)
    counts = nothing if count is None else lanes.read(count).astype(np.int64)
    nbytes = nothing if expected is None else lanes.read(expected).astype(np.int64)
    untold = np.zeros(lanes.count, bool)  # lanes that came since a phase last ended

    def tell() -> None:
        depth = lanes.group.depth
        flight.tell_phase("arrive", lanes.pc, places, untold, is_relaxed=is_relaxed, depth=depth)

    for lane in np.flatnonzero(active):
        place, arrivals = int(places[lane]), int(counts[lane])
        states[lane] = flight.word(place).raw
        if nbytes[lane]:
            flight.expect(place, -int(nbytes[lane]) if completes else int(nbytes[lane]))
        if arrivals:
            flight.arrive(lanes, place, int(lane), arrivals, drop=drop)
        untold[lane] = count is not None
        if flight.is_over(place):  # what the lanes after this one did belongs to a later phase
            tell()
            untold[:] = False
            flight.settle(place)
    tell()
    if lanes.op.destinations:
        lanes.write(states.view(np.int64))
    return True


def wait(address: Reader, given: Reader, parity: bool, blocks: bool, lanes: ActionLanes) -> bool:
    """`mbarrier.test_wait` and `try_wait`; the latter holds its lanes until the phase is over."""
    places, flight = _places(lanes, address), lanes.machine.flight
    known = flight.initialised(lanes, places)
    state = lanes.read(given)
    if parity:
        phase = state.astype(np.int64) & 1
    else:
        phase = (state.view(np.uint64) >> np.uint64(PHASE)).astype(np.int64)
    now = flight.phases(places)
    over = (now & 1 if parity else now) != phase
    waiting = known & ~over
    lanes.write(~waiting)  # a fault is told once, and the kernel goes on
    flight.tell_phase("wait", lanes.pc, places, known & over, depth=lanes.group.depth)
    if not blocks or not waiting.any():
        return True
    flight.sleep(lanes, waiting, places, phase & 1)
    return False


def pending_count(state: Reader, lanes: ActionLanes) -> bool:
    """`mbarrier.pending_count` of a state."""
    pending = lanes.read(state).view(np.uint64) >> np.uint64(PENDING) & np.uint64(MOST)
    lanes.write(pending.astype(np.uint32))
    return True


def tell_and_arrive(address: Reader, arrival: Action | None, lanes: ActionLanes) -> bool:
    """`cp.async.mbarrier.arrive`: those copies are done at once, so it arrives at once.

    `arrival` None: it adds one to the pending count first, so that the count stays the same.
    """
    lanes.tell_copies("track", places=_places(lanes, address))
    return arrival is None or arrival(lanes)


def arrive_after_copies(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `cp.async.mbarrier.arrive`."""
    where = instruction.operands[0]
    if not isinstance(where, Address):
        raise unsupported(instruction, "has no address")
    address = decoder.address(instruction, where, "shared")
    arrival = None
    if "noinc" in instruction.modifiers:
        one = decoder.table.read(instruction, Immediate(1), TYPES["u32"])
        arrival = partial(arrive, address, one, None)
    return decoder.action(instruction, partial(tell_and_arrive, address, arrival))


def mbarrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes the family."""
    what, *others = instruction.modifiers
    operands = list(instruction.operands)
    read = decoder.table.read
    b64, u32 = TYPES["b64"], TYPES["u32"]
    if what == "pending_count":
        count_of = partial(pending_count, read(instruction, operands[1], b64))
        return decoder.action(instruction, count_of, (operands[0],), (u32,))
    place = 0 if isinstance(operands[0], Address) else 1
    where = operands[place]
    if not isinstance(where, Address):
        raise unsupported(instruction, "has no address")
    address = decoder.address(instruction, where, space_of(instruction))
    results, rest = tuple(operands[:place]), operands[place + 1 :]
    if what in ("init", "inval"):
        count = read(instruction, rest[0], u32) if what == "init" else None
        return decoder.action(instruction, partial(start, address, count))
    if what in ("expect_tx", "complete_tx"):
        nbytes = read(instruction, rest[0], u32)
        change = partial(arrive, address, None, nbytes, completes=what == "complete_tx")
        return decoder.action(instruction, change)
    if what in ("arrive", "arrive_drop"):
        arrivals, more = _amounts(decoder, instruction, rest, expects="expect_tx" in others)
        drop, is_relaxed = what == "arrive_drop", "relaxed" in others
        action = partial(arrive, address, arrivals, more, drop=drop, is_relaxed=is_relaxed)
        return decoder.action(instruction, action, results, (b64,) * len(results))
    if what not in ("test_wait", "try_wait"):
        raise unsupported(instruction)
    parity = "parity" in others
    state = read(instruction, rest[0], u32 if parity else b64)
    # It may give up after a time, so that a kernel that does not look at its result has not waited.
    blocks = what == "try_wait" and is_used(instruction, decoder.instructions)
    waits = partial(wait, address, state, parity, blocks)
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
