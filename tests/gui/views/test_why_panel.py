"""The panel of an explanation: its answer first, as large as its content, beside its view."""

import re
from html import escape

import pytest
from PySide6.QtCore import QPoint, QRect, QUrl

from core.explain.explanations import explain_access
from core.recording.record_launch import record
from gui.looks.theme import apply_theme
from gui.scenes.explanation_as_html import FOLDED, as_html, heading_of
from gui.scenes.session import Session
from gui.scenes.why_this_number import Step, explain
from gui.views.why_panel import WhyPanel


@pytest.fixture(scope="module")
def column(ladder):
    return record(ladder["uncoalesced"].workload(n=64), blocks=[0])


@pytest.fixture(scope="module")
def conflict(ladder):
    return record(ladder["aat_padded"].workload(n=64, tile=32, pad=0), blocks=[0])


@pytest.fixture
def panel(qtbot, qapp, column):
    from PySide6.QtWidgets import QWidget

    apply_theme(qapp, "light")
    session, parent = Session(), QWidget()
    session.trace = column
    qtbot.addWidget(parent)
    parent.resize(1280, 800)
    parent.show()
    yield WhyPanel(session, parent)  # and the parent lives as long
    parent.close()


@pytest.mark.parametrize("rung", ["column", "conflict"])
def test_the_answer_has_the_figures_that_follow(rung, request):
    block = request.getfixturevalue(rung).block(0)
    seen = set()
    for step in block.access_steps.tolist()[:40]:
        access = block.access(step)
        part, found = access.warp(0), explain_access(access, 0)
        shared = access.space == "shared"
        moved = part.wavefronts if shared else part.n_sectors
        ideal = part.ideal_wavefronts if shared else part.ideal_sectors
        figures = [int(n) for n in re.findall(r"\d+", found.answer)]
        assert figures[0] == moved
        assert (f"; {ideal} would do." in found.answer) == (moved > ideal)
        assert found.text.split("\n\n")[1] == found.answer
        seen.add(moved)
    assert {1, 32} <= seen


def test_long_lists_are_folded_until_asked_for(column):
    session = Session()
    session.trace = column
    found = explain(session, Step("global"))
    sectors = next(s for s in found.sections if heading_of(s) == "Sectors")
    assert len(sectors.lines) == 32
    folded, whole = as_html(found, "Mono"), as_html(found, "Mono", {"Sectors"})
    assert f"… {32 - FOLDED} lines more" in folded
    assert sectors.lines[FOLDED].strip() not in folded
    assert sectors.lines[FOLDED].strip() in whole
    assert folded.index(escape(found.answer)) < folded.index("<h4>")
    assert all(line in found.text for line in sectors.lines), "what is copied is whole"


def test_it_is_as_large_as_what_it_says(panel, column, ladder):
    panel.ask(Step("shared"), QPoint(640, 300))
    short = panel.size()
    panel.hide()
    panel.ask(Step("global"), QPoint(640, 300))
    assert panel.height() > short.height() * 2
    assert panel.width() > short.width()
    assert panel.width() < panel.parentWidget().width() * 0.72
    bar = panel.body.horizontalScrollBar()
    assert bar.maximum() == 0, "no line of figures is cut"


def test_what_is_unfolded_stays_while_the_clock_moves(panel):
    panel.ask(Step("global"), QPoint(640, 300))
    before = panel.body.toPlainText()
    panel.body.anchorClicked.emit(QUrl("Sectors"))
    assert len(panel.body.toPlainText()) > len(before)
    assert "A[31,0]" in panel.body.toPlainText()
    panel.session.seek("access")
    panel.session.seek("access")
    assert "A[31,1]" in panel.body.toPlainText()
    assert panel.parentWidget().rect().contains(panel.geometry())


@pytest.mark.parametrize("left", [0, 700])
def test_it_leaves_its_view_in_sight_where_there_is_room(panel, left):
    view = QRect(left, 100, 560, 400)
    panel.ask(Step("global"), view.center(), view)
    assert not panel.geometry().intersects(view)
    assert panel.parentWidget().rect().contains(panel.geometry())
