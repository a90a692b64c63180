"""What threads hold in the variables that they store to an array later: running sums.

The variable is followed from the store (`stored_variables`), and taken for it only if it held, at
the moment of the store, the very bits that were stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.trace.access import Array, SharedArray, SharedState
from core.trace.executed_path import Moment
from core.trace.variables import (
    Place,
    Replay,
    StackBytes,
    StoredVariables,
    VariableReader,
    stores_of,
)

if TYPE_CHECKING:
    from core.emulator.block_record import ChunkRecord
    from core.emulator.events import AccessEvent, Ints
    from core.ptx.debug.variables import VariableInfo

# What shared memory held at any time, from the stores that were recorded.


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


_turn = threading.Lock()  # a picture that is made ahead, in a thread of its own, asks as well


class SharedHistory:
    """Replays the stores of one block, and what bulk copies brought; any thread may ask."""

    def __init__(
        self, record: ChunkRecord, lanes: slice, arrays: tuple[SharedArray, ...], first: int
    ) -> None:
        """`first` is where the block's memory begins in that of all blocks."""
        self._lanes, self._arrays = lanes, arrays
        size = max((a.offset + a.nbytes for a in arrays), default=0)
        stores: list[AccessEvent | _Landed] = [*stores_of(record, lanes, "shared")]
        stores += _landed(record, lanes, first, size)
        stores.sort(key=lambda e: e.tick)
        empty = np.zeros(size, np.uint8), np.full(size, -1, np.int32)
        self._replay = Replay(stores, empty, self._apply)
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


Moments = list[tuple[NDArray[np.intp], Moment]]  # threads, and where all of them are in the kernel
Held = tuple[NDArray[Any], NDArray[np.bool_]]  # a value for each element, and which are known


@dataclass(frozen=True)
class SoFar:
    """Elements that are stored later, and what their threads hold for them now.

    `flats` (row-major) and `threads` are int64 (n,), `values` has the array's type (n,); `names`
    are the variables that they are kept in, and `which` (n,) says in which of these.
    """

    flats: Ints
    threads: Ints
    values: NDArray[Any]
    names: tuple[str, ...]
    which: Ints

    def of_thread(self, thread: int) -> SoFar:
        """What one thread holds."""
        mine = self.threads == thread
        which, names = self.which[mine], self.names
        return SoFar(self.flats[mine], self.threads[mine], self.values[mine], names, which)

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the variables that hold a value."""
        return tuple(self.names[i] for i in np.unique(self.which))


@dataclass(frozen=True)
class _Share:
    """The elements that are stored from one variable; all columns have a place an element.

    `ticks` are those of an element's first store, `starts` where its thread keeps it on the stack.
    """

    variable: VariableInfo
    flats: Ints
    threads: Ints
    ticks: Ints
    starts: Ints | None


class SumsSoFar:
    """Answers for one array of one block, whose threads are the machine's `lanes`."""

    def __init__(
        self, record: ChunkRecord, lanes: slice, reader: VariableReader, array: Array
    ) -> None:
        self._record, self._lanes, self._reader, self._array = record, lanes, reader, array
        self._shares = tuple(self._find())
        kept = [share.starts for share in self._shares if share.starts is not None]
        self._bottom = min((int(starts.min()) for starts in kept), default=0)
        top = max((int(starts.max()) for starts in kept), default=0) + array.dtype.itemsize
        self._stack = StackBytes(record, lanes, self._bottom, top) if kept else None

    def at(self, tick: int, moments: Callable[[int], Moments]) -> SoFar:
        """The sums held before `tick`, of elements that are stored later.

        `moments` says of a tick where the threads are.
        """
        none = np.empty(0, np.int64)
        found: list[tuple[NDArray[Any], ...]] = [(none, none, np.empty(0, self._array.dtype), none)]
        for number, share in enumerate(self._shares):
            later = share.ticks >= tick
            for threads, moment in moments(tick) if later.any() else ():
                values, known = self._held(share, moment.pc, tick)
                mine = later & known
                if len(threads) < self._lanes.stop - self._lanes.start:
                    mine &= np.isin(share.threads, threads)
                which = np.full(np.count_nonzero(mine), number)
                found.append((share.flats[mine], share.threads[mine], values[mine], which))
        flats, held_by, values, which = (np.concatenate(c) for c in zip(*found, strict=True))
        names = tuple(share.variable.name for share in self._shares)
        return SoFar(flats, held_by, values, names, which)

    # -- what is held -----------------------------------------------------------------------

    def _held(self, share: _Share, pc: int, tick: int) -> Held:
        """What the variable holds at a place in the kernel, where it is in scope there."""
        info, dtype = share.variable, self._array.dtype
        location = info.location(pc) if info.scope.first_pc <= pc < info.scope.end_pc else None
        count = len(share.flats)
        if location is not None and share.starts is not None:
            return self._on_the_stack(share.threads, share.starts, tick)
        if location is not None and location.constant is not None:
            return np.full(count, location.constant, dtype), np.ones(count, bool)
        held = None
        if location is not None and location.register is not None:
            held = self._reader.register(pc, 0, location.register, tick)
        if held is None:
            return np.zeros(count, dtype), np.zeros(count, bool)
        own = held if held.size == 1 else held[self._lanes][share.threads]
        return _bits(np.broadcast_to(own, (count,)), dtype), np.ones(count, bool)

    def _on_the_stack(self, threads: Ints, starts: Ints, tick: int) -> Held:
        assert self._stack is not None
        data, written = self._stack.at(tick)
        octets = (starts - self._bottom)[:, None] + np.arange(self._array.dtype.itemsize)
        raw = np.ascontiguousarray(data[threads[:, None], octets])
        return raw.view(self._array.dtype)[:, 0], written[threads[:, None], octets].all(axis=1)

    # -- what is stored ---------------------------------------------------------------------

    def _find(self) -> Iterator[_Share]:
        """The elements whose last store is of a variable, by variable."""
        columns: dict[VariableInfo, list[tuple[Ints, ...]]] = {}
        for place, flats, threads, ticks in self._last_stores():
            starts = np.full(len(flats), -1) if place.starts is None else place.starts
            columns.setdefault(place.variable, []).append((flats, threads, ticks, starts))
        for variable, parts in columns.items():
            flats, threads, ticks, starts = (np.concatenate(c) for c in zip(*parts, strict=True))
            on_the_stack = bool((starts >= 0).all())
            if on_the_stack or (starts < 0).all():
                yield _Share(variable, flats, threads, ticks, starts if on_the_stack else None)

    def _last_stores(self) -> Iterator[tuple[Place, Ints, Ints, Ints]]:
        """For each store: the values, elements and threads, and the elements' first ticks."""
        events = [e for e in self._record.accesses if self._is_written(e)]
        stores = [
            (e, part, *self._stored(e, part)) for e in events for part in range(len(e.values))
        ]
        if not stores:
            return
        finder = StoredVariables(self._record, self._lanes, self._reader)
        flats = np.concatenate([store[3] for store in stores])
        which = np.repeat(np.arange(len(stores)), [len(store[3]) for store in stores])
        elements, first = np.unique(flats, return_index=True)
        last = which[::-1][np.unique(flats[::-1], return_index=True)[1]]
        ticks = np.array([store[0].tick for store in stores], np.int64)[which[first]]
        for number, (event, part, threads, own) in enumerate(stores):
            at = np.searchsorted(elements, own)
            final = last[at] == number
            if not final.any():
                continue
            found = finder.of(event, part, threads[final])
            if found is not None and self._agrees(event, part, threads[final], found):
                yield found, own[final], threads[final], ticks[at[final]]

    def _is_written(self, event: AccessEvent) -> bool:
        if event.region.name != self._array.name or event.kind == "load":
            return False
        return event.mask is None or bool(event.mask[self._lanes].any())

    def _stored(self, event: AccessEvent, part: int) -> tuple[Ints, Ints]:
        """The threads that store a part, and the elements; none of another size."""
        size = self._array.dtype.itemsize
        if event.width != size * len(event.values):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        lanes = self._lanes
        count = lanes.stop - lanes.start
        threads = np.arange(count) if event.mask is None else np.flatnonzero(event.mask[lanes])
        address = event.address if event.address.size == 1 else event.address[lanes][threads]
        place = np.broadcast_to(address - self._array.base, threads.shape)
        return threads, place // size + part

    def _agrees(self, event: AccessEvent, part: int, threads: Ints, place: Place) -> bool:
        """Whether the variable held what was stored, bit by bit."""
        values = event.values[part]
        own = values if values.size == 1 else values[self._lanes][threads]
        stored = np.broadcast_to(own, threads.shape)
        if stored.dtype.itemsize != place.bits.dtype.itemsize:
            return False
        kind = np.dtype(f"u{stored.dtype.itemsize}")
        return bool((_bits(stored, kind) == _bits(place.bits, kind)).all())


def _bits(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same bits as another type, or where that has fewer, its lowest ones."""
    if values.dtype.itemsize == dtype.itemsize:
        return np.ascontiguousarray(values).view(dtype)
    wide = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
    return wide.astype(f"u{dtype.itemsize}").view(dtype)
