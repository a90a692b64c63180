"""The phase table, the PTX pane and "Why this number?" in the real window."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent, QTextCursor
from PySide6.QtWidgets import QApplication

from core.explain.explanations import Place
from core.explain.phase_table import as_latex, as_markdown, as_text
from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.scenes.counter_table import counter_rows
from gui.scenes.explanation_as_html import as_html
from gui.scenes.ptx_pane import PtxListing, ptx_caption
from gui.scenes.session import Session
from gui.scenes.source_pane import source_caption
from gui.scenes.why_an_element_is_loaded import Fetched
from gui.scenes.why_this_number import Step, explain, topic_of_line, topic_of_row, topic_of_step
from gui.views.phase_table_view import PhaseView, folded
from gui.views.ptx_view import PtxView
from gui.views.why_panel import WhyPanel

LADDER = load_ladder()


@pytest.fixture(scope="module")
def tiled():
    return record(LADDER["tiled"].workload(n=4, tile=2))


@pytest.fixture(scope="module")
def uncoalesced():
    return record(LADDER["uncoalesced"].workload(n=16, block_x=16, block_y=16))


@pytest.fixture
def session(tiled):
    made = Session()
    made.trace = tiled
    return made


@pytest.fixture
def phases(qtbot, session):
    view = PhaseView(session)
    qtbot.addWidget(view)
    view.resize(700, 500)
    view.show()
    qtbot.waitUntil(lambda: view.table is not None, timeout=5000)
    yield view
    view.shut_down()


def click(view, widget, point):
    for kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
        left = Qt.MouseButton.LeftButton
        event = QMouseEvent(
            kind, QPointF(point), widget.mapToGlobal(QPointF(point)), left, left,
            Qt.KeyboardModifier.NoModifier,
        )  # fmt: skip
        QApplication.sendEvent(widget, event)


# -- phase table


def test_the_current_phase_is_lit(phases, session) -> None:
    block = session.block_trace
    for step in range(block.n_steps):
        session.step = step
        column = phases.model.column
        if block.phase[step] >= 0:
            assert phases.table.columns[column].phase == block.phase[step]
            assert phases.caption.text().startswith(f"Phase {block.phase[step]} is lit.")
        elif step < block.phases[0].first:
            assert column == -1
        else:
            assert phases.table.columns[column].title == "After"


def test_a_click_goes_to_the_entry_under_it(phases, session) -> None:
    session.playing = 1
    index = phases.model.index(2, 1)
    area = phases.grid.visualRect(index)
    entries = phases.model.entries(index)
    lines = [e for e in entries for _ in folded(e.short)]
    height = (area.height() - 8) // len(lines)
    for place, entry in enumerate(lines):
        point = QPoint(area.left() + 20, area.top() + 4 + place * height + height // 2)
        click(phases, phases.grid.viewport(), point)
        assert (session.step, session.thread, session.playing) == (entry.step, 2, 0)
    assert session.block_trace.access(entries[0].step).element(2) == (1, 0)


def test_copies(phases) -> None:
    for name, make in (("Text", as_text), ("Markdown", as_markdown), ("LaTeX", as_latex)):
        phases.copy_as(name)
        assert QGuiApplication.clipboard().text() == make(phases.table)


def test_another_block_gives_another_table(phases, session, qtbot) -> None:
    session.block = 3
    qtbot.waitUntil(lambda: phases.table is not None, timeout=5000)
    assert phases.table.title.endswith("block (1, 1)")
    assert phases.table.rows[0].cells[0][0].text == "A[2,0] -> tile_a[0,0]"


def test_a_large_block_says_why_there_is_no_table(phases, session, uncoalesced) -> None:
    session.trace = uncoalesced
    assert phases.table is None
    assert "at most 64 threads" in phases.reason.text()
    assert phases.caption.text() == "", "the reason is said once"
    assert not phases.copy.isEnabled()


def test_a_hidden_table_is_not_made(qtbot, session) -> None:
    view = PhaseView(session)
    qtbot.addWidget(view)
    session.step = 12
    assert not view.worker.busy
    assert view.table is None


def test_a_table_that_cannot_be_made_says_why(qtbot, session, monkeypatch) -> None:
    def broken(progress, trace, block):
        raise RuntimeError("out of luck")

    monkeypatch.setattr("gui.views.phase_table_view.table_job", broken)
    view = PhaseView(session)
    qtbot.addWidget(view)
    with qtbot.waitSignal(view.worker.failed):
        view.show()
    assert "out of luck" in view.reason.text()
    view.shut_down()


def test_sums_are_folded_at_their_terms() -> None:
    assert folded("C[0,0] += a*b + c*d - e") == (
        "C[0,0] += a*b", "        + c*d", "        - e"
    )  # fmt: skip
    assert folded("load A[0]") == ("load A[0]",)


# -- PTX


def test_listing(tiled) -> None:
    listing = PtxListing(tiled)
    assert listing.rows[0].text == ".entry tiled"
    pcs = [row.pc for row in listing.rows if row.pc >= 0]
    assert sorted(pcs) == list(range(len(tiled.instructions)))
    for line in {row.line for row in listing.rows} - {0}:
        for place in listing.places(line):
            assert tiled.instructions[listing.rows[place].pc].position.line == line
    labels = {row.text for row in listing.rows if row.text.endswith(":")}
    assert "$L__BB0_1:" in labels
    assert not any("tmp" in label for label in labels)
    assert len(listing.text.splitlines()) == len(listing.rows)
    assert listing.line_at(-1) is None
    assert listing.places(None) == []


def test_ptx_and_source_are_linked(qtbot, session) -> None:
    view = PtxView(session)
    qtbot.addWidget(view)
    view.resize(500, 300)
    view.show()
    session.step = next(
        s for s in range(session.n_steps) if session.block_trace.access(s) is not None
    )
    place = view.listing.place(int(session.block_trace.pc[session.step]))
    assert view.listing.rows[place].text.startswith("ld.")
    marked = {m.cursor.blockNumber() for m in view.text.extraSelections()}
    assert marked == {*view.listing.places(session.current_line), place}
    session.line = 29
    assert set(view.listing.places(29)) <= {
        m.cursor.blockNumber() for m in view.text.extraSelections()
    }
    assert "instructions of the selected line 29" in ptx_caption(session, view.listing)
    top = view.text.firstVisibleBlock().blockNumber()
    assert top <= view.listing.places(29)[0] <= top + 20
    chosen = view.listing.places(25)[3]
    view.text.verticalScrollBar().setValue(chosen)
    rect = view.text.cursorRect(QTextCursor(view.text.document().findBlockByNumber(chosen)))
    click(view, view.text.viewport(), QPoint(60, rect.center().y()))
    assert session.line == 25
    with qtbot.waitSignal(view.line_wanted) as wanted:
        view.text.line_double_clicked.emit(chosen + 1)
    assert wanted.args == [25]


# -- why this number


def test_topics(session, uncoalesced) -> None:
    session.trace = uncoalesced
    assert topic_of_step(session) == Step("global")
    by_line = counter_rows(uncoalesced, "line")
    by_array = counter_rows(uncoalesced, "array")
    assert topic_of_row(by_array[0]) == Place("global", "ld", None, "A")
    assert topic_of_row(by_line[0]) == Place("global", "ld", by_line[0].line)
    store = by_line[-1].line
    assert topic_of_line(session, store, "sectors") == Place("global", "st", store)


def test_every_row_of_the_counters_is_explained_with_its_numbers(session, uncoalesced) -> None:
    session.trace = uncoalesced
    for grouping in ("line", "array"):
        for row in counter_rows(uncoalesced, grouping):
            headings = [s.heading for s in explain(session, topic_of_row(row)).sections]
            figures = [h.replace("\u202f", "") for h in headings]
            assert f"Sectors = {row.moved}" in figures
            assert f"Ideal = {row.ideal}" in figures


def test_the_panel_follows_the_step(qtbot, session) -> None:
    from PySide6.QtWidgets import QWidget

    parent = QWidget()
    qtbot.addWidget(parent)
    parent.resize(900, 600)
    parent.show()
    panel = WhyPanel(session, parent)
    panel.ask(Step("global"), QPoint(880, 20))
    assert parent.rect().contains(panel.geometry())
    steps = [s for s in range(session.n_steps) if (a := session.block_trace.access(s)) is not None
             and a.space == "global"]  # fmt: skip
    session.step = steps[1]
    assert panel.title.text() == f"Line 25: warp 0 loads B, step {steps[1]}"
    session.step = steps[1] + 1
    assert panel.title.text().endswith("(the last before this step)")
    panel.copy_text()
    assert QGuiApplication.clipboard().text() == panel.explanation.text
    assert "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum" in panel.body.toPlainText()
    panel.hide()
    before = panel.explanation
    session.step = steps[2]
    assert panel.explanation is before  # hidden: no work


def test_markup_is_escaped(session) -> None:
    from core.explain.explanations import Explanation, Section

    found = as_html(Explanation("t", (Section("a < b", "c & d", ("<e>",)),)), "Mono")
    assert "a &lt; b" in found
    assert "&lt;e&gt;" in found


def test_nothing_recorded() -> None:
    assert explain(Session(), Step("global")).title == "Nothing has been recorded yet."


def test_every_number_says_of_which_build_it_is(session, tiled):
    place = Place("global", "ld", None, "A")
    for topic in (Step("global"), place, Fetched("A", (0, 1))):
        session.step = tiled.block(0).n_steps - 1
        last = explain(session, topic).sections[-1]
        assert last.heading == "Of which build"
        assert "compiled without optimisation (nvcc -G)" in last.text
    session.trace = record(LADDER["tiled"].workload(n=4, tile=2), kind="as_compiled")
    assert "optimised code" in explain(session, place).sections[-1].text


def test_local_memory_is_told_from_none():
    """`values` of the thread's own is an array: it lies in local memory in this build."""
    session = Session()
    session.trace = record(LADDER["tile_1d"].workload(), blocks=[0])
    block = session.block_trace
    said = {}
    for step in range(block.n_steps):
        session.step = step
        spaces = block.spaces_of(int(block.line[step]))
        said.setdefault(spaces, source_caption(session))
    assert "local sectors, none wasted." in said[frozenset({"local"})]
    assert said[frozenset()].endswith("it touches no memory.")
