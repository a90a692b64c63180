"""Hazards of one machine: races on shared and global memory, and reads of what nobody wrote.

Lock-step execution would give the right answer all the same, so this observer keeps a shadow of the
memory (`core.analysis.hazard_shadow`) and what is ordered (`core.analysis.hazard_order`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.analysis.hazard_granules import element_bytes, granule_of, pieces
from core.analysis.hazard_knowledge import LOW, Stamps
from core.analysis.hazard_order import Order
from core.analysis.hazard_shadow import Bad, Shadow, Touch
from core.analysis.hazard_state import GlobalState
from core.emulator.events import AccessEvent, BarrierEvent, CallEvent, FaultEvent, SyncEvent
from core.emulator.groups import WARP, Geometry

_QUEUE = 256  # shared accesses kept back until a barrier tells whether they matter


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
    count: int = 1
    is_across: bool = False  # of a race: any of those counted is between two warps


@dataclass(frozen=True)
class _Carried:
    """What a load brought that nobody had written: for every lane, and the load itself."""

    event: AccessEvent
    bad: Bad
    offset: NDArray[np.int64]
    lanes: NDArray[np.intp]

    def among(self, lanes: NDArray[np.intp]) -> Bad:
        """Which of `lanes` carry it."""
        return np.isin(lanes, self.lanes[self.bad])


class Hazards:
    """Watches one machine. Call `finish` when it has run; `found` then holds the hazards."""

    def __init__(
        self, geometry: Geometry, shared_bytes: int, stride: int, state: GlobalState
    ) -> None:
        """`shared_bytes` a block has, `stride` bytes apart from those of the next."""
        self._geometry, self._state = geometry, state
        self._order = Order(geometry, state.timeline)
        blocks = len(geometry.blocks)
        self._shared = Shadow(stride * blocks, initialised=False, private=True)
        self._shared.fill_gaps(shared_bytes, stride, blocks)
        self._lanes = np.arange(geometry.lanes)
        self._queue: list[tuple[AccessEvent, int]] = []
        self._stores_since = False  # any store since the last barrier of all blocks
        self._local: Shadow | None = None
        self._local_stride = 0
        self._carried: dict[tuple[int, int], _Carried] = {}  # by the load's pc and element
        self.found: dict[tuple[str, int], Hazard] = {}

    # -- observer ---------------------------------------------------------------------------

    def on_access(self, event: AccessEvent) -> None:
        """Checks and notes an access; shared ones are kept back until a barrier."""
        region = event.region
        if self._carried and event.kind == "store" and region.space != "local":
            for _, carried, bad in self._brought(event, self._where(event)[1]):
                if bad.any():
                    self._note("uninitialised", carried.event, carried.bad, carried.offset,
                               carried.lanes)  # fmt: skip
        if region.space == "shared":
            self._queue.append((event, self._serial(event)))
            self._stores_since |= event.kind != "load"
            if event.kind == "atomic" or len(self._queue) >= _QUEUE:
                self._flush()
        elif region.space == "global":
            shadow = self._state.shadow(region, stores=event.kind != "load")
            if shadow is not None:
                self._touch(shadow, event, self._serial(event))
        elif region.space == "local":
            self._touch_local(event)

    def on_barrier(self, event: BarrierEvent) -> None:
        """What came before is ordered with what comes after, for those that were let through."""
        if event.met is not None or not len(event.released):
            self._order.arriving(event.mask)
        if not len(event.released) and event.met is None:
            return
        everyone = len(event.released) == len(self._geometry.blocks)
        if everyone and not self._stores_since:  # reads alone cannot race
            if not self._all_written:
                for access, _ in self._queue:
                    self._read_unwritten(self._shared, access, *self._where(access))
            self._queue.clear()
        self._flush()
        self._stores_since &= not everyone
        self._order.barrier(event)
        if event.met is not None:
            self._order.meeting(event.met)

    def on_sync(self, event: SyncEvent) -> None:
        """Lanes of a warp met, or passed a fence."""
        self._flush()
        if event.kind == "fence":
            self._order.fence(event.mask)
        else:
            self._order.synchronised(event)

    def on_call(self, event: CallEvent) -> None:
        """A function's stack frame holds nothing yet."""
        if self._local is not None and self._local.written is not None and event.nbytes:
            lanes = self._lanes if event.mask is None else np.flatnonzero(event.mask)
            granule = self._local.granule
            rows = self._local.written[: self._geometry.lanes * self._local_stride // granule]
            frame = slice(event.base // granule, (event.base + event.nbytes) // granule)
            rows.reshape(self._geometry.lanes, -1)[lanes, frame] = False

    def on_fault(self, event: FaultEvent) -> None:
        """An access that did not happen leaves no mark."""

    def finish(self) -> None:
        """Checks what was kept back."""
        self._flush()

    # -- places -----------------------------------------------------------------------------

    def _serial(self, event: AccessEvent) -> int:
        return self._state.timeline.next(event.site)

    def _where(self, event: AccessEvent) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
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
        if queue:
            self.__dict__.pop("_all_written", None)

    @cached_property
    def _all_written(self) -> bool:
        return self._shared.written is not None and bool(self._shared.written.all())

    def _touch(self, shadow: Shadow, event: AccessEvent, serial: int) -> None:
        shadow.refine(granule_of(event))
        offset, lanes = self._where(event)
        kind = self._state.manner(event.pc)
        reads = event.kind == "load" or (event.kind == "atomic" and not kind.exchanges)
        if reads and shadow.written is not None:
            self._read_unwritten(shadow, event, offset, lanes)
        if kind.how != "plain":  # of lanes that meet in an atomic, each may come after the others
            name = event.region.name if event.region.space == "global" else f"shared {id(self)}"
            if event.kind != "load":
                self._order.release(name, offset, lanes, fenced=kind.fenced)
            if event.kind != "store":
                self._order.acquire(name, offset, lanes)
        stamp = self._order.thread[lanes] | np.int64(serial << 32)
        first = offset // shadow.granule
        for i, value in enumerate(pieces(event, shadow.granule, lanes)):
            place = first + i if i else first
            touch = Touch(event.kind != "load", kind.how, place, stamp, lanes, value)
            for bad, other in shadow.touch(touch, self._order):
                self._note("race", event, bad, offset, lanes, other)

    def _read_unwritten(
        self,
        shadow: Shadow,
        event: AccessEvent,
        offset: NDArray[np.int64],
        lanes: NDArray[np.intp],
    ) -> None:
        shadow.refine(granule_of(event))
        size = element_bytes(event)
        used = self._state.module.used_bytes.get(event.pc, -1)  # the rest is padding of a struct
        for start in range(0, event.width, size):
            if not (used >> start) & ((1 << size) - 1):
                continue
            first = (offset + start) // shadow.granule
            bad = shadow.unwritten(first, max(size // shadow.granule, 1))
            key = event.pc, start // size
            if shadow is self._local and key in self._state.copies.at(event.pc).loads:
                self._carried.pop(key, None)
                if bad.any():
                    self._carried[key] = _Carried(event, bad, offset + start, lanes)
            else:
                self._note("uninitialised", event, bad, offset + start, lanes)

    def _brought(
        self, event: AccessEvent, lanes: NDArray[np.intp]
    ) -> Iterator[tuple[int, _Carried, Bad]]:
        """Elements of a store that were loaded unwritten: the load, and which lanes."""
        if not self._carried or event.kind != "store":
            return
        for element in range(max(len(event.values), 1)):
            for load in self._state.copies.at(event.pc).stores.get((event.pc, element), ()):
                carried = self._carried.get(load)
                if carried is not None:
                    yield element, carried, carried.among(lanes)

    def _touch_local(self, event: AccessEvent) -> None:
        region, count = event.region, self._geometry.lanes
        if self._local is None or region.nbytes > self._local_stride:
            self._grow_local(region.nbytes, count)
        assert self._local is not None
        assert self._local.written is not None
        self._local.refine(granule_of(event))
        offset, lanes = self._where(event)
        if event.kind != "store":
            self._read_unwritten(self._local, event, offset, lanes)
        if event.kind != "load":
            for start in range(0, event.width, self._local.granule):
                self._local.written[(offset + start) // self._local.granule] = True
            for element, _, bad in self._brought(event, lanes):
                size = element_bytes(event)
                for start in range(element * size, (element + 1) * size, self._local.granule):
                    self._local.written[(offset[bad] + start) // self._local.granule] = False

    def _grow_local(self, stride: int, count: int) -> None:
        old, old_stride = self._local, self._local_stride
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
        offset: NDArray[np.int64],
        lanes: NDArray[np.intp],
        other: Stamps | None = None,
    ) -> None:
        count = int(np.count_nonzero(bad))
        if not count:
            return
        across = other is not None and self._across(lanes[bad], other[bad])
        known = self.found.get((kind, event.site))
        if known is not None:
            known.count += count
            known.is_across |= across
            return
        i = int(bad.argmax())
        lane, region = int(lanes[i]), event.region
        start = 0 if region.lane_offset is None else int(region.lane_offset[lane])
        hazard = Hazard(
            kind, event.site, event.tick, lane, region.space, region.name, int(offset[i]) - start,
            event.kind != "load", count=count, is_across=across,
        )  # fmt: skip
        if other is not None:
            hazard.other_thread = int(other[i] & LOW)
            hazard.other_pc = self._state.timeline.sites[int(other[i] >> 32)]
        self.found[(kind, event.site)] = hazard

    def _across(self, lanes: NDArray[np.intp], others: Stamps) -> bool:
        """Whether any of these lanes clashes with a thread of another warp."""
        size = self._geometry.threads
        mine, other = self._order.thread[lanes], others & LOW
        same = (mine // size == other // size) & (mine % size // WARP == other % size // WARP)
        return not bool(same.all())
