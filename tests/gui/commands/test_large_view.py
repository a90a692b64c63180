"""One view over the whole page, and everything back as it was."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from core.errors import ParameterError
from core.recording.record_launch import record
from gui.looks.theme import theme_names
from gui.scenes.moment_links import go_to, link_to, window_link
from gui.scenes.step_views import VIEW_NAMES
from gui.shell.session_persistence import Keeper


@pytest.fixture(scope="module")
def trace(ladder):
    return record(ladder["tiled"].workload(n=16, tile=8))


@pytest.fixture
def filled(window, qtbot, trace):
    """The window with a trace in it, and its layout settled."""
    window.session.trace = trace
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.wait(50)
    return window


def places(window):
    """Where every view is, and how wide the left column, once all of it wears its type."""
    page = window.step_page
    docks = {
        name: (dock.isHidden(), dock.isFloating(), dock.tabbed, page.in_front(name))
        for name, dock in page.docks.items()
    }
    seen = {n: d.geometry().getRect() for n, d in page.docks.items() if page.in_front(n)}
    floats = {n: d.size() for n, d in page.docks.items() if d.isFloating()}  # where: the system's
    return docks, seen | floats, window.body.sizes(), window.left.isVisible()


def alone(window, name):
    page = window.step_page
    return [n for n, dock in page.docks.items() if not dock.isHidden()] == [name]


def test_links_know_the_views_of_the_page(window):
    assert tuple(window.step_page.docks) == VIEW_NAMES


@pytest.mark.slow
def test_each_view_fills_the_page_and_everything_comes_back(filled, qtbot):
    page, session = filled.step_page, filled.session
    for name in VIEW_NAMES:
        if page.docks[name].isHidden():
            page.front(name)
        session.view = name  # in front already, if it shares a place
        qtbot.wait(20)
        before = places(filled)
        session.large = True
        qtbot.wait(20)
        assert alone(filled, name)
        assert page.docks[name].view.isVisible()
        assert page.docks[name].geometry() == page.rect()
        assert page.width() > filled.width() - 40  # nothing stands beside it
        assert filled.transport.isVisible()
        session.large = False
        qtbot.wait(20)
        assert places(filled) == before, name


@pytest.mark.slow
def test_the_key_enlarges_the_view_in_focus_and_brings_all_back(filled, qtbot):
    filled.step_page.source.edit.setFocus()
    before = places(filled)
    QTest.keyClick(filled, Qt.Key.Key_F10)
    assert filled.session.view == "Source"
    assert alone(filled, "Source")
    QTest.keyClick(filled, Qt.Key.Key_3, Qt.KeyboardModifier.AltModifier)
    assert alone(filled, "Shared")
    QTest.keyClick(filled, Qt.Key.Key_F10)
    qtbot.wait(20)
    assert not filled.session.large
    assert filled.session.view == "Shared"
    after = places(filled)
    assert after[1].keys() - before[1].keys() <= {"Shared"}
    assert after[2:] == before[2:]


@pytest.mark.slow
def test_escape_closes_what_is_open_before_it_brings_all_back(filled, qtbot):
    filled.session.update(view="Warp", large=True)
    QTest.keyClick(filled, Qt.Key.Key_W)
    assert filled.session.question is not None
    QTest.keyClick(filled, Qt.Key.Key_Escape)
    assert filled.session.question is None
    assert filled.session.large
    QTest.keyClick(filled, Qt.Key.Key_Escape)
    assert not filled.session.large
    assert not filled.step_page.docks["Matrices"].isHidden()


@pytest.mark.slow
def test_its_button_says_what_it_does(filled, qtbot):
    button = filled.step_page.docks["Variables"].title.large
    assert button.accessibleName() == "Enlarge Variables"
    assert "F10" in button.toolTip()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert alone(filled, "Variables")
    assert button.accessibleName() == "Back to all views"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not filled.session.large
    assert button.accessibleName() == "Enlarge Variables"


@pytest.mark.slow
def test_the_clock_moves_on_in_a_large_view(filled, qtbot):
    filled.session.update(view="Warp", large=True)
    step, caption = filled.session.step, filled.step_page.warp.caption.text()
    QTest.keyClick(filled, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: filled.step_page.warp.caption.text() != caption)
    assert filled.session.step > step
    assert filled.session.large


@pytest.mark.slow
def test_a_floating_view_and_a_moved_layout_come_back(filled, qtbot):
    page = filled.step_page
    page.docks["Counters"].setFloating(True)
    page.tabifyDockWidget(page.docks["Matrices"], page.docks["Source"])
    qtbot.wait(30)
    assert page.arranged
    before, kept = places(filled), page.save_layout()
    filled.session.update(view="Counters", large=True)
    qtbot.wait(20)
    assert alone(filled, "Counters")
    assert not page.docks["Counters"].isFloating()
    assert page.save_layout() == kept  # what a start restores is the layout, not this
    filled.session.large = False
    qtbot.wait(20)
    assert places(filled) == before


def test_what_is_kept_is_the_real_layout(filled, qtbot, tmp_path):
    keeper = Keeper(filled, tmp_path / "session.json")
    qtbot.wait(20)
    before = keeper.saved()
    filled.session.large = True
    during = keeper.saved()
    assert (during.layout, during.left) == (before.layout, before.left)
    assert before.left > 0


@pytest.mark.slow
def test_another_theme_or_size_meanwhile_lays_out_anew(filled, qtbot):
    filled.session.update(view="Matrices", large=True)
    filled.session.update(theme="projector")
    filled.resize(1200, 800)
    qtbot.wait(50)
    assert alone(filled, "Matrices")
    filled.session.large = False
    qtbot.wait(50)
    page = filled.step_page
    assert not page.arranged
    shown = {name: dock.width() for name, dock in page.docks.items() if page.in_front(name)}
    assert len(shown) == 2  # this low page has one place beside the matrices
    assert shown["Matrices"] < page.width()


@pytest.mark.slow
def test_ctrl_0_brings_all_back_too(filled):
    filled.session.large = True
    filled.step_page.reset_layout()
    assert not filled.session.large
    assert not filled.step_page.docks["Source"].isHidden()


@pytest.mark.slow
def test_a_link_carries_it(filled, ladder, window):
    from gui.scenes.configuration import Configuration, Origin

    session = filled.session
    session.origin = Origin(Configuration("tiled", {"n": 16, "tile": 8}), "")
    assert "large" not in link_to(session)
    session.update(view="Shared", large=True)
    link = link_to(session)
    assert "view=Shared&large=1" in link
    session.update(view="Source", large=False)
    go_to(session, window_link(link, ladder, theme_names()))
    assert session.large
    assert session.view == "Shared"
    assert alone(filled, "Shared")
    go_to(session, window_link("tiled?n=16&tile=8", ladder, theme_names()))
    assert not session.large
    with pytest.raises(ParameterError, match="view is `Bank`: use Matrices, Warp"):
        window_link("tiled?view=Bank", ladder, theme_names())


@pytest.mark.slow
def test_on_other_pages_the_left_column_makes_room(filled, qtbot):
    filled.show_page("occupancy")
    qtbot.wait(30)
    wide = filled.pages.width()
    QTest.keyClick(filled, Qt.Key.Key_F10)
    qtbot.wait(30)
    assert not filled.left.isVisible()
    assert filled.pages.width() > wide
    QTest.keyClick(filled, Qt.Key.Key_Escape)
    qtbot.wait(30)
    assert filled.left.isVisible()
    assert filled.pages.width() == wide


@pytest.mark.slow
def test_a_new_record_comes_into_the_large_view(filled, qtbot, ladder):
    filled.session.update(view="Shared", large=True, follow_memory=False)
    filled.session.trace = record(ladder["coalesced"].workload(n=8))
    qtbot.wait(30)
    assert alone(filled, "Shared")  # it has nothing to show now, and says so
    filled.session.follow_memory = True
    filled.session.last()
    filled.session.seek("access", False)
    qtbot.wait(30)
    assert alone(filled, "Warp")  # which has its place in the layout
    filled.session.large = False
    assert filled.step_page.docks["Shared"].isHidden()
    assert filled.step_page.in_front("Warp")


@pytest.mark.slow
def test_a_view_is_large_before_the_layout_is_whole(filled, qtbot):
    before = places(filled)
    filled.step_page.reset_layout()
    filled.session.update(view="Warp", large=True)
    assert alone_now(filled.step_page) == ["Warp"]
    filled.session.large = False
    qtbot.waitUntil(lambda: places(filled) == before)  # Qt lays out the column beside the page


def alone_now(page):
    """The views that are not hidden, docks on their way left where they are."""
    return [name for name, dock in page.docks.items() if not dock.isHidden()]


def test_the_view_keeps_the_keyboard_while_a_lesson_is_open(filled):
    filled.left_column.show_lesson(True)
    filled.step_page.matrices.setFocus()
    filled.enlarging.toggle()
    assert filled.session.large
    assert QApplication.focusWidget() is filled.step_page.matrices
