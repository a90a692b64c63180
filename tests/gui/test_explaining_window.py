"""Numbers open their explanations, and the PTX and phase table stand beside the source."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from core.explain.explanations import Place
from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.scenes.configuration import Configuration
from gui.scenes.selection import Breakpoint
from gui.scenes.why_an_element_is_loaded import Fetched
from gui.scenes.why_this_number import Step, topic_of_row, topic_of_step

LADDER = load_ladder()


@pytest.fixture(scope="module")
def tiled():
    return record(LADDER["tiled"].workload(n=4, tile=2))


def click(view, widget, point):
    for kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
        left = Qt.MouseButton.LeftButton
        event = QMouseEvent(
            kind, QPointF(point), widget.mapToGlobal(QPointF(point)), left, left,
            Qt.KeyboardModifier.NoModifier,
        )  # fmt: skip
        QApplication.sendEvent(widget, event)


@pytest.fixture
def window(qtbot, tiled):
    from gui.shell.main_window import MainWindow

    made = MainWindow(LADDER)
    qtbot.addWidget(made)
    made.resize(1280, 800)
    made.show()
    made.session.trace = tiled
    yield made
    made.close()


def test_numbers_open_their_explanations(window, qtbot) -> None:
    panel, session = window.explaining.panel, window.session
    warp = window.step_page.warp
    click(window, warp, warp.geometry_now().figures.center().toPoint())
    assert panel.isVisible()
    assert panel.topic == Step("global")
    window.commands.leave_field()
    assert not panel.isVisible()
    gutter = window.step_page.source.edit.gutter
    line = 24
    window.step_page.source.edit.reveal(line)
    block = window.step_page.source.edit.document().findBlockByNumber(line - 1)
    y = window.step_page.source.edit.block_rect(block).center().y()
    click(window, gutter, QPoint(gutter.number_width() + 8, int(y)))
    assert panel.topic == Place("global", "ld", line)
    assert session.line is None
    click(window, gutter, QPoint(5, int(y)))
    assert session.line is None
    assert session.breakpoints == {Breakpoint(line=line)}
    window.step_page.front("Counters")
    model = window.step_page.counters.model
    row = next(
        i for i, r in enumerate(model.rows) if not isinstance(r, str) and r.place == "tile_a"
    )
    window.step_page.counters.table.clicked.emit(model.index(row, 3))
    assert panel.topic == Place("shared", "ld", None, "tile_a")
    window.explaining.why()
    assert not panel.isVisible()


def test_a_double_click_in_the_gutter_goes_to_the_lines_next_step(window) -> None:
    session, gutter = window.session, window.step_page.source.edit.gutter
    steps = [s for s in range(session.n_steps) if session.block_trace.line[s] == 29]
    session.step = steps[0]
    gutter._edit.line_double_clicked.emit(29)
    assert (session.step, session.line) == (steps[1], 29)
    marked = window.transport.scrub.timeline.line_steps(session.line).tolist()
    assert marked == steps


def test_the_stack_shows_one_of_source_ptx_and_phases(window, qtbot) -> None:
    page = window.step_page
    for name, view in (("PTX", page.ptx), ("Phases", page.phases), ("Source", page.source)):
        page.front(name)
        others = {page.ptx, page.phases, page.source} - {view}
        assert view.isVisible()
        assert not any(other.isVisible() for other in others)
    window.step_page.ptx.line_wanted.emit(29)
    assert window.session.line == 29


@pytest.mark.slow
def test_a_warp_of_the_overview_is_explained(window) -> None:
    window.session.trace = record(LADDER["coalesced"].workload(n=16), blocks=[0])
    places = window.step_page.warp.geometry_now().overview
    assert len(places) == 4
    click(window, window.step_page.warp, places[2].center().toPoint())
    assert (window.session.warp, window.session.question) == (2, None)
    warp = window.step_page.warp
    click(window, warp, warp.geometry_now().overview[2].center().toPoint())
    assert window.session.question == Step("global")
    assert "warp 2" in window.explaining.panel.title.text()


@pytest.mark.slow
def test_a_count_of_the_heat_map_is_explained(window) -> None:
    session, canvas = window.session, window.step_page.matrices
    session.update(heat=True, step=session.n_steps - 1)
    grid = canvas.grids[0]
    at = canvas._layout.rect(grid, canvas._view, (1, 0, 1, 1)).center()
    canvas.click_at(at)
    assert session.question == Fetched("A", (1, 0))
    assert window.explaining.panel.title.text().startswith("A[1, 0]: loaded once by block (0, 0)")
    window.commands.leave_field()
    session.heat = False
    canvas.click_at(at)
    assert session.question is None, "a click in the other picture selects"
    menu = canvas.menu_at(at)
    next(a for a in menu.actions() if a.text().startswith("Why loaded")).trigger()
    assert session.question == Fetched("A", (1, 0))
    window.commands.leave_field()
    session.heat = True
    window.explaining.why()
    assert session.question == Fetched("A", (1, 0))


def test_a_question_that_is_asked_twice_leaves_no_place_for_the_next_one(window, monkeypatch):
    explaining, session, places = window.explaining, window.session, []
    monkeypatch.setattr(
        explaining.panel, "ask", lambda topic, beside=None, view=None: places.append(beside)
    )
    for _ in range(2):
        explaining.ask(Step("global"), here=True)
    session.question = Step("shared")  # as a lesson asks
    assert len(places) == 3
    assert None not in places[:2]
    assert places[2] is None


def test_figures_of_the_counters_are_not_cut(window) -> None:
    window.step_page.front("Counters")
    window.session.trace = record(LADDER["uncoalesced"].workload(n=64))
    table = window.step_page.counters.table
    shown = [c for c in range(5) if not table.isColumnHidden(c)]
    assert all(table.columnWidth(c) >= table.sizeHintForColumn(c) for c in shown)


@pytest.mark.slow
def test_a_new_layout_keeps_the_steps_memory_in_front(window, qtbot) -> None:
    page, session = window.step_page, window.session
    shared = next(
        s
        for s in range(session.n_steps)
        if (a := session.block_trace.access(s)) is not None and a.space == "shared"
    )
    session.step = shared
    assert page.in_front("Shared")
    page.reset_layout()
    qtbot.waitUntil(lambda: page.in_front("Shared"))


def test_w_explains_the_memory_that_is_looked_at(window, qtbot) -> None:
    session, page = window.session, window.step_page
    window.resize(1280, 800)
    block = session.block_trace
    spaces = [None if (a := block.access(s)) is None else a.space for s in range(block.n_steps)]
    quiet = next(s for s, was in enumerate(spaces) if was is None and "shared" in spaces[:s])
    session.follow_memory = False
    for name, space in (("Shared", "shared"), ("Warp", "global")):
        page.front(name)
        session.step = quiet
        qtbot.waitUntil(lambda shown=name: page.in_front(shown))
        window.explaining.why()
        assert session.question == Step(space)
        window.explaining.close()
        assert topic_of_step(session) == Step(next(s for s in spaces[quiet::-1] if s))
        session.step = spaces.index("shared")  # an access decides, whatever is in front
        window.explaining.why()
        assert session.question == Step("shared")
        window.explaining.close()


@pytest.mark.slow
def test_the_large_view_keeps_the_banks_in_conflict_beside_their_explanation(window, qtbot) -> None:
    with qtbot.waitSignal(window.recorder.recorded, timeout=60_000):
        assert window.moments.open_link("aat_shared?n=32&tile=32&at=store:tile_b")
    window.step_page.front("Shared")
    window.session.update(view="Shared", large=True)
    shared, panel = window.step_page.shared, window.explaining.panel
    qtbot.waitUntil(shared.isVisible)
    qtbot.waitUntil(lambda: shared.width() > 0.8 * window.width())
    assert shared.scene.banks.ways == 32
    window.explaining.why()
    assert panel.isVisible()
    bank = shared.geometry_now().column(0).toAlignedRect()
    corner = shared.mapTo(window, QPoint(0, 0))
    assert not panel.geometry().intersects(bank.translated(corner))


def test_return_in_a_row_of_the_counters_asks_why(window, qtbot) -> None:
    panel, table = window.explaining.panel, window.step_page.counters.table
    window.session.view = "Counters"
    rows = window.step_page.counters.model.rows
    chosen = [place for place, row in enumerate(rows) if not isinstance(row, str)][:2]
    for place in chosen:
        table.setCurrentIndex(table.model().index(place, 0))
        qtbot.keyClick(table, Qt.Key.Key_Return)
        assert panel.isVisible()
        assert panel.topic == topic_of_row(rows[place])
    heading = next(place for place, row in enumerate(rows) if isinstance(row, str))
    table.setCurrentIndex(table.model().index(heading, 0))
    qtbot.keyClick(table, Qt.Key.Key_Return)  # a heading says nothing of its own
    assert panel.topic == topic_of_row(rows[chosen[-1]])


@pytest.mark.slow
def test_a_smaller_block_is_offered_where_the_phase_table_has_no_room(window, qtbot) -> None:
    view, recorder = window.step_page.phases, window.recorder
    window.session.view = "Phases"
    with qtbot.waitSignal(recorder.recorded, timeout=20_000):
        recorder.configure("uncoalesced", {"n": 16, "block_x": 32, "block_y": 4})
    qtbot.waitUntil(view.smaller.isVisible)
    assert "at most" in view.reason.text()
    assert view.smaller.text() == "Use a block of 8 × 8"
    with qtbot.waitSignal(recorder.recorded, timeout=20_000):
        qtbot.mouseClick(view.smaller, Qt.MouseButton.LeftButton)
    now = window.session.configuration.parameters
    assert (now["n"], now["block_x"], now["block_y"]) == (16, 8, 8)
    qtbot.waitUntil(lambda: view.table is not None)
    assert not view.smaller.isVisible()


@pytest.mark.slow
def test_pages_with_sizes_of_their_own_say_so(window, qtbot) -> None:
    said = window.form.facts
    assert said.text().startswith("4 blocks of 4 threads")
    for page, own in (("ceilings", True), ("step", False), ("benchmark", True), ("step", False)):
        window.session.page = page
        assert said.text().startswith("N above is that of Step through") == own


@pytest.mark.slow
def test_w_explains_the_page_that_is_shown(window, qtbot) -> None:
    window.session.configuration = Configuration("tiled", {"n": 4, "tile": 2})
    panel = window.explaining.panel
    for key, words in (("occupancy", "What limits"), ("ceilings", "Measured")):
        window.show_page(key)
        qtbot.waitUntil(lambda key=key: window.pages.made(key) is not None, timeout=20_000)
        page = window.pages.made(key)
        qtbot.waitUntil(lambda page=page: page.explanation() is not None, timeout=60_000)
        window.explaining.why()
        qtbot.waitUntil(panel.isVisible)
        assert words in panel.explanation.text
        assert "wavefront" not in panel.title.text()
        window.show_page("step")
        assert not panel.isVisible()  # it was about the page
    window.show_page("occupancy")
    page = window.pages.made("occupancy")
    window.explaining.why()
    page.fields["registers"].setValue(200)
    qtbot.waitUntil(lambda: page.resources.registers == 200)
    qtbot.waitUntil(lambda: "Occupancy = 12" in panel.explanation.text, timeout=10_000)
    window.explaining.close()
    window.show_page("step")
