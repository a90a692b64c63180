"""Draws the matrix canvas: the ground that stays, a step's marks, and what lies outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPainterPath

from core.emulator.events import Ints
from core.launch import WARP
from core.wording import listing
from gui.looks.theme import FEW_THREADS, Theme
from gui.scenes.arrays_as_grids import Grid, Owned, Rect, bounding_box, rectangles, shares_of
from gui.scenes.block_history import history_of
from gui.scenes.elements_of_accesses import EMPTY, number_at
from gui.scenes.matrices import GridMarks, MatrixScene, heat_levels, touched_by
from gui.scenes.names_of_elements_and_threads import (
    block_name,
    element_name,
    elements_name,
    name_of_thread,
)
from gui.scenes.numbers_and_sentences import decimals_of, plural, value_text
from gui.scenes.room_beyond_arrays import reaches_of
from gui.scenes.session import Session
from gui.views.drawing_tools import (
    CENTRE,
    LEFT,
    RIGHT,
    Key,
    crossed_out,
    draw_cells,
    draw_legend,
    draw_legend_row,
    fill,
    frame,
    hatch,
    inset,
    pen,
    text,
    text_on,
    texts,
    upright_texts,
    write,
)
from gui.views.matrix_layout import VALUE_WIDTH, MatrixLayout, Transform, size_words, title_widths
from gui.views.question_in_views import draw_veil

GRID_FROM = 6.0  # pixels a cell from which cells have hairlines between them
VALUE_HEIGHT = 12.0  # pixels a cell from which values are written, if it is wide enough
OUTLINE_FROM = 3.0  # pixels a cell from which single elements are outlined
SEAM_FROM = 12.0  # pixels that a slice or structure has from which lines stand between them
IMAGE_LIMIT = 4_000_000  # cells: a larger bounding box is drawn as rectangles
MOST_OUTLINES = 64  # frames drawn for one selection
TICK_ROOM = 34.0  # pixels between index labels
NAME_GAP = 18.0  # pixels between a name and the column numbers
APART = 0.8  # of a cell's width, for a value: wider ones run together
BRIEF = 34.0  # pixels, in 10 pt type: in a narrower cell a value has a figure less


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

    def _draw_picture(self, grid: Grid, picture: CellPicture) -> None:
        if picture.image is None:
            for color, rows, columns in picture.parts:
                self._fill(grid, rectangles(rows, columns), color)
            return
        self.p.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self.scale < 1)
        draw_cells(self.p, self.layout.rect(grid, self.view, picture.box, 1), picture.image)

    def _fill(self, grid: Grid, cells: Sequence[Rect], color: QColor, least: float = 0.0) -> None:
        fill(self.p, [self.layout.rect(grid, self.view, r, least) for r in cells], color)

    @property
    def counts_loads(self) -> bool:
        """Whether cells say how often they were loaded, in place of what they hold."""
        return self.session.heat and not self.session.hides("matrices.heat")

    def _draw_hairlines(self, grid: Grid) -> None:
        if self.scale < GRID_FROM:
            self._clear_gaps(grid)
            return
        first_row, first_column, rows, columns = self._visible(grid)
        box = self.layout.rect(grid, self.view, (first_row, first_column, rows, columns))
        cells = self.layout.cells(grid, self.view)
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self.p.setPen(pen(self.theme.color("grid"), 1))
        left, right, top, bottom = box.left(), box.right(), box.top(), box.bottom()
        down = np.rint(cells.top + self.scale * (first_row + np.arange(rows + 1)))
        across = np.rint(cells.left + self.across * (first_column + np.arange(columns + 1)))
        lines = [QLineF(left, y, right, y) for y in down.tolist()]
        lines += [QLineF(x, top, x, bottom) for x in across.tolist()]
        self.p.drawLines(lines)
        self._clear_gaps(grid)
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing, True)

    def _draw_seams(self, grid: Grid) -> None:
        if grid.plane is None:
            return
        high, wide = grid.pitch
        if wide * self.across < SEAM_FROM:
            return
        if any(grid.gap):
            frame(self.p, self._planes(grid), pen(self.theme.color("text_dim"), 1))
            return
        box, cells = self.layout.box(grid, self.view), self.layout.cells(grid, self.view)
        self.p.setPen(pen(self.theme.color("text_dim"), 1))
        for column in range(wide, grid.extent[1], wide):
            x = round(cells.left + column * self.across)
            self.p.drawLine(QLineF(x, box.top(), x, box.bottom()))
        for row in range(high, grid.extent[0] if high > 1 else 0, high):
            y = round(cells.top + row * self.scale)
            self.p.drawLine(QLineF(box.left(), y, box.right(), y))

    def _planes(self, grid: Grid) -> list[QRectF]:
        (high, wide), (down, across) = grid.plane or grid.extent, grid.pitch
        beside = grid.extent[1] // across
        places = (divmod(number, beside) for number in range(grid.size // (high * wide)))
        cells = ((row * down, column * across, high, wide) for row, column in places)
        return [self.layout.rect(grid, self.view, cell) for cell in cells]

    def _clear_gaps(self, grid: Grid) -> None:
        """Clear the space between slices, which is not part of the array."""
        if grid.plane is None or not any(grid.gap):
            return
        whole, slices = QPainterPath(), QPainterPath()
        whole.addRect(self.layout.box(grid, self.view))
        for rect in self._planes(grid):
            slices.addRect(rect)
        self.p.fillPath(whole - slices, self.theme.color("panel"))

    def _visible(self, grid: Grid) -> Rect:
        cells = self.layout.cells(grid, self.view)
        left = max(grid.left, int(-cells.left // self.across))
        top = max(grid.top, int(-cells.top // self.scale))
        right = int((self.window.width() - cells.left) // self.across) + 1
        bottom = int((self.window.height() - cells.top) // self.scale) + 1
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
        return self.layout.cells(grid, self.view).rects(*grid.cells(flats))

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
        ink: QColor | Ints,
        *,
        slanted: bool = False,
    ) -> None:
        """Write each element's value into its cell, of those that are in sight.

        The ink is one for all of them, or the RGB number of each.
        """
        seen = self._seen(grid, flats)
        font, digits = _value_type(self.theme, self.across, self.scale)
        font.setItalic(slanted)
        decimals = decimals_of(values[seen], digits)
        texts = [value_text(value, digits, decimals) for value in values[seen].tolist()]
        sides = self.layout.cells(grid, self.view).sides(*grid.cells(flats[seen]))
        if isinstance(ink, QColor):
            write(self.p, sides, texts, ink, font)
            return
        for one in np.unique(ink[seen]).tolist():
            mine = np.flatnonzero(ink[seen] == one)
            write(self.p, sides[:, mine], [texts[place] for place in mine], QColor(one), font)

    def _outline(self, grid: Grid, flats: Ints, name: str, width: float) -> None:
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


def _value_type(theme: Theme, wide: float, high: float) -> tuple[QFont, int]:
    """The type of values in cells of a size in pixels, and how many digits they have."""
    font, digits = theme.mono(), 2 if wide < BRIEF * theme.sizes.mono / 10 else 3
    metrics = QFontMetricsF(font)
    sample = metrics.horizontalAdvance("−0.00" if digits == 3 else "−0.0")
    fit = min(APART * wide / sample, high / metrics.height())
    font.setPointSizeF(min(theme.sizes.body, font.pointSizeF() * fit))
    return font, digits


def mark_side(theme: Theme) -> float:
    """The side of the question mark beside an array whose marks are veiled."""
    return 1.5 * QFontMetricsF(theme.font("body", bold=True)).height()


def _flat_of(grid: Grid, index: tuple[int, ...]) -> int:
    """The flat element at an index of the grid's array."""
    return int(np.ravel_multi_index(index, grid.array.shape))


def _one_of(grid: Grid, index: tuple[int, ...]) -> Ints:
    """The flat element at an index, alone in an array."""
    return np.array([_flat_of(grid, index)], np.int64)


def _tick_step(room: float, scale: float) -> int:
    """The smallest power of two whose labels have `room` pixels each."""
    step = 1
    while step * scale < room:
        step *= 2
    return step


# What stays the same from step to step: grids, owners, inputs, names, indices and the legend.


BAR = 3.0  # pixels that the bars are thick which say what part of an array is in sight
ORDER_ROWS = 2  # through which the order in memory is drawn
VEIL = 0.94  # opacity of what lies under names and numbers over cells
BESIDE_FROM = 190.0  # pixels left of A from which the legend has the whole height there
PHASE_BY_COUNTS = Qt.PenStyle.DotLine  # of a phase's frame beside one around what is loaded now
TIMES = (0, 1, 2, 4, 8, 16, 32)  # loads whose colours the legend shows


class MatrixGround(MatrixDrawing):
    """The picture under the marks, drawn once for a view, a block and a theme."""

    def draw(self, own: Sequence[Owned], others: Sequence[Owned]) -> None:
        """Grids, owners, values of what was there before the launch, indices and names."""
        for grid in self.layout.grids:
            box = self.layout.box(grid, self.view)
            self.p.fillRect(box, self.theme.color("field"))
            self.p.setClipRect(box)
            if grid.result:
                self._draw_other_blocks(grid, shares_of(others, grid))
                for share in shares_of(own, grid):
                    self._draw_owners(grid, share)
            self._draw_hairlines(grid)
            self.p.setClipping(False)
            frame(self.p, [box.adjusted(-0.5, -0.5, 0.5, 0.5)], pen(self.theme.color("border"), 1))
            self._draw_share(grid)
            self._draw_order(grid)
            if not grid.result and not self.counts_loads:
                self._draw_inputs(grid)
            self._veil(grid)
        if self.fits_all():
            self.draw_edges()
            corner = self._corner()
            if corner.isEmpty():
                draw_legend_row(self.p, self._foot(), self.theme, self._key())
            else:
                draw_legend(self.p, corner, self.theme, self._key())

    def _veil(self, grid: Grid) -> None:
        """A question mark at the corner of an array whose marks a question veils."""
        parts = ("owners", "values") if grid.result else ("loaded", "heat")
        if not any(self.session.hides(f"matrices.{part}") for part in parts):
            return
        side = mark_side(self.theme)
        box = self.layout.box(grid, self.view).intersected(self.window)
        place = QRectF(box.right() + 3, box.top(), side, side)
        if place.right() > self.window.right():
            place.moveBottomRight(box.topRight())  # over the numbers, not over a cell
        draw_veil(self.p, place, self.theme)

    def fits_all(self) -> bool:
        return all(self.window.contains(self.layout.box(g, self.view)) for g in self.layout.grids)

    def draw_edges(self) -> None:
        """Indices and names. Zoomed in they lie over the cells, and over the marks of the step."""
        self._draw_indices()
        self._draw_names()
        if not self.fits_all():
            veil = self.theme.color("panel", VEIL)
            draw_legend_row(self.p, self._foot(), self.theme, self._key(), veil)

    def _foot(self) -> QRectF:
        """A line for the legend, above the words about what is pointed at."""
        line = QFontMetricsF(self.theme.font("small")).height()
        top = self.window.bottom() - 2.3 * line - 9
        return QRectF(12, top, self.window.width() - 24, 1.2 * line)

    def _corner(self) -> QRectF:
        """The space left of B and above A; empty where the arrays are not drawn so."""
        grids = self.layout.grids
        if len(grids) != 3 or grids[2].place != (1, 1) or not self.fits_all():
            return QRectF()
        left, above = (self.layout.around(g, self.view) for g in grids[:2])
        line = QFontMetricsF(self.theme.font("caption")).height()
        name = 6.0 * line
        beside = QRectF(12, above.top(), left.left() - 12 - name, left.bottom() - above.top())
        if beside.width() >= BESIDE_FROM:
            return beside
        numbers = QFontMetricsF(self.theme.font("small")).horizontalAdvance("00000") + 14
        width = above.left() - 12 - numbers
        return QRectF(12, above.top() + 5, width, left.top() - above.top() - 1.5 * line - 5)

    def _key(self) -> list[Key]:
        trace, block = self.session.trace, self.session.block_trace
        if trace is None or block is None:
            return []
        color, tint = self.theme.color, self.theme.tint
        loads = self.counts_loads
        few = block.n_threads <= FEW_THREADS
        keys = self._heat_key() if loads else [Key("Loaded now", (color("load"),))]
        if not loads:
            keys.append(Key("Stored now", (color("store"),)))
        keys.append(Key("Selected thread", (), color("selected"), "Thread"))
        if not loads:
            who = "the selected thread's warp" if self.session.warp_trail else "the selected thread"
            faint = (tint("load", 0.24),)
            keys.append(Key(f"Read so far by {who}", faint, None, "Read so far"))
        if len(block.phases):
            line = PHASE_BY_COUNTS if loads else Qt.PenStyle.SolidLine
            keys.append(Key("Loaded in this phase", (), color("load"), "This phase", line=line))
        if trace.shared_arrays and not loads:
            copy = (tint("load", 0.55),)
            keys.append(Key("Its copy in shared memory loaded now", copy, None, "Copy loaded now"))
        names = [grid.array.name for grid in self.layout.grids]
        if len(names) == 3 and names[0] == names[1] and not loads:
            keys.append(Key("Order in memory", (), color("barrier"), "Memory"))
            echo = (hatch(color("load")),)
            keys.append(Key(f"The same in the other drawing of {names[0]}", echo, None, "The same"))
        owners = tuple(
            self.theme.owner_color("thread", i, block.n_threads)
            for i in range(0, block.n_threads, 1 if few else WARP)[:4]
        )
        results = [grid.label for grid in self.layout.grids if grid.result]
        if results and not self.session.hides("matrices.owners"):
            owner = f"Owner in {results[0]}" if len(results) == 1 else "Owner"
            words = f"{owner}, a colour a {'thread' if few else 'warp'}"
            keys.append(Key(words, owners, None, owner))
        reaches = reaches_of(trace)
        seen = [g for g in self.layout.grids if any(g.overhang + g.before + g.gap)]
        if any(reaches.faults(g) for g in seen) and not self.session.hides("findings"):
            fault = Key("Outside the array: a fault", (color("error"),), None, "Fault", (), True)
            keys.insert(3 if loads else 1, fault)  # never left out for want of room
        if any(reaches.masked(g) or any(g.gap) for g in seen):
            guard = (color("guard"),)
            keys.append(Key("Outside: masked off by a bounds check", guard, None, "Masked off"))
        return keys

    def _heat_key(self) -> list[Key]:
        levels = heat_levels(np.array(TIMES)).tolist()
        numbers = (*map(str, TIMES[:-1]), f"{TIMES[-1]}+")
        ramp = Key("", tuple(map(self.theme.heat, levels)), None, "", numbers)
        return [Key("Times loaded"), ramp, Key("Loaded now", (), self.theme.color("load"))]

    def _draw_share(self, grid: Grid) -> None:
        """Below and right of a window, which part of the array it shows, as scroll bars do."""
        for bar, part in share_bars(self.layout, self.view, grid):
            self.p.fillRect(bar, self.theme.color("grid"))
            self.p.fillRect(part, self.theme.color("text_faint"))

    def _draw_order(self, grid: Grid) -> None:
        """How an array that is drawn twice lies in memory: along its rows, one after another."""
        names = [g.array.name for g in self.layout.grids]
        if len(names) != 3 or names[0] != names[1] or grid.result or self.scale < GRID_FROM:
            return
        rows, columns = (grid.columns, grid.rows) if grid.transposed else (grid.rows, grid.columns)
        if grid.top or grid.left or min(rows, columns) < 2:
            return
        path = QPainterPath()
        for row in range(min(rows, ORDER_ROWS)):
            for column in (0, columns - 1):
                place = (column, row) if grid.transposed else (row, column)
                cell = self.layout.rect(grid, self.view, (*place, 1, 1))
                beside = 3.0 if self.values_fit else 0.5 * min(cell.width(), cell.height())
                middle = QPointF(cell.center().x(), cell.bottom() - beside)
                if grid.transposed:
                    middle = QPointF(cell.left() + beside, cell.center().y())
                if not path.elementCount():
                    path.moveTo(middle)
                else:
                    path.lineTo(middle)
        self.p.save()
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.p.setBrush(Qt.BrushStyle.NoBrush)
        strength = 0.3 if self.values_fit else 0.55  # figures are to be read through it
        self.p.setPen(pen(self.theme.color("barrier", strength), 1.3, Qt.PenStyle.DashLine))
        self.p.drawPath(path)
        self.p.restore()

    def _draw_owners(self, grid: Grid, own: Owned) -> None:
        block = self.session.block_trace
        lut = self.theme.owner_lut("thread", block.n_threads if block else 1)
        self._draw_picture(grid, picture_of(grid, own.flats, lut[own.threads]))
        edge = self.layout.rect(grid, self.view, own.box, 3)
        frame(self.p, [edge], pen(self.theme.color("text_dim"), 1.2))

    def _draw_other_blocks(self, grid: Grid, others: Sequence[Owned]) -> None:
        groups: dict[int, list[QRectF]] = {}
        for owned in others:
            rect = self.layout.rect(grid, self.view, owned.box)
            groups.setdefault(owned.block % 2, []).append(rect)
        for kind, rects in groups.items():
            fill(self.p, rects, self.theme.tint("border", 0.24 + 0.12 * kind))
            frame(self.p, rects, pen(self.theme.color("panel"), 1))

    def _draw_inputs(self, grid: Grid) -> None:
        data = self._initial(grid) if self.values_fit else None
        if data is not None:
            shown = grid.flats(self._visible(grid))
            self._write_values(grid, shown, data[shown], self.theme.color("text"))

    def _draw_names(self) -> None:
        """Each grid's name and size: A and B left of their column numbers, others above."""
        font, small = self.theme.font("caption", bold=True), self.theme.font("small")
        line, index = QFontMetricsF(font).height(), QFontMetricsF(small).height()
        product = self.layout.grids[-1].place == (1, 1)
        for grid in self.layout.grids:
            box = self.layout.around(grid, self.view)
            size, (name, wide) = size_words(grid), title_widths(grid, self.theme)
            if product and grid.place != (1, 1):
                top = box.top() - (index + line) / 2 - 2
                left = box.left() - NAME_GAP - name - wide
                if left < 6:
                    left, wide = box.left() - NAME_GAP - name, 0.0
            else:
                left, top = box.left(), box.top() - (line + 3 if product else line + index + 5)
                if self.fits_all():  # a narrow grid at the right edge has its title further left
                    left = min(left, self.window.right() - name - wide)
            area = QRectF(left, top, name, line)
            self._write_name(grid.label, size if wide else "", self._in_sight(area, box, index))

    def _in_sight(self, name: QRectF, box: QRectF, index: float) -> QRectF:
        """Where a name goes: at its place, or in the corner of what is seen of its grid."""
        if self.window.contains(name):
            return name
        seen = box.intersected(self.window)
        if seen.width() < 80 or seen.height() < 40:
            return QRectF()
        corner = QPointF(max(seen.left(), 40.0) + 6, max(seen.top(), index + 6) + 4)
        return QRectF(corner, name.size())

    def _write_name(self, name: str, size: str, area: QRectF) -> None:
        if area.isEmpty():
            return
        ink, dim = self.theme.color("text"), self.theme.color("text_dim")
        bold, small = self.theme.font("caption", bold=True), self.theme.font("small")
        if not self.fits_all():
            wide = area.width() + QFontMetricsF(small).horizontalAdvance(size) + 14
            chip = QRectF(area.left() - 4, area.top(), wide, area.height())
            self.p.fillRect(chip, self.theme.color("panel", VEIL))
        text(self.p, area, name, ink, bold, LEFT, elide=False)
        rest = area.translated(area.width() + 6, 0)
        text(self.p, rest, size, dim, small, LEFT, elide=False)

    def _draw_indices(self) -> None:
        """Row numbers left of A and B, column numbers above them; C shares those.

        Rows of a 1-D array are numbered by their first element.

        Where those places are out of sight the numbers stay at the edge, over a veil.
        """
        small, color = self.theme.font("small"), self.theme.color("text_faint")
        line = QFontMetricsF(small).height()
        veil, side = self.theme.color("panel", VEIL), 36.0
        boxes = [self.layout.around(g, self.view) for g in self.layout.grids if g.place != (1, 1)]
        if any(b.top() < line + 4 and b.right() > 0 for b in boxes):
            self.p.fillRect(QRectF(0, 0, self.window.width(), line + 5), veil)
        if any(b.left() < side and b.bottom() > 0 for b in boxes):
            self.p.fillRect(QRectF(0, 0, side, self.window.height()), veil)
        for grid in self.layout.grids:
            if grid.place != (1, 1):
                self._draw_numbers(grid, side, line, color)

    def _draw_numbers(self, grid: Grid, side: float, line: float, color: QColor) -> None:
        across, down = _tick_step(TICK_ROOM, self.across), _tick_step(line * 1.15, self.scale)
        box, cells = self.layout.around(grid, self.view), self.layout.cells(grid, self.view)
        top, left, rows, columns = self._visible(grid)
        shown = np.arange(-(-left // across) * across, left + columns, across)
        middle = cells.left + (shown + 0.5) * self.across
        sides = _boxes(middle - 30, max(box.top() - line - 2, 2.0), 60, line)
        self._write_seen(sides, list(map(grid.column_name, shown.tolist())), color, CENTRE)
        shown = np.arange(-(-top // down) * down, top + rows, down)
        middle = cells.top + (shown + 0.5) * self.scale
        sides = _boxes(max(box.left() - 6, side - 4) - 60, middle - line / 2, 60, line)
        self._write_seen(sides, list(map(grid.row_name, shown.tolist())), color, RIGHT)

    def _write_seen(
        self, sides: NDArray[np.float64], words: list[str], color: QColor, align: Qt.AlignmentFlag
    ) -> None:
        """Write those of the words whose places are in the window."""
        left, top, wide, high = sides
        seen = (left + wide > 0) & (left < self.window.width())
        seen &= (top + high > 0) & (top < self.window.height())
        shown = [words[place] for place in np.flatnonzero(seen).tolist()]
        write(self.p, sides[:, seen], shown, color, self.theme.font("small"), align)


def share_bars(layout: MatrixLayout, view: Transform, grid: Grid) -> list[tuple[QRectF, QRectF]]:
    """Bars that say which part of an array a window shows, each with its part; past the overhang.

    One lies below where columns are out of sight, one at the right where rows are.
    """
    box, (down, across) = layout.box(grid, view), grid.room
    bottom, right = box.bottom() + down * view.scale, box.right() + across * view.across
    bars = []
    if grid.columns < grid.extent[1]:
        bar = QRectF(box.left(), bottom + 3, box.width(), BAR)
        first, wide = (bar.width() * n / grid.extent[1] for n in (grid.left, grid.columns))
        bars.append((bar, QRectF(bar.left() + first, bar.top(), wide, BAR)))
    if grid.rows < grid.extent[0]:
        bar = QRectF(right + 3, box.top(), BAR, box.height())
        first, high = (bar.height() * n / grid.extent[0] for n in (grid.top, grid.rows))
        bars.append((bar, QRectF(bar.left(), bar.top() + first, BAR, high)))
    return bars


def _boxes(*sides: float | NDArray[np.floating]) -> NDArray[np.float64]:
    return np.stack(np.broadcast_arrays(*sides))


# What one step does to the matrices, and what is pointed at.


THIN = 4  # pixels: in a thinner band nothing shows through
LEAST_LIT = 4.0  # pixels that what a step touches is wide and high
ZERO_FROM = 9.0  # pixels a cell: one figure fits where a value does not


class MatrixMarks(MatrixDrawing):
    """The picture over the ground, drawn at every step."""

    def draw(self, scene: MatrixScene, *, loads: bool) -> None:
        for grid, marks, stored in zip(self.layout.grids, scene.marks, scene.owns, strict=True):
            box = self.layout.box(grid, self.view)
            self.p.setClipRect(box.adjusted(-3, -3, 3, 3))
            if loads:
                self._draw_heat(grid)
            else:
                self._draw_trail(grid, marks)
            self._draw_band(grid, marks)
            self._draw_tiles(grid, marks, PHASE_BY_COUNTS if loads else Qt.PenStyle.SolidLine)
            if loads and not grid.result:
                self._outline(grid, marks.lit, "load", 2.4)
            else:
                self._draw_lit(grid, marks)
                self._draw_echo(grid, marks)
            self._draw_seams(grid)
            self._draw_warp(grid, marks)
            own = stored if grid.result else marks.thread
            if self.scale >= OUTLINE_FROM:
                self._outline(grid, own, "selected", 2.4)
            self.p.setClipping(False)
            self._draw_outside(grid, marks)
            self._draw_faults(grid, marks)
        self._draw_crosshair(scene)

    def _draw_crosshair(self, scene: MatrixScene) -> None:
        """From the selected thread's row of A and column of B on to its element of C."""
        result = self.layout.grids[-1]
        if result.place != (1, 1) or len(scene.own) != 1:
            return
        row, column = (int(v[0]) for v in result.cells(scene.own))
        cell = self.layout.rect(result, self.view, (row, column, 1, 1))
        left = self.layout.box(self.layout.grids[0], self.view)
        above = self.layout.box(self.layout.grids[1], self.view)
        self.p.setPen(pen(self.theme.color("selected", 0.4), 1, Qt.PenStyle.DotLine))
        y, x = cell.center().y(), cell.center().x()
        self.p.drawLine(QPointF(left.right() + 2, y), QPointF(cell.left() - 1, y))
        name, size = title_widths(result, self.theme)
        edge = self.layout.box(result, self.view)
        end = cell.top() - 1
        if x < edge.left() + name + size:  # the title of C stands in the way
            line = QFontMetricsF(self.theme.font("caption", bold=True)).height()
            self.p.drawLine(QPointF(x, min(edge.top(), end)), QPointF(x, end))
            end = edge.top() - line - 3
        if end > above.bottom() + 2:
            self.p.drawLine(QPointF(x, above.bottom() + 2), QPointF(x, end))

    def _draw_heat(self, grid: Grid) -> None:
        """How often each element was loaded; of a result only those that were have a number."""
        block = self.session.block_trace
        assert block is not None, "there are marks of a block's step"
        flats, times = history_of(block).loaded(grid.array.name, self.session.step)
        if len(flats):
            colors = self.theme.heat_lut[np.rint(heat_levels(times) * 255).astype(int)]
            self._draw_picture(grid, picture_of(grid, flats, colors))
            self._draw_hairlines(grid)
        if not self.values_fit:
            return
        if not grid.result:
            shown = grid.flats(self._visible(grid))
            never = shown[~np.isin(shown, flats)]
            faint = self.theme.color("text_faint")
            self._write_values(grid, never, np.zeros(len(never), np.int64), faint)
        counts, which = np.unique(times, return_inverse=True)
        inks = [text_on(self.theme.heat(level)).rgb() for level in heat_levels(counts).tolist()]
        self._write_values(grid, flats, times, np.array(inks, np.int64)[which])

    def _draw_band(self, grid: Grid, marks: GridMarks) -> None:
        if marks.band is None:
            return
        rect = self.layout.rect(grid, self.view, marks.band, 1)
        thin = min(rect.width(), rect.height()) <= THIN
        faint = self.theme.tint("selected", 0.4) if thin else self.theme.color("selected", 0.06)
        self.p.fillRect(rect, faint)  # opaque where it can be: that is drawn many times as fast
        if not thin:
            frame(self.p, [rect], pen(self.theme.color("selected", 0.4), 1))

    def _draw_trail(self, grid: Grid, marks: GridMarks) -> None:
        cells = rectangles(*grid.cells(marks.trail))
        self._fill(grid, cells, self.theme.color("load", 0.24), 1.0)

    def _draw_tiles(self, grid: Grid, marks: GridMarks, line: Qt.PenStyle) -> None:
        for tile in marks.tiles:
            rect = self.layout.rect(grid, self.view, tile, LEAST_LIT)
            if self.scale < GRID_FROM:  # a light line within would hide cells
                frame(self.p, [inset(rect, -2)], pen(self.theme.color("load"), 1.5, line))
                continue
            frame(self.p, [inset(rect, -1)], pen(self.theme.color("panel"), 4))
            frame(self.p, [inset(rect, -1)], pen(self.theme.color("load"), 2, line))

    def _draw_warp(self, grid: Grid, marks: GridMarks) -> None:
        """A thin line around what the selected warp touches: the lanes of the warp view."""
        if not len(marks.warp) or self.scale < OUTLINE_FROM:
            return
        cells = rectangles(*grid.cells(marks.warp))
        rects = [inset(self.layout.rect(grid, self.view, cell, 5), 0.5) for cell in cells]
        frame(self.p, rects, pen(self.theme.color("panel"), 3))
        frame(self.p, rects, pen(self.theme.color("selected"), 1.4))

    def _draw_lit(self, grid: Grid, marks: GridMarks) -> None:
        if grid.result:
            self._draw_written(grid, marks)
        for flats, strength in ((marks.through, 0.55), (marks.lit, 1.0)):
            if not len(flats):
                continue
            color = self.theme.tint(marks.verb, strength)
            self._fill(grid, rectangles(*grid.cells(flats)), color, LEAST_LIT)
            if self.scale >= GRID_FROM:
                self._draw_gaps(grid, flats[self._seen(grid, flats)])
            self._rewrite(grid, marks, flats, text_on(color))

    def _draw_echo(self, grid: Grid, marks: GridMarks) -> None:
        """The same elements as in the other drawing of the array, hatched."""
        if not len(marks.echo):
            return
        color = self.theme.color(marks.verb or "load")
        cells = rectangles(*grid.cells(marks.echo))
        rects = [self.layout.rect(grid, self.view, cell, LEAST_LIT) for cell in cells]
        fill(self.p, rects, hatch(self.theme.color(marks.verb or "load", 0.45)))
        frame(self.p, rects, pen(color, 1.6))

    def _draw_gaps(self, grid: Grid, flats: Ints) -> None:
        """Hairlines between lit cells, so that they can be counted."""
        if len(flats) > 2048:
            return
        cells = self._cells(grid, flats)
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        frame(self.p, cells, pen(self.theme.color("panel", 0.8), 1))
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing, True)

    def _draw_written(self, grid: Grid, marks: GridMarks) -> None:
        """Values of the result that the block has stored, and what threads hold for the others."""
        if not self.values_fit:
            return
        if marks.so_far is not None and len(marks.so_far.flats):
            self._write_owned(grid, marks.so_far.flats, marks.so_far.values, slanted=True)
        if len(marks.written):
            self._write_owned(grid, *_stored(marks))

    def _write_owned(
        self, grid: Grid, flats: Ints, values: NDArray[np.generic], *, slanted: bool = False
    ) -> None:
        """Values over the colours of the threads that store them, each in what is read on it."""
        block, seen = self.session.block_trace, self._seen(grid, flats)
        assert block is not None, "there are marks of a block's step"
        flats, values = flats[seen], values[seen]
        mine, threads, _ = history_of(block).stored(grid.array.name)
        owners = threads[np.minimum(np.searchsorted(mine, flats), len(mine) - 1)]
        used, which = np.unique(owners, return_inverse=True)
        lut = self.theme.owner_lut("thread", block.n_threads)
        inks = np.array([text_on(QColor(*c)).rgb() for c in lut[used, :3].tolist()], int)[which]
        self._write_values(grid, flats, values, inks, slanted=slanted)

    def _rewrite(self, grid: Grid, marks: GridMarks, flats: Ints, ink: QColor) -> None:
        """Values again over lit cells, in a colour that is read on them."""
        hides = self.session.hides
        if not self.values_fit or (grid.result and hides("matrices.values")):
            return
        data = self._initial(grid)
        if data is None:
            return
        values = data[flats].copy()
        if grid.result and len(marks.written):
            stored, new = _stored(marks)
            place = np.minimum(np.searchsorted(stored, flats), len(stored) - 1)
            again = stored[place] == flats
            values[again] = new[place[again]]
        self._write_values(grid, flats, values, ink)

    def _draw_outside(self, grid: Grid, marks: GridMarks) -> None:
        """Where masked-off threads would have gone, beyond the matrix."""
        if not any(grid.overhang + grid.before + grid.gap):
            return
        color, places = self.theme.color("guard"), np.unique(np.stack(marks.outside, 1), axis=0)
        cells = self._cells_beyond(grid, places)
        fill(self.p, cells, hatch(color))
        if self.scale >= GRID_FROM:
            frame(self.p, cells, pen(color, 1, Qt.PenStyle.DotLine))
        if marks.filled and self.scale >= ZERO_FROM:
            font = self.theme.mono()
            font.setPointSizeF(min(self.theme.sizes.body, 0.55 * self.scale))
            texts(self.p, [(cell, "0") for cell in cells], self.theme.color("text"), font)

    def _draw_faults(self, grid: Grid, marks: GridMarks) -> None:
        places = np.unique(np.stack(marks.faults, 1), axis=0)
        starts = np.array([grid.top, grid.left])
        ends = starts + np.array([grid.rows, grid.columns])
        near = (places >= starts - grid.before) & (places < ends + grid.overhang)
        crossed_out(self.p, self.theme, self._cells_beyond(grid, places[near.all(axis=1)], 3))

    def _cells_beyond(self, grid: Grid, places: Ints, least: float = 0.0) -> list[QRectF]:
        """The cells of rows and columns (n, 2) that have room.

        Where there are others, the furthest row or column of the room says how many.
        """
        starts = grid.top, grid.left
        ends = grid.top + grid.rows, grid.left + grid.columns
        for axis in (0, 1):
            if grid.room[axis] < grid.overhang[axis]:
                last = ends[axis] + grid.room[axis] - 1
                self._tell_further(grid, places[places[:, axis] >= last], axis, last)
                places = places[places[:, axis] < last]
            if grid.room_before[axis] < grid.before[axis]:
                first = starts[axis] - grid.room_before[axis]
                self._tell_further(grid, places[places[:, axis] <= first], axis, first)
                places = places[places[:, axis] > first]
        return [self.layout.rect(grid, self.view, (r, c, 1, 1), least) for r, c in places.tolist()]

    def _tell_further(self, grid: Grid, further: Ints, axis: int, last: int) -> None:
        """In the last row (axis 0) or column of the room, how many further ones there are."""
        if not len(further):
            return
        count = plural(len(np.unique(further[:, axis])), ("row", "column")[axis])
        across = further[:, 1 - axis]
        first, wide = int(across.min()), int(np.ptp(across)) + 1
        cells = (last, first, 1, wide) if axis == 0 else (first, last, wide, 1)
        box, whole = self.layout.rect(grid, self.view, cells), self.layout.box(grid, self.view)
        small, color = self.theme.font("small"), self.theme.color("text_dim")
        words = f"… {count} more"
        need = QFontMetricsF(small).horizontalAdvance(words) + 2
        if axis == 0:
            left = max(min(box.left(), whole.right() - need), 2.0)
            area = QRectF(left, box.top(), need, box.height())
            text(self.p, area, words, color, small, LEFT, elide=False)
        else:
            top = max(box.center().y() - need / 2, whole.top())
            area = QRectF(box.left(), top, box.width(), need)
            upright_texts(self.p, [(area, words)], color, small, RIGHT)

    def draw_pointed(self, own: Sequence[Owned], others: Sequence[Owned]) -> None:
        """The selected and the hovered element, and a line of text about the latter.

        `own` is what the selected block stores, `others` what other blocks do.
        """
        chosen, hover = self.session.element, self.session.hover
        for grid in self.layout.grids:
            if chosen is not None and chosen[0] == grid.array.name:
                self._outline(grid, _one_of(grid, chosen[1]), "accent", 2.0)
            if hover is not None and hover.element and hover.element[0] == grid.array.name:
                self._outline(grid, _one_of(grid, hover.element[1]), "hover", 2.0)
            elif hover is not None and hover.thread is not None:
                self._outline(grid, self._of_thread(grid, hover.thread, own), "hover", 2.0)
        words = self._about(own, others)
        small = self.theme.font("small")
        line = QFontMetricsF(small).height()
        area = QRectF(12, self.window.bottom() - line - 6, self.window.width() - 24, line)
        if any(self.layout.box(g, self.view).intersects(area) for g in self.layout.grids):
            self.p.fillRect(area.adjusted(-12, -3, 12, 6), self.theme.color("panel", 0.88))
        text(self.p, area, words, self.theme.color("text"), small, LEFT)

    def cells_of(self, grid: Grid, index: tuple[int, ...]) -> list[QRectF]:
        shape = grid.array.shape
        if len(index) != len(shape) or (np.array(index) >= shape).any():
            return []
        flats = _one_of(grid, index)
        return self._cells(grid, flats[self._seen(grid, flats)])

    def cells_of_thread(self, grid: Grid, thread: int, own: Sequence[Owned]) -> list[QRectF]:
        flats = _stored_by(thread, grid, own)
        return self._cells(grid, flats[self._seen(grid, flats)])

    def _of_thread(self, grid: Grid, thread: int, own: Sequence[Owned]) -> Ints:
        block = self.session.block_trace
        assert block is not None
        mine = _stored_by(thread, grid, own)
        if self.session.hides("matrices.loaded"):
            return mine
        now = touched_by(block, grid.array.name, self.session.step, thread)
        return np.concatenate([now, mine])

    def _about(self, own: Sequence[Owned], others: Sequence[Owned]) -> str:
        hover, block = self.session.hover, self.session.block_trace
        if block is None:
            return ""
        element = hover.element if hover is not None else None
        for grid in self.layout.grids:
            if element is not None and element[0] == grid.array.name:
                known = shares_of([*own, *others], grid)
                return self._about_element(grid, _flat_of(grid, element[1]), known)
        thread = self.session.thread
        words = f"Thread {thread} = {name_of_thread(block, thread)}"  # the clock has its number
        words += f", warp {thread // WARP}, lane {thread % WARP}"
        stored = [(grid, _stored_by(thread, grid, own)) for grid in self.layout.grids]
        names = [elements_name(grid.array, mine) for grid, mine in stored if len(mine)]
        return f"{words}, stores {listing(names)}" if names else words

    def _about_element(self, grid: Grid, flat: int, known: Sequence[Owned]) -> str:
        words = element_name(grid.array, flat)
        block = self.session.block_trace
        data = self._initial(grid)
        if data is not None and not grid.result:
            words += f" = {value_text(number_at(grid.array, data, flat), 4)}"
        if self.counts_loads and not grid.result and block is not None:
            times = history_of(block).times_loaded(grid.array.name, flat, self.session.step)
            words += f", loaded {'once' if times == 1 else f'{times} times'} by this block so far"
        for owned in known if grid.result else ():
            if (thread := owned.thread_of(flat)) is not None:
                return f"{words} is stored by {self._storer(owned.block, thread)}"
        return words

    def _storer(self, number: int, thread: int) -> str:
        """A thread, and its block where that is not the selected one."""
        trace = self.session.trace
        assert trace is not None
        block = trace.block(number)
        words = (
            f"thread {name_of_thread(block, thread)}, warp {thread // WARP}, lane {thread % WARP}"
        )
        if number == self.session.block:
            return words
        return f"{words} of block {block_name(block)}"


def _stored_by(thread: int, grid: Grid, own: Sequence[Owned]) -> Ints:
    mine = [share.flats[share.threads == thread] for share in shares_of(own, grid)]
    return np.concatenate([EMPTY, *mine])


def _stored(marks: GridMarks) -> tuple[Ints, NDArray[np.generic]]:
    """The elements of the result that were stored, each once and ascending, and what is there."""
    flats, last = np.unique(marks.written[::-1], return_index=True)
    return flats, marks.values[::-1][last]
