"""The warp view: 32 lanes, the memory they touch, and the whole block's warps in overview."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QWidget

from core.launch import WARP
from core.links import Element
from core.rules.global_memory import SECTOR
from gui.looks.theme import Theme, current_theme
from gui.scenes.constant_and_local_memory import OwnScene, own_scene
from gui.scenes.names_of_elements_and_threads import thread_name
from gui.scenes.numbers_and_sentences import grouped, percent, value_text
from gui.scenes.question_in_views import sector_of, veil_words
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.scenes.veils_and_picks import Lit, Pick
from gui.scenes.warp_lanes import (
    LineStrip,
    WarpScene,
    is_scene_of,
    warp_scene,
    why_empty,
    without_faults,
)
from gui.views.buttons_and_choices import why_button
from gui.views.constant_and_local_painter import OwnMemoryPainter
from gui.views.drawing_tools import (
    CENTRE,
    LEFT,
    RIGHT,
    Figure,
    Pixmaps,
    Placed,
    blend,
    draw_figures,
    figure_at,
    figures_height,
    fill,
    fitting,
    frame,
    hatch,
    inset,
    link,
    nothing,
    pen,
    text,
    text_on,
    texts,
    that_fits,
    upright_texts,
)
from gui.views.drawing_tools import COLOR as FAULT
from gui.views.question_in_views import PickPad, draw_lit, draw_lit_legend, draw_veil, legend_box
from gui.views.session_view import PointedView

# Where the parts of the warp view lie for a scene and a size.


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

    whole: QRectF
    figures: QRectF
    bar: QRectF
    bar_label: QRectF
    groups: QRectF
    lanes: list[QRectF]
    names: list[QRectF]
    strip: list[StripLine]
    rows: int
    readout: QRectF
    overview_title: QRectF
    overview: list[QRectF]
    overview_label: float

    def below_lanes(self) -> QRectF:
        """Where memory is drawn, with the links to it and the words below."""
        starts = self.names or self.lanes
        parts = [placed.box for placed in self.strip] + [self.readout, *self.overview]
        bottom = max((part.bottom() for part in parts), default=starts[-1].bottom())
        top = starts[-1].bottom() + 4
        return QRectF(self.figures.left(), top, self.figures.width(), max(bottom - top, 0.0))

    @property
    def labelled(self) -> bool:
        """Whether the lines of memory have the lanes that use them to their left."""
        return bool(self.strip) and self.strip[0].label.right() < self.strip[0].box.left()


def warp_geometry(scene: WarpScene, box: QRectF, theme: Theme) -> WarpGeometry:
    """Lay the scene out in `box`, leaving out the least important parts where it is too low.

    First the lanes' elements go, then the overview of the warps, then the lines' names, then the
    sentence below the strip.
    """
    small = QFontMetricsF(theme.font("small"))
    line, gap = small.height(), float(theme.spacing.gap)
    lane = box.width() / WARP
    figures = QRectF(box.left(), box.top(), box.width(), figures_height(theme))
    bar = QRectF(box.left(), figures.bottom() + 5, box.width(), 7)
    bar_label, wide = QRectF(), small.horizontalAdvance(scene.use_text) + 6
    if 1.6 * wide < box.width():
        bar.setRight(box.right() - wide)
        bar_label = QRectF(bar.right(), bar.center().y() - line / 2, wide, line)
    groups = QRectF(box.left(), bar.bottom() + gap, box.width(), line + 3)
    lane_height = max(1.35 * line, min(lane, 2 * line))
    lanes = [
        QRectF(box.left() + i * lane, groups.bottom(), lane, lane_height).adjusted(0.5, 0, -0.5, 0)
        for i in range(WARP)
    ]
    top = lanes[0].bottom()
    overview_height = 3.6 * line + 2 + gap
    need = _least_height(scene.lines, box.width(), line)
    room = box.bottom() - line - 6 - top
    title, overview, bottom = QRectF(), list[QRectF](), box.bottom()
    if len(scene.warps) > 1 and room - overview_height >= need:
        title, overview = _overview(len(scene.warps), box, line)
        bottom = title.top() - gap
    readout = QRectF()
    if room >= min(need, 3 * line):
        readout = QRectF(box.left(), bottom - line, box.width(), line)
        bottom = readout.top() - 6
    longest = max((small.horizontalAdvance(n) for n in scene.names if n), default=0.0) + 6
    names_height = 0.0
    if lane >= 0.78 * line and bottom - top - longest > 6 * line and len(scene.lines) <= MANY_LINES:
        names_height = longest
    names = [QRectF(r.left(), top + 1, r.width(), names_height) for r in lanes if names_height]
    area = QRectF(box.left(), top + names_height, box.width(), bottom - top - names_height)
    strip, rows = _strip(scene.lines, area, lane, small)
    whole, below = box.adjusted(-4, -4, 4, 4), (readout, title, overview, line)
    return WarpGeometry(whole, figures, bar, bar_label, groups, lanes, names, strip, rows, *below)


def _overview(count: int, box: QRectF, line: float) -> tuple[QRectF, list[QRectF]]:
    top = box.bottom() - 3.6 * line - 2
    width = min(box.width() / count, 3.2 * line)
    boxes = [
        QRectF(box.left() + i * width, top + line + 2, width - min(2.0, 0.1 * width), 1.6 * line)
        for i in range(count)
    ]
    return QRectF(box.left(), top, box.width(), line), boxes


def _least_height(lines: tuple[LineStrip, ...], width: float, line: float) -> float:
    rows = _pack(lines, width, 0.5 * line, len(lines) == 1)
    count = rows[-1] + 1 if rows else 1
    return 1.6 * line + count * 2.2 * line


MANY_LINES = 8  # with more, the lanes' elements are named at the lines instead


def _strip(
    lines: tuple[LineStrip, ...], area: QRectF, lane: float, small: QFontMetricsF
) -> tuple[list[StripLine], int]:
    """The lines in as few rows as leave the widest cells, below room for the links to them."""
    text = small.height()
    whole = len(lines) == 1
    single = _pack(lines, area.width(), lane * 0.6, whole)
    if whole or not single or single[-1] == 0:
        return _one_row(lines, area, lane, text, whole), 1
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
    return result, count


def _labelled(
    lines: tuple[LineStrip, ...], room: QRectF, small: QFontMetricsF
) -> tuple[list[StripLine], int] | None:
    """Many lines in columns of a power of two, the lanes of each left of it; None without room."""
    text = small.height()
    label = max(small.horizontalAdvance(_who(line)) for line in lines) + 4
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
        return result, count
    return None


def _one_row(
    lines: tuple[LineStrip, ...], area: QRectF, lane: float, text: float, whole: bool
) -> list[StripLine]:
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
    return result


def _cell_height(cell: float, text: float) -> float:
    return max(min(cell * 1.25, 1.9 * text), 0.8 * text)


def _widths(line: LineStrip, cell: float, whole: bool) -> list[float]:
    closed = max(5.0, 0.6 * cell)
    return [8 * cell if fetched or whole else closed for fetched in line.fetched]


def _need(line: LineStrip, cell: float, whole: bool) -> float:
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
    line: LineStrip, left: float, top: float, cell: float, height: float, text: float, whole: bool
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


STALE = 0.5  # strength of the colour of what an earlier step used
LEAST = 0.75  # of the theme's small type: smaller numbers are left out
TINY = 0.6  # the same where cells lie apart
STALE_LANES = 0.45  # strength of the lanes' colours where the access is not of this step
LEAST_LANE = 0.7  # of the theme's small type: what is smaller is left out


def over_cells(numbers: list[Placed], cells: list[QRectF], font: QFont) -> list[Placed]:
    """Each number with room for it over its cell and those that join it, which it does not leave.

    A number that is wider than all of them together is left out. Cells go from left to right.
    """
    metrics, found = QFontMetricsF(font), []
    joined: list[QRectF] = []
    for cell in cells:
        if joined and _adjoin(joined[-1], cell):
            joined[-1] = joined[-1].united(cell)
        else:
            joined.append(QRectF(cell))
    for area, words in numbers:
        run = next(run for run in joined if run.contains(area))
        wide = max(metrics.horizontalAdvance(words) + 2, area.width())
        if wide <= run.width():
            left = min(max(area.center().x() - wide / 2, run.left()), run.right() - wide)
            found.append((QRectF(left, area.top(), wide, area.height()), words))
    return found


def _adjoin(first: QRectF, second: QRectF) -> bool:
    return first.top() == second.top() and abs(first.right() - second.left()) <= SECTOR_GAP + 0.5


def _runs(line: LineStrip, placed: StripLine) -> list[tuple[QRectF, tuple[int, ...]]]:
    """The used cells of a line, those beside each other that the same lanes use as one."""
    found: list[tuple[QRectF, tuple[int, ...]]] = []
    for cell, rect in placed.cells.items():
        lanes = line.lanes[cell]
        if not lanes:
            continue
        if found and found[-1][1] == lanes and abs(found[-1][0].right() - rect.left()) < 0.5:
            found[-1] = (found[-1][0].united(rect), lanes)
        else:
            found.append((rect, lanes))
    return found


def _who(line: LineStrip) -> str:
    return line.touched.split(": ")[0]


def _labels(named: list[tuple[QRectF, LineStrip]], font: QFont) -> list[Placed]:
    """Who touches what in each line, in the longest form that fits in every line."""
    metrics = QFontMetricsF(font)
    shown: list[Placed] = []
    for shorter in (str, _tight, _element):
        shown = [(area, shorter(line.touched)) for area, line in named]
        if all(metrics.horizontalAdvance(words) <= area.width() for area, words in shown):
            return shown
    return [(area, that_fits((words, ""), font, area.width())) for area, words in shown]


def _tight(touched: str) -> str:
    return touched.replace(", ", ",")


def _element(touched: str) -> str:
    return _tight(touched).split(": ")[-1]


def _cell_of_lane(scene: WarpScene, g: WarpGeometry) -> dict[int, QRectF]:
    found: dict[int, QRectF] = {}
    for line, placed in zip(scene.lines, g.strip, strict=True):
        for cell, rect in placed.cells.items():
            for lane in line.lanes[cell]:
                found.setdefault(lane, rect)
    return found


def _figures(scene: WarpScene) -> tuple[Figure, ...]:
    verdict = "conflict" if scene.excess else "ideal"
    fetched = grouped(scene.bytes_fetched)
    return (
        Figure("Requests", "1" if scene.sectors else "0"),
        Figure("Sectors", str(scene.sectors), f"ideal {scene.ideal}", verdict, f"/ {scene.ideal}"),
        Figure("Lines", str(len(scene.lines))),
        Figure(
            "Bytes used", grouped(scene.bytes_used), f"of {fetched} fetched", short=f"/ {fetched}"
        ),
        Figure("Sector efficiency", percent(scene.ideal, scene.sectors), "", verdict),
    )


class WarpPainter:
    """Figures, lanes, the strip of memory and the links between them, the block's warps.

    What does not depend on the selected or hovered lane is kept as a picture.
    """

    def __init__(
        self,
        painter: QPainter,
        theme: Theme,
        scene: WarpScene,
        geometry: WarpGeometry,
        session: Session,
        kept: Pixmaps,
    ) -> None:
        self.p, self.theme, self.scene, self.geometry = painter, theme, scene, geometry
        self.session, self.kept = session, kept
        self.meaning = "load" if scene.verb == "loads" else "store"

    def draw(self) -> None:
        """Everything; fills and curves are paler where the access is not of this step."""
        lit, hides, scene, g = self._lit_lanes(), self.session.hides, self.scene, self.geometry
        state = scene.step, scene.warp, scene.live
        self.kept.draw(self.p, "ground", g.whole, state, self._draw_ground)
        if hides("warp.figures"):
            draw_veil(self.p, g.figures.united(g.bar), self.theme, veil_words(self.session))
        self._draw_lanes(lit)
        if hides("warp.sectors"):
            draw_veil(self.p, g.below_lanes(), self.theme, veil_words(self.session))
        else:
            self._draw_labels()
            ends, starts = _cell_of_lane(scene, g), g.names or g.lanes
            chosen = {self.session.lane: "selected"} | dict.fromkeys(lit, "hover")
            for lane in chosen.keys() & ends.keys():
                self._draw_chosen(starts[lane], ends[lane], chosen[lane])
            if not hides("warp.elements"):
                self._draw_readout()
        self._draw_sector()
        answer = self.session.lit
        if answer is not None and answer.target in ("lane", "thread", "sector"):
            draw_lit(self.p, self.theme, self._lit_places(answer), answer)
            draw_lit_legend(self.p, self._legend(), self.theme, answer)

    def _legend(self) -> QRectF:
        """Where the line about the answers stands: over the words about what is pointed at."""
        g = self.geometry
        return legend_box(g.below_lanes(), self.theme) if g.readout.isEmpty() else g.readout

    def _sectors(self) -> dict[int, QRectF]:
        found: dict[int, QRectF] = {}
        if self.session.hides("warp.sectors"):
            return found
        for line, placed in zip(self.scene.lines, self.geometry.strip, strict=True):
            for place, rect in enumerate(placed.sectors):
                number = sector_of(self.session, line.address + place * SECTOR)
                if number is not None:
                    found[number] = rect
        return found

    def _draw_sector(self) -> None:
        rect = None
        if self.session.sector is not None:
            rect = self._sectors().get(self.session.sector)
        if rect is not None:
            frame(self.p, [inset(rect, -1)], pen(self.theme.color("accent"), 2))

    def _lit_places(self, lit: Lit) -> Iterator[tuple[Pick, list[QRectF]]]:
        sectors = self._sectors() if lit.target == "sector" else {}
        first = self.scene.warp * WARP if lit.target == "thread" else 0
        for pick in {*lit.right, *lit.given}:
            if not isinstance(pick, int):
                continue
            if lit.target == "sector":
                yield pick, [sectors[pick]] if pick in sectors else []
            elif 0 <= pick - first < len(self.geometry.lanes):
                yield pick, [self.geometry.lanes[pick - first]]

    def _draw_ground(self, p: QPainter) -> None:
        """What stays as it is whatever is selected and pointed at."""
        figures, sectors = (not self.session.hides(f"warp.{n}") for n in ("figures", "sectors"))
        if figures:
            self._draw_figures(p)
        self._draw_boxes(p)
        if sectors and self.geometry.strip:
            self._draw_lines(p)
            if self.geometry.rows == 1:
                self._draw_links(p)
        if figures and sectors and self.geometry.overview:
            self._draw_overview(p)

    def _draw_labels(self) -> None:
        g, small, dim = self.geometry, self.theme.font("small"), self.theme.color("text_dim")
        named = [
            (placed.label, line)
            for line, placed in zip(self.scene.lines, g.strip, strict=True)
            if not placed.label.isEmpty()
        ]
        if g.labelled:
            texts(self.p, [(area, _who(line)) for area, line in named], dim, small, RIGHT)
        elif g.rows == 1:
            for area, line in named:
                text(self.p, area, line.label, dim, small, LEFT)
        else:
            texts(self.p, _labels(named, small), dim, small, LEFT)

    def _draw_links(self, p: QPainter) -> None:
        """A curve from each lane to what it touches."""
        starts, paths = self.geometry.names or self.geometry.lanes, QPainterPath()
        for lane, end in _cell_of_lane(self.scene, self.geometry).items():
            paths.addPath(link(starts[lane], end))
        strength = 0.55 if self.scene.live else 0.55 * STALE
        p.setBrush(Qt.BrushStyle.NoBrush)
        p.setPen(pen(self.theme.color(self.meaning, strength), 1.0))  # wider: eight times slower
        p.drawPath(paths)

    def _draw_chosen(self, start: QRectF, end: QRectF, name: str) -> None:
        """A curve over others: what lies below shines through at neither side."""
        path, line = link(start, end), pen(self.theme.color(name), 1.8)
        self.p.strokePath(path, pen(self.theme.color("panel"), 4.5))
        self.p.strokePath(path, line)
        frame(self.p, [inset(end, -0.5)], line)

    def _draw_lines(self, p: QPainter) -> None:
        theme, scene, strip = self.theme, self.scene, self.geometry.strip
        strong = theme.tint(self.meaning, 1.0 if scene.live else STALE)
        sectors: dict[bool, list[QRectF]] = {True: [], False: []}  # whether they are fetched
        cells: dict[bool, list[QRectF]] = {True: [], False: []}  # whether they are used
        for line, placed in zip(scene.lines, strip, strict=True):
            for number, rect in enumerate(placed.sectors):
                sectors[line.fetched[number]].append(rect)
            for cell, rect in placed.cells.items():
                cells[bool(line.lanes[cell])].append(rect)
        fill(p, sectors[False], theme.color("raised"))
        spare = "waste" if scene.excess else "border"
        fill(p, cells[False], theme.tint(spare, 0.28))
        fill(p, cells[False], hatch(theme.color(spare)))
        fill(p, [inset(rect, 0.5) for rect in cells[True]], strong)
        frame(p, sectors[True], pen(strong, 1.4))
        frame(p, [inset(placed.box, -1.5) for placed in strip], pen(theme.color("border"), 1))
        self._draw_words(p, text_on(strong))

    def _numbering(self, single: list[Placed]) -> tuple[QFont, int]:
        """The type of lane numbers, and every how many of them are written; 0 for none."""
        small = self.theme.font("small")
        narrowest = min(area.width() for area, _ in single)
        longest = max((words for _, words in single), key=len)
        font = fitting(small, longest, narrowest - 3)
        if font.pointSizeF() >= LEAST * self.theme.sizes.small:
            return font, 1
        joined = sum(_adjoin(a[0], b[0]) for a, b in pairwise(single))
        if joined < len(single) // 2:  # a number over its neighbours would hide what they are
            return font, int(font.pointSizeF() >= TINY * self.theme.sizes.small)
        need = QFontMetricsF(small).horizontalAdvance(longest) + 4
        return small, next((n for n in (2, 4, 8) if n * narrowest >= need), 0)

    def _draw_words(self, p: QPainter, ink: QColor) -> None:
        """The lane that uses a cell, or how many do."""
        small = self.theme.font("small")
        runs = [
            run
            for line, placed in zip(self.scene.lines, self.geometry.strip, strict=True)
            for run in _runs(line, placed)
        ]
        single = [(area, f"{lanes[0]}") for area, lanes in runs if len(lanes) == 1]
        if single and not self.geometry.labelled:
            font, every = self._numbering(single)
            shown = [place for place in single if every and int(place[1]) % every == 0]
            if every > 1:  # wider than a cell: borders would run through the figures
                shown = over_cells(shown, [area for area, _ in single], font)
                strong = self.theme.tint(self.meaning, 1.0 if self.scene.live else STALE)
                fill(p, [inset(area, 0.5) for area, _ in shown], strong)
            texts(p, shown, ink, font)
        level: list[Placed] = []
        upright: list[Placed] = []
        for area, lanes in runs:
            if len(lanes) > 1:
                words = f"×{len(lanes)}"
                room = QFontMetricsF(small).horizontalAdvance(words) + 2
                if room <= area.width():
                    level.append((area, words))
                elif room <= area.height() + 2 and area.width() > 8:
                    upright.append((area, words))
        upright_texts(p, upright, ink, small, CENTRE)
        texts(p, level, ink, small)

    def _draw_figures(self, p: QPainter) -> None:
        theme, scene, g = self.theme, self.scene, self.geometry
        fetched, used = scene.bytes_fetched, scene.bytes_used
        draw_figures(p, g.figures, _figures(scene), theme)
        share = min(used / fetched, 1.0) if fetched else 0.0
        if fetched and not g.bar_label.isEmpty():
            small, dim = theme.font("small"), theme.color("text_dim")
            text(p, g.bar_label, scene.use_text, dim, small, RIGHT)
        done = QRectF(g.bar.left(), g.bar.top(), g.bar.width() * share, g.bar.height())
        rest = QRectF(done.right(), g.bar.top(), g.bar.right() - done.right(), g.bar.height())
        spare = "waste" if scene.excess else "border"
        fill(p, [rest], theme.tint(spare, 0.35))
        fill(p, [rest], hatch(theme.color(spare)))
        fill(p, [done], theme.color("used"))

    def _draw_lanes(self, lit: set[int]) -> None:
        p, theme, g = self.p, self.theme, self.geometry
        if g.names and not self.session.hides("warp.elements"):
            self._draw_names({self.session.lane, *lit})
        frame(p, [inset(g.lanes[i], -0.5) for i in lit], pen(theme.color("hover"), 2))
        frame(p, [inset(g.lanes[self.session.lane], 0.5)], pen(theme.color("selected"), 2))

    def _draw_names(self, strong: set[int]) -> None:
        """The elements below their lanes, those of `strong` lanes in a stronger ink."""
        scene, g = self.scene, self.geometry
        placed = [
            (lane, rect, scene.names[lane].replace(", ", ","))
            for lane, rect in enumerate(g.names)
            if scene.names[lane]
        ]
        wrong = set(np.flatnonzero(scene.faulty).tolist())
        dim = [(rect, words) for lane, rect, words in placed if lane not in strong | wrong]
        small, color = self.theme.font("small"), self.theme.color
        area = QRectF(g.names[0].topLeft(), g.names[-1].bottomRight()).adjusted(-2, 0, 2, 0)
        state = scene.names, scene.faulty.tobytes(), frozenset(strong)
        self.kept.draw(
            self.p,
            "names",
            area,
            state,
            lambda q: upright_texts(q, dim, color("text_dim"), small, RIGHT),
        )
        named = [(rect, words) for lane, rect, words in placed if lane in strong - wrong]
        upright_texts(self.p, named, color("text"), small, RIGHT)
        crossed = [(rect, words) for lane, rect, words in placed if lane in wrong]
        upright_texts(self.p, crossed, color(FAULT), small, RIGHT)

    def _draw_boxes(self, p: QPainter) -> None:
        """The lanes in the colours of their threads, under the rows of the block they belong to."""
        theme, scene, g = self.theme, self.scene, self.geometry
        small = theme.font("small")
        numbers = fitting(small, "00 ", g.lanes[0].width())  # with a space to the next
        legible = numbers.pointSizeF() >= LEAST_LANE * theme.sizes.small
        block = self.session.block_trace
        colors = theme.owner_lut("thread", block.n_threads if block else WARP)
        numbered: dict[str, list[Placed]] = {}
        for first, last, words in scene.one_row_per_y:
            span = QRectF(g.lanes[first].topLeft(), g.lanes[last].topRight())
            span.setTop(g.groups.top())
            span.setBottom(g.groups.bottom() - 2)
            x0, x1 = scene.threads[first][0], scene.threads[last][0]
            xs = f"x = {x0}..{x1}" if last > first else f"x = {x0}"
            self._draw_group(p, span, (words, xs))
        for lane, rect in enumerate(g.lanes):
            thread = scene.warp * WARP + lane
            if lane < len(scene.threads) and scene.active[lane]:
                background = QColor(*colors[thread, :3].tolist())
                if not scene.live:
                    background = blend(theme.color("panel"), background, STALE_LANES)
                fill(p, [rect], background)
                ink = text_on(background)
            elif scene.faulty[lane]:
                fill(p, [rect], theme.color(FAULT))
                ink = text_on(theme.color(FAULT))
            else:
                fill(p, [rect], theme.color("inactive", 0.55))
                ink = theme.color("text_dim")
            if legible or lane % 4 == 0:
                numbered.setdefault(ink.name(), []).append((rect, str(lane)))
        for name, places in numbered.items():
            texts(p, places, QColor(name), numbers if legible else small)

    def _draw_group(self, p: QPainter, span: QRectF, words: tuple[str, str]) -> None:
        theme = self.theme
        y, x = words
        full = f"threadIdx {x}" if not y else f"{y},  {x}"
        small = theme.font("small")
        choices = (full, f"{y}, {x}" if y else x, y or x, (y or x).replace(" ", ""), "")
        said = that_fits(choices, small, span.width() - 6)
        text(p, span, said, theme.color("text_dim"), small, elide=False)
        p.setPen(pen(theme.color("text_faint"), 1))
        base = span.bottom() + 0.5
        p.drawLine(QPointF(span.left() + 2, base), QPointF(span.right() - 2, base))

    def _draw_readout(self) -> None:
        p, theme, scene, g = self.p, self.theme, self.scene, self.geometry
        hover = self.session.hover
        lane = self.session.lane
        if hover is not None and hover.thread is not None:
            warp, other = divmod(hover.thread, WARP)
            lane = other if warp == scene.warp else lane
        if lane >= len(scene.threads) or g.readout.isEmpty():
            return
        who = f"Lane {lane}, thread {thread_name(scene.threads[lane], three=scene.three)}"
        at = ""
        if scene.active[lane]:
            where = f"{scene.verb} {scene.names[lane]}"
            if not self.session.hides("matrices.values"):
                values = ", ".join(value_text(v) for v in scene.values[lane].tolist())
                where += f" = {values}"
            address = int(scene.addresses[lane])
            words = f"{who} {where}"
            at = f", byte {address % 128} of line 0x{address // 128 * 128:x}"
        elif scene.faults[lane]:
            words = f"{who} {scene.faults[lane]}"
        else:
            words = f"{who} takes no part in this access"
        small = theme.font("small")
        words = that_fits((words + at, words), small, g.readout.width())
        text(p, g.readout, words, theme.color("text"), small, LEFT)

    def _draw_overview(self, p: QPainter) -> None:
        """The sectors of each of the block's warps as bars, what more than the ideal on top."""
        theme, scene, g = self.theme, self.scene, self.geometry
        small = theme.font("small")
        total = sum(w.sectors for w in scene.warps)
        words = f"Sectors of each warp of the block, {grouped(total)} in all"
        text(p, g.overview_title, words, theme.color("text_dim"), small, LEFT)
        most = max(4, *(w.sectors for w in scene.warps))
        fill(p, g.overview, theme.color("raised"))
        for name, strength in (("waste", 0.75), ("used", 0.55)):
            levels = []
            for summary, rect in zip(scene.warps, g.overview, strict=True):
                count = summary.sectors if name == "waste" else min(summary.ideal, summary.sectors)
                levels.append(rect.adjusted(0, rect.height() * (1 - count / most), 0, 0))
            fill(p, levels, theme.tint(name, strength))
        ink, faint = theme.color("text"), theme.color("text_faint")
        numbers = fitting(small, "00", g.overview[0].width())
        numbered = numbers.pointSizeF() >= LEAST_LANE * theme.sizes.small
        tight = numbers if numbered else small
        shown = [
            (summary, rect)
            for summary, rect in zip(scene.warps, g.overview, strict=True)
            if numbered or summary.warp % 4 == 0 or summary.warp == scene.warp
        ]
        counts = [(r, str(w.sectors)) for w, r in shown if numbered or w.warp % 4 == 0]
        texts(p, counts, ink, tight)
        for chosen, color in ((False, faint), (True, ink)):
            names = [
                (QRectF(r.left(), r.bottom() + 1, r.width(), g.overview_label), str(w.warp))
                for w, r in shown
                if (w.warp == scene.warp) == chosen
            ]
            texts(p, names, color, tight)
        own = [rect for summary, rect in shown if summary.warp == scene.warp]
        frame(p, own, pen(theme.color("selected"), 2))

    def _lit_lanes(self) -> set[int]:
        """Lanes that what is hovered, here or in another view, leads to."""
        scene = self.scene
        hover = self.session.hover
        if hover is None:
            return set()
        if hover.thread is not None:
            return {hover.thread % WARP} if hover.thread // WARP == scene.warp else set()
        if self.session.hides("warp.elements"):
            return set()
        if hover.element is not None:
            name, index = hover.element
            if name != scene.array:
                return set()
            flat = int(np.ravel_multi_index(index, scene.shape))
            mine = (scene.elements >= 0) & (scene.elements <= flat)
            return set(np.flatnonzero(mine & (scene.elements + scene.wide > flat)).tolist())
        if hover.sector is not None:
            start = hover.sector
            inside = (scene.addresses >= start) & (scene.addresses < start + SECTOR)
            return set(np.flatnonzero(inside & scene.active).tolist())
        return set()


LEAST_LINES = 10  # of text: figures, lanes and the strip, with curves between them


class WarpView(PointedView):
    """Draws `WarpScene` for the session's step and warp.

    Hovering a lane or a cell lights the other end and tells the session; a click selects the
    lane's thread, the cell's element or the overview's warp.
    """

    WATCHES = frozenset({"trace", "block", "step", "thread", "hover", "trouble", "sector"})
    why_wanted = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session, "Warp and memory")
        self.why = why_button()
        self.why.clicked.connect(self.why_wanted)
        self.controls: tuple[QWidget, ...] = (self.why,)
        self.scene: WarpScene | None = None  # None before the first access
        self._laid_out: tuple[WarpScene, QRectF, str, WarpGeometry] | None = None
        """Which scene, where, and in which theme: laying out many lines takes milliseconds."""
        self._kept = Pixmaps()
        self.own: OwnScene | None = None
        """What is drawn where the step accesses constant or local memory."""
        self.pad = PickPad(session, self, ("lane", "thread", "sector"), self._pad_box)

    def _pad_box(self) -> QRectF:
        geometry = self.geometry_now()
        if geometry is None or self.session.hides("warp"):
            return self.whole()
        return geometry.below_lanes()

    def sizeHint(self) -> QSize:
        return QSize(560, 430)

    def minimumSizeHint(self) -> QSize:
        """Below this lanes could not be told apart, or the strip would lie over them."""
        return QSize(300, min(LEAST_LINES * self.fontMetrics().lineSpacing(), 240))

    def refresh(self, names: frozenset[str]) -> None:
        if names - {"hover"}:
            block, step, warp = self.session.block_trace, self.session.step, self.session.warp
            trace = self.session.trace
            self.own = own_scene(trace, block, step, warp) if trace and block else None
            if names & {"trace", "block", "veiled", "answered"}:
                self._kept.forget()
                self.scene = None
            if block is None or not block.n_steps:
                self.scene = None
            elif self.scene is None or not is_scene_of(self.scene, block, step, warp):
                self.scene = warp_scene(block, step, warp)
                if self.scene is not None and self.session.hides("findings"):
                    self.scene = without_faults(self.scene)
            words = "" if trace is not None else self.session.trouble
            said = self.scene.caption if self.scene else words
            said = said if self.own is None else self.own.caption
            self.say(said, self._why_empty(), part="warp.caption")
            self.pad.follow()
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.pad.follow()

    def _why_empty(self) -> str:
        session = self.session
        if session.trace is None:
            return session.trouble
        return why_empty(session.block_trace, session.step, session.warp)

    def geometry_now(self) -> WarpGeometry | None:
        scene, box, theme = self.scene, self.inner(), current_theme()
        if scene is None:
            return None
        known = self._laid_out
        if known is None or known[0] is not scene or known[1:3] != (box, theme.key):
            known = self._laid_out = scene, box, theme.key, warp_geometry(scene, box, theme)
        return known[3]

    # ---- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = current_theme(), self.painter()
        if self.own is not None and not self.session.hides("warp"):
            edge = theme.spacing.margin
            inner = QRectF(self.rect()).adjusted(edge, 2, -edge, -edge)
            OwnMemoryPainter(painter, theme, self.own, inner, self.session).draw()
            return
        scene, geometry = self.scene, self.geometry_now()
        if scene is None or geometry is None:
            nothing(painter, QRectF(self.rect()), self._why_empty(), theme)
            return
        if self.session.hides("warp"):
            draw_veil(painter, self.whole(), theme, veil_words(self.session))
            return
        WarpPainter(painter, theme, scene, geometry, self.session, self._kept).draw()

    # ---- pointing

    def words_at(self, point: QPointF) -> str:
        scene, geometry = self.scene, self.geometry_now()
        if scene is None or geometry is None:
            return ""
        return figure_at(geometry.figures, _figures(scene), current_theme(), point)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select a lane's thread, a cell's element or a warp of the overview; explain a figure.

        A click on the selected warp's figure in the overview explains it as well.
        """
        scene, geometry = self.scene, self.geometry_now()
        if scene is None or geometry is None or event.button() != Qt.MouseButton.LeftButton:
            return
        for summary, rect in zip(scene.warps, geometry.overview, strict=False):
            if rect.adjusted(0, -4, 0, geometry.overview_label).contains(event.position()):
                if self.session.warp == summary.warp:
                    self.why_wanted.emit()
                self.session.warp = summary.warp
                return
        if geometry.figures.contains(event.position()):
            self.why_wanted.emit()
            return
        hover = self.hover_at(event.position())
        if hover is None or self._picked(hover):
            return
        chosen: dict[str, object] = {}
        if hover.thread is not None:
            chosen["thread"] = hover.thread
        if hover.element is not None and hover.sector is not None:  # a cell, not a lane
            chosen["element"] = hover.element
        if hover.sector is not None:
            chosen["sector"] = sector_of(self.session, hover.sector)
        self.session.update(**chosen)

    def _picked(self, hover: Hover) -> bool:
        """Answer with what was clicked, if a question asks for such a thing."""
        session = self.session
        if hover.sector is not None:
            sector = sector_of(session, hover.sector)
            return sector is not None and session.pick("sector", sector)
        return self.picked_thread(hover)

    def hover_at(self, point: QPointF) -> Hover | None:
        if self.own is not None:
            edge = current_theme().spacing.margin
            lane = int((point.x() - edge) / max(self.width() - 2 * edge, 1) * WARP)
            there = 0 <= lane < len(self.own.active)
            return Hover(self.own.warp * WARP + lane) if there else None
        scene, geometry = self.scene, self.geometry_now()
        if scene is None or geometry is None:
            return None
        for lane in range(len(scene.threads)):
            area = geometry.lanes[lane]
            if geometry.names:
                area = area.united(geometry.names[lane])
            if area.contains(point):
                return Hover(scene.warp * WARP + lane, self._element_of(scene, lane))
        for line, placed in zip(scene.lines, geometry.strip, strict=True):
            if placed.box.contains(point):
                return self._hover_in_line(scene, line, placed, point)
        return None

    def _hover_in_line(
        self, scene: WarpScene, line: LineStrip, placed: StripLine, point: QPointF
    ) -> Hover | None:
        for cell, rect in placed.cells.items():
            if rect.contains(point):
                lanes = line.lanes[cell]
                thread = scene.warp * WARP + lanes[0] if len(lanes) == 1 else None
                element = self._element(scene, line.elements[cell])
                sector = line.address + cell * scene.cell // SECTOR * SECTOR
                return Hover(thread=thread, element=element, sector=sector)
        for number, rect in enumerate(placed.sectors):
            if rect.contains(point):
                return Hover(sector=line.address + number * SECTOR)
        return None

    def _element_of(self, scene: WarpScene, lane: int) -> Element | None:
        for line in scene.lines:
            for lanes, flat in zip(line.lanes, line.elements, strict=True):
                if lane in lanes:
                    return self._element(scene, flat)
        return None

    def _element(self, scene: WarpScene, flat: int) -> Element | None:
        trace = self.session.trace
        if trace is None or flat < 0:
            return None
        array = next(a for a in trace.arrays if a.name == scene.array)
        return scene.array, array.index(flat)
