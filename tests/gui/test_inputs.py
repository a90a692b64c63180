"""What a rung's arrays hold: chosen beside N, recorded anew, in links, kept, and in both sides."""

import numpy as np
import pytest

from core.errors import ParameterError, TilescopeError
from gui.looks.theme import theme_names
from gui.scenes.moment_links import link_to, window_link
from gui.scenes.saved_state import find, load
from gui.shell.session_persistence import Keeper

RECORDING_MS = 20_000


def recorded(window, qtbot, act):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        act()


@pytest.fixture
def tiled(window, qtbot):
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    return window


def held(session, name="A"):
    (array,) = (a for a in session.trace.workload.launch.arrays if a.name == name)
    return array.data


PLACES = np.add.outer(np.arange(8), np.arange(8) / 10).astype(np.float32)


@pytest.mark.slow
def test_the_choice_records_the_launch_with_other_numbers_at_the_same_moment(tiled, qtbot):
    session, choice = tiled.session, tiled.form.inputs.choice
    assert tiled.form.inputs.isVisible()
    assert choice.currentData() == "random"
    session.update(block=3, thread=5)
    session.step = 20
    before = session.trace
    recorded(tiled, qtbot, lambda: choice.activated.emit(choice.findData("places")))
    assert session.inputs == "places"
    assert (session.block, session.thread, session.step) == (3, 5, 20)
    assert np.array_equal(held(session), PLACES)
    assert np.array_equal(held(session, "B"), PLACES)
    assert session.trace.counters == before.counters
    assert np.allclose(session.trace.outputs["C"], PLACES.astype(float) @ PLACES, rtol=1e-5)
    seen = session.trace.workload.expected()["C"]
    assert np.allclose(session.trace.outputs["C"], seen, rtol=1e-5)


@pytest.mark.slow
def test_they_stay_for_other_rungs_and_sizes_until_the_defaults_come_back(tiled, qtbot):
    session = tiled.session
    recorded(tiled, qtbot, lambda: session.update(inputs="small"))
    recorded(tiled, qtbot, lambda: tiled.recorder.configure("tiled_bounds", {"n": 7, "tile": 4}))
    assert set(held(session).ravel().tolist()) <= set(range(1, 10))
    recorded(tiled, qtbot, tiled.form.restore_defaults)
    assert session.inputs == "random"
    assert tiled.form.inputs.choice.currentData() == "random"
    assert np.abs(held(session)).max() < 1


def test_a_lesson_sets_both_as_one_change_and_records_once(tiled, qtbot):
    session, started = tiled.session, []
    tiled.recorder.worker.started.connect(lambda: started.append(session.inputs))
    wanted = window_link("tiled?n=4&tile=2&inputs=places", tiled.recorder.ladder, theme_names())
    recorded(tiled, qtbot, lambda: tiled.moments.open_moment(wanted))
    assert started == ["places"]
    assert np.array_equal(held(session), PLACES[:4, :4])
    with pytest.raises(ValueError, match="expected one of random, small, places"):
        session.inputs = "zeros"


@pytest.mark.slow
def test_links_carry_them(tiled, qtbot, ladder):
    session = tiled.session
    assert "inputs" not in link_to(session)
    recorded(tiled, qtbot, lambda: session.update(inputs="places"))
    link = link_to(session)
    assert "inputs=places" in link
    plain = window_link("tiled?n=8&tile=4", ladder, theme_names())
    recorded(tiled, qtbot, lambda: tiled.moments.open_moment(plain))
    assert session.inputs == "random"
    recorded(tiled, qtbot, lambda: tiled.moments.open_link(link))
    assert np.array_equal(held(session), PLACES)
    with pytest.raises(ParameterError, match="inputs are `ones`: use random, small, places"):
        window_link("tiled?inputs=ones", ladder, theme_names())


def test_they_are_kept_between_starts(tiled, qtbot, tmp_path):
    recorded(tiled, qtbot, lambda: tiled.session.update(inputs="small"))
    keeper = Keeper(tiled, tmp_path / "session.json")
    keeper.save()
    assert load(keeper.path).looks["inputs"] == "small"
    text = keeper.path.read_text().replace('"small"', '"ones"')
    keeper.path.write_text(text)
    with pytest.raises(TilescopeError, match="is damaged"):
        load(keeper.path)
    find(keeper.path)  # which keeps it aside before the window is closed


@pytest.mark.slow
def test_both_sides_of_a_comparison_read_the_same_numbers(tiled, qtbot):
    recorded(tiled, qtbot, lambda: tiled.session.update(inputs="small"))
    tiled.show_page("compare")
    page = tiled.pages.made("compare")
    b = page.comparing.b
    qtbot.waitUntil(lambda: b.trace is not None, timeout=RECORDING_MS)
    assert np.array_equal(held(b), held(tiled.session))
    recorded(tiled, qtbot, lambda: tiled.session.update(inputs="places"))
    qtbot.waitUntil(lambda: np.array_equal(held(b), PLACES), timeout=RECORDING_MS)
    assert not page.comparing.column.form.inputs.isVisible()


@pytest.mark.slow
def test_a_file_says_what_its_arrays_hold_itself(tiled, qtbot, tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text("__global__ void twice(float* a) { a[threadIdx.x] *= 2.0f; }\n")
    recorded(tiled, qtbot, lambda: tiled.workbench.open_file(str(path)))
    assert not tiled.form.inputs.isVisible()
    trace = tiled.session.trace
    tiled.session.inputs = "small"
    qtbot.wait(100)
    assert tiled.session.trace is trace
    assert "inputs" not in link_to(tiled.session)
