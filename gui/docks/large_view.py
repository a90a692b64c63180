"""One view over a whole page of docks, and everything back as it was.

While a view is large the other docks are hidden. They come back one by one, and then have their
sizes again; the layout as Qt saves it, which takes 20 ms to restore in one piece, is for what that
cannot do.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QRect, Qt
from PySide6.QtWidgets import QDockWidget, QTabBar

from gui.docks.moving import laid_out
from gui.frames.pieces import PAUSE, Steps
from gui.looks.theme import current_theme

if TYPE_CHECKING:
    from gui.docks.dock_area import DockArea
    from gui.views.dock import ViewDock

LAYOUT_VERSION = 1
FIXED = QDockWidget.DockWidgetFeature.NoDockWidgetFeatures


class LargeView:
    """Shows one dock of an area large. `name` says which one; empty while none is."""

    def __init__(self, area: DockArea) -> None:
        self._area = area
        self.name = ""
        self.layout = QByteArray()
        """The layout to come back to, as Qt saves it."""
        self._features = QDockWidget.DockWidgetFeature.NoDockWidgetFeatures
        self._room = area.size(), current_theme()
        self._together: dict[str, frozenset[str]] = {}
        self._shown: list[str] = []
        self._places: dict[str, QRect] = {}  # of what was to be seen in the page
        self._floated = self._left = False

    def show(self, name: str) -> None:
        """Show a dock alone, even one that was closed, floats or is behind another."""
        area, dock = self._area, self._area.docks[name]
        if name == self.name:
            return
        with area.arranging():
            if self.name:
                self._release(area.docks[self.name])
            else:
                self._remember()
            self.name = name
            for other in area.docks.values():
                if other is not dock:
                    other.hide()
            if dock.isFloating():
                self._floated = True
                dock.setFloating(False)
            self._features = dock.features()
            dock.setFeatures(FIXED)
            dock.title.show_large(True)
            dock.show()
            dock.raise_()

    def _remember(self) -> None:
        area = self._area
        self.layout = area.saveState(LAYOUT_VERSION)
        self._room = area.size(), current_theme()
        self._together = {n: self._beside(d) for n, d in area.docks.items()}
        self._shown = [name for name, dock in area.docks.items() if not dock.isHidden()]
        self._places = self._seen()
        self._floated = False

    def _seen(self) -> dict[str, QRect]:
        docks = self._area.docks.items()
        return {n: d.geometry() for n, d in docks if self._area.in_front(n) and not d.isFloating()}

    def leave(self) -> None:
        """The dock is one of the others again, which come by `putting_back`."""
        if self.name:
            self._release(self._area.docks[self.name])
            self.name = ""
            self._left = True

    def putting_back(self) -> Generator[object, None, bool]:
        """Give every view its place again, piece by piece; returns whether the room is the same."""
        area = self._area
        if not (self.name or self._left):
            return True
        with area.arranging():
            self.leave()
            yield PAUSE  # the page has its room again
            if self._floated:
                area.restoreState(self.layout, LAYOUT_VERSION)
            else:
                yield from self._showing_again()
            self._left = False
        return self._room == (area.size(), current_theme())

    def _showing_again(self) -> Steps:
        area = self._area
        for name, dock in area.docks.items():
            dock.setVisible(name in self._shown)
            yield
        area.name_tabs()  # in their own type, which says how high they are
        laid_out(area)
        yield
        for name in self._places:
            area.docks[name].raise_()
            yield
        docks = [area.docks[name] for name in self._places]
        bars = {n: self._tab_bar(n) for n in self._places}
        wide = [box.width() for box in self._places.values()]
        high = [box.height() + bars[name] for name, box in self._places.items()]
        area.resizeDocks(docks, wide, Qt.Orientation.Horizontal)
        area.resizeDocks(docks, high, Qt.Orientation.Vertical)
        laid_out(area)
        yield
        if self._room == (area.size(), current_theme()) and self._seen() != self._places:
            area.restoreState(self.layout, LAYOUT_VERSION)

    def _tab_bar(self, name: str) -> int:
        """The height of the tabs over a view, which belong to its place."""
        if not self._together[name]:
            return 0
        bars = self._area.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return max((bar.height() for bar in bars if bar.isVisible()), default=0)

    def share_a_place(self, one: str, other: str) -> bool:
        """Whether two views stand behind each other in the layout that comes back."""
        return other in self._together.get(one, frozenset())

    def _release(self, dock: ViewDock) -> None:
        dock.setFeatures(self._features)
        dock.title.show_large(False)

    def _beside(self, dock: ViewDock) -> frozenset[str]:
        beside = self._area.tabifiedDockWidgets(dock)
        return frozenset(other.objectName() for other in beside if not other.isHidden())
