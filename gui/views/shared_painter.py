"""Draws one scene of the shared memory view."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, QSizeF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gui.looks.theme import Theme
from gui.scenes.grids import rectangles
from gui.scenes.session import Session
from gui.scenes.shared import BANKS, SharedGrid, SharedScene
from gui.views.bank_painter import BankPainter, hovered_lane
from gui.views.painting import (
    LEFT,
    fill,
    frame,
    inset,
    pen,
    shortest_fit,
    text,
    text_on,
)
from gui.views.shared_geometry import SharedGeometry, cells_rect, cells_sides
from gui.views.shared_ground import SharedGround, write_values
from gui.views.words import write

LANES_FROM, VALUES_FROM = 11.0, 26.0  # pixels a cell


class SharedPainter:
    """The arrays with what is written and touched, and the bank columns."""

    def __init__(
        self, painter: QPainter, theme: Theme, session: Session, ground: SharedGround
    ) -> None:
        self.p, self.theme, self.session, self.ground = painter, theme, session, ground
        block = session.block_trace
        self._threads = block.n_threads if block is not None else 1

    def draw(self, scene: SharedScene, geometry: SharedGeometry) -> None:
        """Everything."""
        for grid, box, title, cell in zip(
            scene.grids, geometry.grids, geometry.titles, geometry.cells, strict=True
        ):
            self._draw_grid(grid, box, cell)
            self._draw_title(grid, title)
        if scene.banks is not None:
            kept = self.ground.banks
            BankPainter(self.p, self.theme, self.session, kept, geometry).draw(scene.banks)

    def _draw_title(self, grid: SharedGrid, box: QRectF) -> None:
        p, theme = self.p, self.theme
        font, small = theme.font("body", bold=True), theme.font("small")
        done = int(np.count_nonzero(grid.written))
        wide, words = self.ground.known(
            ("title", grid.array.name, grid.array.shape, done, box.width(), theme.key),
            lambda: self._title(grid, done, box.width()),
        )
        text(p, box, grid.array.name, theme.color("text"), font, LEFT)
        rest = box.adjusted(wide, 0, 0, 0)
        text(p, rest, words, theme.color("text_dim"), small, LEFT, elide=False)

    def _title(self, grid: SharedGrid, done: int, room: float) -> tuple[float, str]:
        """The width of an array's name, and its size with how much of it is written."""
        font, small = self.theme.font("body", bold=True), self.theme.font("small")
        wide = QFontMetricsF(font).horizontalAdvance(grid.array.name) + 8
        size, whole = " × ".join(str(n) for n in grid.array.shape), grid.size
        if not done:
            states = ["empty"]
        elif done == whole:
            states = ["all written", "full"]
        else:  # a share takes less room than two counts, and says as much
            share = f"{100 * done // whole} %"
            states = [f"{done} of {whole} written", f"{share} written", share]
        choices = [f"{size}   {state}" for state in states] + [size]
        return wide, shortest_fit(choices, small, room - wide)

    def _draw_grid(self, grid: SharedGrid, box: QRectF, cell: QSizeF) -> None:
        p, theme = self.p, self.theme
        p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self.ground.draw_cells(p, grid, box, cell, theme, self._threads)
        lit_r, lit_c = np.divmod(grid.block_lit, grid.columns)
        strong = theme.color("load" if grid.verb == "loads" else "store")
        soft = QColor(strong)
        soft.setAlphaF(0.30)
        fill(p, [cells_rect(box, cell, r) for r in rectangles(lit_r, lit_c)], soft)
        valued = cell.width() >= VALUES_FROM and cell.height() >= LANES_FROM
        if valued:
            self.ground.draw_values(p, grid, box, cell, theme, self._threads)
        mine_r, mine_c = np.divmod(np.unique(grid.warp_lit), grid.columns)
        fill(p, [cells_rect(box, cell, r) for r in rectangles(mine_r, mine_c)], strong)
        self._draw_bank_cells(grid, box, cell)
        self.ground.draw_lines(p, grid, box, cell, theme, self._threads)
        frame(p, [box], pen(theme.color("border"), 1))
        p.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        self._draw_words(grid, box, cell, text_on(strong), valued=valued)

    def _draw_bank_cells(self, grid: SharedGrid, box: QRectF, cell: QSizeF) -> None:
        """Outline the cells of the hovered bank."""
        p, theme = self.p, self.theme
        hover = self.session.hover
        if hover is None or hover.bank is None:
            return
        flats = np.arange(grid.size)
        address = grid.array.offset + flats * grid.array.dtype.itemsize
        rows, columns = np.divmod(flats[address // 4 % BANKS == hover.bank], grid.columns)
        rects = [cells_rect(box, cell, r) for r in rectangles(rows, columns)]
        frame(p, [inset(r, 0.5) for r in rects], pen(theme.color("hover"), 2))

    def _draw_words(
        self, grid: SharedGrid, box: QRectF, cell: QSizeF, ink: QColor, *, valued: bool
    ) -> None:
        """Over the cells that the warp touches, their values or the lanes, and whose they are."""
        p, theme = self.p, self.theme
        if not len(grid.warp_lit):
            return
        lit: dict[int, list[int]] = {}
        for flat, lane in zip(grid.warp_lit.tolist(), grid.warp_lanes.tolist(), strict=True):
            lit.setdefault(flat, []).append(lane)
        rows, columns = np.divmod(np.fromiter(lit, np.int64, len(lit)), grid.columns)
        if valued:
            there = grid.written[rows, columns]
            write_values(p, grid, box, cell, theme, (rows[there], columns[there]), ink)
        elif min(cell.width(), cell.height()) >= LANES_FROM:
            font = theme.font("small")
            font.setPointSizeF(min(theme.sizes.small, cell.height() * 0.5))
            names = [
                str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}" for lanes in lit.values()
            ]
            write(p, cells_sides(box, cell, rows, columns), names, ink, font)
        lanes_lit = {self.session.lane: "selected"}
        hovered = hovered_lane(self.session)
        if hovered is not None:
            lanes_lit[hovered] = "hover"
        for lane, name in lanes_lit.items():
            mine = [divmod(flat, grid.columns) for flat, lanes in lit.items() if lane in lanes]
            framed = [cells_rect(box, cell, (*place, 1, 1)) for place in mine]
            frame(p, framed, pen(theme.color(name), 2))
