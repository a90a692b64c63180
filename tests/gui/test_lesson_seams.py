"""A lesson drives the window through the session alone, and the tour leads through it."""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QLabel

from core.ladder import load_ladder
from gui.looks.theme import apply_theme
from gui.scenes.selection import Breakpoint, Configuration, Hover
from gui.scenes.tour import STOPS
from gui.scenes.why import Step
from gui.shell.main_window import MainWindow

RECORDING_MS = 20_000


@pytest.fixture
def window(qtbot, qapp, ladder):
    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    window.resize(1280, 800)
    window.show()
    qtbot.waitExposed(window)
    yield window
    window.close()
    qapp.processEvents()


def asked(window, qtbot, configuration):
    """Set the configuration as a lesson would, and wait for what follows from it."""
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.session.configuration = configuration


def test_a_lesson_needs_the_session_alone(window, qtbot):
    session = window.session
    asked(window, qtbot, Configuration("uncoalesced", {"n": 32, "block_x": 8, "block_y": 4}))
    assert window.ladder_panel.list.currentItem().text() == "Uncoalesced"
    assert window.form.values() == {"n": 32, "block_x": 8, "block_y": 4}
    session.update(step=session.n_steps // 2, thread=17, unit="phase", speed=10.0)
    assert window.transport.units.value == "phase"
    assert window.selection._boxes["warp"].value() == 0

    session.update(view="Counters", counts_by="line")
    assert window.step_page.counters.isVisible()
    assert window.step_page.counters.grouping.value == "line"
    session.update(view="Variables", warp_table=True)
    assert window.step_page.views["Variables"].model.across
    session.heat = True
    assert window.step_page.matrices.mode.value == "loads"
    session.close_up = True
    assert window.step_page.matrices.extent.value == "block"

    source = load_ladder()["tiled"].source
    edited = source.replace("__syncthreads();", "", 1)
    asked(window, qtbot, Configuration("tiled", {"n": 8, "tile": 4}, edited))
    session.view = "Source"
    assert window.step_page.source.edit.toPlainText() == edited
    session.view = "Findings"
    assert window.step_page.views["Findings"].isVisible()
    assert window.step_page.views["Findings"].list.count() > 0

    asked(window, qtbot, Configuration("tiled", {"n": 8, "tile": 4}))
    assert window.step_page.source.edit.toPlainText() == source
    session.update(breakpoints={Breakpoint(element=("A", (0, 2)))}, step=0)
    assert session.run_to_break()
    session.view = "Breakpoints"
    assert window.step_page.views["Breakpoints"].list.count() == 1
    session.hover = Hover(thread=3)
    session.element = ("B", (1, 1))
    session.question = Step("global")
    assert window.explaining.panel.isVisible()
    assert "warp 0 loads A" in window.explaining.panel.explanation.text
    session.question = None
    assert not window.explaining.panel.isVisible()
    session.follow_memory = False
    session.view = "Warp"
    session.last()
    while session.seek("access", forward=False):
        assert window.step_page.warp.isVisible()

    session.theme = "projector"
    assert window.session.theme == "projector"
    session.page = "occupancy"
    assert window.tabs.value == "occupancy"
    qtbot.waitUntil(lambda: not window.transport.isVisible())
    session.page = "step"
    session.playing = 1
    qtbot.waitUntil(lambda: session.step > 0)
    session.playing = 0


def test_what_a_lesson_cannot_set_is_refused_whole(window, qtbot):
    session = window.session
    asked(window, qtbot, Configuration("tiled", {"n": 8, "tile": 4}))
    before = dict(session.values)
    for wrong in (
        {"unit": "mile"},
        {"counts_by": "thread"},
        {"page": "x"},
        {"view": "Banks"},
        {"theme": "sepia"},
    ):
        with pytest.raises(ValueError, match="expected one of"):
            session.update(step=3, block=2, **wrong)
        assert session.values == before
        assert session.block_trace.block == session.block
    with pytest.raises(AttributeError, match="no colour to set"):
        session.update(step=3, colour="red")


def test_the_explanation_closes_from_either_side(window, qtbot):
    session = window.session
    asked(window, qtbot, Configuration("tiled", {"n": 8, "tile": 4}))
    qtbot.keyClick(window, Qt.Key.Key_W)
    assert session.question == Step("global")
    window.explaining.panel.close_button.click()
    assert session.question is None
    qtbot.keyClick(window, Qt.Key.Key_W)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert session.question is None


# ---- the tour


def test_the_tour_leads_to_every_place_and_is_remembered(window, qtbot):
    asked(window, qtbot, Configuration("tiled", {"n": 8, "tile": 4}))
    session, touring = window.session, window.touring
    step = session.step
    touring.start()
    seen = []
    while window.overlay is not None:
        overlay = window.overlay
        seen.append(overlay.title.text())
        assert overlay.rect() == window.rect()
        assert window.rect().contains(overlay.card.geometry())
        assert overlay._place.width() > 40
        overlap = overlay.card.geometry().intersected(overlay._place)
        assert overlap.width() * overlap.height() < 0.25 * overlay._place.width() * (
            overlay._place.height()
        )
        qtbot.keyClick(overlay, Qt.Key.Key_Right)
    assert seen == [stop.title for stop in STOPS]
    assert session.step == step  # its keys are not the window's
    assert touring.toured
    words = sum(len(f"{stop.title} {stop.text}".split()) for stop in STOPS)
    assert words < 270  # a minute, at reading speed


def test_the_tour_goes_back_is_skipped_and_leaves_out_what_is_not_there(window, qtbot):
    asked(window, qtbot, Configuration("coalesced", {}))
    touring = window.touring
    touring.start()
    titles = []
    while window.overlay is not None:
        titles.append(window.overlay.title.text())
        qtbot.mouseClick(window.overlay, Qt.MouseButton.LeftButton)
    assert "Watch the banks" not in titles
    touring.start()
    qtbot.keyClick(window.overlay, Qt.Key.Key_Left)
    assert window.overlay.title.text() == STOPS[0].title
    for _ in titles[1:]:
        window.overlay.next.click()
    while window.overlay.back.isEnabled():
        window.overlay.back.click()
    window.resize(1000, 700)
    qtbot.waitUntil(lambda: window.overlay.size() == window.size())
    qtbot.keyClick(window.overlay, Qt.Key.Key_Escape)
    assert window.overlay is None


def test_the_tour_shows_what_it_speaks_of_and_puts_everything_back(window, qtbot):
    asked(window, qtbot, Configuration("tiled", {"n": 8, "tile": 4}))
    session, touring, page = window.session, window.touring, window.step_page
    before = session.step, [name for name in page.docks if page.in_front(name)]
    assert session.block_trace.access(session.step).space == "global"
    touring.start()
    while window.overlay is not None:
        overlay, stop = window.overlay, STOPS[touring._at]
        access = session.block_trace.access(session.step)
        if stop.space:
            assert (access.kind, access.space) == ("load", stop.space)
            assert page.in_front(stop.view)
        if stop.space == "shared":
            assert window.step_page.shared.scene.banks is not None
        if stop.place in ("ladder", "configuration"):
            heading = {"ladder": "Kernel ladder", "configuration": "Configuration"}[stop.place]
            label = next(x for x in window.left.findChildren(QLabel) if x.text() == heading)
            where = QRect(label.mapTo(window, QPoint(0, 0)), label.size())
            assert overlay._place.contains(where)
        last = stop is STOPS[-1]
        assert overlay.skip.isVisible() != last
        assert ("press Space" in overlay.text.text()) == last
        qtbot.keyClick(overlay, Qt.Key.Key_Right)
    qtbot.waitUntil(
        lambda: (session.step, [name for name in page.docks if page.in_front(name)]) == before
    )
