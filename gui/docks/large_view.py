"""One view over a whole page of docks, and everything back as it was.

While a view is large the other docks are hidden, and the layout that they come back to is held as
Qt saves it: nothing that happens meanwhile can change it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray
from PySide6.QtWidgets import QDockWidget

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
                self._room = area.size(), current_theme()
                self._together = {n: self._beside(d) for n, d in area.docks.items()}
            self.name = name
            for other in area.docks.values():
                if other is not dock:
                    other.hide()
            if dock.isFloating():
                dock.setFloating(False)
            self._features = dock.features()
            dock.setFeatures(FIXED)
            dock.title.show_large(True)
            dock.show()
            dock.raise_()

    def put_back(self) -> bool:
        """Give every view its place again; whether the area has the same size and theme still."""
        if not self.name:
            return True
        with self._area.arranging():
            self._release(self._area.docks[self.name])
            self._area.restoreState(self.layout, LAYOUT_VERSION)
            self.name = ""
        return self._room == (self._area.size(), current_theme())

    def share_a_place(self, one: str, other: str) -> bool:
        """Whether two views stand behind each other in the layout that comes back."""
        return other in self._together.get(one, frozenset())

    def _release(self, dock: ViewDock) -> None:
        dock.setFeatures(self._features)
        dock.title.show_large(False)

    def _beside(self, dock: ViewDock) -> frozenset[str]:
        beside = self._area.tabifiedDockWidgets(dock)
        return frozenset(other.objectName() for other in beside if not other.isHidden())
