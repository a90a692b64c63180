"""Widgets as PDF and PNG: text that can be selected, cells as vectors, cut off as in the window."""

import gc
import io
import re
import weakref

import numpy as np
import pytest
from pypdf import PdfReader
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from gui.pictures import Picture, image_of, pdf_of

RANDOM = np.random.default_rng(4)


class Painted(QWidget):
    """Paints what it is given to."""

    def __init__(self, paint, parent=None):
        super().__init__(parent)
        self.paint = paint

    def paintEvent(self, event):
        painter = QPainter(self)
        self.paint(painter)
        painter.end()


def page_of(widget):
    """The one page of a widget's PDF."""
    (page,) = PdfReader(io.BytesIO(pdf_of(widget, "A title"))).pages
    return page


def test_text_stays_text_on_a_page_of_the_size(qtbot):
    label = QLabel("Warp 0 loads A[0..31] & <more>: ä")
    qtbot.addWidget(label)
    label.resize(301, 43)
    reader = PdfReader(io.BytesIO(pdf_of(label, "A title")))
    (page,) = reader.pages
    assert " ".join(page.extract_text().split()) == label.text()  # a space may be a tab
    assert page.mediabox == [0, 0, 301, 43]
    assert reader.metadata.title == "A title"
    assert not page.images


@pytest.mark.parametrize("scale", [2.0, 3.0])
def test_a_png_has_every_pixel(qtbot, scale):
    label = QLabel("Warp 0")
    qtbot.addWidget(label)
    label.resize(137, 53)
    image = image_of(label, scale)
    read = QImage.fromData(Picture(image).encoded())
    assert (read.width(), read.height()) == (137 * scale, 53 * scale)
    assert read.convertToFormat(image.format()) == image
    assert read.dotsPerMeterX() == 3780 * scale


def filled(page):
    """The colour of each fill, with the box (left, top, right, bottom) that is seen of it."""
    high = float(page.mediabox.height)
    stack, clip, at, ends, colour = [], (0.0, 0.0, 1e9, 1e9), (1.0, 1.0, 0.0, 0.0), [], ""
    clips, found = False, []
    for operands, operator in page.get_contents().operations:
        name, numbers = operator.decode(), operands
        if name == "q":
            stack.append((clip, at, colour))
        elif name == "Q":
            clip, at, colour = stack.pop()
        elif name == "cm":
            a, b, c, d, e, f = map(float, numbers)
            assert not b
            assert not c
            at = (at[0] * a, at[1] * d, at[0] * e + at[2], at[1] * f + at[3])
        elif name in ("m", "l", "re"):
            x, y = float(numbers[0]), float(numbers[1])
            ends.append((x, y))
            if name == "re":
                ends.append((x + float(numbers[2]), y + float(numbers[3])))
        elif name == "scn" and len(numbers) == 3:
            colour = QColor.fromRgbF(*map(float, numbers)).name()
        elif name in ("W", "W*"):
            clips = True
        elif name in ("n", "f", "f*"):
            xs = [x * at[0] + at[2] for x, _ in ends]
            ys = [high - (y * at[1] + at[3]) for _, y in ends]
            box = (
                max(clip[0], min(xs)),
                max(clip[1], min(ys)),
                min(clip[2], max(xs)),
                min(clip[3], max(ys)),
            )
            if clips:
                clip = box
            elif box[0] < box[2] and box[1] < box[3]:
                found.append((colour, tuple(round(side, 1) for side in box)))
            clips, ends = False, []
    return found


def test_what_a_parent_cuts_off_is_not_seen(qtbot):
    def paint(painter):
        painter.fillRect(QRectF(0, 0, 20, 20), QColor("#ff0000"))
        painter.fillRect(QRectF(0, 30, 20, 20), QColor("#0000ff"))
        painter.fillRect(QRectF(0, 60, 20, 20), QColor("#00ff00"))

    outer = QWidget()
    qtbot.addWidget(outer)
    outer.resize(100, 100)
    frame = QWidget(outer)
    frame.setGeometry(10, 20, 50, 40)
    Painted(paint, frame).setGeometry(0, 0, 50, 100)
    QLabel("beyond", frame).setGeometry(0, 50, 50, 20)
    QLineEdit("in part", frame).setGeometry(0, 35, 50, 25)
    Painted(lambda p: p.fillRect(QRectF(0, 0, 9, 9), QColor("#123456")), outer).hide()
    page = page_of(outer)
    seen = dict(filled(page))
    assert seen["#ff0000"] == (10, 20, 30, 40)
    assert seen["#0000ff"] == (10, 50, 30, 60)
    assert not {"#00ff00", "#123456"} & seen.keys()
    assert "beyond" not in page.extract_text()
    assert all(box[3] <= 60 for colour, box in filled(page) if box[2] <= 60)


def test_a_clip_goes_where_the_painter_was_moved_to(qtbot):
    def paint(painter):
        painter.translate(30, 20)
        painter.setClipRect(QRectF(0, 0, 10, 15))
        painter.fillRect(QRectF(-9, -9, 40, 40), QColor("#ff0000"))
        painter.setClipping(False)
        painter.fillRect(QRectF(0, 0, 5, 6), QColor("#00ff00"))

    widget = Painted(paint)
    qtbot.addWidget(widget)
    widget.resize(100, 80)
    seen = dict(filled(page_of(widget)))
    assert seen["#ff0000"] == (30, 20, 40, 35)
    assert seen["#00ff00"] == (30, 20, 35, 26)


@pytest.mark.slow
def test_the_matrices_have_no_bitmap_and_their_words(session, qtbot):
    from gui.views.matrix_canvas import MatrixCanvas

    canvas = MatrixCanvas(session)
    qtbot.addWidget(canvas)
    canvas.resize(900, 700)
    canvas.show()
    canvas.catch_up()
    canvas.grab()
    page = page_of(canvas)
    assert not page.images
    assert {"A", "B", "C"} <= set(re.split(r"\s+", page.extract_text()))


@pytest.mark.slow
def test_nothing_of_a_picture_stays(session, qtbot, monkeypatch):
    """Whatever a view asks of its painter, PySide must not keep a device or its engine for it."""
    from gui import pictures
    from gui.views.drawing_tools import Pixmaps
    from gui.views.matrix_canvas import MatrixCanvas

    refs, device = [], pictures.VectorDevice

    def noted(*given):
        made = device(*given)
        refs.extend((weakref.ref(made), weakref.ref(made.paintEngine())))
        return made

    monkeypatch.setattr(pictures, "VectorDevice", noted)
    kept, box = Pixmaps(), QRectF(5, 5, 20, 20)
    plain = Painted(lambda p: kept.draw(p, "x", box, 0, lambda p: p.drawEllipse(box)))
    canvas = MatrixCanvas(session)
    for view in (plain, canvas):
        qtbot.addWidget(view)
        view.resize(500, 400)
        view.show()
        pdf_of(view, "A title")
        refs.append(weakref.ref(image_of(view)))
    gc.collect()
    assert len(refs) == 6
    assert [ref() for ref in refs] == [None] * 6


def test_cells_of_an_image_are_rectangles(qtbot):
    from gui.views.drawing_tools import draw_cells

    image = QImage(4, 3, QImage.Format.Format_RGBA8888)
    image.fill(QColor("#ff0000"))
    image.setPixelColor(2, 1, QColor("#0000ff"))
    image.setPixelColor(0, 0, QColor(0, 0, 0, 0))
    widget = Painted(lambda p: draw_cells(p, QRectF(10, 20, 40, 30), image))
    qtbot.addWidget(widget)
    widget.resize(100, 80)
    page = page_of(widget)
    assert not page.images
    assert ("#0000ff", (30, 30, 40, 40)) in filled(page)
    noise = RANDOM.integers(0, 256, (200, 300, 4), np.uint8)
    large = QImage(noise.data, 300, 200, 1200, QImage.Format.Format_RGBX8888)
    widget.paint = lambda p: draw_cells(p, QRectF(0, 0, 90, 60), large)
    assert len(page_of(widget).images) == 1
