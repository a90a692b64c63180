"""One array as a grid of rows and columns of cells. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gui.scenes.loads import Ints

if TYPE_CHECKING:
    from core.trace import Array

EMPTY = np.empty(0, np.int64)

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
