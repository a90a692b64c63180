"""Shared-memory hazards: races between two barriers, and reads of what nobody wrote.

Lock-step execution would give the right answer all the same, so every granule of shared memory
keeps who wrote and who read it last, and in which *interval* (between two barriers of its block).
Two threads that touch a granule in one interval, one of them writing, race (CUDA C++ Programming
Guide, "Synchronization Functions": only a barrier orders them).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent, BarrierEvent, FaultEvent
from core.emulator.groups import Geometry

_MANY = -2


@dataclass
class Hazard:
    """A hazard's first occurrence. `other_lane` and `other_pc` are the access it collides with."""

    kind: str  # "race", "uninitialised"
    pc: int
    tick: int
    lane: int
    offset: int  # bytes in the block's shared memory
    is_store: bool
    other_lane: int = -1
    other_pc: int = -1
    count: int = 1


class SharedHazards:
    """Watches one machine's shared memory. `granule`: bytes of the narrowest access."""

    def __init__(self, geometry: Geometry, nbytes: int, granule: int) -> None:
        """`nbytes` is the size of the shared memory of all blocks, stride included."""
        self._geometry, self._granule = geometry, granule
        size = nbytes // granule
        self._writer = np.full(size, -1, np.int32)  # lanes; -1 nobody
        self._write_interval = np.full(size, -1, np.int32)
        self._write_pc = np.full(size, -1, np.int32)
        self._reader = np.full(size, -1, np.int32)  # -2: several
        self._read_interval = np.full(size, -1, np.int32)
        self._read_pc = np.full(size, -1, np.int32)
        self._interval = np.zeros(len(geometry.blocks), np.int32)
        self._lanes = np.arange(geometry.lanes, dtype=np.int32)
        self._block_of_lane = np.repeat(np.arange(len(geometry.blocks)), geometry.threads)
        self._now = np.zeros(geometry.lanes, np.int32)  # the interval of each lane's block
        self.found: dict[tuple[str, int], Hazard] = {}

    def on_access(self, event: AccessEvent) -> None:
        """Checks and notes a shared access."""
        if event.region.space != "shared" or event.region.lane_offset is None:
            return
        offset = event.address - event.region.base + event.region.lane_offset
        lanes, now = self._lanes, self._now
        if event.mask is not None:
            chosen = np.flatnonzero(event.mask)
            lanes, now, offset = lanes[chosen], now[chosen], offset[chosen]
        first = offset // self._granule
        for i in range(max(event.width // self._granule, 1)):
            place = first + i if i else first
            if event.kind == "load":
                self._load(event, place, lanes, now)
            else:
                self._store(event, place, lanes, now)

    def _load(
        self,
        event: AccessEvent,
        place: NDArray[np.int64],
        lanes: NDArray[np.int32],
        now: NDArray[np.int32],
    ) -> None:
        writer = self._writer[place]
        self._note("uninitialised", event, writer == -1, place, lanes)
        clash = (self._write_interval[place] == now) & (writer != lanes)
        self._note("race", event, clash, place, lanes, writer, self._write_pc)
        several = (self._read_interval[place] == now) & (self._reader[place] != lanes)
        self._reader[place] = lanes
        several |= self._reader[place] != lanes
        self._reader[place[several]] = _MANY
        self._read_interval[place] = now
        self._read_pc[place] = event.pc

    def _store(
        self,
        event: AccessEvent,
        place: NDArray[np.int64],
        lanes: NDArray[np.int32],
        now: NDArray[np.int32],
    ) -> None:
        writer, reader = self._writer[place], self._reader[place]
        after_write = (self._write_interval[place] == now) & (writer != lanes)
        after_read = (self._read_interval[place] == now) & (reader != lanes)
        self._writer[place] = lanes
        if event.kind == "atomic":  # atomics on one word are ordered among themselves
            self._note("race", event, after_read, place, lanes, reader, self._read_pc)
        else:
            self._note("race", event, after_write, place, lanes, writer, self._write_pc)
            self._note("race", event, after_read, place, lanes, reader, self._read_pc)
            last = self._writer[place]
            self._note("race", event, last != lanes, place, lanes, last, None)
        self._write_interval[place] = now
        self._write_pc[place] = event.pc

    def _note(
        self,
        kind: str,
        event: AccessEvent,
        bad: NDArray[np.bool_],
        place: NDArray[np.int64],
        lanes: NDArray[np.int32],
        other: NDArray[np.int32] | None = None,
        other_pc: NDArray[np.int32] | None = None,
    ) -> None:
        if not bad.any():
            return
        known = self.found.get((kind, event.pc))
        if known is not None:
            known.count += int(np.count_nonzero(bad))
            return
        i = int(bad.argmax())
        lane = int(lanes[i])
        stride = int(event.region.lane_offset[lane]) if event.region.lane_offset is not None else 0
        self.found[(kind, event.pc)] = Hazard(
            kind,
            event.pc,
            event.tick,
            lane,
            int(place[i]) * self._granule - stride,
            event.kind != "load",
            -1 if other is None else int(other[i]),
            event.pc if other_pc is None else int(other_pc[place[i]]),
            int(np.count_nonzero(bad)),
        )

    def on_barrier(self, event: BarrierEvent) -> None:
        """A new interval starts for the blocks that were let through."""
        self._interval[event.released] += 1
        self._now = self._interval[self._block_of_lane]

    def on_fault(self, event: FaultEvent) -> None:
        """An access that did not happen leaves no mark."""
