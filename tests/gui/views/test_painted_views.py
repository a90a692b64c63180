"""The painted views: they draw without a word of complaint, and pointing reaches the session."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QFontMetricsF

from gui.looks.theme import apply_theme, current_theme, theme_names
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.views import warp_view
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.matrix_layout import VALUE_WIDTH
from gui.views.shared_view import SharedView
from gui.views.warp_view import WarpView
from tests.gui.fake_kernels import aat, simple, tiled, vector_add

VIEWS = (MatrixCanvas, WarpView, SharedView)
TRACES = {
    "one": lambda: tiled(1, 1, 1, 1),
    "small": lambda: tiled(4, 4, 4, 2),
    "rectangular": lambda: tiled(5, 7, 3, 4),
    "uncoalesced": lambda: simple(40, 33, 35, (32, 32), coalesced=False),
    "conflicts": lambda: aat(64, 32, recorded=[1]),
    "own kernel": lambda: vector_add(1000, 100),
    "large": lambda: simple(1024, 1024, 1024, (32, 32), recorded=[33]),
}


def show(qtbot, view_class, trace, size=(640, 480), **selection):
    session = Session()
    view = view_class(session)
    qtbot.addWidget(view)
    view.resize(*size)
    session.trace = trace
    session.update(**selection)
    view.show()
    qtbot.waitExposed(view)
    return session, view


def accesses(session, name, kind="load"):
    block = session.block_trace
    return [
        s
        for s in range(block.n_steps)
        if (a := block.access(s)) is not None and a.array.name == name and a.kind == kind
    ]


def move(qtbot, view, point: QPointF):
    qtbot.mouseMove(view, QPoint(1, 1))
    qtbot.mouseMove(view, point.toPoint())


def click(qtbot, view, point: QPointF):
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point.toPoint())


@pytest.fixture(autouse=True)
def _light(qapp):
    """The sizes of this theme, whatever a test before has put on."""
    apply_theme(qapp, "light")


@pytest.mark.slow
@pytest.mark.parametrize("view_class", VIEWS)
@pytest.mark.parametrize("name", TRACES)
def test_paints_every_kind_of_step_at_every_size(qtbot, capfd, view_class, name):
    session, view = show(qtbot, view_class, TRACES[name]())
    steps = session.n_steps
    for step in sorted({*range(min(steps, 12)), steps // 2, steps - 1}):
        session.step = step
        view.grab()
    for size in ((360, 240), (1600, 1000), (300, 700)):
        view.resize(*size)
        view.grab()
    assert view.caption.text().endswith(".")
    assert "QPainter" not in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("view_class", VIEWS)
@pytest.mark.parametrize("theme", theme_names())
def test_follows_the_theme(qapp, qtbot, view_class, theme):
    _, view = show(qtbot, view_class, tiled(8, 8, 8, 4))
    try:
        apply_theme(qapp, theme)
        corner = view.grab().toImage().pixelColor(view.width() - 3, view.height() - 3)
        assert corner == QColor(current_theme().surfaces.panel)
    finally:
        apply_theme(qapp, "light")


@pytest.mark.slow
@pytest.mark.parametrize("view_class", VIEWS)
def test_empty_without_a_trace(qtbot, view_class):
    view = view_class(Session())
    qtbot.addWidget(view)
    view.show()
    view.grab()
    assert view.accessibleName()


class TestMatrices:
    @pytest.fixture
    def shown(self, qtbot):
        return show(qtbot, MatrixCanvas, simple(8, 12, 10, (4, 4)), block=3, thread=6)

    def at(self, view, label, row, column):
        grid = next(g for g in view.grids if g.label == label)
        return view._layout.rect(grid, view._view, (row, column, 1, 1)).center()

    def test_hover_names_the_element_and_its_owner(self, qtbot, shown):
        session, view = shown
        move(qtbot, view, self.at(view, "A", 2, 7))
        assert session.hover.element == ("A", (2, 7))
        assert session.hover.thread is None
        move(qtbot, view, self.at(view, "C", 5, 1))  # block 3 is the first of the second row
        assert session.hover.element == ("C", (5, 1))
        assert session.hover.thread == 5
        move(qtbot, view, QPointF(3, 3))
        assert session.hover is None

    def test_click_selects_element_thread_and_block(self, qtbot, shown):
        session, view = shown
        click(qtbot, view, self.at(view, "C", 6, 2))
        assert (session.element, session.thread, session.block) == (("C", (6, 2)), 10, 3)
        qtbot.waitUntil(lambda: not view.sharing.isActive())
        click(qtbot, view, self.at(view, "C", 1, 5))
        assert (session.block, session.thread) == (1, 5)

    def test_a_step_lights_what_it_loads(self, qtbot, shown):
        session, view = shown
        session.step = accesses(session, "A")[3]
        image = view.grab().toImage()
        lit = image.pixelColor((self.at(view, "A", 6, 3) + QPointF(6, 6)).toPoint())
        other = image.pixelColor((self.at(view, "A", 1, 3) + QPointF(6, 6)).toPoint())
        assert lit == QColor(current_theme().meanings.load)
        assert other == QColor(current_theme().surfaces.field)

    def test_zoom_keeps_the_place_and_zero_shows_all(self, qtbot, shown):
        _, view = shown
        place = self.at(view, "B", 7, 4)
        before = view._view.scale
        view.zoom(2.0, place)
        assert view._view.scale == pytest.approx(2 * before)
        moved = self.at(view, "B", 7, 4) - place
        assert moved.manhattanLength() <= 3
        qtbot.keyClick(view, Qt.Key.Key_0)
        assert view._view.scale == before

    def test_small_matrices_have_cells_wide_enough_for_their_values(self, qtbot):
        _, view = show(qtbot, MatrixCanvas, tiled(8, 8, 8, 4))
        view.resize(568, 300)  # the default window's panel
        cell = view._layout.rect(view.grids[0], view._view, (2, 3, 1, 1))
        assert cell.width() >= VALUE_WIDTH
        assert cell.height() >= 12
        for grid in view.grids:
            assert view.rect().toRectF().contains(view._layout.box(grid, view._view))
            for at in ((0, 0), (7, 7), (4, 2)):
                middle = view._layout.rect(grid, view._view, (*at, 1, 1)).center()
                assert view._layout.cell_at(grid, view._view, middle) == at
        view.resize(1600, 1400)
        assert view._view.stretch == 1.0

    def test_large_matrices_keep_square_cells(self, qtbot):
        _, view = show(qtbot, MatrixCanvas, tiled(32, 32, 32, 8))
        view.resize(1200, 300)
        assert view._view.stretch == 1.0

    def test_dragging_pans_and_does_not_select(self, qtbot, shown):
        session, view = shown
        start = self.at(view, "C", 6, 2).toPoint()
        qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
        # pytest-qt sends moves without buttons: give the view a real drag
        from PySide6.QtCore import QEvent
        from PySide6.QtGui import QMouseEvent

        end = start + QPoint(40, 25)
        left = Qt.MouseButton.LeftButton
        event = QMouseEvent(
            QEvent.Type.MouseMove, QPointF(end), view.mapToGlobal(QPointF(end)),
            Qt.MouseButton.NoButton, left, Qt.KeyboardModifier.NoModifier,
        )  # fmt: skip
        view.mouseMoveEvent(event)
        qtbot.mouseRelease(view, left, pos=end)
        assert session.element is None
        moved = self.at(view, "C", 6, 2).toPoint() - start
        assert (moved.x(), moved.y()) == (40, 25)

    def test_close_up_and_times_loaded(self, qtbot, shown):
        session, view = shown
        session.step = session.n_steps - 3
        view.extent.button("block").click()
        assert [(g.top, g.left) for g in view.grids] == [(4, 8), (8, 0), (4, 0)]
        view.mode.button("loads").click()
        view.grab()
        view.extent.button("whole").click()
        if not all(g.whole for g in view.grids):
            view.fit_button.click()  # there was no room for numbers that can be read
        assert all(g.whole for g in view.grids)


class TestWarp:
    @pytest.fixture
    def shown(self, qtbot):
        session, view = show(
            qtbot, WarpView, simple(40, 40, 40, (16, 16), coalesced=False), (640, 520)
        )
        session.step = accesses(session, "A")[0]
        return session, view

    def test_hovering_a_lane_and_a_cell(self, qtbot, shown):
        session, view = shown
        geometry = view.geometry_now()
        move(qtbot, view, geometry.lanes[9].center())
        assert session.hover == Hover(thread=9, element=("A", (9, 0)))
        line = geometry.strip[4]
        move(qtbot, view, line.cells[0].center())
        assert session.hover.element == ("A", (4, 0))
        assert session.hover.sector == view.scene.lines[4].address

    def test_clicks_choose_thread_and_warp(self, qtbot, shown):
        session, view = shown
        click(qtbot, view, view.geometry_now().lanes[21].center())
        assert (session.thread, session.element) == (21, None)
        click(qtbot, view, view.geometry_now().overview[3].center())
        assert (session.warp, session.lane) == (3, 21)
        assert view.scene.warp == 3

    def test_nothing_overlaps(self, qtbot, shown):
        _, view = shown
        for size in ((360, 260), (560, 430), (900, 700)):
            view.resize(*size)
            g = view.geometry_now()
            assert all(view.rect().contains(p.box.toAlignedRect()) for p in g.strip)
            lowest = max(p.box.bottom() for p in g.strip)
            assert g.lanes[0].bottom() <= g.strip[0].box.top()
            assert lowest <= g.readout.top() + 1


class TestShared:
    @pytest.fixture
    def shown(self, qtbot):
        session, view = show(qtbot, SharedView, aat(64, 32, recorded=[0]), (640, 520))
        session.step = accesses(session, "t", "store")[0]
        return session, view

    def test_hovering_a_bank_and_a_cell(self, qtbot, shown):
        session, view = shown
        g = view.geometry_now()
        wide = g.banks.width() / 32
        move(qtbot, view, QPointF(g.banks.left() + 4.5 * wide, g.banks.top() + 8))
        assert session.hover.bank == 4
        move(qtbot, view, g.arrays[1].cells.rect((6, 0, 1, 1)).center())
        assert session.hover.element == ("t", (6, 0))
        assert session.hover.thread == 6

    def test_click_selects(self, qtbot, shown):
        session, view = shown
        g = view.geometry_now()
        click(qtbot, view, g.arrays[1].cells.rect((3, 0, 1, 1)).center())
        assert (session.element, session.thread) == (("t", (3, 0)), 3)


class TestWarpStrip:
    """Lines of memory, their lanes, and what is written into cells."""

    def geometry(self, qtbot, size, coalesced):
        trace = simple(32, 32, 32, (4, 32), coalesced=coalesced)
        session, view = show(qtbot, WarpView, trace, size)
        session.step = accesses(session, "A")[0]
        view.grab()
        return view, view.geometry_now()

    def test_lines_lie_within_the_view_at_every_width(self, qtbot, qapp):
        for coalesced in (True, False):
            for width in (300, 400, 430, 620, 1100):
                view, found = self.geometry(qtbot, (width, 320), coalesced)
                right = found.lanes[-1].right()
                assert all(line.box.right() <= right + 3 for line in found.strip), width
                view.close()

    def test_lines_are_laid_out_once_for_an_access_and_anew_for_another(self, qtbot, qapp):
        view, found = self.geometry(qtbot, (420, 260), coalesced=False)
        session, scene = view.session, view.scene
        view.point_at(found.lanes[3].center())
        assert view.geometry_now() is found
        session.thread = 5
        assert view.scene is scene
        assert view.geometry_now() is found
        view.resize(500, 300)
        assert view.geometry_now().figures.width() > found.figures.width()
        session.step = accesses(session, "A")[1]
        assert view.scene is not scene
        view.close()

    def test_steps_without_an_access_keep_what_is_shown_of_the_one_before(self, qtbot, qapp):
        session, view = show(qtbot, WarpView, aat(64, 32, recorded=[0]), (640, 520))
        session.step = accesses(session, "t", "store")[0]  # of shared memory
        scene = view.scene
        assert not scene.live
        session.step += 1
        assert view.scene is scene
        session.step = scene.step
        assert view.scene.live
        view.close()

    def test_many_lines_have_their_lanes_beside_them(self, qtbot, qapp):
        view, found = self.geometry(qtbot, (420, 260), coalesced=False)
        assert found.labelled
        assert len(found.strip) == 32
        tops = sorted({line.box.top() for line in found.strip})
        assert len(tops) in (8, 16)  # rows of a power of two, read from left to right
        for first, second in pairwise(found.strip):
            assert not first.box.intersects(second.label)
        view.close()


@pytest.mark.parametrize("theme", theme_names())
def test_numbers_of_lanes_beside_each_other_do_not_touch(qtbot, qapp, monkeypatch, theme):
    apply_theme(qapp, theme)
    written = []

    def write(painter, places, ink, font, *rest):
        written.append((list(places), QFontMetricsF(font)))

    monkeypatch.setattr(warp_view, "texts", write)
    session, view = show(qtbot, WarpView, TRACES["uncoalesced"](), (420, 400))
    session.step = accesses(session, "A")[0]
    for width in range(420, 900, 40):
        written.clear()
        view.resize(width, 400)
        view.grab()
        lanes = view.geometry_now().lanes
        fonts = {words: font for all_, font in written for rect, words in all_ if rect in lanes}
        metrics, apart = fonts["28"], lanes[0].width()
        room = apart if "29" in fonts else 4 * apart  # each fourth where they have no room
        assert metrics.horizontalAdvance("28") <= room - 0.5 * metrics.horizontalAdvance(" ")
