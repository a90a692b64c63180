"""What shared memory held at any time, from the stores that were recorded."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent
from core.emulator.record import ChunkRecord
from core.trace.arrays import SharedArray, SharedState

_LEAST_APART = 16  # stores between two states that are kept
_ROOM = 8_000_000  # bytes that the kept states of a block may take; where they are large, fewer are


class SharedHistory:
    """Replays the stores of one block. Some states are kept, so that going back is quick."""

    def __init__(self, record: ChunkRecord, lanes: slice, arrays: tuple[SharedArray, ...]) -> None:
        self._lanes, self._arrays = lanes, arrays
        self._stores = [
            e
            for e in record.accesses
            if e.region.space == "shared"
            and e.kind != "load"
            and (e.mask is None or e.mask[lanes].any())
        ]
        self._ticks = [e.tick for e in self._stores]
        size = max((a.offset + a.nbytes for a in arrays), default=0)
        empty = (np.zeros(size, np.uint8), np.full(size, -1, np.int32))
        self._frames: list[tuple[NDArray[np.uint8], NDArray[np.int32]]] = [empty]
        whole = len(self._stores) * sum(part.nbytes for part in empty)
        self._apart = max(_LEAST_APART, -(-whole // _ROOM))
        self._last: tuple[int, dict[str, SharedState]] | None = None

    def at(self, tick: int) -> dict[str, SharedState]:
        """The arrays' states after every store up to and including `tick`."""
        count = bisect.bisect_right(self._ticks, tick)
        if self._last is None or self._last[0] != count:
            self._last = (count, self._state(*self._bytes_after(count)))
        return self._last[1]

    def _bytes_after(self, count: int) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        apart = self._apart
        start = min(count // apart, len(self._frames) - 1)
        data, writer = self._frames[start][0].copy(), self._frames[start][1].copy()
        for i in range(start * apart, count):
            if i and i % apart == 0 and i // apart == len(self._frames):
                self._frames.append((data.copy(), writer.copy()))
            self._apply(self._stores[i], data, writer)
        return data, writer

    def _apply(
        self, event: AccessEvent, data: NDArray[np.uint8], writer: NDArray[np.int32]
    ) -> None:
        lanes = self._lanes
        count = lanes.stop - lanes.start
        mask = np.ones(count, bool) if event.mask is None else event.mask[lanes]
        threads = np.flatnonzero(mask)
        offset = _part(event.address, lanes)[threads] - event.region.base
        size = event.width // len(event.values)
        for i, values in enumerate(event.values):
            raw = np.ascontiguousarray(_part(values, lanes)[threads]).view(np.uint8)
            place = (offset + i * size)[:, None] + np.arange(size)
            data[place] = raw.reshape(len(threads), size)
            writer[place] = threads[:, None]

    def _state(self, data: NDArray[np.uint8], writer: NDArray[np.int32]) -> dict[str, SharedState]:
        states = {}
        for array in self._arrays:
            cut = slice(array.offset, array.offset + array.nbytes)
            values = data[cut].view(array.dtype).reshape(array.shape)
            last = writer[cut][:: array.dtype.itemsize].reshape(array.shape)
            states[array.name] = SharedState(values, last >= 0, last)
        return states


def _part(values: NDArray[Any], lanes: slice) -> NDArray[Any]:
    if values.size == 1:
        return np.repeat(values, lanes.stop - lanes.start)
    return values[lanes]
