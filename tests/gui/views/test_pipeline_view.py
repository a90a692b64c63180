"""The pipeline view: columns for moments, clicks that go to their steps, sentences."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.looks.theme import apply_theme, current_theme
from gui.scenes.pipeline_words import is_early, sentence
from gui.scenes.session import Session
from gui.views.pipeline_view import PipelineView, pipeline_layout

LADDER = load_ladder()


@pytest.fixture(scope="module")
def ring():
    work = LADDER["warp_specialised"].workload(m=64, n=64, k=456, stages=3)
    return record(work, kind="as_compiled")


@pytest.fixture
def view(qtbot, qapp, ring):
    apply_theme(qapp, "light")
    session = Session()
    session.trace = ring
    view = PipelineView(session)
    qtbot.addWidget(view)
    view.resize(620, 300)
    view.show()
    qtbot.waitUntil(lambda: view.made is not None, timeout=20_000)
    yield view
    view.shut_down()


def centre(lay, row, place):
    return lay.cell(row, place).center()


def click(qtbot, view, point):
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point.toPoint())


def test_a_click_goes_to_the_step_and_the_column_stays(view, qtbot):
    lay = view.layout_now()
    for place in (lay.first + 1, lay.first + lay.shown - 1):
        before = lay.left(place)
        click(qtbot, view, centre(lay, 0, place))
        lay = view.layout_now()
        assert view.session.step == view.made.moments[place].step
        assert view.now == place
        assert lay.left(place) == pytest.approx(before, abs=1)


def test_a_click_takes_a_thread_of_the_warps_that_act(view, qtbot):
    place = next(i for i, m in enumerate(view.made.moments) if m.kind == "fill")
    view.session.update(step=view.made.moments[place].step, thread=0)
    click(qtbot, view, centre(view.layout_now(), 0, place))
    assert view.session.warp == 4


def test_it_follows_the_step(view):
    for step in (0, view.made.moments[20].step, view.session.n_steps - 1):
        view.session.update(step=step)
        lay = view.layout_now()
        assert view.now == view.made.at(step)
        assert view.now < 0 or lay.first <= view.now < lay.first + lay.shown


def test_the_wheel_moves_the_columns_and_a_step_brings_them_back(view):
    view.session.update(step=view.made.moments[2].step)
    first = view.layout_now().first
    for _ in range(60):
        where = QPointF(300, 100)
        turn = QWheelEvent(
            where,
            where,
            QPoint(),
            QPoint(0, -120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        view.wheelEvent(turn)
    lay = view.layout_now()
    assert lay.first == len(view.made.moments) - lay.shown > first
    view.session.update(step=view.made.moments[1].step)
    assert view.layout_now().first == 0


def test_rows_and_columns_lie_inside_at_every_size(view):
    for wide, high in ((300, 120), (520, 200), (1400, 700)):
        view.resize(wide, high)
        lay = pipeline_layout(view.made, view.size(), current_theme(), 30, 0)
        assert len(lay.rows) == len(view.made.stages) + len(view.made.actors)
        assert lay.cells.right() <= wide
        assert lay.shown >= 1
        assert all(a.bottom() < b.top() + 2.5 for a, b in zip(lay.rows, lay.rows[1:], strict=False))
        assert not view.grab().toImage().isNull()


def test_a_wait_is_said_with_its_barrier_and_phase(view):
    waits = [i for i, m in enumerate(view.made.moments) if m.kind == "block" and m.phase == 1]
    assert waits
    for place in waits:
        m = view.made.moments[place]
        said = sentence(view.made, place)
        assert m.barrier in said
        assert "phase 1" in said
        view.session.update(step=m.step)
    assert view.caption.text().startswith("3 stages of 16 KiB, filled by TMA boxes")


def test_what_a_question_veils_is_not_said(view):
    view.session.update(veiled={"pipeline"})
    assert view.layout_now() is None
    assert "stage" not in view.caption.text()
    view.session.update(veiled=())
    assert "stages" in view.caption.text()


def test_a_read_that_comes_too_early_is_told_unless_findings_are_veiled(qtbot, qapp):
    work = LADDER["tma_pipeline"].workload(m=64, n=64, k=200)
    source = work.source.replace("phase / STAGES % 2", "(phase / STAGES + 1) % 2")
    session = Session()
    session.trace = record(replace(work, source=source), kind="as_compiled")
    view = PipelineView(session)
    qtbot.addWidget(view)
    view.show()
    qtbot.waitUntil(lambda: view.made is not None, timeout=20_000)
    places = [i for i in range(len(view.made.moments)) if is_early(view.made, i)]
    assert places
    assert "before it is known to be there" in sentence(view.made, places[0])
    assert "before" not in sentence(view.made, places[0], judged=False)
    view.shut_down()


def test_a_kernel_without_one_says_why(qtbot, qapp):
    session = Session()
    session.trace = record(LADDER["coalesced"].workload(n=8, block_x=8, block_y=8))
    view = PipelineView(session)
    qtbot.addWidget(view)
    view.show()
    qtbot.waitUntil(lambda: "no pipeline" in view.reason, timeout=20_000)
    assert view.layout_now() is None
    click(qtbot, view, QPointF(20, 20))
    view.shut_down()
