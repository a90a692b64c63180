"""Legends: rows of swatches and words, as many and as wordy as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from gui.looks.theme import Theme
from gui.views.fault_marks import crossed_out
from gui.views.painting import LEFT, fill, frame, inset, pen, text, text_on

GAP = 7.0  # pixels between swatches and words
BETWEEN = 16.0  # pixels between keys beside each other
TIGHT, LOOSE = 1.06, 1.3  # heights of a row, in lines of text


@dataclass(frozen=True)
class Key:
    """One entry of a legend: what filled swatches, or an outline, stand for.

    `numbers` stand in the swatches, one in each.
    """

    words: str
    fills: tuple[QColor, ...] = ()
    outline: QColor | None = None
    short: str = ""
    """The words where there is little room."""
    numbers: tuple[str, ...] = ()
    crossed: bool = False
    """Whether the swatch is the mark of an illegal access."""


class _Pen:
    """Draws keys in one font."""

    def __init__(self, painter: QPainter, theme: Theme) -> None:
        self.p, self.theme = painter, theme
        self.font: QFont = theme.font("small")
        self.metrics = QFontMetricsF(self.font)
        self.line = self.metrics.height()
        self.swatch = 0.72 * self.line

    def swatches(self, key: Key) -> list[float]:
        """The widths of a key's swatches."""
        if key.numbers:
            return [self.metrics.horizontalAdvance(number) + 8.0 for number in key.numbers]
        return [self.swatch] * (len(key.fills) or (key.outline is not None))

    def width(self, key: Key) -> float:
        """How wide a key is."""
        words, boxes = self.metrics.horizontalAdvance(key.words), sum(self.swatches(key))
        return words + boxes + (GAP if words and boxes else 0.0)

    def draw(self, key: Key, left: float, top: float, row: float) -> None:
        """The swatches, and the words to their right."""
        high = self.swatch + 3 if key.numbers else self.swatch
        area = QRectF(left, round(top + (row - high) / 2), 0, high)
        for number, wide in enumerate(self.swatches(key)):
            area = QRectF(left, area.top(), wide, high)
            if key.crossed:
                crossed_out(self.p, self.theme, [area])
            elif key.outline is not None:
                frame(self.p, [inset(area, 1)], pen(key.outline, 2))
            else:
                fill(self.p, [area], key.fills[number])
            if key.numbers:
                ink = text_on(key.fills[number])
                text(self.p, area, key.numbers[number], ink, self.font, elide=False)
            left += wide
        if key.words:
            left += GAP if self.swatches(key) else 0.0
            place = QRectF(left, top, self.metrics.horizontalAdvance(key.words) + 1, row)
            text(self.p, place, key.words, self.theme.color("text_dim"), self.font, LEFT)


def _brief(keys: Sequence[Key]) -> list[Key]:
    return [replace(key, words=key.short or key.words) for key in keys]


def draw_legend(painter: QPainter, box: QRectF, theme: Theme, keys: Sequence[Key]) -> None:
    """Rows from the top left of `box`, in two columns where that helps.

    Where there is little room the words are shortened, and then the last keys left out.
    """
    if box.isEmpty():
        return
    tool, shown = _Pen(painter, theme), list(keys)
    brief = False
    while shown:
        for columns in (1, 2):
            rows = -(-len(shown) // columns)
            wide = max(map(tool.width, shown))
            fits = wide * columns + BETWEEN * (columns - 1) <= box.width()
            if fits and rows * TIGHT * tool.line <= box.height():
                row = min(LOOSE * tool.line, box.height() / rows)
                for place, key in enumerate(shown):
                    across, down = divmod(place, rows)
                    left = box.left() + across * (wide + BETWEEN)
                    tool.draw(key, left, box.top() + down * row, row)
                return
        shown = shown[:-1] if brief else _brief(shown)
        brief = True


def draw_legend_row(
    painter: QPainter, box: QRectF, theme: Theme, keys: Sequence[Key], veil: QColor | None = None
) -> None:
    """One row from the left of `box`, the words shortened and the last keys left out if need be.

    With a `veil` what lies below is covered first.
    """
    tool, shown = _Pen(painter, theme), list(keys)
    brief = False
    while shown and sum(map(tool.width, shown)) + BETWEEN * (len(shown) - 1) > box.width():
        shown = shown[:-1] if brief else _brief(shown)
        brief = True
    if not shown:
        return
    if veil is not None:
        painter.fillRect(box, veil)
    left = box.left()
    for key in shown:
        tool.draw(key, left, box.top(), box.height())
        left += tool.width(key) + BETWEEN
