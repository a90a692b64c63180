"""Draws where the threads that a bounds check masks off would have gone, beyond the matrices."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF

from gui.scenes.grids import Grid
from gui.scenes.history import Ints
from gui.scenes.matrices import GridMarks
from gui.scenes.text import plural
from gui.views.fault_marks import crossed_out
from gui.views.matrix_drawing import GRID_FROM, MatrixDrawing
from gui.views.painting import LEFT, RIGHT, fill, frame, hatch, pen, text, upright_text

ZERO_FROM = 9.0  # pixels a cell: one figure fits where a value does not


class MatrixOutside(MatrixDrawing):
    """Hatched cells outside a grid, in the room that the layout leaves for them."""

    def draw_outside(self, grid: Grid, marks: GridMarks) -> None:
        """Where masked-off threads would have gone, beyond the matrix."""
        rows, columns = marks.outside
        if not len(rows) or not any(grid.overhang + grid.before + grid.gap):
            return
        color = self.theme.color("guard")
        unique = np.unique(np.stack([rows, columns], axis=1), axis=0)
        cells = [
            self.layout.rect(grid, self.view, (r, c, 1, 1))
            for r, c in self._within_room(grid, unique).tolist()
        ]
        fill(self.p, cells, hatch(color))
        if self.scale >= GRID_FROM:
            frame(self.p, cells, pen(color, 1, Qt.PenStyle.DotLine))
        if marks.filled and self.scale >= ZERO_FROM:
            font = self.theme.mono()
            font.setPointSizeF(min(self.theme.sizes.body, 0.55 * self.scale))
            self.p.setFont(font)
            self.p.setPen(self.theme.color("text"))
            for cell in cells:
                self.p.drawText(cell, Qt.AlignmentFlag.AlignCenter, "0")

    def draw_faults(self, grid: Grid, marks: GridMarks) -> None:
        """What threads at fault wanted, mostly beyond the matrix."""
        rows, columns = marks.faults
        if not len(rows):
            return
        places = np.unique(np.stack([rows, columns], axis=1), axis=0)
        starts = np.array([grid.top, grid.left])
        ends = starts + np.array([grid.rows, grid.columns])
        near = (places >= starts - grid.before) & (places < ends + grid.overhang)
        cells = [
            self.layout.rect(grid, self.view, (r, c, 1, 1), 3)
            for r, c in self._within_room(grid, places[near.all(axis=1)]).tolist()
        ]
        crossed_out(self.p, self.theme, cells)

    def _within_room(self, grid: Grid, places: Ints) -> Ints:
        """Those of the rows and columns (n, 2) that there is room for.

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
        return places

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
            upright_text(self.p, area, words, color, small, RIGHT)
