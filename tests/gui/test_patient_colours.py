"""A long text is coloured bit by bit, and every line of it in the end."""

import pytest
from PySide6.QtGui import QColor

from gui.looks.theme import apply_theme, load_theme
from gui.views import patient_colours
from gui.views.code_edit import CodeEdit, Highlighter

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
