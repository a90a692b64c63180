"""Legends say as much as there is room for, and something wherever there is any."""

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from gui.looks.theme import load_theme
from gui.views.drawing_tools import Key, draw_legend, draw_legend_row

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
