"""Misuse of what Hopper's kernels are made of: mbarriers, `wgmma.fence`, the memory of a cluster.

Each class here keeps what `Hazards` hears of one of these, and says what is wrong where that is
known without the order of accesses, or what has to be ordered so that nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent, Indices, Ints, Mask, PhaseEvent, TransferEvent
from core.emulator.geometry import Geometry
from core.findings.happens_before import Stamps
from core.ptx.ast import Module, Register, elements
from core.ptx.dataflow import Makers

# Mbarriers that a thread uses before it can know of them, or that something has overwritten.
#
# Whoever uses an mbarrier must come after its `mbarrier.init`, by a barrier or, in another block,
# by one of the cluster (PTX ISA, "mbarrier.init", "fence.mbarrier_init"). Between the
# initialisation and a bulk copy of the same block no proxy fence is asked for: an H200 does without
# one.


OVER = "overwritten"


@dataclass(frozen=True, eq=False)
class _Object:
    """An mbarrier: the stamp of its initialisation, and of each lane's last use (0: none)."""

    stamp: int
    uses: Stamps


@dataclass(frozen=True)
class MbarrierMisuse:
    """Lanes use, or initialise again, the object at `place`; `how` as in `hazards.Hazard`.

    `others` are stamps, one a lane, of what it clashes with: "early", the initialisation; `OVER`,
    the write; "again", uses by other lanes.
    """

    place: int
    lanes: Indices
    others: Stamps
    how: str


class MbarrierUses:
    """The mbarriers of one machine, by their place among the 64-bit words of shared memory."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._objects: dict[int, _Object] = {}

    def begin(self, event: PhaseEvent, stamps: Stamps) -> Iterator[MbarrierMisuse]:
        """Lanes initialise objects: `stamps`, one each. Yields earlier uses, to be ordered."""
        for place, lane, stamp in zip(event.places, event.lanes, stamps, strict=True):
            old = self._objects.get(int(place))
            if old is not None:
                uses = old.uses[old.uses != 0]
                yield MbarrierMisuse(int(place), np.full(len(uses), lane), uses, "again")
            self._objects[int(place)] = _Object(int(stamp), np.zeros(self._lanes, np.int64))

    def since(self, place: int) -> int:
        """The stamp of the initialisation of the object at a place."""
        return self._objects[place].stamp

    def forget(self, places: Indices) -> None:
        """Objects are no more."""
        for place in places.tolist():
            self._objects.pop(place, None)

    def use(self, places: Indices, lanes: Indices, stamps: Stamps) -> Iterator[MbarrierMisuse]:
        """Lanes use objects. Yields those that use one for the first time, to be ordered."""
        for place in np.unique(places[places >= 0]).tolist():
            known = self._objects.get(place)
            if known is not None:
                mine = places == place
                fresh = lanes[mine][known.uses[lanes[mine]] == 0]
                known.uses[lanes[mine]] = stamps[mine]
                yield MbarrierMisuse(place, fresh, np.full(len(fresh), known.stamp), "early")


# Variables written after the last `wgmma.fence`, which a matrix product then takes from registers.
#
# The fence must stand between a write of a register and the product that uses it; only products of
# one shape may follow each other without one (PTX ISA, "wgmma.fence"). The optimiser moves writes
# across the fence as it likes, and ptxas mends that; but unoptimised code keeps the kernel's order,
# with arrays in a thread's own memory. So what is watched here are stores to that memory.


_NEVER = np.zeros(1, np.int64)
_NEW = -2


class UnfencedRegisters:
    """What the lanes of one machine have written since they last passed a `wgmma.fence`."""

    def __init__(self, module: Module, lanes: int) -> None:
        self.is_needed = "wgmma.mma_async" in module.text
        self._module = module
        self._fences = np.zeros(lanes, np.int64)  # serial of each lane's last one
        self._written: dict[int, NDArray[np.int64]] = {}  # serials, by place in a thread's memory
        self._from_elsewhere: set[int] = set()  # pcs of loads of shared and global memory
        self._makers: dict[str, Makers] = {}  # by function
        self._sources: dict[int, list[int]] = {}  # by store: see `_traced`

    def fence(self, mask: Mask | None, serial: int) -> None:
        """Lanes pass a `wgmma.fence`."""
        self._fences[slice(None) if mask is None else mask] = serial

    def loaded(self, event: AccessEvent) -> None:
        """A load, from the threads' own memory or from elsewhere."""
        if event.region.space != "local":
            self._from_elsewhere.add(event.pc)

    def stored(self, event: AccessEvent, serial: int) -> None:
        """A store to the threads' own memory."""
        new = self._are_new(event.pc)
        if not self._written and not any(new):
            return
        first = event.address - event.region.base
        size = event.width // len(new)
        active = np.ones(len(self._fences), bool) if event.mask is None else event.mask
        one = bool((first == first[0]).all())  # the same place in all threads, as a rule
        places = first[:1].tolist() if one else np.unique(first[active]).tolist()
        for number, is_new in enumerate(new):
            for place in places:
                key = place + number * size
                old = self._written.get(key, _NEVER)
                if is_new or old is not _NEVER:
                    here = active if one else active & (first == place)
                    serials = np.where(here, serial if is_new else 0, old)
                    self._written[key] = serials
                    if not is_new and not serials.any():
                        del self._written[key]

    def _are_new(self, pc: int) -> list[bool]:
        """Of each element of a store, whether its value is no copy, nor the sum of a product."""
        sources = self._sources.get(pc)
        if sources is None:
            sources = self._sources[pc] = self._traced(pc)
        return [load == _NEW or load in self._from_elsewhere for load in sources]

    def _traced(self, pc: int) -> list[int]:
        """The pc of the load that each stored element comes from; `_NEW`: of none; -1: unknown."""
        function = self._module.function_at(pc)
        makers = self._makers.get(function.name)
        if makers is None:
            own = self._module.instructions[function.first_pc : function.end_pc]
            makers = self._makers[function.name] = Makers(own)
        found = []
        for value in elements(self._module.instructions[pc].operands[1]):
            if not isinstance(value, Register):
                found.append(_NEW)
                continue
            made = None if value.name in makers.sums else makers.maker(value.name)
            found.append(-1 if made is None else made[0].pc if made[0].opcode == "ld" else _NEW)
        return found

    def used(self, event: TransferEvent) -> Iterator[tuple[int, int, int]]:
        """A product begins: a lane, the place of a value, and the serial of its write.

        The first is enough. Of lanes that have passed no fence at all the emulator tells.
        """
        for place in event.homes:
            written = self._written.get(place)
            if written is not None:
                fences = self._fences[event.lanes]
                late = (written[event.lanes] > fences) & (fences > 0)
                if late.any():
                    lane = int(event.lanes[late.argmax()])
                    yield lane, place, int(written[lane])
                    return


# What reaches into a block of a cluster without anything that keeps the block there until then.
#
# The shared memory of a block is there as long as one of its threads is (CUDA C++ Programming
# Guide, "Distributed Shared Memory"). So an access by another block, an arrival at an mbarrier and
# a bulk copy must come before what some thread of the block does: a barrier of the cluster, or a
# wait for a phase that they are part of. `Hazards` tells of what reaches over; `late` says, when
# all blocks have ended, what nothing put before an end.


_SHARED = "shared memory"  # the region's name
Unordered = Callable[[Stamps, Indices], Mask]


@dataclass(frozen=True)
class RemoteAccess:
    """One lane reaches into `block`, a place in the machine; `stamp` as in `happens_before`.

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


class RemoteAccesses:
    """The latest reaches of each instruction and thread into each block of one machine."""

    def __init__(self, geometry: Geometry, stride: int) -> None:
        """`stride`: bytes from a block's shared memory to that of the next."""
        self._geometry, self._stride = geometry, stride
        self.is_needed = geometry.cluster.count > 1
        self._found: dict[tuple[int, int, int], RemoteAccess] = {}  # by instruction, lane and block
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
        self._found[pc, lane, block] = RemoteAccess(
            block, stamp, how, pc, tick, lane, region, offset
        )

    def late(self, unordered: Unordered) -> Iterator[RemoteAccess]:
        """What nothing puts before the end of the block that it reaches into.

        `unordered` says of stamps and lanes, one each, whether nothing orders the two.
        """
        by_block: dict[int, list[RemoteAccess]] = {}
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
