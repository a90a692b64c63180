"""Breakpoints: where they stop, against a walk over the record; playing; editing; the window."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QMenu

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.scenes.breakpoints import break_rows, break_steps, carried_over, line_starts, stops_of
from gui.scenes.selection import Breakpoint
from gui.scenes.session import Session
from gui.views.tables import PlaceList, PlaceRow

RECORDING_MS = 20_000


@pytest.fixture(scope="module")
def traces():
    ladder = load_ladder()
    return {
        "tiled": record(ladder["tiled"].workload(n=8, tile=4), blocks="all"),
        "any": record(ladder["tiled_rect"].workload(m=5, k=9, n=7, tile=4), blocks="all"),
    }


@pytest.fixture
def stepping(traces):
    session = Session()
    session.trace = traces["tiled"]
    return session


def touching(block, name, index):
    """By asking every step for its access."""
    found = []
    for step in range(block.n_steps):
        access = block.access(step)
        if access is None or access.array is None or access.array.name != name:
            continue
        flat = int(np.ravel_multi_index(index, access.array.shape))
        if (access.elements == flat).any():
            found.append(step)
    return found


@pytest.mark.parametrize("name", ["tiled", "any"])
def test_an_element_stops_at_every_step_that_touches_it(traces, name):
    trace, rng = traces[name], np.random.default_rng(5)
    hit = 0
    for number in trace.recorded_blocks:
        block = trace.block(number)
        for array in (*trace.arrays, *trace.shared_arrays):
            for flat in rng.choice(int(np.prod(array.shape)), 4, replace=False):
                index = tuple(int(i) for i in np.unravel_index(flat, array.shape))
                wanted = touching(block, array.name, index)
                place = Breakpoint(element=(array.name, index))
                assert stops_of(trace, block, place).tolist() == wanted
                hit += len(wanted)
    assert hit > 30
    with pytest.raises(KeyError, match="no array 'Z'"):
        trace.block(0).touches("Z", 0)
    assert not len(stops_of(trace, trace.block(0), Breakpoint(element=("Z", (0,)))))


def test_a_vector_access_touches_all_of_its_elements():
    from core.user_files.launch_texts import FileLaunch, file_workload

    source = "__global__ void k(float4* a) { a[threadIdx.x] = a[8]; }"
    launch = FileLaunch("x.cu", "k", "1", "4", "0", "", (("a", "random:float32[64]"),))
    trace = record(file_workload(source, launch), blocks="all")
    block = trace.block(0)
    loads, stores = (
        [s for s in range(block.n_steps) if (a := block.access(s)) and a.kind == kind]
        for kind in ("load", "store")
    )
    assert [block.touches("a", flat).tolist() for flat in (31, 32, 35, 36)] == [
        [], loads, loads, []
    ]  # fmt: skip
    assert [block.touches("a", flat).tolist() for flat in (0, 15, 16)] == [stores, stores, []]


def test_a_line_stops_each_time_it_begins(traces):
    from core.trace import EventKind

    block = traces["tiled"].block(0)
    line, kind = np.asarray(block.line), np.asarray(block.kind)
    for number in np.unique(line):
        starts = line_starts(block, int(number))
        assert (line[starts] == number).all()
        begins = np.flatnonzero((line == number) & (kind == EventKind.LINE))
        assert set(begins) <= set(starts)
    inner = int(np.bincount(line).argmax())
    assert len(line_starts(block, inner)) == 8  # 2 phases of 4 multiply-adds
    assert len(line_starts(block, 1)) == 0


def test_running_both_ways_visits_the_same_stops(stepping):
    session = stepping
    session.breakpoints = {Breakpoint(line=24), Breakpoint(element=("B", (1, 2)))}
    stops = session.break_steps.tolist()
    assert len(stops) >= 3
    assert stops == sorted(set(stops))
    session.first()
    forth = []
    while session.run_to_break():
        forth.append(session.step)
    assert forth == [s for s in stops if s > 0]
    session.last()
    back = []
    while session.run_to_break(forward=False):
        back.append(session.step)
    assert back == stops[::-1]
    assert not session.run_to_break(forward=False)
    assert session.step == stops[0]


@pytest.mark.parametrize("unit", ["access", "line", "phase"])
def test_playing_stops_at_a_breakpoint_whatever_it_moves_by(stepping, unit):
    session = stepping
    session.breakpoints = {Breakpoint(element=("B", (1, 2)))}
    stop = int(session.break_steps[0])
    session.update(step=0, unit=unit, playing=1)
    while session.playing:
        session.play_on()
    assert session.step == stop
    session.playing = 1
    while session.playing:
        session.play_on()
    assert session.step == session.block_trace.seek(session.n_steps - 1, unit, forward=True)
    session.playing = -1
    while session.playing:
        session.play_on()
    assert session.step == stop


def test_breakpoints_follow_an_edit_and_stay_with_their_source(traces):
    assert carried_over(
        {Breakpoint(line=3), Breakpoint(line=4), Breakpoint(element=("A", (0,)))}, {3: 5}
    ) == {Breakpoint(line=5), Breakpoint(element=("A", (0,)))}
    ladder = load_ladder()
    session = Session()
    session.trace = traces["tiled"]
    session.update(breakpoints={Breakpoint(line=24)}, line=24)
    text = traces["tiled"].workload.source.split("\n")[23]
    from dataclasses import replace

    workload = ladder["tiled"].workload(n=8, tile=4)
    edited = record(replace(workload, source="// one\n// two\n" + workload.source), blocks="all")
    session.trace = edited
    assert session.breakpoints == {Breakpoint(line=26)}
    assert session.line == 26
    assert edited.workload.source.split("\n")[25] == text
    session.trace = traces["any"]
    assert session.breakpoints == frozenset()
    session.trace = traces["tiled"]
    assert session.breakpoints == {Breakpoint(line=26)}


def test_breakpoints_are_checked_and_listed(stepping):
    session = stepping
    for wrong in ({}, {"line": 3, "element": ("A", (0,))}):
        with pytest.raises(ValueError, match="at a line or at an element"):
            Breakpoint(**wrong)
    session.breakpoints = {
        Breakpoint(element=("A", (0, 2))), Breakpoint(line=24), Breakpoint(line=1)
    }  # fmt: skip
    rows = break_rows(session.trace, session.block_trace, session.breakpoints)
    assert [row.title for row in rows] == ["Line 1", "Line 24", "A[0, 2] touched"]
    assert [row.times for row in rows] == ["no stop in this block", "2 stops", "1 stop"]
    empty = break_steps(session.trace, session.block_trace, ())
    assert empty.tolist() == []


# ---- in the window


@pytest.fixture
def window(window, qtbot):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure("tiled", {"n": 8, "tile": 4})
    return window


def gutter_point(window, line):
    edit = window.step_page.source.edit
    edit.reveal(line)
    block = edit.document().findBlockByNumber(line - 1)
    return QPoint(6, int(edit.block_rect(block).center().y()))


@pytest.mark.slow
def test_clicks_in_the_margin_and_the_keys(window, qtbot):
    session, gutter = window.session, window.step_page.source.edit.gutter
    qtbot.mouseClick(gutter, Qt.MouseButton.LeftButton, pos=gutter_point(window, 24))
    assert session.breakpoints == {Breakpoint(line=24)}
    assert window.transport.scrub.timeline is not None
    session.first()
    qtbot.keyClick(window, Qt.Key.Key_F8)
    assert (session.step, session.current_line) == (session.break_steps[0], 24)
    qtbot.keyClick(window, Qt.Key.Key_F8)
    qtbot.keyClick(window, Qt.Key.Key_F8, Qt.KeyboardModifier.ShiftModifier)
    assert session.step == session.break_steps[0]
    qtbot.keyClick(window, Qt.Key.Key_F8, Qt.KeyboardModifier.ShiftModifier)
    assert "No breakpoint stops before this step" in window.message.sentence
    qtbot.keyClick(window, Qt.Key.Key_F9)  # the running line's: taken away
    assert not session.breakpoints
    qtbot.keyClick(window, Qt.Key.Key_F8)
    assert "There is no breakpoint" in window.message.sentence


@pytest.mark.slow
def test_an_elements_menu(window, qtbot, monkeypatch):
    session, canvas = window.session, window.step_page.matrices
    grid = canvas.grids[0]
    cell = canvas._layout.rect(grid, canvas._view, (1, 2, 1, 1)).center()
    menu = canvas.menu_at(QPointF(cell))
    titles = [action.text() for action in menu.actions() if action.text()]
    assert titles[0] == "A[1, 2]"
    assert titles[0] == menu.accessibleName()  # whose menu it is, and nothing to be chosen
    assert not menu.actions()[0].isEnabled()
    stop = next(a for a in menu.actions() if a.text().startswith("Stop when"))
    stop.trigger()
    assert session.breakpoints == {Breakpoint(element=("A", (1, 2)))}
    next(a for a in menu.actions() if a.text().startswith("Next touch")).trigger()
    block = session.block_trace
    assert session.element == ("A", (1, 2))
    assert canvas.menu_at(QPointF(2, 2)) is None
    session.first()
    qtbot.keyClick(window, Qt.Key.Key_T)
    assert session.step == touching(block, "A", (1, 2))[0]
    qtbot.keyClick(window, Qt.Key.Key_T)
    assert "does not touch A[1, 2] after this step" in window.message.sentence
    qtbot.keyClick(window, Qt.Key.Key_F9, Qt.KeyboardModifier.ShiftModifier)
    assert not session.breakpoints
    assert canvas.findChildren(QMenu)


@pytest.mark.slow
def test_the_list_goes_to_the_next_stop_and_deletes(window, qtbot):
    session, view = window.session, window.step_page.views["Breakpoints"]
    window.step_page.front("Breakpoints")
    assert view.pages.currentWidget() is view.hint
    session.breakpoints = {Breakpoint(line=24), Breakpoint(element=("B", (0, 0)))}
    assert view.list.count() == 2
    session.first()
    assert f"; the next is at step {session.next_break() + 1}." in view.caption.text()
    session.last()
    assert "the next" not in view.caption.text()  # the caption goes along with the step
    view.list.itemClicked.emit(view.list.item(1))
    assert session.step == touching(session.block_trace, "B", (0, 0))[0]  # around the end
    assert session.element == ("B", (0, 0))
    view.list.setCurrentRow(0)
    view.list.setFocus()
    qtbot.keyClick(view.list, Qt.Key.Key_Delete)
    assert session.breakpoints == {Breakpoint(element=("B", (0, 0)))}
    assert window.step_page.docks["Breakpoints"].windowTitle() == "Breakpoints 1"
    session.breakpoints |= {Breakpoint(line=24)}
    rect = view.list.visualItemRect(view.list.item(0))
    step, cross = session.step, QPoint(rect.right() - 12, rect.center().y())
    qtbot.mouseClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=cross)
    assert (session.breakpoints, session.step) == ({Breakpoint(element=("B", (0, 0)))}, step)
    view.clear.click()
    assert window.step_page.docks["Breakpoints"].windowTitle() == "Breakpoints"
    assert view.list.count() == 0


@pytest.mark.slow
def test_go_to_step(window, monkeypatch, qtbot):
    asked, before, last = [], window.session.step, window.session.n_steps - 1

    def answer(parent, title, hint, value, most, *, action):
        asked.append((hint, value, most))
        return 31

    monkeypatch.setattr("gui.commands.steps_and_breakpoints.ask_number", answer)
    qtbot.keyClick(window, Qt.Key.Key_G, Qt.KeyboardModifier.ControlModifier)
    assert window.session.step == 31
    assert asked == [(f"0 to {last}, as in links", before, last)]
    assert window.transport.position.text().startswith("step 31 /")


@pytest.mark.slow
def test_breakpoints_show_where_the_edited_text_has_their_lines(window, qtbot):
    session, gutter = window.session, window.step_page.source.edit.gutter
    session.breakpoints = {Breakpoint(line=24)}
    QTextCursor(window.step_page.source.edit.document()).insertText("// above\n")
    assert gutter.breaks == {25}
    qtbot.mouseClick(gutter, Qt.MouseButton.LeftButton, pos=gutter_point(window, 26))
    assert session.breakpoints == {Breakpoint(line=24), Breakpoint(line=25)}
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.workbench.run_source()
    assert session.breakpoints == {Breakpoint(line=25), Breakpoint(line=26)}


@pytest.mark.slow
def test_a_breakpoint_follows_its_line_through_edits(window, qtbot):
    """What is written at the end of its line, above it and below it does not take it away."""
    session, edit = window.session, window.step_page.source.edit
    session.breakpoints = {Breakpoint(line=24), Breakpoint(line=26)}
    lines = session.trace.workload.source.split("\n")
    lines[23] += "  // c"
    edit.set_text("\n".join(lines))
    assert edit.gutter.breaks == {24, 26}
    lines.insert(23, "    // a line above")
    edit.set_text("\n".join(lines))
    assert edit.gutter.breaks == {25, 27}
    window.step_page.source.toggle_break(27)
    assert session.breakpoints == {Breakpoint(line=24)}
    window.step_page.source.toggle_break(27)
    window.step_page.source.toggle_break(24)
    assert session.breakpoints == {Breakpoint(line=24), Breakpoint(line=26)}
    assert "has not run yet" in window.message.sentence
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.workbench.run_source()
    assert session.breakpoints == {Breakpoint(line=25), Breakpoint(line=27)}
    del lines[24]
    edit.set_text("\n".join(lines))
    assert edit.gutter.breaks == {26}, "it goes with its line"
    edit.undo()
    assert edit.gutter.breaks == {25, 27}


def test_a_key_sets_a_breakpoint_at_the_line_that_was_clicked(window, qtbot):
    """In the column of sectors as well, where a click asks why and selects nothing."""
    session, edit = window.session, window.step_page.source.edit
    gutter = edit.gutter
    window.activateWindow()
    first = edit.firstVisibleBlock().blockNumber() + 1
    line = next(n for n in sorted(gutter.totals) if n > first and "sectors" in gutter.totals[n])
    rect = edit.block_rect(edit.document().findBlockByNumber(line - 1))
    place = QPoint(gutter.number_width() + gutter.widths["sectors"] // 2, int(rect.center().y()))
    assert gutter.column_at(place.x()) == "sectors"
    qtbot.mouseClick(gutter, Qt.MouseButton.LeftButton, pos=place)
    assert session.question is not None
    qtbot.waitUntil(edit.hasFocus)
    qtbot.keyClick(window, Qt.Key.Key_F9)
    assert session.breakpoints == {Breakpoint(line=line)}


@pytest.mark.slow
def test_an_element_is_selected_by_its_name(window):
    stopping, session = window.stopping, window.session
    stopping.select_element("A[1, 2]")
    assert session.element == ("A", (1, 2))
    for text, words in (
        ("A[99,0]", "The launch has no element A[99, 0]."),
        ("A", "“A” is not an element: write it as A[0,2]."),
        ("Q[0,0]", "The launch has no element Q[0, 0]."),
    ):
        stopping.select_element(text)
        assert window.message.sentence == words


def test_a_long_list_is_laid_out_bit_by_bit_to_its_end(qtbot):
    shown = PlaceList("Faults")
    qtbot.addWidget(shown)
    shown.resize(300, 200)
    rows = [PlaceRow(f"Fault {n}", sentence="one word after another " * 6) for n in range(300)]
    shown.show_rows(rows, "")
    shown.show()
    shown.doItemsLayout()
    assert shown.visualItemRect(shown.item(0)).height() > 0
    assert shown.visualItemRect(shown.item(299)).height() == 0
    qtbot.waitUntil(lambda: shown.visualItemRect(shown.item(299)).height() > 0)
    assert shown.visualItemRect(shown.item(299)).top() > 299 * 20
