"""What reaches into a block of a cluster without anything that keeps the block there until then.

The shared memory of a block is there as long as one of its threads is (CUDA C++ Programming Guide,
"Distributed Shared Memory"). So an access by another block, an arrival at an mbarrier and a bulk
copy must come before what some thread of the block does: a barrier of the cluster, or a wait for a
phase that they are part of. `Hazards` tells of what reaches over; `late` says, when all blocks have
ended, what nothing put before an end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from core.emulator.events import AccessEvent, Indices, Ints, Mask, PhaseEvent, TransferEvent
from core.emulator.lane_groups import Geometry

Stamps = Ints
_SHARED = "shared memory"  # the region's name
Unordered = Callable[[Stamps, Indices], Mask]


@dataclass(frozen=True)
class Reach:
    """One lane reaches into `block`, a place in the machine; `stamp` as in `hazards`.

    `offset` is in bytes in the block's shared memory; `how`: "reads", "writes", "updates",
    "arrives" or "copies".
    """

    block: int
    stamp: int
    how: str
    pc: int
    tick: int
    lane: int
    region: str
    offset: int


class Outliving:
    """The latest reaches of each instruction and thread into each block of one machine."""

    def __init__(self, geometry: Geometry, stride: int) -> None:
        """`stride`: bytes from a block's shared memory to that of the next."""
        self._geometry, self._stride = geometry, stride
        self.is_needed = geometry.cluster.count > 1
        self._found: dict[tuple[int, int, int], Reach] = {}  # by instruction, lane and block
        self._cluster = np.repeat(geometry.cluster_of, geometry.threads)
        # A barrier of the cluster keeps blocks even where its arrivals release nothing.
        self._arrived = np.zeros(geometry.lanes, np.int64)  # serial of each lane's last arrival
        self._met = np.zeros(geometry.lanes, np.int64)  # the same as the last barrier ended
        self._kept = np.zeros((len(geometry.blocks), geometry.lanes), np.int64)

    def access(self, event: AccessEvent, stamps: Stamps, lanes: Indices, places: Ints) -> None:
        """Lanes access shared memory at `places`, bytes in that of all blocks."""
        how = {"load": "reads", "store": "writes"}.get(event.kind, "updates")
        block = places // self._stride
        for i in np.flatnonzero(block != lanes // self._geometry.threads).tolist():
            lane, stamp = int(lanes[i]), int(stamps[i])
            self._note(event, how, lane, int(places[i]), stamp, event.region.name)

    def transfer(self, event: TransferEvent, stamp: int) -> None:
        """A bulk copy begins."""
        lane = int(event.lanes[0])
        for span in event.writes:
            if span.region.space == "shared" and len(span.place):
                place = int(span.place[0])
                if place // self._stride != lane // self._geometry.threads:
                    self._note(event, "copies", lane, place, stamp, span.region.name)

    def phase(self, event: PhaseEvent, serial: int, threads: Stamps) -> None:
        """Lanes arrive at mbarriers or clusters' barriers, or go on; `serial` is that before."""
        threads_of_block = self._geometry.threads
        if event.kind == "end" and event.places[0] < 0:
            mine = self._cluster == -1 - event.places[0]
            self._met = np.where(mine, self._arrived, self._met)
        elif event.kind == "wait":
            for block in np.unique(event.lanes[event.places < 0] // threads_of_block).tolist():
                self._kept[block] = self._met
        elif event.kind == "arrive":
            at_cluster = event.places < 0
            self._arrived[event.lanes[at_cluster]] = serial + 1
            block = event.places * 8 // self._stride
            far = ~at_cluster & (block != event.lanes // threads_of_block)
            for i in np.flatnonzero(far).tolist():
                lane = int(event.lanes[i])
                stamp, place = serial << 32 | int(threads[lane]), int(event.places[i]) * 8
                self._note(event, "arrives", lane, place, stamp, _SHARED)

    def _note(
        self,
        event: AccessEvent | TransferEvent | PhaseEvent,
        how: str,
        lane: int,
        place: int,
        stamp: int,
        region: str,
    ) -> None:
        block, offset = divmod(place, self._stride)
        pc, tick = event.site, event.tick
        self._found[pc, lane, block] = Reach(block, stamp, how, pc, tick, lane, region, offset)

    def late(self, unordered: Unordered) -> Iterator[Reach]:
        """What nothing puts before the end of the block that it reaches into.

        `unordered` says of stamps and lanes, one each, whether nothing orders the two.
        """
        by_block: dict[int, list[Reach]] = {}
        for reach in self._found.values():
            by_block.setdefault(reach.block, []).append(reach)
        size = self._geometry.threads
        for block, reaches in by_block.items():
            kept = self._kept[block]  # copies go on behind such a barrier
            left = [r for r in reaches if r.how == "copies" or r.stamp >> 32 >= kept[r.lane]]
            for lane in range(block * size, (block + 1) * size):
                if not left:
                    break
                stamps = np.array([r.stamp for r in left], np.int64)
                bad = unordered(stamps, np.full(len(left), lane, np.intp))
                left = [r for r, is_bad in zip(left, bad.tolist(), strict=True) if is_bad]
            yield from left
