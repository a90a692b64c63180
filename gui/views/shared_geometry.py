"""Where the parts of the shared memory view lie for a scene and a size."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF

from gui.scenes.shared import SharedScene
from gui.theme import Theme

MAX_CELL = 44.0


@dataclass
class SharedGeometry:
    """Where the arrays and the bank columns lie, in the widget's coordinates."""

    grids: list[QRectF]
    cells: list[float]
    titles: list[QRectF]
    bank_title: QRectF
    banks: QRectF
    labels: QRectF
    readout: QRectF


def cells_rect(box: QRectF, cell: float, rect: tuple[int, int, int, int]) -> QRectF:
    """A rectangle of cells (row, column, rows, columns) of a grid in whole pixels."""
    row, column, rows, columns = rect
    left, right = round(box.left() + column * cell), round(box.left() + (column + columns) * cell)
    top, bottom = round(box.top() + row * cell), round(box.top() + (row + rows) * cell)
    return QRectF(left, top, right - left, bottom - top)


def shared_geometry(scene: SharedScene, box: QRectF, theme: Theme) -> SharedGeometry:
    """Arrays side by side above, banks below: the arrays get what the banks do not need."""
    line = QFontMetricsF(theme.font("small")).height()
    head = QFontMetricsF(theme.font("body", bold=True)).height()
    gap = 2.0 * theme.spacing.margin
    readout = QRectF(box.left(), box.bottom() - line, box.width(), line)
    labels = QRectF(box.left(), readout.top() - 4 - line, box.width(), line)
    top = box.top() + head + 2
    count = len(scene.grids)
    columns = sum(g.columns for g in scene.grids)
    rows = max(1, *(g.rows for g in scene.grids))
    cell = min((box.width() - gap * (count - 1)) / max(1, columns), MAX_CELL)
    for_banks = max(5.5 * line, 0.26 * box.height())
    above = labels.top() - line - 3 - theme.spacing.gap - top  # arrays and bank columns together
    cell = min(cell, max(above - for_banks, 0.0) / rows)
    cell = float(int(cell)) if cell >= 3 else max(cell, 0.5)
    most = 4.0 if scene.banks is None or scene.banks.ways <= 2 else 16.0
    bank_height = min(above - cell * rows, max(for_banks, most * line))
    banks = QRectF(box.left(), labels.top() - bank_height, box.width(), bank_height)
    bank_title = QRectF(box.left(), banks.top() - line - 3, box.width(), line)
    grids, titles, left = [], [], box.left()
    share = (box.width() - gap * (count - 1)) / count
    for grid in scene.grids:
        width = grid.columns * cell
        grids.append(QRectF(left, top, width, grid.rows * cell))
        titles.append(QRectF(left, box.top(), max(width, share), head))
        left += max(width, share) + gap
    return SharedGeometry(grids, [cell] * count, titles, bank_title, banks, labels, readout)
