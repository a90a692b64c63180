"""Every widget that can be used says what it is, and every command has a key that works."""

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QKeySequence, QScreen
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QListView,
    QMenu,
    QPlainTextEdit,
    QScrollArea,
    QScrollBar,
    QSlider,
    QTabBar,
    QTextBrowser,
    QTextEdit,
    QToolButton,
    QWidget,
)

from gui.shell.help_sheets import CheatSheet, columns
from gui.shell.pages import PAGES
from gui.views.session_view import SessionView

USED = (
    QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QAbstractItemView, QLineEdit,
    QPlainTextEdit, QTextBrowser, QTabBar, SessionView,
)  # fmt: skip
QTS_OWN = (QScrollBar, QHeaderView)
RECORDING_MS = 20_000


@pytest.fixture
def window(window, qtbot):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure("tiled", {"n": 8, "tile": 4})
    return window


def ours(widget):
    """Not a part that Qt makes inside its own widgets."""
    if isinstance(widget, QTS_OWN) or widget.objectName().startswith("qt_"):
        return False
    parents = []
    while widget is not None:
        widget = widget.parentWidget()
        parents.append(widget)
    inside = (QComboBox, QAbstractSpinBox, QTabBar)
    return not any(isinstance(parent, inside) for parent in parents)


def used(window):
    return [w for w in window.findChildren(QWidget) if isinstance(w, USED) and ours(w)]


def described(widget):
    return f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}"


@pytest.mark.slow
def test_every_widget_that_can_be_used_has_a_name(window):
    for page in PAGES:
        window.show_page(page.key)
    widgets = used(window)
    assert len(widgets) > 60
    plain = [w for w in widgets if type(w) not in (SessionView, QListView)]
    nameless = [
        described(w)
        for w in plain
        if not w.accessibleName() and not _label(w) and not _layout_only(w)
    ]
    assert nameless == []


def _label(widget):
    return isinstance(widget, QAbstractButton) and widget.text()


def _layout_only(widget):
    """A view that is only a frame around named widgets."""
    return isinstance(widget, SessionView) and bool(widget.findChildren(QWidget))


def tipless(window):
    return [
        f"{described(w)} {w.text() if isinstance(w, QAbstractButton) else ''}"
        for w in window.findChildren(QWidget)
        if isinstance(w, QToolButton | QSlider | QComboBox | QAbstractSpinBox)
        and ours(w)
        and not w.toolTip()
        and w is not window.message._icon
    ]


@pytest.mark.slow
def test_buttons_fields_and_sliders_of_every_page_have_tips(window):
    for page in PAGES:
        window.show_page(page.key)
    assert tipless(window) == []


OWN = """#define X_ALONG_ROWS 0
__global__ void k(float *x, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if X_ALONG_ROWS
    i = n - 1 - i;
#endif
    if (i < n) x[i] *= s;
}
"""


@pytest.mark.slow
def test_the_forms_of_a_rung_with_a_twin_and_of_a_file_have_names_and_tips(window, qtbot, tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(OWN)
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure("coalesced", {"n": 8})
    qtbot.waitUntil(lambda: tipless(window) == [])  # a form's fields come in turns
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.workbench.open_file(str(path))
    qtbot.waitUntil(lambda: tipless(window) == [])
    assert [described(w) for w in used(window.form) if not w.accessibleName()] == []


@pytest.mark.slow
def test_painted_views_describe_what_they_show(window):
    for view in (window.step_page.matrices, window.step_page.warp, window.step_page.shared):
        view.show()
        assert view.accessibleName()
        assert view.accessibleDescription().endswith(".")
    for dock in window.step_page.docks.values():
        assert dock.accessibleName()
        assert dock.caption is not None
        dock.show()
        dock.view.show()
        said = dock.caption.text() or dock.view.accessibleDescription()
        said = said or dock.view.reason.text()  # an empty table's, in its middle
        assert said.endswith((".", "…"))


def test_every_command_has_a_key_and_no_key_two_commands(window):
    keys = []
    for title, commands in window.menus.items():
        for command in commands:
            by_menu = command.text.endswith(" theme") or command.under == "Order of warps"
            if title != "&Compare" and not by_menu:
                assert command.keys, command.text
            keys += [QKeySequence(key).toString() for key in command.keys]
    assert all(keys)
    assert len(keys) == len(set(keys))


def test_the_menus_show_the_keys(window):
    native = QKeySequence.SequenceFormat.NativeText
    shown = {a.text(): a.shortcut().toString(native) for a in window.findChildren(QAction)}
    for commands in window.menus.values():
        for command in commands:
            first = command.keys[0] if command.keys else ""
            assert shown[command.text] == QKeySequence(first).toString(native)


def test_the_cheat_sheet_has_everything(window, qtbot):
    qtbot.keyClick(window, Qt.Key.Key_F1)
    sheet = window.findChild(CheatSheet)
    texts = {word for line in words(sheet) for word in line.split("\t")}
    for commands in window.menus.values():
        assert {(c.row or c.text).rstrip("…") for c in commands if c.keys} <= texts
    assert "\tDouble click a line\tGo to its next step" in words(sheet)
    assert "\tPgDown … PgUp\tThe next question, the one before" in words(sheet)
    sheet.close()


def words(sheet):
    """The lines of a sheet of keys: a heading, or after a tab each the keys and what they do."""
    columns = sheet.findChildren(QTextEdit)
    return [line for column in columns for line in column.toPlainText().splitlines()]


def test_there_is_one_cheat_sheet(window, qtbot):
    qtbot.keyClick(window, Qt.Key.Key_F1)
    sheet = window.findChild(CheatSheet)
    assert sheet.isVisible()
    window.show_cheat_sheet()
    assert window.findChildren(CheatSheet) == [sheet]
    assert len(sheet.findChildren(QWidget)) < 50  # each takes Qt half a millisecond
    qtbot.keyClick(sheet, Qt.Key.Key_Escape)
    assert not sheet.isVisible()


def test_columns_are_about_equal():
    parts = [(str(n), [("k", "t")] * n) for n in (1, 9, 4, 4, 5, 0)]
    dealt = columns(parts, 2)
    assert sorted(title for column in dealt for title, _ in column) == ["1", "4", "4", "5", "9"]
    heights = [sum(len(lines) + 2 for _, lines in column) for column in dealt]
    assert abs(heights[0] - heights[1]) <= 3


@pytest.mark.slow
def test_focus_can_be_seen_and_tab_moves_it(window, qtbot):
    play = window.transport.buttons["play"]
    for theme in ("light", "dark", "projector"):
        window.session.update(theme=theme)
        window.activateWindow()
        window.step_page.matrices.setFocus()
        without = play.grab().toImage()
        play.setFocus()
        assert play.hasFocus()
        assert play.grab().toImage() != without
        qtbot.keyClick(play, Qt.Key.Key_Tab)
        assert not play.hasFocus()


@pytest.mark.parametrize("theme", ["light", "projector"])
@pytest.mark.slow
def test_the_sheet_of_keys_fits_a_small_screen(window, theme, monkeypatch):
    window.session.update(theme=theme)
    room = QSize(1280, 800)
    monkeypatch.setattr(QScreen, "availableSize", lambda _: room)
    window.show_cheat_sheet()
    sheet = window.findChild(CheatSheet)
    area = sheet.findChild(QScrollArea)
    QApplication.processEvents()
    assert area.widget().sizeHint().width() <= room.width()
    assert area.widget().sizeHint().height() <= room.height()
    assert area.verticalScrollBar().maximum() == area.horizontalScrollBar().maximum() == 0
    sheet.close()


def test_switches_are_ticked_while_they_are_on(window):
    menu = next(m for m in window.header.menu_bar.findChildren(QMenu) if m.title() == "&View")
    actions = {action.text(): action for action in menu.actions()}
    session = window.session
    for text, name in (("Times loaded", "heat"), ("The block alone", "close_up")):
        for on in (True, False):
            session.update(**{name: on})
            menu.aboutToShow.emit()
            assert actions[text].isChecked() == on
            actions[text].trigger()
            assert getattr(session, name) != on
    menu.aboutToShow.emit()
    assert actions["Step through"].isChecked()
    assert not actions["Compare"].isChecked()
    assert sum(action.isSeparator() for action in menu.actions()) >= 4
    assert len(menu.actions()) <= 26, "it fits a screen of 800 pixels"
