"""Where the parts of the warp view lie for a scene and a size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF

from gui.scenes.warp import LANES
from gui.theme import Theme
from gui.views.painting import figures_height

if TYPE_CHECKING:
    from gui.scenes.warp import LineStrip, WarpScene

SECTORS = 4
LINE_GAP, SECTOR_GAP = 12.0, 2.0


@dataclass
class StripLine:
    """One 128-byte line: its label, its sectors, and the cells of the sectors that are fetched."""

    label: QRectF
    box: QRectF
    sectors: list[QRectF]
    cells: dict[int, QRectF] = field(default_factory=dict)


@dataclass
class WarpGeometry:
    """Rectangles in the widget's coordinates; an empty one is left out of the picture."""

    figures: QRectF
    bar: QRectF
    groups: QRectF
    lanes: list[QRectF]
    names: list[QRectF]
    strip: list[StripLine]
    rows: int
    cell_width: float
    readout: QRectF
    overview_title: QRectF
    overview: list[QRectF]
    overview_label: float


def warp_geometry(scene: WarpScene, box: QRectF, theme: Theme) -> WarpGeometry:
    """Lay the scene out in `box`, leaving out the least important parts where it is too low."""
    small = QFontMetricsF(theme.font("small"))
    line, gap = small.height(), float(theme.spacing.gap)
    lane = box.width() / LANES
    figures = QRectF(box.left(), box.top(), box.width(), figures_height(theme))
    bar = QRectF(box.left(), figures.bottom() + 5, box.width(), 7)
    top = bar.bottom() + gap

    label = line
    overview_height = line + 2 + 1.6 * line + label
    bottom = box.bottom()
    roomy = box.height() > 19 * line
    overview: list[QRectF] = []
    title = QRectF()
    if roomy and len(scene.warps) > 1:
        overview_top = bottom - overview_height
        title = QRectF(box.left(), overview_top, box.width(), line)
        width = min(box.width() / len(scene.warps), 3.2 * line)
        overview = [
            QRectF(box.left() + i * width, title.bottom() + 2, width - 2, 1.6 * line)
            for i in range(len(scene.warps))
        ]
        bottom = overview_top - gap
    readout = QRectF(box.left(), bottom - line, box.width(), line)
    bottom = readout.top() - 4

    groups = QRectF(box.left(), top, box.width(), line + 3)
    lanes_top = groups.bottom()
    lane_height = max(1.35 * line, min(lane, 2 * line))
    lanes = [
        QRectF(box.left() + i * lane, lanes_top, lane, lane_height).adjusted(0.5, 0, -0.5, 0)
        for i in range(LANES)
    ]
    longest = max((small.horizontalAdvance(n) for n in scene.names if n), default=0.0)
    names_height = longest + 6 if lane >= 0.8 * line and box.height() > 26 * line else 0.0
    names = [
        QRectF(r.left(), r.bottom() + 1, r.width(), names_height) for r in lanes if names_height
    ]
    strip_top = lanes[0].bottom() + names_height + (2.6 if names_height else 2.0) * line
    strip, rows, cell = _strip(
        scene.lines, QRectF(box.left(), strip_top, box.width(), bottom - strip_top), lane, line
    )
    return WarpGeometry(
        figures, bar, groups, lanes, names, strip, rows, cell, readout, title, overview, label
    )


def _strip(
    lines: tuple[LineStrip, ...], area: QRectF, lane: float, text: float
) -> tuple[list[StripLine], int, float]:
    """The lines in as many rows as they need: the widest cells with which all rows fit."""
    whole = len(lines) == 1
    cell = lane
    while True:
        rows = _pack(lines, area.width(), cell, whole)
        count = rows[-1] + 1 if rows else 0
        height = _row_height(cell, text)
        if count * height <= area.height() or cell <= 3.0:
            break
        cell = max(3.0, cell - 0.25)
    if count > 1 or not whole:
        height = min(height * 1.15, area.height() / max(count, 1))
    result, left, previous = [], area.left(), 0
    for line, row in zip(lines, rows, strict=True):
        if row != previous:
            left, previous = area.left(), row
        top = area.top() + row * height
        placed = _place(line, left, top, cell, text, whole)
        result.append(placed)
        left = placed.box.right() + LINE_GAP
    if whole or count == 1:
        shift = (area.right() - result[-1].box.right()) / 2 if result else 0.0
        for placed in result:
            _shift(placed, shift)
    return result, count, cell


def _row_height(cell: float, text: float) -> float:
    return text + 1 + max(min(cell * 1.25, 1.9 * text), 9.0) + 0.55 * text


def _widths(line: LineStrip, cell: float, whole: bool) -> list[float]:
    closed = max(5.0, 0.6 * cell)
    return [8 * cell if fetched or whole else closed for fetched in line.fetched]


def _pack(lines: tuple[LineStrip, ...], width: float, cell: float, whole: bool) -> list[int]:
    rows: list[int] = []
    row, used = 0, 0.0
    for line in lines:
        need = sum(_widths(line, cell, whole)) + 3 * SECTOR_GAP * (not whole)
        if used and used + LINE_GAP + need > width:
            row, used = row + 1, 0.0
        used += need + (LINE_GAP if used else 0.0)
        rows.append(row)
    return rows


def _place(
    line: LineStrip, left: float, top: float, cell: float, text: float, whole: bool
) -> StripLine:
    height = max(min(cell * 1.25, 1.9 * text), 9.0)
    gap = 0.0 if whole else SECTOR_GAP
    sectors, cells = [], {}
    at, cells_top = left, top + text + 1
    per_sector = len(line.lanes) // SECTORS
    for number, width in enumerate(_widths(line, cell, whole)):
        rect = QRectF(at, cells_top, width, height)
        sectors.append(rect)
        if line.fetched[number]:
            step = width / per_sector
            for i in range(per_sector):
                cells[number * per_sector + i] = QRectF(at + i * step, cells_top, step, height)
        at += width + gap
    box = QRectF(left, cells_top, at - gap - left, height)
    return StripLine(QRectF(left, top, box.width() + LINE_GAP - 2, text), box, sectors, cells)


def _shift(placed: StripLine, by: float) -> None:
    for rect in (placed.label, placed.box, *placed.sectors, *placed.cells.values()):
        rect.translate(by, 0)
