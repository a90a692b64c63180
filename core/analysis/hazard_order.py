"""Which accesses are ordered: barriers, warp synchronisation, and flags with a fence.

Every access has a *serial*, a number that rises as the machine runs. Each thread keeps up to which
serial the accesses of others happened before what it does now: those of its block (a barrier),
of some warps of its block (a barrier with a thread count), of lanes of its warp (`__syncwarp` and
the `.sync` instructions), and those that another thread published with a fence and an atomic (or
volatile) access that this thread has read (PTX ISA, "Memory Consistency Model": causality order).
A stamp is `serial << 32 | thread`; the thread counts through the grid.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from core.analysis.hazard_knowledge import LOW, Knowledge, Stamps, Timeline, latest, merged
from core.emulator.events import BarrierEvent, Mask, SyncEvent
from core.emulator.groups import WARP, Geometry


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
        self._machine_warp = self._place * geometry.warps + self._warp
        self._warp_sizes = np.bincount(self._machine_warp)
        self._by_block = np.full(count, timeline.serial, np.int64)
        self._by_whole_warp = np.zeros(count, np.int64)
        self._by_lane: Stamps | None = None  # (lanes, 32), where only some lanes of a warp met
        self._by_warp: Stamps | None = None  # (warps of the machine, warps of a block)
        self._fence = np.zeros(count, np.int64)
        self._arrival = np.zeros(count, np.int64)  # when the lane last came to a barrier
        self._known: dict[int, Knowledge] = {}  # lane -> what it has acquired
        self._block_known: dict[int, Knowledge] = {}  # place of a block -> all its threads
        self.bound: Stamps = self._by_block << 32  # stamps below are before the block's barrier

    # -- asking -----------------------------------------------------------------------------

    def unordered(self, stamps: Stamps, lanes: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether what each stamp stands for is unordered with what the lane does now.

        `stamps` and `lanes` have one place each a lane; stamp 0 stands for nothing.
        """
        serial, thread = stamps >> 32, stamps & LOW
        mine = self.thread[lanes]
        result: NDArray[np.bool_] = (thread != mine) & (stamps != 0)
        if not result.any():
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

    def _strike_known(
        self, result: NDArray[np.bool_], serial: Stamps, thread: Stamps, lanes: NDArray[np.intp]
    ) -> None:
        """Clears `result` where the lane has acquired what it asks about."""
        by_knowledge: dict[int, tuple[Knowledge, list[int]]] = {}
        for i in np.flatnonzero(result).tolist():
            for known in self._of(int(lanes[i])):
                by_knowledge.setdefault(id(known), (known, []))[1].append(i)
        for known, places in by_knowledge.values():
            one = thread[places]
            result[places] &= ~known.covers(serial[places], one, one // self._size)

    def same_warp(self, stamps: Stamps, lanes: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether each stamp's thread belongs to the lane's warp."""
        thread = stamps & LOW
        same_block = thread // self._size == self.block[lanes]
        result: NDArray[np.bool_] = same_block & (thread % self._size // WARP == self._warp[lanes])
        return result

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
        serial = self.timeline.next()
        if mask is None:
            self._arrival[:] = serial
        else:
            self._arrival[mask] = serial

    def meeting(self, lanes: Mask) -> None:
        """The warps of these lanes met at a barrier that not the whole block takes part in.

        What each did before it came there is ordered: who only announced itself has gone on since.
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

    def _meet(self, lanes: NDArray[np.intp], now: int) -> None:
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

    def _share_warps(self, lanes: NDArray[np.intp], warp: NDArray[np.int64]) -> None:
        taking_part = set(lanes.tolist())
        for lane in [lane for lane in self._known if lane in taking_part]:
            mates = lanes[warp == self._machine_warp[lane]].tolist()
            common = merged([k for m in mates if (k := self._known.get(m)) is not None])
            for mate in mates:
                self._known[mate] = common

    def fence(self, mask: Mask | None) -> None:
        """What these lanes did so far is published by their next atomic or volatile access."""
        self.timeline.next()
        if mask is None:
            self._fence[:] = self.timeline.serial
        else:
            self._fence[mask] = self.timeline.serial

    def acquire(self, region: str, offset: NDArray[np.int64], lanes: NDArray[np.intp]) -> None:
        """Lanes read, by an atomic or volatile access, the bytes at `offset` in a region."""
        published = self.timeline.published
        if not published:
            return
        places, inverse = np.unique(offset, return_inverse=True)
        found = [published.get((region, place)) for place in places.tolist()]
        joined: dict[tuple[int, int], Knowledge] = {}
        for place, lane in zip(inverse.tolist(), lanes.tolist(), strict=True):
            new, old = found[place], self._known.get(lane)
            if new is not None:
                if old is not None:
                    pair = (id(new), id(old))
                    if pair not in joined:
                        joined[pair] = merged((new, old))
                    new = joined[pair]
                self._known[lane] = new

    def release(
        self, region: str, offset: NDArray[np.int64], lanes: NDArray[np.intp], *, fenced: bool
    ) -> None:
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

    def _published_by(self, lanes: NDArray[np.intp], *, fenced: bool) -> Knowledge:
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
        return Knowledge(*latest(threads, serials), *latest([block[after]], [since[after]]))
