"""Draws one scene of the shared memory view."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, QSizeF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gui.scenes.grids import rectangles
from gui.scenes.naming import value_text
from gui.scenes.session import Session
from gui.scenes.shared import BANKS, BankScene, SharedGrid, SharedScene, Word, lane_label
from gui.scenes.warp import LANES
from gui.theme import Theme
from gui.views.painting import (
    CENTRE,
    LEFT,
    fill,
    frame,
    inset,
    pen,
    text,
    text_on,
    upright_text,
)
from gui.views.shared_geometry import SharedGeometry, cells_rect
from gui.views.shared_ground import SharedGround

STALE = 0.58  # opacity of an access that is not of this step
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
        """Everything; the banks paler where the access is not of this step."""
        for grid, box, title, cell in zip(
            scene.grids, geometry.grids, geometry.titles, geometry.cells, strict=True
        ):
            self._draw_grid(grid, box, cell)
            self._draw_title(grid, title)
        if scene.banks is not None:
            self.p.setOpacity(1.0 if scene.banks.live else STALE)
            self._draw_banks(scene.banks, geometry)
            self.p.setOpacity(1.0)

    def _draw_title(self, grid: SharedGrid, box: QRectF) -> None:
        p, theme = self.p, self.theme
        font, small = theme.font("body", bold=True), theme.font("small")
        wide = QFontMetricsF(font).horizontalAdvance(grid.array.name) + 8
        text(p, box, grid.array.name, theme.color("text"), font, LEFT)
        size = " × ".join(str(n) for n in grid.array.shape)
        done, whole = int(grid.written.sum()), grid.size
        state = "all written" if done == whole else f"{done} of {whole} written"
        state = state if done else "empty"
        rest = box.adjusted(wide, 0, 0, 0)
        text(p, rest, f"{size}   {state}", theme.color("text_dim"), small, LEFT)

    def _draw_grid(self, grid: SharedGrid, box: QRectF, cell: QSizeF) -> None:
        p, theme = self.p, self.theme
        p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self.ground.draw_cells(p, grid, box, cell, theme, self._threads)
        lit_r, lit_c = np.divmod(grid.block_lit, grid.columns)
        strong = theme.color("load" if grid.verb == "loads" else "store")
        soft = QColor(strong)
        soft.setAlphaF(0.30)
        fill(p, [cells_rect(box, cell, r) for r in rectangles(lit_r, lit_c)], soft)
        mine_r, mine_c = np.divmod(np.unique(grid.warp_lit), grid.columns)
        fill(p, [cells_rect(box, cell, r) for r in rectangles(mine_r, mine_c)], strong)
        self._draw_bank_cells(grid, box, cell)
        self.ground.draw_lines(p, grid, box, cell, theme, self._threads)
        frame(p, [box], pen(theme.color("border"), 1))
        p.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        self._draw_words(grid, box, cell, text_on(strong))

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

    def _draw_words(self, grid: SharedGrid, box: QRectF, cell: QSizeF, ink: QColor) -> None:
        p, theme = self.p, self.theme
        lit: dict[int, list[int]] = {}
        for flat, lane in zip(grid.warp_lit.tolist(), grid.warp_lanes.tolist(), strict=True):
            lit.setdefault(flat, []).append(lane)
        high = cell.height()
        if cell.width() >= VALUES_FROM and high >= LANES_FROM:
            font = theme.mono()
            sample = QFontMetricsF(font).horizontalAdvance("−0.00")
            font.setPointSizeF(
                min(theme.sizes.small, font.pointSizeF() * (cell.width() - 3) / sample)
            )
            for r, c in zip(*np.nonzero(grid.written), strict=True):
                color = ink if int(r) * grid.columns + int(c) in lit else theme.color("text")
                rect = cells_rect(box, cell, (int(r), int(c), 1, 1))
                text(p, rect, value_text(grid.values[r, c].item()), color, font, elide=False)
        elif min(cell.width(), high) >= LANES_FROM:
            font = theme.font("small")
            font.setPointSizeF(min(theme.sizes.small, high * 0.5))
            for flat, lanes in lit.items():
                rect = cells_rect(box, cell, (*divmod(flat, grid.columns), 1, 1))
                words = str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}"
                text(p, rect, words, ink, font, elide=False)
        lanes_lit = {self.session.lane: "selected"}
        hovered = self._hovered_lane()
        if hovered is not None:
            lanes_lit[hovered] = "hover"
        for flat, lanes in lit.items():
            for lane, name in lanes_lit.items():
                if lane in lanes:
                    rect = cells_rect(box, cell, (*divmod(flat, grid.columns), 1, 1))
                    frame(p, [inset(rect, 0)], pen(theme.color(name), 2))

    def _draw_banks(self, banks: BankScene, g: SharedGeometry) -> None:
        p, theme = self.p, self.theme
        small = theme.font("small")
        lanes = f"{banks.active} lanes" if banks.active != 1 else "1 lane"
        words = (
            f"Banks   {lanes}, {banks.wavefronts} wavefront{'s' * (banks.wavefronts != 1)}"
            f" (ideal {banks.ideal})"
        )
        text(p, g.bank_title, words, theme.color("text_dim"), small, LEFT)
        wide = g.banks.width() / BANKS
        most = max(1, banks.ways)
        metrics = QFontMetricsF(small)
        line = metrics.height()
        room = g.banks.height() - line
        high = min(room / most, 3.4 * line)
        every = 1 if wide >= 0.95 * metrics.horizontalAdvance("00") else 4
        fill(
            p,
            [
                QRectF(g.banks.left() + i * wide + 1, g.banks.top(), wide - 2, g.banks.height())
                for i in range(BANKS)
            ],
            theme.color("raised", 0.6),
        )
        hover = self.session.hover
        for bank, asked in enumerate(banks.words):
            left = g.banks.left() + bank * wide
            conflict = banks.conflicts > 0 and len(asked) > 1
            calm = "load" if banks.verb == "loads" else "store"
            strong = theme.color("conflict" if conflict else calm)
            bottom = g.banks.bottom()
            rects = [
                QRectF(left + 1, bottom - (number + 1) * high, wide - 2, high)
                for number in range(len(asked))
            ]
            fill(p, [_body(rect) for rect in rects], strong)
            for word, rect in zip(asked, rects, strict=True):
                self._draw_word(word, rect, strong)
            before = len(banks.words[bank - 1]) if bank else 0
            if conflict and (len(asked) != before or wide > 2.2 * line):
                top = g.banks.bottom() - len(asked) * high - line
                above = QRectF(left - 6, top, wide + 12, line)
                bold = theme.font("small", bold=True)
                text(p, above, f"×{len(asked)}", theme.color("conflict"), bold, elide=False)
            label = QRectF(left, g.labels.top(), wide, g.labels.height())
            lit = hover is not None and hover.bank == bank
            words = str(bank) if bank % every == 0 or lit else ""
            text(
                p,
                label,
                words,
                theme.color("text" if asked or lit else "text_faint"),
                small,
                elide=False,
            )
            if lit:
                frame(
                    p,
                    [QRectF(left, g.banks.top(), wide, g.labels.bottom() - g.banks.top())],
                    pen(theme.color("hover"), 2),
                )

    def _draw_word(self, word: Word, rect: QRectF, strong: QColor) -> None:
        p, theme = self.p, self.theme
        body = _body(rect)
        small = theme.font("small")
        small.setPointSizeF(min(theme.sizes.small, 0.7 * body.width()))
        metrics, ink, label = QFontMetricsF(small), text_on(strong), lane_label(word.lanes)
        wide = metrics.horizontalAdvance(label)
        if small.pointSizeF() < 0.6 * theme.sizes.small:
            pass
        elif wide <= body.width() + 2 and body.height() >= metrics.height() * 0.8:
            text(p, body, label, ink, small, elide=False)
        elif wide <= body.height():
            upright_text(p, body, label, ink, small, CENTRE)
        if self.session.lane in word.lanes and rect.height() > 4:
            frame(p, [inset(body, 0.5)], pen(theme.color("selected"), 1.6))
        if self._hovered_lane() in word.lanes:
            frame(p, [inset(body, 0.5)], pen(theme.color("hover"), 1.6))

    def _hovered_lane(self) -> int | None:
        hover = self.session.hover
        if hover is None or hover.thread is None or hover.thread // LANES != self.session.warp:
            return None
        return hover.thread % LANES


def _body(rect: QRectF) -> QRectF:
    """A word's rectangle without the gap to the one above it."""
    return rect.adjusted(0, 1.0 if rect.height() > 5 else 0.4, 0, 0)
