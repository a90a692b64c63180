"""What lies below a step's marks in a shared array: who wrote each cell, kept as a picture."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter

from gui.looks.theme import Theme
from gui.scenes.grids import rectangles
from gui.scenes.history import Ints
from gui.scenes.naming import decimals_of, value_text
from gui.scenes.shared import SharedGrid
from gui.views.kept import Kept
from gui.views.painting import fill, hatch, pen
from gui.views.shared_geometry import cells_rect, cells_sides
from gui.views.words import write

HAIRLINES_FROM = 5.0  # pixels a cell
MOST_TITLES = 200
Places = tuple[Ints, Ints]
Draw = Callable[[QPainter, SharedGrid, QRectF, QSizeF, Theme, int], None]


class SharedGround:
    """Keeps the pictures of a view's arrays from one step to the next.

    Most steps write nothing to shared memory, and then nothing here changes.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Kept] = {}
        self.banks = Kept()
        self._titles: dict[Hashable, tuple[float, str]] = {}

    def known(self, of: Hashable, make: Callable[[], tuple[float, str]]) -> tuple[float, str]:
        """What was made of an array's title, which stays the same for many steps."""
        if of not in self._titles:
            if len(self._titles) > MOST_TITLES:
                self._titles.clear()
            self._titles[of] = make()
        return self._titles[of]

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


def write_values(
    p: QPainter, grid: SharedGrid, box: QRectF, cell: QSizeF, theme: Theme, places: Places,
    ink: QColor,
) -> None:  # fmt: skip
    """Write what cells hold (their rows and columns) into them.

    They have the decimals that say every value of the array, where there are such.
    """
    rows, columns = places
    few = decimals_of(grid.values[grid.written])
    words = [value_text(value, decimals=few) for value in grid.values[rows, columns].tolist()]
    write(p, cells_sides(box, cell, rows, columns), words, ink, value_font(theme, cell))


def _draw_values(
    p: QPainter, grid: SharedGrid, box: QRectF, cell: QSizeF, theme: Theme, threads: int
) -> None:
    rows, columns = np.nonzero(grid.written)
    write_values(p, grid, box, cell, theme, (rows, columns), theme.color("text"))


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
