"""Which accesses happen before which: barriers, warp synchronisation, and flags with a fence.

Every access has a *serial*, a number that rises as the machine runs. Each thread keeps up to which
serial the accesses of others happened before what it does now: those of its block (a barrier), of
some warps of its block (a barrier with a thread count), of lanes of its warp (`__syncwarp` and the
`.sync` instructions), and those that another thread published with a fence and an atomic (or
volatile) access that this thread has read (PTX ISA, "Memory Consistency Model": causality order).

A stamp is `serial << 32 | thread`; the thread counts through the grid. Asynchronous operations have
numbers of their own from `AGENTS` on, an even one for what they write and the next for what they
read: nothing but the end of an operation, which somebody waits for, orders what it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from core.emulator.events import BarrierEvent, Indices, Ints, Mask, PhaseEvent, SyncEvent
from core.emulator.geometry import Geometry
from core.launch import WARP

Stamps = Ints
LOW = np.int64(0xFFFFFFFF)
AGENTS = 1 << 31


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Serials up to which accesses are known, of single threads and of whole blocks.

    All arrays int64; the keys ascend.
    """

    threads: Ints
    thread_serials: Ints
    blocks: Ints
    block_serials: Ints

    def covers(self, serials: Stamps, threads: Stamps, blocks: Stamps) -> Mask:
        """Which accesses, by their serial, thread and block, are among them."""
        result: Mask = serials < _look_up(self.threads, self.thread_serials, threads)
        result |= serials < _look_up(self.blocks, self.block_serials, blocks)
        return result


def _look_up(keys: Stamps, values: Stamps, wanted: Stamps) -> Stamps:
    """The value of each wanted key, 0 where there is none."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)


def latest(keys: list[Stamps], serials: list[Stamps]) -> tuple[Stamps, Stamps]:
    """The keys in ascending order, each with its highest serial."""
    key, serial = np.concatenate(keys), np.concatenate(serials)
    if len(key) < 2:
        return key, serial
    order = np.lexsort((serial, key))
    key, serial = key[order], serial[order]
    last = np.empty(len(key), bool)
    last[-1] = True
    np.not_equal(key[1:], key[:-1], out=last[:-1])
    return key[last], serial[last]


def merged(parts: Iterable[Knowledge]) -> Knowledge:
    """What any of them knows."""
    unique = list({id(p): p for p in parts}.values())
    if len(unique) == 1:
        return unique[0]
    return Knowledge(
        *latest([p.threads for p in unique], [p.thread_serials for p in unique]),
        *latest([p.blocks for p in unique], [p.block_serials for p in unique]),
    )


def _of_agent(agent: int, serial: int, *, reads_only: bool = False) -> Knowledge:
    """That an asynchronous agent has done, or has read, what it began up to a serial."""
    nothing = np.zeros(0, np.int64)
    known = np.array([agent + 1] if reads_only else [agent, agent + 1])
    return Knowledge(known, np.full(len(known), serial + 1), nothing, nothing)


@dataclass
class Timeline:
    """What outlives one machine: the serial, and what was published at which place."""

    published: dict[tuple[str, int], Knowledge] = field(default_factory=dict)
    sites: list[int] = field(default_factory=lambda: [-1, -1])  # pc of each serial's access

    @property
    def serial(self) -> int:
        """The serial of the latest access or synchronisation."""
        return len(self.sites) - 1

    def next(self, pc: int = -1) -> int:
        """A new serial; `pc` is where an access comes from."""
        self.sites.append(pc)
        return len(self.sites) - 1


_PROXY_ROWS = {"": (0, 1), "global": (0,), "shared": (1,)}


class Order:
    """The ordering of one machine's lanes."""

    def __init__(self, geometry: Geometry, timeline: Timeline) -> None:
        self._geometry, self.timeline = geometry, timeline
        count, self._size = geometry.lanes, geometry.threads
        within = np.tile(np.arange(self._size, dtype=np.int64), len(geometry.blocks))
        self._place = np.repeat(np.arange(len(geometry.blocks)), self._size)
        self.block = np.asarray(geometry.blocks, np.int64)[self._place]
        self.thread: Stamps = self.block * self._size + within
        self._warp = within // WARP
        self._own_warp = self._warps_of(self.thread)
        self._machine_warp = self._place * geometry.warps + self._warp
        self._warp_sizes = np.bincount(self._machine_warp)
        self._by_block = np.full(count, timeline.serial, np.int64)
        self._by_whole_warp = np.zeros(count, np.int64)
        self._by_lane: Stamps | None = None  # (lanes, 32), where only some lanes of a warp met
        self._by_warp: Stamps | None = None  # (warps of the machine, warps of a block)
        self._fence = np.zeros(count, np.int64)
        self._arrival = np.zeros(count, np.int64)  # when the lane last came to a barrier
        # Up to which serial what others wrote, and a lane knew of, has passed its proxy fence.
        # One row each for global and shared memory.
        self._proxy = np.zeros((2, count), np.int64)  # what the lane itself wrote
        self._proxy_block = np.zeros((2, len(geometry.blocks)), np.int64)  # what its block did
        self._gathered: dict[int, list[Knowledge]] = {}  # by mbarrier: what its phase will tell
        self._flying: dict[int, tuple[int, Knowledge]] = {}  # by transfer: its mbarrier, its end
        self._landed: dict[int, list[Knowledge]] = {}  # by mbarrier: copies that have come
        self._known: dict[int, Knowledge] = {}  # lane -> what it has acquired
        self._block_known: dict[int, Knowledge] = {}  # place of a block -> all its threads
        self._on_arrival: dict[int, Knowledge] = {}  # what a lane knew as it came to a barrier
        self.bound: Stamps = self._by_block << 32  # stamps below are before the block's barrier

    # -- asking -----------------------------------------------------------------------------

    def unordered(self, stamps: Stamps, lanes: Indices) -> Mask:
        """Whether what each stamp stands for is unordered with what the lane does now.

        `stamps` and `lanes` have one place each a lane; stamp 0 stands for nothing.
        """
        serial, thread = stamps >> 32, stamps & LOW
        mine = self.thread[lanes]
        result: Mask = (thread != mine) & (stamps != 0)
        if not np.count_nonzero(result):
            return result
        same_block = thread // self._size == self.block[lanes]
        result &= ~(same_block & (serial < self._by_block[lanes]))
        within = thread % self._size
        same_warp = same_block & (within // WARP == self._warp[lanes])
        result &= ~(same_warp & (serial < self._by_whole_warp[lanes]))
        if self._by_lane is not None:
            result &= ~(same_warp & (serial < self._by_lane[lanes, within % WARP]))
        if self._by_warp is not None:
            warp = np.where(same_block, within // WARP, 0)
            by_warp = self._by_warp[self._machine_warp[lanes], warp]
            result &= ~(same_block & (serial < by_warp))
        if self._known or self._block_known:
            self._strike_known(result, serial, thread, lanes)
        return result

    def _strike_known(self, result: Mask, serial: Stamps, thread: Stamps, lanes: Indices) -> None:
        """Clears `result` where the lane has acquired the access."""
        by_knowledge: dict[int, tuple[Knowledge, list[int]]] = {}
        for i in np.flatnonzero(result).tolist():
            for known in self._of(int(lanes[i])):
                by_knowledge.setdefault(id(known), (known, []))[1].append(i)
        for known, places in by_knowledge.values():
            one = thread[places]
            result[places] &= ~known.covers(serial[places], one, one // self._size)

    def same_warp(self, stamps: Stamps, lanes: Indices) -> Mask:
        """Whether each stamp's thread belongs to the lane's warp."""
        result: Mask = self._warps_of(stamps & LOW) == self._own_warp[lanes]
        return result

    def _warps_of(self, thread: Stamps) -> Stamps:
        """Numbers the warps of the grid, with gaps perhaps: the warp of each thread."""
        if self._size % WARP == 0:
            return thread // WARP
        return thread // self._size * self._size + thread % self._size // WARP

    def _of(self, lane: int) -> list[Knowledge]:
        found = (self._known.get(lane), self._block_known.get(int(self._place[lane])))
        return [k for k in found if k is not None]

    # -- being told -------------------------------------------------------------------------

    def barrier(self, event: BarrierEvent) -> None:
        """The blocks let through, or the lanes that met at a barrier with a count, are ordered."""
        if not len(event.released):
            return
        self.timeline.next()
        free = np.zeros(len(self._geometry.blocks), bool)
        free[event.released] = True
        lanes = free[self._place]
        self._by_block = np.where(lanes, self.timeline.serial, self._by_block)
        self.bound = self._by_block << 32
        if self._known:
            self._share(event.released.tolist())

    def _share(self, blocks: Iterable[int]) -> None:
        for place in blocks:
            lanes = [lane for lane in self._known if self._place[lane] == place]
            parts = [self._known.pop(lane) for lane in lanes]
            if parts:
                old = self._block_known.get(place)
                self._block_known[place] = merged(parts if old is None else [*parts, old])

    def arriving(self, mask: Mask | None) -> None:
        """Lanes come to a barrier that does not let the whole block through."""
        self._arrival[slice(None) if mask is None else mask] = self.timeline.next()
        if self._known or self._on_arrival:
            for lane in range(len(self._place)) if mask is None else np.flatnonzero(mask).tolist():
                self._on_arrival.pop(lane, None)
                if lane in self._known:
                    self._on_arrival[lane] = self._known[lane]

    def meeting(self, lanes: Mask) -> None:
        """The warps of these lanes met at a barrier that not the whole block takes part in.

        What each lane did before its arrival is ordered; a lane that only announced itself has gone
        on since.
        """
        arrival = np.zeros(len(self._warp_sizes), np.int64)
        np.maximum.at(arrival, self._machine_warp[lanes], self._arrival[lanes])
        warps = self._geometry.warps
        if self._by_warp is None:
            self._by_warp = np.zeros((len(self._geometry.blocks) * warps, warps), np.int64)
        rows = np.unique(self._machine_warp[lanes])
        for block in np.unique(rows // warps):
            here = rows[rows // warps == block]
            known = self._by_warp[here].max(axis=0)
            known[here % warps] = arrival[here]
            self._by_warp[here] = known
        if self._on_arrival:
            self._tell_each_other(np.flatnonzero(lanes))

    def _tell_each_other(self, lanes: Indices) -> None:
        """Tells the lanes of each block what any of them knew when it came to the barrier."""
        for block in np.unique(self._place[lanes]):
            mates = lanes[self._place[lanes] == block].tolist()
            parts = [self._on_arrival.pop(mate) for mate in mates if mate in self._on_arrival]
            if parts:
                self._learn(mates, merged(parts))

    def _learn(self, lanes: Iterable[int], new: Knowledge) -> None:
        """Adds to what lanes know; those that knew the same go on to share it."""
        joined: dict[int, Knowledge] = {}
        for lane in lanes:
            old = self._known.get(lane)
            if id(old) not in joined:
                joined[id(old)] = new if old is None else merged((new, old))
            self._known[lane] = joined[id(old)]

    def synchronised(self, event: SyncEvent) -> None:
        """Lanes of a warp met; `event.mask` are those that did."""
        now = self.timeline.next()
        if event.mask is None:
            self._by_whole_warp[:] = now
            lanes = np.arange(self._geometry.lanes)
        else:
            lanes = np.flatnonzero(event.mask)
            self._meet(lanes, now)
        if self._known:
            self._share_warps(lanes, self._machine_warp[lanes])

    def _meet(self, lanes: Indices, now: int) -> None:
        """These lanes met the others of their warp among them."""
        present = np.bincount(self._machine_warp[lanes], minlength=len(self._warp_sizes))
        whole = (present == self._warp_sizes)[self._machine_warp[lanes]]
        self._by_whole_warp[lanes[whole]] = now
        lanes = lanes[~whole]
        if not len(lanes):
            return
        if self._by_lane is None:
            self._by_lane = np.zeros((self._geometry.lanes, WARP), np.int64)
        warp, lane = self._machine_warp[lanes], self.thread[lanes] % self._size % WARP
        known = np.zeros((len(self._warp_sizes), WARP), np.int64)
        np.maximum.at(known, warp, self._by_lane[lanes])
        known[warp, lane] = now
        self._by_lane[lanes] = known[warp]

    def _share_warps(self, lanes: Indices, warp: Ints) -> None:
        taking_part = set(lanes.tolist())
        for lane in [lane for lane in self._known if lane in taking_part]:
            mates = lanes[warp == self._machine_warp[lane]].tolist()
            common = merged([k for m in mates if (k := self._known.get(m)) is not None])
            for mate in mates:
                self._known[mate] = common

    def fence(self, mask: Mask | None) -> None:
        """What these lanes did so far is published by their next atomic or volatile access."""
        self._fence[slice(None) if mask is None else mask] = self.timeline.next()

    # -- asynchronous operations ------------------------------------------------------------

    def proxy_fence(self, mask: Mask | None, space: str) -> None:
        """What these lanes wrote, and what their block's last barrier ordered, may be read.

        `space`: "global", "shared" or "", both.
        """
        now = self.timeline.next()
        lanes = np.arange(len(self._place)) if mask is None else np.flatnonzero(mask)
        for row in _PROXY_ROWS[space]:
            self._proxy[row, lanes] = now
            np.maximum.at(self._proxy_block[row], self._place[lanes], self._by_block[lanes])

    def has_passed_proxy(self, stamps: Stamps, space: str) -> Mask:
        """Whether asynchronous operations that the lane begins see these threads' writes.

        A fence of the writing thread counts, or a later one in its block behind a barrier.
        """
        serial, thread = stamps >> 32, stamps & LOW
        here = (thread >= self.thread[0]) & (thread <= self.thread[-1]) & (stamps != 0)
        place = np.searchsorted(self.block[:: self._size], thread // self._size)
        place = np.minimum(place, len(self._geometry.blocks) - 1)
        lanes = np.where(here, place * self._size + thread % self._size, 0)
        (row,) = _PROXY_ROWS[space]
        passed: Mask = serial < self._proxy[row, lanes]
        passed |= serial < self._proxy_block[row, place]
        passed |= ~here
        return passed

    def unordered_with(self, stamps: Stamps, lanes: Indices) -> Mask:
        """Whether each stamp is unordered with what any of these lanes begins together."""
        several = np.tile(stamps, len(lanes))
        found = self.unordered(several, np.repeat(lanes, len(stamps)))
        result: Mask = np.logical_or.reduce(found.reshape(len(lanes), -1))
        return result

    def know(self, lanes: Indices, agent: int, serial: int, *, reads_only: bool = False) -> None:
        """Lanes know that what an agent did, or read, up to a serial is done."""
        self._learn(lanes.tolist(), _of_agent(agent, serial, reads_only=reads_only))

    def will_tell(self, place: int, number: int, agent: int, serial: int) -> None:
        """An mbarrier hears of the end of an agent's operation, the transfer `number`."""
        self._flying[number] = place, _of_agent(agent, serial)

    def landed(self, number: int) -> None:
        """The bytes of a transfer that an mbarrier hears of have come, and count there."""
        if number in self._flying:
            place, done = self._flying.pop(number)
            self._landed.setdefault(place, []).append(done)

    def will_tell_now(self, place: int, agent: int, serial: int) -> None:
        """The present phase of an mbarrier tells of what an agent did up to a serial."""
        self._gathered.setdefault(place, []).append(_of_agent(agent, serial))

    def phase(self, event: PhaseEvent, name: str) -> None:
        """Lanes arrive at mbarriers, a phase ends, or lanes know that it has ended."""
        if event.kind == "wait":
            self.acquire(name, event.places.astype(np.int64), event.lanes)
        elif event.kind == "end":
            flying = {place for place, _ in self._flying.values()}
            for place in event.places.tolist():
                parts = self._gathered.pop(place, [])
                # Where more copies are under way than the phase expects bytes for, any of them may
                # have ended it: a wait for it says nothing of one copy.
                if place not in flying:
                    parts += self._landed.pop(place, [])
                old = self.timeline.published.get((name, place))
                if parts:
                    parts = parts if old is None else [*parts, old]
                    self.timeline.published[name, place] = merged(parts)
        elif event.kind == "arrive":
            self.timeline.next()
            for place in np.unique(event.places).tolist():
                lanes = event.lanes[event.places == place]
                if event.is_relaxed:  # only what a fence came after is released
                    lanes = lanes[self._fence[lanes] > 0]
                    if not len(lanes):
                        continue
                parts = [self._published_by(lanes, fenced=not event.is_relaxed)]
                parts += [k for lane in lanes.tolist() for k in self._of(lane)]
                self._gathered.setdefault(place, []).append(merged(parts))

    def acquire(self, region: str, offset: Ints, lanes: Indices) -> None:
        """Lanes read, by an atomic or volatile access, the bytes at `offset` in a region."""
        published = self.timeline.published
        if not published:
            return
        order = np.argsort(offset, kind="stable")
        places, firsts = np.unique(offset[order], return_index=True)
        for place, several in zip(places.tolist(), np.split(lanes[order], firsts[1:]), strict=True):
            new = published.get((region, place))
            if new is not None:
                self._learn(several.tolist(), new)

    def release(self, region: str, offset: Ints, lanes: Indices, *, fenced: bool) -> None:
        """Lanes write these bytes by an atomic or volatile access.

        What a lane did before its last fence (with `fenced`, before this access) is published.
        """
        if not fenced:
            publishing = self._fence[lanes] > 0
            offset, lanes = offset[publishing], lanes[publishing]
        for place in np.unique(offset).tolist():
            several = lanes[offset == place]
            parts = [self._published_by(several, fenced=fenced)]
            if self._known or self._block_known:
                parts += [k for lane in several.tolist() for k in self._of(lane)]
            old = self.timeline.published.get((region, place))
            if old is not None:
                parts.append(old)
            self.timeline.published[region, place] = merged(parts)

    def _published_by(self, lanes: Indices, *, fenced: bool) -> Knowledge:
        own = np.full(len(lanes), self.timeline.serial) if fenced else self._fence[lanes]
        since, block = self._by_block[lanes], self.block[lanes]
        after = own >= since
        threads, serials = [self.thread[lanes]], [own]
        # Where every thread fenced, then came a barrier, and then one thread's flag:
        before = np.isin(self._place, np.unique(self._place[lanes[~after]]))
        threads.append(self.thread[before])
        serials.append(np.minimum(self._fence, self._by_block)[before])
        mates = self.thread[lanes] - self.thread[lanes] % self._size % WARP
        met = np.repeat(self._by_whole_warp[lanes][:, None], WARP, axis=1)
        if self._by_lane is not None:
            met = np.maximum(met, self._by_lane[lanes])
        met = np.where(met <= own[:, None], met, 0)
        useful = met > since[:, None]
        threads.append((mates[:, None] + np.arange(WARP))[useful])
        serials.append(met[useful])
        if self._by_warp is not None:
            self._of_warps(lanes, own, threads, serials)
        return Knowledge(*latest(threads, serials), *latest([block[after]], [since[after]]))

    def _of_warps(
        self, lanes: Indices, own: Stamps, threads: list[Stamps], serials: list[Stamps]
    ) -> None:
        """Adds what barriers with a count have told the lanes' warps of others."""
        assert self._by_warp is not None
        within = np.arange(self._size)
        for row in np.unique(self._machine_warp[lanes]).tolist():
            first = row // self._geometry.warps * self._size
            known = np.minimum(self._by_warp[row][within // WARP], own.max())
            threads.append(self.thread[first + within][known > 0])
            serials.append(known[known > 0])
