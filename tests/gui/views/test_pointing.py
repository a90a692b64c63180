"""What the pointer rests on in one view is lit in the others."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent
from PySide6.QtWidgets import QApplication

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.looks.theme import apply_theme, current_theme
from gui.scenes.matrices import touched_by
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.views.counters_view import CountersView
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.phase_table_view import PhaseView
from gui.views.ptx_view import PtxView
from gui.views.source_view import SourceView
from gui.views.variables_view import VariablesView


@pytest.fixture(scope="module")
def tiled():
    return record(load_ladder()["tiled"].workload(n=4, tile=2))


@pytest.fixture
def session(qapp, tiled):
    apply_theme(qapp, "light")
    made = Session()
    made.trace = tiled
    return made


@pytest.fixture
def shown(qtbot, session):
    def show(kind):
        view = kind(session)
        qtbot.addWidget(view)
        view.resize(900, 700)
        view.show()
        qtbot.waitExposed(view)
        return view

    return show


def move_to(widget, point):
    nothing = Qt.MouseButton.NoButton
    event = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(point), widget.mapToGlobal(QPointF(point)),
        nothing, nothing, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


def leave(widget):
    QApplication.sendEvent(widget, QEvent(QEvent.Type.Leave))


def lit_rows(edit):
    """The numbers (from 0) of the rows with the colour of what is pointed at."""
    tint = current_theme().tint("hover", 0.18)
    marks = edit.extraSelections()
    return {m.cursor.blockNumber() for m in marks if m.format.background().color() == tint}


def test_what_a_thread_touches_is_what_the_access_says(tiled):
    block, seen = tiled.block(0), 0
    for step in range(block.n_steps):
        access = block.access(step)
        if access is None or access.space != "global":
            continue
        for thread in range(block.n_threads):
            found = touched_by(block, access.array.name, step, thread)
            assert found.tolist() == [access.elements[thread]]
            seen += 1
    assert seen == (2 * 2 + 1) * 4  # two phases load two elements a thread; one store


def test_a_load_of_a_copy_counts_as_one_of_the_element(tiled):
    """In phase 0 thread (1, 0) multiplies B[0, 1], which it loads from tile_b[0][1]."""
    block = tiled.block(0)
    steps = [
        step
        for step in range(block.n_steps)
        if (access := block.access(step)) is not None
        and (access.space, access.kind) == ("shared", "load")
    ]
    b = [touched_by(block, "B", step, 1).tolist() for step in steps]
    assert [1] in b
    assert [5] in b
    assert all(flats in ([], [1], [5], [9], [13]) for flats in b)  # column 1 of B and no other


def test_a_row_of_ptx_lights_its_line_of_the_source(shown, session):
    source, ptx = shown(SourceView), shown(PtxView)
    line = session.current_line
    rows = range(len(ptx.listing.rows))
    other = next(r for r in rows if ptx.listing.line_at(r) not in (None, line))
    ptx.text.verticalScrollBar().setValue(other)
    block = ptx.text.document().findBlockByNumber(other)
    box = ptx.text.blockBoundingGeometry(block).translated(ptx.text.contentOffset())
    move_to(ptx.text.viewport(), QPoint(60, int(box.center().y())))
    pointed = ptx.listing.line_at(other)
    assert session.hover == Hover(line=pointed)
    assert lit_rows(source.edit) == {pointed - 1}
    leave(ptx.text)
    assert session.hover is None
    assert not lit_rows(source.edit)


def test_a_line_of_the_source_lights_its_ptx(shown, session):
    source, ptx = shown(SourceView), shown(PtxView)
    line = next(n for n in (24, 25) if n != session.current_line)
    source.edit.reveal(line)
    block = source.edit.document().findBlockByNumber(line - 1)
    move_to(source.edit.viewport(), source.edit.block_rect(block).center().toPoint())
    assert session.hover == Hover(line=line)
    assert lit_rows(ptx.text) == set(ptx.listing.places(line))
    leave(source.edit)
    assert not lit_rows(ptx.text)


def test_a_row_of_the_counters_lights_its_line(shown, session):
    source, counters = shown(SourceView), shown(CountersView)
    session.counts_by = "line"
    place = next(i for i, row in enumerate(counters.model.rows) if not isinstance(row, str))
    box = counters.table.visualRect(counters.model.index(place, 0))
    move_to(counters.table.viewport(), box.center())
    line = counters.model.rows[place].line
    assert session.hover == Hover(line=line)
    assert lit_rows(source.edit) == {line - 1}


def test_an_entry_of_the_phase_table_lights_its_thread_and_element(qtbot, shown, session):
    phases = shown(PhaseView)
    try:
        qtbot.waitUntil(lambda: phases.table is not None, timeout=5000)
        row = phases.table.rows[2]
        column = next(i for i, cell in enumerate(row.cells) if cell and cell[0].kind == "copy")
        entry = row.cells[column][0]
        box = phases.grid.visualRect(phases.model.index(2, column))
        move_to(phases.grid.viewport(), QPoint(box.center().x(), box.top() + 6))
        assert session.hover == Hover(thread=row.thread, element=entry.element)
        name, index = entry.element
        assert entry.text.startswith(f"{name}[{index[0]},{index[1]}] -> ")
        assert phases.model.pointed == row.thread
        leave(phases.grid.viewport())
        assert session.hover is None
        assert phases.model.pointed is None
        session.hover = Hover(thread=3)
        assert phases.model.pointed == 3
    finally:
        phases.shut_down()


def test_a_lane_of_the_table_of_variables(shown, session):
    variables = shown(VariablesView)
    session.warp_table = True
    index = variables.model.index(0, 2 + 3)
    variables.table.scrollTo(index)
    move_to(variables.table.viewport(), variables.table.visualRect(index).center())
    assert session.hover == Hover(thread=3)
    tint = QColor(current_theme().tint("hover", 0.18))
    pointed = variables.model.index(variables.model.rowCount() - 1, 5)
    assert variables.model.data(pointed, Qt.ItemDataRole.BackgroundRole) == tint
    leave(variables.table.viewport())
    assert session.hover is None


def test_a_thread_is_outlined_where_it_loads(shown, session, tiled):
    """Pointing at lane 3 changes A's picture at the element that it loads, and nowhere else."""
    canvas, block = shown(MatrixCanvas), tiled.block(0)
    step = next(s for s in range(block.n_steps) if (a := block.access(s)) and a.array.name == "A")
    session.step = step
    flat = int(block.access(step).elements[3])
    grid = next(g for g in canvas.grids if g.array.name == "A")
    cells = [canvas._layout.rect(grid, canvas._view, (*divmod(f, 4), 1, 1)) for f in range(16)]
    assert canvas.element_at(cells[flat].center())[1] == flat
    before = canvas.grab().toImage()
    session.hover = Hover(thread=3)
    after = canvas.grab().toImage()
    changed = [f for f, box in enumerate(cells) if edge(before, box) != edge(after, box)]
    assert changed[0] == flat
    assert changed in ([flat], [flat, flat + 1])  # the outline lies on the border of the next cell


def edge(image, box):
    """The pixels just within a cell's left edge."""
    left = round(box.left()) + 1
    return [image.pixel(left, y) for y in range(round(box.top()) + 4, round(box.bottom()) - 4)]


def test_an_element_that_another_block_stores_is_said_to_be(qtbot, shown, session, monkeypatch):
    """C[3, 2] of 4 x 4 in tiles of 2 belongs to thread (0, 1) of block (1, 1)."""
    said = []
    canvas = shown(MatrixCanvas)
    qtbot.waitUntil(lambda: not canvas.sharing.isActive(), timeout=5000)
    monkeypatch.setattr(
        "gui.views.matrix_drawing.text",
        lambda painter, area, words, *rest, **named: said.append(words),
    )
    session.hover = Hover(element=("C", (3, 2)))
    canvas.grab()
    assert any(
        w == "C[3, 2] is stored by thread (0, 1), warp 0, lane 2 of block (1, 1)" for w in said
    )
    session.hover = Hover(element=("C", (1, 0)))
    canvas.grab()
    assert said[-1] == "C[1, 0] is stored by thread (0, 1), warp 0, lane 2"
    session.update(hover=None, thread=2)
    canvas.grab()
    assert said[-1] == "Thread 2 = (0, 1), warp 0, lane 2, stores C[1, 0]"
