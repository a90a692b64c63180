"""What stays the same from step to step: grids, owners, inputs, names, indices and the legend."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF

from gui.looks.theme import FEW_THREADS
from gui.scenes.grids import Grid, Owned, shares_of
from gui.scenes.history import history_of
from gui.scenes.matrices import heat_levels
from gui.scenes.reaches import reaches_of
from gui.views.legend import Key, draw_legend, draw_legend_row
from gui.views.matrix_drawing import (
    NAME_GAP,
    TICK_ROOM,
    MatrixDrawing,
    size_words,
    tick_step,
    title_widths,
)
from gui.views.painting import LEFT, RIGHT, fill, frame, pen, text
from gui.views.words import write

VEIL = 0.94  # opacity of what lies under names and numbers over cells
BESIDE_FROM = 190.0  # pixels left of A from which the legend has the whole height there
TIMES = (0, 1, 2, 4, 8, 16, 32)  # loads whose colours the legend shows


class MatrixGround(MatrixDrawing):
    """The picture under the marks, drawn once for a view, a block and a theme."""

    def draw(
        self, own: Sequence[Owned], others: Sequence[Owned], covered: int | None = None
    ) -> None:
        """Grids, owners, values of what was there before the launch, indices and names.

        What is loaded up to the step `covered` is covered by the heat, and needs no values.
        """
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
            if not grid.result:
                self._draw_inputs(grid, covered)
        if self.fits_all():
            self.draw_edges()
            corner = self._corner()
            if corner.isEmpty():
                draw_legend_row(self.p, self._foot(), self.theme, self._key())
            else:
                draw_legend(self.p, corner, self.theme, self._key())

    def fits_all(self) -> bool:
        """Whether every grid is in sight as a whole."""
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
        """What the marks mean, for the legend."""
        trace, block = self.session.trace, self.session.block_trace
        if trace is None or block is None:
            return []
        color, tint = self.theme.color, self.theme.tint
        loads, few = self.session.heat, block.n_threads <= FEW_THREADS
        keys = self._heat_key() if loads else [Key("Loaded now", (color("load"),))]
        if not loads:
            keys.append(Key("Stored now", (color("store"),)))
        keys.append(Key("Selected thread", (), color("selected"), "Thread"))
        if not loads:
            who = "the selected thread's warp" if self.session.warp_trail else "the selected thread"
            faint = (tint("load", 0.24),)
            keys.append(Key(f"Read so far by {who}", faint, None, "Read so far"))
        if len(block.phases):
            keys.append(Key("Loaded in this phase", (), color("load"), "This phase"))
        if trace.shared_arrays and not loads:
            copy = (tint("load", 0.55),)
            keys.append(Key("Its copy in shared memory loaded now", copy, None, "Copy loaded now"))
        owners = tuple(
            self.theme.owner_color("thread", i, block.n_threads)
            for i in range(0, block.n_threads, 1 if few else 32)[:4]
        )
        results = [grid.label for grid in self.layout.grids if grid.result]
        if results:
            owner = f"Owner in {results[0]}" if len(results) == 1 else "Owner"
            words = f"{owner}, a colour a {'thread' if few else 'warp'}"
            keys.append(Key(words, owners, None, owner))
        reaches = reaches_of(trace)
        seen = [g for g in self.layout.grids if any(g.overhang + g.before + g.gap)]
        if any(reaches.faults(g) for g in seen):
            fault = Key("Outside the array: a fault", (color("error"),), None, "Fault", (), True)
            keys.insert(3 if loads else 1, fault)  # never left out for want of room
        if any(reaches.masked(g) or any(g.gap) for g in seen):
            guard = (color("guard"),)
            keys.append(Key("Outside: masked off by a bounds check", guard, None, "Masked off"))
        return keys

    def _heat_key(self) -> list[Key]:
        """The heat scale with its numbers, and what is drawn with it."""
        levels = heat_levels(np.array(TIMES)).tolist()
        numbers = (*map(str, TIMES[:-1]), f"{TIMES[-1]}+")
        ramp = Key("", tuple(map(self.theme.heat, levels)), None, "", numbers)
        return [Key("Times loaded"), ramp, Key("Loaded now", (), self.theme.color("load"))]

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

    def _draw_inputs(self, grid: Grid, covered: int | None) -> None:
        if not self.values_fit:
            return
        data = self._initial(grid)
        if data is None:
            return
        shown = grid.flats(self._visible(grid))
        block, ink = self.session.block_trace, self.theme.color("text_dim")
        if covered is None or block is None:
            self._write_values(grid, shown, data[shown], ink)
            return
        hidden = history_of(block).loaded(grid.array.name, covered)[0]
        self._write_values(grid, shown, data[shown], ink, but=hidden)

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
        small = self.theme.font("small")
        across, down = tick_step(TICK_ROOM, self.across), tick_step(line * 1.15, self.scale)
        box, origin = self.layout.around(grid, self.view), self.layout.origin(grid, self.view)
        top, left, rows, columns = self._visible(grid)
        shown = np.arange(-(-left // across) * across, left + columns, across)
        middle = origin.x() + (shown + 0.5) * self.across
        sides = _boxes(middle - 30, max(box.top() - line - 2, 2.0), 60, line)
        write(self.p, sides, list(map(grid.column_name, shown.tolist())), color, small)
        shown = np.arange(-(-top // down) * down, top + rows, down)
        middle = origin.y() + (shown + 0.5) * self.scale
        sides = _boxes(max(box.left() - 6, side - 4) - 60, middle - line / 2, 60, line)
        write(self.p, sides, list(map(grid.row_name, shown.tolist())), color, small, RIGHT)


def _boxes(*sides: float | NDArray[np.floating]) -> NDArray[np.float64]:
    """Left, top, width and height of rectangles, as rows."""
    return np.stack(np.broadcast_arrays(*sides))
