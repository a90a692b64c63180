"""The matrix canvas: B above C, A left of C, and what the current step does to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from core.links import Element
from gui.looks.theme import Theme, current_theme
from gui.scenes.arrays_as_grids import (
    Grid,
    Owned,
    close_up,
    grids_of,
    is_product,
    owned_by,
    scrolled,
    shares_of,
)
from gui.scenes.masked_off_threads import Guards, guards_of
from gui.scenes.matrices import MatrixScene, heat_caption, matrix_scene, veiled_scene
from gui.scenes.room_beyond_arrays import reaches_of
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.scenes.veils_and_picks import Lit, Pick
from gui.views.buttons_and_choices import Segmented, action_button
from gui.views.drawing_tools import Pixmaps, nothing
from gui.views.matrix_drawing import NAME_GAP, MatrixGround, MatrixMarks, mark_side
from gui.views.matrix_layout import (
    READ_FROM,
    SCROLLED_TO,
    Margins,
    MatrixLayout,
    Transform,
    arranged,
    title_widths,
)
from gui.views.question_in_views import draw_lit, draw_lit_legend, legend_box
from gui.views.session_view import PointedView

STEP_TIP = "What this step loads and stores, and who owns the result"
LOADS_TIP = "How often the block has loaded each element from global memory so far"
BLOCK_TIP = "Only what the block works on: its part of C and the k of this phase"
FIT_TIP = "Show the whole of every matrix; once more: numbers that can be read (0)"
DRAG_START = 4  # pixels


class MatrixCanvas(PointedView):
    """Draws `MatrixScene`; the wheel zooms about the pointer, dragging pans, 0 shows everything.

    Where a product's numbers could not be read if all of it were shown, its matrices scroll as one
    with the step, as long as a good part of them is in sight.

    Hovering names an element to the session; a click selects it and, in C, the thread that owns it.
    """

    WATCHES = frozenset({"trace", "block", "step", "thread", "hover", "element", "trouble"})
    WATCHES |= {"heat", "close_up", "warp_trail"}
    why_wanted = Signal(object)
    """A count of loads was clicked: its element."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "Matrices")
        self._layout: MatrixLayout | None = None
        self._view = Transform(1.0, 0.0, 0.0)
        self._fitted = True
        self._press: QPointF | None = None
        self._grab: Transform | None = None
        self.mode = Segmented(step=("This step", STEP_TIP), loads=("Times loaded", LOADS_TIP))
        self.mode.bind(session, "heat", {"step": False, "loads": True})
        self.extent = Segmented(
            whole=("Whole", "Every matrix as a whole"), block=("Block", BLOCK_TIP)
        )
        self.extent.bind(session, "close_up", {"whole": False, "block": True})
        self.fit_button = action_button("Fit", FIT_TIP, "Fit the matrices")
        self.fit_button.clicked.connect(self.show_all)
        self.extent.chosen.connect(self.read)
        self.controls: tuple[QWidget, ...] = (self.mode, self.extent, self.fit_button)
        self._whole: tuple[Grid, ...] = ()
        self._guards: Guards | None = None
        self._edges = True
        """Whether there is room for what lies beyond the arrays."""
        self.grids: tuple[Grid, ...] = ()
        self.scene: MatrixScene | None = None
        self._own: tuple[Owned, ...] = ()
        self._kept = Pixmaps()
        self._all = False
        """Whether all is to be seen at once, though no numbers can be read then."""
        self._owned: dict[int, tuple[Owned, ...]] = {}
        """What each block stores to the results, of those that are known."""
        self.sharing = QTimer(self)
        """Active until the shares of all blocks are known: a launch may have thousands."""
        self.sharing.timeout.connect(self._share)

    def sizeHint(self) -> QSize:
        return QSize(640, 520)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, 140)

    # ---- what is drawn

    def refresh(self, names: frozenset[str]) -> None:
        """Work out the marks of the step; hover and selection only repaint."""
        trace, block = self.session.trace, self.session.block_trace
        if "close_up" in names:
            self.read()
        if names & {"heat", "warp_trail", "veiled"}:
            self._kept.forget()
        edges = not self.session.hides("matrices.hatched")
        if "trace" in names or edges != self._edges:
            self._edges = edges
            self._open_trace()
        if names & {"trace", "block", "veiled"}:
            self._open_block()
        if block is None or trace is None or not block.n_steps:
            self.scene = None
            self.say("")
        elif names - {"hover", "element"}:
            self._follow_block()
            scene = matrix_scene(
                block,
                self.grids,
                self.session.step,
                self.session.thread,
                self._guards,
                warp_trail=self.session.warp_trail,
            )
            self.scene = veiled_scene(scene, self.session)
            words = self.scene.caption
            if self.session.heat:
                words = heat_caption(block, self.grids, self.session.step)
            self.say(words, part="matrices.caption")
        self.update()

    def restyle(self) -> None:
        self.fit()
        super().restyle()

    def _open_trace(self) -> None:
        trace = self.session.trace
        self._whole, self._guards = (), None
        if trace is not None:
            self._guards = guards_of(trace)
            grids = grids_of(trace)
            self._whole = tuple(map(reaches_of(trace).roomy, grids)) if self._edges else grids
        self.grids, self._all = self._whole, False
        self._owned = {}
        product = is_product(self._whole)
        if self.extent.parentWidget() is not None or not product:  # alone it would be a window
            self.extent.setVisible(product)
        self.fit()

    def _follow_block(self) -> None:
        grids = self._wanted()
        if grids == self.grids:
            return
        earlier, self.grids = self.grids, grids
        if [g.drawn for g in grids] != [g.drawn for g in earlier] or self._layout is None:
            self.fit()
        else:
            self._layout = MatrixLayout(grids, self._layout.margins)
            self._kept.forget()

    def _wanted(self) -> tuple[Grid, ...]:
        """What is to be seen of the grids: all, the block's part, or as much as can be read."""
        grids, block = self._whole, self.session.block_trace
        if block is None or not block.n_steps or not is_product(grids):
            return grids
        step, thread = self.session.step, self.session.thread
        if self.session.close_up:
            grids = close_up(grids, block, step)
        if self._all or not self._fitted:
            return grids
        layout, room = MatrixLayout(grids, self._margins()), (self.width(), self.height())
        if layout.read_at(layout.fit(*room)) or not layout.can_scroll(*room):
            return grids
        ample, tight = (
            scrolled(grids, *layout.cells_in_sight(*room, cell), block, step, thread)
            for cell in (SCROLLED_TO, READ_FROM)
        )
        part = close_up(self._whole, block, step)
        return tight if _cut(tight, part) < _cut(ample, part) else ample

    def view_changed(self) -> None:
        self._kept.forget()
        self.update()

    def read(self) -> None:
        """Have numbers that can be read, of as much as there is room for."""
        self._all = False
        self.fit()

    def show_all(self) -> None:
        """Undo zooming; then show all of every matrix, and then again what can be read of them."""
        if self._fitted:
            self._all = not self._all
        self.fit()

    def fit(self) -> None:
        """Show what is wanted, arrays of no product where there is more room for them.

        The layout is made anew, for the grids and the theme's type.
        """
        self._fitted = True
        earlier, self.grids, margins = self.grids, self._wanted(), self._margins()
        if self.grids and self.grids is self._whole:
            found = arranged(self._whole, margins, self.width(), self.height())
            if found != self._whole:
                self._whole = self.grids = found
                self._owned = {}
                self._open_block()
        self._layout = MatrixLayout(self.grids, margins) if self.grids else None
        if self.grids != earlier and self.scene is not None:
            self.refresh(frozenset({"step"}))
        if self._layout is not None:
            self._view = self._layout.fit(self.width(), self.height())
        self.view_changed()

    def zoom(self, factor: float, about: QPointF | None = None) -> None:
        """Enlarge by `factor` about a pixel (the middle when None).

        What scrolled by itself is panned by hand from then on.
        """
        self._let_go(about)
        if self._layout is None:
            return
        middle = QPointF(self.width() / 2, self.height() / 2)
        least = self._layout.fit(self.width(), self.height()).scale
        view = self._layout.zoomed(self._view, factor, about or middle, least)
        if view.scale <= least:
            self.fit()
            return
        self._show(view)

    def pan(self, dx: float, dy: float) -> None:
        """Move the picture by pixels; as `zoom`."""
        self._let_go()
        self._show(replace(self._view, x=self._view.x + dx, y=self._view.y + dy))

    def _show(self, view: Transform) -> None:
        self._fitted = False
        self._view = view
        self.view_changed()

    def _let_go(self, about: QPointF | None = None) -> None:
        """Put all of the grids around what is in sight of them."""
        if not self._fitted or self._layout is None:
            return
        about = about or QPointF(self.width() / 2, self.height() / 2)
        grid, row, column = self._layout.anchor(self._view, about)
        self._fitted = False
        grids = self._wanted()
        if grids == self.grids:
            self._fitted = True
            return
        self.grids = grids
        self._layout = MatrixLayout(grids, self._layout.margins)
        self._view = self._layout.placed(grid.place, (row, column), about, self._view)
        self.view_changed()

    def _margins(self) -> Margins:
        line = self.fontMetrics().height()
        wide = self.fontMetrics().horizontalAdvance("00000")
        product = is_product(self.grids)
        above, between, below = (1.3, 1.7, 1.8) if product else (2.5, 2.6, 3.1)
        left = float(wide)
        if product:  # room for A's name and size left of its column numbers
            left = max(left, sum(title_widths(self.grids[0], current_theme())) + NAME_GAP + 6)
        right = max(wide / 2, mark_side(current_theme()) + 4)  # a veil's mark stands there
        return Margins(left, above * line, right, below * line, between * line)

    def _open_block(self) -> None:
        self._kept.forget()
        self._own = self._share_of(self.session.block)
        self.sharing.start(0)

    def _share_of(self, block: int) -> tuple[Owned, ...]:
        trace = self.session.trace
        if self.session.hides("matrices.owners"):
            return ()
        if block not in self._owned and trace is not None:
            found = (owned_by(trace, grid, block) for grid in self._whole if grid.result)
            self._owned[block] = tuple(share for share in found if share is not None)
        return self._owned.get(block, ())

    def _share(self) -> None:
        """Find another block's share, in a millisecond."""
        trace = self.session.trace
        for block in trace.recorded_blocks if trace is not None else ():
            if block not in self._owned and not self.session.hides("matrices.owners"):
                self._share_of(block)
                return
        self.sharing.stop()
        self.view_changed()

    def _others(self) -> list[Owned]:
        """What the blocks that are not selected store, as far as it is known yet."""
        if self.session.hides("matrices.owners"):
            return []
        known = self._owned.items()
        return [share for b, shares in known for share in shares if b != self.session.block]

    # ---- input

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep everything in view, or the place where the user zoomed to."""
        super().resizeEvent(event)
        if self._fitted:
            self.fit()
        else:
            self.view_changed()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._press = event.position()
            self._grab = None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._press is None or not event.buttons() & Qt.MouseButton.LeftButton:
            self.point_at(event.position())
            return
        moved = event.position() - self._press
        if self._grab is None and moved.manhattanLength() > DRAG_START:
            self._let_go(self._press)
            self._grab = self._view
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        if self._grab is not None:
            grab = self._grab
            self._show(replace(grab, x=grab.x + moved.x(), y=grab.y + moved.y()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._press is None:
            return
        dragged, self._press, self._grab = self._grab is not None, None, None
        self.unsetCursor()
        if not dragged:
            self.click_at(event.position())

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.zoom(1.0015 ** event.angleDelta().y(), event.position())
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = 60.0
        moves = {
            Qt.Key.Key_Left: (step, 0.0),
            Qt.Key.Key_Right: (-step, 0.0),
            Qt.Key.Key_Up: (0.0, step),
            Qt.Key.Key_Down: (0.0, -step),
        }
        if event.key() in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(1.25)
        elif event.key() == Qt.Key.Key_Minus:
            self.zoom(0.8)
        elif event.key() == Qt.Key.Key_0:
            self.show_all()
        elif event.key() in moves and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan(*moves[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    # ---- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        if self._layout is None or self.scene is None or self.session.trace is None:
            painter.fillRect(self.rect(), theme.color("panel"))
            none = "This block has no steps." if self.grids else "No array lies in global memory."
            words = self.session.trouble if self.session.trace is None else none
            nothing(painter, QRectF(self.rect()), words, theme)
            return
        layout, box = self._layout, QRectF(self.rect())
        self._kept.draw(painter, "ground", box, (), lambda p: self._draw_ground(p, layout, theme))
        marks = MatrixMarks(painter, theme, self._layout, self._view, box, self.session)
        marks.draw(self.scene, loads=marks.counts_loads)
        edges = MatrixGround(painter, theme, self._layout, self._view, box, self.session)
        if not edges.fits_all():
            edges.draw_edges()
        marks.draw_pointed(self._own, self._others())
        lit = self.session.lit
        if lit is not None and lit.target in ("element", "thread"):
            draw_lit(painter, theme, self._lit_places(marks, lit), lit)
            draw_lit_legend(painter, legend_box(box, theme), theme, lit)

    def _draw_ground(self, painter: QPainter, layout: MatrixLayout, theme: Theme) -> None:
        box = QRectF(self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillRect(box, theme.color("panel"))
        ground = MatrixGround(painter, theme, layout, self._view, box, self.session)
        ground.draw(self._own, self._others())

    def _lit_places(self, marks: MatrixMarks, lit: Lit) -> Iterator[tuple[Pick, list[QRectF]]]:
        for pick in {*lit.right, *lit.given}:
            found: list[QRectF] = []
            for grid in self.grids:
                if isinstance(pick, int):
                    found += marks.cells_of_thread(grid, pick, self._own)
                elif pick.array == grid.array.name:
                    found += marks.cells_of(grid, pick.index)
            yield pick, found

    # ---- pointing

    def element_at(self, point: QPointF) -> tuple[Grid, int] | None:
        if self._layout is None:
            return None
        for grid in self.grids:
            cell = self._layout.cell_at(grid, self._view, point)
            if cell is not None:
                flat = grid.flat(*cell)
                return (grid, flat) if flat >= 0 else None
        return None

    def owner_of(self, grid: Grid, flat: int) -> int | None:
        mine = shares_of(self._own, grid)
        return mine[0].thread_of(flat) if mine else None

    def _name(self, grid: Grid, flat: int) -> Element:
        return grid.array.name, grid.array.index(flat)

    def hover_at(self, point: QPointF) -> Hover | None:
        found = self.element_at(point)
        if found is None:
            return None
        return Hover(thread=self.owner_of(*found), element=self._name(*found))

    def click_at(self, point: QPointF) -> None:
        """Select the element under a pixel; its count is explained, its owner selected with it."""
        found = self.element_at(point)
        if found is None or self._picked(*found):
            return
        self._select(*found)
        if self.session.heat and not found[0].result:
            self.why_wanted.emit(self._name(*found))

    def _picked(self, grid: Grid, flat: int) -> bool:
        """Answer with an element, or with the thread that stores it, if a question asks for one."""
        owner = self.owner_of(grid, flat)
        if owner is not None and self.session.pick("thread", owner):
            return True
        return self.session.pick("element", self._name(grid, flat))

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


def _cut(shown: tuple[Grid, ...], part: tuple[Grid, ...]) -> int:
    """How many of the grids show less than the block's part and a tile."""
    pairs = zip(shown, part, strict=True)
    return sum(g.rows < whole.rows or g.columns < whole.columns for g, whole in pairs)
