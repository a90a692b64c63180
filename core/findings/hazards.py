"""Hazards of one machine: races, reads of what nobody wrote, and misuse of what must be awaited.

Lock-step execution gives the right answer even to a kernel that races, so this observer keeps a
shadow of the memory (`shadow_memory`), the order of accesses (`happens_before`), the copies in
flight (`async_copies`), and what mbarriers, matrix products and clusters ask for
(`hopper_misuse`). `finding_sentences` puts what it finds into words.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from core.emulator.address_spaces import Region
from core.emulator.events import (
    AccessEvent,
    AwaitEvent,
    BarrierEvent,
    CallEvent,
    CopiesEvent,
    FaultEvent,
    Indices,
    Ints,
    LandEvent,
    Observer,
    PhaseEvent,
    Span,
    SyncEvent,
    TransferEvent,
)
from core.emulator.geometry import Geometry
from core.findings.async_copies import SHARED, AsyncCopies, Flight, Pending
from core.findings.happens_before import AGENTS, LOW, Order, Stamps, Timeline
from core.findings.hopper_misuse import (
    OVER,
    MbarrierMisuse,
    MbarrierUses,
    RemoteAccesses,
    UnfencedRegisters,
)
from core.findings.load_uses import LoadUses
from core.findings.shadow_memory import (
    Bad,
    Class,
    Manner,
    Shadow,
    Touch,
    element_bytes,
    granule_of,
    manner,
    pieces,
)
from core.launch import WARP
from core.ptx.ast import Module


@dataclass
class GlobalState:
    """The shadows of global memory, which outlive the machines that run one after another.

    `outputs` are the buffers whose content is undefined at the start, `inputs` those that the
    kernel only reads: they are watched from the first store on. Of those in `partly` only so many
    bytes at the front are defined.
    """

    module: Module
    outputs: frozenset[str]
    inputs: frozenset[str]
    partly: Mapping[str, int] = field(default_factory=dict)
    timeline: Timeline = field(default_factory=Timeline)
    shadows: dict[str, Shadow] = field(default_factory=dict)
    agents: int = 0  # asynchronous agents so far
    waited: dict[int, tuple[int, int]] = field(default_factory=dict)  # by who: serial, thread
    manners: dict[int, Manner] = field(default_factory=dict)

    @cached_property
    def uses(self) -> LoadUses:
        """What the kernel's loads are used for."""
        return LoadUses(self.module)

    @cached_property
    def fenced_timeline(self) -> Timeline:
        """What would be published if a fence came before every atomic or volatile store."""
        return Timeline(sites=self.timeline.sites)

    def manner(self, pc: int) -> Manner:
        """How the instruction touches memory."""
        found = self.manners.get(pc)
        if found is None:
            found = manner(self.module.instructions[pc])
            if found.how == "plain" and pc in self.uses.rechecked:
                found = Manner("volatile", False, False)
            self.manners[pc] = found
        return found

    def shadow(self, region: Region, *, stores: bool) -> Shadow | None:
        """The shadow of a buffer, None where it need not be watched (yet)."""
        found = self.shadows.get(region.name)
        front = self.partly.get(region.name)
        if found is None and (stores or front is not None or region.name not in self.inputs):
            whole = region.name not in self.outputs and front is None
            found = Shadow(region.nbytes, initialised=whole, private=False)
            if found.written is not None and front is not None:
                found.written[: front // found.granule] = True
            self.shadows[region.name] = found
        return found


_PIECE = 16  # bytes that a swizzle moves together
_QUEUE = 256  # shared accesses kept back until a barrier tells whether they matter


UNFENCED = "unfenced"  # both accesses are volatile, and only a fence is missing between them


@dataclass
class Hazard:
    """A hazard's first occurrence. `other_thread` (-1: none) counts through the grid."""

    kind: str  # "race", "uninitialised"
    pc: int
    tick: int
    lane: int
    space: str
    region: str
    offset: int  # bytes in the region (shared memory: of the block, local: of the thread)
    is_store: bool
    other_thread: int = -1
    other_pc: int = -1
    begins: bool = False  # the access itself is that of an asynchronous operation
    how: str = ""  # see `RemoteAccess` and `MbarrierMisuse`; of a race: `UNFENCED` or ""
    within: int = 0  # the swizzle in whose pattern the tile that it reads begins; 0: at its start
    count: int = 1
    is_across: bool = False  # of a race: any of those counted is between two warps
    waited_by: int = -1  # the thread that waited for the operation, where another has to know of it
    copy: Pending | None = None  # of a `cp.async` in flight: how its thread's groups stand


@dataclass(frozen=True)
class _Carried:
    """Unwritten bytes that a load brought: in which lanes, and by which load."""

    event: AccessEvent
    bad: Bad
    offset: Ints
    lanes: Indices

    def among(self, lanes: Indices) -> Bad:
        """Which of `lanes` carry it."""
        return np.isin(lanes, self.lanes[self.bad])


class Hazards(Observer):
    """Watches one machine. Call `finish` when it has run; `found` then holds the hazards."""

    def __init__(
        self, geometry: Geometry, shared_bytes: int, stride: int, state: GlobalState
    ) -> None:
        """`shared_bytes` a block has, `stride` bytes apart from those of the next."""
        self._geometry, self._state = geometry, state
        self._order = Order(geometry, state.timeline)
        # What would be ordered if a fence came before every atomic or volatile store.
        self._fenced = Order(geometry, state.fenced_timeline) if state.uses.trusting else None
        self._orders = (self._order,) if self._fenced is None else (self._order, self._fenced)
        blocks = len(geometry.blocks)
        alone = geometry.cluster.count == 1
        self._shared = Shadow(stride * blocks, initialised=False, private=alone, space="shared")
        self._shared.fill_gaps(shared_bytes, stride, blocks)
        self._lanes = np.arange(geometry.lanes)
        self._queue: list[tuple[AccessEvent, int]] = []
        self._stores_since = False  # any store since the last barrier of all blocks
        self._local: Shadow | None = None
        self._local_stride = 0
        self._unwritings = 0  # times that parts of the stacks have come to hold nothing
        self._carried: dict[tuple[int, int], _Carried] = {}  # by the load's pc and element
        # How the tile is laid out that a bulk copy put into each piece: its swizzle + 1, or 0.
        self._layouts = np.zeros(stride * blocks // _PIECE + 1, np.int16)
        self._copies = AsyncCopies(geometry.lanes)
        self._copies_queued = False
        self._remote = RemoteAccesses(geometry, stride)
        self._mbarriers, self._stride = MbarrierUses(geometry.lanes), stride
        self._unfenced = UnfencedRegisters(state.module, geometry.lanes)
        self._ended_before: set[int] = set()  # pcs of accesses to blocks that had ended already
        self._agents: dict[Hashable, int] = {}
        self._begun: dict[tuple[Hashable, int], tuple[int, int]] = {}  # (agent, number): serial
        self.found: dict[tuple[str, int], Hazard] = {}

    # -- observer ---------------------------------------------------------------------------

    def on_access(self, event: AccessEvent) -> None:
        """Checks and notes an access; shared ones are kept back until a barrier."""
        region = event.region
        if self._unfenced.is_needed and event.kind == "load":
            self._unfenced.loaded(event)
        elif self._unfenced.is_needed and region.space == "local":
            self._unfenced.stored(event, self._serial(event))
        if self._carried and event.kind == "store" and region.space != "local":
            for _, one, bad in self._brought(event, self._where(event)[1]):
                if bad.any():
                    self._note("uninitialised", one.event, one.bad, one.offset, one.lanes)
        if region.space in ("shared", "cluster"):
            self._queue.append((event, self._serial(event)))
            self._stores_since |= event.kind != "load"
            self._copies_queued |= self._state.manner(event.pc).is_copy
            if event.kind == "atomic" or len(self._queue) >= _QUEUE:
                self._flush()
        elif region.space == "global":
            shadow = self._state.shadow(region, stores=event.kind != "load")
            if shadow is not None:
                serial = self._serial(event)
                self._touch(shadow, event, serial)
                if self._state.manner(event.pc).is_copy:
                    self._issued(event, region.name, region.nbytes, serial)
        elif region.space == "local":
            self._touch_local(event)

    def on_barrier(self, event: BarrierEvent) -> None:
        """What came before is ordered with what comes after, for those that were let through."""
        if event.met is not None or not len(event.released):
            for order in self._orders:
                order.arriving(event.mask)
        if not len(event.released) and event.met is None:
            return
        self._stores_since |= self._copies.any_in_flight
        everyone = len(event.released) == len(self._geometry.blocks)
        if everyone and not self._stores_since:  # reads alone cannot race
            assert self._shared.written is not None
            if not self._shared.written.all():
                for access, _ in self._queue:
                    self._read_unwritten(self._shared, access, *self._where(access))
            self._queue.clear()
        self._flush()
        self._stores_since &= not everyone
        for order in self._orders:
            order.barrier(event)
            if event.met is not None:
                order.meeting(event.met)

    def on_sync(self, event: SyncEvent) -> None:
        """Lanes of a warp met, or passed a fence."""
        if event.kind == "product":
            self._unfenced.fence(event.mask, self._state.timeline.next())
            return
        self._flush()
        if event.kind == "fence":
            self._order.fence(event.mask)
        elif event.kind.startswith("proxy"):
            self._order.proxy_fence(event.mask, event.kind[6:])
        else:
            for order in self._orders:
                order.synchronised(event)

    def on_transfer(self, event: TransferEvent) -> None:
        """An asynchronous operation: checked as of when it begins."""
        self._flush()
        self._stores_since = True
        agent = self._agent(event.agent)
        serial = self._state.timeline.next(event.site)
        self._begun[event.agent, event.number] = agent, serial
        if event.barrier >= 0:
            self._order.will_tell(event.barrier, event.number, agent, serial)
            self._use_mbarriers(event, np.array([event.barrier]), serial)
        stamp = serial << 32 | agent
        if self._remote.is_needed and event.kind != "product":
            self._remote.transfer(event, stamp)
        for lane, place, written in self._unfenced.used(event):
            where = lane, "local", "local memory", place
            hazard = Hazard("no_wgmma_fence", event.site, event.tick, *where, False)
            self._add(hazard, written << 32 | int(self._order.thread[lane]))
        change = "update" if event.is_update else "write"
        for how, spans, own in (("read", event.reads, stamp + 1), (change, event.writes, stamp)):
            for span in spans:
                self._begin(event, span, own, how)

    def _agent(self, name: Hashable) -> int:
        """The number of an asynchronous agent."""
        found = self._agents.get(name)
        if found is None:
            self._state.agents += 1
            found = self._agents[name] = AGENTS + WARP * self._state.agents
        return found

    def _begin(self, event: TransferEvent, span: Span, stamp: int, how: str) -> None:
        """One span of an operation."""
        if span.region.space == "shared":
            shadow: Shadow | None = self._shared
        else:
            shadow = self._state.shadow(span.region, stores=how != "read")
        if shadow is None or not len(span.place):
            return
        shadow.refine(min(span.width, 4))
        per_piece = max(span.width // shadow.granule, 1)
        first = span.place // shadow.granule
        place = (first[:, None] + np.arange(per_piece)).reshape(-1)
        if how == "read" and shadow.written is not None:
            bare = np.flatnonzero(~shadow.written.take(place))
            if len(bare):
                self._note_begun("uninitialised", event, span, shadow, place[bare])
        if span.region.space == "shared" and span.swizzle >= 0:
            mistaken = self._laid_out(span, how)
            if len(mistaken):
                self._note_begun("bad_descriptor", event, span, shadow, first[mistaken])
        if self._copies.any_in_flight:
            self._begin_in_flight(event, span, shadow, how)
        for kind, found, others in shadow.begin(place, stamp, self._order, event.lanes, how):
            if kind == "proxy_fence" and not event.reads:  # a lane's update, not the copy engine's
                continue
            bad = found
            if kind == "race" and shadow is self._shared:
                bad = self._begin_late(event, span, place, found, others, how)
                if not len(bad):
                    continue
            other = others[bad[:1]]
            apart = (n for n in event.lanes.tolist() if self._is_apart(other, n))
            lane = next(apart, int(event.lanes[0])) if kind == "race" else int(event.lanes[0])
            self._note_begun(kind, event, span, shadow, place[bad], int(other[0]), how, lane)

    def _is_apart(self, other: Stamps, lane: int) -> bool:
        """Whether a lane alone is not ordered after another access."""
        return bool(self._order.unordered_with(other, np.array([lane])).any())

    def _laid_out(self, span: Span, how: str) -> Indices:
        """Notes how a copied tile is laid out, or says which pieces a product reads otherwise.

        What threads have written since is theirs. The GPU swizzles by address, so a tile may begin
        within the pattern if a copy with the same swizzle wrote it there; threads that lay out a
        tile count from its start.
        """
        piece = span.place // _PIECE
        if how != "read":
            self._layouts[piece] = span.swizzle + 1
            return np.zeros(0, np.intp)
        known = self._layouts[piece]
        copied = self._shared.is_copied(span.place)
        alike = known == span.swizzle + 1
        wrong = ~(copied & alike) if span.is_within else copied & (known != 0) & ~alike
        return np.flatnonzero(wrong)

    def on_land(self, event: LandEvent) -> None:
        """A bulk copy is done; nobody knows before the phase of its mbarrier ends."""
        self._order.landed(event.number)

    def on_await(self, event: AwaitEvent) -> None:
        """Lanes know of the end of operations."""
        self._flush()
        agent, serial = self._begun[event.agent, event.number]
        self._order.know(event.lanes, agent, serial, reads_only=event.reads_only)
        waiter = serial, int(self._order.thread[event.lanes[0]])
        for known in (agent + 1,) if event.reads_only else (agent, agent + 1):
            self._state.waited[known] = waiter

    def on_copies(self, event: CopiesEvent) -> None:
        """Lanes closed a group of `cp.async`, or waited for groups, or let mbarriers do so."""
        if self._copies_queued or event.kind != "commit":
            self._flush()
        if event.kind == "commit":
            self._copies.commit(event.lanes)
        elif event.kind == "wait":
            self._waited(event)
        else:
            assert event.places is not None
            for place in np.unique(event.places).tolist():
                self._track(event.lanes[event.places == place], place)

    def _waited(self, event: CopiesEvent) -> None:
        """What the copies wrote counts from now on as what their threads wrote in waiting."""
        serial = self._state.timeline.next(event.site)
        for flight in self._copies.wait(event.lanes, event.left, serial, event.site):
            if flight.place == SHARED:
                self._stores_since = True
                how: Class = "async" if flight.is_tracked else "plain"
                new = serial << 32 | self._order.thread[flight.lanes]
                self._shared.restamp(flight.words, how, flight.stamps, "plain", new)

    def _track(self, lanes: Indices, place: int) -> None:
        """What lanes have issued is done for those who know of the end of an mbarrier's phase."""
        agent = self._agent(("copies", place))
        self._copies.forget(self._is_overwritten)
        for flight in self._copies.track(lanes):
            if flight.place != SHARED:
                continue
            serial = self._state.timeline.next(self._state.timeline.sites[flight.serial])
            stamp = serial << 32 | agent
            new = np.full(len(flight.lanes), stamp)
            self._shared.restamp(flight.words, "plain", flight.stamps, "async", new)
            self._layouts[flight.words // (_PIECE // 4)] = 0
            self._copies.tracked(flight, stamp)
            self._order.will_tell_now(place, agent, serial)

    def _is_overwritten(self, flight: Flight) -> bool:
        """Whether nothing is left of what was copied."""
        granules = flight.words * (4 // self._shared.granule)
        found = self._shared.written_by("async", granules)
        return not np.count_nonzero(found == flight.stamps[:, None])

    def on_phase(self, event: PhaseEvent) -> None:
        """Lanes came to mbarriers, or a phase of one is over."""
        self._flush()
        if event.kind == "init":
            serial = self._state.timeline.next(event.site)
            stamps = self._order.thread[event.lanes] | np.int64(serial << 32)
            for use in self._mbarriers.begin(event, stamps):
                self._misused(event, use)
        elif event.kind == "inval":
            self._mbarriers.forget(event.places)
        elif event.kind != "end":
            self._use_mbarriers(event, event.places, self._state.timeline.next(event.site))
        if self._remote.is_needed:
            serial = self._state.timeline.serial
            self._remote.phase(event, serial, self._order.thread)
        self._order.phase(event, f"mbarriers {id(self)}")

    def _use_mbarriers(
        self, event: PhaseEvent | TransferEvent, places: Indices, serial: int
    ) -> None:
        """Lanes arrive at mbarriers, wait there, or begin copies that tell them."""
        stamps = self._order.thread[event.lanes] | np.int64(serial << 32)
        for use in self._mbarriers.use(places, event.lanes, stamps):
            self._misused(event, use)
            written = self._shared.last_write(use.place * 8)
            if written > self._mbarriers.since(use.place):
                lanes = event.lanes[places == use.place]
                others = np.full(len(lanes), written)
                self._misused(event, MbarrierMisuse(use.place, lanes, others, OVER))

    def _misused(self, event: PhaseEvent | TransferEvent, use: MbarrierMisuse) -> None:
        """Notes a use of an mbarrier, or that it is initialised again, unless that is in order."""
        lanes, others = use.lanes, use.others
        if use.how != OVER:
            bad = self._order.unordered(others, lanes)
            lanes, others = lanes[bad], others[bad]
        if not len(lanes):
            return
        where = "shared", "shared memory", use.place * 8 % self._stride
        when = event.site, event.tick, int(lanes[0])
        hazard = Hazard("bad_mbarrier", *when, *where, False, how=use.how, count=len(lanes))
        self._add(hazard, int(others[0]))

    def on_fault(self, event: FaultEvent) -> None:
        """An access to a block that has ended need not be told of again."""
        if event.kind == "remote_exit":
            self._ended_before.add(event.site)

    def on_call(self, event: CallEvent) -> None:
        """A function's stack frame holds nothing yet."""
        if self._local is not None and self._local.written is not None and event.nbytes:
            self._unwritings += 1
            lanes = self._lanes if event.mask is None else np.flatnonzero(event.mask)
            granule = self._local.granule
            rows = self._local.written[: self._geometry.lanes * self._local_stride // granule]
            frame = slice(event.base // granule, (event.base + event.nbytes) // granule)
            rows.reshape(self._geometry.lanes, -1)[lanes, frame] = False

    def on_reuse(self, region: Region, start: int, nbytes: int) -> None:
        """Memory that was freed belongs to somebody else now, and holds nothing yet."""
        shadow = self._state.shadow(region, stores=False)
        if shadow is not None:
            shadow.forget(start, nbytes)

    def finish(self, *, is_whole: bool = True) -> None:
        """Checks what was kept back; `is_whole`: all threads have run to their end."""
        self._flush()
        if is_whole and self._remote.is_needed:
            for reach in self._remote.late(self._order.unordered):
                if reach.pc not in self._ended_before:
                    when, where = (reach.pc, reach.tick, reach.lane), (reach.region, reach.offset)
                    stores = reach.how != "reads"
                    hazard = Hazard("remote_exit", *when, "shared", *where, stores, how=reach.how)
                    self._add(hazard, 0)

    # -- places -----------------------------------------------------------------------------

    def _serial(self, event: AccessEvent) -> int:
        return self._state.timeline.next(event.site)

    def _where(self, event: AccessEvent) -> tuple[Ints, Indices]:
        """Byte offsets in the shadow, and the lanes, one place each a lane that takes part."""
        region, lanes = event.region, self._lanes
        offset = event.address - region.base
        if region.lane_offset is not None:
            offset = offset + region.lane_offset
        if offset.size == 1:
            offset = np.repeat(offset, self._geometry.lanes)
        if event.mask is not None:
            lanes = np.flatnonzero(event.mask)
            offset = offset[lanes]
        return offset, lanes

    # -- checking ---------------------------------------------------------------------------

    def _flush(self) -> None:
        queue, self._queue = self._queue, []
        for event, serial in queue:
            self._touch(self._shared, event, serial)
            if self._copies_queued and self._state.manner(event.pc).is_copy:
                size = self._shared.nbytes
                self._issued(event, SHARED, size, serial)
        self._copies_queued = False

    def _touch(self, shadow: Shadow, event: AccessEvent, serial: int) -> None:
        shadow.refine(granule_of(event))
        offset, lanes = self._where(event)
        kind = self._state.manner(event.pc)
        reads = event.kind == "load" or (event.kind == "atomic" and not kind.exchanges)
        if reads and shadow.written is not None:
            self._read_unwritten(shadow, event, offset, lanes)
        if kind.how != "plain":  # of lanes that meet in an atomic, each may come after the others
            name = event.region.name if event.region.space == "global" else f"shared {id(self)}"
            for order in self._orders:
                if event.kind != "load":
                    fenced = kind.fenced or order is self._fenced
                    order.release(name, offset, lanes, fenced=fenced)
                if event.kind != "store":
                    order.acquire(name, offset, lanes)
        stamp = self._order.thread[lanes] | np.int64(serial << 32)
        if self._copies.any_in_flight:
            self._touch_in_flight(shadow, event, offset, lanes)
        if event.region.space == "cluster":
            self._remote.access(event, stamp, lanes, offset)
        first = offset // shadow.granule
        if self._fenced is not None and event.pc in self._state.uses.trusting:
            stored = shadow.written_by("volatile", first)
            bad = self._order.unordered(stored, lanes) & ~self._fenced.unordered(stored, lanes)
            self._note("race", event, bad, offset, lanes, stored, how=UNFENCED)
        for i, value in enumerate(pieces(event, shadow.granule, lanes)):
            place = first + i if i else first
            touch = Touch(event.kind != "load", kind.how, place, stamp, lanes, value)
            for bad, other in shadow.touch(touch, self._order):
                self._clash(shadow, event, place, bad, other, (offset, lanes))

    def _clash(
        self,
        shadow: Shadow,
        event: AccessEvent,
        place: Ints,
        bad: Bad,
        other: Stamps,
        where: tuple[Ints, Indices],
    ) -> None:
        """Notes races of lanes that touch these granules with other accesses."""
        copied = None
        if shadow is self._shared:
            copied = self._copies.over_at(place * shadow.granule // 4, other)
        if copied is None:
            self._note("race", event, bad, *where, other)
            return
        late = bad & (copied != 0) & ~self._order.unordered(copied, where[1])
        if late.any():
            why = self._ended_at(int(other[late.argmax()]))
            self._note("not_awaited", event, late, *where, copied, why)
        bad = bad & ~late
        if bad.any():
            first = int(bad.argmax())
            end = self._ended_at(int(other[first])) if copied[first] else None
            self._note("race", event, bad, *where, other, end)

    # -- cp.async in flight -----------------------------------------------------------------

    def _ended_at(self, stamp: int) -> Pending:
        """That the wait which bears a stamp has ended a copy, for its own thread."""
        return Pending(0, 0, self._state.timeline.sites[stamp >> 32], is_over=True)

    def _issued(self, event: AccessEvent, place: str, nbytes: int, serial: int) -> None:
        """Lanes have issued copies to shared memory, or from a buffer."""
        offset, lanes = self._where(event)
        stamps = self._order.thread[lanes] | np.int64(serial << 32)
        self._copies.begin(place, nbytes, offset, event.width, lanes, stamps)

    def _touch_in_flight(
        self, shadow: Shadow, event: AccessEvent, offset: Ints, lanes: Indices
    ) -> None:
        """Finds accesses of what copies still write, and changes of what they still read.

        An access that nothing puts after the issue of the copy is a race, and told as one. (So is
        what `_clash` finds after the wait: all this depends on what is ordered, not on the time.)
        """
        is_shared = shadow is self._shared
        if not is_shared and event.kind == "load":
            return
        place = SHARED if is_shared else event.region.name
        met = self._copies.met(place, offset, event.width)
        if met is None:
            return
        stamps, words = met
        bad = (stamps != 0) & ~self._order.unordered(stamps, lanes)
        if is_shared and event.kind == "store":
            bad &= shadow.differs(event, offset, lanes)
        if bad.any():
            why = self._copies.why(int(stamps[bad.argmax()]))
            self._note("not_awaited", event, bad, 4 * words, lanes, stamps, why)

    def _begin_in_flight(self, event: TransferEvent, span: Span, shadow: Shadow, how: str) -> None:
        """The same for what an asynchronous operation reads or writes."""
        is_shared = span.region.space == "shared"
        if not is_shared and how == "read":
            return
        place = SHARED if is_shared else span.region.name
        met = self._copies.met(place, span.place, span.width)
        if met is None:
            return
        stamps, words = met
        bad = (stamps != 0) & ~self._order.unordered_with(stamps, event.lanes)
        if bad.any():
            stamp = int(stamps[bad.argmax()])
            places, why = words[bad] * (4 // shadow.granule), self._copies.why(stamp)
            self._note_begun("not_awaited", event, span, shadow, places, stamp, how, copy=why)

    def _begin_late(
        self, event: TransferEvent, span: Span, place: Ints, bad: Indices, others: Stamps, how: str
    ) -> Indices:
        """As `_clash`, for an asynchronous operation; returns the races among `bad`."""
        shadow = self._shared
        copied = self._copies.over_at(place[bad] * shadow.granule // 4, others[bad])
        if copied is None:
            return bad
        late = (copied != 0) & ~self._order.unordered_with(copied, event.lanes)
        if late.any():
            first = int(late.argmax())
            stamp, why = int(copied[first]), self._ended_at(int(others[bad[first]]))
            places = place[bad[late]]
            self._note_begun("not_awaited", event, span, shadow, places, stamp, how, copy=why)
        races: Indices = bad[~late]
        return races

    def _read_unwritten(
        self, shadow: Shadow, event: AccessEvent, offset: Ints, lanes: Indices
    ) -> bool:
        """Notes reads of what was never written; whether there are any."""
        shadow.refine(granule_of(event))
        size, found = element_bytes(event), False
        used = self._state.module.used_bytes.get(event.pc, -1)  # the rest is padding of a struct
        for start in range(0, event.width, size):
            if not (used >> start) & ((1 << size) - 1):
                continue
            first = (offset + start) // shadow.granule
            bad = shadow.unwritten(first, max(size // shadow.granule, 1))
            found |= bool(bad.any())
            key = event.pc, start // size
            if shadow is self._local and key in self._state.uses.copies(event.pc).loads:
                self._carried.pop(key, None)
                if bad.any():
                    self._carried[key] = _Carried(event, bad, offset + start, lanes)
            else:
                self._note("uninitialised", event, bad, offset + start, lanes)
        return found

    def _brought(self, event: AccessEvent, lanes: Indices) -> Iterator[tuple[int, _Carried, Bad]]:
        """Elements of a store that were loaded unwritten: the load, and which lanes."""
        if not self._carried or event.kind != "store":
            return
        for element in range(max(len(event.values), 1)):
            for load in self._state.uses.copies(event.pc).stores.get((event.pc, element), ()):
                carried = self._carried.get(load)
                if carried is not None:
                    yield element, carried, carried.among(lanes)

    def _touch_local(self, event: AccessEvent) -> None:
        region = event.region
        pattern = None if event.shift or self._carried else event.pattern
        if pattern is not None and pattern.notes.get("written") == self._unwritings:
            return  # nothing changes
        if self._local is None or region.nbytes > self._local_stride:
            self._grow_local(region.nbytes)
        assert self._local is not None
        assert self._local.written is not None
        self._local.refine(granule_of(event))
        offset, lanes = self._where(event)
        is_written = True
        if event.kind != "store":
            is_written = not self._read_unwritten(self._local, event, offset, lanes)
        if pattern is not None and is_written:
            pattern.notes["written"] = self._unwritings
        if event.kind != "load":
            for start in range(0, event.width, self._local.granule):
                self._local.written[(offset + start) // self._local.granule] = True
            for element, _, bad in self._brought(event, lanes):
                self._unwritings += 1
                size = element_bytes(event)
                for start in range(element * size, (element + 1) * size, self._local.granule):
                    self._local.written[(offset[bad] + start) // self._local.granule] = False

    def _grow_local(self, stride: int) -> None:
        old, old_stride, count = self._local, self._local_stride, self._geometry.lanes
        self._local = Shadow(stride * count, initialised=False, private=True)
        self._local_stride = stride
        if old is not None:
            assert old.written is not None
            assert self._local.written is not None
            self._local.refine(old.granule)
            size = old_stride // old.granule
            kept = old.written[: count * size].reshape(count, size)
            new = self._local.written[: count * (stride // old.granule)].reshape(count, -1)
            new[:, :size] = kept

    def _note(
        self,
        kind: str,
        event: AccessEvent,
        bad: Bad,
        offset: Ints,
        lanes: Indices,
        other: Stamps | None = None,
        copy: Pending | None = None,
        how: str = "",
    ) -> None:
        count = int(np.count_nonzero(bad))
        if not count:
            return
        across = other is not None and not self._order.same_warp(other[bad], lanes[bad]).all()
        known = self.found.get((kind, event.site))
        if known is not None:
            known.count += count
            known.is_across |= across
            return
        i = int(bad.argmax())
        lane, region = int(lanes[i]), event.region
        start = 0 if region.lane_offset is None else int(region.lane_offset[lane])
        where = region.space, region.name, int(offset[i]) - start
        hazard = Hazard(kind, event.site, event.tick, lane, *where, event.kind != "load")
        hazard.count, hazard.how, hazard.is_across, hazard.copy = count, how, across, copy
        self._add(hazard, 0 if other is None else int(other[i]))

    def _add(self, hazard: Hazard, stamp: int) -> None:
        """Keeps a hazard, or counts it for the first; `stamp` is the other access's, 0 for none."""
        if stamp:
            hazard.other_thread = stamp & int(LOW)
            hazard.other_pc = self._state.timeline.sites[stamp >> 32]
        if hazard.kind == "race" and hazard.other_thread >= AGENTS:
            hazard.kind = "not_awaited"
            serial, thread = self._state.waited.get(hazard.other_thread, (-1, -1))
            if serial >= stamp >> 32 and not self._began(hazard.other_thread & ~1, hazard.lane):
                hazard.waited_by = thread
        known = self.found.setdefault((hazard.kind, hazard.pc), hazard)
        if known is not hazard:
            known.count += hazard.count

    def _began(self, agent: int, lane: int) -> bool:
        """Whether a lane began the operations of an agent, so that it has to wait itself."""
        keys = [key for key, number in self._agents.items() if number == agent]
        kind, *own = keys[0] if keys and isinstance(keys[0], tuple) else ("",)
        block, thread = divmod(lane, self._geometry.threads)
        return (block * self._geometry.warps + thread // WARP if kind == "product" else lane) in own

    def _note_begun(
        self,
        kind: str,
        event: TransferEvent,
        span: Span,
        shadow: Shadow,
        places: Ints,
        other: int = 0,
        how: str = "read",
        lane: int = -1,
        copy: Pending | None = None,
    ) -> None:
        """Notes what is wrong with granules that an asynchronous operation touches.

        `lane` is the one of its lanes that it is said of, the first where none is told.
        """
        lane, region = lane if lane >= 0 else int(event.lanes[0]), span.region
        offset = int(places[0]) * shadow.granule
        if region.lane_offset is not None:
            stride = region.data.size // len(self._geometry.blocks)
            offset %= max(stride, 1)
        where = region.space, region.name, offset
        hazard = Hazard(kind, event.site, event.tick, lane, *where, how != "read", begins=True)
        hazard.within = span.swizzle if span.is_within else 0
        hazard.count, hazard.copy = len(places), copy
        self._add(hazard, other)
