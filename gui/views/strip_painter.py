"""Draws the strip of memory that a warp's access touches, and the links from its lanes."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath

from gui.looks.theme import Theme
from gui.scenes.warp import LineStrip, WarpScene
from gui.views.kept import Kept
from gui.views.painting import (
    CENTRE,
    LEFT,
    RIGHT,
    Placed,
    fill,
    fitting,
    frame,
    hatch,
    inset,
    link,
    pen,
    shortest_fit,
    text,
    text_on,
    texts,
    upright_texts,
)
from gui.views.warp_geometry import SECTOR_GAP, StripLine, WarpGeometry

STALE = 0.5  # strength of the colour of what an earlier step used
LEAST = 0.75  # of the theme's small type: smaller numbers are left out
TINY = 0.6  # the same where cells lie apart


class StripPainter:
    """Sectors and lines with what is used of them and what is waste, and a curve from each lane.

    What does not depend on the selected or hovered lane is kept as a picture.
    """

    def __init__(
        self, painter: QPainter, theme: Theme, scene: WarpScene, geometry: WarpGeometry, kept: Kept
    ) -> None:
        self.p, self.theme, self.scene, self.geometry = painter, theme, scene, geometry
        self.kept = kept
        self.meaning = "load" if scene.verb == "loads" else "store"
        self.strong = theme.tint(self.meaning, 1.0 if scene.live else STALE)

    def draw_strip(self) -> None:
        """The lines of memory with their names."""
        scene, g = self.scene, self.geometry
        if not g.strip:
            return
        area = self._strip_area()
        state = (
            self.meaning, scene.live, g.cell_width,
            tuple((line.fetched, line.lanes) for line in scene.lines),
            tuple(corner(placed.box) for placed in g.strip),
        )  # fmt: skip
        self.kept.draw(self.p, "strip", area.adjusted(-2, -2, 2, 2), state, self._draw_lines)
        small, dim = self.theme.font("small"), self.theme.color("text_dim")
        named = [
            (placed.label, line)
            for line, placed in zip(scene.lines, g.strip, strict=True)
            if not placed.label.isEmpty()
        ]
        if g.labelled:
            texts(self.p, [(area, _who(line)) for area, line in named], dim, small, RIGHT)
        elif g.rows == 1:
            for area, line in named:
                text(self.p, area, line.label, dim, small, LEFT)
        else:
            texts(self.p, _labels(named, small), dim, small, LEFT)

    def draw_links(self, chosen: dict[int, str]) -> None:
        """A curve from each lane to what it touches; `chosen` lanes in the colours named."""
        p, theme, g = self.p, self.theme, self.geometry
        ends = _cell_of_lane(self.scene, g)
        starts = g.names or g.lanes
        if g.rows == 1:
            joined = [(starts[i], rect) for i, rect in ends.items() if i not in chosen]
            area = QRectF(starts[0].topLeft(), starts[-1].bottomRight()).united(self._strip_area())
            state = self.meaning, tuple((*corner(start), *corner(end)) for start, end in joined)
            color = theme.color(self.meaning, 0.55)
            p.setOpacity(1.0 if self.scene.live else STALE)
            self.kept.draw(p, "links", area, state, lambda q: _draw_paths(q, joined, color))
            p.setOpacity(1.0)
        for lane in chosen.keys() & ends.keys():
            self._draw_chosen(starts[lane], ends[lane], chosen[lane])

    def _draw_chosen(self, start: QRectF, end: QRectF, name: str) -> None:
        """The curve of a selected or hovered lane, and a frame around what it touches."""
        color = self.theme.color(name)
        area = start.united(end).adjusted(-4, -4, 4, 4)
        state = name, corner(start), corner(end)
        draw = partial(_draw_thick, path=_path(start, end), theme=self.theme, color=color)
        self.kept.draw(self.p, name, area, state, draw)
        frame(self.p, [inset(end, -0.5)], pen(color, 1.8))

    def _strip_area(self) -> QRectF:
        area = QRectF()
        for placed in self.geometry.strip:
            area = area.united(placed.box)
        return area

    def _draw_lines(self, p: QPainter) -> None:
        theme, scene, g, strong = self.theme, self.scene, self.geometry, self.strong
        used: list[QRectF] = []
        waste: list[QRectF] = []
        idle: list[QRectF] = []
        frames: list[QRectF] = []
        boxes: list[QRectF] = []
        for line, placed in zip(scene.lines, g.strip, strict=True):
            for number, rect in enumerate(placed.sectors):
                (frames if line.fetched[number] else idle).append(rect)
            boxes.append(inset(placed.box, -1.5))
            for cell, rect in placed.cells.items():
                (used if line.lanes[cell] else waste).append(rect)
        fill(p, idle, theme.color("raised"))
        fill(p, waste, theme.tint("waste", 0.28))
        fill(p, waste, hatch(theme.color("waste")))
        fill(p, [r.adjusted(0.5, 0.5, -0.5, -0.5) for r in used], strong)
        frame(p, frames, pen(strong, 1.4))
        frame(p, boxes, pen(theme.color("border"), 1))
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


def _adjoin(first: QRectF, second: QRectF) -> bool:
    """Whether a cell ends where the other begins, but for the gap between sectors."""
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
    """The lanes that touch a line."""
    return line.touched.split(": ")[0]


def _labels(named: list[tuple[QRectF, LineStrip]], font: QFont) -> list[Placed]:
    """Who touches what of each line, as fully as there is room for in all of them."""
    metrics = QFontMetricsF(font)
    shown: list[Placed] = []
    for shorter in (str, _tight, _element):
        shown = [(area, shorter(line.touched)) for area, line in named]
        if all(metrics.horizontalAdvance(words) <= area.width() for area, words in shown):
            return shown
    return [(area, shortest_fit((words,), font, area.width())) for area, words in shown]


def _tight(touched: str) -> str:
    return touched.replace(", ", ",")


def _element(touched: str) -> str:
    return _tight(touched).split(": ")[-1]


def _cell_of_lane(scene: WarpScene, g: WarpGeometry) -> dict[int, QRectF]:
    """The first cell that each active lane touches."""
    found: dict[int, QRectF] = {}
    for line, placed in zip(scene.lines, g.strip, strict=True):
        for cell, rect in placed.cells.items():
            for lane in line.lanes[cell]:
                found.setdefault(lane, rect)
    return found


def _draw_paths(p: QPainter, joined: list[tuple[QRectF, QRectF]], color: QColor) -> None:
    paths = QPainterPath()
    for start, end in joined:
        paths.addPath(_path(start, end))
    p.setBrush(Qt.BrushStyle.NoBrush)
    p.setPen(pen(color, 1.0))  # wider is drawn eight times slower
    p.drawPath(paths)


def _draw_thick(p: QPainter, path: QPainterPath, theme: Theme, color: QColor) -> None:
    """A curve over others: what lies below shines through at neither side."""
    p.setBrush(Qt.BrushStyle.NoBrush)
    p.setPen(pen(theme.color("panel"), 4.5))  # what is opaque is drawn twice as fast
    p.drawPath(path)
    p.setPen(pen(color, 1.8))
    p.drawPath(path)


def _path(start: QRectF, end: QRectF) -> QPainterPath:
    top = QPointF(start.center().x(), start.bottom() + 2)
    return link(top, QPointF(end.center().x(), end.top() - 1))


def corner(rect: QRectF) -> tuple[float, float, float, float]:
    """A rectangle as numbers, for a key."""
    return rect.getRect()  # type: ignore[return-value]
