"""What memory held at any time, replayed from the stores that were recorded."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.launch import WARP
from core.trace.access import SharedArray, SharedState

if TYPE_CHECKING:
    from core.emulator.block_record import ChunkRecord
    from core.emulator.events import AccessEvent, Indices, Ints, Mask
    from core.ptx.debug.dwarf_types import DwarfType

_LEAST_APART = 16  # stores between two states that are kept
_ROOM = 8_000_000  # bytes that the kept states of a block may take; where they are large, fewer are

State = tuple[NDArray[Any], NDArray[Any]]
_turn = threading.Lock()  # a picture that is made ahead, in a thread of its own, asks as well


class _Replay:
    """Two arrays that stores change, in order of time.

    Going on from the state asked for last costs the stores between; going back, those since the
    last state that was kept.
    """

    def __init__(self, stores: Sequence[Any], empty: State, apply: Callable[..., None]) -> None:
        """`apply(store, *state)` changes the arrays; a store has a `tick`."""
        self._stores, self._apply = stores, apply
        self._frames = [empty]
        whole = len(stores) * sum(part.nbytes for part in empty)
        self._apart = max(_LEAST_APART, -(-whole // _ROOM))
        self.done, self._state = 0, _copied(empty)  # how many stores the state has

    def before(self, tick: int) -> State:
        """The arrays after all stores before `tick`; they are not to be changed."""
        count = bisect.bisect_left(self._stores, tick, key=attrgetter("tick"))
        frame = min(count // self._apart, len(self._frames) - 1)
        if not frame * self._apart <= self.done <= count:
            self.done, self._state = frame * self._apart, _copied(self._frames[frame])
        for i in range(self.done, count):
            self._apply(self._stores[i], *self._state)
            if i + 1 == len(self._frames) * self._apart:
                self._frames.append(_copied(self._state))
        self.done = count
        return self._state


def _copied(state: State) -> State:
    return state[0].copy(), state[1].copy()


def _stores_of(record: ChunkRecord, lanes: slice, space: str) -> list[AccessEvent]:
    """The stores and atomics of any of these lanes to a space, in order of time."""
    return [
        e
        for e in record.accesses
        if e.region.space == space and e.kind != "load" and (e.mask is None or e.mask[lanes].any())
    ]


def _stored(event: AccessEvent, lanes: slice) -> Iterator[tuple[Indices, Ints, NDArray[np.uint8]]]:
    """What some lanes store, each part of a vector by itself.

    The threads among them that take part, where in the region each stores, and its bytes (threads,
    bytes).
    """
    every = np.arange(lanes.stop - lanes.start)
    threads = every if event.mask is None else np.flatnonzero(event.mask[lanes])
    size = event.width // len(event.values)
    offset = of_threads(event.address, lanes, threads) - event.region.base
    for number, values in enumerate(event.values):
        raw = np.ascontiguousarray(of_threads(values, lanes, threads)).view(np.uint8)
        yield threads, offset + number * size, raw.reshape(len(threads), size)


def of_threads(values: NDArray[Any], lanes: slice, threads: Indices) -> NDArray[Any]:
    """Of one value a lane of the machine, or one for all, those of some threads among `lanes`."""
    if values.size == 1:
        return np.broadcast_to(values, threads.shape)
    return values[lanes][threads]


# The stacks of threads, where a `-G` build keeps arrays, structs and variables whose address is
# taken.


class StackBytes:
    """Bytes `first` up to `end` of the stacks of some lanes, all at once; any thread may ask."""

    def __init__(self, record: ChunkRecord, lanes: slice, first: int, end: int) -> None:
        self._lanes, self._first, self._size = lanes, first, end - first
        shape = lanes.stop - lanes.start, self._size
        empty = np.zeros(shape, np.uint8), np.zeros(shape, bool)
        self._replay = _Replay(_stores_of(record, lanes, "local"), empty, self._apply)

    def at(self, tick: int, rows: slice = slice(None)) -> State:
        """The bytes after all instructions before `tick`, and which were written.

        uint8 and bool (threads, end - first), of the lanes `rows` among these.
        """
        with _turn:
            data, written = self._replay.before(tick)
            return data[rows].copy(), written[rows].copy()

    def _apply(self, event: AccessEvent, data: NDArray[np.uint8], written: Mask) -> None:
        for threads, offset, octets in _stored(event, self._lanes):
            place = offset[:, None] - self._first + np.arange(octets.shape[1])
            fits = (place >= 0) & (place < self._size)
            row, column = np.nonzero(fits)
            data[threads[row], place[fits]] = octets[row, column]
            written[threads[row], place[fits]] = True


Value = Any  # a number, or a tuple of values for an array or struct
_MOST_ELEMENTS = 256  # of an array that is shown


class StackHistory:
    """Looks up values on the stacks, those of 32 lanes of a record at a time."""

    def __init__(self, record: ChunkRecord) -> None:
        self._record = record
        self._stacks: dict[int, StackBytes] = {}  # by the number of their lanes' warp

    def value(
        self, function: str, depth: int, offset: int, kind: DwarfType, lane: int, tick: int
    ) -> Value | None:
        """A variable's value after all instructions before `tick`; None where not yet written."""
        base = self._record.stack_bases.get((function, depth))
        if base is None:
            return None
        warp, row = divmod(lane, WARP)
        if warp not in self._stacks:
            end = min((warp + 1) * WARP, self._record.geometry.lanes)
            lanes = slice(warp * WARP, end)
            self._stacks[warp] = StackBytes(self._record, lanes, 0, self._end)
        data, written = self._stacks[warp].at(tick, slice(row, row + 1))
        return _read(kind, base + offset, data[0], written[0])

    @cached_property
    def _end(self) -> int:
        """How many bytes of its stack any lane stores to, from the beginning."""
        ends = [0]
        for event in self._record.accesses:
            if event.region.space == "local" and event.kind != "load":
                address = event.address
                if event.mask is not None and address.size > 1:
                    address = address[event.mask]
                ends.append(int(address.max()) - event.region.base + event.width)
        return max(ends)


def _read(kind: DwarfType, offset: int, data: NDArray[np.uint8], written: Mask) -> Value | None:
    """A value on one lane's stack; `written` says which bytes of it were."""
    if kind.dtype is not None:
        octets = slice(offset, offset + kind.nbytes)
        if not 0 <= offset <= len(data) - kind.nbytes or not written[octets].all():
            return None
        bits = int.from_bytes(data[octets].tobytes(), "little")
        return kind.from_bits(np.array([bits], np.uint64))[0].item()
    parts: list[Value | None] = []
    if kind.kind == "array" and kind.element is not None and kind.element.nbytes:
        size = kind.element.nbytes
        count = min(kind.nbytes // size, _MOST_ELEMENTS)
        places = (offset + i * size for i in range(count))
        parts = [_read(kind.element, place, data, written) for place in places]
    elif kind.members:
        parts = [_read(m.type, offset + m.offset, data, written) for m in kind.members]
    return None if all(part is None for part in parts) else tuple(parts)


# Shared memory.


@dataclass(frozen=True)
class _Landed:
    """What a bulk copy has brought: bytes and their places in the block, and who began it."""

    tick: int
    place: NDArray[np.int64]
    data: NDArray[np.uint8]
    thread: int


def _landed(record: ChunkRecord, lanes: slice, first: int, size: int) -> list[_Landed]:
    """What bulk copies brought into a block's `size` bytes of shared memory from `first` on."""
    began = {event.number: event for event in record.transfers if event.kind != "product"}
    found = []
    for landing in record.landings:
        event = began[landing.number]
        span = event.writes[0]
        place = (span.place[:, None] - first + np.arange(span.width)).reshape(-1)
        mine = (place >= 0) & (place < size)
        if mine.any():
            thread = int(event.lanes[0]) % (lanes.stop - lanes.start)
            data = landing.data.reshape(-1)[mine]
            found.append(_Landed(landing.tick, place[mine], data, thread))
    return found


class SharedHistory:
    """Replays the stores of one block, and what bulk copies brought; any thread may ask."""

    def __init__(
        self, record: ChunkRecord, lanes: slice, arrays: tuple[SharedArray, ...], first: int
    ) -> None:
        """`first` is where the block's memory begins in that of all blocks."""
        self._lanes, self._arrays = lanes, arrays
        size = max((a.offset + a.nbytes for a in arrays), default=0)
        stores: list[AccessEvent | _Landed] = [*_stores_of(record, lanes, "shared")]
        stores += _landed(record, lanes, first, size)
        stores.sort(key=lambda e: e.tick)
        empty = np.zeros(size, np.uint8), np.full(size, -1, np.int32)
        self._replay = _Replay(stores, empty, self._apply)
        self._last: tuple[int, dict[str, SharedState]] | None = None

    def at(self, tick: int) -> dict[str, SharedState]:
        """The arrays' states after every store up to and including `tick`."""
        with _turn:
            data, writer = self._replay.before(tick + 1)
            if self._last is None or self._last[0] != self._replay.done:
                self._last = self._replay.done, self._state(data.copy(), writer.copy())
            return self._last[1]

    def _apply(
        self, event: AccessEvent | _Landed, data: NDArray[np.uint8], writer: NDArray[np.int32]
    ) -> None:
        if isinstance(event, _Landed):
            data[event.place], writer[event.place] = event.data, event.thread
            return
        for threads, offset, octets in _stored(event, self._lanes):
            place = offset[:, None] + np.arange(octets.shape[1])
            data[place] = octets
            writer[place] = threads[:, None]

    def _state(self, data: NDArray[np.uint8], writer: NDArray[np.int32]) -> dict[str, SharedState]:
        states = {}
        for array in self._arrays:
            cut = slice(array.offset, array.offset + array.nbytes)
            values = data[cut].view(array.dtype).reshape(array.shape)
            last = writer[cut][:: array.dtype.itemsize].reshape(array.shape)
            states[array.name] = SharedState(values, last >= 0, last)
        return states
