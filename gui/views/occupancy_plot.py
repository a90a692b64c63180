"""Occupancy over one resource, with the present value as a line to drag."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal

from gui.frames.pieces import PAUSE, Steps
from gui.looks.theme import current_theme
from gui.scenes.occupancy import TITLES, UNITS, Curve
from gui.views.chart import Chart
from gui.views.plotting import pg

_MARGIN = 0.04  # of the width on either side: a mark at the first value is whole


class OccupancyPlot(Chart):
    """`dragged(place)` is emitted while the line is moved, on the plot's scale.

    It is whole after `building`.
    """

    dragged = Signal(float)

    def __init__(self, y_label: str = "") -> None:
        super().__init__()
        self._y_label = y_label
        self.setMinimumHeight(120)
        self._curve: Curve | None = None

    def building(self) -> Steps:
        """Put in what is drawn; nothing can be shown before."""
        self._line = pg.PlotCurveItem()
        self._now = pg.InfiniteLine(angle=90, movable=True)
        self._dot = pg.ScatterPlotItem(size=12)
        self._text = pg.TextItem(anchor=(0, 1))
        yield PAUSE
        for item in (self._line, self._now, self._dot, self._text):
            self.addItem(item)
        yield PAUSE
        self._now.setCursor(Qt.CursorShape.SizeHorCursor)
        self._now.sigDragged.connect(lambda line: self.dragged.emit(float(line.value())))
        self.getAxis("left").setTicks([[(v, str(v)) for v in (0, 25, 50, 75, 100)]])
        self.scene().sigMouseClicked.connect(self._on_click)
        yield PAUSE
        self.draw()

    def load(self, curve: Curve) -> None:
        """Show a curve."""
        self._curve = curve
        title = TITLES[curve.axis]
        self.setAccessibleName(f"Occupancy over {title[:1].lower()}{title[1:]}")
        self.draw()

    def draw(self) -> None:
        """Draw in the theme's colours."""
        theme = current_theme()
        unit = UNITS[self._curve.axis] if self._curve is not None else ""
        self.dress(self._y_label, unit, grid=0.15)
        self._line.setPen(pg.mkPen(theme.color("load"), width=2))
        self._line.setBrush(theme.color("load", 0.10))
        self._now.setPen(pg.mkPen(theme.color("store"), width=1.5, style=Qt.PenStyle.DashLine))
        self._now.setHoverPen(pg.mkPen(theme.color("store"), width=3))
        self._dot.setBrush(theme.color("store"))
        self._dot.setPen(pg.mkPen(theme.color("panel"), width=1.5))
        self._text.setColor(theme.color("text"))
        self._text.setFont(theme.font("small", bold=True))
        self._text.fill = pg.mkBrush(theme.color("panel", 0.8))
        if self._curve is not None:
            self._place(self._curve)

    def _place(self, curve: Curve) -> None:
        step = curve.x[1] - curve.x[0] if len(curve.x) > 1 else 1.0
        edges = [x - step / 2 for x in curve.x] + [curve.x[-1] + step / 2]
        self._line.setData(edges, list(curve.y), stepMode="center", fillLevel=0)
        self.setXRange(min(edges[0], curve.now), edges[-1], padding=_MARGIN)
        self.setYRange(0, 112, padding=0)
        self._now.setValue(curve.now)
        self._dot.setData([curve.now], [curve.now_y])
        middle = (edges[0] + edges[-1]) / 2
        self._text.setAnchor((0, 1) if curve.now < middle else (1, 1))
        self._text.setText(f" {curve.now_text} ")
        self._text.setPos(curve.now, min(curve.now_y + 1, 98))

    def _on_click(self, event: object) -> None:
        scene = event.scenePos()  # type: ignore[attr-defined]
        if self._curve is not None and self.box.sceneBoundingRect().contains(scene):
            place = self.box.mapSceneToView(scene)
            self.dragged.emit(float(place.x()))
