"""Where grids lie in the canvas: one scale for all, gaps and margins in pixels."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

from gui.scenes.grids import Grid, Rect

MAX_CELL = 72.0
MIN_CELL = 0.02


@dataclass(frozen=True)
class Margins:
    """Room for labels around and between the grids, in pixels."""

    left: float
    top: float
    right: float
    bottom: float
    gap: float


@dataclass(frozen=True)
class Transform:
    """Cells to pixels: `scale` pixels a cell, `x` and `y` where the picture's corner lies."""

    scale: float
    x: float
    y: float


class MatrixLayout:
    """Grids in rows and columns as their `place` says, each as large as its largest grid."""

    def __init__(self, grids: tuple[Grid, ...], margins: Margins) -> None:
        self.grids, self.margins = grids, margins
        rows = 1 + max((g.place[0] for g in grids), default=0)
        columns = 1 + max((g.place[1] for g in grids), default=0)
        self._heights = [
            max((g.rows + g.overhang[0] for g in grids if g.place[0] == r), default=0)
            for r in range(rows)
        ]
        self._widths = [
            max((g.columns + g.overhang[1] for g in grids if g.place[1] == c), default=0)
            for c in range(columns)
        ]

    def extent(self, scale: float) -> tuple[float, float]:
        """Width and height of the whole picture at a scale, margins included."""
        m = self.margins
        width = m.left + m.right + m.gap * (len(self._widths) - 1) + scale * sum(self._widths)
        height = m.top + m.bottom + m.gap * (len(self._heights) - 1) + scale * sum(self._heights)
        return width, height

    def fit(self, width: float, height: float) -> Transform:
        """The largest scale at which all grids are seen, and the picture centred."""
        fixed_x, fixed_y = self.extent(0.0)
        across, down = max(1, sum(self._widths)), max(1, sum(self._heights))
        scale = min((width - fixed_x) / across, (height - fixed_y) / down, MAX_CELL)
        scale = max(scale, MIN_CELL)
        if scale > 12:
            scale = float(int(scale))
        used_x, used_y = self.extent(scale)
        return Transform(scale, max(0.0, (width - used_x) / 2), max(0.0, (height - used_y) / 2))

    def origin(self, grid: Grid, view: Transform) -> QPointF:
        """The pixel of the corner of cell (0, 0), which may lie outside the grid's window."""
        m, (row, column) = self.margins, grid.place
        x = view.x + m.left + m.gap * column + view.scale * sum(self._widths[:column])
        y = view.y + m.top + m.gap * row + view.scale * sum(self._heights[:row])
        return QPointF(x - grid.left * view.scale, y - grid.top * view.scale)

    def box(self, grid: Grid, view: Transform) -> QRectF:
        """The grid's window in pixels."""
        return self.rect(grid, view, (grid.top, grid.left, grid.rows, grid.columns))

    def rect(self, grid: Grid, view: Transform, cells: Rect, least: float = 0.0) -> QRectF:
        """A rectangle of cells in whole pixels, at least `least` wide and high."""
        origin = self.origin(grid, view)
        row, column, rows, columns = cells
        left, right = (round(origin.x() + view.scale * v) for v in (column, column + columns))
        top, bottom = (round(origin.y() + view.scale * v) for v in (row, row + rows))
        if right - left < least:
            middle = (left + right) / 2
            left, right = round(middle - least / 2), round(middle + least / 2)
        if bottom - top < least:
            middle = (top + bottom) / 2
            top, bottom = round(middle - least / 2), round(middle + least / 2)
        return QRectF(left, top, right - left, bottom - top)

    def cell_at(self, grid: Grid, view: Transform, point: QPointF) -> tuple[int, int] | None:
        """Row and column under a pixel, None outside the grid's window."""
        if not self.box(grid, view).contains(point):
            return None
        origin = self.origin(grid, view)
        column = int((point.x() - origin.x()) // view.scale)
        row = int((point.y() - origin.y()) // view.scale)
        row = min(max(row, grid.top), grid.top + grid.rows - 1)
        return row, min(max(column, grid.left), grid.left + grid.columns - 1)

    def zoomed(self, view: Transform, factor: float, about: QPointF, least: float) -> Transform:
        """The view scaled about a pixel that stays where it is, as nearly as the gaps allow."""
        scale = min(max(view.scale * factor, least), MAX_CELL * 1.5)
        anchor = self._anchor(view, about)
        grid, row, column = anchor
        new = Transform(scale, 0.0, 0.0)
        origin = self.origin(grid, new)
        return Transform(
            scale, about.x() - origin.x() - column * scale, about.y() - origin.y() - row * scale
        )

    def _anchor(self, view: Transform, point: QPointF) -> tuple[Grid, float, float]:
        """The grid nearest to a pixel, and the pixel in its cells."""

        def distance(grid: Grid) -> float:
            box = self.box(grid, view)
            dx = max(box.left() - point.x(), 0.0, point.x() - box.right())
            dy = max(box.top() - point.y(), 0.0, point.y() - box.bottom())
            return dx + dy

        grid = min(self.grids, key=distance)
        origin = self.origin(grid, view)
        row, column = (point.y() - origin.y()) / view.scale, (point.x() - origin.x()) / view.scale
        return grid, row, column
