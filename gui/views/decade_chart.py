"""A chart with logarithmic axes: lines and texts at decades, and how wide pixels are in them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gui.looks.theme import current_theme
from gui.scenes.roofline import Roofline
from gui.views.chart import Chart
from gui.views.halo_text import HaloText
from gui.views.log_axis import LogAxis
from gui.views.plotting import pg


class DecadeChart(Chart):
    """What a subclass draws lies within its `_frame`, at the logarithms to base 10."""

    def __init__(self) -> None:
        super().__init__(LogAxis("left"), LogAxis("bottom"))
        self._frame: Roofline | None = None

    def _line(
        self, points: Sequence[tuple[float, float]], pen: object, *, above: float = 0
    ) -> None:
        item = pg.PlotCurveItem([x for x, _ in points], [y for _, y in points], pen=pen)
        item.setZValue(above)
        self.addItem(item)

    def _text(
        self, x: float, y: float, text: str, color: str, anchor: tuple[float, float],
        *, angle: float = 0, bold: bool = False, size: str = "small",
    ) -> None:  # fmt: skip
        theme = current_theme()
        font = theme.font(size, bold=bold)
        item = HaloText(text, theme.color(color), theme.color("panel"), font, anchor, angle)
        item.setPos(x, y)
        item.setZValue(20)
        self.addItem(item)

    def _decades_wide(self, pixels: float) -> float:
        frame, width = self._frame, self.box.rect().width()
        if frame is None or width < 1:
            return 0.1
        return pixels * math.log10(frame.right / frame.left) / width

    def _decades_high(self, pixels: float) -> float:
        frame, height = self._frame, self.box.rect().height()
        if frame is None or height < 1:
            return 0.1
        return pixels * math.log10(frame.top / frame.bottom) / height
