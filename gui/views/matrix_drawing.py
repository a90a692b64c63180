"""What the two drawings of the matrix canvas share: cells in pixels, values, outlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPainterPath

from gui.looks.theme import Theme
from gui.scenes.grids import EMPTY, Grid, Rect, bounding_box, rectangles
from gui.scenes.history import Ints
from gui.scenes.naming import decimals_of, value_text
from gui.scenes.session import Session
from gui.scenes.text import grouped, plural
from gui.views.matrix_layout import VALUE_WIDTH, MatrixLayout, Transform
from gui.views.painting import fill, frame, inset, pen
from gui.views.words import write

GRID_FROM = 6.0  # pixels a cell from which cells have hairlines between them
VALUE_HEIGHT = 12.0  # pixels a cell from which values are written, if it is wide enough
OUTLINE_FROM = 3.0  # pixels a cell from which single elements are outlined
SEAM_FROM = 12.0  # pixels that a slice or structure has from which lines stand between them
IMAGE_LIMIT = 4_000_000  # cells: a larger bounding box is drawn as rectangles
MOST_OUTLINES = 64  # frames drawn for one selection
TICK_ROOM = 34.0  # pixels between index labels
NAME_GAP = 18.0  # pixels between a name and the column numbers
BRIEF = 34.0  # pixels: in a narrower cell a value has a figure less


class MatrixDrawing:
    """Draws cells of the grids of one layout at one view."""

    def __init__(
        self,
        painter: QPainter,
        theme: Theme,
        layout: MatrixLayout,
        view: Transform,
        window: QRectF,
        session: Session,
    ) -> None:
        self.p, self.theme, self.layout, self.view = painter, theme, layout, view
        self.window, self.session = window, session
        self.scale, self.across = view.scale, view.across
        self.values_fit = self.across >= VALUE_WIDTH and self.scale >= VALUE_HEIGHT

    def _draw_cells_colored(self, grid: Grid, flats: Ints, colors: NDArray[np.uint8]) -> None:
        """Fill each element's cell with its colour (uint8[n, 4])."""
        self._draw_picture(grid, picture_of(grid, flats, colors))

    def _draw_picture(self, grid: Grid, picture: CellPicture) -> None:
        if picture.image is None:
            for color, rows, columns in picture.parts:
                self._fill_cells(grid, rows, columns, color)
            return
        smooth = self.scale < 1
        self.p.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
        self.p.drawImage(self.layout.rect(grid, self.view, picture.box, 1), picture.image)

    def _fill_cells(
        self, grid: Grid, rows: Ints, columns: Ints, color: QColor, least: float = 0.0
    ) -> None:
        self._fill_rectangles(grid, rectangles(rows, columns), color, least)

    def _fill_rectangles(
        self, grid: Grid, cells: Sequence[Rect], color: QColor, least: float = 0.0
    ) -> None:
        fill(self.p, [self.layout.rect(grid, self.view, r, least) for r in cells], color)

    def _draw_hairlines(self, grid: Grid) -> None:
        if self.scale < GRID_FROM:
            self._clear_gaps(grid)
            return
        first_row, first_column, rows, columns = self._visible(grid)
        box = self.layout.rect(grid, self.view, (first_row, first_column, rows, columns))
        origin = self.layout.origin(grid, self.view)
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self.p.setPen(pen(self.theme.color("grid"), 1))
        left, right, top, bottom = box.left(), box.right(), box.top(), box.bottom()
        down = np.rint(origin.y() + self.scale * (first_row + np.arange(rows + 1)))
        across = np.rint(origin.x() + self.across * (first_column + np.arange(columns + 1)))
        lines = [QLineF(left, y, right, y) for y in down.tolist()]
        lines += [QLineF(x, top, x, bottom) for x in across.tolist()]
        self.p.drawLines(lines)
        self._clear_gaps(grid)
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing, True)

    def _draw_seams(self, grid: Grid) -> None:
        """Lines between slices, or structures, that stand side by side."""
        if grid.plane is None:
            return
        high, wide = grid.pitch
        if wide * self.across < SEAM_FROM:
            return
        if any(grid.gap):
            frame(self.p, self._planes(grid), pen(self.theme.color("text_dim"), 1))
            return
        box, origin = self.layout.box(grid, self.view), self.layout.origin(grid, self.view)
        self.p.setPen(pen(self.theme.color("text_dim"), 1))
        for column in range(wide, grid.extent[1], wide):
            x = round(origin.x() + column * self.across)
            self.p.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
        for row in range(high, grid.extent[0] if high > 1 else 0, high):
            y = round(origin.y() + row * self.scale)
            self.p.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))

    def _planes(self, grid: Grid) -> list[QRectF]:
        """The slices in pixels, without what lies between them."""
        (high, wide), (down, across) = grid.plane or grid.extent, grid.pitch
        beside = grid.extent[1] // across
        places = (divmod(number, beside) for number in range(grid.size // (high * wide)))
        cells = ((row * down, column * across, high, wide) for row, column in places)
        return [self.layout.rect(grid, self.view, cell) for cell in cells]

    def _clear_gaps(self, grid: Grid) -> None:
        """What lies between slices is no part of the array."""
        if grid.plane is None or not any(grid.gap):
            return
        whole, slices = QPainterPath(), QPainterPath()
        whole.addRect(self.layout.box(grid, self.view))
        for rect in self._planes(grid):
            slices.addRect(rect)
        self.p.fillPath(whole - slices, self.theme.color("panel"))

    def _visible(self, grid: Grid) -> Rect:
        """The rectangle of cells that is in the window."""
        origin = self.layout.origin(grid, self.view)
        left = max(grid.left, int(-origin.x() // self.across))
        top = max(grid.top, int(-origin.y() // self.scale))
        right = int((self.window.width() - origin.x()) // self.across) + 1
        bottom = int((self.window.height() - origin.y()) // self.scale) + 1
        right = min(grid.left + grid.columns, right)
        bottom = min(grid.top + grid.rows, bottom)
        return top, left, max(0, bottom - top), max(0, right - left)

    def _seen(self, grid: Grid, flats: Ints) -> NDArray[np.bool_]:
        """Which elements are in the window: of many thousand only those are worth texts."""
        top, left, high, wide = self._visible(grid)
        rows, columns = grid.cells(flats)
        inside = (rows >= top) & (rows < top + high)
        return inside & (columns >= left) & (columns < left + wide)

    def _cells(self, grid: Grid, flats: Ints) -> list[QRectF]:
        """The cell of each element."""
        return self.layout.cell_rects(grid, self.view, *grid.cells(flats))

    def _initial(self, grid: Grid) -> NDArray[np.generic] | None:
        trace = self.session.trace
        if trace is None:
            return None
        for argument in trace.workload.launch.arrays:
            if argument.name == grid.array.name:
                return np.asarray(argument.data).ravel()
        return None

    def _write_values(
        self,
        grid: Grid,
        flats: Ints,
        values: NDArray[np.generic],
        color: QColor,
        *,
        slanted: bool = False,
        but: Ints = EMPTY,
    ) -> None:
        """Write each element's value into its cell, of those that are in sight.

        Elements in `but`, ascending, are left out, though they have a say in how many decimals
        there are.
        """
        seen = self._seen(grid, flats)
        font, digits = value_type(self.theme, self.across, self.scale)
        font.setItalic(slanted)
        decimals = decimals_of(values[seen], digits)
        if len(but):
            shown = np.flatnonzero(seen)
            place = np.minimum(np.searchsorted(but, flats[shown]), len(but) - 1)
            seen[shown[but[place] == flats[shown]]] = False
        words = [value_text(value, digits, decimals) for value in values[seen].tolist()]
        sides = self.layout.cell_sides(grid, self.view, *grid.cells(flats[seen]))
        write(self.p, sides, words, color, font)

    def _outline(self, grid: Grid, flats: Ints, name: str, width: float) -> None:
        """Frame elements (those that touch together) in the colour of a meaning."""
        rows, columns = grid.cells(flats)
        shown = (rows >= grid.top) & (rows < grid.top + grid.rows)
        shown &= (columns >= grid.left) & (columns < grid.left + grid.columns)
        cells = rectangles(rows[shown], columns[shown])[:MOST_OUTLINES]
        rects = [inset(self.layout.rect(grid, self.view, cell, 5), -0.5) for cell in cells]
        frame(self.p, rects, pen(self.theme.color("panel"), width + 2))
        frame(self.p, rects, pen(self.theme.color(name), width))


@dataclass(frozen=True)
class CellPicture:
    """Coloured cells as an image of a pixel each, or where that would be too large by colour."""

    box: Rect
    image: QImage | None
    parts: tuple[tuple[QColor, Ints, Ints], ...] = ()
    """Rows and columns of each colour's cells, without an image."""


def picture_of(grid: Grid, flats: Ints, colors: NDArray[np.uint8]) -> CellPicture:
    """The picture of elements (at least one) in colours (uint8[n, 4])."""
    box, (rows, columns) = bounding_box(grid, flats), grid.cells(flats)
    if box[2] * box[3] > IMAGE_LIMIT:
        different, place = np.unique(colors, axis=0, return_inverse=True)
        of_each = [np.flatnonzero(place.ravel() == i) for i in range(len(different))]
        named = [QColor.fromRgb(*color) for color in different.tolist()]
        parts = zip(named, of_each, strict=True)
        return CellPicture(box, None, tuple((c, rows[at], columns[at]) for c, at in parts))
    pixels = np.zeros((box[2], box[3], 4), np.uint8)
    pixels[rows - box[0], columns - box[1]] = colors
    image = QImage(pixels.data, box[3], box[2], box[3] * 4, QImage.Format.Format_RGBA8888)
    return CellPicture(box, image.copy())  # as the pixels go


def value_type(theme: Theme, wide: float, high: float) -> tuple[QFont, int]:
    """The type of values in cells of a size in pixels, and how many digits they have."""
    font, digits = theme.mono(), 2 if wide < BRIEF else 3
    metrics = QFontMetricsF(font)
    sample = metrics.horizontalAdvance("−0.00" if digits == 3 else "−0.0")
    fit = min(0.86 * wide / sample, high / metrics.height())
    font.setPointSizeF(min(theme.sizes.body, font.pointSizeF() * fit))
    return font, digits


def size_words(grid: Grid) -> str:
    """A grid's size as its title says it."""
    if len(grid.array.shape) == 1:
        return plural(grid.size, "element")
    if grid.plane is not None:
        return " × ".join(grouped(n) for n in grid.array.shape)
    return " × ".join(grouped(n) for n in grid.extent)


def title_widths(grid: Grid, theme: Theme) -> tuple[float, float]:
    """Pixels that a grid's name and its size take, the gap before the size included."""
    name = QFontMetricsF(theme.font("caption", bold=True)).horizontalAdvance(grid.label) + 2
    return name, QFontMetricsF(theme.font("small")).horizontalAdvance(size_words(grid)) + 8


def flat_of(grid: Grid, index: tuple[int, ...]) -> int:
    """The flat element at an index of the grid's array."""
    return int(np.ravel_multi_index(index, grid.array.shape))


def one_of(grid: Grid, index: tuple[int, ...]) -> Ints:
    """The flat element at an index, alone in an array."""
    return np.array([flat_of(grid, index)], np.int64)


def tick_step(room: float, scale: float) -> int:
    """The smallest power of two whose labels have `room` pixels each."""
    step = 1
    while step * scale < room:
        step *= 2
    return step
