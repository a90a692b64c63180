"""Illegal accesses in words, and where these and masked-off threads lie outside their arrays.

A thread at fault is not masked off: it made the access, to a place that is in no array (or that is
not aligned). The emulator goes on after it, which a GPU does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Ints
from core.trace import EventKind
from gui.scenes.arrays_as_grids import Grid
from gui.scenes.block_history import EMPTY, elements_a_lane, is_global, parts_of
from gui.scenes.cached_per_object import once_for_each
from gui.scenes.names_of_elements_and_threads import verb_of
from gui.scenes.numbers_and_sentences import plural

if TYPE_CHECKING:
    from core.trace import Access, Array, BlockTrace, SharedArray, Trace

FEW = 3  # elements that are named one by one


def faulty_cells(grid: Grid, access: Access) -> tuple[Ints, Ints]:
    """Rows and columns of what the threads at fault wanted; those of a matrix go on beyond it."""
    wanted = [access.wanted(int(t)) for t in np.flatnonzero(access.faulty)]
    first = np.array([w for w in wanted if w is not None], np.int64)
    if not len(first):
        return EMPTY, EMPTY
    wide = np.arange(elements_a_lane(access, grid.array.dtype.itemsize))
    flats = np.unique(first[:, None] + wide)
    if access.fault == "out_of_bounds":
        flats = flats[(flats < 0) | (flats >= grid.size)]
    return grid.cells(flats)


def faulty_name(access: Access, thread: int) -> str:
    """What a thread at fault wanted, in few characters: `B[9]`, `0x0`."""
    wanted = access.wanted(thread)
    if wanted is None or access.array is None:
        return f"0x{int(access.addresses[thread]):x}"
    return f"{access.array.name}[{wanted}]"


def fault_of_thread(access: Access, thread: int) -> str:
    """What a thread at fault does: `loads B[9], outside B (9 elements): a fault; …`."""
    instead = "nothing is stored" if access.kind == "store" else "the emulator gives 0"
    return f"{_does(access, 1)} {_what(access, [thread])}: a fault; {instead}"


def faults_in_words(access: Access, threads: Sequence[int], noun: str = "thread") -> str:
    """The same of several: `2 threads load B[9] and B[10], outside B (9 elements): a fault`."""
    count = len(threads)
    return f"{plural(count, noun)} {_does(access, count)} {_what(access, threads)}: a fault"


def at_fault(access: Access, first: int = 0, count: int | None = None) -> list[int]:
    """The threads at fault among `count` from `first` on, all of the block by default."""
    end = None if count is None else first + count
    return (np.flatnonzero(access.faulty[first:end]) + first).tolist()


def _does(access: Access, count: int) -> str:
    place = " to" if access.kind == "store" and access.fault == "out_of_bounds" else ""
    return f"{verb_of(access.kind, count)}{place}"


def _what(access: Access, threads: Sequence[int]) -> str:
    array = access.array
    if array is None:
        named = sorted({faulty_name(access, t) for t in threads})
        more = f" … {named[-1]}" if len(named) > 1 else ""
        where = "freed before" if access.fault == "use_after_free" else "in no array"
        return f"address {named[0]}{more}, {where}"
    wanted = np.unique([w for t in threads if (w := access.wanted(t)) is not None])
    if access.fault == "misaligned":
        return (
            f"{access.width} bytes at {_some(array.name, wanted)}, at no multiple of {access.width}"
        )
    size = array.nbytes // array.dtype.itemsize
    return f"{_some(array.name, wanted)}, outside {array.name} ({plural(size, 'element')})"


def _some(name: str, flats: Ints) -> str:
    """Flat elements in few words, as ranges where they are regular."""
    steps = np.unique(np.diff(flats))
    if len(flats) > 2 and len(steps) == 1:
        by = f" by {steps[0]}" if steps[0] > 1 else ""
        return f"{name}[{flats[0]}..{flats[-1]}{by}]"
    if len(flats) > FEW:
        return f"{len(flats)} elements from {name}[{flats[0]}] to [{flats[-1]}]"
    return " and ".join(f"{name}[{flat}]" for flat in flats.tolist())


# Places of threads that did not access memory, from the places of those that did.
#
# Places are integers (threads, axes): row and column, or the index into a 1-D array.


Bools = NDArray[np.bool_]
Slopes = NDArray[np.float64]
"""float64 (inputs, axes): how each axis of a place changes with each input."""


def fit(inputs: Ints, live: Ints, places: Ints) -> Slopes | None:
    """The straight line from inputs (threads, n) to the places (live, axes) of the live threads.

    None where there is none, or where the live threads do not say which of several it is: there
    must be one more of them than any places would fit.
    """
    varied = np.ptp(inputs, axis=0) > 0 if len(inputs) else np.zeros(0, bool)
    terms = np.column_stack([inputs[live][:, varied], np.ones(len(live))]).astype(np.float64)
    if len(live) <= terms.shape[1] or np.linalg.matrix_rank(terms) < terms.shape[1]:
        return None
    line, *_ = np.linalg.lstsq(terms, places.astype(np.float64), rcond=None)
    line = np.rint(line)
    if not np.array_equal(terms @ line, places):
        return None
    slopes = np.zeros((inputs.shape[1], places.shape[1]))
    slopes[varied] = line[:-1]
    return slopes


def along(slopes: Slopes, inputs: Ints, anchor: int, place: Ints) -> Ints:
    """Every thread's place on the line through the place of one of them, the anchor."""
    moved: Ints = np.rint(place + (inputs - inputs[anchor]) @ slopes).astype(np.int64)
    return moved


@dataclass
class _Pattern:
    """Where threads stand to each other in the accesses of one instruction, as far as was seen.

    `broken` when two accesses disagree: then nothing follows from one for another.
    """

    offsets: Ints
    known: Bools
    broken: bool = False
    seen: set[int] = field(default_factory=set)
    """The blocks that were learnt from."""

    @classmethod
    def of(cls, threads: int, axes: int) -> _Pattern:
        """One of which nothing is known."""
        return cls(np.zeros((threads, axes), np.int64), np.zeros(threads, bool))

    def learn(self, live: Ints, places: Ints) -> None:
        """Take in where the live threads (ascending) of one access stood."""
        if self.broken or not len(live):
            return
        common = self.known[live]
        if not common.any() and self.known.any():
            return  # no thread says how the two stand to each other
        shift = places[common] - self.offsets[live[common]] if common.any() else places[:1]
        if (shift != shift[0]).any():
            self.broken = True
            return
        self.offsets[live] = places - shift[0]
        self.known[live] = True

    def places(self, live: Ints, places: Ints) -> Ints | None:
        """Every thread's place, of those that are `known`; None where it does not follow."""
        common = self.known[live] if len(live) else np.zeros(0, bool)
        if self.broken or not common.any():
            return None
        shift = places[common] - self.offsets[live[common]]
        return None if (shift != shift[0]).any() else self.offsets + shift[0]

    def agrees(self, slopes: Slopes, inputs: Ints) -> bool:
        """Whether the known threads stand to each other as on a line."""
        known = np.flatnonzero(self.known)
        if self.broken or not len(known):
            return False
        line = along(slopes, inputs[known], 0, self.offsets[known[0]])
        return np.array_equal(line, self.offsets[known])


LANES_LOOKED_AT = 64  # stores after a load among which the one of its values is looked for


def served(block: BlockTrace, access: Access) -> Ints:
    """The threads that take part in an access, ascending."""
    n = block.n_threads
    part = np.asarray(access.active)[:n] & (np.asarray(access.elements)[:n] >= 0)
    return np.flatnonzero(part)


def _stored_after(block: BlockTrace, load: Access) -> Access | None:
    """The store to shared memory that follows a load before the next barrier and copies it.

    Every thread that loaded stores what it got (the first element of several), and those of the
    others that store there a zero. None where there is no such store.
    """
    if load.kind != "load" or load.array is None:
        return None
    mine = served(block, load)
    values = parts_of(load, load.array.dtype)[0].values[mine]
    for store in _shared_stores_after(block, load.step, LANES_LOOKED_AT):
        if store.array is None:
            continue
        part = parts_of(store, store.array.dtype)[0]
        masked = np.ones(block.n_threads, bool)
        masked[mine] = False
        masked &= part.elements[: block.n_threads] >= 0
        copied = (part.elements[mine] >= 0).all() and np.array_equal(part.values[mine], values)
        if copied and not part.values[: block.n_threads][masked].any():
            return store
    return None


def _shared_stores_after(block: BlockTrace, step: int, most: int | None = None) -> Iterator[Access]:
    """The stores to shared memory among the next stores, `most` at most, before a barrier."""
    kinds = np.asarray(block.kind[step + 1 :])
    barriers = np.flatnonzero(kinds == EventKind.BARRIER)
    end = int(barriers[0]) if len(barriers) else len(kinds)
    for ahead in np.flatnonzero(kinds[:end] == EventKind.STORE)[:most]:
        store = block.access(step + 1 + int(ahead))
        if store is not None and store.space == "shared":
            yield store


def zero_filled(block_trace: BlockTrace, access: Access) -> bool:
    """Whether the threads masked off in a load store zero to shared memory in its place.

    That is what follows before the next barrier: one store for all of them, and every value zero.
    """
    masked = idle(block_trace, access)
    if access.kind != "load" or not masked.any():
        return False
    for store in _shared_stores_after(block_trace, access.step):
        if np.asarray(store.active)[: block_trace.n_threads][masked].all():
            return not np.asarray(store.values)[: block_trace.n_threads][masked].any()
    return False


def idle(block: BlockTrace, access: Access) -> Bools:
    """The threads that take no part in an access: neither served nor at fault."""
    n = block.n_threads
    return ~np.asarray(access.active)[:n] & ~np.asarray(access.faulty)[:n]


# Where the lanes that a bounds check masks off would have gone: cells outside the matrix.
#
# A record says nothing of an address that was never used, but other things in it do, and each is
# believed only where it gives the places of all active threads exactly:
#
# - The masked-off threads store a zero to a tile in shared memory instead, and row and column
#   follow from the tile's indices in a straight line.
# - Row and column follow from threadIdx in a straight line (row = r0 + a x + b y + c z).
# - In other accesses of the same instruction, where they were active, they stood in the same places
#   to the others.


Key = tuple[int, str, bool]  # an instruction, and a grid's array and whether it is transposed
LEARNT = 8  # accesses of an instruction in a block that a pattern is learnt from


class Guards:
    """Answers for one trace; what an instruction shows is kept for each grid.

    Get it with `guards_of`, which keeps one for each trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._first = trace.block(trace.recorded_blocks[0])
        self._slopes: dict[tuple[str, Key], Slopes | None] = {}
        self._patterns: dict[Key, _Pattern] = {}

    def outside(
        self, block_trace: BlockTrace, grid: Grid, access: Access
    ) -> tuple[Ints, Ints] | None:
        """Rows and columns, outside the grid's array, of the threads masked off in an access.

        None where there are such threads and their places do not follow from the record.
        """
        found = self.beyond(block_trace, grid, access)
        return None if found is None else grid.cells_of(found)

    def beyond(self, block_trace: BlockTrace, grid: Grid, access: Access) -> Ints | None:
        """The same as places along the grid's `sides`: int64 (n, axes)."""
        found = self.masked(block_trace, grid, access)
        if found is None or not len(found):
            return None if found is None else np.empty((0, len(grid.sides)), np.int64)
        steps = np.zeros((elements_a_lane(access, grid.array.dtype.itemsize), found.shape[1]))
        steps[:, 0 if grid.transposed else -1] = np.arange(len(steps))
        every = (found[:, None] + steps.astype(np.int64)).reshape(-1, found.shape[1])
        return every[((every < 0) | (every >= grid.sides)).any(axis=1)]

    def masked(self, block_trace: BlockTrace, grid: Grid, access: Access) -> Ints | None:
        """The places of the threads masked off in an access, int64 (threads, axes).

        None where there are some and their places do not follow from the record.
        """
        live = served(block_trace, access)
        away = idle(block_trace, access)
        if not away.any():
            return np.empty((0, len(grid.sides)), np.int64)
        if not len(live):
            return None
        cells = grid.places(np.asarray(access.elements)[live])
        for way in (self._by_tile, self._by_threads, self._by_pattern):
            found = way(block_trace, grid, access, live, cells)
            if found is None:
                continue
            places, known = found
            if np.array_equal(places[live], cells) and known[away].any():
                return places[away & known]
        return None

    # ---- the ways to know

    def _by_threads(
        self, block: BlockTrace, grid: Grid, access: Access, live: Ints, cells: Ints
    ) -> tuple[Ints, Bools] | None:
        threads = block.threads.astype(np.int64)
        slopes = fit(threads, live, cells)
        key = "threads", _key(block, grid, access)
        if slopes is None and key not in self._slopes:
            self._slopes[key] = next(
                (found for found in self._elsewhere(grid, access, block) if found is not None), None
            )
        slopes = self._slopes[key] if slopes is None else slopes
        if slopes is None or not self._pattern(block, grid, access).agrees(slopes, threads):
            return None
        places = along(slopes, threads, int(live[0]), cells[0])
        return places, np.ones(len(threads), bool)

    def _elsewhere(self, grid: Grid, access: Access, block: BlockTrace) -> Iterator[Slopes | None]:
        threads = self._first.threads.astype(np.int64)
        for other in _others(self._first, int(block.pc[access.step]), 4):
            live = served(self._first, other)
            yield fit(threads, live, grid.places(np.asarray(other.elements)[live]))

    def _by_tile(
        self, block: BlockTrace, grid: Grid, access: Access, live: Ints, cells: Ints
    ) -> tuple[Ints, Bools] | None:
        store = _stored_after(block, access)
        if store is None or store.array is None:
            return None
        inputs, known = _tile_places(block, store, store.array)
        inputs[~known] = inputs[int(live[0])]
        key = "tile", _key(block, grid, access)
        slopes = fit(inputs, live, cells)
        if slopes is not None:
            self._slopes[key] = slopes
        elif key not in self._slopes:
            self._slopes[key] = self._tile_line(block, grid, access)
        slopes = self._slopes[key]
        if slopes is None:
            return None
        return along(slopes, inputs, int(live[0]), cells[0]), known

    def _tile_line(self, block: BlockTrace, grid: Grid, access: Access) -> Slopes | None:
        """The line from tile to matrix in the first accesses of the instruction that show it."""
        for record in (self._first, block):
            for other in _others(record, int(block.pc[access.step]), 4):
                store, live = _stored_after(record, other), served(record, other)
                if store is None or store.array is None:
                    continue
                inputs, _ = _tile_places(record, store, store.array)
                found = fit(inputs, live, grid.places(np.asarray(other.elements)[live]))
                if found is not None:
                    return found
        return None

    def _by_pattern(
        self, block: BlockTrace, grid: Grid, access: Access, live: Ints, cells: Ints
    ) -> tuple[Ints, Bools] | None:
        pattern = self._pattern(block, grid, access)
        places = pattern.places(live, cells)
        return None if places is None else (places, pattern.known)

    def _pattern(self, block: BlockTrace, grid: Grid, access: Access) -> _Pattern:
        """What the first accesses of the instruction show, in the first block and in this one."""
        key = _key(block, grid, access)
        pattern = self._patterns.get(key)
        if pattern is None:
            pattern = self._patterns[key] = _Pattern.of(block.n_threads, len(grid.sides))
        for record in (self._first, block):
            if record.block in pattern.seen:
                continue
            pattern.seen.add(record.block)
            for other in _others(record, key[0], LEARNT):
                live = served(record, other)
                pattern.learn(live, grid.places(np.asarray(other.elements)[live]))
        return pattern


guards_of = once_for_each(Guards)
"""The one Guards of a trace, made when first asked for and dropped with the trace."""


def _tile_places(block: BlockTrace, store: Access, tile: Array | SharedArray) -> tuple[Ints, Bools]:
    """Each thread's indices into the tile that it stores to, and whether it stores there."""
    elements = np.asarray(store.elements)[: block.n_threads]
    places = np.unravel_index(np.maximum(elements, 0), tile.shape)
    return np.stack(places, axis=1).astype(np.int64), elements >= 0


def _key(block: BlockTrace, grid: Grid, access: Access) -> Key:
    return int(block.pc[access.step]), grid.array.name, grid.transposed


def _others(block: BlockTrace, pc: int, most: int) -> Iterator[Access]:
    """The first accesses to global memory that an instruction makes in a block."""
    for step in np.flatnonzero(np.asarray(block.pc) == pc)[:most]:
        access = block.access(int(step))
        if access is not None and is_global(access):
            yield access


# The room that is made for what lies outside of an array.


LOOKED_AT = 64  # illegal accesses of a block that room is made for


class Reach(NamedTuple):
    """Rows below an array, columns right of it, rows above and columns left of it."""

    down: int = 0
    across: int = 0
    up: int = 0
    left: int = 0

    def __bool__(self) -> bool:
        return any(self)

    def __or__(self, other: Reach) -> Reach:
        """The further of the two on each side."""
        return Reach(*map(max, self, other))


class Reaches:
    """Answers for one trace, kept for each grid. Get it with `reaches_of`."""

    def __init__(self, trace: Trace) -> None:
        ends = {trace.recorded_blocks[0], trace.recorded_blocks[-1]}
        named = {f.block for f in trace.findings} & set(trace.recorded_blocks)
        self._guards = guards_of(trace)
        self._ends = [trace.block(block) for block in sorted(ends)]
        self._blamed = [trace.block(block) for block in sorted(ends | named)]
        self._known: dict[tuple[str, str, bool], Reach] = {}
        self._gaps: dict[str, tuple[int, int]] = {}

    def roomy(self, grid: Grid) -> Grid:
        """The grid with room for all that lies outside of its array."""
        gap = self._gap(grid)
        if any(gap):
            pitch = grid.pitch
            counts = grid.extent[0] // pitch[0], grid.extent[1] // pitch[1]
            extent = (counts[0] * (pitch[0] + gap[0]), counts[1] * (pitch[1] + gap[1]))
            grid = replace(grid, gap=gap, extent=extent, rows=extent[0], columns=extent[1])
        both = self.masked(grid) | self.faults(grid)
        return replace(grid, overhang=both[:2], before=both[2:])

    def masked(self, grid: Grid) -> Reach:
        """How far the first and the last block's masked-off threads reach beyond the array."""
        return self._reach("masked", grid)

    def faults(self, grid: Grid) -> Reach:
        """How far illegal accesses reach beyond the array.

        Those of the first and the last block and of the blocks that findings name.
        """
        return self._reach("faults", grid)

    def _reach(self, kind: str, grid: Grid) -> Reach:
        key = kind, grid.array.name, grid.transposed
        if key not in self._known:
            places = self._masked(grid) if kind == "masked" else self._at_fault(grid)
            found = Reach()
            for rows, columns in places:
                found |= _beyond(grid, rows, columns)
            self._known[key] = found
        return self._known[key]

    def _masked(self, grid: Grid) -> Iterator[tuple[Ints, Ints]]:
        for block, access in self._guarded(grid):
            places = self._guards.outside(block, grid, access)
            if places is not None:
                yield places

    def _at_fault(self, grid: Grid) -> Iterator[tuple[Ints, Ints]]:
        for block in self._blamed:
            for step in block.illegal_steps[:LOOKED_AT].tolist():
                access = block.access(step)
                if access is not None and is_global(access) and access.array is grid.array:
                    yield faulty_cells(grid, access)

    def _gap(self, grid: Grid) -> tuple[int, int]:
        """Rows and columns below and right of each slice where masked-off threads would go."""
        if grid.plane is None or grid.plane[0] == 1:
            return 0, 0
        if grid.array.name not in self._gaps:
            most = np.zeros(2, np.int64)
            for block, access in self._guarded(grid):
                places = self._guards.beyond(block, grid, access)
                if places is not None and len(places):
                    most = np.maximum(most, places[:, 1:].max(axis=0) + 1 - grid.plane)
            room = [max(2, side // 4) for side in grid.plane]
            down, across = np.minimum(most, room).tolist()
            self._gaps[grid.array.name] = down, across
        return self._gaps[grid.array.name]

    def _guarded(self, grid: Grid) -> Iterator[tuple[BlockTrace, Access]]:
        """The first and the last access of each instruction to the grid's array."""
        for block in self._ends:
            for step in _first_and_last_steps(block):
                access = block.access(step)
                if access is not None and is_global(access) and access.array is grid.array:
                    yield block, access


reaches_of = once_for_each(Reaches)
"""The one Reaches of a trace, made when first asked for and dropped with the trace."""


def _beyond(grid: Grid, rows: Ints, columns: Ints) -> Reach:
    """How many rows and columns the furthest of some cells lie outside the array."""
    if not len(rows):
        return Reach()
    down, across = int(rows.max()) - grid.extent[0] + 1, int(columns.max()) - grid.extent[1] + 1
    return Reach() | Reach(down, across, -int(rows.min()), -int(columns.min()))


def _first_and_last_steps(block: BlockTrace) -> list[int]:
    """The visible steps at which a load or store is executed for the first and the last time."""
    kind, pc = np.asarray(block.kind), np.asarray(block.pc)
    steps = np.flatnonzero((kind == EventKind.LOAD) | (kind == EventKind.STORE))
    _, first = np.unique(pc[steps], return_index=True)
    _, last = np.unique(pc[steps][::-1], return_index=True)
    ends = np.union1d(steps[first], steps[::-1][last])
    found: list[int] = np.intersect1d(ends, block.access_steps).tolist()
    return found
