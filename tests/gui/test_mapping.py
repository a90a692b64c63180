"""The switch between the two mappings: another rung, the same launch and the same place."""

import numpy as np
import pytest

from gui.looks.theme import apply_theme
from gui.scenes.configuration import Configuration
from gui.scenes.selection import Breakpoint
from gui.shell.main_window import MainWindow
from gui.shell.menus import compare_page

RECORDING_MS = 20_000
SIZES = {"n": 21, "block_x": 8, "block_y": 4}


@pytest.fixture
def window(qtbot, qapp, ladder):
    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    window.show()
    qtbot.waitExposed(window)
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure("uncoalesced", SIZES)
    yield window
    window.close()
    qapp.processEvents()


def neighbours(session):
    """What the first two lanes of the block store: the difference of row and column."""
    block = session.block_trace
    step = next(
        s for s in range(block.n_steps) if (a := block.access(s)) is not None and a.kind == "store"
    )
    access = block.access(step)
    return tuple(np.subtract(access.element(1), access.element(0)).tolist())


@pytest.mark.slow
def test_the_switch_swaps_kernel_and_source_and_keeps_the_place(window, qtbot):
    session, ways = window.session, window.form.mapping.ways
    assert window.form.mapping.isVisible()
    assert ways.value == "rows"
    assert neighbours(session) == (1, 0)
    last = len(session.trace.workload.source.split("\n"))
    session.update(block=3, thread=13, line=last - 4, element=("A", (20, 3)))
    session.update(step=session.block_trace.phases[7].first)
    session.breakpoints = frozenset({Breakpoint(line=last - 3), Breakpoint(element=("B", (0, 1)))})
    text, step = session.trace.workload.source, session.step
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        ways.button("columns").click()
    assert session.trace.workload.rung == "coalesced"
    assert window.step_page.source.edit.toPlainText() == session.trace.workload.source != text
    assert window.form.rung.name == "coalesced"
    assert ways.value == "columns"
    assert neighbours(session) == (0, 1)
    assert (session.block, session.thread, session.phase) == (3, 13, 7)
    assert dict(session.parameters) == SIZES
    assert session.element == ("A", (20, 3))
    lines = session.trace.workload.source.split("\n")
    assert lines[session.line - 1] == text.split("\n")[last - 5]
    assert {b.element for b in session.breakpoints} == {None, ("B", (0, 1))}
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        ways.button("rows").click()
    assert (session.step, session.block, session.thread) == (step, 3, 13)
    assert {b.line for b in session.breakpoints} == {None, last - 3}


@pytest.mark.slow
def test_an_edited_text_may_run_any_way_and_none_is_named(window, qtbot):
    text = window.session.trace.workload.source
    for source, named in ((text.replace("0.0f", "1.0f"), False), (None, True)):
        assert source != text
        with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
            window.recorder.run_source(source)
        assert window.form.mapping.isVisible() is named
        assert window.form.rung.name == "uncoalesced"


@pytest.mark.slow
def test_breakpoints_stay_with_their_rung_when_the_switch_takes_them_along(window, qtbot):
    def shows(act):
        with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
            act()

    session, ways = window.session, window.form.mapping.ways
    lines = session.trace.workload.source.split("\n")
    own = next(i for i, line in enumerate(lines, start=1) if "threadIdx" in line)
    both = len(lines) - 3
    placed = frozenset({Breakpoint(line=own), Breakpoint(line=both)})
    session.breakpoints = placed
    shows(ways.button("columns").click)
    assert len(session.breakpoints) == 1, "the line that differs has no place in the twin"
    taken = session.breakpoints
    shows(lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    assert session.breakpoints == frozenset()
    shows(lambda: window.recorder.configure("uncoalesced", SIZES))
    assert session.breakpoints == placed
    shows(lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    shows(lambda: window.recorder.configure("coalesced", SIZES))
    assert session.breakpoints == taken


@pytest.mark.slow
def test_a_breakpoint_taken_away_in_the_twin_does_not_come_back(window, qtbot):
    def shows(act):
        with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
            act()

    session, ways = window.session, window.form.mapping.ways
    lines = session.trace.workload.source.split("\n")
    own = next(i for i, line in enumerate(lines, start=1) if "threadIdx" in line)
    both, also = len(lines) - 3, len(lines) - 4
    session.breakpoints = frozenset(Breakpoint(line=line) for line in (own, both, also))
    shows(ways.button("columns").click)
    assert len(session.breakpoints) == 2
    session.toggle_breakpoint(max(session.breakpoints, key=lambda place: place.line))
    added = Breakpoint(element=("A", (0, 1)))
    session.toggle_breakpoint(added)
    shows(ways.button("rows").click)
    left = {Breakpoint(line=own), Breakpoint(line=also), added}
    assert session.breakpoints == left, "the line that the twin has not keeps its own"
    session.toggle_breakpoint(added)
    shows(lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    shows(lambda: window.recorder.configure("coalesced", SIZES))
    assert {place.element for place in session.breakpoints} == {None}
    session.breakpoints = frozenset()
    shows(ways.button("rows").click)
    assert session.breakpoints == {Breakpoint(line=own), Breakpoint(line=also)}, "not lent then"


@pytest.mark.slow
def test_a_kernel_without_a_twin_has_no_switch(window, qtbot):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure("tiled", {"n": 8, "tile": 4})
    assert window.form.mapping.isHidden()
    assert (window.session.block, window.session.thread) == (0, 0)


@pytest.mark.slow
def test_side_b_of_a_comparison_has_it_too(window, qtbot):
    window.show_page("compare")
    assert window.session.versus == Configuration("coalesced", SIZES)
    comparing = compare_page(window).comparing
    qtbot.waitUntil(lambda: comparing.b.trace is not None, timeout=RECORDING_MS)
    with qtbot.waitSignal(comparing.recorder.recorded, timeout=RECORDING_MS):
        comparing.column.form.mapping.ways.button("rows").click()
    assert window.session.versus == Configuration("uncoalesced", SIZES)
