"""Draws the strip of memory that a warp's access touches, and the links from its lanes."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath

from gui.scenes.warp import LineStrip, WarpScene
from gui.theme import Theme
from gui.views.kept import Kept
from gui.views.painting import (
    CENTRE,
    LEFT,
    Placed,
    fill,
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
from gui.views.warp_geometry import WarpGeometry


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

    def draw_strip(self) -> None:
        """The lines of memory with their names."""
        scene, g = self.scene, self.geometry
        if not g.strip:
            return
        area = self._strip_area()
        state = (
            self.meaning, g.cell_width,
            tuple((line.fetched, line.lanes) for line in scene.lines),
            tuple(corner(placed.box) for placed in g.strip),
        )  # fmt: skip
        self.kept.draw(self.p, "strip", area.adjusted(-2, -2, 2, 2), state, self._draw_lines)
        small, dim = self.theme.font("small"), self.theme.color("text_dim")
        for line, placed in zip(scene.lines, g.strip, strict=True):
            if not placed.label.isEmpty():
                label = line.label if g.rows == 1 else _label(line, placed.label, small)
                text(self.p, placed.label, label, dim, small, LEFT)

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
            self.kept.draw(p, "links", area, state, lambda q: _draw_paths(q, joined, color))
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
        theme, scene, g = self.theme, self.scene, self.geometry
        strong = theme.color(self.meaning)
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

    def _draw_words(self, p: QPainter, ink: QColor) -> None:
        """The lane that uses a cell, or how many do."""
        theme, scene, g = self.theme, self.scene, self.geometry
        small, tiny = theme.font("small"), theme.font("small")
        size = min(theme.sizes.small, g.cell_width * 0.62)
        tiny.setPointSizeF(max(size, 1.0))
        room = QFontMetricsF(small).horizontalAdvance("×32") + 2
        level: list[Placed] = []
        upright: list[Placed] = []
        for line, placed in zip(scene.lines, g.strip, strict=True):
            for cell, rect in placed.cells.items():
                lanes = line.lanes[cell]
                if len(lanes) == 1:
                    level.append((rect, str(lanes[0])))
                elif lanes:
                    high = rect.width() < room < rect.height() + 2
                    (upright if high else level).append((rect, f"×{len(lanes)}"))
        upright_texts(p, upright, ink, small, CENTRE)
        if size >= 0.62 * theme.sizes.small:
            texts(p, level, ink, tiny)


def _label(line: LineStrip, area: QRectF, font: QFont) -> str:
    """Who touches what of a line, as fully as there is room for."""
    full = line.touched
    tight = full.replace(", ", ",")
    return shortest_fit((full, tight, tight.split(": ")[-1]), font, area.width())


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
