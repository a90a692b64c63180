"""Which accesses are ordered: barriers, warp synchronisation, and flags with a fence.

Every access has a *serial*, a number that rises as the machine runs. Each thread keeps up to which
serial the accesses of others happened before what it does now: those of its block (a barrier),
of some warps of its block (a barrier with a thread count), of lanes of its warp (`__syncwarp` and
the `.sync` instructions), and those that another thread published with a fence and an atomic (or
volatile) access that this thread has read (PTX ISA, "Memory Consistency Model": causality order).
A stamp is `serial << 32 | thread`; the thread counts through the grid.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import BarrierEvent, Mask, SyncEvent
from core.emulator.groups import WARP, Geometry

Stamps = NDArray[np.int64]
LOW = np.int64(0xFFFFFFFF)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Serials up to which accesses are known: of whole blocks, and of single threads."""

    blocks: Mapping[int, int]
    threads: Mapping[int, int]

    def covers(self, serial: int, thread: int, block: int) -> bool:
        """Whether the access of a thread is among them."""
        return serial < self.threads.get(thread, 0) or serial < self.blocks.get(block, 0)


def merged(parts: Iterable[Knowledge]) -> Knowledge:
    """What any of them knows."""
    unique = list({id(p): p for p in parts}.values())
    if len(unique) == 1:
        return unique[0]
    blocks: dict[int, int] = {}
    threads: dict[int, int] = {}
    for part in unique:
        for mine, theirs in ((blocks, part.blocks), (threads, part.threads)):
            for key, serial in theirs.items():
                mine[key] = max(mine.get(key, 0), serial)
    return Knowledge(blocks, threads)


@dataclass
class Timeline:
    """What outlives one machine: the serial, and what was published at which place."""

    published: dict[Hashable, Knowledge] = field(default_factory=dict)
    sites: list[int] = field(default_factory=lambda: [-1, -1])  # pc of each serial's access

    @property
    def serial(self) -> int:
        """The serial of the latest access or synchronisation."""
        return len(self.sites) - 1

    def next(self, pc: int = -1) -> int:
        """A new serial; `pc` is where an access comes from."""
        self.sites.append(pc)
        return len(self.sites) - 1


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
        self._by_block = np.full(count, timeline.serial, np.int64)
        self._by_lane: Stamps | None = None  # (lanes, 32)
        self._by_warp: Stamps | None = None  # (warps of the machine, warps of a block)
        self._fence = np.zeros(count, np.int64)
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
        if self._by_lane is not None:
            same_warp = same_block & (within // WARP == self._warp[lanes])
            result &= ~(same_warp & (serial < self._by_lane[lanes, within % WARP]))
        if self._by_warp is not None:
            warp = np.where(same_block, within // WARP, 0)
            by_warp = self._by_warp[self._machine_warp[lanes], warp]
            result &= ~(same_block & (serial < by_warp))
        if self._known or self._block_known:
            for i in np.flatnonzero(result):
                block = int(thread[i]) // self._size
                knows = self._of(int(lanes[i]))
                result[i] = not any(k.covers(int(serial[i]), int(thread[i]), block) for k in knows)
        return result

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

    def meeting(self, lanes: Mask) -> None:
        """The warps of these lanes met at a barrier that not the whole block takes part in."""
        self.timeline.next()
        warps = self._geometry.warps
        if self._by_warp is None:
            self._by_warp = np.zeros((len(self._geometry.blocks) * warps, warps), np.int64)
        rows = np.unique(self._machine_warp[lanes])
        for block in np.unique(rows // warps):
            here = rows[rows // warps == block]
            known = self._by_warp[here].max(axis=0)
            known[here % warps] = self.timeline.serial
            self._by_warp[here] = known

    def synchronised(self, event: SyncEvent) -> None:
        """Lanes of a warp met; `event.mask` are those that did."""
        self.timeline.next()
        count = self._geometry.lanes
        lanes = np.arange(count) if event.mask is None else np.flatnonzero(event.mask)
        if self._by_lane is None:
            self._by_lane = np.zeros((count, WARP), np.int64)
        taking = np.zeros((len(self._geometry.blocks) * self._geometry.warps, WARP), bool)
        warp, lane = self._machine_warp[lanes], self.thread[lanes] % self._size % WARP
        taking[warp, lane] = True
        known = np.zeros(taking.shape, np.int64)
        np.maximum.at(known, warp, self._by_lane[lanes])
        known[taking] = self.timeline.serial
        self._by_lane[lanes] = known[warp]
        if self._known:
            self._share_warps(lanes, warp)

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

    def acquire(self, keys: list[Hashable], lanes: NDArray[np.intp]) -> None:
        """Lanes read, by an atomic or volatile access, the places that `keys` name."""
        published = self.timeline.published
        if not published:
            return
        for key, lane in zip(keys, lanes.tolist(), strict=True):
            found = published.get(key)
            if found is not None:
                old = self._known.get(lane)
                self._known[lane] = found if old is None else merged((found, old))

    def release(self, keys: list[Hashable], lanes: NDArray[np.intp], *, fenced: bool) -> None:
        """Lanes write these places by an atomic or volatile access.

        What a lane did before its last fence (with `fenced`, before this access) is published.
        """
        by_key: dict[Hashable, list[int]] = {}
        for key, lane in zip(keys, lanes.tolist(), strict=True):
            if fenced or self._fence[lane]:
                by_key.setdefault(key, []).append(lane)
        for key, several in by_key.items():
            parts = [self._published_by(several, fenced)]
            parts += [k for lane in several for k in self._of(lane)]
            old = self.timeline.published.get(key)
            if old is not None:
                parts.append(old)
            self.timeline.published[key] = merged(parts)

    def _published_by(self, lanes: list[int], fenced: bool) -> Knowledge:
        now = self.timeline.serial
        blocks: dict[int, int] = {}
        threads: dict[int, int] = {}
        for lane in lanes:
            own = now if fenced else int(self._fence[lane])
            threads[int(self.thread[lane])] = own
            since = int(self._by_block[lane])
            block = int(self.block[lane])
            if own >= since:
                blocks[block] = max(blocks.get(block, 0), since)
            else:  # every thread fenced, then came a barrier, then one thread's flag
                mates = np.flatnonzero(self._place == self._place[lane])
                known = np.minimum(self._fence[mates], since).tolist()
                threads.update(zip(self.thread[mates].tolist(), known, strict=True))
                threads[int(self.thread[lane])] = own
            if self._by_lane is not None:
                first = int(self.thread[lane]) - int(self.thread[lane]) % self._size % WARP
                for other, serial in enumerate(self._by_lane[lane].tolist()):
                    if 0 < serial <= own:
                        threads[first + other] = max(threads.get(first + other, 0), serial)
        return Knowledge(blocks, threads)
