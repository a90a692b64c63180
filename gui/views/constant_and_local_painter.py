"""Draws an access to constant or local memory: the lanes, and the places that they ask for."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath

from core.launch import WARP
from gui.looks.theme import Theme
from gui.scenes.constant_and_local_memory import AS_WRITTEN, OwnScene
from gui.scenes.numbers_and_sentences import numbers_name
from gui.scenes.session import Session
from gui.views.drawing_tools import (
    CENTRE,
    LEFT,
    Figure,
    draw_figures,
    figures_height,
    fill,
    frame,
    inset,
    link,
    pen,
    text,
    text_on,
    texts,
    that_fits,
)
from gui.views.question_in_views import draw_veil

MOST_BOXES = 32
GAP, HIGH, LEAST_GAP, LEAST_HIGH = 4.2, 2.3, 0.9, 1.2  # lines: of the links, and of a box
LABELS, FOOT = 1.2, 1.2  # lines that the lanes below the boxes and the last sentence take


@dataclass(frozen=True)
class Rows:
    """What stands below the lanes: pixels of the links and of a box, and which words follow."""

    gap: float
    high: float
    labels: bool
    foot: bool


def rows_below(room: float, line: float) -> Rows:
    """What has room below the lanes, over the line about the selected one."""
    for labels, foot in ((True, True), (True, False), (False, False)):
        left = room - line * (FOOT + LABELS * labels + FOOT * foot)
        if left >= line * (LEAST_GAP + LEAST_HIGH):
            break
    high = min(max(0.35 * left, LEAST_HIGH * line), HIGH * line)
    return Rows(max(min(GAP * line, left - high), 0.0), high, labels, foot)


class OwnMemoryPainter:
    """Figures, lanes, words below them and the links between."""

    def __init__(
        self, painter: QPainter, theme: Theme, scene: OwnScene, box: QRectF, session: Session
    ) -> None:
        self.p, self.theme, self.scene, self.box = painter, theme, scene, box
        self.session = session
        self.meaning = "load" if scene.verb == "loads" else "store"
        self.small = theme.font("small")
        self.line = QFontMetricsF(self.small).height()
        top = box.top() + figures_height(theme) + 1.4 * self.line
        wide = box.width() / WARP
        high = max(1.35 * self.line, min(wide, 2 * self.line))
        self.lanes = [
            QRectF(box.left() + i * wide, top, wide, high).adjusted(0.5, 0, -0.5, 0)
            for i in range(WARP)
        ]
        number = QFontMetricsF(self.small).horizontalAdvance("00")
        self.every = 1 if self.lanes[0].width() > number else 4  # of lanes whose number is written
        self.rows = rows_below(box.bottom() - self.lanes[0].bottom(), self.line)

    def draw(self) -> None:
        scene, theme = self.scene, self.theme
        head = QRectF(self.box.left(), self.box.top(), self.box.width(), figures_height(theme))
        figures = [Figure("Memory", scene.title.partition(" ")[0])]
        figures += [Figure(label, number) for label, number in scene.figures]
        if self.session.hides("warp.figures"):
            draw_veil(self.p, head, theme)
        else:
            draw_figures(self.p, head, figures, theme)
        self._draw_lanes()
        if self.session.hides("warp.elements") or self.session.hides("warp.sectors"):
            below = QRectF(self.box)
            below.setTop(self.lanes[0].bottom() + 4)
            draw_veil(self.p, below, theme)
            return
        self._draw_words()
        foot = QRectF(self.box.left(), self.box.bottom() - self.line, self.box.width(), self.line)
        above = foot
        if self.rows.foot:
            words = AS_WRITTEN[scene.space]
            first = words.partition(". ")[0] + "."
            said = that_fits([words, first, ""], self.small, foot.width())
            text(self.p, foot, said, theme.color("text_dim"), self.small, LEFT)
            above = foot.translated(0, -FOOT * self.line)
        lane = self.session.lane
        mine = next((word for word in scene.words if lane in word.lanes), None)
        own = "takes no part in this access"
        if mine is not None:
            own = f"{scene.verb} {mine.name} = {mine.value}"
        text(self.p, above, f"Lane {lane} {own}", theme.color("text"), self.small, LEFT)

    def _draw_lanes(self) -> None:
        theme, scene = self.theme, self.scene
        busy = [rect for rect, on in zip(self.lanes, scene.active, strict=False) if on]
        idle = [rect for rect in self.lanes if rect not in busy]
        fill(self.p, busy, theme.tint(self.meaning, 0.35))
        fill(self.p, idle, theme.color("inactive", 0.55))
        places = [(rect, str(i)) for i, rect in enumerate(self.lanes) if i % self.every == 0]
        texts(self.p, places, theme.color("text"), self.small)
        frame(self.p, [inset(self.lanes[self.session.lane], 0.5)], pen(theme.color("selected"), 2))

    def _draw_words(self) -> None:
        theme, scene = self.theme, self.scene
        shown = scene.words[:MOST_BOXES]
        if not shown:
            return
        boxes = self._boxes(self.lanes[0].bottom() + self.rows.gap, self.rows.high)
        path = QPainterPath()
        for word, box in zip(shown, boxes, strict=True):
            for lane in word.lanes:
                path.addPath(link(self.lanes[lane], box))
        self.p.strokePath(path, pen(theme.color(self.meaning), 1.0))
        strong = theme.tint(self.meaning, 1.0)
        fill(self.p, boxes, strong)
        frame(self.p, boxes, pen(theme.color("panel"), 1))
        ink = text_on(strong)
        for word, box in zip(shown, boxes, strict=True):
            choices = (f"{word.name} = {word.value}", word.value, "")
            said = that_fits(choices, self.small, box.width())
            text(self.p, box, said, ink, self.small, CENTRE, elide=False)
            own = scene.space == "local"  # its box stands below its lane
            if not self.rows.labels or (own and word.lanes[0] % self.every):
                continue
            lanes = numbers_name(word.lanes)
            room = box.width() * (self.every if own else 1)
            named = (lanes, "") if own else (f"lanes {lanes}", lanes, "")
            who = that_fits(named, self.small, room)
            below = QRectF(box.center().x() - room / 2, box.bottom() + 1, room, self.line)
            text(self.p, below, who, theme.color("text_dim"), self.small, CENTRE, elide=False)
        mine = [
            box for word, box in zip(shown, boxes, strict=True) if self.session.lane in word.lanes
        ]
        frame(self.p, [inset(box, 0.5) for box in mine], pen(theme.color("selected"), 2))

    def _boxes(self, top: float, high: float) -> list[QRectF]:
        scene = self.scene
        if scene.space == "local":
            return [
                QRectF(self.lanes[w.lanes[0]].left(), top, self.lanes[0].width(), high)
                for w in scene.words[:MOST_BOXES]
            ]
        count = min(len(scene.words), MOST_BOXES)
        widest = max(
            QFontMetricsF(self.small).horizontalAdvance(f"{w.name} = {w.value}") + 16
            for w in scene.words
        )
        wide = min(widest, self.box.width() / count - 2)
        gap = self.box.width() / count
        return [
            QRectF(self.box.left() + (i + 0.5) * gap - wide / 2, top, wide, high)
            for i in range(count)
        ]
