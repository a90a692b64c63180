"""Which launch is recorded when several are asked for, and what is said when it fails."""

import pytest

from core.ladder import load_ladder
from gui.recording import Recorder
from gui.scenes.selection import Configuration
from gui.scenes.session import Session

MS = 20_000
LARGE = Configuration("tiled", {"n": 256, "tile": 16})  # only the block looked at is recorded


@pytest.fixture
def recorder(qtbot):
    recorder = Recorder(Session(), load_ladder())
    with qtbot.waitSignal(recorder.recorded, timeout=MS):
        recorder.ask(LARGE)
    yield recorder
    recorder.close()


def sizes(recorder):
    trace = recorder.session.trace
    return trace.workload.parameters["n"], trace.recorded_blocks


def test_another_block_is_recorded_of_the_launch_that_is_shown(recorder, qtbot):
    with qtbot.waitSignal(recorder.recorded, timeout=MS):
        recorder.session.block = 7
    assert sizes(recorder) == (256, (7,))


def test_a_block_asked_for_meanwhile_does_not_give_up_another_launch(recorder, qtbot):
    recorder.ask(Configuration("tiled", {"n": 512, "tile": 16}))
    recorder.session.block = 7
    assert recorder.worker.busy
    qtbot.waitUntil(lambda: not recorder.worker.busy, timeout=MS)
    assert sizes(recorder) == (512, (7,))


def test_after_a_launch_failed_blocks_are_those_of_the_one_shown(recorder, qtbot):
    with qtbot.waitSignal(recorder.failed, timeout=MS):
        recorder.ask(Configuration("tiled", {"n": 256, "tile": 0}))
    with qtbot.waitSignal(recorder.recorded, timeout=MS):
        recorder.session.block = 7
    assert sizes(recorder) == (256, (7,))


def test_what_fails_unforeseen_is_said_and_logged(recorder, qtbot, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr("gui.recording.make_workload", broken)
    with qtbot.waitSignal(recorder.failed, timeout=MS) as failed:
        recorder.session.block = 7
    assert "out of luck" in str(failed.args[0])
    assert "out of luck" in caplog.text
