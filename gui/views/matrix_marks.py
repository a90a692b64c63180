"""What one step does to the matrices, and what is pointed at."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gui.scenes.grids import Grid, Owned, rectangles, shares_of
from gui.scenes.history import Ints, history_of
from gui.scenes.matrices import GridMarks, MatrixScene, heat_levels, touched_by
from gui.scenes.naming import block_name, element_name, elements_name, name_of_thread, value_text
from gui.scenes.once import once_for_each
from gui.scenes.parts import number_at
from gui.scenes.text import join
from gui.views.matrix_drawing import (
    GRID_FROM,
    OUTLINE_FROM,
    CellPicture,
    flat_of,
    one_of,
    picture_of,
    title_widths,
)
from gui.views.matrix_outside import MatrixOutside
from gui.views.painting import (
    LEFT,
    frame,
    inset,
    pen,
    text,
    text_on,
)

THIN = 4  # pixels: in a thinner band nothing shows through
LEAST_LIT = 4.0  # pixels that what a step touches is wide and high


class MatrixMarks(MatrixOutside):
    """The picture over the ground, drawn at every step."""

    def draw(self, scene: MatrixScene, *, loads: bool) -> None:
        """The marks of one step, over the ground."""
        for grid, marks, stored in zip(self.layout.grids, scene.marks, scene.owns, strict=True):
            box = self.layout.box(grid, self.view)
            self.p.setClipRect(box.adjusted(-3, -3, 3, 3))
            if loads:
                self._draw_heat(grid, marks)
            else:
                self._draw_trail(grid, marks)
            self._draw_band(grid, marks)
            self._draw_tiles(grid, marks)
            if loads and not grid.result:
                self._outline(grid, marks.lit, "load", 2.4)
            else:
                self._draw_lit(grid, marks)
            self._draw_seams(grid)
            self._draw_warp(grid, marks)
            own = stored if grid.result else marks.thread
            if self.scale >= OUTLINE_FROM:
                self._outline(grid, own, "selected", 2.4)
            self.p.setClipping(False)
            self.draw_outside(grid, marks)
            self.draw_faults(grid, marks)
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

    def _draw_heat(self, grid: Grid, marks: GridMarks) -> None:
        kept, key = _kept_for(marks), ("heat", self.theme.name)
        if key not in kept:
            kept[key] = self._heat_picture(grid)
        if kept[key] is None:
            return
        self._draw_picture(grid, kept[key])
        self._draw_hairlines(grid)
        if self.values_fit:
            self._write_heat(grid)

    def _heat_picture(self, grid: Grid) -> CellPicture | None:
        flats, times = self._loaded(grid)
        if not len(flats):
            return None
        colors = self.theme.heat_lut[np.rint(heat_levels(times) * 255).astype(int)]
        return picture_of(grid, flats, colors)

    def _write_heat(self, grid: Grid) -> None:
        """How often each element in sight was loaded."""
        flats, times = self._loaded(grid)
        seen = self._seen(grid, flats)
        flats, times = flats[seen], times[seen]
        for count in np.unique(times):
            level = float(heat_levels(np.array([count]))[0])
            ink = text_on(self.theme.heat(level))
            self._write_values(grid, flats[times == count], times[times == count], ink)

    def _loaded(self, grid: Grid) -> tuple[Ints, Ints]:
        block = self.session.block_trace
        assert block is not None, "there are marks of a block's step"
        return history_of(block).loaded(grid.array.name, self.session.step)

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
        kept = _kept_for(marks)
        if "trail" not in kept:
            kept["trail"] = rectangles(*grid.cells(marks.trail))
        self._fill_rectangles(grid, kept["trail"], self.theme.color("load", 0.24), 1.0)

    def _draw_tiles(self, grid: Grid, marks: GridMarks) -> None:
        for tile in marks.tiles:
            rect = self.layout.rect(grid, self.view, tile, LEAST_LIT)
            if self.scale < GRID_FROM:  # a light line within would hide cells
                frame(self.p, [inset(rect, -2)], pen(self.theme.color("load"), 1.5))
                continue
            frame(self.p, [inset(rect, -1)], pen(self.theme.color("panel"), 4))
            frame(self.p, [inset(rect, -1)], pen(self.theme.color("load"), 2))

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
            rows, columns = grid.cells(flats)
            self._fill_cells(grid, rows, columns, color, LEAST_LIT)
            if self.scale >= GRID_FROM:
                self._draw_gaps(grid, flats[self._seen(grid, flats)])
            self._rewrite(grid, marks, flats, text_on(color))

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
            held, ink = marks.so_far, self.theme.color("text")
            self._write_values(grid, held.flats, held.values, ink, slanted=True)
        if len(marks.written):
            flats, values = _stored(marks)
            self._write_values(grid, flats, values, self.theme.color("text"))

    def _rewrite(self, grid: Grid, marks: GridMarks, flats: Ints, ink: QColor) -> None:
        """Values again over lit cells, in a colour that is read on them."""
        if not self.values_fit:
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

    def draw_pointed(
        self, scene: MatrixScene, own: Sequence[Owned], others: Sequence[Owned] = ()
    ) -> None:
        """The selected and the hovered element, and a line of text about the latter.

        `own` is what the selected block stores, `others` what other blocks do.
        """
        chosen, hover = self.session.element, self.session.hover
        for grid in self.layout.grids:
            if chosen is not None and chosen[0] == grid.array.name:
                self._outline(grid, one_of(grid, chosen[1]), "accent", 2.0)
            if hover is not None and hover.element and hover.element[0] == grid.array.name:
                self._outline(grid, one_of(grid, hover.element[1]), "hover", 2.0)
            elif hover is not None and hover.thread is not None:
                self._outline(grid, self._of_thread(grid, hover.thread, own), "hover", 2.0)
        words = self._about(own, others)
        small = self.theme.font("small")
        line = QFontMetricsF(small).height()
        area = QRectF(12, self.window.bottom() - line - 6, self.window.width() - 24, line)
        if any(self.layout.box(g, self.view).intersects(area) for g in self.layout.grids):
            self.p.fillRect(area.adjusted(-12, -3, 12, 6), self.theme.color("panel", 0.88))
        text(self.p, area, words, self.theme.color("text"), small, LEFT)

    def _of_thread(self, grid: Grid, thread: int, own: Sequence[Owned]) -> Ints:
        """What a thread touches of a grid at this step, and what it stores of the result."""
        block = self.session.block_trace
        assert block is not None
        now = touched_by(block, grid.array.name, self.session.step, thread)
        mine = [share.flats[share.threads == thread] for share in shares_of(own, grid)]
        return np.concatenate([now, *mine])

    def _about(self, own: Sequence[Owned], others: Sequence[Owned]) -> str:
        hover, block = self.session.hover, self.session.block_trace
        if block is None:
            return ""
        element = hover.element if hover is not None else None
        for grid in self.layout.grids:
            if element is not None and element[0] == grid.array.name:
                known = shares_of([*own, *others], grid)
                return self._about_element(grid, flat_of(grid, element[1]), known)
        thread = self.session.thread
        words = f"Thread {name_of_thread(block, thread)}, warp {thread // 32}, lane {thread % 32}"
        shares = [(grid, share) for grid in self.layout.grids for share in shares_of(own, grid)]
        stored = [(grid, share.flats[share.threads == thread]) for grid, share in shares]
        names = [elements_name(grid.array, mine) for grid, mine in stored if len(mine)]
        return f"{words}, stores {join(names)}" if names else words

    def _about_element(self, grid: Grid, flat: int, known: Sequence[Owned]) -> str:
        words = element_name(grid.array, flat)
        block = self.session.block_trace
        data = self._initial(grid)
        if data is not None and not grid.result:
            words += f" = {value_text(number_at(grid.array, data, flat), 4)}"
        if self.session.heat and not grid.result and block is not None:
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
        words = f"thread {name_of_thread(block, thread)}, warp {thread // 32}, lane {thread % 32}"
        if number == self.session.block:
            return words
        return f"{words} of block {block_name(block)}"


@once_for_each
def _kept_for(marks: GridMarks) -> dict[Hashable, Any]:
    """What was worked out to paint a step's marks, which are painted again as the view moves."""
    return {}


def _stored(marks: GridMarks) -> tuple[Ints, NDArray[np.generic]]:
    """The elements of the result that were stored, each once and ascending, and what is there."""
    flats, last = np.unique(marks.written[::-1], return_index=True)
    return flats, marks.values[::-1][last]
