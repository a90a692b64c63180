"""What a stretch of every thread's stack held at any time, all threads of a block at once.

`StackHistory` answers for one thread; this is for a question about all of them at every step.
"""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent
from core.emulator.record import ChunkRecord

_LEAST_APART = 16  # stores between two states that are kept
_ROOM = 8_000_000  # bytes that the kept states of a block may take; where they are large, fewer are

State = tuple[NDArray[np.uint8], NDArray[np.bool_]]


class StackBytes:
    """Replays the local stores of a block's threads to bytes `first` up to `end` of their stacks.

    Going on from the state asked for last costs the stores between; going back, those since the
    last state that was kept.
    """

    def __init__(self, record: ChunkRecord, lanes: slice, first: int, end: int) -> None:
        self._lanes, self._first, self._size = lanes, first, end - first
        self._threads = np.arange(lanes.stop - lanes.start)
        self._stores = [
            e
            for e in record.accesses
            if e.region.space == "local"
            and e.kind != "load"
            and (e.mask is None or e.mask[lanes].any())
        ]
        self._ticks = [e.tick for e in self._stores]
        shape = len(self._threads), self._size
        self._frames: list[State] = [(np.zeros(shape, np.uint8), np.zeros(shape, bool))]
        whole = 2 * len(self._stores) * shape[0] * shape[1]
        self._apart = max(_LEAST_APART, -(-whole // _ROOM))
        self._done, self._state = 0, _copied(self._frames[0])

    def at(self, tick: int) -> State:
        """The bytes after all instructions before `tick`, and which were written.

        uint8 and bool (threads, end - first); they are not to be changed.
        """
        self._move(bisect.bisect_left(self._ticks, tick))
        return self._state

    def read_ahead(self, stores: int) -> bool:
        """Keep the states up to a few stores further; False when there are no more."""
        known = (len(self._frames) - 1) * self._apart
        if known + self._apart > len(self._stores):
            return False
        self._move(min(max(known, self._done) + stores, len(self._stores)))
        return True

    def _move(self, count: int) -> None:
        frame = min(count // self._apart, len(self._frames) - 1)
        if not frame * self._apart <= self._done <= count:
            self._done, self._state = frame * self._apart, _copied(self._frames[frame])
        for i in range(self._done, count):
            self._apply(self._stores[i], *self._state)
            if i + 1 == len(self._frames) * self._apart:
                self._frames.append(_copied(self._state))
        self._done = count

    def _apply(
        self, event: AccessEvent, data: NDArray[np.uint8], written: NDArray[np.bool_]
    ) -> None:
        lanes, size = self._lanes, event.width // len(event.values)
        address, mask = event.address, event.mask
        offsets = (address if address.size == 1 else address[lanes]) - event.region.base
        starts = offsets - self._first
        who = self._threads if mask is None else np.flatnonzero(mask[lanes])
        same = len(starts) == 1 or bool((starts == starts[0]).all())
        for i, values in enumerate(event.values):
            own = values if values.size == 1 else values[lanes][who]
            raw = np.ascontiguousarray(np.broadcast_to(own, who.shape))
            octets = raw.view(np.uint8).reshape(len(who), size)
            if same:
                self._put_at_one_place(int(starts[0]) + i * size, who, octets, data, written)
            else:
                at = (starts + i * size)[who]
                for byte in range(size):
                    fits = (at + byte >= 0) & (at + byte < self._size)
                    data[who[fits], at[fits] + byte] = octets[fits, byte]
                    written[who[fits], at[fits] + byte] = True

    def _put_at_one_place(
        self,
        start: int,
        who: NDArray[np.intp],
        octets: NDArray[np.uint8],
        data: NDArray[np.uint8],
        written: NDArray[np.bool_],
    ) -> None:
        first, end = max(start, 0), min(start + octets.shape[1], self._size)
        if first < end:
            rows: Any = slice(None) if len(who) == len(self._threads) else who
            data[rows, first:end] = octets[:, first - start : end - start]
            written[rows, first:end] = True


def _copied(state: State) -> State:
    return state[0].copy(), state[1].copy()
