"""The grids of a launch: where each array lies, what part is shown, whose its cells are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.emulator.events import Ints
from gui.scenes.block_history import history_of
from gui.scenes.matrix_product import product_of

if TYPE_CHECKING:
    from core.trace import Array, BlockTrace, Trace


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
    overhang: tuple[int, int] = (0, 0)
    """Rows and columns beyond the array, below and to the right, with something to show."""
    before: tuple[int, int] = (0, 0)
    """The same before the array: above it and to its left."""
    plane: tuple[int, int] | None = None
    """Rows and columns of what stands side by side: a slice of three axes, or a structure."""
    gap: tuple[int, int] = (0, 0)
    """Rows and columns left free below and right of each slice, for what lies beyond it."""

    @property
    def room(self) -> tuple[int, int]:
        """Rows and columns of the overhang that room is left for.

        Further ones are told in words: a block much larger than the array would leave the array
        itself no room.
        """
        down, across = self.overhang
        return min(down, max(2, self.rows // 4)), min(across, max(2, self.columns // 4))

    @property
    def room_before(self) -> tuple[int, int]:
        """Rows and columns before the array that room is left for; further ones are told."""
        up, left = self.before
        return min(up, 2), min(left, 2)

    @property
    def drawn(self) -> tuple[int, ...]:
        """Rows and columns of the window, and of the room around it."""
        return self.rows, self.columns, *self.overhang, *self.before

    @property
    def pitch(self) -> tuple[int, int]:
        """Rows and columns from one plane to the next; of a matrix, all of them."""
        high, wide = self.plane or self.extent
        return high + self.gap[0], wide + self.gap[1]

    @property
    def sides(self) -> tuple[int, ...]:
        """The axes along which places are told: of a wrapped array one, of slices three."""
        if len(self.array.shape) == 1 or (self.plane is not None and self.plane[0] == 1):
            return (self.size,)
        if self.plane is not None:
            return (self.size // (self.plane[0] * self.plane[1]), *self.plane)
        return self.extent

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
        if self.plane is not None:
            number, inside = np.divmod(flats, self.plane[0] * self.plane[1])
            return self._in_planes(number, *np.divmod(inside, self.plane[1]))
        width = self.extent[0] if self.transposed else self.extent[1]
        first, second = np.divmod(flats, width)
        return (second, first) if self.transposed else (first, second)

    def places(self, flats: Ints) -> Ints:
        """Where elements are along each of `sides`: int64 (n, len(sides))."""
        if len(self.sides) == 1:
            return np.asarray(flats)[:, None]
        if self.plane is None:
            return np.stack(self.cells(flats), axis=1)
        return np.stack(np.unravel_index(flats, self.sides), axis=1).astype(np.int64)

    def cells_of(self, places: Ints) -> tuple[Ints, Ints]:
        """Rows and columns of places, which may lie beyond `sides`.

        Beyond a slice there are those of the gap, others are left out.
        """
        if len(self.sides) == 1:
            return self.cells(places[:, 0])
        if self.plane is None:
            return places[:, 0], places[:, 1]
        inside = ((places[:, 1:] >= 0) & (places[:, 1:] < self.pitch)).all(axis=1)
        number, row, column = places[inside].T
        return self._in_planes(number, row, column)

    def _in_planes(self, number: Ints, row: Ints, column: Ints) -> tuple[Ints, Ints]:
        high, wide = self.pitch
        down, across = np.divmod(number, self.extent[1] // wide)
        return down * high + row, across * wide + column

    def _flat(self, down: Ints, across: Ints) -> Ints:
        """The flat elements at rows and columns; too large where there is none."""
        height, width = self.extent
        if self.plane is not None:
            (high, wide), (down_by, across_by) = self.plane, self.pitch
            number = down // down_by * (width // across_by) + across // across_by
            row, column = down % down_by, across % across_by
            flats = (number * high + row) * wide + column
            return np.where((row < high) & (column < wide), flats, self.size)
        return across * height + down if self.transposed else down * width + across

    def flats(self, shown: Rect) -> Ints:
        """The flat elements of a rectangle of cells, row by row, of those that are elements."""
        top, left, rows, columns = shown
        down, across = np.mgrid[top : top + rows, left : left + columns].reshape(2, -1)
        height, width = self.extent
        flats = self._flat(down, across)
        return flats[(down < height) & (across < width) & (flats < self.size)]

    def flat(self, row: int, column: int) -> int:
        """The flat element at a cell, -1 outside the array."""
        height, width = self.extent
        if not (0 <= row < height and 0 <= column < width):
            return -1
        flat = int(self._flat(np.int64(row), np.int64(column)))  # type: ignore[arg-type]
        return flat if flat < self.size else -1

    def row_name(self, row: int) -> str:
        """What stands left of a row: its index, of a wrapped array that of its first element."""
        if len(self.array.shape) == 1:
            return str(row * self.extent[1])
        if self.plane is None:
            return str(row)
        (high, _), (by, wide) = self.plane, self.pitch
        if row % by >= high:
            return ""
        return str(row % by if high > 1 else row * (self.extent[1] // wide))

    def column_name(self, column: int) -> str:
        """What stands above a column: its index, in its slice; or the structure's field."""
        if self.plane is None:
            return str(column)
        inside = column % self.pitch[1]
        if inside >= self.plane[1]:
            return ""
        return self.array.fields[inside] if self.plane[0] == 1 else str(inside)


WRAP_BYTES = 128  # a 1-D array is wrapped at a whole number of these: rows are cache lines,
WRAP_ELEMENTS = 32  # or sectors where elements are small: a warp's are a row
MOST_ROWS = 16  # structures below each other, a row each; more stand side by side, too


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
    return Grid(array, label, rows, columns, place, transposed, result, extent=(rows, columns))


def is_product(grids: tuple[Grid, ...]) -> bool:
    """Whether they are A left of C and B above it."""
    return len(grids) == 3 and grids[2].place == (1, 1)


def close_up(grids: tuple[Grid, ...], block_trace: BlockTrace, step: int) -> tuple[Grid, ...]:
    """The same grids cut down to the block's part of C and the k that its current phase loads.

    The window along k is as wide as a tile of the block, and at least as wide as its part of C, so
    that a kernel without tiles moves through it step by step. Unchanged where there is no C = A B.
    """
    part = _part(grids, block_trace, step)
    if part is None:
        return grids
    row, column, rows, columns, first, wide = part
    depth = grids[0].extent[1]
    width = min(wide, depth)
    first = min(first // width * width, depth - width)
    return _windows(grids, (row, rows), (column, columns), (first, width))


def _part(
    grids: tuple[Grid, ...], block_trace: BlockTrace, step: int
) -> tuple[int, int, int, int, int, int] | None:
    """Of a product: row, column, rows and columns of the block's part of C, first k and its width.

    None where there is no product, or the block stores nothing.
    """
    if not is_product(grids):
        return None
    left, top, result = grids
    history = history_of(block_trace)
    flats = history.stored(result.array.name)[0]
    if not len(flats):
        return None
    row, column, rows, columns = bounding_box(result, flats)
    first, wide = 0, max(rows, columns)
    for phase in (_latest_phase(block_trace, 0), _latest_phase(block_trace, step)):
        tiles = history.loaded_in_phase(phase)
        for grid, axis in ((left, 1), (top, 0)):
            for flats in tiles.get(grid.array.name, []):
                box = bounding_box(grid, flats)
                first, wide = box[axis], max(wide, box[axis + 2])
    return row, column, rows, columns, first, wide


def scrolled(
    grids: tuple[Grid, ...], across: int, down: int, block_trace: BlockTrace, step: int, thread: int
) -> tuple[Grid, ...]:
    """The grids of a product cut down to `across` columns and `down` rows of cells in all.

    They scroll as one: rows of A with those of C, columns of B with those of C, and k. In sight is
    what the thread stores and what it read last. They move on by whole tiles and parts of blocks,
    so that what a step touches stays together, and the picture is a function of the step.
    """
    part = _part(grids, block_trace, step)
    left, top, result = grids
    high, wide, deep = left.rows, top.columns, left.columns
    across = max(across - left.room[1] - max(top.room[1], result.room[1]), 2)
    down = max(down - top.room[0] - max(left.room[0], result.room[0]), 2)
    k = max(1, min(deep, across // 2, down // 2))
    columns, rows = min(wide, across - k), min(high, down - k)
    k = max(1, min(deep, across - columns, down - rows))
    if (rows, columns, k) == (high, wide, deep):
        return grids
    row, column, part_rows, part_columns, tile, tile_wide = part or (0, 0, 1, 1, 0, 1)
    history = history_of(block_trace)
    flats, threads, _ = history.stored(result.array.name)
    mine = flats[threads == thread]
    if len(mine):
        row, column = (int(v[0]) for v in result.cells(mine))
    read = history.latest_read(left.array.name, thread, step)
    if read >= 0:
        tile = int(left.cells(np.array([read]))[1][0])
    return _windows(
        grids,
        _page(row, rows, part_rows, left.top, high),
        _page(column, columns, part_columns, top.left, wide),
        _page(tile, k, tile_wide, left.left, deep),
    )


def _page(at: int, size: int, unit: int, start: int, whole: int) -> tuple[int, int]:
    step = size // unit * unit if size >= unit else size
    first = (at - start) // step * step
    return start + max(0, min(first, whole - size)), size


Span = tuple[int, int]
"""First and number."""


def _windows(grids: tuple[Grid, ...], rows: Span, columns: Span, k: Span) -> tuple[Grid, ...]:
    left, top, result = grids
    return (
        _window(left, rows[0], k[0], rows[1], k[1], k_axis=1),
        _window(top, k[0], columns[0], k[1], columns[1], k_axis=0),
        _window(result, rows[0], columns[0], rows[1], columns[1]),
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
        as_a_square = max(1, round(math.sqrt(number * plane[0] / plane[1])))
        beside = min(number, as_a_square)
        rows, columns = -(-number // beside) * plane[0], beside * plane[1]
    elif len(shape) >= 2:
        rows, columns = size // shape[-1], shape[-1]
    else:
        line = max(1, WRAP_BYTES // array.dtype.itemsize)
        columns = min(size, line, WRAP_ELEMENTS)
        while size > columns and columns < 1.6 * count * -(-size // (2 * columns)):
            columns *= 2
        rows = -(-size // columns)
    written, extent = _is_stored(trace, array), (rows, columns)
    return Grid(
        array, array.name, rows, columns, (place, 0), result=written, extent=extent, plane=plane
    )


def _plane(array: Array) -> tuple[int, int] | None:
    """Rows and columns of the parts of an array that stand side by side; None to draw it whole."""
    shape = array.shape
    if len(shape) > 2 and math.prod(shape[:-2]) > 1:
        return shape[-2], shape[-1]
    structures = getattr(array, "fields", ()) and len(shape) == 2
    if structures and shape[0] > MOST_ROWS:
        return 1, shape[1]
    return None


@dataclass(frozen=True)
class Owned:
    """The elements of a grid that one block stores, each with the thread that stores it."""

    block: int
    array: str
    flats: Ints
    threads: Ints
    box: Rect

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
    flats, threads, _ = history_of(trace.block(block)).stored(grid.array.name)
    if not len(flats):
        return None
    return Owned(block, grid.array.name, flats, threads, bounding_box(grid, flats))


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
