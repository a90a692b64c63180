"""The page to step through a launch: every view in a dock, laid out by size or by the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import TypeVar

from PySide6.QtCore import QByteArray, QEvent, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent, QHideEvent, QMouseEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QTabWidget, QToolButton, QWidget

from gui.looks.theme import current_theme
from gui.scenes.session import Session
from gui.scenes.step_views import VIEWS
from gui.views.buttons_and_choices import action_button
from gui.views.counters_view import CountersView
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.page_stack import PageWidget
from gui.views.phase_table_view import PhaseView
from gui.views.ptx_view import PtxView
from gui.views.session_view import SessionView, view_of
from gui.views.shared_view import SharedView
from gui.views.source_view import SourceView
from gui.views.view_docks import Cell, Layout, Row, ViewDock, layout_for, units
from gui.views.warp_view import WarpView

View = TypeVar("View", bound=SessionView)


LAYOUT_VERSION = 1
FIXED = QDockWidget.DockWidgetFeature.NoDockWidgetFeatures


class LargeView:
    """Shows one dock of an area large. `name` says which one; empty while none is."""

    def __init__(self, area: StepPage) -> None:
        self._area = area
        self.name = ""
        self.layout = QByteArray()
        """The layout to come back to, as Qt saves it."""
        self._features = QDockWidget.DockWidgetFeature.NoDockWidgetFeatures
        self._together: dict[str, frozenset[str]] = {}

    def show(self, name: str) -> None:
        """Show a dock alone, even one that was closed, floats or is behind another."""
        area, dock = self._area, self._area.docks[name]
        if name == self.name:
            return
        with area.arranging():
            if self.name:
                self._release(area.docks[self.name])
            else:
                self.layout = area.saveState(LAYOUT_VERSION)
                self._together = {n: self._beside(d) for n, d in area.docks.items()}
            self.name = name
            for other in area.docks.values():
                if other is not dock:
                    other.hide()
            dock.setFloating(False)
            self._features = dock.features()
            dock.setFeatures(FIXED)
            dock.title.show_large(True)
            dock.show()
            dock.raise_()

    def put_back(self) -> None:
        area = self._area
        if self.name:
            with area.arranging():
                self._release(area.docks[self.name])
                self.name = ""
                area.restoreState(self.layout, LAYOUT_VERSION)

    def share_a_place(self, one: str, other: str) -> bool:
        """Whether two views stand behind each other in the layout that comes back."""
        return other in self._together.get(one, frozenset())

    def _release(self, dock: ViewDock) -> None:
        dock.setFeatures(self._features)
        dock.title.show_large(False)

    def _beside(self, dock: ViewDock) -> frozenset[str]:
        beside = self._area.tabifiedDockWidgets(dock)
        return frozenset(other.objectName() for other in beside if not other.isHidden())


_NORTH = QTabWidget.TabPosition.North
ACROSS, DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
HOME = Qt.DockWidgetArea.LeftDockWidgetArea


class StepPage(PageWidget, QMainWindow):
    """The views in their docks.

    Until the user moves one of them the layout follows the page's size; after that it is theirs,
    until `reset_layout`. `session.view` names the view to bring to the front.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.setWindowFlags(Qt.WindowType.Widget)
        self.arranged = False
        self.docks: dict[str, ViewDock] = {}
        self.large = LargeView(self)
        self._busy = 0
        self._layout: Layout | None = None
        self._closed: set[str] = set()
        self.setDockNestingEnabled(True)
        self.setDockOptions(self.dockOptions() | QMainWindow.DockOption.GroupedDragging)
        self.setDocumentMode(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, _NORTH)
        self._before, self._before_trace = "", session.trace  # when a view was made large
        self._in_sight = False
        self._rows = {row.name: row for row in VIEWS}
        self.views = {name: view_of(row, session) for name, row in self._rows.items()}
        self.matrices, self.warp = self.view(MatrixCanvas), self.view(WarpView)
        self.shared, self.source = self.view(SharedView), self.view(SourceView)
        self.ptx, self.phases = self.view(PtxView), self.view(PhaseView)
        self.counters = self.view(CountersView)
        self._make_docks()
        session.offered["view"] = ("", *self.docks)
        session.view_changed.connect(self._bring)
        session.changed.connect(self._on_changed)
        session.breakpoints_changed.connect(lambda _: self._count_tabs())
        session.step_changed.connect(self._on_step)
        self.arrange(layout_for(self.size(), *units()))

    def _make_docks(self) -> None:
        self._follow = []
        for name, view in self.views.items():
            row, controls = self._rows[name], tuple(getattr(view, "controls", ()))
            if row.group == "memory":
                self._follow.append(_follow_button(self.session))
                controls = (self._follow[-1], *controls)
            caption = getattr(view, "caption", None)
            dock = self.docks[name] = ViewDock(
                name, row.title, view, tab=row.tab, caption=caption, controls=controls
            )
            dock.setParent(self)
            dock.dockLocationChanged.connect(self._on_moved)
            dock.topLevelChanged.connect(self._on_moved)
            dock.toggleViewAction().triggered.connect(partial(self._on_toggled, name))
            dock.visibilityChanged.connect(partial(self._on_visible, dock))

    def view(self, kind: type[View]) -> View:
        return next(view for view in self.views.values() if isinstance(view, kind))

    def main_view(self) -> QWidget:
        """What has the keyboard when the page is opened: the picture, or what is in its place."""
        return self.matrices if self.matrices.isVisibleTo(self) else self

    def shut_down(self) -> None:
        for view in self.views.values():
            view.shut_down()
        for dock in self.docks.values():
            if dock.isFloating():
                dock.hide()

    # ---- where they lie

    def reset_layout(self) -> None:
        self.put_back()
        self.arranged = False
        self._closed.clear()
        self.arrange(layout_for(self.size(), *units()))

    def save_layout(self) -> str:
        """The user's layout as text; empty while it follows the size."""
        if not self.arranged:
            return ""
        state = self.large.layout if self.large.name else self.saveState(LAYOUT_VERSION)
        return bytes(state.toBase64().data()).decode()

    def restore_layout(self, text: str) -> None:
        """Take up a layout saved earlier; nothing happens if it is not one."""
        if not text:
            return
        self.put_back()
        with self.arranging():
            state = QByteArray.fromBase64(text.encode())
            self.arranged = self.restoreState(state, LAYOUT_VERSION)
        self._closed = {
            name
            for name, dock in self.docks.items()
            if dock.isHidden() and self.has_something(name)
        }
        self.show_what_there_is()

    def restyle(self) -> None:
        for bar in self.findChildren(QTabBar):
            bar.setFont(current_theme().font("heading"))
        self.follow_size()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.follow_size()

    def follow_size(self) -> None:
        """Lay out for the size there is, unless the layout is the user's or one view is large."""
        if self.arranged or self.large.name:
            return
        wanted = layout_for(self.size(), *units())
        if wanted != self._layout:
            self.arrange(wanted)
        else:
            self.share_out(wanted)

    def arrange(self, layout: Layout) -> None:
        """Put every dock at its place, as if for the first time.

        The memory that the step accesses stays in front of the other.
        """
        with self.arranging():
            front = self.session.view
            for dock in self.docks.values():
                dock.setFloating(False)
                self.removeDockWidget(dock)
            tops = [self._first(column.rows[0]) for column in layout]
            self.addDockWidget(HOME, tops[0])
            for left, right in pairwise(tops):
                self.splitDockWidget(left, right, ACROSS)
            for column in layout:
                for upper, lower in pairwise(map(self._first, column.rows)):
                    self.splitDockWidget(upper, lower, DOWN)
                for row in column.rows:
                    self._fill(row)
            self._layout = layout
            self.show_what_there_is()
            if front in self.docks:
                self.docks[front].raise_()
        self.share_out(layout)
        QTimer.singleShot(0, self, lambda: self._on_step(self.session.step))

    def _first(self, row: Row) -> ViewDock:
        return self.docks[row.cells[0].names[0]]

    def _fill(self, row: Row) -> None:
        for left, right in pairwise(row.cells):
            self.splitDockWidget(self.docks[left.names[0]], self.docks[right.names[0]], ACROSS)
        for cell in row.cells:
            first = self.docks[cell.names[0]]
            for name in cell.names[1:]:
                self.tabifyDockWidget(first, self.docks[name])
            for name in cell.names:
                self.docks[name].show()
            first.raise_()

    def share_out(self, layout: Layout) -> None:
        with self.arranging():
            shares = [column.share for column in layout]
            heads = [self._first(column.rows[0]) for column in layout]
            self._resize(heads, shares, self.width(), ACROSS)
            for column in layout:
                if len(column.rows) > 1:
                    heads = [self._first(row) for row in column.rows]
                    self._resize(heads, [row.share for row in column.rows], self.height(), DOWN)
                wide = self.width() * column.share // sum(shares)
                for row in column.rows:
                    places = [(self._shown_of(cell), cell.share) for cell in row.cells]
                    here = [(dock, share) for dock, share in places if dock is not None]
                    if len(here) > 1:
                        self._resize([d for d, _ in here], [s for _, s in here], wide, ACROSS)

    def _shown_of(self, cell: Cell) -> ViewDock | None:
        return next((d for n in cell.names if not (d := self.docks[n]).isHidden()), None)

    def _resize(
        self, docks: list[ViewDock], shares: list[int], room: int, way: Qt.Orientation
    ) -> None:
        whole = sum(shares)
        self.resizeDocks(docks, [room * share // whole for share in shares], way)

    @contextmanager
    def arranging(self) -> Iterator[None]:
        """What moves now is moved by the program."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            if not self._busy:
                self.name_tabs()

    def name_tabs(self) -> None:
        """Say on each dock whether a tab names it, and dress the tabs.

        Offer to follow the step where the two kinds of memory share a place.
        """
        for dock in self.docks.values():
            others = self.tabifiedDockWidgets(dock)
            named = not dock.isFloating() and any(not other.isHidden() for other in others)
            dock.show_tabbed(named)
        for bar in self.findChildren(QTabBar):
            bar.setDrawBase(False)
            bar.setFont(current_theme().font("heading"))
            bar.setExpanding(False)
            bar.setUsesScrollButtons(True)
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setAccessibleName("Views in this place")
        together = self.docks["Shared"] in self.tabifiedDockWidgets(self.docks["Warp"])
        offered = together and not self.docks["Shared"].isHidden()
        if self.large.name:
            offered = self.large.share_a_place("Warp", "Shared")
        for button in self._follow:
            button.setVisible(offered)

    def in_front(self, name: str) -> bool:
        """Whether a view is to be seen on this page: not closed, and not behind another."""
        dock = self.docks[name]
        return not dock.isHidden() and not dock.view.isHidden()

    def _on_toggled(self, name: str, on: bool) -> None:
        self.put_back()
        self.arranged = True
        (self._closed.discard if on else self._closed.add)(name)
        with self.arranging():
            self.docks[name].setVisible(on)

    def _on_moved(self, *_: object) -> None:
        if not self._busy:
            self.arranged = True
            with self.arranging():
                pass

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Leave the menu of views to the window (`gui.commands.saving_pictures`)."""
        event.ignore()

    def event(self, event: QEvent) -> bool:
        """A press that a separator takes is the user's: from then on the layout is theirs."""
        done = super().event(event)
        pressed = event.type() == QEvent.Type.MouseButtonPress
        if pressed and isinstance(event, QMouseEvent) and event.isAccepted():
            self.arranged = True
        return done

    # ---- which views are there, and in front

    def front(self, name: str) -> None:
        self.session.view = name
        self._bring(name)

    def _bring(self, name: str) -> None:
        dock = self.docks.get(name)
        if dock is None:
            return
        if self.large.name:
            self.large.show(name)
            return
        with self.arranging():
            self._closed.discard(name)
            dock.show()
            dock.raise_()

    def show_large(self) -> None:
        self._before, self._before_trace = self.session.view, self.session.trace
        self.large.show(self.session.view or next(iter(self.docks)))

    def show_all(self) -> None:
        """Show all views as they were; in front the session's, if that is another one by now."""
        self.large.put_back()
        if self._before_trace is not self.session.trace:
            self.show_what_there_is()
        self.follow_size()
        if self.session.view != self._before:
            self._bring(self.session.view)

    def _shown(self) -> list[bool]:
        return [not dock.isHidden() for dock in self.docks.values()]

    def put_back(self) -> None:
        self.session.large = False
        self.large.put_back()

    def has_something(self, name: str) -> bool:
        if name == "Findings" and self.session.hides("findings"):
            return False
        return self._rows[name].has_something(self.session.trace)

    def show_what_there_is(self) -> None:
        """Views that have nothing to show for this kernel are put away."""
        if self.large.name:
            return
        shown = {name: self.has_something(name) and name not in self._closed for name in self._rows}
        if all(wanted != self.docks[name].isHidden() for name, wanted in shown.items()):
            return
        with self.arranging():
            for name, wanted in shown.items():
                dock = self.docks[name]
                if wanted == dock.isHidden():
                    beside = self.tabifiedDockWidgets(dock)
                    before: list[QDockWidget] = [d for d in beside if self.in_front(d.objectName())]
                    if not wanted and not before:
                        before = [d for d in self.docks.values() if d in beside]
                    dock.setVisible(wanted)
                    if before:
                        before[0].raise_()

    def _count_tabs(self) -> None:
        for name, row in self._rows.items():
            count = row.count(self.session) if row.count is not None else 0
            if row.count is not None:
                title = f"{row.mark}{row.title} {count}" if count else row.title
                self.docks[name].setWindowTitle(title)

    def _on_changed(self, names: frozenset[str]) -> None:
        if names & {"trace", "veiled"}:  # to show and hide docks has Qt lay out the page
            self.session.turns.offer(self, self._on_trace)

    def _on_trace(self) -> None:
        self._count_tabs()
        shown = self._shown()
        self.show_what_there_is()
        if shown != self._shown() and not self.arranged and self._layout is not None:
            self.share_out(self._layout)
        self._on_step(self.session.step)  # a view that was put away can be in front only now

    def _on_step(self, step: int) -> None:
        told = "warp.heading" in self.session.veiled  # a question asks which memory it is
        if not self.session.follow_memory or told:
            return
        block = self.session.block_trace
        access = block.access(step) if block is not None and block.n_steps else None
        if access is None:
            return
        name = "Shared" if access.space == "shared" else "Warp"
        other = self.docks["Warp" if name == "Shared" else "Shared"]
        dock = self.docks[name]
        if self.large.name == other.name and self.large.share_a_place("Warp", "Shared"):
            self.large.show(name)
        elif (
            not dock.isHidden()
            and other in self.tabifiedDockWidgets(dock)
            and not self._third_in_front(dock, other)
        ):
            with self.arranging():
                dock.raise_()

    def _third_in_front(self, *memories: QDockWidget) -> bool:
        """Whether what is looked at, in the place of both memories, is neither of them."""
        others = (d for d in self.tabifiedDockWidgets(memories[0]) if d not in memories)
        # Qt moves covered docks out of sight at once, and tells of it later.
        return any(not d.isHidden() and self.rect().intersects(d.geometry()) for d in others)

    def _on_visible(self, dock: ViewDock, on: bool) -> None:
        if not (on and self._in_sight) or self._busy or self.large.name:
            return
        if self.tabifiedDockWidgets(dock):
            self.session.view = dock.name

    def showEvent(self, event: QShowEvent) -> None:
        """All views appear with the page: only those that do so later were brought to the front."""
        super().showEvent(event)
        QTimer.singleShot(0, self, lambda: setattr(self, "_in_sight", self.isVisible()))

    def hideEvent(self, event: QHideEvent) -> None:
        """Views that appear with the page are not brought to the front."""
        self._in_sight = False
        super().hideEvent(event)


def _follow_button(session: Session) -> QToolButton:
    """Checked while the view of the memory that the step accesses comes to the front."""
    tip = "Bring the memory that the step accesses to the front (Ctrl+M)"
    button = action_button("Follow step", tip, "Follow the step's memory")
    button.setCheckable(True)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setChecked(session.follow_memory)
    button.clicked.connect(lambda on: session.update(follow_memory=on))
    session.follow_memory_changed.connect(button.setChecked, check_nargs=False)
    return button
