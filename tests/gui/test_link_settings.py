"""Links that lessons use: devices and sizes of pages, orders of warps, kernels of lessons."""

import numpy as np
import pytest
from PySide6.QtGui import QAction

from core.errors import ParameterError
from core.ladder import all_kernels
from core.lessons.course import load_course
from core.lessons.lesson_files import read_lesson
from core.links import parse_link
from gui.scenes.configuration import Conditions, Configuration, Origin
from gui.scenes.launch_outcome import outcome
from gui.scenes.moment_links import conditions_of, link_to, show_pages, window_link

RECORDING_MS = 60_000


def opened(window, qtbot, link):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        assert window.moments.open_link(link)


def first_array(window):
    return np.array(window.session.trace.workload.launch.arrays[0].data)


@pytest.mark.parametrize("name", load_course().order)
def test_the_window_reads_the_links_of_every_lesson_as_the_lesson_does(name):
    from core.lessons.lesson import LESSONS_FOLDER

    kernels = all_kernels()
    for step in read_lesson(LESSONS_FOLDER / f"{name}.toml").steps:
        moment = window_link(str(step.link), kernels, ("light",))
        assert (moment.rung, moment.at) == (step.link.rung, step.link.at)
        assert {**kernels[moment.rung].defaults, **moment.parameters} == step.link.parameters
        assert conditions_of(moment) == Conditions(
            step.link.inputs, step.link.order, step.link.seed
        )
        assert moment.looks == step.link.looks


def test_lesson_kernels_are_known_and_stand_in_no_list():
    kernels = all_kernels()
    assert {"memory_kinds", "aat_16"} <= set(kernels)
    assert not {"memory_kinds", "aat_16"} & set(kernels.names)
    assert window_link("memory_kinds?blocks=2", kernels, ()).rung == "memory_kinds"


def test_settings_of_pages_go_into_a_link_and_back(ladder, session):
    session.origin = Origin(Configuration("tiled", {"n": 8, "tile": 4}), "")
    wanted = {"device": "GeForce RTX 3090", "size": 1024, "threads": 128, "registers": 0}
    session.update(page="occupancy", order="random", seed=7, **wanted)
    moment = window_link(link_to(session), ladder, ())
    assert moment.looks == {"page": "occupancy", **wanted}
    assert conditions_of(moment) == Conditions("random", "random", 7)
    session.update(device="H200", size=None, ceiling="dram")
    show_pages(session, moment)
    assert {name: getattr(session, name) for name in wanted} == wanted
    assert session.ceiling == ""
    lesson = parse_link(link_to(session), ladder)
    assert (lesson.order, lesson.seed) == ("random", 7)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("device=abacus", "is not in the table of devices"),
        ("device=8.7.2", "device"),
        ("order=backwards", "use lockstep"),
        ("seed=-1", "counts from 0"),
        ("ceiling=sky", "use textbook"),
        ("threads=many", "use a whole number"),
        ("shared=-4", "counts from 0"),
    ],
)
def test_what_no_page_can_show_is_a_sentence(ladder, key, words):
    with pytest.raises(ParameterError, match=words):
        window_link(f"tiled?{key}", ladder, ())


def test_a_device_is_found_as_the_pages_call_it(ladder):
    named = {"3090": "GeForce RTX 3090", "textbook sm": "Textbook SM", "2.0": "2.0"}
    for text, name in named.items():
        assert window_link(f"tiled?device={text}", ladder, ()).looks == {"device": name}


@pytest.mark.slow
def test_another_order_of_warps_shows_what_a_race_does(window, qtbot):
    opened(window, qtbot, "broken_fill_barrier?n=16&tile=8")
    assert outcome(window.session.trace).right
    right = np.array(window.session.trace.outputs["C"])
    opened(window, qtbot, "broken_fill_barrier?n=16&tile=8&order=warp_by_warp&at=end")
    assert not outcome(window.session.trace).right
    assert not np.array_equal(right, window.session.trace.outputs["C"])
    assert window.session.order == "warp_by_warp"
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.session.order = "lockstep"
    assert np.array_equal(right, window.session.trace.outputs["C"])
    before = first_array(window)
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.session.seed = 5
    assert not np.array_equal(before, first_array(window))


@pytest.mark.slow
def test_a_link_sets_the_device_and_what_a_block_takes(window, qtbot):
    opened(
        window,
        qtbot,
        "tiled?n=64&tile=16&page=occupancy&device=Textbook SM&threads=512&registers=0&shared=0",
    )
    page = window.pages.make("occupancy")
    qtbot.waitUntil(lambda: page._compiled is not None, timeout=RECORDING_MS)
    assert page.capability.name == "Textbook SM"
    assert (page.resources.block_threads, page.resources.registers) == (512, 0)
    window.session.threads = 128
    qtbot.waitUntil(lambda: page.resources.block_threads == 128, timeout=RECORDING_MS)
    page.fields["registers"].setValue(12)
    assert window.session.registers == 12
    opened(window, qtbot, "coalesced?n=64&page=ceilings&device=RTX 3090&size=2048&ceiling=dram")
    page = window.pages.make("ceilings")
    qtbot.waitUntil(lambda: page.device.name == "GeForce RTX 3090", timeout=RECORDING_MS)
    assert (page.size_box.n, page.list.chosen) == (2048, "dram")
    qtbot.waitUntil(lambda: page.found is not None, timeout=RECORDING_MS)


@pytest.mark.slow
def test_the_menu_sets_the_order_of_warps_and_the_form_says_it(window, qtbot):
    opened(window, qtbot, "broken_fill_barrier?n=8&tile=4")
    entries = {a.text(): a for a in window.findChildren(QAction) if a.parent() is window}
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        entries["One after another"].trigger()
    assert window.session.order == "warp_by_warp"
    assert "Warps run one after another." in window.form.facts.text()
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        entries["Together"].trigger()
    assert "Warps run" not in window.form.facts.text()
