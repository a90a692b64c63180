"""Where the parts of the warp view lie for a scene and a size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF

from gui.looks.theme import Theme
from gui.scenes.warp import LANES
from gui.views.painting import figures_height

if TYPE_CHECKING:
    from gui.scenes.warp import LineStrip, WarpScene

SECTORS = 4
LINE_GAP, SECTOR_GAP = 12.0, 3.0
SLIGHT = 5.0  # pixels: narrower cells leave room for names only beside the lines


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
    bar_label: QRectF
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

    @property
    def labelled(self) -> bool:
        """Whether the lines of memory have the lanes that use them to their left."""
        return bool(self.strip) and self.strip[0].label.right() < self.strip[0].box.left()


def warp_geometry(scene: WarpScene, box: QRectF, theme: Theme) -> WarpGeometry:
    """Lay the scene out in `box`, leaving out the least important parts where it is too low.

    First the lanes' elements go, then the overview of the warps, then the lines' names.
    """
    small = QFontMetricsF(theme.font("small"))
    line, gap = small.height(), float(theme.spacing.gap)
    lane = box.width() / LANES
    figures = QRectF(box.left(), box.top(), box.width(), figures_height(theme))
    bar = QRectF(box.left(), figures.bottom() + 5, box.width(), 7)
    bar_label, wide = QRectF(), small.horizontalAdvance("00.0 % of the bytes used") + 6
    if 2.5 * wide < box.width():
        bar.setRight(box.right() - wide)
        bar_label = QRectF(bar.right(), bar.center().y() - line / 2, wide, line)
    groups = QRectF(box.left(), bar.bottom() + gap, box.width(), line + 3)
    lane_height = max(1.35 * line, min(lane, 2 * line))
    lanes = [
        QRectF(box.left() + i * lane, groups.bottom(), lane, lane_height).adjusted(0.5, 0, -0.5, 0)
        for i in range(LANES)
    ]
    top = lanes[0].bottom()
    overview_height = 3.6 * line + 2 + gap
    need = _least_height(scene.lines, box.width(), line)
    room = box.bottom() - line - 6 - top
    title, overview, bottom = QRectF(), list[QRectF](), box.bottom()
    if len(scene.warps) > 1 and room - overview_height >= need:
        title, overview = _overview(len(scene.warps), box, line)
        bottom = title.top() - gap
    readout = QRectF(box.left(), bottom - line, box.width(), line)
    bottom = readout.top() - 6
    longest = max((small.horizontalAdvance(n) for n in scene.names if n), default=0.0) + 6
    names_height = 0.0
    if lane >= 0.78 * line and bottom - top - longest > 6 * line and len(scene.lines) <= MANY_LINES:
        names_height = longest
    names = [QRectF(r.left(), top + 1, r.width(), names_height) for r in lanes if names_height]
    area = QRectF(box.left(), top + names_height, box.width(), bottom - top - names_height)
    strip, rows, cell = _strip(scene.lines, area, lane, small)
    return WarpGeometry(
        figures, bar, bar_label, groups, lanes, names, strip, rows, cell,
        readout, title, overview, line,
    )  # fmt: skip


def _overview(count: int, box: QRectF, line: float) -> tuple[QRectF, list[QRectF]]:
    """The title and the boxes of the block's warps, along the bottom."""
    top = box.bottom() - 3.6 * line - 2
    width = min(box.width() / count, 3.2 * line)
    boxes = [
        QRectF(box.left() + i * width, top + line + 2, width - min(2.0, 0.1 * width), 1.6 * line)
        for i in range(count)
    ]
    return QRectF(box.left(), top, box.width(), line), boxes


def _least_height(lines: tuple[LineStrip, ...], width: float, line: float) -> float:
    """The height below which the strip could not show its lines with their names."""
    rows = _pack(lines, width, 0.5 * line, len(lines) == 1)
    count = rows[-1] + 1 if rows else 1
    return 1.6 * line + count * 2.2 * line


MANY_LINES = 8  # with more, the lanes' elements are named at the lines instead


def _strip(
    lines: tuple[LineStrip, ...], area: QRectF, lane: float, small: QFontMetricsF
) -> tuple[list[StripLine], int, float]:
    """The lines in as few rows as leave the widest cells, below room for the links to them."""
    text = small.height()
    whole = len(lines) == 1
    single = _pack(lines, area.width(), lane * 0.6, whole)
    if whole or not single or single[-1] == 0:
        return _one_row(lines, area, lane, text, whole)
    link = 1.4 * text
    room = QRectF(area.left(), area.top() + link, area.width(), area.height() - link)
    cell, rows, count = lane, single, 1
    while cell > 3.0 and max(_need(line, cell, whole) for line in lines) > room.width():
        cell -= 0.25
    while True:
        rows = _pack(lines, room.width(), cell, whole)
        count = rows[-1] + 1
        if count * (_cell_height(cell, text) + 1.5 * text) <= room.height() or cell <= 3.0:
            break
        cell = max(3.0, cell - 0.25)
    named = room.height() / count >= 2.1 * text
    if not named or cell < SLIGHT:
        beside = _labelled(lines, room, small)
        if beside is not None:
            return beside
    below = 1.35 * text if named else 0.25 * text
    pitch = min(room.height() / count, _cell_height(cell, text) + below + text)
    high = max(min(pitch - below, 2.2 * text), 2.0)
    result: list[StripLine] = []
    left, previous = room.left(), 0
    for line, row in zip(lines, rows, strict=True):
        if row != previous:
            left, previous = room.left(), row
        placed = _place(line, left, room.top() + row * pitch, cell, high, text, whole)
        if not named:
            placed.label = QRectF()
        result.append(placed)
        left = placed.box.right() + LINE_GAP
    return result, count, cell


def _labelled(
    lines: tuple[LineStrip, ...], room: QRectF, small: QFontMetricsF
) -> tuple[list[StripLine], int, float] | None:
    """Many lines in columns of a power of two, the lanes of each left of it; None without room."""
    text = small.height()
    label = max(small.horizontalAdvance(line.touched.split(": ")[0]) for line in lines) + 4
    for columns in (1, 2, 4, 8):
        count = -(-len(lines) // columns)
        pitch = min(room.height() / count, 2.6 * text)
        if pitch < text:
            continue
        column = room.width() / columns
        cell = 2 * text
        while cell > 2.0 and max(_need(line, cell, False) for line in lines) > (
            column - label - LINE_GAP
        ):
            cell -= 0.25
        if cell <= 2.0:
            return None
        high = min(pitch - 3, 1.9 * text)
        result = []
        for number, line in enumerate(lines):
            row, place = divmod(number, columns)
            left, top = room.left() + place * column, room.top() + row * pitch
            placed = _place(line, left + label, top, cell, high, text, False)
            placed.label = QRectF(left, top, label - 4, high)
            result.append(placed)
        return result, count, cell
    return None


def _one_row(
    lines: tuple[LineStrip, ...], area: QRectF, lane: float, text: float, whole: bool
) -> tuple[list[StripLine], int, float]:
    """All lines side by side, centred, low enough for the links to be told apart."""
    cell = lane
    while cell > 3.0 and _pack(lines, area.width(), cell, whole)[-1:] > [0]:
        cell -= 0.25
    height = area.height()
    high = min(max(0.28 * (height - text), 1.5 * text), max(3.2 * text, 0.14 * height))
    links = min(height - high - text - 4, max(7.5 * text, 0.45 * height))
    top, left = area.top() + max(links, 0.0), area.left()
    result = []
    for line in lines:
        result.append(_place(line, left, top, cell, high, text, whole))
        left = result[-1].box.right() + LINE_GAP
    shift = (area.right() - result[-1].box.right()) / 2 if result else 0.0
    for placed in result:
        _shift(placed, shift)
    return result, 1, cell


def _cell_height(cell: float, text: float) -> float:
    return max(min(cell * 1.25, 1.9 * text), 0.8 * text)


def _widths(line: LineStrip, cell: float, whole: bool) -> list[float]:
    closed = max(5.0, 0.6 * cell)
    return [8 * cell if fetched or whole else closed for fetched in line.fetched]


def _need(line: LineStrip, cell: float, whole: bool) -> float:
    """The width of a line."""
    return sum(_widths(line, cell, whole)) + 3 * SECTOR_GAP * (not whole)


def _pack(lines: tuple[LineStrip, ...], width: float, cell: float, whole: bool) -> list[int]:
    """The row of each line when they are set one after another."""
    rows: list[int] = []
    row, used = 0, 0.0
    for line in lines:
        need = _need(line, cell, whole)
        if used and used + LINE_GAP + need > width + 0.5:
            row, used = row + 1, 0.0
        used += need + (LINE_GAP if used else 0.0)
        rows.append(row)
    return rows


def _place(
    line: LineStrip,
    left: float,
    top: float,
    cell: float,
    height: float,
    text: float,
    whole: bool,
) -> StripLine:
    gap = 0.0 if whole else SECTOR_GAP
    edge = SECTOR_GAP / 2 if whole else 0.0
    sectors, cells = [], {}
    at = left
    per_sector = len(line.lanes) // SECTORS
    for number, width in enumerate(_widths(line, cell, whole)):
        sector = QRectF(at + edge, top, width - 2 * edge, height)
        sectors.append(sector)
        if line.fetched[number]:
            step = sector.width() / per_sector
            for i in range(per_sector):
                rect = QRectF(sector.left() + i * step, top, step, height)
                cells[number * per_sector + i] = rect
        at += width + gap
    box = QRectF(left, top, at - gap - left, height)
    label = QRectF(left, box.bottom() + 2, box.width() + LINE_GAP - 3, text)
    return StripLine(label, box, sectors, cells)


def _shift(placed: StripLine, by: float) -> None:
    for rect in (placed.label, placed.box, *placed.sectors, *placed.cells.values()):
        rect.translate(by, 0)
