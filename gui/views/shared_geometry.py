"""Where the parts of the shared memory view lie for a scene and a size."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSizeF
from PySide6.QtGui import QFontMetricsF

from gui.scenes.shared import SharedGrid, SharedScene
from gui.theme import Theme

MAX_CELL = 44.0
WIDER, WIDEST = 2.0, 30.0
"""A cell may be so many times as wide as high; in a tall, narrow array so many pixels wide."""
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


def shared_geometry(scene: SharedScene, box: QRectF, theme: Theme) -> SharedGeometry:
    """Arrays side by side above, banks below: the arrays get what the banks do not need."""
    line = QFontMetricsF(theme.font("small")).height()
    head = QFontMetricsF(theme.font("body", bold=True)).height()
    gap = 2.0 * theme.spacing.margin
    readout = QRectF(box.left(), box.bottom() - line, box.width(), line)
    labels = QRectF(box.left(), readout.top() - 4 - line, box.width(), line)
    top = box.top() + head + 2
    for_banks = max(5.5 * line, 0.26 * box.height())
    above = labels.top() - line - 3 - theme.spacing.gap - top  # arrays and bank columns together
    shares = _shares(scene.grids, box.width() - gap * (len(scene.grids) - 1))
    cells = [
        _cell(grid, share, max(above - for_banks, 0.0))
        for grid, share in zip(scene.grids, shares, strict=True)
    ]
    grids, titles, left = [], [], box.left()
    for grid, cell, share in zip(scene.grids, cells, shares, strict=True):
        width = grid.columns * cell.width()
        grids.append(QRectF(left, top, width, grid.rows * cell.height()))
        titles.append(QRectF(left, box.top(), max(width, share), head))
        left += max(width, share) + gap
    most = 4.0 if scene.banks is None or scene.banks.ways <= 2 else 16.0
    deepest = max(grid.height() for grid in grids)
    bank_height = min(above - deepest, max(for_banks, most * line))
    banks = QRectF(box.left(), labels.top() - bank_height, box.width(), bank_height)
    bank_title = QRectF(box.left(), banks.top() - line - 3, box.width(), line)
    return SharedGeometry(grids, cells, titles, bank_title, banks, labels, readout)


def _shares(grids: tuple[SharedGrid, ...], width: float) -> list[float]:
    """The width that each array may take: by its columns, and not too little for a narrow one."""
    most = max(grid.columns for grid in grids)
    weights = [max(grid.columns, LEAST_SHARE * most) for grid in grids]
    return [width * weight / sum(weights) for weight in weights]


def _cell(grid: SharedGrid, width: float, height: float) -> QSizeF:
    """A square cell where it fits, wider where only the rows need the room."""
    across = width / grid.columns
    high = min(across, MAX_CELL, height / grid.rows)
    high = float(int(high)) if high >= 3 else max(high, 0.5)
    tall = grid.rows >= 2 * grid.columns
    wide = min(across, max(high, WIDEST if tall else WIDER * high), MAX_CELL)
    return QSizeF(float(int(wide)) if wide >= 3 else wide, high)
