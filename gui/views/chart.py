"""A plot: a place for pyqtgraph's items with an axis at its left and one below.

pyqtgraph's own `PlotWidget` makes menus and dialogs besides, several times as much as is used here.
"""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtWidgets import QGraphicsGridLayout, QGraphicsItem

from gui.looks.theme import current_theme
from gui.views.plotting import pg

STRETCH = 100


class Chart(pg.GraphicsView):
    """Items are added in the axes' units; ranges are set, never found by themselves.

    left, bottom: axes to use in place of pyqtgraph's. mouse: whether the wheel zooms and a drag
    moves the view.
    """

    def __init__(
        self,
        left: pg.AxisItem | None = None,
        bottom: pg.AxisItem | None = None,
        *,
        mouse: bool = False,
    ) -> None:
        super().__init__()
        self.enableMouse(False)
        self.box = pg.ViewBox(enableMenu=False, enableMouse=mouse)
        self.box.disableAutoRange()
        self.axes: dict[str, Any] = {
            "left": left or pg.AxisItem("left"),
            "bottom": bottom or pg.AxisItem("bottom"),
        }
        whole = pg.GraphicsWidget()
        layout = QGraphicsGridLayout(whole)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addItem(self.box, 0, 1)
        layout.setRowStretchFactor(0, STRETCH)
        layout.setColumnStretchFactor(1, STRETCH)
        for name, place in (("left", (0, 0)), ("bottom", (1, 1))):
            axis = self.axes[name]
            axis.linkToView(self.box)
            axis.setZValue(0.5)
            axis.setFlag(QGraphicsItem.GraphicsItemFlag.ItemNegativeZStacksBehindParent)
            axis.enableAutoSIPrefix(False)
            layout.addItem(axis, *place)
        self.setCentralItem(whole)

    def addItem(self, item: Any) -> None:
        """Put an item into the plot."""
        self.box.addItem(item)

    def clear(self) -> None:
        """Take all items out."""
        for item in list(self.box.addedItems):
            self.box.removeItem(item)

    def getAxis(self, name: str) -> Any:
        """The axis `left` or `bottom`."""
        return self.axes[name]

    def setXRange(self, low: float, high: float, padding: float = 0) -> None:
        """What the width shows; `padding` is a share of it on either side."""
        self.box.setXRange(low, high, padding=padding)

    def setYRange(self, low: float, high: float, padding: float = 0) -> None:
        """What the height shows."""
        self.box.setYRange(low, high, padding=padding)

    def viewRange(self) -> list[list[float]]:
        """What is shown: [least and most x], [least and most y]."""
        return [list(ends) for ends in self.box.viewRange()]

    def dress(self, left: str, bottom: str, *, grid: float = 0.0) -> None:
        """Take up the theme's colours, and name the axes; grid: strength of the lines across."""
        theme = current_theme()
        self.setBackground(theme.color("panel"))
        for name, label in (("left", left), ("bottom", bottom)):
            axis = self.axes[name]
            axis.setPen(theme.color("border"))
            axis.setTextPen(theme.color("text_dim"))
            axis.setTickFont(theme.font("small"))
            if label:
                axis.setLabel(label, color=theme.surfaces.text_dim)
            axis.label.setFont(theme.font("small"))
        self.axes["left"].setGrid(math.floor(255 * grid) or False)
