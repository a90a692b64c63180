"""What one block has done up to a step, worked out from its record and kept for the next question.

Everything here is a function of a `BlockTrace`. The record is read once, in order and only as far
as a question needs; each answer after that is a look-up.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Ints
from core.trace import Array, EventKind
from core.trace.access import SharedArray
from gui.scenes.bulk_copies import brought_by, landings, operations_at
from gui.scenes.cached_per_object import once_for_each
from gui.scenes.elements_of_accesses import EMPTY, Part, is_global, parts_of

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace


Rows = NDArray[np.int32]


class _Loads:
    """Loads of one global array's elements, in order: the step, and each thread's flat element."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self._rows: list[Rows] = []
        self._first_loads: tuple[tuple[range, int], Ints, Ints] | None = None
        """Of some threads, and so many accesses: each element once, with the step of its first."""
        self._counted: tuple[Ints, Rows, Ints] | None = None
        """Every element that was loaded, ascending; of each load, in order, which of these it is;
        and how many loads there are up to the end of each access."""

    def rows(self, first: int, last: int, threads: range | None = None) -> Rows:
        """A row for each access from `first` to before `last`, a column for each thread.

        Its element, -1 where it has none. `threads` asks for some that follow each other only.
        """
        columns = slice(None) if threads is None else slice(threads.start, threads.stop)
        rows = [row[columns] for row in self._rows[first:last]]
        return np.stack(rows) if rows else np.empty((0, 0), np.int32)

    def add(self, step: int, elements: NDArray[np.int64]) -> None:
        """One access; -1 where a thread takes no part."""
        self._rows.append(elements.astype(np.int32))
        self.steps.append(step)

    def upto(self, step: int) -> int:
        """How many accesses there are up to a step."""
        return bisect_right(self.steps, step)

    def of_threads(self, threads: range, step: int) -> Ints:
        """What threads that follow each other loaded up to `step`, each element once."""
        known = threads, len(self.steps)
        if self._first_loads is None or self._first_loads[0] != known:
            read = self.rows(0, len(self.steps), threads)
            live = read >= 0
            every, first = np.unique(read[live], return_index=True)
            steps = np.repeat(np.array(self.steps, np.int64), live.sum(axis=1))
            self._first_loads = known, every.astype(np.int64), steps[first]
        _, flats, since = self._first_loads
        return flats[since <= step]

    def counts(self, step: int) -> tuple[Ints, Ints]:
        """The elements that were loaded up to `step`, ascending, and how often each."""
        if self._counted is None or len(self._counted[2]) != len(self.steps):
            read = self.rows(0, len(self.steps))
            live = read >= 0
            every, which = np.unique(read[live], return_inverse=True)
            ends = np.cumsum(live.sum(axis=1))
            self._counted = every.astype(np.int64), which.astype(np.int32), ends
        flats, places, ends = self._counted
        count = self.upto(step)
        times = np.bincount(places[: ends[count - 1] if count else 0], minlength=len(flats))
        return flats[times > 0], times[times > 0]

    def of_element(self, flat: int, step: int) -> list[tuple[int, Ints]]:
        """The steps up to `step` that loaded an element, each once, with the threads that did."""
        places, threads = np.nonzero(self.rows(0, self.upto(step)) == flat)
        steps = np.array(self.steps, np.int64)[places]
        return [(int(at), np.unique(threads[steps == at])) for at in np.unique(steps)]


PIECE = 8  # elements, of which copies mostly keep the order: 16 bytes of F16
RECENT = 16  # loaded elements of a thread that a value stored to shared memory may have come from


class _Copies:
    """Which element of which global array each byte of the block's shared memory is a copy of."""

    def __init__(self) -> None:
        self._recent: list[tuple[int, int, Part]] = []
        self._names: list[str] = []
        self._which = np.empty(0, np.int16)  # of `_names`, -1 where it is no copy
        self._flats = np.empty(0, np.int32)

    def copy(self) -> _Copies:
        """As it is now, whatever is stored later."""
        other = _Copies()
        other._names = list(self._names)
        other._which, other._flats = self._which.copy(), self._flats.copy()
        return other

    def at_bytes(self, name: str, places: Ints) -> Ints:
        """The elements of global `name` whose copies lie at bytes of the block's shared memory."""
        if name not in self._names:
            return EMPTY
        places = places[places < len(self._which)]
        mine = self._which[places] == self._names.index(name)
        return np.unique(self._flats[places[mine]]).astype(np.int64)

    def loaded(self, name: str, part: Part, step: int) -> None:
        """A load from global memory: its values may be stored to shared memory next."""
        self._recent = [*self._recent[-RECENT + 1 :], (self._number(name), step, part)]

    def stored(self, array: Array | SharedArray, part: Part) -> None:
        """A store to shared memory: each lane's value is looked for in its latest loads.

        Numbers of 16 bits repeat within one load, so those at the same place in it come first.
        """
        live = np.flatnonzero(part.elements >= 0)
        cells, values = part.elements[live], part.values[live]
        places = _bytes_of(array, cells)
        self._put(places, -1, np.full(len(live), -1))
        open_lanes = np.ones(len(live), bool)

        def moves(load: Part) -> bool:
            flats = load.elements[live]
            return bool(((flats - cells)[flats >= 0] % PIECE).any())

        likely = sorted(self._recent, key=lambda r: (-r[1], moves(r[2])))
        for number, _, load in likely:
            same = open_lanes & (load.elements[live] >= 0) & (load.values[live] == values)
            self._put(places[same], number, load.elements[live[same]])
            open_lanes &= ~same
            if not open_lanes.any():
                break

    def landed(self, places: Ints, brought: Iterable[tuple[str, Ints, Ints]]) -> None:
        """A bulk copy has overwritten bytes, and brought elements of arrays to some of them."""
        self._put(places[:, None], -1, np.full(len(places), -1))
        for name, to, flats in brought:
            self._put(to[:, None], self._number(name), flats)

    def read(self, array: Array | SharedArray, part: Part) -> list[tuple[str, Ints]]:
        """A load from shared memory: for each global array, the element each thread gets."""
        live = part.elements >= 0
        places = _starts_of(array, np.where(live, part.elements, 0))
        self._make_room(places)
        found = []
        for number, source in enumerate(self._names):
            mine = live & (self._which[places] == number)
            if mine.any():
                found.append((source, np.where(mine, self._flats[places], -1).astype(np.int64)))
        return found

    def _number(self, name: str) -> int:
        if name not in self._names:
            self._names.append(name)
        return self._names.index(name)

    def _put(self, places: Ints, number: int, flats: Ints) -> None:
        """Have bytes, a row for each element, hold copies of elements of an array."""
        self._make_room(places)
        self._which[places] = number
        self._flats[places] = flats[:, None]

    def _make_room(self, places: Ints) -> None:
        missing = int(places.max(initial=-1)) + 1 - len(self._which)
        if missing > 0:
            self._which = np.pad(self._which, (0, missing), constant_values=-1)
            self._flats = np.pad(self._flats, (0, missing), constant_values=-1)


def _starts_of(array: Array | SharedArray, cells: Ints) -> Ints:
    """The first byte of shared memory of each of an array's elements."""
    return np.asarray(getattr(array, "offset", 0) + cells * array.dtype.itemsize)


def _bytes_of(array: Array | SharedArray, cells: Ints) -> Ints:
    """The bytes of shared memory that elements of an array take, a row each."""
    return _starts_of(array, cells)[:, None] + np.arange(array.dtype.itemsize)


BEFORE = -2
"""In place of a phase: all that comes before the first one."""

_LOAD, _STORE, _ATOMIC = EventKind.LOAD, EventKind.STORE, EventKind.ATOMIC


@dataclass(frozen=True)
class _Writes:
    """Stores and atomics to a global array in their order: an entry for each lane of each."""

    flats: Ints
    threads: Ints
    values: NDArray[np.generic]
    steps: Ints


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
        self._copies = _Copies()
        bulk = any("async" in one.modifiers for one in block_trace.instructions)
        landed = landings(block_trace) if bulk else []
        came = [(block_trace.step_at(tick - 1) + 1, event) for tick, event in landed]
        self._coming = sorted(came, key=lambda one: one[0], reverse=True)
        """Bulk copies that land later, the next one last: each with the step from which the record
        has its bytes in shared memory."""
        self._scanned = 0
        products = [when for when, event in block_trace.operations if event.kind == "product"]
        self._products = sorted(set(products))
        self._at_products: dict[int, _Copies] = {}
        self._changed = True  # since the last of them
        self._global_writes: dict[str, _Writes] | None = None
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
        self.read_all()
        return self._loads[name].counts(step) if name in self._loads else (EMPTY, EMPTY)

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
        writes = self._writes_to(name)
        if writes is None:
            return EMPTY, np.empty(0, np.float32)
        upto = np.searchsorted(writes.steps, step, side="right")
        return writes.flats[:upto], writes.values[:upto]

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
            self._land(int(at))
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
            self._land(when)
            if self._changed:
                self._last, self._changed = self._copies.copy(), False
            self._at_products[when] = self._last

    def _land(self, step: int) -> None:
        """Take in the bulk copies that have landed up to a step."""
        while self._coming and self._coming[-1][0] <= step:
            self._copies.landed(*brought_by(self._trace, self._coming.pop()[1]))
            self._changed = True

    def multiplied(self, name: str, places: Ints, step: int) -> Ints:
        """The elements of global `name` that were copied to bytes which a product reads."""
        self._scan(step)
        return self._at_products[step].at_bytes(name, places)

    def _note(self, step: int, access: Access, part: Part) -> None:
        """One part of an access, for the answers that go along with the clock."""
        assert access.array is not None
        name = access.array.name
        if access.space == "global" and access.kind == "load":
            self._loads.setdefault(name, _Loads()).add(step, part.elements)
            self._copies.loaded(name, part, step)
        elif access.space == "shared" and access.kind == "store":
            self._copies.stored(access.array, part)
            self._changed = True
        elif access.space == "shared":
            for source, elements in self._copies.read(access.array, part):
                self._through_shared.setdefault(source, _Loads()).add(step, elements)

    def _writes_to(self, name: str) -> _Writes | None:
        if self._global_writes is None:
            found: dict[str, list[tuple[Ints, Ints, NDArray[Any], Ints]]] = {}
            for at in self._writes.tolist():
                access: Any = self._trace.access(at)
                if is_global(access):
                    for part in parts_of(access, access.array.dtype):
                        live = np.flatnonzero(part.elements >= 0)
                        write = part.elements[live], live, part.values[live], np.full(len(live), at)
                        found.setdefault(access.array.name, []).append(write)
            self._global_writes = {
                array: _Writes(*map(np.concatenate, zip(*writes, strict=True)))
                for array, writes in found.items()
            }
        return self._global_writes.get(name)

    def _collect_stores(self, name: str) -> tuple[Ints, Ints, Ints]:
        writes = self._writes_to(name)
        if writes is None:
            return EMPTY, EMPTY, EMPTY
        flats, first = np.unique(writes.flats, return_index=True)
        _, last = np.unique(writes.flats[::-1], return_index=True)
        return flats, writes.threads[::-1][last], writes.steps[first]


history_of = once_for_each(History)
"""The one History of a record, made when first asked for and dropped with the record."""


def multiplied(block: BlockTrace, step: int, array: Array) -> Ints:
    """The elements whose copies the products of a step read: flat, each once."""
    products = [e for e in operations_at(block, step) if e.kind == "product"]
    if not products:
        return EMPTY
    first = block.place * block.shared_stride
    found = [EMPTY]
    for event in products:
        for span in event.reads:
            place = span.place - first
            place = place[(place >= 0) & (place < block.shared_stride)]
            every = (place[:, None] + np.arange(0, span.width, array.dtype.itemsize)).reshape(-1)
            found.append(history_of(block).multiplied(array.name, every, step))
    return np.unique(np.concatenate(found))
