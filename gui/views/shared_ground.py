"""What lies below a step's marks in a shared array: who wrote each cell, kept as a picture."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter

from gui.looks.theme import Theme
from gui.scenes.grids import rectangles
from gui.scenes.naming import decimals_of, value_text
from gui.scenes.shared import SharedGrid
from gui.views.kept import Kept
from gui.views.painting import fill, hatch, pen, texts
from gui.views.shared_geometry import cells_rect

HAIRLINES_FROM = 5.0  # pixels a cell
Draw = Callable[[QPainter, SharedGrid, QRectF, QSizeF, Theme, int], None]


class SharedGround:
    """Keeps the pictures of a view's arrays from one step to the next.

    Most steps write nothing to shared memory, and then nothing here changes.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Kept] = {}
        self.banks = Kept()

    def draw_cells(
        self, p: QPainter, grid: SharedGrid, box: QRectF, cell: QSizeF, theme: Theme, threads: int
    ) -> None:
        """Written cells in the colour of the thread that wrote them last, others hatched."""
        state = grid.written.tobytes(), grid.writers.tobytes()
        self._draw("cells", _draw_cells, p, (grid, box, cell, theme, threads), state)

    def draw_values(
        self, p: QPainter, grid: SharedGrid, box: QRectF, cell: QSizeF, theme: Theme, threads: int
    ) -> None:
        """What each written cell holds."""
        state = grid.written.tobytes(), grid.values.tobytes()
        self._draw("values", _draw_values, p, (grid, box, cell, theme, threads), state)

    def draw_lines(
        self, p: QPainter, grid: SharedGrid, box: QRectF, cell: QSizeF, theme: Theme, threads: int
    ) -> None:
        """Hairlines between cells that are large enough, and a line between slices."""
        self._draw("lines", _draw_lines, p, (grid, box, cell, theme, threads), None)

    def _draw(
        self,
        what: str,
        draw: Draw,
        p: QPainter,
        parts: tuple[SharedGrid, QRectF, QSizeF, Theme, int],
        written: Hashable,
    ) -> None:
        grid, box, cell, theme, threads = parts
        sizes = box.getRect(), cell.width(), cell.height()
        state = theme.key, threads, grid.array.shape, sizes, written

        def sharply(q: QPainter) -> None:
            hint = QPainter.RenderHint.Antialiasing
            smooth = q.testRenderHint(hint)
            q.setRenderHint(hint, False)
            draw(q, grid, box, cell, theme, threads)
            q.setRenderHint(hint, smooth)

        kept = self._arrays.setdefault(grid.array.name, Kept())
        kept.draw(p, what, box.adjusted(0, 0, 1, 1), state, sharply)


def _draw_cells(
    p: QPainter, grid: SharedGrid, box: QRectF, cell: QSizeF, theme: Theme, threads: int
) -> None:
    fill(p, [box], theme.color("panel"))
    empty_r, empty_c = np.nonzero(~grid.written & grid.present)
    empty = [cells_rect(box, cell, r) for r in rectangles(empty_r, empty_c)]
    fill(p, empty, theme.color("field"))
    fill(p, empty, hatch(theme.color("border")))
    lut = theme.owner_lut("thread", threads)
    pixels = lut[np.maximum(grid.writers, 0)].copy()
    pixels[..., 3] = np.where(grid.written, 150, 0)
    data = np.ascontiguousarray(pixels)
    columns, rows = grid.columns, grid.rows
    image = QImage(data.data, columns, rows, columns * 4, QImage.Format.Format_RGBA8888)
    p.drawImage(box, image)


def value_font(theme: Theme, cell: QSizeF) -> QFont:
    """The type of the values in cells of a size."""
    font = theme.mono()
    sample = QFontMetricsF(font).horizontalAdvance("−0.00")
    font.setPointSizeF(min(theme.sizes.small, font.pointSizeF() * 0.88 * cell.width() / sample))
    return font


def value_at(grid: SharedGrid, row: int, column: int, decimals: int | None) -> str:
    """A cell's value as it is written into it, with the decimals of `written_decimals`."""
    return value_text(grid.values[row, column].item(), decimals=decimals)


def written_decimals(grid: SharedGrid) -> int | None:
    """The decimals that say every value of an array, where there are such."""
    return decimals_of(grid.values[grid.written])


def _draw_values(
    p: QPainter, grid: SharedGrid, box: QRectF, cell: QSizeF, theme: Theme, threads: int
) -> None:
    places = np.argwhere(grid.written).tolist()
    few = written_decimals(grid)
    shown = [(cells_rect(box, cell, (r, c, 1, 1)), value_at(grid, r, c, few)) for r, c in places]
    texts(p, shown, theme.color("text"), value_font(theme, cell))


def _draw_lines(
    p: QPainter, grid: SharedGrid, box: QRectF, cell: QSizeF, theme: Theme, threads: int
) -> None:
    if min(cell.width(), cell.height()) >= HAIRLINES_FROM:
        p.setPen(pen(theme.color("panel", 0.75), 1))
        for r in range(1, grid.rows):
            y = round(box.top() + r * cell.height())
            p.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
        for c in range(1, grid.columns):
            x = round(box.left() + c * cell.width())
            p.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
    if len(grid.array.shape) > 2:
        p.setPen(pen(theme.color("text_dim"), 1))
        for r in range(grid.array.shape[-2], grid.rows, grid.array.shape[-2]):
            y = round(box.top() + r * cell.height())
            p.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
