"""Where the lanes that a bounds check masks off would have gone: cells outside the matrix.

A record says nothing of an address that was never used. But where a load or store takes row and
column from threadIdx in a straight line (row = r0 + a x + b y + c z), the active threads show
which line, exactly; the masked-off threads' places follow from it. No line, no places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.trace import EventKind
from gui.scenes.grids import EMPTY, Grid
from gui.scenes.history import Ints, is_global
from gui.scenes.once import once_for_each

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace, Trace

Slopes = NDArray[np.float64]
"""float64[3, 2]: how row and column (of a 1-D array the index, [3, 1]) change with x, y and z."""


class Guards:
    """Answers for one trace; the lines are kept for each instruction and grid.

    Get it with `guards_of`, which keeps one for each trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._first = trace.block(trace.recorded_blocks[0])
        self._last = trace.block(trace.recorded_blocks[-1])
        self._slopes: dict[tuple[int, str, bool], Slopes | None] = {}
        self._overhangs: dict[tuple[str, bool], tuple[int, int]] = {}

    def outside(self, block_trace: BlockTrace, grid: Grid, access: Access) -> tuple[Ints, Ints]:
        """Rows and columns, outside the grid's array, of the threads masked off in an access."""
        n_threads = block_trace.n_threads
        active = np.asarray(access.active)[:n_threads] & (access.elements[:n_threads] >= 0)
        if active.all() or not active.any():
            return EMPTY, EMPTY
        slopes = self._line(block_trace, grid, access)
        if slopes is None:
            return EMPTY, EMPTY
        threads = block_trace.threads.astype(np.float64)
        cells = _places(grid, access.elements[:n_threads])
        first = int(active.argmax())
        places = np.rint(cells[first] + (threads - threads[first]) @ slopes).astype(np.int64)
        if not np.array_equal(places[active], cells[active]):
            return EMPTY, EMPTY
        away = places[~active]
        if away.shape[1] == 1:
            flats = away[:, 0]
            return grid.cells(flats[flats >= grid.size])
        rows, columns = away.T
        beyond = (rows < 0) | (columns < 0) | (rows >= grid.extent[0]) | (columns >= grid.extent[1])
        return rows[beyond], columns[beyond]

    def overhang(self, grid: Grid) -> tuple[int, int]:
        """How many rows and columns the last block's masked-off threads reach beyond the array."""
        key = grid.array.name, grid.transposed
        if key not in self._overhangs:
            self._overhangs[key] = self._find_overhang(grid)
        return self._overhangs[key]

    def _find_overhang(self, grid: Grid) -> tuple[int, int]:
        down, across, block = 0, 0, self._last
        for step in _first_and_last_steps(block):
            access = block.access(step)
            if access is None or not is_global(access) or access.array is not grid.array:
                continue
            rows, columns = self.outside(block, grid, access)
            if len(rows):
                down = max(down, int(rows.max()) - grid.extent[0] + 1)
                across = max(across, int(columns.max()) - grid.extent[1] + 1)
        return down, across

    def _line(self, block_trace: BlockTrace, grid: Grid, access: Access) -> Slopes | None:
        key = (int(block_trace.pc[access.step]), grid.array.name, grid.transposed)
        if key not in self._slopes:
            found = _fit(block_trace, grid, access)
            self._slopes[key] = _fit_any(self._first, grid, key[0]) if found is None else found
        return self._slopes[key]


@once_for_each
def guards_of(trace: Trace) -> Guards:
    """The one Guards of a trace, made when first asked for and dropped with the trace."""
    return Guards(trace)


def zero_filled(block_trace: BlockTrace, access: Access) -> bool:
    """Whether the threads masked off in a load store zero to shared memory in its place.

    That is what follows before the next barrier: one store for all of them, and every value zero.
    """
    masked = ~np.asarray(access.active)[: block_trace.n_threads]
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


def _first_and_last_steps(block: BlockTrace) -> list[int]:
    """The steps at which each load or store is executed for the first and the last time."""
    kind, pc = np.asarray(block.kind), np.asarray(block.pc)
    steps = np.flatnonzero((kind == EventKind.LOAD) | (kind == EventKind.STORE))
    _, first = np.unique(pc[steps], return_index=True)
    _, last = np.unique(pc[steps][::-1], return_index=True)
    return [int(s) for s in np.unique([*steps[first], *steps[::-1][last]])]


def _fit_any(block: BlockTrace, grid: Grid, pc: int) -> Slopes | None:
    """The line of an instruction from the first of its accesses in a block that shows it."""
    for step in np.flatnonzero(np.asarray(block.pc) == pc)[:4]:
        access = block.access(int(step))
        if access is not None and is_global(access):
            found = _fit(block, grid, access)
            if found is not None:
                return found
    return None


def _fit(block_trace: BlockTrace, grid: Grid, access: Access) -> Slopes | None:
    """The line through the active threads' cells; None if there is none or not only one."""
    live = np.flatnonzero(access.elements[: block_trace.n_threads] >= 0)
    threads = block_trace.threads.astype(np.float64)
    spanned = np.ptp(threads[live], axis=0) > 0 if len(live) else np.zeros(3, bool)
    if not (spanned | (np.ptp(threads, axis=0) == 0)).all():
        return None
    cells = _places(grid, access.elements[live]).astype(np.float64)
    terms = np.column_stack([threads[live], np.ones(len(live))])
    line, *_ = np.linalg.lstsq(terms, cells, rcond=None)
    line = np.rint(line)
    return line[:3] if np.array_equal(terms @ line, cells) else None


def _places(grid: Grid, flats: Ints) -> Ints:
    """Row and column of each element (n, 2); of a wrapped 1-D array its index (n, 1)."""
    if len(grid.array.shape) == 1:
        return flats[:, None]
    return np.stack(grid.cells(flats), axis=1)
