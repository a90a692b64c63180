"""What one block has done up to a step, worked out from its record and kept for the next question.

Everything here is a function of a `BlockTrace`. The record is read once, in order and only as far
as a question needs; each answer after that is a look-up. Accesses come first, then bulk copies and
products of warpgroups.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Ints
from core.launch import WARP
from core.trace import Array, EventKind
from core.trace.access import SharedArray
from core.wording import listing
from gui.scenes.cached_per_object import last_for_each, once_for_each
from gui.scenes.names_of_elements_and_threads import elements_name, verb_of
from gui.scenes.numbers_and_sentences import numbers_name

if TYPE_CHECKING:
    from core.emulator.events import Span, TransferEvent
    from core.trace import Access, BlockTrace
    from core.trace.access import WarpAccess

EMPTY = np.empty(0, np.int64)  # no elements

# An access of several elements a lane (`float4`) as that many accesses of one element each.


@dataclass(frozen=True)
class Part:
    """One element a lane: its flat index (-1 where the lane is idle) and value; a place a lane."""

    elements: NDArray[np.int64]
    values: NDArray[Any]


def elements_a_lane(access: Access | WarpAccess, itemsize: int) -> int:
    """How many elements of an array each lane of an access touches, at least 1."""
    return max(1, access.width // itemsize)


def parts_of(access: Access | WarpAccess, dtype: np.dtype[Any]) -> tuple[Part, ...]:
    """The parts of an access to an array of `dtype`, in the order of memory."""
    count = elements_a_lane(access, dtype.itemsize)
    elements, values = np.asarray(access.elements), np.asarray(access.values)
    if count == 1 and values.ndim == 1 and values.dtype == dtype:
        return (Part(elements, values),)
    columns = _columns(values, dtype, count)
    return tuple(
        Part(np.where(elements >= 0, elements + j, -1), columns[:, min(j, columns.shape[1] - 1)])
        for j in range(count)
    )


def _columns(values: NDArray[Any], dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """One column for each element; registers of another type are read as the array's bits."""
    table = np.ascontiguousarray(values.reshape(len(values), -1))
    if table.dtype != dtype and table.nbytes == len(table) * count * dtype.itemsize:
        return table.view(dtype)
    return table


def all_elements(access: Access | WarpAccess, itemsize: int) -> NDArray[np.int64]:
    """The flat elements that the active lanes touch, every one of each lane, in lane order."""
    live = np.asarray(access.elements)
    live = live[live >= 0]
    count = elements_a_lane(access, itemsize)
    return live if count == 1 else (live[:, None] + np.arange(count)).reshape(-1)


def deed(access: Access, count: int = 2) -> str:
    """What so many threads do in an access, as a verb: the store of a `cp.async` only begins."""
    if access.is_copy and access.kind == "store":
        return f"begin{'s' * (count == 1)} to copy to"
    return verb_of(access.kind, count)


def accessed_name(access: Access | WarpAccess, array: Array | SharedArray) -> str:
    """What the active lanes touch: an index may run out of an array into its neighbour, legally."""
    what = elements_name(array, all_elements(access, array.dtype.itemsize))
    active = np.asarray(access.active)
    astray = active & (np.asarray(access.elements) < 0)
    if not astray.any():
        return what
    rest = f"what lies outside {array.name}"
    return rest if astray.sum() == active.sum() else f"{what} and {rest}"


def numbers_of(part: WarpAccess, array: Array | SharedArray) -> NDArray[Any]:
    """What each lane loads or stores, (32, numbers): a field of a mixed structure is one number."""
    values = np.stack([p.values for p in parts_of(part, array.dtype)], axis=1)
    live = np.asarray(part.elements)[np.asarray(part.active)]
    field = array.field_at(int(live[0])) if isinstance(array, Array) and len(live) else None
    if field is None or values.dtype != array.dtype or field[1].itemsize != values.shape[1]:
        return values
    row = array.shape[-1]
    if (live % row != field[0] % row).any():  # lanes touch several fields
        return values
    return np.ascontiguousarray(values).view(field[1])


def number_at(array: Array | SharedArray, data: NDArray[Any], flat: int) -> Any:
    """An element among an array's values (flat); of a mixed structure the whole field."""
    field = array.field_at(flat) if isinstance(array, Array) else None
    if field is None:
        return data[flat].item()
    first, kind = field
    return np.ascontiguousarray(data[first : first + kind.itemsize]).view(kind)[0].item()


Rows = NDArray[np.int32]
TABLE = 256  # accesses that are kept together


class _Loads:
    """Loads of one global array's elements, in order: the step, and each thread's flat element."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self._tables: list[Rows] = []
        """`TABLE` accesses each: one that grew would have to be copied, in the middle of a step."""
        self._own = _Own(range(0))

    def rows(self, first: int, last: int, threads: range | None = None) -> Rows:
        """A row for each access from `first` to before `last`, a column for each thread.

        Its element, -1 where it has none. `threads` asks for some that follow each other only.
        """
        last = min(last, len(self.steps))
        columns = slice(None) if threads is None else slice(threads.start, threads.stop)
        parts = [
            self._tables[number][max(first - number * TABLE, 0) : last - number * TABLE, columns]
            for number in range(first // TABLE, -(-last // TABLE))
        ]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty((0, 0), np.int32)

    def add(self, step: int, elements: NDArray[np.int64]) -> None:
        """One access; -1 where a thread takes no part."""
        table, place = divmod(len(self.steps), TABLE)
        if table == len(self._tables):
            self._tables.append(np.empty((TABLE, len(elements)), np.int32))
        self._tables[table][place] = elements
        self.steps.append(step)

    def upto(self, step: int) -> int:
        """How many accesses there are up to a step."""
        return bisect_right(self.steps, step)

    def of_threads(self, threads: range, step: int) -> Ints:
        """What threads that follow each other loaded up to `step`, each element once."""
        if self._own.threads != threads:
            self._own = _Own(threads)
        self._own.read(self)
        return self._own.upto(step)

    def of_element(self, flat: int, step: int) -> list[tuple[int, Ints]]:
        """The steps up to `step` that loaded an element, each once, with the threads that did."""
        count = self.upto(step)
        found: dict[int, list[Ints]] = {}
        for at, row in zip(self.steps[:count], self.rows(0, count), strict=True):
            threads = np.flatnonzero(row == flat)
            if len(threads):
                found.setdefault(at, []).append(threads)
        return [(at, np.unique(np.concatenate(rows))) for at, rows in found.items()]


@dataclass
class _Own:
    """What the threads that were asked last have loaded, brought up to date as more is read."""

    threads: range
    flats: Ints = field(default_factory=lambda: EMPTY)
    """Each element once, ascending."""
    since: Ints = field(default_factory=lambda: EMPTY)
    """The step of the first load of each."""
    known: int = 0
    """Accesses that were read."""

    def read(self, loads: _Loads) -> None:
        """Bring in the accesses that have been added since the last time."""
        count = len(loads.steps)
        if count == self.known:
            return
        read = loads.rows(self.known, count, self.threads)
        steps = np.repeat(np.array(loads.steps[self.known :], np.int64), read.shape[1])
        live = read.reshape(-1) >= 0
        flats = np.concatenate([self.flats, read.reshape(-1)[live].astype(np.int64)])
        since = np.concatenate([self.since, steps[live]])
        self.flats, first = np.unique(flats, return_index=True)
        self.since = since[first]
        self.known = count

    def upto(self, step: int) -> Ints:
        """The elements of which the first load is not later than `step`."""
        return self.flats[self.since <= step]


@dataclass
class _Tally:
    """How often each element was loaded by the first `done` accesses.

    Only elements that are loaded at all take room: few of a large array. `read` brings in
    accesses before anybody asks.
    """

    flats: Ints = field(default_factory=lambda: EMPTY)
    """Every element of the accesses that were read, ascending."""
    counts: Ints = field(default_factory=lambda: EMPTY)
    """How often each of `flats` was loaded."""
    done: int = 0
    _rows: list[tuple[Ints, Ints]] = field(default_factory=list)
    """Of each access its elements, each once, and by how many threads."""

    @property
    def known(self) -> int:
        """How many accesses were read."""
        return len(self._rows)

    def read(self, loads: _Loads, upto: int) -> bool:
        """Bring in the first `upto` accesses; whether there were any to bring in."""
        new = loads.rows(len(self._rows), upto)
        if not len(new):
            return False
        found = [np.unique(row[row >= 0], return_counts=True) for row in new]
        self._rows += [(flats.astype(np.int64), times) for flats, times in found]
        flats = np.unique(np.concatenate([flats for flats, _ in found])).astype(np.int64)
        place = np.searchsorted(self.flats, flats)
        missing = np.append(self.flats, -1)[place] != flats
        self.counts = np.insert(self.counts, place[missing], 0)
        self.flats = np.insert(self.flats, place[missing], flats[missing])
        return True

    def move(self, loads: _Loads, upto: int) -> None:
        """Count accesses in or out until the first `upto` are counted."""
        self.read(loads, upto)
        first, last = sorted((self.done, upto))
        if first < last:
            rows = self._rows[first:last]
            places = np.searchsorted(self.flats, np.concatenate([flats for flats, _ in rows]))
            times = np.concatenate([times for _, times in rows])
            moved = np.bincount(places, times, len(self.flats)).astype(np.int64)
            self.counts = self.counts + (moved if upto > self.done else -moved)
        self.done = upto

    @property
    def loaded(self) -> tuple[Ints, Ints]:
        """The elements that were loaded, ascending, and how often each."""
        live = self.counts > 0
        return self.flats[live], self.counts[live]


PIECE = 8  # elements, of which copies mostly keep the order: 16 bytes of F16
RECENT = 16  # loaded elements of a thread that a value stored to shared memory may have come from


class _Origins:
    """Which element of which global array each cell of shared memory holds a copy of."""

    def __init__(self) -> None:
        self._recent: list[tuple[int, int, Part]] = []
        self._names: list[str] = []
        self._cells: dict[str, tuple[NDArray[np.int16], Ints]] = {}
        self._arrays: dict[str, Array | SharedArray] = {}

    def copy(self) -> _Origins:
        """As it is now, whatever is stored later."""
        other = _Origins()
        other._names, other._arrays = list(self._names), dict(self._arrays)
        other._cells = {name: (a.copy(), b.copy()) for name, (a, b) in self._cells.items()}
        return other

    def at_bytes(self, name: str, places: Ints) -> Ints:
        """The elements of global `name` whose copies lie at bytes of the block's shared memory."""
        found = [EMPTY]
        for shared, (names, flats) in self._cells.items():
            array = self._arrays[shared]
            if name in self._names and isinstance(array, SharedArray):
                cells = (places - array.offset) // array.dtype.itemsize
                cells = cells[(cells >= 0) & (cells < len(names))]
                found.append(flats[cells[names[cells] == self._names.index(name)]])
        return np.unique(np.concatenate(found))

    def loaded(self, name: str, part: Part, step: int) -> None:
        """A load from global memory: its values may be stored to shared memory next."""
        if name not in self._names:
            self._names.append(name)
        self._recent = [*self._recent[-RECENT + 1 :], (self._names.index(name), step, part)]

    def stored(self, array: Array | SharedArray, part: Part) -> None:
        """A store to shared memory: each lane's value is looked for in its latest loads.

        Numbers of 16 bits repeat within one load, so those at the same place in it come first.
        """
        name, size = array.name, array.nbytes // array.dtype.itemsize
        self._arrays[name] = array
        names, flats = self._cells.setdefault(
            name, (np.full(size, -1, np.int16), np.full(size, -1, np.int64))
        )
        live = np.flatnonzero(part.elements >= 0)
        cells, values = part.elements[live], part.values[live]
        names[cells], flats[cells] = -1, -1
        open_lanes = np.ones(len(live), bool)

        def moves(load: Part) -> bool:
            flats = load.elements[live]
            return bool(((flats - cells)[flats >= 0] % PIECE).any())

        likely = sorted(self._recent, key=lambda r: (-r[1], moves(r[2])))
        for number, _, load in likely:
            same = open_lanes & (load.elements[live] >= 0) & (load.values[live] == values)
            names[cells[same]] = number
            flats[cells[same]] = load.elements[live[same]]
            open_lanes &= ~same
            if not open_lanes.any():
                break

    def forget(self, places: Ints) -> bool:
        """Bytes of the block's shared memory hold something else now; whether any was known."""
        found = False
        for shared, (names, flats) in self._cells.items():
            array = self._arrays[shared]
            if isinstance(array, SharedArray):
                cells = (places - array.offset) // array.dtype.itemsize
                cells = cells[(cells >= 0) & (cells < len(names))]
                found |= bool((names[cells] >= 0).any())
                names[cells], flats[cells] = -1, -1
        return found

    def read(self, name: str, part: Part) -> list[tuple[str, Ints]]:
        """A load from shared memory: for each global array, the element each thread gets."""
        if name not in self._cells:
            return []
        names, flats = self._cells[name]
        live = part.elements >= 0
        cell = np.where(live, part.elements, 0)
        found = []
        for number, source in enumerate(self._names):
            mine = live & (names[cell] == number)
            if mine.any():
                found.append((source, np.where(mine, flats[cell], -1)))
        return found


class _Landed:
    """Which element of which global array bulk copies have brought to each byte of shared memory.

    They come at the step at which the block's record has them in shared memory.
    """

    def __init__(self, block: BlockTrace) -> None:
        self._first, self._size = block.place * block.shared_stride, block.shared_stride
        began = {e.number: e for e in block.record.transfers if e.kind != "product"}
        self._coming = sorted(
            (
                (block.step_at(landing.tick - 1) + 1, began[landing.number])
                for landing in block.record.landings
            ),
            key=lambda one: one[0],
        )
        self._sizes = {
            span.region.name: _itemsize(block, span.region.name)
            for _, event in self._coming
            for span in event.reads
        }
        self._owners: dict[str, Ints] = {}

    def come(self, step: int) -> Iterator[Ints]:
        """Take in what has landed up to a step; yields the bytes that it overwrites."""
        while self._coming and self._coming[0][0] <= step:
            _, event = self._coming.pop(0)
            (written,) = event.writes
            place = written.place - self._first
            if written.region.space != "shared" or not len(place):
                continue
            if place.min() < 0 or place.max() >= self._size:
                continue  # it goes to another block
            whole = (place[:, None] + np.arange(written.width)).reshape(-1)
            self.forget(whole)
            for name, places, offsets in _brought(event, place, written.width):
                owner = self._owners.setdefault(name, np.full(self._size, -1, np.int64))
                owner[places] = offsets // self._sizes[name]
            yield whole

    def forget(self, places: Ints) -> None:
        """Bytes that hold something else now."""
        for owner in self._owners.values():
            owner[places] = -1

    def read(self, array: SharedArray, part: Part) -> list[tuple[str, Ints]]:
        """A load from shared memory: for each global array, the element each thread gets."""
        live = part.elements >= 0
        places = array.offset + np.where(live, part.elements, 0) * array.dtype.itemsize
        found = []
        for name, owner in self._owners.items():
            flats = np.where(live, owner[places], -1)
            if (flats >= 0).any():
                found.append((name, flats))
        return found


BEFORE = -2
"""In place of a phase: all that comes before the first one."""

_LOAD, _STORE, _ATOMIC = EventKind.LOAD, EventKind.STORE, EventKind.ATOMIC


@dataclass(frozen=True)
class _Write:
    """One store or atomic to a global array: its lanes' elements, threads and values."""

    step: int
    flats: Ints
    threads: Ints
    values: NDArray[np.generic]


class History:
    """Answers about one block. Get it with `history_of`, which keeps one for each record."""

    def __init__(self, block_trace: BlockTrace) -> None:
        self._record = weakref.ref(block_trace)  # the record must not be kept alive from here
        kind = np.asarray(block_trace.kind)
        self._accesses = np.flatnonzero(np.isin(kind, (_LOAD, _STORE, _ATOMIC)))
        self._visible = block_trace.access_steps
        self._writes = self._visible[kind[self._visible] != _LOAD]
        self._loads: dict[str, _Loads] = {}
        self._through_shared: dict[str, _Loads] = {}
        self._tallies: dict[str, _Tally] = {}
        self._origins = _Origins()
        copies = any("async" in one.modifiers for one in block_trace.instructions)
        self._landed = _Landed(block_trace) if copies else None
        self._scanned = 0
        products = [when for when, event in block_trace.operations if event.kind == "product"]
        self._products = sorted(set(products))
        self._at_products: dict[int, _Origins] = {}
        self._changed = True  # since the last of them
        self._global_writes: dict[str, list[_Write]] | None = None
        self._stored: dict[str, tuple[Ints, Ints, Ints]] = {}
        self._phase_loads: dict[int, dict[str, list[Ints]]] = {}
        self._spaces: dict[int, str] = {}

    @property
    def _trace(self) -> BlockTrace:
        trace = self._record()
        assert trace is not None, "a History is asked while its record is held"
        return trace

    def last_access(self, step: int, space: str) -> Access | None:
        """The latest access to `space` at or before `step`, None if there was none."""
        accesses = self._accesses if space == "local" else self._visible
        place = int(np.searchsorted(accesses, step, side="right")) - 1
        while place >= 0:
            at = int(accesses[place])
            if self._space(at) == space:
                return self._trace.access(at)
            place -= 1
        return None

    def read_by(
        self, name: str, thread: int | range, step: int, *, only_copies: bool = False
    ) -> Ints:
        """Flat elements of global array `name` that a thread has read up to `step`, each once.

        Or that any of several threads has, which follow each other. Read directly, or through
        shared memory where the copy came from (see `read_through`).
        """
        self._scan(step)
        kinds = (self._through_shared,) if only_copies else (self._loads, self._through_shared)
        who = thread if isinstance(thread, range) else range(thread, thread + 1)
        found = [loads[name].of_threads(who, step) for loads in kinds if name in loads]
        return np.unique(np.concatenate(found)) if found else EMPTY

    def read_through(self, name: str, step: int) -> Ints:
        """For each thread, the elements of global `name` whose copies in shared memory it loads.

        int64[k, threads], -1 where there is none; k is 0 or the elements that each thread loads at
        this step. A thread's copy is known by its value: it stores to shared memory the very value
        that one of its latest loads from global memory gave it.
        """
        self._scan(step)
        loads = self._through_shared.get(name)
        if loads is None:
            return np.empty((0, 0), np.int64)
        return loads.rows(loads.upto(step - 1), loads.upto(step)).astype(np.int64)

    def latest_read(self, name: str, thread: int, step: int) -> int:
        """The element of global `name` that a thread read last up to `step`, -1 for none.

        Of an access that it takes no part in, the one of the first thread that does.
        """
        self._scan(step)
        latest, found = -1, -1
        for kinds in (self._loads, self._through_shared):
            loads = kinds.get(name)
            count = loads.upto(step) if loads is not None else 0
            if loads is None or not count or int(loads.steps[count - 1]) <= latest:
                continue
            row = loads.rows(count - 1, count)[0]
            taking = np.flatnonzero(row >= 0)
            if len(taking):
                latest = int(loads.steps[count - 1])
                found = int(row[thread] if row[thread] >= 0 else row[taking[0]])
        return found

    def loads_of(self, name: str, flat: int, step: int) -> list[tuple[int, Ints]]:
        """The steps up to `step` that load an element of global `name`, each with its threads."""
        self._scan(step)
        return self._loads[name].of_element(flat, step) if name in self._loads else []

    def copies_read(self, name: str, flat: int, step: int) -> int:
        """How many lanes have loaded a copy of that element from shared memory up to `step`."""
        self._scan(step)
        loads = self._through_shared.get(name)
        found = loads.of_element(flat, step) if loads is not None else []
        return sum(len(threads) for _, threads in found)

    def loaded(self, name: str, step: int) -> tuple[Ints, Ints]:
        """The elements of global `name` loaded up to `step`, ascending, and by how many lanes."""
        self._scan(step)
        loads = self._loads.get(name)
        if loads is None:
            return EMPTY, EMPTY
        tally = self._tallies.setdefault(name, _Tally())
        tally.move(loads, loads.upto(step))
        return tally.loaded

    def times_loaded(self, name: str, flat: int, step: int) -> int:
        """How many lanes have loaded one element of global `name` up to `step`."""
        flats, times = self.loaded(name, step)
        place = int(np.searchsorted(flats, flat))
        return int(times[place]) if place < len(flats) and flats[place] == flat else 0

    def stored(self, name: str) -> tuple[Ints, Ints, Ints]:
        """What the block stores to global array `name`, over its whole record.

        Returns flat elements (sorted, each once), the thread that stored each last, and the step
        of its first store.
        """
        if name not in self._stored:
            self._stored[name] = self._collect_stores(name)
        return self._stored[name]

    def value_stored(self, name: str, step: int) -> tuple[Ints, NDArray[np.generic]]:
        """Elements of global `name` that the block has stored up to `step`, with their values.

        In the order of the stores: an element stored twice is there twice.
        """
        upto = [w for w in self._writes_to(name) if w.step <= step]
        if not upto:
            return EMPTY, np.empty(0, np.float32)
        return np.concatenate([w.flats for w in upto]), np.concatenate([w.values for w in upto])

    def loaded_in_phase(self, phase: int) -> dict[str, list[Ints]]:
        """What the block loads from each global array in a whole phase, or `BEFORE` them.

        One array of flat elements (each once) for each load instruction.
        """
        if phase not in self._phase_loads:
            first, last = self.bounds_of(phase)
            self._scan(last)
            result: dict[str, list[Ints]] = {}
            for name, loads in self._loads.items():
                parts: dict[int, list[NDArray[np.int32]]] = {}
                places = range(loads.upto(first - 1), loads.upto(last))
                for place, row in zip(places, loads.rows(places.start, places.stop), strict=True):
                    pc = int(self._trace.pc[loads.steps[place]])
                    parts.setdefault(pc, []).append(row)
                found = (np.unique(np.concatenate(rows)) for rows in parts.values())
                result[name] = [flats[flats >= 0].astype(np.int64) for flats in found]
            self._phase_loads[phase] = result
        return self._phase_loads[phase]

    def bounds_of(self, phase: int) -> tuple[int, int]:
        """The first and the last step of a phase; an empty span where the phase does not exist."""
        phases = self._trace.phases
        if phase == BEFORE and phases:
            return 0, phases[0].first - 1
        return next(((p.first, p.last) for p in phases if p.index == phase), (0, -1))

    def read_all(self) -> None:
        """Read the whole record, 30 µs an access: a jump to its end then need not."""
        if len(self._visible):
            self._scan(int(self._visible[-1]))

    def _space(self, step: int) -> str:
        if step not in self._spaces:
            access = self._trace.access(step)
            self._spaces[step] = access.space if access is not None else ""
        return self._spaces[step]

    def _scan(self, step: int) -> None:
        end = int(np.searchsorted(self._visible, step, side="right"))
        for at in self._visible[self._scanned : end]:
            self._keep_for_products(int(at))
            access: Any = self._trace.access(int(at))
            if access is None:
                continue
            self._spaces[int(at)] = access.space
            if self._landed is not None:
                for places in self._landed.come(int(at)):
                    self._changed |= self._origins.forget(places)
            if access.array is not None:
                for part in parts_of(access, access.array.dtype):
                    self._note(int(at), access, part)
        self._scanned = max(self._scanned, end)
        self._keep_for_products(step + 1)

    def _keep_for_products(self, step: int) -> None:
        """Keep what products before a step find in shared memory, once where it is the same."""
        while len(self._at_products) < len(self._products):
            when = self._products[len(self._at_products)]
            if when >= step:
                return
            if self._changed:
                self._last, self._changed = self._origins.copy(), False
            self._at_products[when] = self._last

    def multiplied(self, name: str, places: Ints, step: int) -> Ints:
        """The elements of global `name` that threads copied to bytes which a product reads."""
        self._scan(step)
        return self._at_products[step].at_bytes(name, places)

    def _note(self, step: int, access: Access, part: Part) -> None:
        """One part of an access, for the answers that go along with the clock."""
        assert access.array is not None
        name = access.array.name
        if access.space == "global" and access.kind == "load":
            self._loads.setdefault(name, _Loads()).add(step, part.elements)
            self._origins.loaded(name, part, step)
        elif access.space == "shared" and access.kind == "store":
            self._origins.stored(access.array, part)
            self._changed = True
            if self._landed is not None and isinstance(access.array, SharedArray):
                cells, size = part.elements[part.elements >= 0], access.array.dtype.itemsize
                places = (access.array.offset + cells * size)[:, None] + np.arange(size)
                self._landed.forget(places.reshape(-1))
        elif access.space == "shared":
            sources = self._origins.read(name, part)
            if self._landed is not None and isinstance(access.array, SharedArray):
                sources += self._landed.read(access.array, part)
            for source, elements in sources:
                self._through_shared.setdefault(source, _Loads()).add(step, elements)

    def _writes_to(self, name: str) -> list[_Write]:
        if self._global_writes is None:
            found: dict[str, list[_Write]] = {}
            for at in self._writes:
                access: Any = self._trace.access(int(at))
                if is_global(access):
                    for part in parts_of(access, access.array.dtype):
                        live = np.flatnonzero(part.elements >= 0)
                        write = _Write(int(at), part.elements[live], live, part.values[live])
                        found.setdefault(access.array.name, []).append(write)
            self._global_writes = found
        return self._global_writes.get(name, [])

    def _collect_stores(self, name: str) -> tuple[Ints, Ints, Ints]:
        writes = self._writes_to(name)
        if not writes:
            return EMPTY, EMPTY, EMPTY
        flat = np.concatenate([w.flats for w in writes])
        thread = np.concatenate([w.threads for w in writes])
        step = np.concatenate([np.full(len(w.flats), w.step) for w in writes])
        unique, first = np.unique(flat, return_index=True)
        _, last = np.unique(flat[::-1], return_index=True)
        return unique, thread[::-1][last], step[first]


def is_global(access: Any) -> bool:
    """Whether an access (or None) is to a known array in global memory."""
    return access is not None and access.space == "global" and access.array is not None


@once_for_each
def history_of(block_trace: BlockTrace) -> History:
    """The one History of a record, made when first asked for and dropped with the record."""
    return History(block_trace)


# Bulk copies and products of warpgroups: boxes loaded, blocks multiplied.
#
# They make no access of their own in the record. The elements of a box are known from its copy, and
# what a product reads of an array is what copies or threads have brought to the shared memory that
# it reads.


def operations_at(block: BlockTrace, step: int) -> list[TransferEvent]:
    """The copies and products that the block begins at a step."""
    return [event for when, event in block.operations if when == step]


def boxes_between(block: BlockTrace, array: Array, first: int, last: int) -> list[Ints]:
    """The elements of an array that each copy loads which begins from a step to another."""
    return [
        flats
        for step, event in block.operations
        if first <= step <= last and event.kind == "load"
        if len(flats := _of_array(event.reads, array))
    ]


def _of_array(spans: Iterable[Span], array: Array) -> Ints:
    """The elements of an array in global memory that spans cover, each once."""
    found = [
        (s.place[:, None] + np.arange(0, s.width, array.dtype.itemsize)).reshape(-1)
        for s in spans
        if s.region.name == array.name and s.region.space == "global"
    ]
    return np.unique(np.concatenate(found) // array.dtype.itemsize) if found else EMPTY


def copied(events: Iterable[TransferEvent], array: Array) -> tuple[Ints, str]:
    """What copies load from an array or store there, and which: flat elements, each once."""
    loads = [_of_array(e.reads, array) for e in events if e.kind == "load"]
    stores = [_of_array(e.writes, array) for e in events if e.kind == "store"]
    both = [*loads, *stores]
    if not any(map(len, both)):
        return EMPTY, ""
    return np.unique(np.concatenate(both)), "load" if any(map(len, loads)) else "store"


def multiplied(block: BlockTrace, step: int, array: Array) -> Ints:
    """The elements whose copies the products of a step read: flat, each once."""
    products = [e for e in operations_at(block, step) if e.kind == "product"]
    if not products:
        return EMPTY
    owner = _copies(block, max(e.tick for e in products), array.name)
    first = block.place * block.shared_stride
    found = [EMPTY]
    for event in products:
        for span in event.reads:
            place = span.place - first
            place = place[(place >= 0) & (place < block.shared_stride)]
            every = (place[:, None] + np.arange(0, span.width, array.dtype.itemsize)).reshape(-1)
            found += [owner[every], history_of(block).multiplied(array.name, every, step)]
    flats = np.unique(np.concatenate(found))
    return flats[flats >= 0]


@last_for_each
def _copies(block: BlockTrace, tick: int, name: str) -> Ints:
    """For each byte of shared memory, the element of an array that a copy brought, -1 for none."""
    first, size = block.place * block.shared_stride, block.shared_stride
    owner = np.full(size, -1, np.int64)
    began = {event.number: event for event in block.record.transfers if event.kind != "product"}
    for landing in block.record.landings:
        if landing.tick > tick:
            break
        event = began[landing.number]
        (written,) = event.writes
        place = written.place - first
        if not len(place) or place.min() < 0 or place.max() >= size:
            continue
        pieces = (place[:, None] + np.arange(written.width)).reshape(-1)
        owner[pieces] = -1
        for source, places, offsets in _brought(event, place, written.width):
            if source == name:
                owner[places] = offsets // _itemsize(block, name)
    return owner


def _brought(event: TransferEvent, place: Ints, width: int) -> Iterator[tuple[str, Ints, Ints]]:
    """What a copy brings from global memory to pieces of `width` bytes at `place`.

    The array's name, bytes of shared memory, and from which byte of the array each comes. A box is
    copied element by element, of which only the first bytes are named, and plain bytes by pieces
    of 16.
    """
    for read in event.reads:
        if read.region.space != "global":
            continue
        numbers = np.arange(len(read.place)) if read.number is None else read.number
        inner = np.arange(width if read.number is None else 1)
        to = (place[numbers][:, None] + inner).reshape(-1)
        yield read.region.name, to, (read.place[:, None] + inner).reshape(-1)


def _itemsize(block: BlockTrace, name: str) -> int:
    array = block.array(name)
    return 1 if array is None else array.dtype.itemsize


def warps_of(block: BlockTrace, events: Iterable[TransferEvent]) -> tuple[int, ...]:
    """The warps that multiply, or whose lanes begin copies."""
    lanes = np.concatenate([e.lanes for e in events]) - block.lanes.start
    return tuple(np.unique(lanes // WARP).tolist())


def operations_words(block: BlockTrace, step: int, arrays: Iterable[Array]) -> str:
    """What the operations of a step do, as part of a sentence; empty where there are none."""
    events = operations_at(block, step)
    products = [e for e in events if e.kind == "product"]
    if products:
        parts = [(a, multiplied(block, step, a)) for a in arrays]
        what = listing([elements_name(a, flats) for a, flats in parts if len(flats)])
        warps = warps_of(block, products)
        who = f"warp{'s' * (len(warps) > 1)} {numbers_name(warps)}"
        said = f"{who} multipl{'y' if len(warps) > 1 else 'ies'} by wgmma"
        return f"{said}: {what}" if what else said
    verbs = {"load": "loads", "store": "stores"}
    found = [(array, *copied(events, array)) for array in arrays]
    moved = [f"{verbs[verb]} {elements_name(a, flats)}" for a, flats, verb in found if verb]
    return f"the copy engine {listing(moved)}" if moved else ""
