"""Parts of the benchmark page's plots: axes with grouped numbers, and the key beside the curves."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.looks.theme import current_theme
from gui.scenes.text import grouped
from gui.views.plotting import pg

_ROOM = 40  # pixels of a key's row beside its title


class ValueAxis(pg.AxisItem):
    """Large numbers with their digits in groups."""

    def __init__(self) -> None:
        super().__init__("left")
        self.logarithms = False

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        if not self.logarithms:
            return list(super().tickValues(low, high, size))
        decades = range(math.floor(low), math.ceil(high) + 1)
        every = [d + math.log10(m) for d in decades for m in (1, 2, 5)]
        return [(1.0, [v for v in every if low <= v <= high])]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        if self.logarithms:
            return [_figure(10**value) for value in values]
        shown = super().tickStrings(values, scale, spacing)
        return [
            grouped(round(value)) if abs(value) >= 10_000 else text
            for value, text in zip(values, shown, strict=True)
        ]


def _figure(value: float) -> str:
    return grouped(round(value)) if value >= 10 else f"{value:.3g}"


class SizeAxis(pg.AxisItem):
    """Ticks at the values that were measured, which stand at their logarithms."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.values: tuple[int, ...] = ()

    def show_values(self, values: Sequence[int]) -> None:
        """Put a tick at each value."""
        self.values = tuple(values)
        self.setTicks([[(place(v), grouped(v) if v > 9999 else str(v)) for v in values]])


def place(value: float) -> float:
    """Where a size or a tile stands on its axis: doubling is one step."""
    return math.log2(value) if value > 0 else 0.0


class Key(QWidget):
    """Which line is which kernel's, beside a plot. `pointed(place)`: at a row, -1 for none."""

    pointed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, QPen, str]] = []
        self._pointed = -1
        self.setMouseTracking(True)

    def show_rows(self, rows: Sequence[tuple[str, QPen, str]]) -> None:
        """Show titles with their lines and symbols."""
        self.rows = list(rows)
        metrics = QFontMetrics(current_theme().font("small"))
        width = max((metrics.horizontalAdvance(title) for title, _, _ in rows), default=-_ROOM)
        self.setFixedWidth(min(width + _ROOM, 190))
        self.setToolTip("\n".join(title for title, _, _ in rows))
        self.update()

    @property
    def _step(self) -> float:
        """Pixels from row to row."""
        spacing = QFontMetrics(current_theme().font("small")).lineSpacing()
        return min(spacing + 5.0, (self.height() - 12.0) / max(len(self.rows), 1))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        row = math.floor((event.position().y() - 12.0) / self._step)
        self._point(row if 0 <= row < len(self.rows) else -1)

    def leaveEvent(self, event: QEvent) -> None:
        self._point(-1)

    def _point(self, row: int) -> None:
        if row != self._pointed:
            self._pointed = row
            self.pointed.emit(row)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(theme.font("small"))
        metrics = painter.fontMetrics()
        step = self._step
        for row, (title, pen, symbol) in enumerate(self.rows):
            middle = 12.0 + (row + 0.5) * step
            painter.setPen(pen)
            painter.drawLine(QPointF(4, middle), QPointF(26, middle))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(pen.color())
            painter.save()
            painter.translate(15, middle)
            painter.scale(7, 7)
            painter.drawPath(pg.graphicsItems.ScatterPlotItem.Symbols[symbol])
            painter.restore()
            painter.setPen(theme.color("text"))
            room = self.width() - 36
            text = metrics.elidedText(title, Qt.TextElideMode.ElideRight, room)
            box = QRectF(32, middle - step / 2, room, step)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)


def thinned(values: Sequence[int], least: float) -> list[int]:
    """The values whose labels find room: neighbours at least `least` doublings apart."""
    kept: list[int] = []
    for value in values:
        if not kept or place(value) - place(kept[-1]) >= least:
            kept.append(value)
    return kept
