"""The page to step through a launch: every view in a dock, laid out by size or by the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from PySide6.QtCore import QByteArray, QEvent, Qt
from PySide6.QtGui import QFontMetrics, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QTabWidget, QWidget

from gui.arrangement import Cell, Layout, layout_for
from gui.scenes.findings import finding_rows
from gui.scenes.session import Session
from gui.theme import current_theme
from gui.views.breakpoints_view import BreakpointsView
from gui.views.counters_view import CountersView
from gui.views.dock import ViewDock
from gui.views.findings_view import FindingsView
from gui.views.follow_button import FollowButton
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.phase_view import PhaseView
from gui.views.ptx_view import PtxView
from gui.views.shared_view import SharedView
from gui.views.source_view import SourceView
from gui.views.variables_view import VariablesView
from gui.views.warp_view import WarpView

LAYOUT_VERSION = 1
_NORTH = QTabWidget.TabPosition.North
ACROSS, DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
HOME = Qt.DockWidgetArea.LeftDockWidgetArea


class StepPage(QMainWindow):
    """The views in their docks.

    Until the user moves one of them the layout follows the page's size; after that it is theirs,
    until `reset_layout`. `session.view` names the view to bring to the front.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.session = session
        self.arranged = False
        """Whether the user has moved something."""
        self._busy = 0
        self._layout: Layout | None = None
        self._closed: set[str] = set()
        self._on_separator = False
        self.setDockNestingEnabled(True)
        self.setDocumentMode(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, _NORTH)
        self._make_views()
        self.docks = {dock.name: dock for dock in self._make_docks()}
        session.offered["view"] = ("", *self.docks)
        for dock in self.docks.values():
            dock.setParent(self)
            dock.visibilityChanged.connect(lambda on, dock=dock: self._on_visible(dock, on))
            dock.dockLocationChanged.connect(self._on_moved)
            dock.topLevelChanged.connect(self._on_moved)
            dock.toggleViewAction().triggered.connect(
                lambda on, name=dock.name: self._on_toggled(name, on)
            )
        session.view_changed.connect(self._bring)
        session.trace_changed.connect(self._on_trace)
        session.step_changed.connect(self._on_step)
        self._arrange(layout_for(self.size(), *_units()))

    def _make_views(self) -> None:
        session = self.session
        self.matrices = MatrixCanvas(session)
        self.warp = WarpView(session)
        self.shared = SharedView(session)
        self.source = SourceView(session)
        self.ptx = PtxView(session)
        self.phases = PhaseView(session)
        self.variables = VariablesView(session)
        self.counters = CountersView(session)
        self.breakpoints = BreakpointsView(session)
        self.findings = FindingsView(session)

    def _make_docks(self) -> Iterator[ViewDock]:
        def dock(name: str, title: str, view: QWidget, tab: str = "") -> ViewDock:
            controls = tuple(getattr(view, "controls", ()))
            caption = getattr(view, "caption", None)
            return ViewDock(name, title, view, tab=tab, caption=caption, controls=controls)

        self._follow = [FollowButton(self.session) for _ in range(2)]
        for button, view in zip(self._follow, (self.warp, self.shared), strict=True):
            view.controls = (button, *view.controls)  # type: ignore[attr-defined]
        yield dock("Matrices", "Matrices", self.matrices)
        yield dock("Warp", "Warp and global memory", self.warp, "Global memory")
        yield dock("Shared", "Shared memory", self.shared)
        yield dock("Source", "Source", self.source)
        yield dock("PTX", "PTX", self.ptx)
        yield dock("Phases", "Phase table", self.phases)
        yield dock("Variables", "Variables", self.variables)
        yield dock("Counters", "Counters", self.counters)
        yield dock("Breakpoints", "Breakpoints", self.breakpoints)
        yield dock("Findings", "Findings", self.findings)

    def shut_down(self) -> None:
        """Stop what runs in the background."""
        self.phases.shut_down()

    # ---- the layout

    def reset_layout(self) -> None:
        """Lay out by size again, with every view in its place."""
        self.arranged = False
        self._closed.clear()
        self._arrange(layout_for(self.size(), *_units()))

    def save_layout(self) -> str:
        """The user's layout as text; empty while it follows the size."""
        if not self.arranged:
            return ""
        return bytes(self.saveState(LAYOUT_VERSION).toBase64().data()).decode()

    def restore_layout(self, text: str) -> None:
        """Take up a layout saved earlier; nothing happens if it is not one."""
        if not text:
            return
        with self._arranging():
            state = QByteArray.fromBase64(text.encode())
            self.arranged = self.restoreState(state, LAYOUT_VERSION)
        self._closed = {
            name
            for name, dock in self.docks.items()
            if dock.isHidden() and self._has_something(name)
        }
        self._show_what_there_is()

    def restyle(self) -> None:
        """Lay out anew for the theme's type."""
        for bar in self.findChildren(QTabBar):
            bar.setFont(current_theme().font("heading"))
        self._follow_size()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Follow the size while the layout is not the user's."""
        super().resizeEvent(event)
        self._follow_size()

    def _follow_size(self) -> None:
        """Lay out for the size there is, unless the layout is the user's."""
        if self.arranged:
            return
        wanted = layout_for(self.size(), *_units())
        if wanted != self._layout:
            self._arrange(wanted)
        else:
            self._share_out(wanted)

    def _arrange(self, layout: Layout) -> None:
        """Put every dock at its place, as if for the first time."""
        with self._arranging():
            front = self.session.view
            for dock in self.docks.values():
                dock.setFloating(False)
                self.removeDockWidget(dock)
            above: ViewDock | None = None
            for row in layout:
                heads = [self.docks[column[0].names[0]] for column in row.columns]
                if above is None:
                    self.addDockWidget(HOME, heads[0])
                else:
                    self.splitDockWidget(above, heads[0], DOWN)
                above = heads[0]
            for row in layout:
                heads = [self.docks[column[0].names[0]] for column in row.columns]
                for left, right in pairwise(heads):
                    self.splitDockWidget(left, right, ACROSS)
                for column in row.columns:
                    self._fill(column)
            self._layout = layout
            self._show_what_there_is()
            if front in self.docks:
                self.docks[front].raise_()
        self._share_out(layout)

    def _fill(self, column: tuple[Cell, ...]) -> None:
        """The cells of a column below each other, the views of a cell behind each other."""
        for upper, lower in pairwise(column):
            self.splitDockWidget(self.docks[upper.names[0]], self.docks[lower.names[0]], DOWN)
        for cell in column:
            first = self.docks[cell.names[0]]
            for name in cell.names[1:]:
                self.tabifyDockWidget(first, self.docks[name])
            for name in cell.names:
                self.docks[name].show()
            first.raise_()

    def _share_out(self, layout: Layout) -> None:
        """Give rows and columns their shares of the page."""
        with self._arranging():
            heads = [self.docks[row.columns[0][0].names[0]] for row in layout]
            self._resize(heads, [row.share for row in layout], self.height(), DOWN)
            for row in layout:
                places = [(self._shown_of(column[0]), column[0].share) for column in row.columns]
                here = [(dock, share) for dock, share in places if dock is not None]
                docks, shares = [d for d, _ in here], [s for _, s in here]
                self._resize(docks, shares, self.width(), ACROSS)
                high = self.height() * row.share // sum(each.share for each in layout)
                for column in row.columns:
                    cells = [self.docks[cell.names[0]] for cell in column]
                    self._resize(cells, [cell.share for cell in column], high, DOWN)

    def _shown_of(self, cell: Cell) -> ViewDock | None:
        return next((d for n in cell.names if not (d := self.docks[n]).isHidden()), None)

    def _resize(
        self, docks: list[ViewDock], shares: list[int], room: int, way: Qt.Orientation
    ) -> None:
        whole = sum(shares)
        self.resizeDocks(docks, [room * share // whole for share in shares], way)

    @contextmanager
    def _arranging(self) -> Iterator[None]:
        """What moves now is moved by the program."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            if not self._busy:
                self._name_tabs()

    def _name_tabs(self) -> None:
        for dock in self.docks.values():
            others = self.tabifiedDockWidgets(dock)
            dock.tabbed = not dock.isFloating() and any(not other.isHidden() for other in others)
        together = self.docks["Shared"] in self.tabifiedDockWidgets(self.docks["Warp"])
        for button in self._follow:
            button.setVisible(together and not self.docks["Shared"].isHidden())
        for bar in self.findChildren(QTabBar):
            bar.setDrawBase(False)
            bar.setFont(current_theme().font("heading"))
            bar.setExpanding(False)
            bar.setUsesScrollButtons(True)
            bar.setAccessibleName("Views in this place")

    # ---- which views are there, and in front

    def front(self, name: str) -> None:
        """Bring a view to the front, even one that was closed."""
        self.session.view = name
        self._bring(name)

    def _bring(self, name: str) -> None:
        dock = self.docks.get(name)
        if dock is None:
            return
        with self._arranging():
            self._closed.discard(name)
            dock.show()
            dock.raise_()

    def in_front(self, name: str) -> bool:
        """Whether a view is to be seen on this page: not closed, and not behind another."""
        dock = self.docks[name]
        return not dock.isHidden() and not dock.view.isHidden()

    def _has_something(self, name: str) -> bool:
        trace = self.session.trace
        if name == "Findings":
            return bool(finding_rows(trace))
        return name != "Shared" or trace is None or bool(trace.shared_arrays)

    def _show_what_there_is(self) -> None:
        """Views that have nothing to show for this kernel are put away."""
        shown = {
            name: self._has_something(name) and name not in self._closed
            for name in ("Shared", "Findings")
        }
        if all(wanted != self.docks[name].isHidden() for name, wanted in shown.items()):
            return
        with self._arranging():
            for name, wanted in shown.items():
                dock = self.docks[name]
                if wanted == dock.isHidden():
                    beside = self.tabifiedDockWidgets(dock)
                    before: list[QDockWidget] = [d for d in beside if self.in_front(d.objectName())]
                    if not wanted and not before:
                        before = [d for d in beside if d.objectName() == self._first_of(beside)]
                    dock.setVisible(wanted)
                    if before:
                        before[0].raise_()

    def _first_of(self, docks: list[QDockWidget]) -> str:
        """The name of the one that comes first among the views; empty for none."""
        names = {dock.objectName() for dock in docks}
        return next((name for name in self.docks if name in names), "")

    def _on_trace(self, trace: object) -> None:
        hidden = [dock.isHidden() for dock in self.docks.values()]
        self._show_what_there_is()
        changed = hidden != [dock.isHidden() for dock in self.docks.values()]
        if changed and not self.arranged and self._layout is not None:
            self._share_out(self._layout)

    def _on_step(self, step: int) -> None:
        """Bring the memory that is accessed to the front, where the two share a place."""
        if not self.session.follow_memory:
            return
        block = self.session.block_trace
        access = block.access(step) if block is not None and block.n_steps else None
        if access is None:
            return
        name = "Shared" if access.space == "shared" else "Warp"
        other = self.docks["Warp" if name == "Shared" else "Shared"]
        dock = self.docks[name]
        if not dock.isHidden() and other in self.tabifiedDockWidgets(dock):
            with self._arranging():
                dock.raise_()

    def _on_visible(self, dock: ViewDock, on: bool) -> None:
        if on and not self._busy and self.tabifiedDockWidgets(dock):
            self.session.view = dock.name

    def _on_toggled(self, name: str, on: bool) -> None:
        self.arranged = True
        (self._closed.discard if on else self._closed.add)(name)
        with self._arranging():
            pass

    def _on_moved(self, *_: object) -> None:
        if not self._busy:
            self.arranged = True
            with self._arranging():
                pass

    def event(self, event: QEvent) -> bool:
        """A press that a separator takes is the user's: from then on the layout is theirs."""
        done = super().event(event)
        pressed = event.type() == QEvent.Type.MouseButtonPress
        if pressed and isinstance(event, QMouseEvent) and event.isAccepted():
            self.arranged = True
        return done


def _units() -> tuple[int, int]:
    metrics = QFontMetrics(current_theme().font())
    return metrics.horizontalAdvance("0"), metrics.lineSpacing()
