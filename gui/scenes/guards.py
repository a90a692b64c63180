"""Where the lanes that a bounds check masks off would have gone: cells outside the matrix.

A record says nothing of an address that was never used, but other things in it do, and each is
believed only where it gives the places of all active threads exactly:

- The masked-off threads store a zero to a tile in shared memory instead, and row and column follow
  from the tile's indices in a straight line.
- Row and column follow from threadIdx in a straight line (row = r0 + a x + b y + c z).
- In other accesses of the same instruction, where they were active, they stood in the same places
  to the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from core.trace import EventKind
from gui.scenes import faults
from gui.scenes.grids import EMPTY, Grid
from gui.scenes.guard_lines import Bools, Pattern, Slopes, along, fit
from gui.scenes.history import Ints, is_global
from gui.scenes.once import once_for_each
from gui.scenes.parts import elements_a_lane, parts_of

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace, Trace

Key = tuple[int, str, bool]  # an instruction, and a grid's array and whether it is transposed
LEARNT = 8  # accesses of an instruction in a block that a pattern is learnt from
LOOKED_AT = 64  # stores after a load among which the one of its values is looked for


class Guards:
    """Answers for one trace; what an instruction shows is kept for each grid.

    Get it with `guards_of`, which keeps one for each trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._first = trace.block(trace.recorded_blocks[0])
        self._last = trace.block(trace.recorded_blocks[-1])
        named = {f.block for f in trace.findings} & set(trace.recorded_blocks)
        blamed = {*named, trace.recorded_blocks[0], trace.recorded_blocks[-1]}
        self._blamed = [trace.block(block) for block in sorted(blamed)]
        self._slopes: dict[tuple[str, Key], Slopes | None] = {}
        self._patterns: dict[Key, Pattern] = {}
        self._overhangs: dict[tuple[str, bool], tuple[int, int]] = {}
        self._fault_reaches: dict[tuple[str, bool], tuple[int, int]] = {}

    def outside(
        self, block_trace: BlockTrace, grid: Grid, access: Access
    ) -> tuple[Ints, Ints] | None:
        """Rows and columns, outside the grid's array, of the threads masked off in an access.

        None where there are such threads and their places do not follow from the record.
        """
        if grid.plane is not None:  # beyond a slice lies the next one
            return EMPTY, EMPTY
        found = self.masked(block_trace, grid, access)
        if found is None or not len(found):
            return None if found is None else (EMPTY, EMPTY)
        wide = np.arange(elements_a_lane(access, grid.array.dtype.itemsize))
        if found.shape[1] == 1:
            flats = (found + wide).reshape(-1)
            return grid.cells(flats[flats >= grid.size])
        rows, columns = (a.reshape(-1) for a in _widened(found, wide, grid))
        beyond = (rows < 0) | (columns < 0) | (rows >= grid.extent[0]) | (columns >= grid.extent[1])
        return rows[beyond], columns[beyond]

    def masked(self, block_trace: BlockTrace, grid: Grid, access: Access) -> Ints | None:
        """The places of the threads masked off in an access, int64 (threads, axes).

        None where there are some and their places do not follow from the record.
        """
        live = _live(block_trace, access)
        away = idle(block_trace, access)
        if not away.any():
            return np.empty((0, 2), np.int64)
        if not len(live):
            return None
        cells = _places(grid, np.asarray(access.elements)[live])
        for way in (self._by_tile, self._by_threads, self._by_pattern):
            found = way(block_trace, grid, access, live, cells)
            if found is None:
                continue
            places, known = found
            if np.array_equal(places[live], cells) and known[away].any():
                return places[away & known]
        return None

    def overhang(self, grid: Grid) -> tuple[int, int]:
        """How many rows and columns beyond the array there is something to show."""
        down, across = zip(self.masked_reach(grid), self.fault_reach(grid), strict=True)
        return max(down), max(across)

    def masked_reach(self, grid: Grid) -> tuple[int, int]:
        """How many rows and columns the last block's masked-off threads reach beyond the array."""
        key = grid.array.name, grid.transposed
        if key not in self._overhangs:
            self._overhangs[key] = self._find_overhang(grid)
        return self._overhangs[key]

    def fault_reach(self, grid: Grid) -> tuple[int, int]:
        """How many rows and columns illegal accesses reach beyond the array.

        Those of the first and the last block and of the blocks that findings name.
        """
        key = grid.array.name, grid.transposed
        if key not in self._fault_reaches:
            down = across = 0
            for block in self._blamed:
                for step in block.illegal_steps[:LOOKED_AT].tolist():
                    access = block.access(step)
                    if access is not None and is_global(access) and access.array is grid.array:
                        found = _beyond(grid, *faults.places(grid, access))
                        down, across = max(down, found[0]), max(across, found[1])
            self._fault_reaches[key] = down, across
        return self._fault_reaches[key]

    def _find_overhang(self, grid: Grid) -> tuple[int, int]:
        down, across, block = 0, 0, self._last
        for step in _first_and_last_steps(block):
            access = block.access(step)
            if access is None or not is_global(access) or access.array is not grid.array:
                continue
            found = _beyond(grid, *(self.outside(block, grid, access) or (EMPTY, EMPTY)))
            down, across = max(down, found[0]), max(across, found[1])
        return down, across

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
        """The line of the same instruction in the first accesses that show it."""
        threads = self._first.threads.astype(np.int64)
        for other in _others(self._first, int(block.pc[access.step]), 4):
            live = _live(self._first, other)
            yield fit(threads, live, _places(grid, np.asarray(other.elements)[live]))

    def _by_tile(
        self, block: BlockTrace, grid: Grid, access: Access, live: Ints, cells: Ints
    ) -> tuple[Ints, Bools] | None:
        store = stored_after(block, access)
        if store is None or store.array is None:
            return None
        elements = np.asarray(store.elements)[: block.n_threads]
        known = elements >= 0
        shape = store.array.shape
        inputs = np.stack(np.unravel_index(np.maximum(elements, 0), shape), axis=1).astype(np.int64)
        inputs[~known] = inputs[int(live[0])]
        key = "tile", _key(block, grid, access)
        slopes = fit(inputs, live, cells)
        if slopes is None:
            slopes = self._slopes.get(key)
            if key not in self._slopes:
                slopes = self._slopes[key] = self._tile_line(block, grid, access)
        else:
            self._slopes[key] = slopes
        if slopes is None:
            return None
        return along(slopes, inputs, int(live[0]), cells[0]), known

    def _tile_line(self, block: BlockTrace, grid: Grid, access: Access) -> Slopes | None:
        """The line from tile to matrix in the first accesses of the instruction that show it."""
        for record in (self._first, block):
            for other in _others(record, int(block.pc[access.step]), 4):
                store, live = stored_after(record, other), _live(record, other)
                if store is None or store.array is None:
                    continue
                elements = np.maximum(np.asarray(store.elements)[: record.n_threads], 0)
                inputs = np.stack(np.unravel_index(elements, store.array.shape), axis=1)
                found = fit(
                    inputs.astype(np.int64), live, _places(grid, np.asarray(other.elements)[live])
                )
                if found is not None:
                    return found
        return None

    def _by_pattern(
        self, block: BlockTrace, grid: Grid, access: Access, live: Ints, cells: Ints
    ) -> tuple[Ints, Bools] | None:
        pattern = self._pattern(block, grid, access)
        places = pattern.places(live, cells)
        return None if places is None else (places, pattern.known)

    def _pattern(self, block: BlockTrace, grid: Grid, access: Access) -> Pattern:
        """What the first accesses of the instruction show, in the first block and in this one."""
        key = _key(block, grid, access)
        pattern = self._patterns.get(key)
        if pattern is None:
            axes = len(grid.array.shape[-2:])
            pattern = self._patterns[key] = Pattern.of(block.n_threads, axes)
        for record in (self._first, block):
            if record.block in pattern.seen:
                continue
            pattern.seen.add(record.block)
            for other in _others(record, key[0], LEARNT):
                live = _live(record, other)
                pattern.learn(live, _places(grid, np.asarray(other.elements)[live]))
        return pattern


@once_for_each
def guards_of(trace: Trace) -> Guards:
    """The one Guards of a trace, made when first asked for and dropped with the trace."""
    return Guards(trace)


def stored_after(block: BlockTrace, load: Access) -> Access | None:
    """The store to shared memory that follows a load before the next barrier and copies it.

    Every thread that loaded stores what it got (the first element of several), and those of the
    others that store there a zero. None where there is no such store.
    """
    if load.kind != "load" or load.array is None:
        return None
    live = _live(block, load)
    values = parts_of(load, load.array.dtype)[0].values[live]
    kinds = np.asarray(block.kind[load.step + 1 :])
    barriers = np.flatnonzero(kinds == EventKind.BARRIER)
    end = int(barriers[0]) if len(barriers) else len(kinds)
    for ahead in np.flatnonzero(kinds[:end] == EventKind.STORE)[:LOOKED_AT]:
        store = block.access(load.step + 1 + int(ahead))
        if store is None or store.space != "shared" or store.array is None:
            continue
        part = parts_of(store, store.array.dtype)[0]
        masked = np.ones(block.n_threads, bool)
        masked[live] = False
        masked &= part.elements[: block.n_threads] >= 0
        copied = (part.elements[live] >= 0).all() and np.array_equal(part.values[live], values)
        if copied and not part.values[: block.n_threads][masked].any():
            return store
    return None


def zero_filled(block_trace: BlockTrace, access: Access) -> bool:
    """Whether the threads masked off in a load store zero to shared memory in its place.

    That is what follows before the next barrier: one store for all of them, and every value zero.
    """
    masked = idle(block_trace, access)
    if access.kind != "load" or not masked.any():
        return False
    kinds = np.asarray(block_trace.kind[access.step + 1 :])
    barriers = np.flatnonzero(kinds == EventKind.BARRIER)
    end = int(barriers[0]) if len(barriers) else len(kinds)
    for ahead in np.flatnonzero(kinds[:end] == EventKind.STORE):
        store = block_trace.access(access.step + 1 + int(ahead))
        if store is None or store.space != "shared":
            continue
        if np.asarray(store.active)[: block_trace.n_threads][masked].all():
            return not np.asarray(store.values)[: block_trace.n_threads][masked].any()
    return False


def idle(block: BlockTrace, access: Access) -> Bools:
    """The threads that take no part in an access: neither served nor at fault."""
    n = block.n_threads
    return ~np.asarray(access.active)[:n] & ~np.asarray(access.faulty)[:n]


def _beyond(grid: Grid, rows: Ints, columns: Ints) -> tuple[int, int]:
    """How many rows and columns the furthest of some cells lie beyond the array."""
    if not len(rows):
        return 0, 0
    down, across = int(rows.max()) - grid.extent[0] + 1, int(columns.max()) - grid.extent[1] + 1
    return max(0, down), max(0, across)


def _key(block: BlockTrace, grid: Grid, access: Access) -> Key:
    return int(block.pc[access.step]), grid.array.name, grid.transposed


def _live(block: BlockTrace, access: Access) -> Ints:
    """The threads that take part in an access, ascending."""
    n = block.n_threads
    live = np.asarray(access.active)[:n] & (np.asarray(access.elements)[:n] >= 0)
    return np.flatnonzero(live)


def _others(block: BlockTrace, pc: int, most: int) -> Iterator[Access]:
    """The first accesses to global memory that an instruction makes in a block."""
    for step in np.flatnonzero(np.asarray(block.pc) == pc)[:most]:
        access = block.access(int(step))
        if access is not None and is_global(access):
            yield access


def _first_and_last_steps(block: BlockTrace) -> list[int]:
    """The steps at which each load or store is executed for the first and the last time."""
    kind, pc = np.asarray(block.kind), np.asarray(block.pc)
    steps = np.flatnonzero((kind == EventKind.LOAD) | (kind == EventKind.STORE))
    _, first = np.unique(pc[steps], return_index=True)
    _, last = np.unique(pc[steps][::-1], return_index=True)
    return [int(s) for s in np.unique([*steps[first], *steps[::-1][last]])]


def _widened(places: Ints, wide: Ints, grid: Grid) -> tuple[Ints, Ints]:
    """Rows and columns of all elements that lie in memory from each place on."""
    along_rows = wide if grid.transposed else np.zeros_like(wide)
    along_columns = np.zeros_like(wide) if grid.transposed else wide
    return places[:, :1] + along_rows, places[:, 1:] + along_columns


def _places(grid: Grid, flats: Ints) -> Ints:
    """Row and column of each element (n, 2); of a wrapped 1-D array its index (n, 1)."""
    if len(grid.array.shape) == 1:
        return np.asarray(flats)[:, None]
    return np.stack(grid.cells(flats), axis=1)
