"""What the matrix canvas shows: the arrays as grids, who owns what, and what a step touches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gui.scenes.history import LOAD, STORE, History, Ints, history_of, is_global
from gui.scenes.naming import elements_name
from gui.scenes.text import capital, plural

if TYPE_CHECKING:
    from core.trace import Access, Array, BlockTrace, Trace

WRAP_BYTES = 128  # a 1-D array is wrapped at a whole number of these: rows are cache lines

Rect = tuple[int, int, int, int]
"""row, column, rows, columns"""


@dataclass(frozen=True)
class Grid:
    """One array drawn as rows and columns of cells, at a place among the others.

    `transposed` grids show element [r, c] at row c, column r (Aᵀ above C = A Aᵀ). A window of
    `rows` by `columns` cells from (`top`, `left`) is shown; cells are numbered in the whole array.
    """

    array: Array
    label: str
    rows: int
    columns: int
    place: tuple[int, int]
    transposed: bool = False
    result: bool = False
    top: int = 0
    left: int = 0
    extent: tuple[int, int] = (0, 0)
    """Rows and columns of the whole array."""

    @property
    def whole(self) -> bool:
        """Whether all of the array is in the window."""
        return (self.rows, self.columns) == self.extent

    @property
    def size(self) -> int:
        """Number of elements; the last row of a wrapped 1-D array may be longer than they reach."""
        return int(np.prod(self.array.shape))

    def cells(self, flats: Ints) -> tuple[Ints, Ints]:
        """Rows and columns of flat elements."""
        width = self.extent[0] if self.transposed else self.extent[1]
        first, second = np.divmod(flats, width)
        return (second, first) if self.transposed else (first, second)

    def flat(self, row: int, column: int) -> int:
        """The flat element at a cell, -1 outside the array."""
        height, width = self.extent
        if not (0 <= row < height and 0 <= column < width):
            return -1
        flat = column * height + row if self.transposed else row * width + column
        return flat if flat < self.size else -1


def grids_of(trace: Trace) -> tuple[Grid, ...]:
    """A, B and C as the trace's MatrixLayout says; without one, each array below the last."""
    layout = trace.workload.layout
    arrays = {a.name: a for a in trace.arrays}
    if layout is None:
        return tuple(_plain(a, i, len(trace.arrays)) for i, a in enumerate(trace.arrays))
    left, top, result = (arrays[n] for n in (layout.left, layout.top, layout.result))
    turned = layout.top_transposed
    rows, columns = top.shape[::-1] if turned else top.shape
    name = f"{top.name}ᵀ" if turned else top.name
    return (
        Grid(left, left.name, *left.shape, (1, 0), extent=left.shape),
        Grid(top, name, rows, columns, (0, 1), transposed=turned, extent=(rows, columns)),
        Grid(result, result.name, *result.shape, (1, 1), result=True, extent=result.shape),
    )


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
    first, count = 0, 0
    tiles = history.loaded_in_phase(_latest_phase(block_trace, step))
    for grid, axis in ((left, 1), (top, 0)):
        for flats in tiles.get(grid.array.name, []):
            box = bounding_box(grid, flats)
            first, count = box[axis], max(count, box[axis + 2])
    depth = left.extent[1]
    width = min(depth, max(count, rows, columns))
    first = min(first // width * width, depth - 1)
    width = min(width, depth - first)
    return (
        replace(left, top=row, left=first, rows=rows, columns=width),
        replace(top, top=first, left=column, rows=width, columns=columns),
        replace(result, top=row, left=column, rows=rows, columns=columns),
    )


def _latest_phase(block_trace: BlockTrace, step: int) -> int:
    """The phase of a step, or the last one before it, or the first."""
    phases = np.asarray(block_trace.phase[: step + 1])
    inside = phases[phases >= 0]
    return int(inside[-1]) if len(inside) else 0 if len(block_trace.phases) else -1


def _plain(array: Array, place: int, count: int) -> Grid:
    shape, size = array.shape, int(np.prod(array.shape))
    if len(shape) >= 2:
        rows, columns = size // shape[-1], shape[-1]
    else:
        line = max(1, WRAP_BYTES // array.dtype.itemsize)
        columns = min(size, line)
        while size > columns and columns < 1.6 * count * -(-size // (2 * columns)):
            columns *= 2
        rows = -(-size // columns)
    written = array.role != "input"
    extent = (rows, columns)
    return Grid(array, array.name, rows, columns, (place, 0), result=written, extent=extent)


@dataclass(frozen=True)
class Owned:
    """The elements of a grid that one block stores, each with the thread that stores it."""

    block: int
    flats: Ints
    threads: Ints
    steps: Ints
    box: Rect
    full: bool
    """Whether the elements fill their bounding box."""


def owned_by(trace: Trace, grid: Grid, block: int) -> Owned | None:
    """What a recorded block stores to the grid's array; None if nothing."""
    flats, threads, steps = history_of(trace.block(block)).stored(grid.array.name)
    if not len(flats):
        return None
    box = bounding_box(grid, flats)
    return Owned(block, flats, threads, steps, box, box[2] * box[3] == len(flats))


def bounding_box(grid: Grid, flats: Ints) -> Rect:
    """The smallest rectangle of cells that holds the elements (at least one)."""
    rows, columns = grid.cells(flats)
    top, left = int(rows.min()), int(columns.min())
    return top, left, int(rows.max()) - top + 1, int(columns.max()) - left + 1


@dataclass(frozen=True)
class GridMarks:
    """What the current step does to one grid. Arrays are flat elements, each once."""

    lit: Ints
    through: Ints
    """Elements whose copies in shared memory are loaded at this step."""
    verb: str
    thread: Ints
    """Elements that the selected thread touches at this step."""
    trail: Ints
    """Elements that the selected thread has read up to this step."""
    tiles: tuple[Rect, ...]
    """Bounding box of what each instruction loads for the block in the current phase."""
    band: Rect | None
    """The selected thread's row of A or column of B."""
    written: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    values: NDArray[np.generic] = field(default_factory=lambda: np.empty(0, np.float32))


@dataclass(frozen=True)
class MatrixScene:
    """One step: marks for each grid, in the order of `grids_of`, and the caption."""

    caption: str
    marks: tuple[GridMarks, ...]
    phase: int
    own: Ints
    """Elements of the result that the selected thread stores in the whole record."""


EMPTY = np.empty(0, np.int64)


def matrix_scene(
    block_trace: BlockTrace, grids: tuple[Grid, ...], step: int, thread: int
) -> MatrixScene:
    """Work out the marks for one step and one selected thread."""
    access = block_trace.access(step)
    history = history_of(block_trace)
    own = _own(grids, history, thread)
    marks = tuple(_marks(block_trace, grid, grids, access, step, thread, own) for grid in grids)
    phase = int(block_trace.phase[step])
    return MatrixScene(_caption(block_trace, access, step), marks, phase, own)


def _marks(
    block_trace: BlockTrace,
    grid: Grid,
    grids: tuple[Grid, ...],
    access: Access | None,
    step: int,
    thread: int,
    own: Ints,
) -> GridMarks:
    history, name = history_of(block_trace), grid.array.name
    lit, touched, verb = EMPTY, EMPTY, ""
    if is_global(access) and access.array.name == name:  # type: ignore[union-attr]
        lit, touched, verb = _touched(access, thread)  # type: ignore[arg-type]
    through = history.read_through(name, step)
    if len(through):
        touched, verb = through[thread : thread + 1], "load"
    loaded = history.loaded_in_phase(int(block_trace.phase[step])).get(name, [])
    side = _side(grid, grids, history)
    written, values = history.value_stored(name, step) if grid.result else (EMPTY, EMPTY)
    return GridMarks(
        lit=_on_side(grid, side, lit),
        through=_on_side(grid, side, np.unique(through[through >= 0])),
        verb=verb,
        thread=_on_side(grid, side, touched[touched >= 0]),
        trail=_on_side(grid, side, history.read_by(name, thread, step)),
        tiles=tuple(
            bounding_box(grid, part)
            for part in (_on_side(grid, side, flats) for flats in loaded)
            if len(part)
        ),
        band=_band(grid, grids, own),
        written=written,
        values=values,
    )


def _side(grid: Grid, grids: tuple[Grid, ...], history: History) -> Rect | None:
    """For C = A Aᵀ, which shows one array twice: the cells of this grid that the block is about.

    The rows of A (the columns of Aᵀ) of the block's part of C; None where every cell counts.
    """
    if len(grids) != 3 or grid.result or grids[0].array is not grids[1].array:
        return None
    flats = history.stored(grids[2].array.name)[0]
    if not len(flats):
        return None
    top, left, rows, columns = bounding_box(grids[2], flats)
    if grid.transposed:
        return 0, left, grid.extent[0], columns
    return top, 0, rows, grid.extent[1]


def _on_side(grid: Grid, side: Rect | None, flats: Ints) -> Ints:
    if side is None or not len(flats):
        return flats
    rows, columns = grid.cells(flats)
    inside = (rows >= side[0]) & (rows < side[0] + side[2])
    return flats[inside & (columns >= side[1]) & (columns < side[1] + side[3])]


def _own(grids: tuple[Grid, ...], history: History, thread: int) -> Ints:
    for grid in grids:
        if grid.result:
            flats, threads, _ = history.stored(grid.array.name)
            if len(flats):
                return np.asarray(flats[threads == thread])
    return EMPTY


def _touched(access: Access, thread: int) -> tuple[Ints, Ints, str]:
    live = access.elements[access.active]
    own = access.elements[thread] if access.active[thread] else -1
    verb = "load" if access.kind == LOAD else "store"
    width = max(1, access.width // access.array.dtype.itemsize) if access.array else 1
    if width > 1:
        live = (live[:, None] + np.arange(width)).ravel()
    thread_cells = np.arange(own, own + width) if own >= 0 else EMPTY
    return np.unique(live[live >= 0]), thread_cells, verb


def _band(grid: Grid, grids: tuple[Grid, ...], own: Ints) -> Rect | None:
    """The row of A (left of C) or column of B (above C) that the thread's elements of C need."""
    if not len(own) or grid.place == (1, 1) or len(grids) != 3 or grids[2].place != (1, 1):
        return None
    top, left, height, width = bounding_box(grids[2], own)
    if grid.place == (1, 0):
        return top, 0, height, grid.extent[1]
    return 0, left, grid.extent[0], width


def _caption(block_trace: BlockTrace, access: Access | None, step: int) -> str:
    phase = int(block_trace.phase[step])
    where = f"Block ({block_trace.index.x}, {block_trace.index.y})"
    when = f", phase {phase} of {len(block_trace.phases)}" if phase >= 0 else ""
    if access is None or access.array is None:
        return f"{where}{when}: {_event(block_trace, step)}."
    lanes = int(np.count_nonzero(access.active))
    verb = {LOAD: "load", STORE: "store"}.get(int(access.kind), "update")
    verb += "s" if lanes == 1 else ""
    what = elements_name(access.array, access.elements)
    place = " in shared memory" if access.space == "shared" else ""
    idle = block_trace.n_threads - lanes
    guarded = f"; {plural(idle, 'thread')} masked off" if idle else ""
    return f"{where}{when}: {plural(lanes, 'thread')} {verb} {what}{place}{guarded}."


def _event(block_trace: BlockTrace, step: int) -> str:
    line = int(block_trace.line[step])
    names: Mapping[int, str] = {
        0: f"threads come to line {line}",
        4: "all threads of the block have met at the barrier",
        5: "threads are done",
    }
    return names.get(int(block_trace.kind[step]), capital(f"line {line}"))


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
