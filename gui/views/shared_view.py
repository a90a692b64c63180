"""The shared memory view: `__shared__` arrays filling up, and the 32 banks of one access."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.looks.theme import current_theme
from gui.scenes.naming import element_name, name_of_thread, numbers_name, value_text
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.scenes.shared import (
    BANKS,
    SharedGrid,
    SharedScene,
    shared_scene,
)
from gui.scenes.warp import LANES
from gui.views.base import Caption, SessionView
from gui.views.element_menu import element_menu
from gui.views.painting import LEFT, nothing, text
from gui.views.shared_geometry import SharedGeometry, depends_on, shared_geometry
from gui.views.shared_ground import SharedGround
from gui.views.shared_painter import SharedPainter
from gui.views.why_button import why_button


class SharedView(SessionView):
    """Draws `SharedScene` for the session's step and warp.

    Hovering a bank lights every cell that lies in it; hovering a cell or word names the lanes.
    """

    WATCHES = frozenset({"trace", "block", "step", "thread", "hover"})
    why_wanted = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.caption = Caption()
        self.why = why_button()
        self.why.clicked.connect(self.why_wanted)
        self.controls: tuple[QWidget, ...] = (self.why,)
        self._scene: SharedScene | None = None
        self._geometry: SharedGeometry | None = None
        self._ground = SharedGround()
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Shared memory and banks")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        """Two arrays side by side above the banks."""
        return QSize(560, 400)

    def minimumSizeHint(self) -> QSize:
        """Below this lane numbers could not be read."""
        return QSize(360, 220)

    @property
    def scene(self) -> SharedScene | None:
        """What is drawn now."""
        return self._scene

    def refresh(self, names: frozenset[str]) -> None:
        """Work out the scene; hovering only repaints."""
        if names - {"hover"}:
            trace, block, step = self.session.trace, self.session.block_trace, self.session.step
            known = trace is not None and block is not None and block.n_steps > 0
            before, self._scene = (
                self._scene,
                (
                    shared_scene(trace, block, step, self.session.warp)  # type: ignore[arg-type]
                    if known
                    else None
                ),
            )
            if not (before and self._scene and depends_on(before) == depends_on(self._scene)):
                self._geometry = None
            self.say(self.caption, self._scene.caption if self._scene else "")
        self.update()

    def restyle(self) -> None:
        """Lay out anew for the theme's type."""
        self._geometry = None
        super().restyle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out anew."""
        self._geometry = None
        super().resizeEvent(event)

    def geometry_now(self) -> SharedGeometry | None:
        """The layout of what is drawn now."""
        if self._geometry is None and self._scene is not None and self._scene.grids:
            theme = current_theme()
            edge = theme.spacing.margin
            box = QRectF(self.rect()).adjusted(edge, 4, -edge, -theme.spacing.gap)
            self._geometry = shared_geometry(self._scene, box, theme)
        return self._geometry

    # ---- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        """Arrays, banks, and a line about what is pointed at."""
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.color("panel"))
        scene, geometry = self._scene, self.geometry_now()
        if scene is None or geometry is None:
            words = "This kernel uses no shared memory." if scene is not None else ""
            nothing(painter, QRectF(self.rect()), words, theme)
            return
        SharedPainter(painter, theme, self.session, self._ground).draw(scene, geometry)
        words = self._readout(scene)
        text(painter, geometry.readout, words, theme.color("text"), theme.font("small"), LEFT)

    # ---- words about what is pointed at

    def _readout(self, scene: SharedScene) -> str:
        hover = self.session.hover
        if hover is None:
            return self._about_lane(scene)
        for grid in scene.grids:
            if hover.element is not None and hover.element[0] == grid.array.name:
                return self._about_cell(grid, hover.element[1])
        if hover.bank is not None and scene.banks is not None:
            asked = scene.banks.words[hover.bank]
            if not asked:
                return f"Bank {hover.bank} is not asked for anything"
            parts = [
                f"{w.name} by lane{'s' * (len(w.lanes) > 1)} {numbers_name(w.lanes)}"
                for w in asked[:4]
            ]
            more = f" and {len(asked) - 4} more words" if len(asked) > 4 else ""
            return f"Bank {hover.bank}: {', '.join(parts)}{more}"
        return self._about_lane(scene)

    def _about_lane(self, scene: SharedScene) -> str:
        block, lane = self.session.block_trace, self.session.lane
        if scene.banks is None or block is None:
            return ""
        who = f"Lane {lane}, thread {name_of_thread(block, self.session.thread)}"
        for bank, number in scene.banks.of_lane.get(lane, []):
            return f"{who} {scene.banks.verb} {scene.banks.words[bank][number].name}, bank {bank}"
        return f"{who} takes no part in this access"

    def _about_cell(self, grid: SharedGrid, index: tuple[int, ...]) -> str:
        flat = int(np.ravel_multi_index(index, grid.array.shape))
        row, column = divmod(flat, grid.columns)
        words = f"{element_name(grid.array, flat)}, bank {grid.bank_of(flat)}"
        if not grid.written[row, column]:
            return f"{words}, not written yet"
        block, writer = self.session.block_trace, int(grid.writers[row, column])
        who = (
            f", written by thread {name_of_thread(block, int(writer))}"
            if block and writer >= 0
            else ""
        )
        return f"{words} = {value_text(grid.values[row, column].item(), 4)}{who}"

    # ---- pointing

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell the session what is pointed at."""
        self.session.hover = self._hover_at(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is pointed at any more."""
        self.session.hover = None
        super().leaveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select the element and the lane's thread."""
        hover = self._hover_at(event.position())
        if hover is None or event.button() != Qt.MouseButton.LeftButton:
            return
        chosen: dict[str, object] = {}
        if hover.thread is not None:
            chosen["thread"] = hover.thread
        if hover.element is not None:
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
        for grid, box, cell in zip(scene.grids, geometry.grids, geometry.cells, strict=True):
            if box.contains(point):
                row = min(int((point.y() - box.top()) / cell.height()), grid.rows - 1)
                column = min(int((point.x() - box.left()) / cell.width()), grid.columns - 1)
                flat = row * grid.columns + column
                if flat >= grid.size:
                    return None
                lanes = grid.warp_lanes[grid.warp_lit == flat]
                thread = self.session.warp * LANES + int(lanes[0]) if len(lanes) == 1 else None
                return Hover(thread=thread, element=(grid.array.name, grid.array.index(flat)))
        whole = geometry.banks.united(geometry.labels)
        if whole.contains(point):
            bank = int((point.x() - whole.left()) / whole.width() * BANKS)
            return self._hover_bank(scene, geometry, min(bank, BANKS - 1), point)
        return None

    def _hover_bank(
        self, scene: SharedScene, g: SharedGeometry, bank: int, point: QPointF
    ) -> Hover:
        if scene.banks is None:
            return Hover(bank=bank)
        asked = scene.banks.words[bank]
        line = QFontMetricsF(current_theme().font("small")).height()
        high = min((g.banks.height() - line) / max(1, scene.banks.highest), 3.4 * line)
        number = int((g.banks.bottom() - point.y()) // high)
        thread = None
        if 0 <= number < len(asked) and len(asked[number].lanes) == 1:
            thread = scene.banks.warp * LANES + asked[number].lanes[0]
        return Hover(thread=thread, bank=bank)
