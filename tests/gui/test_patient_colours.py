"""A long text is coloured bit by bit, and every line of it in the end."""

import pytest
from PySide6.QtGui import QColor

from core.recording import record
from gui.looks.theme import apply_theme, load_theme
from gui.scenes.session import Session
from gui.views import patient_colours
from gui.views.code_edit import CodeEdit, Highlighter
from gui.views.patient_colours import PatientHighlighter
from gui.views.ptx_view import PtxView

LINES = 400
TEXT = "\n".join(f"float f{i}(int n) {{ return {i}.0f * n; }}  // {i}" for i in range(LINES))


@pytest.fixture
def edit(qtbot, qapp, monkeypatch):
    apply_theme(qapp, "light")
    monkeypatch.setattr(patient_colours, "BUDGET_S", 0.0005)
    edit = CodeEdit()
    qtbot.addWidget(edit)
    edit.colours = Highlighter(edit.document())
    return edit


def colours_of(edit, line):
    formats = edit.document().findBlockByNumber(line).layout().formats()
    return {QColor(f.format.foreground().color()).name() for f in formats}


def test_a_long_text_is_coloured_bit_by_bit(edit, qtbot):
    edit.setPlainText(TEXT)
    assert edit.colours.waiting
    assert not colours_of(edit, LINES - 1)
    qtbot.waitUntil(lambda: not edit.colours.waiting, timeout=20_000)
    assert all(len(colours_of(edit, line)) >= 3 for line in range(LINES))


class Counting(Highlighter):
    """Knows how many lines it was asked for."""

    asked = 0

    def highlightBlock(self, text):
        self.asked += 1
        super().highlightBlock(text)


def test_a_text_that_replaces_all_is_asked_for_its_colours_bit_by_bit(qtbot, qapp, monkeypatch):
    apply_theme(qapp, "light")
    monkeypatch.setattr(patient_colours, "BUDGET_S", 0.0)
    edit = CodeEdit()
    qtbot.addWidget(edit)
    colours = Counting(edit.document())
    edit.setPlainText(TEXT)
    assert colours.asked >= LINES
    colours.asked = 0
    with colours.held_back():
        edit.setPlainText(TEXT)
    assert colours.asked < 10
    assert edit.blockCount() == LINES
    monkeypatch.setattr(patient_colours, "BUDGET_S", 0.0005)
    qtbot.waitUntil(lambda: not colours.waiting, timeout=20_000)
    assert all(len(colours_of(edit, line)) >= 3 for line in range(LINES))


def test_another_theme_comes_to_every_line(edit, qtbot):
    edit.setPlainText(TEXT)
    qtbot.waitUntil(lambda: not edit.colours.waiting, timeout=20_000)
    light = colours_of(edit, LINES - 1)
    edit.colours.restyle(load_theme("dark"))
    qtbot.waitUntil(lambda: not edit.colours.waiting, timeout=20_000)
    dark = colours_of(edit, 0)
    assert all(colours_of(edit, line) == dark != light for line in range(LINES))


def test_a_comment_that_is_opened_reaches_the_end(edit, qtbot):
    edit.setPlainText(TEXT)
    qtbot.waitUntil(lambda: not edit.colours.waiting, timeout=20_000)
    edit.textCursor().insertText("/* ")
    qtbot.waitUntil(lambda: not edit.colours.waiting, timeout=20_000)
    assert {len(colours_of(edit, line)) for line in range(LINES)} == {1}


def test_a_long_ptx_listing_is_coloured_to_its_end(qtbot, ladder):
    session = Session()
    view = PtxView(session)
    qtbot.addWidget(view)
    session.trace = record(ladder["tensor_tuned"].workload(), blocks=[0])
    view.catch_up(hidden=True)
    colours = view.text.document().findChildren(PatientHighlighter)
    qtbot.waitUntil(lambda: not colours[0].busy, timeout=20_000)
    rows = [view.text.document().findBlockByNumber(n) for n in range(view.text.blockCount())]
    assert len(rows) > 500
    assert all(row.layout().formats() for row in rows)
