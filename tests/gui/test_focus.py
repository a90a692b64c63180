"""Who has the keyboard: the picture at the start, on every page, and beside a number's field."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication

from gui.pages import PAGES

MS = 20_000


@pytest.fixture
def tiled(window, qtbot):
    window.activateWindow()
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.recorder.configure("tiled", {"n": 8, "tile": 4})
    return window


def press(qtbot, key, modifier=Qt.KeyboardModifier.NoModifier):
    """Where a key of the keyboard goes: to the widget in focus."""
    qtbot.keyClick(QApplication.focusWidget(), key, modifier)


def test_space_plays_right_after_the_start(tiled, qtbot):
    qtbot.waitUntil(tiled.matrices.hasFocus)
    press(qtbot, Qt.Key.Key_Space)
    assert tiled.session.playing == 1
    press(qtbot, Qt.Key.Key_Space)
    assert tiled.session.playing == 0


def test_each_page_has_the_keyboard_when_it_is_opened(tiled, qtbot):
    for number, page in enumerate(PAGES[::-1]):
        qtbot.keyClick(
            tiled, Qt.Key.Key_1 + len(PAGES) - 1 - number, Qt.KeyboardModifier.ControlModifier
        )
        qtbot.waitUntil(lambda key=page.key: tiled.pages.ready(key) is tiled.pages.currentWidget())
        shown = tiled.pages.currentWidget()
        focused = QApplication.focusWidget()
        assert focused is shown or shown.isAncestorOf(focused), page.key
        assert not tiled.header.isAncestorOf(focused)
        assert focused.isVisible()
    assert tiled.matrices.hasFocus()
    tiled.show_page("compare")
    press(qtbot, Qt.Key.Key_Space)
    assert tiled.session.playing == 1
    tiled.leave_field()
    assert tiled.pages.currentWidget().isAncestorOf(QApplication.focusWidget())


def test_the_field_of_a_number_leaves_commands_to_the_window(tiled, qtbot):
    field, session = tiled.form.editors["n"], tiled.session
    field.setFocus()
    field.selectAll()
    heat = session.heat
    press(qtbot, Qt.Key.Key_Space)
    assert (session.playing, field.value(), field.text()) == (1, 8, "8")
    press(qtbot, Qt.Key.Key_H)
    assert session.heat != heat
    unit = session.unit
    press(qtbot, Qt.Key.Key_4)
    assert (session.unit, field.text()) == (unit, "4")
    tiled.workbench.edit_source()
    tiled.source.edit.moveCursor(QTextCursor.MoveOperation.Start)
    session.playing = 0
    press(qtbot, Qt.Key.Key_Space)
    assert session.playing == 0
