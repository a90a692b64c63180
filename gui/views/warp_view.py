"""The warp view: 32 lanes, the memory they touch, and the whole block's warps in overview."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.looks.theme import current_theme
from gui.scenes.selection import Element, Hover
from gui.scenes.session import Session
from gui.scenes.warp import (
    LANES,
    SECTOR,
    LineStrip,
    WarpScene,
    access_shown,
    seen_at,
    warp_scene,
    why_empty,
)
from gui.views.base import Caption, SessionView
from gui.views.element_menu import element_menu
from gui.views.kept import Kept
from gui.views.painting import nothing
from gui.views.warp_geometry import StripLine, WarpGeometry, warp_geometry
from gui.views.warp_painter import WarpPainter
from gui.views.why_button import why_button


class WarpView(SessionView):
    """Draws `WarpScene` for the session's step and warp.

    Hovering a lane or a cell lights the other end and tells the session; a click selects the
    lane's thread, the cell's element or the overview's warp.
    """

    WATCHES = frozenset({"trace", "block", "step", "thread", "hover", "trouble"})
    why_wanted = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.caption = Caption()
        self.why = why_button()
        self.why.clicked.connect(self.why_wanted)
        self.controls: tuple[QWidget, ...] = (self.why,)
        self._scene: WarpScene | None = None
        self._geometry: WarpGeometry | None = None
        self._kept = Kept()
        self._shown: tuple[int, bool, int, int] | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Warp and memory")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        """Room for 32 lanes, the strip of memory and the overview."""
        return QSize(560, 430)

    def minimumSizeHint(self) -> QSize:
        """Below this lane numbers could not be read."""
        return QSize(360, 240)

    @property
    def scene(self) -> WarpScene | None:
        """What is drawn now; None before the first access to global memory."""
        return self._scene

    def refresh(self, names: frozenset[str]) -> None:
        """Work out the scene; hovering only repaints."""
        if names - {"hover"}:
            block, step, warp = self.session.block_trace, self.session.step, self.session.warp
            shown = (
                access_shown(block, step) if block is not None and block.n_steps else (-1, False)
            )
            now = (*shown, warp, self.session.lane)
            if now == self._shown and names == {"step"}:
                return  # the last access to global memory is still the same
            scene, self._shown = self._scene, now
            moved = names <= {"step", "thread", "hover"}  # the record is still the same
            if moved and block and scene and (scene.step, scene.warp) == (shown[0], warp):
                self._scene = seen_at(scene, block, step)
            else:
                self._scene = warp_scene(block, step, warp) if block and shown[0] >= 0 else None
                self._geometry = None
            found, trace = self._scene, self.session.trace
            words = "" if trace is not None else self.session.trouble
            self.say(self.caption, found.caption if found else words, self._why_empty())
        self.update()

    def restyle(self) -> None:
        """Lay out anew for the theme's type."""
        self._geometry = None
        self._kept = Kept()
        super().restyle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out anew."""
        self._geometry = None
        super().resizeEvent(event)

    def _why_empty(self) -> str:
        session = self.session
        if session.trace is None:
            return session.trouble
        return why_empty(session.block_trace, session.step, session.warp)

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
        """Draw the scene, or say why there is none."""
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.color("panel"))
        scene, geometry = self._scene, self.geometry_now()
        if scene is None or geometry is None:
            nothing(painter, QRectF(self.rect()), self._why_empty(), theme)
            return
        WarpPainter(painter, theme, scene, geometry, self.session, self._kept).draw()

    # ---- pointing

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell the session what is pointed at."""
        self.session.hover = self._hover_at(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is pointed at any more."""
        self.session.hover = None
        super().leaveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select a lane's thread, a cell's element or a warp of the overview; explain a figure.

        A click on the selected warp's figure in the overview explains it as well.
        """
        scene, geometry = self._scene, self.geometry_now()
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
        hover = self._hover_at(event.position())
        if hover is None:
            return
        chosen: dict[str, object] = {}
        if hover.thread is not None:
            chosen["thread"] = hover.thread
        if hover.element is not None and hover.sector is not None:  # a cell, not a lane
            chosen["element"] = hover.element
        self.session.update(**chosen)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the element that is pointed at, else leave it to the window."""
        hover = self._hover_at(QPointF(event.pos()))
        event.setAccepted(hover is not None and hover.element is not None)
        if hover is not None and hover.element is not None:
            menu = element_menu(self.session, hover.element, self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(event.globalPos())

    def _hover_at(self, point: QPointF) -> Hover | None:
        scene, geometry = self._scene, self.geometry_now()
        if scene is None or geometry is None:
            return None
        for lane in range(len(scene.threads)):
            area = geometry.lanes[lane]
            if geometry.names:
                area = area.united(geometry.names[lane])
            if area.contains(point):
                return Hover(scene.warp * LANES + lane, self._element_of(scene, lane))
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

    def _element_of(self, scene: WarpScene, lane: int) -> Element | None:
        """The first element that a lane touches."""
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
