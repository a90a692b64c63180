"""What the machine has begun and not yet done: bulk copies, and who waits for them.

A copy moves its bytes as late as it can: when nobody can go on without it, or when its group is
waited for. So a kernel that does not wait reads what lay there before. The observers hear of a copy
when it begins (`TransferEvent`), and of everything that lets threads know of its end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import (
    AwaitEvent,
    Indices,
    Ints,
    LandEvent,
    Mask,
    PhaseEvent,
    Span,
    TransferEvent,
)
from core.emulator.machine_state import Group, Lanes, MachineState
from core.emulator.program import Op
from core.ptx.opcodes import operation_of

# What an mbarrier object holds.
#
# The 64-bit object is opaque to programs (PTX ISA, "mbarrier"). Ours holds, from bit 0 on, the
# count that is expected (20 bits), what is still to arrive (20 bits), the bytes that are still to
# come (21 bits, signed: they may come before they are expected) and the phase's number, modulo 8.


MOST = (1 << 20) - 1  # arrivals
PENDING, _BYTES, PHASE = 20, 40, 61  # the lowest bit of each
_BYTES_MASK = (1 << 21) - 1


@dataclass(frozen=True)
class Word:
    """The content of an object. `phase` is modulo 8."""

    expected: int
    pending: int
    missing_bytes: int = 0
    phase: int = 0

    @classmethod
    def of(cls, raw: int) -> Word:
        """From its 64 bits."""
        missing = raw >> _BYTES & _BYTES_MASK
        missing -= (missing >> 20) << 21
        return cls(raw & MOST, raw >> PENDING & MOST, missing, raw >> PHASE & 7)

    @property
    def raw(self) -> int:
        """Its 64 bits, unsigned."""
        low = (self.expected & MOST) | (self.pending & MOST) << PENDING
        return low | (self.missing_bytes & _BYTES_MASK) << _BYTES | self.phase << PHASE


Land = Callable[[], None]


@dataclass
class Traffic:
    """Who came to an object: in this phase, and ever, by lane."""

    now: set[int] = field(default_factory=set)
    ever: set[int] = field(default_factory=set)
    expected: int = 0  # bytes, in this phase


@dataclass(frozen=True)
class Copy:
    """A copy that has begun. `land` moves its bytes, None: done; `place` is its mbarrier, or -1."""

    number: int
    pc: int
    lane: int
    agent: Hashable
    nbytes: int
    land: Land | None
    place: int = -1
    writes: tuple[Span, ...] = ()


_T = TypeVar("_T")


@dataclass
class Groups(Generic[_T]):
    """What a lane or a warp has begun: what is not committed, and the groups, oldest first."""

    open: list[_T] = field(default_factory=list)
    committed: list[list[_T]] = field(default_factory=list)
    read: int = 0  # how many of the oldest have been waited for as far as they read

    def commit(self) -> None:
        """What has begun since the last commit becomes a group, perhaps an empty one."""
        self.committed.append(self.open)
        self.open = []

    def take(self, left: int) -> list[_T]:
        """Takes out what lies in all groups but the `left` latest, which is waited for."""
        done = self.committed[: max(len(self.committed) - left, 0)]
        self.committed = self.committed[len(done) :]
        self.read = max(self.read - len(done), 0)
        return [one for group in done for one in group]

    def take_read(self, left: int) -> list[list[_T]]:
        """All groups but the `left` latest, which stay, and whose reading is waited for now."""
        end = max(len(self.committed) - left, self.read)
        fresh, self.read = self.committed[self.read : end], end
        return fresh


@dataclass(frozen=True)
class Sleeper:
    """Lanes that wait for a phase of an mbarrier; each waits for the parity `parity` to be over."""

    group: Group
    place: Indices
    parity: Ints
    op: Op
    tick: int


class InFlight:
    """The copies of one machine, the mbarriers that they tell, and the lanes that wait there."""

    def __init__(self, state: MachineState, place: Callable[[int, int, Mask], None]) -> None:
        """`place` puts lanes at a pc, given the depth of their calls."""
        self.state, self._place = state, place
        self.traffic: dict[int, Traffic] = {}  # the objects there are, by place
        self.flying: list[Copy] = []  # to mbarriers, oldest first
        self.groups: defaultdict[int, Groups[Copy]] = defaultdict(Groups)  # by lane
        self.sleepers: list[Sleeper] = []
        self.in_cluster: list[tuple[Group, int]] = []  # that wait for their cluster, since when
        self._arrived = np.zeros(state.count, np.int64)  # at the barrier of the cluster, how often
        self._came_from = np.zeros(state.count, np.int64)  # pc of the arrival
        self._rounds: dict[int, int] = {}  # by cluster: how often its barrier let all through
        self._number = 0

    @property
    def has_sleepers(self) -> bool:
        """Whether anybody waits for a phase of an mbarrier, or for a cluster."""
        return bool(self.sleepers or self.in_cluster)

    # -- mbarriers --------------------------------------------------------------------------

    @property
    def _words(self) -> NDArray[np.uint64]:
        return self.state.unit.shared.view(np.dtype(np.uint64))

    def word(self, place: int) -> Word:
        """An object's content."""
        return Word.of(int(self._words[place]))

    def phases(self, places: Indices) -> Ints:
        """The phases, modulo 8, that the objects are in."""
        return (self._words[places] >> np.uint64(PHASE)).astype(np.int64)

    def _put(self, place: int, word: Word) -> None:
        self._words[place] = word.raw
        self.state.unit.changes += 1

    def start(self, place: int, word: Word) -> None:
        """An object is initialised."""
        self._put(place, word)
        self.traffic[place] = Traffic()

    def forget(self, place: int) -> None:
        """An object is no more."""
        self.traffic.pop(place, None)

    def initialised(self, lanes: Lanes, places: Indices) -> Mask:
        """The active lanes whose object is there; a fault is told of the others."""
        there = np.fromiter(self.traffic, np.intp, len(self.traffic))
        known: Mask = np.isin(places, there) & lanes.active
        wrong = np.flatnonzero(lanes.active & ~known & (places >= 0))
        if len(wrong):
            self.fault("bad_mbarrier", lanes.pc, lanes.group.depth, wrong, places)
        return known

    def in_living_blocks(self, lanes: Lanes, places: Indices, who: Mask) -> Mask:
        """Those of the lanes `who` whose object lies in a block that has not ended.

        A fault is told of the others (PTX ISA, "mapa" and "Cooperative Thread Array Cluster": the
        memory of a block is there as long as the block is).
        """
        gone = who & self.state.unit.have_ended(places.astype(np.int64) * 8)
        if gone.any():
            where = np.flatnonzero(gone)
            self.fault(
                "remote_exit", lanes.pc, lanes.group.depth, where, places, "updates the mbarrier at"
            )
        return who & ~gone

    def fault(
        self,
        kind: str,
        pc: int,
        depth: int,
        lanes: Indices,
        places: Indices,
        detail: str = "",
        tick: int = -1,
        others: Indices | None = None,
        other_pc: int = -1,
    ) -> None:
        """Tells of a fault of lanes at their mbarrier."""
        shared = self.state.unit.shared
        first = int(lanes[0])
        assert shared.lane_offset is not None
        stride = shared.data.size // len(self.state.geometry.blocks)
        offset = int(places[first]) * 8 % max(stride, 1)
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
            where = np.full(self.state.count, place)
            self.fault(
                "bad_mbarrier",
                lanes.pc,
                lanes.group.depth,
                np.array([lane]),
                where,
                f"{word.expected:,}",
            )
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
        self._put(place, Word(word.expected, word.expected, 0, (word.phase + 1) % 8))
        traffic = self.traffic[place]
        traffic.now.clear()
        traffic.expected = 0
        self._tell_end(place)
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

    def _tell_end(self, place: int) -> None:
        nobody = np.zeros(0, np.intp)
        self._tell(PhaseEvent("end", np.array([place]), nobody, self.state.tick - 1))

    def _tell(self, event: PhaseEvent) -> None:
        for observer in self.state.observers:
            observer.on_phase(event)

    # -- barriers of clusters -----------------------------------------------------------------

    def cluster_arrive(self, lanes: Lanes, *, is_relaxed: bool) -> None:
        """Lanes announce themselves at the barrier of their cluster."""
        active = lanes.active
        self._arrived[active] += 1
        self._came_from[active] = lanes.pc
        self.tell_phase("arrive", lanes.pc, self._clusters, active, is_relaxed=is_relaxed)
        self._cluster_wake()

    def cluster_wait(self, lanes: Lanes) -> bool:
        """Waits until all threads of the cluster have arrived as often; True if all go on."""
        active = lanes.active
        waiting = active & ~self._cluster_complete()
        self.tell_phase("wait", lanes.pc, self._clusters, active & ~waiting)
        if not waiting.any():
            return True
        group = self._put_aside(lanes, waiting, self._clusters)
        self.in_cluster.append((group, self.state.tick - 1))
        self._go_on(lanes, waiting)
        return False

    @cached_property
    def _clusters(self) -> Indices:
        """A number for each lane's cluster that is not an mbarrier's place."""
        geometry = self.state.geometry
        return np.repeat(-1 - geometry.cluster_of, geometry.threads)

    def _cluster_complete(self) -> Mask:
        """The lanes for which all others of their cluster have arrived as often as they."""
        cluster = -1 - self._clusters
        living = np.where(self.state.alive, self._arrived, np.iinfo(np.int64).max)
        least = np.full(int(cluster.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(least, cluster, living)
        complete: Mask = least[cluster] >= self._arrived
        return complete

    def _cluster_wake(self) -> None:
        """Ends the phases of clusters whose threads have all come, and lets those go on."""
        complete = self._cluster_complete()
        cluster = -1 - self._clusters
        for number in np.unique(cluster[complete & self.state.alive]).tolist():
            members = cluster == number
            times = int(self._arrived[members & self.state.alive].min())
            if times <= self._rounds.get(number, 0):
                continue
            self._rounds[number] = times
            missed = np.flatnonzero(members & (self._arrived < times))
            self._tell_end(-1 - number)
            if len(missed):
                here = np.flatnonzero(members & (self._arrived >= times))
                pc = int(self._came_from[here[0]])
                self.state.fault("divergent_barrier", pc, 0, here, missed)
        asleep, self.in_cluster = self.in_cluster, []
        for group, tick in asleep:
            assert group.mask is not None
            go = group.mask & complete
            stay = group.mask & ~complete
            if stay.any():
                self.in_cluster.append((Group(group.pc, group.depth, stay, group.warp), tick))
            if go.any():
                self.tell_phase("wait", group.pc, self._clusters, go)
                self._place(group.pc + 1, group.depth, go)

    def exited(self) -> None:
        """Threads have ended: those of their cluster may go on."""
        if self._arrived.any():
            self._cluster_wake()

    # -- waiting ----------------------------------------------------------------------------

    def sleep(self, lanes: Lanes, waiting: Mask, places: Indices, parity: Ints) -> None:
        """Puts lanes to sleep until the phase of their parity is over; the others go on."""
        group = self._put_aside(lanes, waiting, places)
        wanted = np.broadcast_to(parity, self.state.count)
        self.sleepers.append(Sleeper(group, places, wanted, lanes.op, self.state.tick - 1))
        self._go_on(lanes, waiting)

    def _put_aside(self, lanes: Lanes, waiting: Mask, places: Indices) -> Group:
        self.tell_phase("block", lanes.pc, places, waiting, depth=lanes.group.depth)
        return Group(lanes.pc, lanes.group.depth, waiting, lanes.group.warp)

    def _go_on(self, lanes: Lanes, waiting: Mask) -> None:
        """Those go on that do not wait."""
        rest = ~waiting if lanes.group.mask is None else lanes.group.mask & ~waiting
        if rest.any():
            self._place(lanes.pc + 1, lanes.group.depth, rest)

    def _wake(self) -> None:
        """Lets those go on whose phase is over."""
        asleep, self.sleepers = self.sleepers, []
        for sleeper in asleep:
            mask = sleeper.group.mask
            assert mask is not None
            over = mask & ((self.phases(sleeper.place) & 1) != sleeper.parity)
            if not over.any():
                self.sleepers.append(sleeper)
                continue
            if (mask & ~over).any():
                rest = Group(sleeper.group.pc, sleeper.group.depth, mask & ~over)
                self.sleepers.append(replace(sleeper, group=rest))
            group, op = sleeper.group, sleeper.op
            true = op.writers[0](np.ones(1, bool))
            self.state.write(self.state.frame(group), op.destinations[0], true, over)
            self.tell_phase("wait", group.pc, sleeper.place, over, depth=group.depth)
            self._place(group.pc + 1, group.depth, over)

    # -- copies -----------------------------------------------------------------------------

    def begin(
        self,
        lanes: Lanes,
        lane: int,
        kind: str,
        reads: tuple[Span, ...],
        writes: tuple[Span, ...],
        land: Land,
        nbytes: int,
        place: int = -1,
        outside: Ints | None = None,
        *,
        is_multicast: bool = False,
        is_update: bool = False,
    ) -> None:
        """A copy begins: it tells the mbarrier at `place`, or belongs to the lane's next group.

        A fault is told, and nothing begins, where it goes to a block that has ended.
        """
        for span in writes:
            if span.region.space == "shared" and len(span.place):
                first = span.place[:1]
                if self.state.unit.have_ended(first).any():
                    self._too_late(lanes, lane, int(first[0]), nbytes)
                    return
        if place >= 0 and place not in self.traffic:
            where = np.full(self.state.count, place)
            self.fault("bad_mbarrier", lanes.pc, lanes.group.depth, np.array([lane]), where)
        self._number += 1
        pc = lanes.pc
        agent: Hashable = ("barrier", place) if place >= 0 else ("group", lane)
        copy = Copy(self._number, pc, lane, agent, nbytes, land, place, writes)
        event = TransferEvent(
            self.state.tick - 1,
            pc,
            self.state.call_site(pc, lanes.group.depth, lane),
            kind,
            np.array([lane]),
            reads,
            writes,
            agent,
            self._number,
            place,
            outside,
            is_multicast,
            is_update=is_update,
        )
        for observer in self.state.observers:
            observer.on_transfer(event)
        if place >= 0:
            self.flying.append(copy)
        else:
            self.groups[lane].open.append(copy)

    def _too_late(self, lanes: Lanes, lane: int, place: int, nbytes: int) -> None:
        """A lane's copy goes to shared memory of a block that has ended."""
        shared = self.state.unit.shared
        stride = max(shared.data.size // len(self.state.geometry.blocks), 1)
        self.state.fault(
            "remote_exit",
            lanes.pc,
            lanes.group.depth,
            np.array([lane]),
            detail=f"begins a {operation_of(lanes.op.instruction)} to",
            region=shared,
            address=np.array([shared.base + place % stride], np.int64),
            width=nbytes,
        )

    def commit(self, lane: int) -> None:
        """What the lane has begun since its last commit becomes a group, perhaps an empty one."""
        self.groups[lane].commit()

    def await_groups(self, lane: int, left: int, *, reads_only: bool) -> None:
        """Waits until at most `left` of the lane's groups are not done, or have not read all."""
        if reads_only:
            copies = []
            for group in self.groups[lane].take_read(left):
                copies += group
                # Their bytes move now, and no later: the sources may change.
                for copy in group:
                    self._land(copy)
                group[:] = [replace(copy, land=None, writes=()) for copy in group]
        else:
            copies = self.groups[lane].take(left)
            for copy in copies:
                self._land(copy)
        if copies:
            last = copies[-1]
            event = AwaitEvent(np.array([lane]), last.agent, last.number, reads_only)
            for observer in self.state.observers:
                observer.on_await(event)

    def _land(self, copy: Copy) -> None:
        if copy.land is None:
            return
        copy.land()
        self.state.unit.changes += 1
        for span in copy.writes:
            if span.region.space != "shared":
                continue
            pieces = span.place[:, None] + np.arange(span.width)
            event = LandEvent(self.state.tick - 1, copy.number, span.region.data[pieces])
            for observer in self.state.observers:
                observer.on_land(event)

    def unblock(self) -> bool:
        """Nobody can go on: copies land until somebody can, or none is left; whether any did."""
        wanted = {
            place
            for s in self.sleepers
            for place in s.place[s.group.lanes(self.state.count)].tolist()
        }
        landed = [c for c in self.flying if c.place in wanted] or self.flying
        if not landed:
            return False
        ended: set[int] = set()  # a copy that its phase did not take comes later
        kept = [c for c in self.flying if c not in landed]
        for copy in landed:
            if copy.place in ended:
                kept.append(copy)
                continue
            self._land(copy)
            if copy.place in self.traffic:
                self.expect(copy.place, -copy.nbytes)
                if self.settle(copy.place):
                    ended.add(copy.place)
        self.flying = sorted(kept, key=lambda c: c.number)
        return True

    def finish(self) -> None:
        """All threads have ended: what still flies lands."""
        for groups in self.groups.values():
            for group in (*groups.committed, groups.open):
                for copy in group:
                    self._land(copy)
        self.groups.clear()

    def give_up(self) -> None:
        """Those that sleep can never go on: says what each of them waits for."""
        for sleeper in self.sleepers:
            lanes = sleeper.group.lanes(self.state.count)
            for place in np.unique(sleeper.place[lanes]).tolist():
                here = lanes[sleeper.place[lanes] == place]
                self._hung(sleeper, place, here)
        self.sleepers.clear()
        for group, tick in self.in_cluster:
            lanes = group.lanes(self.state.count)
            cluster = self._clusters
            late = self.state.alive & (self._arrived < self._arrived[lanes[0]])
            others = np.flatnonzero(late & (cluster == cluster[lanes[0]]))
            self.state.fault("deadlock", group.pc, group.depth, lanes, others, tick=tick)
        self.in_cluster.clear()

    def _hung(self, sleeper: Sleeper, place: int, lanes: Indices) -> None:
        traffic, word = self.traffic[place], self.word(place)
        others, other_pc = self._holder(traffic, lanes)
        missing = "|".join(
            str(x)
            for x in (
                word.phase,
                int(sleeper.parity[lanes[0]]),
                word.pending,
                word.expected,
                word.missing_bytes,
                traffic.expected,
            )
        )
        self.fault(
            "hang",
            sleeper.group.pc,
            sleeper.group.depth,
            lanes,
            sleeper.place,
            missing,
            sleeper.tick,
            others,
            other_pc,
        )

    def _holder(self, traffic: Traffic, lanes: Indices) -> tuple[Indices | None, int]:
        """A lane that came to the object before and now waits itself, and where."""
        for sleeper in self.sleepers:
            for lane in sleeper.group.lanes(self.state.count).tolist():
                if lane in traffic.ever - traffic.now and lane not in lanes:
                    return np.array([lane]), sleeper.group.pc
        gone = [lane for lane in sorted(traffic.ever) if not self.state.alive[lane]]
        return (np.array(gone[:1]), -1) if gone else (None, -1)
