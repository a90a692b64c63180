"""Short texts that are written again and again, such as values in cells: laid out once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QStaticText

from gui.views.kept import is_vector

MOST_TYPES = 12
MOST_WORDS = 4096  # in one type
CENTRE = Qt.AlignmentFlag.AlignCenter
_SHARES = {Qt.AlignmentFlag.AlignLeft: 0.0, Qt.AlignmentFlag.AlignRight: 1.0}
_PLAIN = int(Qt.TextFlag.TextDontClip)


class _Type:
    """The words of one font, as they were laid out."""

    def __init__(self, font: QFont) -> None:
        metrics = QFontMetricsF(font)
        self.height, self._advance = metrics.height(), metrics.horizontalAdvance
        self.laid: dict[str, QStaticText] = {}
        self.wide: dict[str, float] = {}

    def know(self, words: Sequence[str]) -> None:
        """Lay out what is new of the words."""
        if len(self.laid) > MOST_WORDS:
            self.laid.clear()
            self.wide.clear()
        for word in set(words) - self.laid.keys():
            laid = QStaticText(word)
            laid.setTextFormat(Qt.TextFormat.PlainText)
            self.laid[word], self.wide[word] = laid, self._advance(word)


_types: dict[str, _Type] = {}


def _type_of(font: QFont) -> _Type:
    key = font.key()
    found = _types.pop(key, None) or _Type(font)
    _types[key] = found  # the last one used comes last
    if len(_types) > MOST_TYPES:
        del _types[next(iter(_types))]
    return found


def _pixel_for_pixel(painter: QPainter) -> bool:
    """Whether a pixel of the painter is one of the picture: neither scaled nor turned."""
    return not is_vector(painter) and not painter.deviceTransform().isScaling()


def write(
    painter: QPainter,
    sides: NDArray[np.float64],
    words: Sequence[str],
    color: QColor,
    font: QFont,
    align: Qt.AlignmentFlag = CENTRE,
) -> None:
    """Write each of the words into its rectangle, half way down, whether it fits or not.

    `sides` are left, top, width and height of the rectangles, in pixels: float64 (4, n). The
    picture is the one that `QPainter.drawText` makes: laid out words come out so where a pixel of
    the painter is one of the picture, and everywhere else `drawText` itself is used.
    """
    painter.setFont(font)
    painter.setPen(color)
    left, top, wide, high = sides
    if not _pixel_for_pixel(painter):
        flags = int(align) | _PLAIN
        for rect, word in zip(map(QRectF, *sides.tolist()), words, strict=True):
            painter.drawText(rect, flags, word)
        return
    known = _type_of(font)
    known.know(words)
    advances = np.fromiter(map(known.wide.__getitem__, words), np.float64, len(words))
    share = next((share for side, share in _SHARES.items() if align & side), 0.5)
    x, y = left + share * (wide - advances), top + (high - known.height) / 2
    places, laid = map(QPointF, x.tolist(), y.tolist()), map(known.laid.__getitem__, words)
    for _ in map(painter.drawStaticText, places, laid):
        pass
