"""The grids of a launch: where each array lies, what part is shown, whose its cells are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gui.scenes.grid import EMPTY, Grid, Rect
from gui.scenes.history import Ints, history_of
from gui.scenes.products import product_of

if TYPE_CHECKING:
    from core.trace import Array, BlockTrace, Trace

WRAP_BYTES = 128  # a 1-D array is wrapped at a whole number of these: rows are cache lines
MOST_ROWS = 16  # structures below each other, a row each; more stand side by side, too

__all__ = [
    "EMPTY", "Grid", "Owned", "Rect", "bounding_box", "close_up", "grids_of", "owned_by",
    "rectangles", "shares_of",
]  # fmt: skip


def grids_of(trace: Trace) -> tuple[Grid, ...]:
    """A, B and C where the launch is a product of matrices; otherwise each array below the last."""
    layout = product_of(trace)
    arrays = {a.name: a for a in trace.arrays}
    if layout is None:
        return tuple(_plain(trace, a, i, len(trace.arrays)) for i, a in enumerate(trace.arrays))
    left, top, result = (arrays[n] for n in (layout.left, layout.top, layout.result))
    turned = layout.top_transposed
    name = f"{top.name}ᵀ" if turned else top.name
    return (
        _matrix(left, left.name, (1, 0)),
        _matrix(top, name, (0, 1), transposed=turned),
        _matrix(result, result.name, (1, 1), result=True),
    )


def _matrix(
    array: Array,
    label: str,
    place: tuple[int, int],
    *,
    transposed: bool = False,
    result: bool = False,
) -> Grid:
    rows, columns = array.shape[::-1] if transposed else array.shape
    extent = (rows, columns)
    return Grid(array, label, rows, columns, place, transposed, result, extent=extent)


def close_up(grids: tuple[Grid, ...], block_trace: BlockTrace, step: int) -> tuple[Grid, ...]:
    """The same grids cut down to the block's part of C and the k that its current phase loads.

    The window along k is as wide as a tile of the block, and at least as wide as its part of C, so
    that a kernel without tiles moves through it step by step. Unchanged where there is no C = A B.
    """
    if len(grids) != 3 or grids[2].place != (1, 1):
        return grids
    left, top, result = grids
    history = history_of(block_trace)
    flats = history.stored(result.array.name)[0]
    if not len(flats):
        return grids
    row, column, rows, columns = bounding_box(result, flats)
    depth = left.extent[1]
    first, wide = 0, max(rows, columns)
    for phase in (_latest_phase(block_trace, 0), _latest_phase(block_trace, step)):
        tiles = history.loaded_in_phase(phase)
        for grid, axis in ((left, 1), (top, 0)):
            for flats in tiles.get(grid.array.name, []):
                box = bounding_box(grid, flats)
                first, wide = box[axis], max(wide, box[axis + 2])
    width = min(wide, depth)
    first = min(first // width * width, depth - width)
    return (
        _window(left, row, first, rows, width, k_axis=1),
        _window(top, first, column, width, columns, k_axis=0),
        _window(result, row, column, rows, columns),
    )


def _window(grid: Grid, top: int, left: int, rows: int, columns: int, k_axis: int = -1) -> Grid:
    """The grid cut down; room for the overhang stays along k and where the array's edge shows."""
    down = grid.overhang[0] if k_axis == 0 or top + rows == grid.extent[0] else 0
    across = grid.overhang[1] if k_axis == 1 or left + columns == grid.extent[1] else 0
    before = (0 if top else grid.before[0], 0 if left else grid.before[1])
    part = replace(grid, top=top, left=left, rows=rows, columns=columns)
    return replace(part, overhang=(down, across), before=before)


def _latest_phase(block_trace: BlockTrace, step: int) -> int:
    """The phase of a step, or the last one before it, or the first."""
    phases = np.asarray(block_trace.phase[: step + 1])
    inside = phases[phases >= 0]
    return int(inside[-1]) if len(inside) else 0 if len(block_trace.phases) else -1


def _is_stored(trace: Trace, array: Array) -> bool:
    """Whether a launch writes to an array; of one that it might, whether the first block does."""
    if array.role != "inout":
        return array.role == "output"
    first = history_of(trace.block(trace.recorded_blocks[0]))
    candidates = [a.name for a in trace.arrays if a.role == "inout"]
    stored = [name for name in candidates if len(first.stored(name)[0])]
    return array.name in stored or not stored


def _plain(trace: Trace, array: Array, place: int, count: int) -> Grid:
    shape, size = array.shape, int(np.prod(array.shape))
    plane = _plane(array)
    if plane is not None:
        number = size // (plane[0] * plane[1])
        beside = _beside(number, *plane)
        rows, columns = -(-number // beside) * plane[0], beside * plane[1]
    elif len(shape) >= 2:
        rows, columns = size // shape[-1], shape[-1]
    else:
        line = max(1, WRAP_BYTES // array.dtype.itemsize)
        columns = min(size, line)
        while size > columns and columns < 1.6 * count * -(-size // (2 * columns)):
            columns *= 2
        rows = -(-size // columns)
    written, extent = _is_stored(trace, array), (rows, columns)
    return Grid(
        array, array.name, rows, columns, (place, 0), result=written, extent=extent, plane=plane
    )


def _plane(array: Array) -> tuple[int, int] | None:
    """What of an array stands side by side, so that it is no long strip; None for nothing."""
    shape = array.shape
    if len(shape) > 2 and math.prod(shape[:-2]) > 1:
        return shape[-2], shape[-1]
    structures = getattr(array, "fields", ()) and len(shape) == 2
    if structures and shape[0] > MOST_ROWS:
        return 1, shape[1]
    return None


def _beside(number: int, high: int, wide: int) -> int:
    """How many planes stand beside each other: about as many as make the whole square."""
    return min(number, max(1, round(math.sqrt(number * high / wide))))


@dataclass(frozen=True)
class Owned:
    """The elements of a grid that one block stores, each with the thread that stores it."""

    block: int
    array: str
    flats: Ints
    threads: Ints
    steps: Ints
    box: Rect
    full: bool
    """Whether the elements fill their bounding box."""

    def thread_of(self, flat: int) -> int | None:
        """The linear thread that stores an element, None where this block stores another."""
        at = int(self.flats.searchsorted(flat))
        mine = at < len(self.flats) and self.flats[at] == flat
        return int(self.threads[at]) if mine else None


def shares_of(owned: Iterable[Owned], grid: Grid) -> list[Owned]:
    """Those that are of one grid: a kernel may store several arrays."""
    return [share for share in owned if share.array == grid.array.name]


def owned_by(trace: Trace, grid: Grid, block: int) -> Owned | None:
    """What a recorded block stores to the grid's array; None if nothing."""
    flats, threads, steps = history_of(trace.block(block)).stored(grid.array.name)
    if not len(flats):
        return None
    box = bounding_box(grid, flats)
    full = box[2] * box[3] == len(flats)
    return Owned(block, grid.array.name, flats, threads, steps, box, full)


def bounding_box(grid: Grid, flats: Ints) -> Rect:
    """The smallest rectangle of cells that holds the elements (at least one)."""
    rows, columns = grid.cells(flats)
    top, left = int(rows.min()), int(columns.min())
    return top, left, int(rows.max()) - top + 1, int(columns.max()) - left + 1


def rectangles(rows: Ints, columns: Ints) -> list[Rect]:
    """Cover cells (each given once) with few rectangles: runs along rows, joined downwards."""
    if not len(rows):
        return []
    order = np.lexsort((columns, rows))
    r, c = rows[order], columns[order]
    breaks = np.flatnonzero((np.diff(r) != 0) | (np.diff(c) != 1)) + 1
    starts = np.concatenate([[0], breaks])
    ends = np.concatenate([breaks, [len(r)]]) - 1
    open_runs: dict[tuple[int, int], list[int]] = {}
    done: list[Rect] = []
    for row, left, right in zip(
        r[starts].tolist(), c[starts].tolist(), c[ends].tolist(), strict=True
    ):
        run = open_runs.get((left, right))
        if run is not None and run[1] == row - 1:
            run[1] = row
            continue
        if run is not None:
            done.append((run[0], left, run[1] - run[0] + 1, right - left + 1))
        open_runs[left, right] = [row, row]
    done += [(a, x, b - a + 1, y - x + 1) for (x, y), (a, b) in open_runs.items()]
    return done
