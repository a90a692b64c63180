"""What-if sliders: dragged values reach the trace, however fast, and the moment stays."""

import time

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtTest import QTest

from gui.background import PATIENCE_MS, Coalescer
from gui.looks.theme import apply_theme
from gui.scenes.launch_form import stops
from gui.shell.main_window import MainWindow
from gui.views.buttons_and_choices import StopSlider, StopSpin
from gui.views.launch_form import ConfigurationForm

RECORDING_MS = 20_000


@pytest.fixture
def tiled(qtbot, qapp, ladder):
    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    window.resize(1440, 900)
    window.show()
    qtbot.waitExposed(window)
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure("tiled", {"n": 32, "tile": 8})
    yield window
    window.close()
    qapp.processEvents()


class Work:
    """A stand-in for a recorder: busy until it is told otherwise."""

    def __init__(self):
        self.gate = Coalescer()
        self.released = []
        self.gate.released.connect(self._take)

    def _take(self, value):
        self.released.append(value)
        self.gate._begin()

    def finish(self):
        self.gate._end()


def test_the_first_value_goes_at_once_and_then_the_newest(qapp):
    work = Work()
    for value in range(5):
        work.gate.offer(value)
    assert work.released == [0]
    work.finish()
    assert work.released == [0, 4], "nothing is lost and nothing old comes through"
    work.finish()
    assert work.released == [0, 4]


def test_the_newest_value_of_each_of_several_things_comes_through(qapp):
    work = Work()
    work.gate.offer("nothing else")
    for value in range(3):
        work.gate.offer(("tile", value), of="tile")
    work.gate.offer(("pad", 7), of="pad")
    work.gate.offer(("tile", 9), of="tile")
    work.finish()
    assert work.released == ["nothing else", ("tile", 9), ("pad", 7)]


def test_long_work_is_not_waited_for(qapp, qtbot):
    work = Work()
    work.gate.offer(1)
    work.gate.offer(2)
    qtbot.waitUntil(lambda: work.released == [1, 2], timeout=10 * PATIENCE_MS)
    work.gate.offer(3)
    work.gate.drop()
    work.finish()
    QTest.qWait(PATIENCE_MS + 50)
    assert work.released == [1, 2]


@pytest.mark.slow
def test_a_slow_machine_gets_some_of_its_work_done(qapp, qtbot):
    """Work of 0.7 s under a drag that never rests: it is dropped at first, and then waited for."""
    work, done = Work(), []
    end = QTimer()
    end.setSingleShot(True)
    end.setInterval(700)
    end.timeout.connect(lambda: (done.append(work.released[-1]), work.finish()))
    work.gate.released.connect(lambda _: end.start())
    drag = QTimer()
    drag.setInterval(20)
    values = iter(range(10_000))
    drag.timeout.connect(lambda: work.gate.offer(next(values)))
    drag.start()
    qtbot.waitUntil(lambda: len(done) >= 2, timeout=10_000)
    drag.stop()
    assert done == sorted(done)
    end.stop()


def test_a_slider_reports_stops_and_not_places(qtbot):
    slider = StopSlider("tile width")
    qtbot.addWidget(slider)
    slider.resize(200, 20)
    slider.show_stops((2, 4, 8, 16), 8)
    assert slider.value() == 2
    with qtbot.waitSignal(slider.dragged) as dragged:
        qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=slider.rect().topRight())
    assert dragged.args == [16]
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=slider.rect().topRight())
    with qtbot.assertNotEmitted(slider.dragged):
        slider.show_stops((1, 16), 1)
        slider.show_value(16)


def test_arrows_of_a_field_go_to_values_that_can_be_launched(qtbot):
    field = StopSpin()
    qtbot.addWidget(field)
    field.setRange(0, 1000)
    field.setValue(8)
    field.stops = (4, 8, 12)
    field.stepUp()
    assert field.value() == 12
    field.setValue(10)
    field.stepDown()
    assert field.value() == 8


def drag_to(window, name, value):
    slider = window.form.sliders[name]
    slider.setValue(slider.stops.index(value))


def first(block, kind, space):
    accesses = (block.access(int(step)) for step in block.access_steps)
    return next(a for a in accesses if (a.kind, a.space) == (kind, space))


def lane_gap(access):
    return int(access.addresses[1] - access.addresses[0])


DRAGS = [  # rung, parameters, what is dragged to where, what the trace then shows
    ("tiled", {"n": 8, "tile": 4}, ("tile", 2),
     lambda t: (t.workload.launch.block.x, len(t.block(0).phases)), (2, 4)),
    ("coalesced", {"n": 12}, ("block_x", 8), lambda t: t.workload.launch.block.x, 8),
    ("coalesced", {"n": 12}, ("block_y", 2), lambda t: t.workload.launch.block.y, 2),
    ("transpose_padded", {"m": 8, "n": 8, "tile": 8, "pad": 0}, ("pad", 1),
     lambda t: t.shared_arrays[0].shape, (8, 9)),
    ("copy_offset", {"n": 64, "offset": 0}, ("offset", 7),
     lambda t: first(t.block(0), "load", "global").element(0), (7,)),
    ("copy_stride", {"n": 64, "stride": 1}, ("stride", 5),
     lambda t: lane_gap(first(t.block(0), "load", "global")), 20),
]  # fmt: skip


@pytest.mark.slow
def test_each_slider_gives_the_trace_of_its_configuration(tiled, qtbot):
    for rung, values, (name, value), seen, expected in DRAGS:
        with qtbot.waitSignal(tiled.recorder.recorded, timeout=RECORDING_MS):
            tiled.recorder.configure(rung, values)
        assert seen(tiled.session.trace) != expected
        with qtbot.waitSignal(tiled.recorder.recorded, timeout=RECORDING_MS):
            drag_to(tiled, name, value)
        assert seen(tiled.session.trace) == expected, (rung, name)
        defaults = tiled.recorder.ladder[rung].defaults
        assert tiled.session.parameters == {**defaults, **values, name: value}


@pytest.mark.slow
def test_dragging_records_and_keeps_the_phase(tiled, qtbot):
    session = tiled.session
    session.update(step=session.block_trace.phases[2].first, thread=9)
    with qtbot.waitSignal(tiled.recorder.recorded, timeout=RECORDING_MS):
        drag_to(tiled, "tile", 16)
    assert session.parameters == {"n": 32, "tile": 16}
    assert tiled.form.values()["tile"] == 16
    assert session.phase == 1
    assert session.step == session.block_trace.phases[1].first
    assert tiled.form.sliders["n"].stops[:3] == (16, 32, 48)
    with qtbot.waitSignal(tiled.recorder.recorded, timeout=RECORDING_MS):
        drag_to(tiled, "tile", 8)
    assert session.step == session.block_trace.phases[2].first


@pytest.mark.slow
def test_a_wild_drag_ends_at_the_last_value_and_follows_on_the_way(tiled, qtbot, qapp):
    seen = []
    tiled.session.trace_changed.connect(lambda trace: seen.append(trace.workload.parameters["n"]))
    way = [n for n in tiled.form.sliders["n"].stops if n <= 128]
    end = time.monotonic() + RECORDING_MS / 1000
    while len(set(seen)) < 3 and time.monotonic() < end:  # back and forth, however slow we are
        for value in [*way, *reversed(way), 64]:
            drag_to(tiled, "n", value)
            frame = time.monotonic() + 0.016
            while time.monotonic() < frame:
                qapp.processEvents()
    assert len(set(seen)) >= 3, "it is followed while it is dragged"
    qtbot.waitUntil(lambda: seen[-1:] == [64], timeout=RECORDING_MS)
    qtbot.waitUntil(lambda: not tiled.recorder.worker.busy, timeout=RECORDING_MS)
    assert tiled.session.parameters == {"n": 64, "tile": 8} == tiled.form.values()


def test_dragging_a_value_that_was_typed_wrong_clears_the_error(tiled, qtbot):
    with qtbot.waitSignal(tiled.recorder.failed, timeout=RECORDING_MS):
        tiled.form.editors["n"].setValue(33)
    assert tiled.form.error.text()
    with qtbot.waitSignal(tiled.recorder.recorded, timeout=RECORDING_MS):
        drag_to(tiled, "n", 40)
    assert tiled.form.error.isHidden()


def test_a_number_that_cannot_be_moves_nothing(tiled, qtbot):
    form, field = tiled.form, tiled.form.editors["n"]
    tile = form.sliders["tile"]
    qtbot.wait(300)  # the page is laid out
    place = field.mapTo(tiled, QPoint(0, 0))
    before = tile.value(), tile.maximum()
    for n in (99_999, 33):
        with qtbot.waitSignal(tiled.recorder.failed, timeout=RECORDING_MS):
            field.setValue(n)
        qtbot.wait(50)
        assert form.error.isVisible()
        assert field.mapTo(tiled, QPoint(0, 0)) == place
        if n == 99_999:
            assert (tile.value(), tile.maximum()) == before
            assert tile.isEnabled()
    assert "“Tiled, any N”" in form.error.text()
    assert tiled.recorder.ladder["tiled_bounds"].title == "Tiled, any N"
    field.setValue(40)
    assert form.error.isHidden(), "before it is recorded"
    assert not form.error.parentWidget().isVisible()
    assert not field.property("wrong")


def test_tab_goes_through_the_form_in_order(tiled, qtbot, qapp):
    tiled.activateWindow()
    fields = tiled.form.editors.values()  # Tab goes past those that have no place yet
    qtbot.waitUntil(lambda: not any(field.visibleRegion().isEmpty() for field in fields))
    tiled.form.reset.setFocus(Qt.FocusReason.TabFocusReason)
    for editor in tiled.form.editors.values():
        qtbot.keyClick(qapp.focusWidget(), Qt.Key.Key_Tab)
        found = qapp.focusWidget()
        assert found is editor or editor.isAncestorOf(found)


def test_the_fields_of_another_rung_take_the_place_of_those_before(qtbot, ladder):
    form = ConfigurationForm()
    qtbot.addWidget(form)
    form.show_rung(ladder["tiled"])
    before = form.fields.widget()
    heard = []
    form.changed.connect(heard.append)
    form.show_rung(ladder["tuned"], {"tile_m": 32})
    assert form.values() == {**ladder["tuned"].defaults, "tile_m": 32}
    assert form.sliders.keys() <= ladder["tuned"].defaults.keys()
    assert form.fields.widget() is not before
    form.show_rung(ladder["tiled"], {"n": 64})
    assert form.shows(ladder["tiled"], {"n": 64, "tile": ladder["tiled"].defaults["tile"]})
    assert not form.shows(ladder["tuned"], ladder["tuned"].defaults)
    assert heard == []


def test_sliders_follow_what_is_typed(qtbot, ladder):
    form = ConfigurationForm()
    qtbot.addWidget(form)
    form.show_rung(ladder["tiled"], {"n": 64, "tile": 16})
    slider = form.sliders["tile"]
    before = slider.stops
    form.editors["n"].setValue(24)
    assert slider.stops == stops(ladder["tiled"], "tile", {"n": 24, "tile": 16})
    assert slider.stops != before
