"""Words that were laid out before come out as `QPainter.drawText` writes them."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter

from gui.looks.theme import load_theme
from gui.views import drawing_tools
from gui.views.drawing_tools import write

WORDS = ("0.12", "−0.53", "17", "×32", "A[0,4]", "2.5e+10")
INK = QColor("#204060")
CENTRE, RIGHT = Qt.AlignmentFlag.AlignCenter, Qt.AlignmentFlag.AlignRight
MIDDLE = Qt.AlignmentFlag.AlignVCenter


def painted(draw, ratio=1.0):
    """What `draw` paints onto white, 400 x 400 pixels of a screen that scales by `ratio`."""
    image = QImage(round(400 * ratio), round(400 * ratio), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(3, 5)
    draw(painter)
    painter.end()
    return image


@pytest.mark.parametrize("align", [CENTRE, RIGHT | MIDDLE, Qt.AlignmentFlag.AlignLeft | MIDDLE])
@pytest.mark.parametrize("ratio", [1.0, 1.25, 2.0])
def test_the_picture_is_that_of_texts_written_one_by_one(qapp, align, ratio):
    dice, theme = np.random.default_rng(3), load_theme("light")
    for size in (5.5, 7.3, 9.0, 13.7):
        font = theme.mono()
        font.setPointSizeF(size)
        sides = np.stack([dice.integers(0, high, 40).astype(float) for high in (380, 380, 60, 40)])
        sides[:2] += dice.integers(0, 4, (2, 40)) / 4
        chosen = [WORDS[i] for i in dice.integers(0, len(WORDS), 40)]

        def one_by_one(painter, font=font, sides=sides, chosen=chosen):
            painter.setFont(font)
            painter.setPen(INK)
            flags = int(align) | int(Qt.TextFlag.TextDontClip)
            for side, word in zip(sides.T.tolist(), chosen, strict=True):
                painter.drawText(QRectF(*side), flags, word)

        def at_once(painter, font=font, sides=sides, chosen=chosen):
            write(painter, sides, chosen, INK, font, align)

        assert painted(at_once, ratio) == painted(one_by_one, ratio)
        assert painted(at_once, ratio) != painted(lambda painter: None, ratio)


def test_what_is_remembered_has_an_end(qapp, monkeypatch):
    monkeypatch.setattr(drawing_tools, "MOST_WORDS", 50)
    font = load_theme("light").mono()
    for first in range(0, 1000, 40):
        few = [str(number) for number in range(first, first + 40)]
        sides = np.tile([[5.0], [5.0], [50.0], [20.0]], len(few))
        painted(lambda painter, sides=sides, few=few: write(painter, sides, few, INK, font))
    for size in range(5, 40):
        font.setPointSizeF(size)
        painted(lambda painter: write(painter, np.ones((4, 1)), ["1"], INK, font))
    assert len(drawing_tools._types) <= drawing_tools.MOST_TYPES
    assert max(map(len, drawing_tools._types.values())) < 100
