"""A page of docks: laid out by its size until the user moves something, then by the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise

from PySide6.QtCore import QByteArray, QEvent, Qt
from PySide6.QtGui import QContextMenuEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabBar, QTabWidget

from gui.docks.arrangement import Cell, Layout, layout_for, units
from gui.docks.large_view import LAYOUT_VERSION, LargeView
from gui.docks.moving import Moving
from gui.frames.pieces import PAUSE, Steps, whole
from gui.looks.theme import current_theme
from gui.views.dock import ViewDock

_NORTH = QTabWidget.TabPosition.North
ROUNDS = 3  # at most, until the docks' room and the window's layout agree
ACROSS, DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
HOME = Qt.DockWidgetArea.LeftDockWidgetArea


class DockArea(QMainWindow):
    """Arranges docks. `arranged` says whether the user has moved something."""

    def __init__(self) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.arranged = False
        self.docks: dict[str, ViewDock] = {}
        self.large = LargeView(self)
        self.moving = Moving(self)
        self._busy = 0
        self._layout: Layout | None = None
        self._closed: set[str] = set()
        self._theme = current_theme()
        self._resized = False
        self.setDockNestingEnabled(True)
        self.setDockOptions(self.dockOptions() | QMainWindow.DockOption.GroupedDragging)
        self.setDocumentMode(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, _NORTH)

    def take(self, docks: Iterable[ViewDock]) -> None:
        """Take docks in, and lay them out."""
        self.docks = {dock.name: dock for dock in docks}
        for dock in self.docks.values():
            dock.setParent(self)
            dock.dockLocationChanged.connect(self._on_moved)
            dock.topLevelChanged.connect(self._on_moved)
            dock.toggleViewAction().triggered.connect(
                lambda on, name=dock.name: self._on_toggled(name, on)
            )

    def has_something(self, name: str) -> bool:
        """Whether a view has anything to show; one that has not is put away."""
        return True

    def shown_first(self) -> str:
        """The view that is in front where several share a place; empty to leave it."""
        return ""

    def show_what_there_is(self) -> None:
        """Put away the views that have nothing to show."""

    def reset_layout(self) -> None:
        """Lay out by size again, with every view in its place."""
        self.put_back()
        self.arranged = False
        self._closed.clear()
        self.rearrange(self.laying_out(layout_for(self.size(), *units())))

    def rearrange(self, work: Steps) -> None:
        """Move docks in several events; `settle` does it at once."""
        self.moving.start(self._and_following(work))

    def settle(self) -> None:
        """Have every dock in its place now."""
        self.moving.finish()

    def _and_following(self, work: Steps) -> Steps:
        self._resized = False
        yield from work
        while self._resized:
            self._resized = False
            yield from self._following_size()

    def save_layout(self) -> str:
        """The user's layout as text; empty while it follows the size."""
        self.settle()
        if not self.arranged:
            return ""
        state = self.large.layout if self.large.name else self.saveState(LAYOUT_VERSION)
        return bytes(state.toBase64().data()).decode()

    def restore_layout(self, text: str) -> None:
        """Take up a layout saved earlier; nothing happens if it is not one."""
        if not text:
            return
        self.put_back()
        self.settle()
        with self.arranging():
            state = QByteArray.fromBase64(text.encode())
            self.arranged = self.restoreState(state, LAYOUT_VERSION)
        self._closed = {
            name
            for name, dock in self.docks.items()
            if dock.isHidden() and self.has_something(name)
        }
        self.show_what_there_is()

    def put_back(self) -> None:
        """Show all views again, where one was large."""
        if not self.moving.busy:
            whole(self.large.putting_back())

    def restyling(self) -> Steps:
        """Lay out anew for the theme's type, piece by piece."""
        self.settle()
        for dock in self.docks.values():
            dock.title.restyle()
            yield
        for bar in self.findChildren(QTabBar):
            bar.setFont(current_theme().font("heading"))
        for _ in range(ROUNDS):
            self._resized = False
            yield PAUSE  # the window's own layout says how much room there is
            yield from self._following_size()
            yield PAUSE
            if not self._resized:
                break
        self._theme = current_theme()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Follow the size while the layout is not the user's.

        While a new theme is being put on, `restyling` does it; while docks are moved, what moves
        them does it at its end.
        """
        super().resizeEvent(event)
        self._resized = True
        if self._theme is not current_theme() or self.moving.busy:
            return
        if self._layout == layout_for(self.size(), *units()):
            whole(self._following_size())
        else:
            self.rearrange(self._following_size())

    def _following_size(self) -> Steps:
        """Lay out for the size there is, unless the layout is the user's or one view is large."""
        if self.arranged or self.large.name:
            return
        wanted = layout_for(self.size(), *units())
        if wanted != self._layout:
            yield from self.laying_out(wanted)
        else:
            yield from self._sharing_out(wanted)

    def arrange(self, layout: Layout) -> None:
        """Put every dock at its place, as if for the first time."""
        whole(self.laying_out(layout))

    def share_out(self, layout: Layout) -> None:
        """Give rows and columns their shares of the page."""
        whole(self._sharing_out(layout))

    def laying_out(self, layout: Layout) -> Steps:
        """`arrange`, piece by piece."""
        with self.arranging():
            front = self.shown_first()
            for dock in self.docks.values():
                dock.setFloating(False)
                self.removeDockWidget(dock)
                yield
            above: ViewDock | None = None
            for row in layout:
                heads = [self.docks[column[0].names[0]] for column in row.columns]
                if above is None:
                    self.addDockWidget(HOME, heads[0])
                else:
                    self.splitDockWidget(above, heads[0], DOWN)
                above = heads[0]
                yield
            for row in layout:
                heads = [self.docks[column[0].names[0]] for column in row.columns]
                for left, right in pairwise(heads):
                    self.splitDockWidget(left, right, ACROSS)
                    yield
                for column in row.columns:
                    yield from self._filling(column)
            self._layout = layout
            self.show_what_there_is()
            yield
            if front in self.docks:
                self.docks[front].raise_()
        yield
        yield from self._sharing_out(layout)

    def _filling(self, column: tuple[Cell, ...]) -> Steps:
        """The cells of a column below each other, the views of a cell behind each other."""
        for upper, lower in pairwise(column):
            self.splitDockWidget(self.docks[upper.names[0]], self.docks[lower.names[0]], DOWN)
            yield
        for cell in column:
            first = self.docks[cell.names[0]]
            for name in cell.names[1:]:
                self.tabifyDockWidget(first, self.docks[name])
                yield
            for name in cell.names:
                self.docks[name].show()
                yield
            first.raise_()
            yield

    def _sharing_out(self, layout: Layout) -> Steps:
        with self.arranging():
            heads = [self.docks[row.columns[0][0].names[0]] for row in layout]
            self._resize(heads, [row.share for row in layout], self.height(), DOWN)
            yield
            for row in layout:
                places = [(self._shown_of(column[0]), column[0].share) for column in row.columns]
                here = [(dock, share) for dock, share in places if dock is not None]
                docks, shares = [d for d, _ in here], [s for _, s in here]
                self._resize(docks, shares, self.width(), ACROSS)
                yield
                high = self.height() * row.share // sum(each.share for each in layout)
                for column in row.columns:
                    cells = [self.docks[cell.names[0]] for cell in column]
                    if len(cells) > 1:
                        self._resize(cells, [cell.share for cell in column], high, DOWN)
                        yield

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
        """Say on each dock whether a tab names it, and dress the tabs."""
        for dock in self.docks.values():
            others = self.tabifiedDockWidgets(dock)
            dock.tabbed = not dock.isFloating() and any(not other.isHidden() for other in others)
        for bar in self.findChildren(QTabBar):
            bar.setDrawBase(False)
            bar.setFont(current_theme().font("heading"))
            bar.setExpanding(False)
            bar.setUsesScrollButtons(True)
            bar.setAccessibleName("Views in this place")

    def in_front(self, name: str) -> bool:
        """Whether a view is to be seen on this page: not closed, and not behind another."""
        self.settle()
        dock = self.docks[name]
        return not dock.isHidden() and not dock.view.isHidden()

    def first_of(self, docks: list[QDockWidget]) -> str:
        """The name of the one that comes first among the views; empty for none."""
        names = {dock.objectName() for dock in docks}
        return next((name for name in self.docks if name in names), "")

    def _on_toggled(self, name: str, on: bool) -> None:
        self.put_back()
        self.settle()
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
        """Leave the menu of views to the window (`gui.commands.picture_menu`)."""
        event.ignore()

    def event(self, event: QEvent) -> bool:
        """A press that a separator takes is the user's: from then on the layout is theirs."""
        done = super().event(event)
        pressed = event.type() == QEvent.Type.MouseButtonPress
        if pressed and isinstance(event, QMouseEvent) and event.isAccepted():
            self.arranged = True
        return done
