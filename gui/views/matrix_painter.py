"""Draws grids of cells: owners, values and labels once; the marks of a step every time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter

from gui.scenes.history import Ints, history_of
from gui.scenes.matrices import Grid, GridMarks, MatrixScene, Owned, Rect, bounding_box, rectangles
from gui.scenes.naming import element_name, thread_name, value_text
from gui.scenes.session import Session
from gui.scenes.text import grouped, plural
from gui.theme import FEW_THREADS, Theme
from gui.views.matrix_layout import MatrixLayout, Transform
from gui.views.painting import (
    LEFT,
    RIGHT,
    Key,
    draw_legend,
    fill,
    frame,
    inset,
    pen,
    text,
    text_on,
)

GRID_FROM = 6.0  # pixels a cell from which cells have hairlines between them
VALUE_FROM = 24.0  # pixels a cell from which values are written
OUTLINE_FROM = 3.0  # pixels a cell from which single elements are outlined
IMAGE_LIMIT = 4_000_000  # cells: a larger bounding box is drawn as rectangles
TICK_ROOM = 34.0  # pixels between index labels


class MatrixPainter:
    """One picture of the canvas at one view. `on` gives the same for another painter."""

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
        self.scale = view.scale

    def on(self, painter: QPainter) -> MatrixPainter:
        """The same drawing onto another painter."""
        return MatrixPainter(painter, self.theme, self.layout, self.view, self.window, self.session)

    # ---- what stays

    def draw_ground(self, own: Owned | None, others: Sequence[Owned], *, loads: bool) -> None:
        """Grids, owners, values of what was there before the launch, indices and names."""
        for grid in self.layout.grids:
            box = self.layout.box(grid, self.view)
            self.p.fillRect(box, self.theme.color("field"))
            self.p.setClipRect(box)
            if grid.result:
                self._draw_other_blocks(grid, others)
                if own is not None:
                    self._draw_owners(grid, own)
            self._draw_hairlines(grid)
            self.p.setClipping(False)
            frame(self.p, [box.adjusted(-0.5, -0.5, 0.5, 0.5)], pen(self.theme.color("border"), 1))
            if not grid.result:
                self._draw_inputs(grid)
        self._draw_names()
        self._draw_indices()
        draw_legend(self.p, self._corner(), self.theme, self._key(loads=loads))

    def _corner(self) -> QRectF:
        """The space left of B and above A; empty where the arrays are not drawn so."""
        grids = self.layout.grids
        if len(grids) != 3 or grids[2].place != (1, 1):
            return QRectF()
        left, above = (self.layout.box(g, self.view) for g in grids[:2])
        label = 2.5 * QFontMetricsF(self.theme.font("caption")).height()
        corner = QRectF(12, above.top(), above.left() - 12 - 2.2 * label, left.top() - above.top())
        return corner.adjusted(0, 0, 0, -1.2 * label)

    def _key(self, *, loads: bool) -> list[Key]:
        """What the marks mean, for the legend."""
        trace, block = self.session.trace, self.session.block_trace
        if trace is None or block is None:
            return []
        theme = self.theme
        few = block.n_threads <= FEW_THREADS
        owners = [
            theme.owner_color("thread", i, block.n_threads)
            for i in range(0, block.n_threads, 1 if few else 32)
        ]
        keys = [Key("Loaded at this step", (theme.color("load"),))]
        if trace.shared_arrays:
            keys.append(Key("Its copy in shared memory loaded", (theme.tint("load", 0.55),)))
        keys.append(Key("Stored at this step", (theme.color("store"),)))
        if not loads:
            keys.append(Key("Read so far by the selected thread", (theme.tint("load", 0.24),)))
        if len(block.phases):
            keys.append(Key("Loaded in this phase", (), theme.color("load")))
        keys.append(Key("The selected thread's", (), theme.color("selected")))
        words = "Owner in C: a thread a colour" if few else "Owner in C: a warp a colour"
        keys.append(Key(words, tuple(owners[:4])))
        if loads:
            steps = tuple(theme.heat(i / 7) for i in range(8))
            keys.insert(0, Key("Times loaded so far, 0 to the most", steps))
        return keys

    def _draw_owners(self, grid: Grid, own: Owned) -> None:
        block = self.session.block_trace
        lut = self.theme.owner_lut("thread", block.n_threads if block else 1)
        self._draw_cells_colored(grid, own.flats, lut[own.threads])
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

    def _draw_cells_colored(self, grid: Grid, flats: Ints, colors: NDArray[np.uint8]) -> None:
        """Fill each element's cell with its colour (uint8[n, 4])."""
        box = bounding_box(grid, flats)
        if box[2] * box[3] > IMAGE_LIMIT:
            rows, columns = grid.cells(flats)
            self._fill_cells(grid, rows, columns, QColor.fromRgb(*(int(c) for c in colors[0][:3])))
            return
        rows, columns = grid.cells(flats)
        pixels = np.zeros((box[2], box[3], 4), np.uint8)
        pixels[rows - box[0], columns - box[1]] = colors
        image = QImage(pixels.data, box[3], box[2], box[3] * 4, QImage.Format.Format_RGBA8888)
        smooth = self.scale < 1
        self.p.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
        self.p.drawImage(self.layout.rect(grid, self.view, box, 1), image)

    def _fill_cells(
        self, grid: Grid, rows: Ints, columns: Ints, color: QColor, least: float = 0.0
    ) -> None:
        rects = [self.layout.rect(grid, self.view, r, least) for r in rectangles(rows, columns)]
        fill(self.p, rects, color)

    def _draw_hairlines(self, grid: Grid) -> None:
        if self.scale < GRID_FROM:
            return
        first_row, first_column, rows, columns = self._visible(grid)
        box = self.layout.rect(grid, self.view, (first_row, first_column, rows, columns))
        origin = self.layout.origin(grid, self.view)
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self.p.setPen(pen(self.theme.color("grid"), 1))
        for r in range(first_row, first_row + rows + 1):
            y = round(origin.y() + r * self.scale)
            self.p.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
        for c in range(first_column, first_column + columns + 1):
            x = round(origin.x() + c * self.scale)
            self.p.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing, True)

    def _visible(self, grid: Grid) -> Rect:
        """The rectangle of cells that is in the window."""
        origin = self.layout.origin(grid, self.view)
        left = max(grid.left, int(-origin.x() // self.scale))
        top = max(grid.top, int(-origin.y() // self.scale))
        right = int((self.window.width() - origin.x()) // self.scale) + 1
        bottom = int((self.window.height() - origin.y()) // self.scale) + 1
        right = min(grid.left + grid.columns, right)
        bottom = min(grid.top + grid.rows, bottom)
        return top, left, max(0, bottom - top), max(0, right - left)

    def _draw_inputs(self, grid: Grid) -> None:
        if self.scale < VALUE_FROM:
            return
        data = self._initial(grid)
        if data is None:
            return
        top, left, rows, columns = self._visible(grid)
        flats = [
            flat
            for r in range(top, top + rows)
            for c in range(left, left + columns)
            if (flat := grid.flat(r, c)) >= 0
        ]
        self._write_values(grid, np.array(flats, np.int64), data, self.theme.color("text_dim"))

    def _initial(self, grid: Grid) -> NDArray[np.generic] | None:
        trace = self.session.trace
        if trace is None:
            return None
        for argument in trace.workload.launch.arrays:
            if argument.name == grid.array.name:
                return np.asarray(argument.data).ravel()
        return None

    def _write_values(
        self, grid: Grid, flats: Ints, data: NDArray[np.generic], color: QColor
    ) -> None:
        """Write `data[flat]` into each element's cell."""
        font = self.theme.mono()
        room = 0.8 * self.scale
        sample = QFontMetricsF(font).horizontalAdvance("−0.00")
        font.setPointSizeF(min(self.theme.sizes.body, font.pointSizeF() * room / sample))
        self.p.setFont(font)
        self.p.setPen(color)
        rows, columns = grid.cells(flats)
        for flat, r, c in zip(flats.tolist(), rows.tolist(), columns.tolist(), strict=True):
            cell = self.layout.rect(grid, self.view, (r, c, 1, 1))
            self.p.drawText(cell, Qt.AlignmentFlag.AlignCenter, value_text(data[flat].item()))

    def _draw_names(self) -> None:
        """Each grid's name and size: A and C above their corner, B left of it."""
        font, small = self.theme.font("caption", bold=True), self.theme.font("small")
        ink, dim = self.theme.color("text"), self.theme.color("text_dim")
        line, index = QFontMetricsF(font).height(), QFontMetricsF(small).height()
        for grid in self.layout.grids:
            box = self.layout.box(grid, self.view)
            size = " × ".join(grouped(n) for n in grid.extent)
            if len(grid.array.shape) == 1:
                size = plural(grid.size, "element")
            name = QFontMetricsF(font).horizontalAdvance(grid.label)
            wide = name + 8 + QFontMetricsF(small).horizontalAdvance(size)
            left, top = box.left(), box.top() - line - 3
            if grid.place == (0, 1):
                left, top = box.left() - wide - 14, box.top() - index - 4
            elif grid.place[1] == 0:
                top -= index + 2
            left, top = max(left, 8.0), max(top, 2.0)
            text(
                self.p, QRectF(left, top, name + 2, line), grid.label, ink, font, LEFT, elide=False
            )
            rest = QRectF(left + name + 8, top, wide, line)
            text(self.p, rest, size, dim, small, LEFT, elide=False)

    def _draw_indices(self) -> None:
        """Row numbers left of A and B, column numbers above them; C shares those."""
        small, color = self.theme.font("small"), self.theme.color("text_faint")
        line = QFontMetricsF(small).height()
        across, down = _tick_step(TICK_ROOM, self.scale), _tick_step(line * 1.15, self.scale)
        for grid in self.layout.grids:
            if grid.place == (1, 1):
                continue
            box, origin = self.layout.box(grid, self.view), self.layout.origin(grid, self.view)
            top, left, rows, columns = self._visible(grid)
            y = max(box.top() - line - 2, 2.0)
            for c in range(-(-left // across) * across, left + columns, across):
                x = origin.x() + (c + 0.5) * self.scale
                area = QRectF(x - 30, y, 60, line)
                text(self.p, area, str(c), color, small, elide=False)
            x = max(box.left() - 6, 30.0)
            for r in range(-(-top // down) * down, top + rows, down):
                y_row = origin.y() + (r + 0.5) * self.scale
                area = QRectF(x - 60, y_row - line / 2, 60, line)
                text(self.p, area, str(r), color, small, RIGHT, elide=False)

    # ---- what a step does

    def draw_step(self, scene: MatrixScene, *, loads: bool) -> None:
        """The marks of one step, over the ground."""
        for grid, marks in zip(self.layout.grids, scene.marks, strict=True):
            box = self.layout.box(grid, self.view)
            self.p.setClipRect(box.adjusted(-3, -3, 3, 3))
            if loads:
                self._draw_heat(grid)
            else:
                self._draw_trail(grid, marks)
            self._draw_band(grid, marks)
            self._draw_lit(grid, marks)
            self._draw_tiles(grid, marks)
            own = scene.own if grid.result else marks.thread
            if self.scale >= OUTLINE_FROM:
                for flat in own[:64].tolist():
                    self._outline(grid, flat, "selected", 2.4)
        self.p.setClipping(False)
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
        self.p.drawLine(QPointF(x, above.bottom() + 2), QPointF(x, cell.top() - 1))

    def _draw_heat(self, grid: Grid) -> None:
        block = self.session.block_trace
        if block is None:
            return
        counts = history_of(block).times_loaded(grid.array.name, grid.size, self.session.step)
        flats = np.flatnonzero(counts)
        if not len(flats):
            return
        levels = counts[flats] * 255 // max(1, int(counts.max()))
        self._draw_cells_colored(grid, flats, self.theme.heat_lut[levels])
        self._draw_hairlines(grid)

    def _draw_band(self, grid: Grid, marks: GridMarks) -> None:
        if marks.band is None:
            return
        rect = self.layout.rect(grid, self.view, marks.band, 1)
        self.p.fillRect(rect, self.theme.color("selected", 0.06 if rect.height() > 3 else 0.4))
        if min(rect.width(), rect.height()) > 4:
            frame(self.p, [rect], pen(self.theme.color("selected", 0.4), 1))

    def _draw_trail(self, grid: Grid, marks: GridMarks) -> None:
        rows, columns = grid.cells(marks.trail)
        self._fill_cells(grid, rows, columns, self.theme.color("load", 0.24), 1.0)

    def _draw_tiles(self, grid: Grid, marks: GridMarks) -> None:
        for tile in marks.tiles:
            rect = inset(self.layout.rect(grid, self.view, tile, 4), -1)
            frame(self.p, [rect], pen(self.theme.color("panel"), 4))
            frame(self.p, [rect], pen(self.theme.color("load"), 2))

    def _draw_lit(self, grid: Grid, marks: GridMarks) -> None:
        if grid.result:
            self._draw_written(grid, marks)
        for flats, strength in ((marks.through, 0.55), (marks.lit, 1.0)):
            if not len(flats):
                continue
            color = self.theme.tint(marks.verb, strength)
            rows, columns = grid.cells(flats)
            self._fill_cells(grid, rows, columns, color, 2.0)
            if self.scale >= GRID_FROM:
                self._draw_gaps(grid, rows, columns)
            self._rewrite(grid, marks, flats, text_on(color, self.theme))

    def _draw_gaps(self, grid: Grid, rows: Ints, columns: Ints) -> None:
        """Hairlines between lit cells, so that they can be counted."""
        if len(rows) > 2048:
            return
        cells = [
            self.layout.rect(grid, self.view, (r, c, 1, 1))
            for r, c in zip(rows.tolist(), columns.tolist(), strict=True)
        ]
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        frame(self.p, cells, pen(self.theme.color("panel", 0.8), 1))
        self.p.setRenderHint(QPainter.RenderHint.Antialiasing, True)

    def _draw_written(self, grid: Grid, marks: GridMarks) -> None:
        """Values of the result as the block has stored them so far."""
        if self.scale < VALUE_FROM or not len(marks.written):
            return
        data = np.zeros(grid.size, marks.values.dtype)
        data[marks.written] = marks.values
        self._write_values(grid, np.unique(marks.written), data, self.theme.color("text"))

    def _rewrite(self, grid: Grid, marks: GridMarks, flats: Ints, ink: QColor) -> None:
        """Values again over lit cells, in a colour that is read on them."""
        if self.scale < VALUE_FROM:
            return
        data = self._initial(grid)
        if grid.result and len(marks.written):
            data = np.zeros(grid.size, marks.values.dtype)
            data[marks.written] = marks.values
        if data is not None:
            self._write_values(grid, flats, data, ink)

    def _outline(self, grid: Grid, flat: int, name: str, width: float) -> None:
        row, column = (int(v[0]) for v in grid.cells(np.array([flat])))
        rect = self.layout.rect(grid, self.view, (row, column, 1, 1), 5)
        frame(self.p, [inset(rect, -0.5)], pen(self.theme.color("panel"), width + 2))
        frame(self.p, [inset(rect, -0.5)], pen(self.theme.color(name), width))

    # ---- what is pointed at

    def draw_pointed(self, scene: MatrixScene, own: Owned | None) -> None:
        """The selected and the hovered element, and a line of text about the latter."""
        chosen, hover = self.session.element, self.session.hover
        for grid in self.layout.grids:
            if chosen is not None and chosen[0] == grid.array.name:
                self._outline(grid, _flat(grid, chosen[1]), "accent", 2.0)
            if hover is not None and hover.element and hover.element[0] == grid.array.name:
                self._outline(grid, _flat(grid, hover.element[1]), "hover", 2.0)
            elif hover is not None and hover.thread is not None and grid.result and own:
                for flat in own.flats[own.threads == hover.thread][:64].tolist():
                    self._outline(grid, flat, "hover", 2.0)
        words = self._about(own)
        small = self.theme.font("small")
        line = QFontMetricsF(small).height()
        area = QRectF(12, self.window.bottom() - line - 6, self.window.width() - 24, line)
        text(self.p, area, words, self.theme.color("text"), small, LEFT)

    def _about(self, own: Owned | None) -> str:
        hover, block = self.session.hover, self.session.block_trace
        if block is None:
            return ""
        element = hover.element if hover is not None else None
        for grid in self.layout.grids:
            if element is not None and element[0] == grid.array.name:
                return self._about_element(grid, _flat(grid, element[1]), own)
        thread = self.session.thread
        words = (
            f"Thread {thread_name(block.threads[thread])}, warp {thread // 32}, lane {thread % 32}"
        )
        for grid in self.layout.grids:
            if grid.result and own is not None:
                mine = own.flats[own.threads == thread]
                if len(mine) == 1:
                    words += f", computes {element_name(grid.array, int(mine[0]))}"
        return words

    def _about_element(self, grid: Grid, flat: int, own: Owned | None) -> str:
        words = element_name(grid.array, flat)
        block = self.session.block_trace
        data = self._initial(grid)
        if data is not None and not grid.result:
            words += f" = {value_text(data[flat].item(), 4)}"
        if grid.result and own is not None and block is not None:
            at = int(np.searchsorted(own.flats, flat))
            if at < len(own.flats) and own.flats[at] == flat:
                thread = int(own.threads[at])
                who = thread_name(block.threads[thread])
                words += f" is stored by thread {who}, warp {thread // 32}, lane {thread % 32}"
        return words


def _flat(grid: Grid, index: tuple[int, ...]) -> int:
    return int(np.ravel_multi_index(index, grid.array.shape))


def _tick_step(room: float, scale: float) -> int:
    """The smallest power of two whose labels have `room` pixels each."""
    step = 1
    while step * scale < room:
        step *= 2
    return step
