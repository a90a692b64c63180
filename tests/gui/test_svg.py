"""Images as PNG, and drawings as SVG: all that is drawn, where it is, cut off as it is."""

import gc
import re
import threading
import weakref
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QLabel, QWidget

from core.cancelling import cancelled_by
from core.errors import Cancelled
from gui.pictures import mosaic
from gui.pictures.drawing import RATIO, Drawing
from gui.pictures.painted import drawing_of, image_of
from gui.pictures.png import encode, pixels_of
from gui.pictures.svg import document

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
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


def svg_of(drawing):
    """The document's root; its elements by tag."""
    root = ET.fromstring(document(drawing.marks, drawing.size, "A title"))
    return root, lambda tag: list(root.iter(SVG + tag))


def painted(paint, size=(100, 80)):
    drawing = Drawing(QSize(*size))
    painter = QPainter(drawing)
    paint(painter)
    painter.end()
    return svg_of(drawing)


def noise(wide, high, kind):
    pixels = RANDOM.integers(0, 256, (high, wide, 4), np.uint8)
    image = QImage(pixels.data, wide, high, wide * 4, QImage.Format.Format_RGBA8888)
    return image.convertToFormat(kind)


@pytest.mark.parametrize("size", [(1, 1), (37, 53), (700, 411)])
@pytest.mark.parametrize("kind", [QImage.Format.Format_RGB32, QImage.Format.Format_ARGB32])
def test_a_png_has_every_pixel(qapp, size, kind):
    image, told = noise(*size, kind), []
    read = QImage.fromData(encode(image, 2.0, told.append))
    assert read.hasAlphaChannel() == image.hasAlphaChannel()
    assert read.convertToFormat(kind) == image
    assert read.dotsPerMeterX() == 2 * 3780
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_a_png_is_given_up_in_its_midst(qapp):
    image, told = noise(700, 800, QImage.Format.Format_RGB32), []
    with cancelled_by(lambda: len(told) == 2), pytest.raises(Cancelled):
        encode(image, 1.0, told.append)
    assert told[-1] < 1


def test_text_stays_text_as_wide_as_it_was(qtbot):
    label = QLabel("Warp 0 loads A[0..31] & <more>: 16\u202f384")
    qtbot.addWidget(label)
    label.resize(300, 40)
    root, found = svg_of(drawing_of(label))
    (text,) = found("text")
    assert text.text == label.text()
    width = label.fontMetrics().horizontalAdvance(label.text())
    assert float(text.get("textLength")) == pytest.approx(width, abs=1.5)
    assert (root.get("width"), root.get("viewBox")) == ("300", "0 0 300 40")
    assert root.find(SVG + "title").text == "A title"


def test_what_a_parent_cuts_off_is_not_there(qtbot):
    def paint(painter):
        painter.fillRect(QRectF(0, 0, 20, 20), QColor("#ff0000"))
        painter.fillRect(QRectF(0, 60, 20, 20), QColor("#00ff00"))
        painter.fillRect(QRectF(0, 30, 20, 20), QColor("#0000ff"))

    outer = QWidget()
    qtbot.addWidget(outer)
    outer.resize(100, 100)
    frame = QWidget(outer)
    frame.setGeometry(10, 20, 50, 40)
    inner = Painted(paint, frame)
    inner.setGeometry(0, 0, 50, 100)
    hidden = Painted(lambda p: p.fillRect(QRectF(0, 0, 9, 9), QColor("#123456")), outer)
    hidden.hide()
    drawing = drawing_of(outer)
    text = document(drawing.marks, drawing.size, "").decode()
    assert '"#ff0000"' in text
    assert '"#0000ff"' in text
    assert "#00ff00" not in text
    assert "#123456" not in text
    root = ET.fromstring(text)
    clips = {clip.get("id"): clip[0] for clip in root.iter(SVG + "clipPath")}
    clipped = {g: clips[g.get("clip-path")[5:-1]] for g in root if g.get("clip-path")}
    boxes = {shapes.get("fill"): box for g, box in clipped.items() for shapes in g}
    assert "#ff0000" not in boxes  # it is whole
    blue = boxes["#0000ff"]
    assert [blue.get(k) for k in ("x", "y", "width", "height")] == ["10", "20", "50", "40"]


def test_a_clip_goes_where_the_painter_was_moved_to(qapp):
    def paint(painter):
        painter.translate(30, 20)
        painter.setClipRect(QRect(0, 0, 10, 10))
        painter.rotate(90)
        painter.fillRect(QRectF(0, -40, 40, 40), QColor("#ff0000"))
        painter.setClipping(False)
        painter.fillRect(QRectF(0, 0, 5, 5), QColor("#00ff00"))

    root, found = painted(paint)
    (clip,) = found("clipPath")
    assert [clip[0].get(k) for k in ("x", "y", "width", "height")] == ["30", "20", "10", "10"]
    free = [g for g in root if g.tag == SVG + "g" and not g.get("clip-path")]
    assert [g.get("fill") for g in free] == ["#00ff00"]


def test_a_clip_is_back_after_another_was_within_it(qapp):
    def paint(painter):
        painter.setClipRect(QRect(0, 0, 50, 50))
        painter.save()
        painter.setClipRect(QRect(40, 40, 50, 50), Qt.ClipOperation.IntersectClip)
        painter.fillRect(QRectF(0, 0, 90, 70), QColor("#ff0000"))
        painter.restore()
        painter.fillRect(QRectF(0, 0, 90, 70), QColor("#00ff00"))

    root, found = painted(paint)
    boxes = {c.get("id"): [float(c[0].get(k)) for k in ("x", "width")] for c in found("clipPath")}
    seen = {g[0].get("fill"): boxes[g.get("clip-path")[5:-1]] for g in root if g.get("clip-path")}
    assert seen == {"#ff0000": [40, 10], "#00ff00": [0, 50]}


def test_pens_brushes_and_opacity(qapp):
    def paint(painter):
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(QColor("#112233"), 2, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.drawLine(QPointF(1, 2), QPointF(30, 2))
        painter.setOpacity(0.5)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(255, 0, 0, 128))
        painter.drawEllipse(QRectF(10, 10, 20, 20))
        painter.setOpacity(1)
        painter.setBrush(Qt.BrushStyle.BDiagPattern)
        painter.drawRect(QRectF(40, 40, 20, 20))

    _, found = painted(paint)
    line, circle, hatched = (g for g in found("g") if not g.get("clip-path"))
    assert (line.get("stroke"), line.get("stroke-width"), line.get("fill")) == (
        "#112233", "2", "none",
    )  # fmt: skip
    assert line.get("stroke-dasharray") == "8 4"
    assert line[0].get("d") == "M1,2 L30,2"
    assert float(circle.get("fill-opacity")) == pytest.approx(0.251, abs=0.002)
    assert "C" in circle[0].get("d")
    (pattern,) = found("pattern")
    assert hatched.get("fill") == f"url(#{pattern.get('id')})"


def test_cells_of_an_image_are_rectangles(qapp):
    image = QImage(4, 3, QImage.Format.Format_RGB32)
    image.fill(QColor("#ff0000"))
    image.setPixelColor(2, 1, QColor("#0000ff"))
    _, found = painted(lambda p: p.drawImage(QRectF(10, 20, 40, 30), image))
    assert not found("image")
    blue = next(g for g in found("g") if g.get("fill") == "#0000ff")
    assert blue[0].get("d") == "M30,30 L40,30 L40,40 L30,40 Z"
    cells = mosaic.cells_of(image, 40, 30)
    area = np.zeros((3, 4), int)
    for box in (box for boxes in cells.values() for box in boxes):
        area[box.top() : box.bottom() + 1, box.left() : box.right() + 1] += 1
    assert (area == 1).all()
    assert len(cells[255, 0, 0, 255]) < 6


def test_an_image_of_many_pixels_stays_one_with_as_many_as_are_seen(qapp, monkeypatch):
    large = noise(900, 600, QImage.Format.Format_RGB32)

    def paint(painter):
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(QRectF(0, 0, 90, 60), large)

    _, found = painted(paint)
    (image,) = found("image")
    assert held(image).size() == QSize(270, 180)
    monkeypatch.setattr(mosaic, "MOST", 10)
    few = noise(9, 6, QImage.Format.Format_RGB32)
    _, found = painted(lambda p: p.drawImage(QRectF(0, 0, 90, 60), few))
    (image,) = found("image")
    read = held(image)
    assert read.size() == QSize(9 * 30, 6 * 30)  # for readers that smooth whatever they enlarge
    assert np.array_equal(pixels_of(read)[15::30, 15::30], pixels_of(few))


def held(element):
    """The image in an element."""
    data = element.get(XLINK + "href").removeprefix("data:image/png;base64,")
    from PySide6.QtCore import QByteArray

    return QImage.fromData(QByteArray.fromBase64(data.encode()))


def test_icons_have_pixels_for_slides(qtbot):
    def paint(painter):
        ratio = painter.deviceTransform().m11()
        pixmap = QPixmap(QSize(10, 10) * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(QColor("#ff00ff"))
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawPixmap(QPoint(5, 5), pixmap)

    widget = Painted(paint)
    qtbot.addWidget(widget)
    widget.resize(40, 40)
    _, found = svg_of(drawing_of(widget))
    (image,) = found("image")
    assert [image.get(k) for k in ("x", "y", "width")] == ["5", "5", "10"]
    assert held(image).size() == QSize(10, 10) * RATIO


def test_a_drawing_is_written_in_another_thread_and_given_up(qtbot):
    label = QLabel("x")
    qtbot.addWidget(label)
    drawing, found = drawing_of(label), []

    def work():
        found.append(document(drawing.marks * 200, drawing.size, "x"))
        with cancelled_by(lambda: True):
            try:
                document(drawing.marks, drawing.size, "x")
            except Cancelled:
                found.append("given up")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0].count(b"<text") == 200
    assert found[1] == "given up"


def test_the_matrices_have_no_bitmap_and_a_sharp_image(session, qtbot):
    from gui.views.matrix_canvas import MatrixCanvas

    canvas = MatrixCanvas(session)
    qtbot.addWidget(canvas)
    canvas.resize(900, 700)
    canvas.show()
    canvas.catch_up()
    canvas.grab()
    _, found = svg_of(drawing_of(canvas))
    assert not found("image")
    names = {text.text for text in found("text")}
    assert {"A", "B", "C"} <= names
    assert len(re.findall(rb"\S", document(drawing_of(canvas).marks, canvas.size(), ""))) < 400_000
    legend = pixels_of(image_of(canvas, 2.0)).astype(int)[:400, :400]
    doubled = legend[::2, ::2].repeat(2, axis=0).repeat(2, axis=1)
    assert (legend != doubled).any(axis=-1).sum() > 1000


def test_nothing_of_a_picture_stays(session, qtbot):
    """Whatever a view asks of its painter, PySide must not give the image or the engine to it."""
    from gui.views.kept import Kept
    from gui.views.matrix_canvas import MatrixCanvas

    kept, box = Kept(), QRectF(5, 5, 20, 20)
    plain = Painted(lambda p: kept.draw(p, "x", box, 0, lambda p: p.drawEllipse(box)))
    canvas = MatrixCanvas(session)
    for view in (plain, canvas):
        qtbot.addWidget(view)
        view.resize(500, 400)
        view.show()
        drawing, image = drawing_of(view), image_of(view)
        refs = [weakref.ref(drawing), weakref.ref(drawing.paintEngine()), weakref.ref(image)]
        del drawing, image
        gc.collect()
        assert [ref() for ref in refs] == [None] * 3
