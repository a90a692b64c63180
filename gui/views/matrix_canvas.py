"""The matrix canvas: B above C, A left of C, and what the current step does to them."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from gui.looks.theme import Theme, current_theme
from gui.scenes.grids import Grid, Owned, close_up, grids_of, shares_of
from gui.scenes.guards import Guards, guards_of
from gui.scenes.matrices import MatrixScene, heat_caption, matrix_scene
from gui.scenes.reaches import reaches_of
from gui.scenes.selection import Element, Hover
from gui.scenes.session import Session
from gui.views.base import Caption
from gui.views.element_menu import element_menu
from gui.views.kept import Backdrop
from gui.views.matrix_controls import extent_choice, fit_button, mode_choice
from gui.views.matrix_drawing import NAME_GAP, title_widths
from gui.views.matrix_ground import MatrixGround
from gui.views.matrix_layout import Margins, MatrixLayout, arranged
from gui.views.matrix_marks import MatrixMarks
from gui.views.painting import nothing
from gui.views.pan_zoom import PanZoomView
from gui.views.reading_ahead import ReadingAhead


class MatrixCanvas(PanZoomView):
    """Draws `MatrixScene`; the wheel zooms about the pointer, dragging pans, 0 shows everything.

    Hovering names an element to the session; a click selects it and, in C, the thread that owns it.
    """

    WATCHES = frozenset({"trace", "block", "step", "thread", "hover", "element", "trouble"})
    WATCHES |= {"heat", "close_up", "warp_trail"}
    why_wanted = Signal(object)
    """A count of loads was clicked: its element."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.caption = Caption()
        self.mode, self.extent = mode_choice(session), extent_choice(session)
        self.fit_button = fit_button()
        self.fit_button.clicked.connect(self.fit)
        self.controls: tuple[QWidget, ...] = (self.mode, self.extent, self.fit_button)
        self._whole: tuple[Grid, ...] = ()
        self._guards: Guards | None = None
        self._grids: tuple[Grid, ...] = ()
        self._scene: MatrixScene | None = None
        self._own: tuple[Owned, ...] = ()
        self._ground = Backdrop()
        self._covered: int | None = None
        """The step up to which what is loaded has no values in the ground: the heat lies there."""
        self.ahead = ReadingAhead(self)
        self.ahead.all_known.connect(self.view_changed)
        self.setAccessibleName("Matrices")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        """Room for two matrices of a teaching size."""
        return QSize(640, 520)

    def minimumSizeHint(self) -> QSize:
        """Below this nothing could be told apart."""
        return QSize(280, 240)

    # ---- what is drawn

    @property
    def scene(self) -> MatrixScene | None:
        """The marks of the current step."""
        return self._scene

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The arrays drawn, in the order of the scene's marks."""
        return self._grids

    def refresh(self, names: frozenset[str]) -> None:
        """Work out the marks of the step; hover and selection only repaint."""
        trace, block = self.session.trace, self.session.block_trace
        if "close_up" in names:
            self._change_extent()
        if names & {"heat", "warp_trail"}:
            self._ground.forget()
            self._covered = None
        if self._covered is not None and self.session.step < self._covered:
            self._ground.forget()  # and may stay while steps are made backwards
            self._covered = None
        if "trace" in names:
            self._open_trace()
        if names & {"trace", "block"}:
            self._open_block()
        if block is None or trace is None or not block.n_steps:
            self._scene = None
            self.say(self.caption, "")
        elif names - {"hover", "element"}:
            self.ahead.pause()
            self._follow_block()
            self._scene = matrix_scene(
                block,
                self._grids,
                self.session.step,
                self.session.thread,
                self._guards,
                warp_trail=self.session.warp_trail,
            )
            words = self._scene.caption
            if self.session.heat:
                words = heat_caption(block, self._grids, self.session.step)
            self.say(self.caption, words)
        self.update()

    def restyle(self) -> None:
        """Lay out anew for the theme's type."""
        self._relayout()
        super().restyle()

    def _open_trace(self) -> None:
        trace = self.session.trace
        self._whole, self._guards = (), None
        if trace is not None:
            self._guards = guards_of(trace)
            self._whole = tuple(map(reaches_of(trace).roomy, grids_of(trace)))
        self._grids = self._whole
        self.ahead.forget()
        product = len(self._whole) == 3 and self._whole[2].place == (1, 1)
        if self.extent.parentWidget() is not None or not product:  # alone it would be a window
            self.extent.setVisible(product)
        self._relayout()

    def _change_extent(self) -> None:
        self._grids = self._whole
        self._follow_block()
        self._relayout()

    def _follow_block(self) -> None:
        """In a close-up, move the window along k with the phase."""
        block = self.session.block_trace
        if not self.session.close_up or block is None or not block.n_steps:
            return
        grids = close_up(self._whole, block, self.session.step)
        if grids != self._grids:
            earlier, self._grids = self._grids, grids
            if [g.drawn for g in grids] != [g.drawn for g in earlier] or self._layout is None:
                self._relayout()
            else:
                self._layout = MatrixLayout(grids, self._layout.margins)
                self._ground.forget()

    def view_changed(self) -> None:
        """The ground is to be drawn anew."""
        self._ground.forget()
        self._covered = self.session.step if self.session.heat else None
        self.update()

    def _relayout(self) -> None:
        """Make the layout anew for the grids and the theme's type, and show everything."""
        self._layout = MatrixLayout(self._grids, self._margins()) if self._grids else None
        self.fit()

    def fit(self) -> None:
        """Show the whole of every matrix, those of no product where there is more room for them."""
        if self._layout is not None and self._grids is self._whole:
            margins = self._margins()
            found = arranged(self._whole, margins, self.width(), self.height())
            if found != self._whole:
                self._whole = self._grids = found
                self._layout = MatrixLayout(found, margins)
                self.ahead.forget()
                self._open_block()
                self.refresh(frozenset({"step"}))
        super().fit()

    def _margins(self) -> Margins:
        line = self.fontMetrics().height()
        wide = self.fontMetrics().horizontalAdvance("00000")
        product = len(self._grids) == 3 and self._grids[2].place == (1, 1)
        above, between, below = (1.3, 1.7, 1.8) if product else (2.5, 2.6, 3.1)
        left = float(wide)
        if product:  # room for A's name and size left of its column numbers
            left = max(left, sum(title_widths(self._grids[0], current_theme())) + NAME_GAP + 6)
        return Margins(left, above * line, wide / 2, below * line, between * line)

    def _open_block(self) -> None:
        self._ground.forget()
        self._covered = None
        self._own = self.ahead.open(self._grids)

    def showEvent(self, event: QShowEvent) -> None:
        """Go on reading ahead."""
        super().showEvent(event)
        self.ahead.resume()

    def hideEvent(self, event: QHideEvent) -> None:
        """What is not seen works for nothing."""
        super().hideEvent(event)
        self.ahead.stop()

    # ---- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        """The ground from its pixmap, then the marks of the step."""
        theme = current_theme()
        painter = QPainter(self)
        if self._layout is None or self._scene is None or self.session.trace is None:
            painter.fillRect(self.rect(), theme.color("panel"))
            none = "This block has no steps." if self._grids else "No array lies in global memory."
            words = self.session.trouble if self.session.trace is None else none
            nothing(painter, QRectF(self.rect()), words, theme)
            return
        layout, box = self._layout, QRectF(self.rect())
        self._ground.draw(painter, self, lambda p: self._draw_ground(p, layout, theme))
        marks = MatrixMarks(painter, theme, self._layout, self._view, box, self.session)
        marks.draw(self._scene, loads=self.session.heat)
        edges = MatrixGround(painter, theme, self._layout, self._view, box, self.session)
        if not edges.fits_all():
            edges.draw_edges()
        marks.draw_pointed(self._scene, self._own, self._others())

    def _draw_ground(self, painter: QPainter, layout: MatrixLayout, theme: Theme) -> None:
        """What stays the same from step to step."""
        box = QRectF(self.rect())
        painter.fillRect(box, theme.color("panel"))
        ground = MatrixGround(painter, theme, layout, self._view, box, self.session)
        ground.draw(self._own, self._others(), self._covered)

    def _others(self) -> list[Owned]:
        """What the blocks that are not selected store, as far as it is known yet."""
        known = self.ahead.owned.items()
        return [share for b, shares in known for share in shares if b != self.session.block]

    # ---- pointing

    def element_at(self, point: QPointF) -> tuple[Grid, int] | None:
        """The grid and flat element under a pixel."""
        if self._layout is None:
            return None
        for grid in self._grids:
            cell = self._layout.cell_at(grid, self._view, point)
            if cell is not None:
                flat = grid.flat(*cell)
                return (grid, flat) if flat >= 0 else None
        return None

    def owner_of(self, grid: Grid, flat: int) -> int | None:
        """The thread of the selected block that stores an element of the result."""
        mine = shares_of(self._own, grid)
        return mine[0].thread_of(flat) if mine else None

    def _name(self, grid: Grid, flat: int) -> Element:
        return grid.array.name, grid.array.index(flat)

    def point_at(self, point: QPointF) -> None:
        """Tell the session which element lies under a pixel."""
        found = self.element_at(point)
        if found is None:
            self.session.hover = None
            return
        grid, flat = found
        self.session.hover = Hover(thread=self.owner_of(grid, flat), element=self._name(grid, flat))

    def click_at(self, point: QPointF) -> None:
        """Select the element under a pixel; its count is explained, its owner selected with it."""
        found = self.element_at(point)
        if found is not None:
            self._select(*found)
            if self.session.heat and not found[0].result:
                self.why_wanted.emit(self._name(*found))

    def menu_at(self, point: QPointF) -> QMenu | None:
        """The menu of the element under a pixel."""
        found = self.element_at(point)
        return element_menu(self.session, self._name(*found), self) if found else None

    def _select(self, grid: Grid, flat: int) -> None:
        values: dict[str, object] = {"element": self._name(grid, flat)}
        owner = self.owner_of(grid, flat)
        if owner is not None:
            values["thread"] = owner
        elif grid.result:
            for owned in shares_of(self._others(), grid):
                if (thread := owned.thread_of(flat)) is not None:
                    values.update(block=owned.block, thread=thread)
        self.session.update(**values)
