"""Words of the field show their card wherever the window writes them."""

from functools import partial

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF
from PySide6.QtGui import QHelpEvent, QImage, QPainter
from PySide6.QtWidgets import QApplication, QLabel
from shiboken6 import isValid

from core.lessons.glossary import DRAWINGS as NAMES
from gui.looks.theme import load_theme, theme_names
from gui.shell.pages import PAGES
from gui.views import glossary_words
from gui.views.captions_and_panels import Caption
from gui.views.glossary_words import ProseLabel, WordCard, known_words, term_at

RECORDING_MS = 60_000
SETTLED_MS = 10_000


@pytest.fixture
def recorded(window, qtbot):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure("tiled", {"n": 8, "tile": 4})
    yield window
    WordCard.put_away()


def hovered(widget):
    """The words that have a card somewhere in a widget."""
    found = set()
    for y in range(3, widget.height(), 6):
        for x in range(3, widget.width(), 8):
            point = QPoint(x, y)
            if term_at(widget, point) is None:
                continue
            event = QHelpEvent(QEvent.Type.ToolTip, point, widget.mapToGlobal(point))
            QApplication.sendEvent(widget, event)
            if WordCard.shown_term():
                found.add(WordCard.shown_term())
                WordCard.put_away()
    return found


def words_in(label):
    """The words of the course that a label shows."""
    shown = "\n".join(label.shown_lines()) if isinstance(label, Caption) else label.text()
    return {term.term for _, _, term in known_words().find(shown)}


def is_told_or_gone(label, words):
    """Whether it shows a card of these; a page that is still worked out may replace it instead."""
    if not isValid(label) or not label.isVisible() or words_in(label) != words:
        return True
    return bool(hovered(label) & words)


@pytest.mark.slow
def test_every_word_in_a_label_of_any_page_has_its_card(recorded, qtbot):
    window, seen = recorded, 0
    for page in PAGES:
        window.show_page(page.key)
        qtbot.wait(50)
        for label in window.findChildren(QLabel):
            if (
                not isValid(label)
                or not label.isVisible()
                or isinstance(label, ProseLabel)
                or not label.width()
            ):
                continue
            words = words_in(label)
            if words and label.visibleRegion().boundingRect().size() == label.size():
                told = partial(is_told_or_gone, label, words)
                qtbot.waitUntil(told, timeout=SETTLED_MS)
                seen += len(words)
    assert seen > 8


@pytest.mark.slow
def test_figures_of_the_warp_and_headings_of_tables_have_cards(recorded):
    window = recorded
    window.session.view = "Warp"
    warp = window.step_page.warp
    figures = warp.geometry_now().figures.toRect()
    assert warp.words_at(QPointF(figures.left() + 4, figures.top() + 4)) == "Requests"
    assert {"request", "sector", "line"} <= {
        term.term
        for x in range(figures.left(), figures.right(), 4)
        if (term := term_at(warp, QPoint(x, figures.top() + 4)))
    }
    window.session.view = "Counters"
    header = window.step_page.counters.table.horizontalHeader().viewport()
    assert {"request", "sector"} <= hovered(header)


@pytest.mark.slow
def test_a_card_says_one_line_and_goes_with_the_pointer(recorded):
    caption = recorded.step_page.warp.caption
    assert hovered(caption) >= {"warp"}
    WordCard.show_at(caption, known_words().by_form["warp"], caption.mapToGlobal(QPoint(4, 4)))
    card = WordCard._shown
    assert card.isVisible()
    texts = [label.text() for label in card.findChildren(QLabel)]
    assert texts == ["warp", known_words().by_form["warp"].line]
    QApplication.sendEvent(caption, QEvent(QEvent.Type.Leave))
    assert not WordCard.shown_term()


@pytest.mark.parametrize("theme", theme_names())
def test_every_drawing_is_drawn(qapp, theme):
    assert set(glossary_words.DRAWINGS) == set(NAMES)
    look, seen = load_theme(theme), set()
    for name in NAMES:
        image = QImage(96, 48, QImage.Format.Format_RGB32)
        image.fill(look.color("panel"))
        painter = QPainter(image)
        glossary_words.draw_word(painter, name, QRectF(image.rect()), look)
        painter.end()
        seen.add(bytes(image.constBits()))
    assert len(seen) == len(NAMES)


def test_the_glossary_of_help_finds_words(recorded):
    from gui.shell.help_sheets import GlossarySheet

    recorded.show_glossary()
    sheet = recorded.findChild(GlossarySheet)
    assert len(sheet.rows) == len(known_words().terms)
    sheet.search.setText("conflict")
    shown = [row.accessibleName().partition(":")[0] for _, row in sheet.rows if not row.isHidden()]
    assert "bank conflict" in shown
    assert "rung" not in shown
    sheet.close()
