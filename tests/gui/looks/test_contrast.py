"""What is written is read on what it is written on: at least 4.5 to 1, as WCAG 2 asks for text."""

from collections import Counter

import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter
from PySide6.QtWidgets import QStyle

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.looks.theme import current_theme, load_theme, mix, theme_names
from gui.views.answer_fields import ChoiceField
from gui.views.drawing_tools import luminance, text_on

LEAST = 4.5
SURFACES = ("panel", "window", "field", "raised")
WRITTEN = ("load", "store", "conflict", "ideal", "warning", "error")


def contrast(ink, ground):
    high, low = sorted((luminance(ink), luminance(ground)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", theme_names())
def test_words_of_the_style_sheet_are_read_on_every_surface(name):
    theme = load_theme(name)
    grounds = [theme.color(surface) for surface in SURFACES]
    grounds += [theme.tint("accent", strength) for strength in (0.08, 0.16)]  # hovered, chosen
    for ground in grounds:
        assert contrast(theme.color("text"), ground) >= LEAST
        assert contrast(theme.color("text_dim"), ground) >= LEAST
    for kind in ("error", "accent"):  # messages
        assert contrast(theme.color("text"), theme.tint(kind, 0.10)) >= LEAST
    for ink in ("text_faint", "accent", *WRITTEN):
        assert contrast(theme.color(ink), theme.color("panel")) >= LEAST, ink
    chosen = QColor("#0b1016" if theme.dark else "#ffffff")
    assert contrast(chosen, theme.color("accent")) >= LEAST
    assert contrast(theme.color("text"), theme.color("current_line")) >= LEAST


@pytest.mark.parametrize("name", theme_names())
def test_values_are_read_in_cells_of_every_colour(name):
    theme = load_theme(name)
    grounds = [theme.heat(level / 50) for level in range(51)]
    for kind in ("thread", "warp", "block"):
        grounds += [QColor(*c) for c in theme.owner_lut(kind, 512)[:, :3].tolist()]
    for strength in (0.55, 1.0):
        grounds += [theme.tint(verb, strength) for verb in ("load", "store")]
    assert min(contrast(text_on(ground), ground) for ground in grounds) >= LEAST


@pytest.mark.parametrize("name", theme_names())
def test_values_are_read_under_what_was_read_so_far(name):
    """The trail is laid over the values: it tints them and what they stand on."""
    theme = load_theme(name)
    for ink, ground in (("text", "field"),):
        over = theme.color("load").name()
        tinted = [QColor(*map(int, mix(theme.color(c).name(), over, 0.24))) for c in (ink, ground)]
        assert contrast(*tinted) >= LEAST


@pytest.mark.parametrize("name", theme_names())
def test_a_choice_that_is_not_chosen_is_seen(window, qtbot, name):
    window.session.theme = name
    field = ChoiceField(("one", "two"))
    field.setParent(window)
    field.resize(200, 80)
    field.show()
    qtbot.waitExposed(field)
    button, ground = field.group.button(0), load_theme(name).color("panel")
    image = button.grab().toImage()
    wide = button.style().pixelMetric(QStyle.PixelMetric.PM_ExclusiveIndicatorWidth, None, button)
    row = [image.pixelColor(x, image.height() // 2) for x in range(wide + 1)]
    assert max(contrast(pixel, ground) for pixel in row if pixel.alpha() == 255) >= 3


def over(above, below):
    """A colour with its opacity over an opaque one."""
    part = above.alphaF()
    pairs = zip(above.getRgbF()[:3], below.getRgbF()[:3], strict=True)
    return QColor.fromRgbF(*(a * part + b * (1 - part) for a, b in pairs))


class Reader:
    """Looks at what is under each text that is painted, just before it is."""

    def __init__(self, monkeypatch):
        self.image = None
        self.worst = []
        for name in ("drawText", "drawStaticText"):
            monkeypatch.setattr(QPainter, name, self._watched(getattr(QPainter, name)))

    def _watched(self, draw):
        def watched(painter, *given):
            self._look(painter, given)
            return draw(painter, *given)

        return watched

    def _look(self, painter, given):
        words = [part for part in given if isinstance(part, str)]
        words += [part.text() for part in given if hasattr(part, "setTextFormat")]
        if self.image is None or not words or not words[0].strip():
            return
        metrics = QFontMetricsF(painter.font())
        size = metrics.size(0, words[0])
        if isinstance(given[0], QRectF):
            box = QRectF(QPointF(0, 0), size)
            box.moveCenter(given[0].center())
            box = box.intersected(given[0])
        elif isinstance(given[0], QPointF):
            up = 0 if hasattr(given[1], "setTextFormat") else metrics.ascent()
            box = QRectF(given[0] - QPointF(0, up), size)
        else:
            return
        box = painter.deviceTransform().mapRect(box).toRect()
        device = painter.device()
        image = device.toImage() if hasattr(device, "toImage") else self.image
        box = box.intersected(image.rect())
        if box.isEmpty():
            return
        across, down = max(box.width() // 12, 1), max(box.height() // 8, 1)
        seen = Counter(
            image.pixelColor(x, y).rgba()
            for x in range(box.left(), box.right() + 1, across)
            for y in range(box.top(), box.bottom() + 1, down)
        )
        below = QColor.fromRgba(seen.most_common(1)[0][0])
        ground = over(below, current_theme().color("panel"))  # a kept part is clear there
        ink = painter.pen().color()
        shown = over(ink, ground)
        self.worst.append((round(contrast(shown, ground), 2), words[0], ink.name(), ground.name()))

    def read(self, widget):
        """The text of a widget that is read worst."""
        self.worst = []
        self.image = QImage(widget.size(), QImage.Format.Format_RGB32)
        self.image.fill(widget.palette().window().color())
        widget.restyle()
        widget.render(self.image)
        assert self.worst, "nothing was written"
        return min(self.worst)


@pytest.mark.slow
@pytest.mark.parametrize("name", theme_names())
@pytest.mark.parametrize(("rung", "size"), [("tiled", {"n": 8, "tile": 4}), ("uncoalesced", {})])
def test_what_the_views_paint_is_read(window, qtbot, monkeypatch, name, rung, size):
    session = window.session
    session.trace = record(load_ladder()[rung].workload(**size))
    session.update(theme=name)
    window.resize(1500, 900)
    reader = Reader(monkeypatch)
    page = window.step_page
    views = [page.matrices, page.warp, window.transport.scrub]
    if rung == "tiled":  # the other one has no shared memory, and its view draws nothing
        views.append(page.shared)
    last = session.n_steps - 1
    for step in sorted({session.first_access, last // 3, last // 2, last}):
        session.step = step
        for view in views:
            view.catch_up(hidden=True)
            view.resize(720, 420 if view is not window.transport.scrub else view.height())
            worst = reader.read(view)
            assert worst[0] >= LEAST, (type(view).__name__, step, worst)
    session.heat = True
    window.step_page.matrices.catch_up(hidden=True)
    assert reader.read(window.step_page.matrices)[0] >= LEAST
