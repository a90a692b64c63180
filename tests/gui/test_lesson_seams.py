"""A lesson drives the window through the session alone."""

import pytest
from PySide6.QtCore import Qt

from core.ladder import load_ladder
from gui.looks.theme import apply_theme
from gui.scenes.configuration import Configuration
from gui.scenes.selection import Breakpoint, Hover
from gui.scenes.why_this_number import Step
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


@pytest.mark.slow
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
