"""The warp view: 32 lanes, the memory they touch, and the whole block's warps in overview."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.scenes.naming import percent, thread_name, value_text
from gui.scenes.session import Hover, Session
from gui.scenes.text import grouped
from gui.scenes.warp import LANES, SECTOR, LineStrip, WarpScene, warp_scene
from gui.theme import Theme, current_theme
from gui.views.base import Caption, SessionView
from gui.views.painting import (
    CENTRE,
    LEFT,
    RIGHT,
    Figure,
    draw_figures,
    fill,
    frame,
    hatch,
    inset,
    link,
    nothing,
    pen,
    text,
    text_on,
    upright_text,
)
from gui.views.warp_geometry import StripLine, WarpGeometry, warp_geometry

STALE = 0.5  # opacity of an access that is not of this step


class WarpView(SessionView):
    """Draws `WarpScene` for the session's step and warp.

    Hovering a lane or a cell lights the other end and tells the session; a click selects the
    lane's thread, the cell's element or the overview's warp.
    """

    WATCHES = frozenset({"trace", "block", "step", "thread", "hover"})

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.caption = Caption()
        self.controls: tuple[QWidget, ...] = ()
        self._scene: WarpScene | None = None
        self._geometry: WarpGeometry | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Warp and memory")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(560, 430)

    def minimumSizeHint(self) -> QSize:
        return QSize(360, 240)

    @property
    def scene(self) -> WarpScene | None:
        """What is drawn now; None before the first access to global memory."""
        return self._scene

    def refresh(self, names: frozenset[str]) -> None:
        if names - {"hover"}:
            block = self.session.block_trace
            self._scene = warp_scene(block, self.session.step, self.session.warp) if block else None
            self._geometry = None
            self.caption.setText(self._scene.caption if self._scene else self._why_empty())
            self.setAccessibleDescription(self.caption.text())
        self.update()

    def restyle(self) -> None:
        self._geometry = None
        super().restyle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._geometry = None
        super().resizeEvent(event)

    def _why_empty(self) -> str:
        return "No access to global memory yet." if self.session.trace else ""

    def geometry_now(self) -> WarpGeometry | None:
        """The layout of what is drawn now."""
        if self._geometry is None and self._scene is not None:
            theme = current_theme()
            edge = theme.spacing.margin
            box = QRectF(self.rect()).adjusted(edge, 4, -edge, -theme.spacing.gap)
            self._geometry = warp_geometry(self._scene, box, theme)
        return self._geometry

    # ---- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.color("panel"))
        scene, geometry = self._scene, self.geometry_now()
        if scene is None or geometry is None:
            nothing(painter, QRectF(self.rect()), self._why_empty(), theme)
            return
        painter.setOpacity(1.0 if scene.live else STALE)
        self._draw_figures(painter, scene, geometry, theme)
        lit = self._lit_lanes(scene)
        self._draw_lanes(painter, scene, geometry, theme, lit)
        self._draw_strip(painter, scene, geometry, theme)
        self._draw_links(painter, scene, geometry, theme, lit)
        self._draw_readout(painter, scene, geometry, theme)
        self._draw_overview(painter, scene, geometry, theme)

    def _draw_figures(self, p: QPainter, scene: WarpScene, g: WarpGeometry, theme: Theme) -> None:
        wasteful = scene.sectors > scene.ideal
        fetched, used = scene.bytes_fetched, scene.bytes_used
        figures = (
            Figure("Requests", "1" if scene.sectors else "0"),
            Figure(
                "Sectors",
                str(scene.sectors),
                f"ideal {scene.ideal}",
                "conflict" if wasteful else "ideal",
            ),
            Figure("Lines", str(len(scene.lines))),
            Figure("Bytes used", grouped(used), f"of {grouped(fetched)} fetched"),
            Figure(
                "Efficiency",
                percent(scene.ideal, scene.sectors),
                "",
                "conflict" if wasteful else "ideal",
            ),
        )
        draw_figures(p, g.figures, figures, theme)
        share = used / fetched if fetched else 0.0
        done = QRectF(g.bar.left(), g.bar.top(), g.bar.width() * share, g.bar.height())
        rest = QRectF(done.right(), g.bar.top(), g.bar.right() - done.right(), g.bar.height())
        fill(p, [rest], theme.tint("waste", 0.35))
        fill(p, [rest], hatch(theme.color("waste")))
        fill(p, [done], theme.color("used"))

    def _draw_lanes(
        self, p: QPainter, scene: WarpScene, g: WarpGeometry, theme: Theme, lit: set[int]
    ) -> None:
        small = theme.font("small")
        threads = self.session.block_trace.n_threads if self.session.block_trace else LANES
        colors = theme.owner_lut("thread", threads)
        for first, last, words in scene.one_row_per_y:
            span = QRectF(g.lanes[first].topLeft(), g.lanes[last].topRight())
            span.setTop(g.groups.top())
            span.setBottom(g.groups.bottom() - 2)
            x0, x1 = scene.threads[first][0], scene.threads[last][0]
            xs = f"x = {x0}..{x1}" if last > first else f"x = {x0}"
            self._draw_group(p, span, (words, xs), theme)
        for lane, rect in enumerate(g.lanes):
            thread = scene.warp * LANES + lane
            if lane < len(scene.threads) and scene.active[lane]:
                owner = colors[thread]
                background = theme.color("panel")
                background.setRgb(int(owner[0]), int(owner[1]), int(owner[2]))
                fill(p, [rect], background)
                ink = text_on(background, theme)
            else:
                fill(p, [rect], theme.color("inactive", 0.55))
                ink = theme.color("text_faint")
            text(p, rect, str(lane), ink, small, elide=False)
        if g.names:
            for lane, rect in enumerate(g.names):
                if scene.names[lane]:
                    strong = lane in lit or lane == self.session.lane
                    color = theme.color("text" if strong else "text_dim")
                    words = scene.names[lane].replace(", ", ",")
                    upright_text(p, rect, words, color, small, RIGHT)
        frame(p, [inset(g.lanes[i], -0.5) for i in lit], pen(theme.color("hover"), 2))
        frame(p, [inset(g.lanes[self.session.lane], 0.5)], pen(theme.color("selected"), 2))

    def _draw_group(self, p: QPainter, span: QRectF, words: tuple[str, str], theme: Theme) -> None:
        y, x = words
        full = f"threadIdx {x}" if not y else f"{y},  {x}"
        metrics = p.fontMetrics()
        room = span.width() - 6
        for choice in (full, f"{y}, {x}" if y else x, y or x, (y or x).replace(" ", "")):
            if metrics.horizontalAdvance(choice) <= room:
                text(p, span, choice, theme.color("text_dim"), theme.font("small"), elide=False)
                break
        p.setPen(pen(theme.color("text_faint"), 1))
        base = span.bottom() + 0.5
        p.drawLine(QPointF(span.left() + 2, base), QPointF(span.right() - 2, base))

    def _draw_strip(self, p: QPainter, scene: WarpScene, g: WarpGeometry, theme: Theme) -> None:
        strong = theme.color("load" if scene.verb == "loads" else "store")
        used, waste, idle, frames, boxes = [], [], [], [], []
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
        self._draw_strip_words(p, scene, g, theme, text_on(strong, theme))

    def _draw_strip_words(
        self, p: QPainter, scene: WarpScene, g: WarpGeometry, theme: Theme, ink: QColor
    ) -> None:
        small, tiny = theme.font("small"), theme.font("small")
        size = min(theme.sizes.small, g.cell_width * 0.62)
        tiny.setPointSizeF(max(size, 1.0))
        room = QFontMetricsF(small).horizontalAdvance("×32")
        for line, placed in zip(scene.lines, g.strip, strict=True):
            label = line.label if g.rows == 1 else line.touched
            text(p, placed.label, label, theme.color("text_dim"), small, LEFT)
            for cell, rect in placed.cells.items():
                lanes = line.lanes[cell]
                if not lanes:
                    continue
                words = str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}"
                if len(lanes) > 1 and rect.width() < room + 2 < rect.height() + 2:
                    upright_text(p, rect, words, ink, small, CENTRE)
                elif size >= 0.62 * theme.sizes.small:
                    text(p, rect, words, ink, tiny, elide=False)

    def _draw_links(
        self, p: QPainter, scene: WarpScene, g: WarpGeometry, theme: Theme, lit: set[int]
    ) -> None:
        strong = "load" if scene.verb == "loads" else "store"
        ends = _cell_of_lane(scene, g)
        starts = g.names or g.lanes
        special = {self.session.lane, *lit}
        if g.rows == 1:
            p.setBrush(Qt.BrushStyle.NoBrush)
            p.setPen(pen(theme.color(strong, 0.45), 1.1))
            for lane, rect in ends.items():
                if lane not in special:
                    p.drawPath(_path(starts[lane], rect))
        for lane in special & ends.keys():
            path = _path(starts[lane], ends[lane])
            p.setBrush(Qt.BrushStyle.NoBrush)
            p.setPen(pen(theme.color("panel", 0.85), 4.5))
            p.drawPath(path)
            name = "hover" if lane in lit else "selected"
            p.setPen(pen(theme.color(name), 1.8))
            p.drawPath(path)
            frame(p, [inset(ends[lane], -0.5)], pen(theme.color(name), 1.8))

    def _draw_readout(self, p: QPainter, scene: WarpScene, g: WarpGeometry, theme: Theme) -> None:
        hover = self.session.hover
        lane = self.session.lane
        if hover is not None and hover.thread is not None:
            warp, other = divmod(hover.thread, LANES)
            lane = other if warp == scene.warp else lane
        if lane >= len(scene.threads):
            return
        who = f"Lane {lane}, thread {thread_name(scene.threads[lane])}"
        if scene.active[lane]:
            where = f"{scene.verb} {scene.names[lane]} = {value_text(scene.values[lane].item())}"
            address = int(scene.addresses[lane])
            at = f"at byte {address % 128} of the line at 0x{address // 128 * 128:x}"
            words = f"{who} {where}, {at}"
        else:
            words = f"{who} takes no part in this access"
        text(p, g.readout, words, theme.color("text"), theme.font("small"), LEFT)

    def _draw_overview(self, p: QPainter, scene: WarpScene, g: WarpGeometry, theme: Theme) -> None:
        if not g.overview:
            return
        small = theme.font("small")
        total = sum(w.sectors for w in scene.warps)
        words = f"Sectors of each warp of the block, {grouped(total)} in all"
        text(p, g.overview_title, words, theme.color("text_dim"), small, LEFT)
        most = max(4, *(w.sectors for w in scene.warps))
        for summary, rect in zip(scene.warps, g.overview, strict=True):
            fill(p, [rect], theme.color("raised"))
            for count, name in (
                (summary.sectors, "waste"),
                (min(summary.ideal, summary.sectors), "used"),
            ):
                level = QRectF(rect)
                level.setTop(rect.bottom() - rect.height() * count / most)
                strength = 0.75 if name == "waste" else 0.55
                fill(p, [level], theme.tint(name, strength))
            text(p, rect, str(summary.sectors), theme.color("text"), small, elide=False)
            below = QRectF(rect.left(), rect.bottom() + 1, rect.width(), g.overview_label)
            chosen = summary.warp == scene.warp
            color = theme.color("text" if chosen else "text_faint")
            text(p, below, str(summary.warp), color, small, elide=False)
            if chosen:
                frame(p, [inset(rect, 0)], pen(theme.color("selected"), 2))

    def _lit_lanes(self, scene: WarpScene) -> set[int]:
        """Lanes that what is hovered, here or in another view, leads to."""
        hover = self.session.hover
        if hover is None:
            return set()
        if hover.thread is not None:
            return {hover.thread % LANES} if hover.thread // LANES == scene.warp else set()
        lanes = range(len(scene.threads))
        if hover.element is not None:
            name, index = hover.element
            wanted = f"{name}[{', '.join(str(i) for i in index)}]"
            return {i for i in lanes if scene.names[i] == wanted}
        if hover.sector is not None:
            start = hover.sector
            inside = (scene.addresses >= start) & (scene.addresses < start + SECTOR)
            return {i for i in lanes if inside[i] and scene.active[i]}
        return set()

    # ---- pointing

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.session.hover = self._hover_at(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        self.session.hover = None
        super().leaveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        scene, geometry = self._scene, self.geometry_now()
        if scene is None or geometry is None or event.button() != Qt.MouseButton.LeftButton:
            return
        for summary, rect in zip(scene.warps, geometry.overview, strict=False):
            if rect.adjusted(0, -4, 0, geometry.overview_label).contains(event.position()):
                self.session.warp = summary.warp
                return
        hover = self._hover_at(event.position())
        if hover is None:
            return
        chosen: dict[str, object] = {}
        if hover.thread is not None:
            chosen["thread"] = hover.thread
        if hover.element is not None:
            chosen["element"] = hover.element
        self.session.update(**chosen)

    def _hover_at(self, point: QPointF) -> Hover | None:
        scene, geometry = self._scene, self.geometry_now()
        if scene is None or geometry is None:
            return None
        for lane in range(len(scene.threads)):
            area = geometry.lanes[lane]
            if geometry.names:
                area = area.united(geometry.names[lane])
            if area.contains(point):
                return Hover(thread=scene.warp * LANES + lane)
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
                thread = scene.warp * LANES + lanes[0] if len(lanes) == 1 else None
                element = self._element(scene, line.elements[cell])
                sector = line.address + cell * scene.cell // SECTOR * SECTOR
                return Hover(thread=thread, element=element, sector=sector)
        for number, rect in enumerate(placed.sectors):
            if rect.contains(point):
                return Hover(sector=line.address + number * SECTOR)
        return None

    def _element(self, scene: WarpScene, flat: int) -> tuple[str, tuple[int, ...]] | None:
        trace = self.session.trace
        if trace is None or flat < 0:
            return None
        array = next(a for a in trace.arrays if a.name == scene.array)
        return scene.array, array.index(flat)


def _cell_of_lane(scene: WarpScene, g: WarpGeometry) -> dict[int, QRectF]:
    """The first cell that each active lane touches."""
    found: dict[int, QRectF] = {}
    for line, placed in zip(scene.lines, g.strip, strict=True):
        for cell, rect in placed.cells.items():
            for lane in line.lanes[cell]:
                found.setdefault(lane, rect)
    return found


def _path(start: QRectF, end: QRectF) -> QPainterPath:
    top = QPointF(start.center().x(), start.bottom() + 2)
    return link(top, QPointF(end.center().x(), end.top() - 1))
