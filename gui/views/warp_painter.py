"""Draws one scene of the warp view."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gui.looks.theme import Theme
from gui.scenes.naming import percent, thread_name, value_text
from gui.scenes.session import Session
from gui.scenes.text import grouped
from gui.scenes.warp import LANES, SECTOR, WarpScene
from gui.views.fault_marks import COLOR as FAULT
from gui.views.kept import Kept
from gui.views.painting import (
    LEFT,
    RIGHT,
    Figure,
    Placed,
    blend,
    draw_figures,
    fill,
    fitting,
    frame,
    hatch,
    inset,
    pen,
    text,
    text_on,
    texts,
    upright_texts,
)
from gui.views.strip_painter import StripPainter, corner
from gui.views.warp_geometry import WarpGeometry

STALE = 0.45  # strength of the lanes' colours where the access is not of this step
LEAST = 0.7  # of the theme's small type: what is smaller is left out


class WarpPainter:
    """Figures, lanes, the strip of memory and the links between them, the block's warps."""

    def __init__(
        self,
        painter: QPainter,
        theme: Theme,
        scene: WarpScene,
        geometry: WarpGeometry,
        session: Session,
        kept: Kept,
    ) -> None:
        self.p, self.theme, self.scene, self.geometry = painter, theme, scene, geometry
        self.session, self.kept = session, kept

    def draw(self) -> None:
        """Everything; fills and curves are paler where the access is not of this step."""
        lit = self._lit_lanes()
        strip = StripPainter(self.p, self.theme, self.scene, self.geometry, self.kept)
        self._draw_figures()
        self._draw_lanes(lit)
        strip.draw_strip()
        strip.draw_links({self.session.lane: "selected"} | dict.fromkeys(lit, "hover"))
        self._draw_readout()
        self._draw_overview()

    def _draw_figures(self) -> None:
        scene, g = self.scene, self.geometry
        state = scene.sectors, scene.ideal, len(scene.lines), scene.bytes_used
        area = g.figures.united(g.bar).united(g.bar_label).adjusted(0, 0, 0, 1)
        self.kept.draw(self.p, "figures", area, state, self._draw_counts)

    def _draw_counts(self, p: QPainter) -> None:
        """What the access counts, and a bar of what is used of what is fetched."""
        theme, scene, g = self.theme, self.scene, self.geometry
        wasteful = scene.sectors > scene.ideal
        fetched, used = scene.bytes_fetched, scene.bytes_used
        figures = (
            Figure("Requests", "1" if scene.sectors else "0"),
            Figure(
                "Sectors",
                str(scene.sectors),
                f"ideal {scene.ideal}",
                "conflict" if wasteful else "ideal",
                f"/ {scene.ideal}",
            ),
            Figure("Lines", str(len(scene.lines))),
            Figure(
                "Bytes used",
                grouped(used),
                f"of {grouped(fetched)} fetched",
                short=f"/ {grouped(fetched)}",
            ),
            Figure(
                "Sector efficiency",
                percent(scene.ideal, scene.sectors),
                "",
                "conflict" if wasteful else "ideal" if used >= fetched else "text",
            ),
        )
        draw_figures(p, g.figures, figures, theme)
        share = min(used / fetched, 1.0) if fetched else 0.0
        if fetched and not g.bar_label.isEmpty():
            words = f"{percent(used, fetched)} of the bytes used"
            text(p, g.bar_label, words, theme.color("text_dim"), theme.font("small"), RIGHT)
        done = QRectF(g.bar.left(), g.bar.top(), g.bar.width() * share, g.bar.height())
        rest = QRectF(done.right(), g.bar.top(), g.bar.right() - done.right(), g.bar.height())
        fill(p, [rest], theme.tint("waste", 0.35))
        fill(p, [rest], hatch(theme.color("waste")))
        fill(p, [done], theme.color("used"))

    def _draw_lanes(self, lit: set[int]) -> None:
        p, theme, scene, g = self.p, self.theme, self.scene, self.geometry
        threads = self.session.block_trace.n_threads if self.session.block_trace else LANES
        area = QRectF(g.groups.topLeft(), g.lanes[-1].bottomRight()).adjusted(-4, -2, 4, 2)
        state = (
            scene.live, scene.warp, scene.active.tobytes(), scene.faulty.tobytes(),
            tuple(scene.one_row_per_y),
            scene.threads.tobytes(), threads,
            corner(g.lanes[0]), corner(g.lanes[-1]), corner(g.groups),
        )  # fmt: skip
        self.kept.draw(p, "lanes", area, state, lambda q: self._draw_boxes(q, threads))
        if g.names:
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
            self.p, "names", area, state,
            lambda q: upright_texts(q, dim, color("text_dim"), small, RIGHT),
        )  # fmt: skip
        named = [(rect, words) for lane, rect, words in placed if lane in strong - wrong]
        upright_texts(self.p, named, color("text"), small, RIGHT)
        crossed = [(rect, words) for lane, rect, words in placed if lane in wrong]
        upright_texts(self.p, crossed, color(FAULT), small, RIGHT)

    def _draw_boxes(self, p: QPainter, threads: int) -> None:
        """The lanes in the colours of their threads, under the rows of the block they belong to."""
        theme, scene, g = self.theme, self.scene, self.geometry
        small = theme.font("small")
        numbers = fitting(small, "00", g.lanes[0].width() - 1)
        tight = numbers if numbers.pointSizeF() >= LEAST * theme.sizes.small else small
        colors = theme.owner_lut("thread", threads)
        numbered: dict[str, list[Placed]] = {}
        for first, last, words in scene.one_row_per_y:
            span = QRectF(g.lanes[first].topLeft(), g.lanes[last].topRight())
            span.setTop(g.groups.top())
            span.setBottom(g.groups.bottom() - 2)
            x0, x1 = scene.threads[first][0], scene.threads[last][0]
            xs = f"x = {x0}..{x1}" if last > first else f"x = {x0}"
            self._draw_group(p, span, (words, xs))
        for lane, rect in enumerate(g.lanes):
            thread = scene.warp * LANES + lane
            if lane < len(scene.threads) and scene.active[lane]:
                owner = colors[thread]
                background = theme.color("panel")
                background.setRgb(int(owner[0]), int(owner[1]), int(owner[2]))
                if not scene.live:
                    background = blend(theme.color("panel"), background, STALE)
                fill(p, [rect], background)
                ink = text_on(background)
            elif scene.faulty[lane]:
                fill(p, [rect], theme.color(FAULT))
                ink = text_on(theme.color(FAULT))
            else:
                fill(p, [rect], theme.color("inactive", 0.55))
                ink = theme.color("text_faint")
            if numbers.pointSizeF() >= LEAST * theme.sizes.small or lane % 4 == 0:
                numbered.setdefault(ink.name(), []).append((rect, str(lane)))
        for name, places in numbered.items():
            texts(p, places, QColor(name), tight)

    def _draw_group(self, p: QPainter, span: QRectF, words: tuple[str, str]) -> None:
        theme = self.theme
        y, x = words
        full = f"threadIdx {x}" if not y else f"{y},  {x}"
        metrics = QFontMetricsF(theme.font("small"))
        room = span.width() - 6
        for choice in (full, f"{y}, {x}" if y else x, y or x, (y or x).replace(" ", "")):
            if metrics.horizontalAdvance(choice) <= room:
                text(p, span, choice, theme.color("text_dim"), theme.font("small"), elide=False)
                break
        p.setPen(pen(theme.color("text_faint"), 1))
        base = span.bottom() + 0.5
        p.drawLine(QPointF(span.left() + 2, base), QPointF(span.right() - 2, base))

    def _draw_readout(self) -> None:
        p, theme, scene, g = self.p, self.theme, self.scene, self.geometry
        hover = self.session.hover
        lane = self.session.lane
        if hover is not None and hover.thread is not None:
            warp, other = divmod(hover.thread, LANES)
            lane = other if warp == scene.warp else lane
        if lane >= len(scene.threads):
            return
        who = f"Lane {lane}, thread {thread_name(scene.threads[lane], three=scene.three)}"
        at = ""
        if scene.active[lane]:
            values = ", ".join(value_text(v) for v in scene.values[lane].tolist())
            where = f"{scene.verb} {scene.names[lane]} = {values}"
            address = int(scene.addresses[lane])
            words = f"{who} {where}"
            at = f", byte {address % 128} of line 0x{address // 128 * 128:x}"
        elif scene.faults[lane]:
            words = f"{who} {scene.faults[lane]}"
        else:
            words = f"{who} takes no part in this access"
        metrics = QFontMetricsF(theme.font("small"))
        if metrics.horizontalAdvance(words + at) <= g.readout.width():
            words += at  # whole, or not at all
        text(p, g.readout, words, theme.color("text"), theme.font("small"), LEFT)

    def _draw_overview(self) -> None:
        p, scene, g = self.p, self.scene, self.geometry
        if not g.overview:
            return
        area = QRectF(g.overview_title)
        for rect in g.overview:
            area = area.united(rect.adjusted(-2, -2, 2, g.overview_label + 3))
        state = scene.warp, tuple((w.warp, w.sectors, w.ideal) for w in scene.warps)
        self.kept.draw(p, "overview", area, state, self._draw_warps)

    def _draw_warps(self, p: QPainter) -> None:
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
        numbered = numbers.pointSizeF() >= LEAST * theme.sizes.small
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
            return {hover.thread % LANES} if hover.thread // LANES == scene.warp else set()
        lanes = range(len(scene.threads))
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
            return {i for i in lanes if inside[i] and scene.active[i]}
        return set()
