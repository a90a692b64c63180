"""`mbarrier`: barriers that live in shared memory, and count arrivals and copied bytes.

A phase ends when neither arrivals nor bytes are missing (PTX ISA, "mbarrier"). An arrival returns
the object's word as it was before. The observers hear of everything that lets threads know of the
end of a phase.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from core.emulator.barriers import Barriers
from core.emulator.events import Indices, Ints, Mask, PhaseEvent
from core.emulator.machine_state import Action, Group, Lanes, MachineState
from core.emulator.operands import OperandDecoder
from core.emulator.program import Op, Reader
from core.emulator.scheduling import MachinePart
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Address, Immediate, Instruction
from core.ptx.dataflow import is_used
from core.ptx.opcodes import space_of
from core.ptx.types import PRED, TYPES

# What an mbarrier object holds.
#
# The 64-bit object is opaque to programs (PTX ISA, "mbarrier"). Ours holds, from bit 0 on, the
# count that is expected (20 bits), what is still to arrive (20 bits), the bytes that are still to
# come (21 bits, signed: they may come before they are expected) and the phase's number, modulo 8.


_MOST = (1 << 20) - 1  # arrivals
_PENDING, _BYTES, _PHASE = 20, 40, 61  # the lowest bit of each
_BYTES_MASK = (1 << 21) - 1


@dataclass(frozen=True)
class _Word:
    """The content of an object. `phase` is modulo 8."""

    expected: int
    pending: int
    missing_bytes: int = 0
    phase: int = 0

    @classmethod
    def of(cls, raw: int) -> _Word:
        """From its 64 bits."""
        missing = raw >> _BYTES & _BYTES_MASK
        missing -= (missing >> 20) << 21
        return cls(raw & _MOST, raw >> _PENDING & _MOST, missing, raw >> _PHASE & 7)

    @property
    def raw(self) -> int:
        """Its 64 bits, unsigned."""
        low = (self.expected & _MOST) | (self.pending & _MOST) << _PENDING
        return low | (self.missing_bytes & _BYTES_MASK) << _BYTES | self.phase << _PHASE


@dataclass
class _Traffic:
    """Who came to an object: in this phase, and ever, by lane."""

    now: set[int] = field(default_factory=set)
    ever: set[int] = field(default_factory=set)
    expected: int = 0  # bytes, in this phase


@dataclass(frozen=True)
class _Sleeper:
    """Lanes that wait for a phase of an mbarrier; each waits for the parity `parity` to be over."""

    group: Group
    place: Indices
    parity: Ints
    op: Op
    tick: int


class MBarriers(MachinePart):
    """The mbarriers of one machine, and the lanes that wait for their phases."""

    def __init__(self, state: MachineState) -> None:
        super().__init__(state)
        self._barriers = state.part(Barriers)
        self.traffic: dict[int, _Traffic] = {}  # the objects there are, by place
        self._sleepers: list[_Sleeper] = []

    @property
    def is_awaited(self) -> bool:
        """Whether anybody waits for a phase."""
        return bool(self._sleepers)

    def awaited_places(self) -> set[int]:
        """The objects that somebody waits for."""
        return {
            place
            for s in self._sleepers
            for place in s.place[s.group.lanes(self.state.count)].tolist()
        }

    @property
    def _words(self) -> NDArray[np.uint64]:
        return self.state.unit.shared.view(np.dtype(np.uint64))

    def word(self, place: int) -> _Word:
        """An object's content."""
        return _Word.of(int(self._words[place]))

    def phases(self, places: Indices) -> Ints:
        """The phases, modulo 8, that the objects are in."""
        return (self._words[places] >> np.uint64(_PHASE)).astype(np.int64)

    def _put(self, place: int, word: _Word) -> None:
        self._words[place] = word.raw
        self.state.unit.changes += 1

    def start(self, place: int, word: _Word) -> None:
        """An object is initialised."""
        self._put(place, word)
        self.traffic[place] = _Traffic()

    def forget(self, place: int) -> None:
        """An object is no more."""
        self.traffic.pop(place, None)

    def initialised(self, lanes: Lanes, places: Indices) -> Mask:
        """The active lanes whose object is there; a fault is told of the others."""
        there = np.fromiter(self.traffic, np.intp, len(self.traffic))
        known: Mask = np.isin(places, there) & lanes.active
        wrong = np.flatnonzero(lanes.active & ~known & (places >= 0))
        if len(wrong):
            place = int(places[wrong[0]])
            self.fault("bad_mbarrier", lanes.pc, lanes.group.depth, wrong, place)
        return known

    def in_living_blocks(self, lanes: Lanes, places: Indices, who: Mask) -> Mask:
        """Those of the lanes `who` whose object lies in a block that has not ended.

        A fault is told of the others (PTX ISA, "mapa" and "Cooperative Thread Array Cluster": the
        memory of a block is there as long as the block is).
        """
        gone = who & self.state.unit.have_ended(places.astype(np.int64) * 8)
        if gone.any():
            late, depth, does = np.flatnonzero(gone), lanes.group.depth, "updates the mbarrier at"
            self.fault("remote_exit", lanes.pc, depth, late, int(places[late[0]]), does)
        return who & ~gone

    def fault(
        self,
        kind: str,
        pc: int,
        depth: int,
        lanes: Indices,
        place: int,
        detail: str = "",
        tick: int = -1,
        others: Indices | None = None,
        other_pc: int = -1,
    ) -> None:
        """Tells of a fault of lanes at an mbarrier."""
        shared = self.state.unit.shared
        offset = place * 8 % self.state.image.shared_stride
        self.state.fault(
            kind,
            pc,
            depth,
            lanes,
            others,
            other_pc,
            detail,
            tick,
            region=shared,
            address=np.array([shared.base + offset], np.int64),
        )

    def expect(self, place: int, nbytes: int) -> None:
        """So many more bytes must come before the phase ends; less than 0: they have come."""
        word, traffic = self.word(place), self.traffic[place]
        traffic.expected += max(nbytes, 0)
        self._put(place, replace(word, missing_bytes=word.missing_bytes + nbytes))

    def arrive(self, lanes: Lanes, place: int, lane: int, count: int, *, drop: bool) -> None:
        """A lane arrives; `drop` lowers the count of the phases to come, too."""
        word, traffic = self.word(place), self.traffic[place]
        traffic.now.add(lane)
        traffic.ever.add(lane)
        if word.pending < count:
            pc, who = lanes.pc, np.array([lane])
            self.fault("bad_mbarrier", pc, lanes.group.depth, who, place, f"{word.expected:,}")
        expected = word.expected - (count if drop else 0)
        pending = max(word.pending - count, 0)
        self._put(place, replace(word, expected=expected, pending=pending))

    def is_over(self, place: int) -> bool:
        """Whether the phase of an object lacks neither arrivals nor bytes."""
        word = self.word(place)
        return not word.pending and not word.missing_bytes

    def settle(self, place: int) -> bool:
        """Ends the phase of an object if nothing is missing; whether it did."""
        if not self.is_over(place):
            return False
        word = self.word(place)
        self._put(place, _Word(word.expected, word.expected, 0, (word.phase + 1) % 8))
        traffic = self.traffic[place]
        traffic.now.clear()
        traffic.expected = 0
        self.tell_end(place)
        self._wake()
        return True

    def tell_phase(
        self,
        kind: str,
        pc: int,
        places: Indices,
        mask: Mask,
        *,
        is_relaxed: bool = False,
        depth: int = 0,
    ) -> None:
        """Tells the observers what lanes do at their objects, see `PhaseEvent`."""
        lanes = np.flatnonzero(mask)
        if len(lanes):
            tick = self.state.tick - 1
            site = self.state.call_site(pc, depth, int(lanes[0]))
            self._tell(PhaseEvent(kind, places[lanes], lanes, tick, pc, is_relaxed, site))

    def tell_end(self, place: int) -> None:
        """Tells the observers that a phase is over."""
        nobody = np.zeros(0, np.intp)
        self._tell(PhaseEvent("end", np.array([place]), nobody, self.state.tick - 1))

    def _tell(self, event: PhaseEvent) -> None:
        for observer in self.state.observers:
            observer.on_phase(event)

    def sleep(self, lanes: Lanes, waiting: Mask, places: Indices, parity: Ints) -> None:
        """Puts lanes to sleep until the phase of their parity is over; the others go on."""
        group = self.put_aside(lanes, waiting, places)
        wanted = np.broadcast_to(parity, self.state.count)
        self._sleepers.append(_Sleeper(group, places, wanted, lanes.op, self.state.tick - 1))
        self.go_on(lanes, waiting)

    def put_aside(self, lanes: Lanes, waiting: Mask, places: Indices) -> Group:
        """Those that wait, as a group of their own."""
        self.tell_phase("block", lanes.pc, places, waiting, depth=lanes.group.depth)
        return Group(lanes.pc, lanes.group.depth, waiting, lanes.group.warp)

    def go_on(self, lanes: Lanes, waiting: Mask) -> None:
        """Those go on that do not wait."""
        rest = ~waiting if lanes.group.mask is None else lanes.group.mask & ~waiting
        if rest.any():
            self._barriers.set_apart(lanes.pc + 1, lanes.group.depth, rest)

    def _wake(self) -> None:
        """Lets those go on whose phase is over."""
        asleep, self._sleepers = self._sleepers, []
        for sleeper in asleep:
            mask = sleeper.group.mask
            assert mask is not None
            over = mask & ((self.phases(sleeper.place) & 1) != sleeper.parity)
            if not over.any():
                self._sleepers.append(sleeper)
                continue
            if (mask & ~over).any():
                rest = Group(sleeper.group.pc, sleeper.group.depth, mask & ~over)
                self._sleepers.append(replace(sleeper, group=rest))
            group, op = sleeper.group, sleeper.op
            true = op.writers[0](np.ones(1, bool))
            self.state.write(self.state.frame(group), op.destinations[0], true, over)
            self.tell_phase("wait", group.pc, sleeper.place, over, depth=group.depth)
            self._barriers.set_apart(group.pc + 1, group.depth, over)

    def give_up(self) -> None:
        """Those that sleep can never go on: says what each of them waits for."""
        for sleeper in self._sleepers:
            lanes = sleeper.group.lanes(self.state.count)
            for place in np.unique(sleeper.place[lanes]).tolist():
                here = lanes[sleeper.place[lanes] == place]
                self._hung(sleeper, place, here)
        self._sleepers.clear()

    def _hung(self, sleeper: _Sleeper, place: int, lanes: Indices) -> None:
        traffic, word = self.traffic[place], self.word(place)
        others, other_pc = self._holder(traffic, lanes)
        group, parity = sleeper.group, int(sleeper.parity[lanes[0]])
        missing = f"{word.pending}|{word.expected}|{word.missing_bytes}|{traffic.expected}"
        detail, tick = f"{word.phase}|{parity}|{missing}", sleeper.tick
        self.fault("hang", group.pc, group.depth, lanes, place, detail, tick, others, other_pc)

    def _holder(self, traffic: _Traffic, lanes: Indices) -> tuple[Indices | None, int]:
        """A lane that came to the object before and now waits itself, and where."""
        for sleeper in self._sleepers:
            for lane in sleeper.group.lanes(self.state.count).tolist():
                if lane in traffic.ever - traffic.now and lane not in lanes:
                    return np.array([lane]), sleeper.group.pc
        gone = [lane for lane in sorted(traffic.ever) if not self.state.alive[lane]]
        return (np.array(gone[:1]), -1) if gone else (None, -1)


# The instructions.


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


def _start(address: Reader, count: Reader | None, lanes: Lanes) -> bool:
    """`mbarrier.init`, and `mbarrier.inval`, which has no count."""
    places, objects = _places(lanes, address), lanes.state.part(MBarriers)
    there = lanes.active & (places >= 0)
    for lane in np.flatnonzero(there):
        place = int(places[lane])
        if count is None:
            objects.forget(place)
        else:
            arrivals = int(lanes.read(count)[lane]) & _MOST
            objects.start(place, _Word(arrivals, arrivals))
    kind = "inval" if count is None else "init"
    objects.tell_phase(kind, lanes.pc, places, there, depth=lanes.group.depth)
    return True


def _arrive(
    address: Reader,
    count: Reader | None,
    expected: Reader | None,
    lanes: Lanes,
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
    places, objects = _places(lanes, address), lanes.state.part(MBarriers)
    states = np.zeros(lanes.count, np.uint64)
    active = objects.in_living_blocks(lanes, places, objects.initialised(lanes, places))
    nothing = np.zeros(lanes.count, np.int64)
    counts = nothing if count is None else lanes.read(count).astype(np.int64)
    nbytes = nothing if expected is None else lanes.read(expected).astype(np.int64)
    untold = np.zeros(lanes.count, bool)  # lanes that came since a phase last ended

    def tell() -> None:
        depth = lanes.group.depth
        objects.tell_phase("arrive", lanes.pc, places, untold, is_relaxed=is_relaxed, depth=depth)

    for lane in np.flatnonzero(active):
        place, arrivals = int(places[lane]), int(counts[lane])
        states[lane] = objects.word(place).raw
        if nbytes[lane]:
            objects.expect(place, -int(nbytes[lane]) if completes else int(nbytes[lane]))
        if arrivals:
            objects.arrive(lanes, place, int(lane), arrivals, drop=drop)
        untold[lane] = count is not None
        if objects.is_over(place):  # what the lanes after this one did belongs to a later phase
            tell()
            untold[:] = False
            objects.settle(place)
    tell()
    if lanes.op.destinations:
        lanes.write(states.view(np.int64))
    return True


def _wait_for_phase(
    address: Reader, given: Reader, parity: bool, blocks: bool, lanes: Lanes
) -> bool:
    """`mbarrier.test_wait` and `try_wait`; the latter holds its lanes until the phase is over."""
    places, objects = _places(lanes, address), lanes.state.part(MBarriers)
    known = objects.initialised(lanes, places)
    state = lanes.read(given)
    if parity:
        phase = state.astype(np.int64) & 1
    else:
        phase = (state.view(np.uint64) >> np.uint64(_PHASE)).astype(np.int64)
    now = objects.phases(places)
    over = (now & 1 if parity else now) != phase
    waiting = known & ~over
    lanes.write(~waiting)  # a fault is told once, and the kernel goes on
    objects.tell_phase("wait", lanes.pc, places, known & over, depth=lanes.group.depth)
    if not blocks or not waiting.any():
        return True
    objects.sleep(lanes, waiting, places, phase & 1)
    return False


def _pending_count(state: Reader, lanes: Lanes) -> bool:
    """`mbarrier.pending_count` of a state."""
    pending = lanes.read(state).view(np.uint64) >> np.uint64(_PENDING) & np.uint64(_MOST)
    lanes.write(pending.astype(np.uint32))
    return True


def _tell_and_arrive(address: Reader, arrival: Action | None, lanes: Lanes) -> bool:
    """`cp.async.mbarrier.arrive`: those copies are done at once, so it arrives at once.

    `arrival` None: it adds one to the pending count first, so that the count stays the same.
    """
    lanes.tell_copies("track", places=_places(lanes, address))
    return arrival is None or arrival(lanes)


def arrive_after_copies(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes `cp.async.mbarrier.arrive`."""
    address = decoder.address(instruction, instruction.operands[0], "shared")
    arrival = None
    if "noinc" in instruction.modifiers:
        one = decoder.table.read(instruction, Immediate(1), TYPES["u32"])
        arrival = partial(_arrive, address, one, None)
    return decoder.action(instruction, partial(_tell_and_arrive, address, arrival))


def mbarrier(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes the family."""
    what, *others = instruction.modifiers
    operands = list(instruction.operands)
    read = decoder.table.read
    b64, u32 = TYPES["b64"], TYPES["u32"]
    if what == "pending_count":
        count_of = partial(_pending_count, read(instruction, operands[1], b64))
        return decoder.action(instruction, count_of, (operands[0],), (u32,))
    place = 0 if isinstance(operands[0], Address) else 1
    address = decoder.address(instruction, operands[place], space_of(instruction))
    results, rest = tuple(operands[:place]), operands[place + 1 :]
    if what in ("init", "inval"):
        count = read(instruction, rest[0], u32) if what == "init" else None
        return decoder.action(instruction, partial(_start, address, count))
    if what in ("expect_tx", "complete_tx"):
        nbytes = read(instruction, rest[0], u32)
        change = partial(_arrive, address, None, nbytes, completes=what == "complete_tx")
        return decoder.action(instruction, change)
    if what in ("arrive", "arrive_drop"):
        one, expects = Immediate(1), "expect_tx" in others
        more = read(instruction, rest[0], u32) if expects else None
        arrivals = read(instruction, rest[0] if rest and not expects else one, u32)
        drop, is_relaxed = what == "arrive_drop", "relaxed" in others
        action = partial(_arrive, address, arrivals, more, drop=drop, is_relaxed=is_relaxed)
        return decoder.action(instruction, action, results, (b64,) * len(results))
    if what not in ("test_wait", "try_wait"):
        raise unsupported(instruction)
    parity = "parity" in others
    state = read(instruction, rest[0], u32 if parity else b64)
    # It may give up after a time, so that a kernel that does not look at its result has not waited.
    blocks = what == "try_wait" and is_used(instruction, decoder.instructions)
    waits = partial(_wait_for_phase, address, state, parity, blocks)
    return decoder.action(instruction, waits, results, (PRED,))
