"""The gutter is as wide as its numbers, and code has the rest."""

import pytest
from PySide6.QtGui import QFontMetrics

from gui.looks.theme import apply_theme, current_theme
from gui.scenes.session import Session
from gui.views.source_view import SourceView


@pytest.fixture
def view(qtbot, qapp, trace):
    apply_theme(qapp, "light")
    session = Session()
    found = SourceView(session)
    qtbot.addWidget(found)
    session.trace = trace
    return found


def test_columns_are_as_wide_as_their_numbers(view):
    gutter = view.edit.gutter
    gutter.totals = {}
    gutter.measure()
    assert gutter.widths == {"sectors": 0, "wavefronts": 0}


def test_a_name_that_does_not_fit_is_shortened(view):
    gutter = view.edit.gutter
    assert gutter.column_name("wavefronts", 200) == "wavefronts"
    assert gutter.column_name("wavefronts", 45) == "wavef."
    assert gutter.column_name("sectors", 30) == "sect."


def test_lines_of_code_have_room_in_a_pane_of_620_pixels(qtbot, view):
    view.resize(620, 260)
    view.show()
    qtbot.waitExposed(view)
    digit = QFontMetrics(view.edit.font()).horizontalAdvance("0" * 62)
    assert view.edit.viewport().width() >= digit
    view.resize(900, 260)
    assert view.edit.font().pointSizeF() == current_theme().sizes.mono
