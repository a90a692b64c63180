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

from gui.scenes.grids import Grid
from gui.scenes.guard_lines import Bools, Pattern, Slopes, along, fit
from gui.scenes.history import Ints, is_global
from gui.scenes.masked import idle, served, stored_after
from gui.scenes.once import once_for_each
from gui.scenes.parts import elements_a_lane

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace, Trace

Key = tuple[int, str, bool]  # an instruction, and a grid's array and whether it is transposed
LEARNT = 8  # accesses of an instruction in a block that a pattern is learnt from


class Guards:
    """Answers for one trace; what an instruction shows is kept for each grid.

    Get it with `guards_of`, which keeps one for each trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._first = trace.block(trace.recorded_blocks[0])
        self._slopes: dict[tuple[str, Key], Slopes | None] = {}
        self._patterns: dict[Key, Pattern] = {}

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
        """The line of the same instruction in the first accesses that show it."""
        threads = self._first.threads.astype(np.int64)
        for other in _others(self._first, int(block.pc[access.step]), 4):
            live = served(self._first, other)
            yield fit(threads, live, grid.places(np.asarray(other.elements)[live]))

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
                store, live = stored_after(record, other), served(record, other)
                if store is None or store.array is None:
                    continue
                elements = np.maximum(np.asarray(store.elements)[: record.n_threads], 0)
                inputs = np.stack(np.unravel_index(elements, store.array.shape), axis=1)
                found = fit(
                    inputs.astype(np.int64), live, grid.places(np.asarray(other.elements)[live])
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
            pattern = self._patterns[key] = Pattern.of(block.n_threads, len(grid.sides))
        for record in (self._first, block):
            if record.block in pattern.seen:
                continue
            pattern.seen.add(record.block)
            for other in _others(record, key[0], LEARNT):
                live = served(record, other)
                pattern.learn(live, grid.places(np.asarray(other.elements)[live]))
        return pattern


@once_for_each
def guards_of(trace: Trace) -> Guards:
    """The one Guards of a trace, made when first asked for and dropped with the trace."""
    return Guards(trace)


def _key(block: BlockTrace, grid: Grid, access: Access) -> Key:
    return int(block.pc[access.step]), grid.array.name, grid.transposed


def _others(block: BlockTrace, pc: int, most: int) -> Iterator[Access]:
    """The first accesses to global memory that an instruction makes in a block."""
    for step in np.flatnonzero(np.asarray(block.pc) == pc)[:most]:
        access = block.access(int(step))
        if access is not None and is_global(access):
            yield access
