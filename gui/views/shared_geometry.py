"""Where the parts of the shared memory view lie for a scene and a size."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QFontMetricsF

from gui.looks.theme import Theme
from gui.scenes.history import Ints
from gui.scenes.shared import SharedGrid, SharedScene

MAX_CELL = 4.4
WIDER, WIDEST = 2.0, 3.0
"""The most pixels of a cell for each point of the theme's type. It may be so many times as wide as
high, or as high as wide; in a tall, narrow array so many pixels a point wide, in a flat one
high."""
ROOMY, CLOSE, LEAST = 5.5, 3.4, 2.2
"""Lines of text that the bank columns are high: where there is room, where cells need it, and where
the cells of a few rows would not be legible even so."""
FEW_ROWS = 8
VALUE = 1.3  # lines of text that a cell with its value is high
LEAST_SHARE = 0.5  # of the widest array's room, for one of few columns


@dataclass
class SharedGeometry:
    """Where the arrays and the bank columns lie, in the widget's coordinates."""

    grids: list[QRectF]
    cells: list[QSizeF]
    titles: list[QRectF]
    bank_title: QRectF
    banks: QRectF
    labels: QRectF
    readout: QRectF


def cells_rect(box: QRectF, cell: QSizeF, rect: tuple[int, int, int, int]) -> QRectF:
    """A rectangle of cells (row, column, rows, columns) of a grid in whole pixels."""
    row, column, rows, columns = rect
    wide, high = cell.width(), cell.height()
    left, right = round(box.left() + column * wide), round(box.left() + (column + columns) * wide)
    top, bottom = round(box.top() + row * high), round(box.top() + (row + rows) * high)
    return QRectF(left, top, right - left, bottom - top)


def cells_sides(box: QRectF, cell: QSizeF, rows: Ints, columns: Ints) -> NDArray[np.float64]:
    """Many single cells as `cells_rect` gives them: left, top, width, height, float64 (4, n)."""
    wide, high = cell.width(), cell.height()
    left, right = (np.rint(box.left() + c * wide) for c in (columns, columns + 1))
    top, bottom = (np.rint(box.top() + r * high) for r in (rows, rows + 1))
    return np.stack([left, top, right - left, bottom - top])


@dataclass(frozen=True)
class _Place:
    """Where one array lies, with its title."""

    grid: QRectF
    cell: QSizeF
    title: QRectF

    @property
    def legible(self) -> float:
        """The smaller side of a cell."""
        return min(self.cell.width(), self.cell.height())


def depends_on(scene: SharedScene) -> Hashable:
    """All of a scene that says where things lie."""
    return tuple((grid.rows, grid.columns) for grid in scene.grids), _many_words(scene)


def shared_geometry(scene: SharedScene, box: QRectF, theme: Theme) -> SharedGeometry:
    """Arrays above, banks below: the arrays get what the banks do not need.

    Arrays lie beside each other, or below each other where their cells are larger so.
    """
    line = QFontMetricsF(theme.font("small")).height()
    head = QFontMetricsF(theme.font("body", bold=True)).height()
    readout = QRectF(box.left(), box.bottom() - line, box.width(), line)
    labels = QRectF(box.left(), readout.top() - 4 - line, box.width(), line)
    whole = labels.top() - line - 3 - theme.spacing.gap - box.top()  # arrays and bank columns
    for_banks = max(ROOMY * line, 0.26 * box.height())
    places = _arrays(scene.grids, box, whole - for_banks, head, theme)
    if min(p.legible for p in places) < VALUE * line:
        closer = _arrays(scene.grids, box, whole - CLOSE * line, head, theme)
        if min(p.legible for p in closer) >= VALUE * line:
            places, for_banks = closer, CLOSE * line
        elif max(grid.rows for grid in scene.grids) <= FEW_ROWS:
            places = _arrays(scene.grids, box, whole - LEAST * line, head, theme)
            for_banks = LEAST * line
    most = 16.0 if _many_words(scene) else 4.0
    deepest = max(place.grid.bottom() for place in places)
    bank_height = min(box.top() + whole - deepest, max(for_banks, most * line))
    banks = QRectF(box.left(), labels.top() - bank_height, box.width(), bank_height)
    bank_title = QRectF(box.left(), banks.top() - line - 3, box.width(), line)
    return SharedGeometry(
        [place.grid for place in places],
        [place.cell for place in places],
        [place.title for place in places],
        bank_title,
        banks,
        labels,
        readout,
    )


def _many_words(scene: SharedScene) -> bool:
    """Whether words are stacked up high in a bank."""
    return scene.banks is not None and scene.banks.highest > 2


def _arrays(
    grids: tuple[SharedGrid, ...], box: QRectF, height: float, head: float, theme: Theme
) -> list[_Place]:
    """The arrays in the upper part of a box, beside or below each other."""
    room = QRectF(box.left(), box.top(), box.width(), max(height, 0.0))
    points = theme.sizes.body
    beside = _beside(grids, room, head, 2.0 * theme.spacing.margin, points)
    below = _below(grids, room, head, theme.spacing.gap, points)
    better = min(p.legible for p in below) > min(p.legible for p in beside)
    return below if better else beside


def _beside(
    grids: tuple[SharedGrid, ...], room: QRectF, head: float, gap: float, points: float
) -> list[_Place]:
    shares = _shares(grids, room.width() - gap * (len(grids) - 1))
    places, left, top = [], room.left(), room.top() + head + 2
    for grid, share in zip(grids, shares, strict=True):
        cell = _cell(grid, share, max(room.height() - head - 2, 0.0), points)
        width = grid.columns * cell.width()
        title = QRectF(left, room.top(), max(width, share), head)
        places.append(_Place(QRectF(left, top, width, grid.rows * cell.height()), cell, title))
        left += max(width, share) + gap
    return places


def _below(
    grids: tuple[SharedGrid, ...], room: QRectF, head: float, gap: float, points: float
) -> list[_Place]:
    free = room.height() - len(grids) * (head + 2) - gap * (len(grids) - 1)
    rows = sum(grid.rows for grid in grids)
    places, top = [], room.top()
    for grid in grids:
        cell = _cell(grid, room.width(), max(free * grid.rows / rows, 0.0), points)
        title = QRectF(room.left(), top, room.width(), head)
        top += head + 2
        size = QSizeF(grid.columns * cell.width(), grid.rows * cell.height())
        places.append(_Place(QRectF(QPointF(room.left(), top), size), cell, title))
        top += size.height() + gap
    return places


def _shares(grids: tuple[SharedGrid, ...], width: float) -> list[float]:
    """The width that each array may take: by its columns, and not too little for a narrow one."""
    most = max(grid.columns for grid in grids)
    weights = [max(grid.columns, LEAST_SHARE * most) for grid in grids]
    return [width * weight / sum(weights) for weight in weights]


def _cell(grid: SharedGrid, width: float, height: float, points: float) -> QSizeF:
    """A square cell where it fits, stretched where one direction has more room."""
    most, widest = MAX_CELL * points, WIDEST * points
    across, down = width / grid.columns, height / grid.rows
    side = min(across, down, most)
    tall, flat = grid.rows >= 2 * grid.columns, grid.columns >= 2 * grid.rows
    wide = min(across, max(side, widest if tall else WIDER * side), most)
    high = min(down, max(side, widest if flat else WIDER * side), most)
    return QSizeF(_whole(wide), _whole(high))


def _whole(size: float) -> float:
    return float(int(size)) if size >= 3 else max(size, 0.5)
