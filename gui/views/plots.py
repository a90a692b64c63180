"""pyqtgraph as the pages use it: a chart, symbols, and texts with a rim."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QFontMetricsF, QPainter, QPainterPath

from gui.looks.theme import current_theme

# pyqtgraph, as `pg`, without what it only tries out.
#
# It imports CUDA's runtime if that is installed, for a widget that is not used here: some 50
# modules, a fifth of the time that the first page with a plot takes to import.


RUNTIME = "cuda.bindings.runtime"


@contextmanager
def _as_if_missing(module: str) -> Iterator[None]:
    """Have imports of a module fail, unless it was imported before."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]  # Python's way to say so
    try:
        yield
    finally:
        del sys.modules[module]


with _as_if_missing(RUNTIME):
    import pyqtgraph as pg

__all__ = ["pg"]


# A text on a plot with a rim in the ground's colour: legible over lines, which stay whole.


_RIM = 2.0  # pixels around each letter


class HaloText(pg.TextItem):
    """One line of text; the rest as with pyqtgraph's own."""

    def __init__(
        self,
        text: str,
        color: QColor,
        rim: QColor,
        font: QFont,
        anchor: tuple[float, float],
        angle: float = 0,
    ) -> None:
        super().__init__(text, color=color, anchor=anchor, angle=angle)
        self._rim = rim
        self.setFont(font)
        margin = self.textItem.document().documentMargin()
        self._letters = QPainterPath()
        self._letters.addText(QPointF(margin, margin + QFontMetricsF(font).ascent()), font, text)

    def paint(self, painter: QPainter, *others: object) -> None:
        """Draw the rim; the letters are a child's."""
        super().paint(painter, *others)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        pen = pg.mkPen(self._rim, width=2 * _RIM)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        painter.drawPath(self.textItem.mapToParent(self._letters))


PLOT_LINES = 5  # heights of a control: what is always in sight of a plot
LINE = 14  # pixels of a line of small text that sizes of symbols are given for


def symbol_size(pixels: float) -> float:
    """A symbol's size, larger where the text is."""
    return pixels * QFontMetrics(current_theme().font("small")).height() / LINE


class Chart(pg.PlotWidget):
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
        self.axes = {"left": left or pg.AxisItem("left"), "bottom": bottom or pg.AxisItem("bottom")}
        super().__init__(axisItems=self.axes, enableMenu=False)
        self.hideButtons()
        self.setMouseEnabled(mouse, mouse)
        self.box = self.plotItem.vb
        self.box.disableAutoRange()
        for axis in self.axes.values():
            axis.enableAutoSIPrefix(False)

    def dress(self, left: str, bottom: str, *, grid: float = 0.0) -> None:
        """Take up the theme's colours, and name the axes; grid: strength of the lines across."""
        theme = current_theme()
        self.setBackground(theme.color("panel"))
        for name, label in (("left", left), ("bottom", bottom)):
            axis = self.axes[name]
            axis.setPen(theme.color("border"))
            axis.setTextPen(theme.color("text_dim"))
            axis.label.setFont(theme.font("small"))  # first: the axis makes room for what it has
            axis.setTickFont(theme.font("small"))
            axis.setStyle(tickTextHeight=math.ceil(QFontMetricsF(theme.font("small")).height()))
            if label:
                axis.setLabel(label, color=theme.surfaces.text_dim)
        self.axes["left"].setGrid(math.floor(255 * grid) or False)
