"""What has how much of the window: rows, names of buttons, messages, signs, numbers in cells."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QTabBar, QTableView, QToolButton

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.looks.theme import apply_theme, current_theme, theme_names
from gui.scenes.arrays_as_grids import close_up, grids_of, scrolled
from gui.scenes.block_history import history_of
from gui.scenes.setting_choices import TEXT_SIZES
from gui.shell.app import fit_screen
from gui.shell.main_window import MainWindow
from gui.shell.pages import PAGES
from gui.views.matrix_layout import READ_FROM, type_scale


@pytest.fixture(scope="module")
def traces():
    ladder = load_ladder()
    sizes = {
        "tiled": {"n": 32, "tile": 8},
        "coalesced": {"n": 24},
        "aat_shared": {"n": 16, "tile": 8},
    }
    return {name: record(ladder[name].workload(**size)) for name, size in sizes.items()}


@pytest.fixture
def filled(window, qtbot, traces):
    window.resize(1366, 768)
    window.session.trace = traces["tiled"]
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.waitUntil(lambda: window.step_page.width() > 1000)
    return window


def wear(window, size, theme="light"):
    window.session.update(theme=theme, text_size=size)


@pytest.mark.slow
def test_rows_of_variables_are_as_high_as_they_were_after_large_text(filled, qtbot):
    filled.step_page.front("Variables")
    qtbot.waitUntil(lambda: filled.step_page.views["Variables"].model.rows != ())
    table = filled.step_page.views["Variables"].table
    before = [table.rowHeight(row) for row in range(table.model().rowCount())]
    for size in (175, 100, 200, 100):
        wear(filled, size)
        expected = round(before[0] * size / 100)
        assert abs(table.rowHeight(0) - expected) <= 4
    assert [table.rowHeight(row) for row in range(len(before))] == before


# ---- numbers in cells


def test_what_scrolls_is_a_part_with_what_the_step_is_about(traces):
    rng = np.random.default_rng(7)
    for trace in traces.values():
        grids = grids_of(trace)
        for _ in range(40):
            block = trace.block(int(rng.choice(trace.recorded_blocks)))
            step, thread = int(rng.integers(block.n_steps)), int(rng.integers(block.n_threads))
            across, down = (int(n) for n in rng.integers(6, 60, 2))
            source = close_up(grids, block, step) if rng.random() < 0.3 else grids
            shown = scrolled(source, across, down, block, step, thread)
            left, top, result = shown
            assert left.columns + result.columns <= max(across, 2)
            assert top.rows + result.rows <= max(down, 2)
            assert (left.rows, left.top) == (result.rows, result.top)
            assert (top.columns, top.left) == (result.columns, result.left)
            assert (left.columns, left.left) == (top.rows, top.top)
            for part, whole in zip(shown, source, strict=True):
                assert whole.top <= part.top
                assert part.top + part.rows <= whole.top + whole.rows
                assert part.left + part.columns <= whole.left + whole.columns
            mine = history_of(block).stored(result.array.name)
            row, column = result.cells(mine[0][mine[1] == thread][:1])
            for at in row:  # of A Aᵀ, a part of the threads store
                assert result.top <= at < result.top + result.rows
            for at in column:
                assert result.left <= at < result.left + result.columns
            access = block.access(step)
            read = access is not None and access.kind == "load" and access.space == "global"
            if read and access.array is left.array and access.elements[thread] >= 0:
                k = left.cells(np.array([access.elements[thread]]))[1][0]
                assert left.left <= k < left.left + left.columns


def values_high(window):
    """The height of a cell where values are written, else 0."""
    canvas = window.step_page.matrices
    view = canvas._view
    drawn = view.across >= 21 and view.scale >= 12
    return view.scale if drawn else 0.0


@pytest.mark.slow
def test_larger_text_makes_larger_numbers_and_never_none(filled, qtbot):
    filled.session.update(view="Matrices", large=True)
    seen = []
    for size in TEXT_SIZES:
        wear(filled, size)
        seen.append(values_high(filled))
        assert seen[-1] >= int(READ_FROM[1] * type_scale())
    assert seen == sorted(seen)
    assert seen[-1] > 1.5 * seen[0]
    wear(filled, 100, "projector")
    assert values_high(filled) >= int(READ_FROM[1] * 1.4)


@pytest.mark.slow
def test_all_of_a_product_is_shown_where_less_than_a_third_could_be_read(filled, qtbot):
    filled.resize(1920, 1080)
    canvas = filled.step_page.matrices
    qtbot.waitUntil(lambda: canvas.width() > 700)
    qtbot.waitUntil(lambda: [(g.rows, g.columns) for g in canvas.grids] == [(32, 32)] * 3)


@pytest.mark.slow
def test_fit_shows_all_and_then_what_can_be_read(filled, qtbot):
    filled.session.update(view="Matrices", large=True)
    wear(filled, 130)
    canvas = filled.step_page.matrices
    assert canvas.grids[2].rows < 32
    canvas.fit_button.click()
    assert [(g.rows, g.columns) for g in canvas.grids] == [(32, 32)] * 3
    canvas.fit_button.click()
    assert canvas.grids[2].rows < 32
    cell = canvas._view.scale
    canvas.pan(-30.0, 0.0)  # by hand, at the same size
    assert canvas.grids[2].rows == 32
    assert canvas._view.scale == cell
    filled.session.step += 1
    assert canvas.grids[2].rows == 32


@pytest.mark.slow
def test_one_view_large_has_larger_text(filled, qtbot):
    small = current_theme().sizes.body
    filled.session.update(view="Matrices", large=True)
    assert current_theme().sizes.body == pytest.approx(1.3 * small)
    assert filled.session.text_size == 100  # which is what is kept
    filled.session.large = False
    assert current_theme().sizes.body == small


# ---- the window and its parts


def test_a_first_window_is_no_larger_than_the_screen(window, monkeypatch):
    class Screen:
        def __init__(self, wide, high):
            self.free = QRect(0, 0, wide, high)

        def availableGeometry(self):
            return self.free

    window.hide()
    for wide, high, maximized in ((1366, 728, True), (2560, 1400, False), (1440, 900, True)):
        window.resize(1440, 900)
        window.setWindowState(Qt.WindowState.WindowNoState)
        monkeypatch.setattr(window, "screen", lambda wide=wide, high=high: Screen(wide, high))
        fit_screen(window)
        assert window.normalGeometry().width() <= wide or window.width() <= wide
        assert window.isMaximized() is maximized


def labels(window):
    return {
        button.accessibleName(): button.text()
        for button in window.findChildren(QToolButton)
        if button.text() and button.isVisible()
    }


@pytest.mark.slow
def test_a_button_has_one_label_at_every_width(filled, qtbot):
    wide = labels(filled)
    for size, text in ((QSize(800, 560), 100), (QSize(1024, 700), 150), (QSize(1920, 1080), 100)):
        filled.resize(size)
        wear(filled, text)
        now = labels(filled)
        common = wide.keys() & now.keys()
        assert len(common) > 8
        assert {name: now[name] for name in common} == {name: wide[name] for name in common}
        tabs = filled.header.tabs
        qtbot.waitUntil(lambda tabs=tabs: tabs.width() >= tabs.sizeHint().width())


def all_whole(title, controls):
    return all(
        title.rect().contains(c.geometry()) and c.width() >= c.sizeHint().width() for c in controls
    )


@pytest.mark.parametrize("theme", theme_names())
@pytest.mark.slow
def test_headings_and_tabs_are_whole_in_the_smallest_window(filled, qtbot, theme):
    wear(filled, 100, theme)
    filled.resize(800, 560)
    qtbot.waitUntil(lambda: filled.width() == 800)

    def place(widget):
        return QRect(widget.mapTo(filled, QPoint(0, 0)), widget.size())

    qtbot.waitUntil(lambda: place(filled.transport).bottom() == filled.rect().bottom())
    assert place(filled.pages).bottom() < place(filled.transport).top()
    units = filled.transport.units.findChildren(QToolButton)
    qtbot.waitUntil(lambda: all(b.width() >= b.sizeHint().width() for b in units))
    page = filled.step_page
    for dock in page.docks.values():
        if not page.in_front(dock.name):
            continue
        controls = [control for control in dock.title.controls if not control.isHidden()]
        qtbot.waitUntil(lambda title=dock.title, here=controls: all_whole(title, here))
    tops = [bar for bar in page.findChildren(QTabBar) if bar.isVisible()]
    assert tops
    for bar in tops:
        assert bar.elideMode() == Qt.TextElideMode.ElideNone
        box = bar.geometry()
        shown = [dock for dock in page.docks.values() if page.in_front(dock.name)]
        assert not any(box.intersects(dock.geometry()) for dock in shown)


@pytest.mark.slow
def test_what_is_told_moves_nothing_and_what_went_wrong_has_room(filled, qtbot):
    page, places = filled.step_page, {}
    places = {name: dock.geometry() for name, dock in page.docks.items()}
    where = page.mapTo(filled, QPoint(0, 0)), page.size(), filled.transport.geometry()
    filled.message.show_message("Moment 4 of 4: the stride.", kind="info")
    qtbot.wait(20)
    assert filled.message.isVisible()
    assert (page.mapTo(filled, QPoint(0, 0)), page.size(), filled.transport.geometry()) == where
    assert {name: dock.geometry() for name, dock in page.docks.items()} == places
    assert filled.message.geometry().bottom() < filled.pages.height()
    filled.look_at_page("occupancy")
    qtbot.waitUntil(lambda: filled.pages.made("occupancy") is filled.pages.currentWidget())
    assert not filled.message.isVisible()
    filled.message.show_message("A recording failed.")
    filled.look_at_page("step")
    qtbot.wait(20)
    assert filled.message.isVisible()  # what went wrong stays until it is dismissed
    assert filled.pages.childAt(filled.message.geometry().center()) is not None
    assert filled.message.visibleRegion().boundingRect() == filled.message.rect()
    for _ in range(6):
        filled.message.show_message("A recording failed.")
        qtbot.waitUntil(lambda: page.geometry().bottom() < filled.message.geometry().top())
        filled.message.clear()
        qtbot.waitUntil(lambda: (page.mapTo(filled, QPoint(0, 0)), page.size()) == where[:2])
    for name, dock in page.docks.items():  # Qt rounds where it shares out the height
        assert abs(dock.geometry().top() - places[name].top()) <= 1


@pytest.mark.slow
def test_the_fields_are_whole_after_another_theme_on_another_page(qtbot, qapp, ladder):
    apply_theme(qapp, "projector")
    window = MainWindow(ladder, "projector")
    window.resize(1900, 1000)
    window.show()
    qtbot.waitExposed(window)
    with qtbot.waitSignal(window.recorder.recorded, timeout=20_000):
        window.recorder.configure("tiled", {"n": 16, "tile": 4})
    assert window.left.isVisible()
    window.look_at_page("course")
    qtbot.waitUntil(window.left.isHidden)
    window.session.theme = "light"
    window.look_at_page("step")
    qtbot.waitUntil(window.left.isVisible)
    qtbot.wait(100)
    assert window.form.fields.verticalScrollBar().maximum() == 0
    window.close()


@pytest.mark.slow
def test_a_sign_says_that_the_views_show_the_launch_before(filled, qtbot, monkeypatch):
    waiting = filled.workbench.waiting
    assert filled.busy_sign.isHidden()
    monkeypatch.setattr(filled.recorder.worker, "busy", True)
    filled.recorder.worker.started.emit()
    qtbot.waitUntil(filled.busy_sign.isVisible)
    assert filled.busy_sign.sentence.endswith("…")
    assert filled.busy_sign.geometry() == filled.pages.rect()
    monkeypatch.undo()
    filled.recorder.arrived.emit()
    assert filled.busy_sign.isHidden()
    assert not waiting._calm.isActive()


# ---- by keys alone


def reached(window, key=Qt.Key.Key_Tab):
    """The widgets that Tab gives the keyboard to, once round."""
    found = []
    for _ in range(400):
        QTest.keyClick(QApplication.focusWidget(), key)
        now = QApplication.focusWidget()
        if now in found:
            return found
        found.append(now)
    raise AssertionError("Tab goes on for ever")


@pytest.mark.slow
def test_tab_reaches_everything_in_reading_order_and_leaves_it(filled, qtbot):
    filled.step_page.source.edit.setReadOnly(True)  # as it is read
    page = filled.step_page
    page.matrices.setFocus()
    found = reached(filled)
    wanted = [filled.tabs.button("step"), filled.ladder_panel.list, page.matrices, page.source.edit]
    wanted += [filled.transport.buttons["back"], filled.transport.scrub]
    turn = found.index(wanted[0])
    order = found[turn:] + found[:turn]
    places = [order.index(widget) for widget in wanted]
    assert places == sorted(places)
    corners = [w.mapTo(filled, QPoint(0, 0)) for w in order if page.isAncestorOf(w)]
    assert corners[0].x() < filled.width() / 2 < corners[-1].x()
    back = reached(filled, Qt.Key.Key_Backtab)
    assert set(back) == set(found)
    for name in ("Variables", "Counters", "PTX", "Phases"):
        page.front(name)
        if name == "Phases":
            qtbot.waitUntil(lambda: page.phases.grid.isVisible() and not page.phases.worker.busy)
        found = reached(filled)
        view = page.docks[name].view
        assert any(view.isAncestorOf(w) or w is view for w in found), name


@pytest.mark.slow
def test_what_has_the_keyboard_is_framed_while_keys_move_it(filled, qtbot):
    ring = filled._focus_keys.ring
    filled.step_page.matrices.setFocus()
    assert ring.isHidden()
    for _ in range(40):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        now = QApplication.focusWidget()
        assert ring.isVisible()
        box = QRect(now.mapTo(filled, QPoint(0, 0)), now.size())
        assert ring.geometry().intersected(box) == box.intersected(ring.geometry())
        assert ring.geometry().intersects(box)
    QTest.mouseClick(filled.step_page.matrices, Qt.MouseButton.LeftButton)
    filled.step_page.matrices.setFocus()


def test_tab_leaves_the_table_of_a_comparison(filled, qtbot):
    filled.show_page("compare")
    tables = filled.pages.currentWidget().findChildren(QTableView)
    assert tables
    for table in tables:
        assert not table.tabKeyNavigation()


@pytest.mark.slow
def test_a_choice_is_named_by_the_label_beside_it(filled, qtbot):
    """On Linux Qt gives a choice's value for its name: screen readers say its label."""
    for page in PAGES:
        filled.show_page(page.key)
    nameless = []
    for box in filled.findChildren(QComboBox):
        relations = QAccessible.queryAccessibleInterface(box).relations()
        names = [i.text(QAccessible.Text.Name) for i, kind in relations]
        if not any(names):
            nameless.append(box.accessibleName())
    assert nameless == []
