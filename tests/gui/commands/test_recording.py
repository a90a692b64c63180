"""Which launch is recorded when several are asked for, and what is said when it fails."""

import time
from dataclasses import replace

import pytest

from core.cancelling import is_cancelled
from core.errors import Cancelled
from core.guessing.launch_guess import guess_launch
from core.ladder import load_ladder
from gui.background import close_workers
from gui.commands.recording import Recorder
from gui.scenes.configuration import Configuration
from gui.scenes.session import Session

MS = 20_000
LARGE = Configuration("tiled", {"n": 256, "tile": 16})  # only the block looked at is recorded


SOME = """extern "C" __global__ void some(const float *A, float *C, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        C[i % 32] = A[i % 32];
}
"""


@pytest.fixture
def recorder(qtbot):
    recorder = Recorder(Session(), load_ladder())
    with qtbot.waitSignal(recorder.recorded, timeout=MS):
        recorder.ask(LARGE)
    yield recorder
    close_workers(recorder)


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


@pytest.mark.slow
def test_going_from_block_to_block_the_launch_is_counted_once(recorder, qtbot, monkeypatch):
    begun = []

    def patient(progress, trace):
        begun.append(trace.recorded_blocks)
        while not is_cancelled():
            time.sleep(0.001)
        raise Cancelled("given up")

    monkeypatch.setattr("gui.commands.recording.count_job", patient)
    with qtbot.waitSignal(recorder.recorded, timeout=MS):
        recorder.ask(Configuration("tiled", {"n": 512, "tile": 16}))
    for block in (3, 7):
        with qtbot.waitSignal(recorder.recorded, timeout=MS):
            recorder.session.block = block
    assert begun == [(0,)]
    with qtbot.waitSignal(recorder.recorded, timeout=MS):
        recorder.ask(LARGE)
    qtbot.waitUntil(lambda: len(begun) == 2, timeout=MS)


def test_another_argument_of_a_file_is_another_launch(recorder, qtbot, tmp_path):
    path = tmp_path / "some.cu"
    path.write_text(SOME)
    launch = replace(guess_launch(SOME, str(path)), grid="1024", block="256")

    def loads(n):
        texts = tuple((name, n if name == "n" else text) for name, text in launch.arguments)
        with qtbot.waitSignal(recorder.recorded, timeout=MS):
            recorder.ask(Configuration("", own=replace(launch, arguments=texts)))
        qtbot.waitUntil(lambda: recorder.session.counted is not None, timeout=MS)
        return recorder.session.counts.counters.totals["global_ld_requests"].value

    assert loads("32768") == 1024
    assert loads("3200") == 100


def test_what_fails_unforeseen_is_said_and_logged(recorder, qtbot, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("out of luck")

    monkeypatch.setattr("gui.jobs.record_work.make_workload", broken)
    with qtbot.waitSignal(recorder.failed, timeout=MS) as failed:
        recorder.session.block = 7
    assert "out of luck" in str(failed.args[0])
    assert "out of luck" in caplog.text
