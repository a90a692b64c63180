"""Where grids lie in the canvas: one scale for all, gaps and margins in pixels.

Cells are square, unless wider ones let values be written that squares have no room for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFontMetricsF

from gui.looks.theme import Theme, current_theme
from gui.scenes.arrays_as_grids import Grid, Rect
from gui.scenes.numbers_and_sentences import grouped, plural
from gui.views.drawing_tools import Cells

MAX_CELL = 7.2  # pixels for each point of the theme's type
MIN_CELL = 0.02
TITLE_GAP = 12.0  # pixels between the title of an array and that of the next beside it
Grids = tuple[Grid, ...]
WHOLE_FROM = 12  # pixels: from here on a cell has a whole number of them
VALUE_WIDTH = 21.0  # pixels that a value of two figures needs across
READ_FROM = 23.0, 12.0  # pixels across and down, in 10 pt type, from which all values are read
SCROLLED_TO = 28.0, 14.0  # the cells of what scrolls because they would be smaller
LEAST_SIGHT = 1 / 3  # of the rows and columns that scroll; of more, the whole is shown instead
LARGE_TYPE = 1.5  # times 10 pt; the rest of the window grows with larger type: less is enough then
AMPLE_WIDTH = 4.4  # pixels a point beyond which a cell need not be wider than it is high
MOST_STRETCH = 2.4


def _largest_cell() -> float:
    """The height of a cell, in pixels, beyond which nothing would be gained."""
    return MAX_CELL * current_theme().sizes.body


def type_scale() -> float:
    """How large the theme's figures are, with 10 pt as 1."""
    return current_theme().sizes.mono / 10


@dataclass(frozen=True)
class Margins:
    """Room for labels around and between the grids, in pixels."""

    left: float
    top: float
    right: float
    bottom: float
    gap: float


@dataclass(frozen=True)
class Transform:
    """Cells to pixels: `scale` is a cell's height, `x` and `y` where the picture's corner lies.

    A cell is `stretch` times as wide as high.
    """

    scale: float
    x: float
    y: float
    stretch: float = 1.0

    @property
    def across(self) -> float:
        return self.scale * self.stretch


class MatrixLayout:
    """Grids in rows and columns as their `place` says, each as large as its largest grid."""

    def __init__(self, grids: tuple[Grid, ...], margins: Margins) -> None:
        self.grids, self.margins = grids, margins
        rows = 1 + max((g.place[0] for g in grids), default=0)
        columns = 1 + max((g.place[1] for g in grids), default=0)

        def most(axis: int, number: int, of: Callable[[Grid], float]) -> float:
            """Of the grids in a row (axis 0) or column, 0 where there are none."""
            return max((of(g) for g in grids if g.place[axis] == number), default=0)

        self._above = [most(0, r, lambda g: g.room_before[0]) for r in range(rows)]
        self._left = [most(1, c, lambda g: g.room_before[1]) for c in range(columns)]
        heights = [most(0, r, lambda g: g.rows + g.room[0]) for r in range(rows)]
        widths = [most(1, c, lambda g: g.columns + g.room[1]) for c in range(columns)]
        self._heights = [above + high for above, high in zip(self._above, heights, strict=True)]
        self._widths = [before + wide for before, wide in zip(self._left, widths, strict=True)]
        # Beside each other, each has room for its title: narrow ones would write over the next.
        beside = rows == 1 and columns > 1
        self._least = [most(1, c, _title_width) if beside else 0.0 for c in range(columns)]
        self._cells: dict[tuple[int, int], Cells] = {}
        self._cells_in: Transform | None = None

    def _across(self, column: int, cell: float) -> float:
        """A column's pixels where a cell is that wide."""
        return max(cell * self._widths[column], self._least[column])

    def extent(self, scale: float, stretch: float = 1.0) -> tuple[float, float]:
        m = self.margins
        width = m.left + m.right + m.gap * (len(self._widths) - 1)
        width += sum(self._across(c, scale * stretch) for c in range(len(self._widths)))
        height = m.top + m.bottom + m.gap * (len(self._heights) - 1) + scale * sum(self._heights)
        return width, height

    def fit(self, width: float, height: float) -> Transform:
        """The largest scale at which all grids are seen, and the picture centred."""
        fixed_y = self.extent(0.0)[1]
        down = max(1, sum(self._heights))
        room = self._cell_for(width)
        scale = max(min(room, (height - fixed_y) / down, _largest_cell()), MIN_CELL)
        if scale > WHOLE_FROM:
            scale = float(int(scale))
        stretch = _stretch(scale, room)
        used_x, used_y = self.extent(scale, stretch)
        x, y = max(0.0, (width - used_x) / 2), max(0.0, (height - used_y) / 2)
        return Transform(scale, x, y, stretch)

    def _cell_for(self, width: float) -> float:
        """The widest cell with which the picture is no wider than that."""
        m = self.margins
        room = width - m.left - m.right - m.gap * (len(self._widths) - 1)
        free = list(range(len(self._widths)))
        cell = 0.0
        while free:  # columns that their titles keep wider take no part in the division
            taken = sum(self._least[c] for c in range(len(self._widths)) if c not in free)
            cell = (room - taken) / max(1, sum(self._widths[c] for c in free))
            narrow = [c for c in free if cell * self._widths[c] < self._least[c]]
            if not narrow:
                break
            free = [c for c in free if c not in narrow]
        return cell

    def read_at(self, view: Transform) -> bool:
        """Whether values are read at a view in the theme's type."""
        wide, high = (int(side * type_scale()) for side in READ_FROM)
        return view.across >= wide and view.scale >= high

    def cells_in_sight(
        self, width: float, height: float, cell: tuple[float, float]
    ) -> tuple[int, int]:
        """How many columns and rows of cells of a size, in 10 pt type, there is room for."""
        fixed_x, fixed_y = self.extent(0.0)
        wide, high = (side * type_scale() for side in cell)
        return int((width - fixed_x) / wide), int((height - fixed_y) / high)

    def can_scroll(self, width: float, height: float) -> bool:
        """Whether enough would be in sight, counted in cells of 10 pt type: larger shows less."""
        fixed_x, fixed_y = (side / type_scale() for side in self.extent(0.0))
        across, down = (width - fixed_x) / SCROLLED_TO[0], (height - fixed_y) / SCROLLED_TO[1]
        wide, high = sum(self._widths), sum(self._heights)
        least = LEAST_SIGHT / max(type_scale() / LARGE_TYPE, 1.0)
        return across >= least * wide and down >= least * high

    def placed(
        self, place: tuple[int, int], cell: tuple[float, float], about: QPointF, like: Transform
    ) -> Transform:
        """The view with cells of the same size and a cell of the grid at `place` at a pixel."""
        grid = next(grid for grid in self.grids if grid.place == place)
        new = replace(like, x=0.0, y=0.0)
        cells = self.cells(grid, new)
        x, y = about.x() - cells.left, about.y() - cells.top
        return replace(new, x=x - cell[1] * new.across, y=y - cell[0] * new.scale)

    def cells(self, grid: Grid, view: Transform) -> Cells:
        """A grid's cells in pixels; cell (0, 0) may lie outside the grid's window."""
        if self._cells_in is not view:  # a frame asks hundreds of times, of one view
            self._cells_in, self._cells = view, {}
        if grid.place not in self._cells:
            m, (row, column) = self.margins, grid.place
            before = sum(self._across(c, view.across) for c in range(column))
            x = view.x + m.left + m.gap * column + before
            y = view.y + m.top + m.gap * row + view.scale * sum(self._heights[:row])
            x += (self._left[column] - grid.left) * view.across
            y += (self._above[row] - grid.top) * view.scale
            self._cells[grid.place] = Cells(x, y, view.across, view.scale)
        return self._cells[grid.place]

    def around(self, grid: Grid, view: Transform) -> QRectF:
        """The grid's window with the room before it: names and numbers stand outside of that."""
        (above, left), box = grid.room_before, self.box(grid, view)
        return box.adjusted(-left * view.across, -above * view.scale, 0, 0)

    def box(self, grid: Grid, view: Transform) -> QRectF:
        return self.rect(grid, view, (grid.top, grid.left, grid.rows, grid.columns))

    def rect(self, grid: Grid, view: Transform, cells: Rect, least: float = 0.0) -> QRectF:
        return self.cells(grid, view).rect(cells, least)

    def cell_at(self, grid: Grid, view: Transform, point: QPointF) -> tuple[int, int] | None:
        if not self.box(grid, view).contains(point):
            return None
        row, column = map(math.floor, self.cells(grid, view).at(point))
        row = min(max(row, grid.top), grid.top + grid.rows - 1)
        return row, min(max(column, grid.left), grid.left + grid.columns - 1)

    def zoomed(self, view: Transform, factor: float, about: QPointF, least: float) -> Transform:
        """The view scaled about a pixel that stays where it is, as nearly as the gaps allow."""
        scale = min(max(view.scale * factor, least), 1.5 * _largest_cell())
        grid, row, column = self.anchor(view, about)
        return self.placed(grid.place, (row, column), about, replace(view, scale=scale))

    def anchor(self, view: Transform, point: QPointF) -> tuple[Grid, float, float]:

        def distance(grid: Grid) -> float:
            box = self.box(grid, view)
            dx = max(box.left() - point.x(), 0.0, point.x() - box.right())
            dy = max(box.top() - point.y(), 0.0, point.y() - box.bottom())
            return dx + dy

        grid = min(self.grids, key=distance)
        return grid, *self.cells(grid, view).at(point)


def arranged(grids: tuple[Grid, ...], margins: Margins, width: float, height: float) -> Grids:
    """Arrays that form no product below each other, or beside each other where they are larger."""
    if len(grids) < 2 or {(1, 0), (0, 1), (1, 1)} <= {grid.place for grid in grids}:
        return grids
    below = tuple(replace(grid, place=(place, 0)) for place, grid in enumerate(grids))
    beside = tuple(replace(grid, place=(0, place)) for place, grid in enumerate(grids))

    def scale(found: Grids) -> float:
        layout = MatrixLayout(found, margins)
        fixed_y, used_y = layout.extent(0.0)[1], layout.extent(1.0)[1]
        return min(layout._cell_for(width), (height - fixed_y) / (used_y - fixed_y))

    # Titles take room too: where it is too little for them, the other way is better, if that fits.
    is_wide = MatrixLayout(beside, margins).extent(0.0)[0] > width
    if is_wide and MatrixLayout(below, margins).extent(0.0)[1] < height:
        return below
    return beside if scale(beside) > 1.05 * scale(below) else below


def size_words(grid: Grid) -> str:
    """A grid's size as its title says it."""
    if len(grid.array.shape) == 1:
        return plural(grid.size, "element")
    sides = grid.array.shape if grid.plane is not None else grid.extent
    return " × ".join(grouped(n) for n in sides)


def title_widths(grid: Grid, theme: Theme) -> tuple[float, float]:
    """Pixels that a grid's name and its size take, the gap before the size included."""
    name = QFontMetricsF(theme.font("caption", bold=True)).horizontalAdvance(grid.label) + 2
    return name, QFontMetricsF(theme.font("small")).horizontalAdvance(size_words(grid)) + 8


def _title_width(grid: Grid) -> float:
    """As many pixels as a grid's name and size take, with a gap to the next."""
    return sum(title_widths(grid, current_theme())) + TITLE_GAP


def _stretch(scale: float, room: float) -> float:
    """How much wider than high cells are: 1, unless `room` pixels across let values be written."""
    ample = AMPLE_WIDTH * current_theme().sizes.body
    wide = float(int(min(room, MOST_STRETCH * scale, ample)))
    return wide / scale if scale >= WHOLE_FROM and wide > max(scale, VALUE_WIDTH) else 1.0
