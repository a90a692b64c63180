"""Where the threads that a bounds check masks off would have gone: cells outside the matrix.

A record says nothing of an address that was never used, but other things in it do, and each is
believed only where it gives the places of all active threads exactly:

- The masked-off threads store a zero to a tile in shared memory instead, and row and column
  follow from the tile's indices in a straight line.
- Row and column follow from threadIdx in a straight line (row = r0 + a x + b y + c z).
- In other accesses of the same instruction, where they were active, they stood in the same places
  to the others.

Places are integers (threads, axes): row and column, or the index into a 1-D array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Ints
from core.trace import EventKind
from gui.scenes.arrays_as_grids import Grid
from gui.scenes.cached_per_object import once_for_each
from gui.scenes.elements_of_accesses import elements_a_lane, is_global, parts_of

if TYPE_CHECKING:
    from core.trace import Access, Array, BlockTrace, SharedArray, Trace


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
