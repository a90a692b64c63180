"""Words come out as `QPainter.drawText` writes them, and legends say what there is room for."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter

from gui.looks.theme import load_theme
from gui.views import drawing_tools
from gui.views.drawing_tools import Key, draw_legend, draw_legend_row, write

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


RED, GREEN, BLUE = QColor("#ff0000"), QColor("#00ff00"), QColor("#0000ff")
KEYS = (
    Key("Loaded by the whole of the block now", (RED,), short="Now"),
    Key("Loaded in this phase of the block", (), GREEN, "Phase"),
    Key("Stored", (BLUE,)),
)


def drawn(draw, width, height):
    """The colours in a picture of a legend, and how far right and down it reaches."""
    image = QImage(600, 200, QImage.Format.Format_RGB32)
    image.fill(QColor("#ffffff"))
    painter = QPainter(image)
    draw(painter, QRectF(0, 0, width, height), load_theme("light"), KEYS)
    painter.end()
    inked = [
        (x, y)
        for x in range(600)
        for y in range(200)
        if image.pixelColor(x, y) != QColor("#ffffff")
    ]
    colors = {image.pixelColor(x, y).name() for x, y in inked}
    return colors, max((x for x, _ in inked), default=0), max((y for _, y in inked), default=0)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [draw_legend, draw_legend_row])
@pytest.mark.parametrize(("width", "height"), [(590, 100), (300, 60), (120, 40), (60, 20)])
def test_a_legend_stays_in_its_room(qapp, draw, width, height):
    colors, right, bottom = drawn(draw, width, height)
    assert RED.name() in colors  # the first key is there even in little room
    assert right <= width
    assert bottom <= height + 2


def test_all_keys_are_there_where_they_fit(qapp):
    for draw in (draw_legend, draw_legend_row):
        colors, _, _ = drawn(draw, 590, 100)
        assert {RED.name(), GREEN.name(), BLUE.name()} <= colors


def test_words_are_shortened_before_keys_are_left_out(qapp):
    colors, right, _ = drawn(draw_legend, 110, 100)
    assert {RED.name(), GREEN.name(), BLUE.name()} <= colors
    assert 0 < right < 110


@pytest.mark.slow
def test_nothing_is_drawn_in_no_room(qapp):
    assert drawn(draw_legend, 0, 0)[0] == set()
    assert drawn(draw_legend_row, 5, 20)[0] == set()
