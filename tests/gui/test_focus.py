"""Who has the keyboard: the picture at the start, on every page, and beside a number's field."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication

from gui.scenes.selection import Breakpoint
from gui.shell.pages import PAGES

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
    qtbot.waitUntil(tiled.step_page.matrices.hasFocus)
    press(qtbot, Qt.Key.Key_Space)
    assert tiled.session.playing == 1
    press(qtbot, Qt.Key.Key_Space)
    assert tiled.session.playing == 0


def test_space_plays_the_large_view_that_takes_the_ladder_away(tiled, qtbot):
    tiled.ladder_panel.list.setFocus()
    tiled.session.step = 5
    press(qtbot, Qt.Key.Key_F10)
    assert tiled.session.large
    assert tiled.step_page.isAncestorOf(QApplication.focusWidget())
    press(qtbot, Qt.Key.Key_Space)
    assert (tiled.session.playing, tiled.session.step) == (1, 5)


@pytest.mark.slow
def test_each_page_has_the_keyboard_when_it_is_opened(tiled, qtbot):
    for number, page in enumerate(PAGES[::-1]):
        qtbot.keyClick(
            tiled, Qt.Key.Key_1 + len(PAGES) - 1 - number, Qt.KeyboardModifier.ControlModifier
        )
        qtbot.waitUntil(lambda key=page.key: tiled.pages.made(key) is tiled.pages.currentWidget())
        shown = tiled.pages.currentWidget()
        focused = QApplication.focusWidget()
        assert focused is shown or shown.isAncestorOf(focused), page.key
        assert not tiled.header.isAncestorOf(focused)
        assert focused.isVisible()
    assert tiled.step_page.matrices.hasFocus()
    tiled.show_page("compare")
    press(qtbot, Qt.Key.Key_Space)
    assert tiled.session.playing == 1
    tiled.commands.leave_field()
    assert tiled.pages.currentWidget().isAncestorOf(QApplication.focusWidget())


@pytest.mark.slow
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
    tiled.step_page.source.edit.moveCursor(QTextCursor.MoveOperation.Start)
    session.playing = 0
    press(qtbot, Qt.Key.Key_Space)
    assert session.playing == 0


def test_the_message_gives_the_keyboard_back_to_the_picture(tiled, qtbot):
    message, picture = tiled.message, tiled.step_page.matrices
    message.show_message("No.", label="Do it", action=message.clear)
    for button in (message.go, message.close_button):
        message.show()
        button.setFocus()
        button.click()
        assert message.isHidden()
        assert picture.hasFocus()
    press(qtbot, Qt.Key.Key_Space)
    assert tiled.session.playing == 1


def test_a_line_is_chosen_and_stopped_at_by_keys_alone(tiled, qtbot):
    session, text = tiled.session, tiled.step_page.source.edit
    session.update(line=None, step=session.first_access)
    alt = Qt.KeyboardModifier.AltModifier
    lines = sorted({int(line) for line in session.block_trace.line})
    at = lines.index(session.current_line)
    for expected in (lines[at + 1], lines[at + 2]):
        qtbot.keyClick(tiled, Qt.Key.Key_Down, alt)
        assert session.line == expected
    qtbot.keyClick(tiled, Qt.Key.Key_Up, alt)
    assert session.line == lines[at + 1]
    qtbot.keyClick(tiled, Qt.Key.Key_N)
    assert (session.current_line, session.step > session.first_access) == (lines[at + 1], True)
    qtbot.keyClick(tiled, Qt.Key.Key_F9)
    assert session.breakpoints == {Breakpoint(line=lines[at + 1])}
    for _ in lines:
        qtbot.keyClick(tiled, Qt.Key.Key_Down, alt)
    assert session.line == lines[-1]
    qtbot.keyClick(tiled, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(text.hasFocus)
    text.put_caret(lines[0])
    qtbot.keyClick(text, Qt.Key.Key_F9)
    assert session.breakpoints == {Breakpoint(line=lines[at + 1]), Breakpoint(line=lines[0])}


@pytest.mark.parametrize("key", [Qt.Key.Key_Tab, Qt.Key.Key_Backtab])
@pytest.mark.slow
def test_tab_goes_past_what_lies_in_hidden_tabs(tiled, qtbot, qapp, key):
    tiled.step_page.matrices.setFocus()
    seen = []
    while (focused := qapp.focusWidget()) not in seen:
        assert not focused.visibleRegion().isEmpty(), focused.accessibleName()
        seen.append(focused)
        qtbot.keyClick(focused, key)
    names = {widget.accessibleName() for widget in seen}
    assert len(seen) > 20
    assert {"Matrices", "Kernels", "Keyboard shortcuts"} <= names
    assert "Enlarge Breakpoints" not in names
    tiled.session.view = "Breakpoints"
    qtbot.waitUntil(lambda: not tiled.step_page.docks["Breakpoints"].visibleRegion().isEmpty())
    tiled.step_page.matrices.setFocus()
    for _ in range(60):
        qtbot.keyClick(qapp.focusWidget(), key)
        names.add(qapp.focusWidget().accessibleName())
    assert "Enlarge Breakpoints" in names
