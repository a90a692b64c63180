"""The benchmark page's model with a fake GPU, without Qt."""

import time
from concurrent.futures import Future

import pytest

from core.errors import GpuUnavailable
from core.gpu.benchmark_job import Timing
from core.gpu.events_and_failures import WorkerFailure
from core.gpu.result_files import read_results, write_results
from core.gpu.sweep_plan import RungKernel, make_plan
from gui.scenes.benchmark_results import HERE, RECORDED
from gui.scenes.benchmark_sentences import failure_sentence, live_sentence, state_sentence
from gui.scenes.benchmark_sweep import BenchModel
from tests.core.gpu.fake_gpu import FakeGpu, second_gpu

HUNG_S = 300  # nothing of this takes a second: far more than the busiest machine needs


def plan(ladder, *sizes):
    return make_plan([RungKernel(ladder["tiled"])], {"size": sizes, "tile": (8,)})


def drain(model, until):
    end = time.monotonic() + HUNG_S
    while not until():
        assert time.monotonic() < end, "it hangs"
        model.drain()
        time.sleep(0.005)


@pytest.fixture
def gpu():
    return FakeGpu()


@pytest.fixture
def model(gpu, tmp_path):
    made = BenchModel(lambda number: gpu, tmp_path)
    made.look_for_gpus()
    drain(made, lambda: made.devices)
    yield made
    made.shut_down()
    assert gpu.closed


def test_a_sweep_streams_and_is_kept(model, ladder, tmp_path):
    names = set()
    model.changed.connect(lambda changed: names.update(changed))  # noqa: PLW0108 - a builtin
    assert state_sentence(model) == "Ready: Fake GPU, 132 SMs."
    model.run(plan(ladder, 16, 32), Timing(), (0,))
    assert model.running
    drain(model, lambda: not model.running)
    assert names == {"state", "progress", "live", "results", "ended"}
    assert [m.result.parameters["n"] for m in model.measured] == [16, 32]
    assert all(m.origin == HERE for m in model.measured)
    assert read_results(model.kept) == tuple(m.result for m in model.measured)
    again = BenchModel(lambda number: FakeGpu(), tmp_path)
    again.load()
    here = [m for m in again.measured if m.origin == HERE]
    assert [m.result for m in here] == [m.result for m in model.measured]
    assert any(m.origin == RECORDED for m in again.measured)


def test_samples_are_seen_while_they_come(model, gpu, ladder):
    gpu.hold.clear()
    model.run(plan(ladder, 16, 32), Timing(), (0,))
    drain(model, lambda: model.live and len(model.live["GPU 0"].times) == 20)
    assert "20 launches, median" in live_sentence(model.live["GPU 0"])
    assert live_sentence(model.live["GPU 0"]).endswith("running.")
    drain(model, lambda: model.live["GPU 0"].readings.sm_mhz)
    assert "SM 1\u202f755 MHz, memory 3\u202f201 MHz, 41 °C, 300 W" in state_sentence(model)
    model.pause()
    assert "pausing when this launch is measured" in state_sentence(model)
    gpu.hold.set()
    drain(model, lambda: model.measured)
    assert state_sentence(model).startswith("1 of 2; paused")
    model.pause()
    drain(model, lambda: not model.running)
    assert len(model.measured) == 2


def test_stop_and_stop_at_once(model, gpu, ladder):
    gpu.hold.clear()
    model.run(plan(ladder, 16, 32), Timing(), (0,))
    drain(model, lambda: model.live and len(model.live["GPU 0"].times) == 20)
    gpu.stop = lambda: None  # an endless kernel hears no wish
    model.stop()
    assert "stopping; the launches so far are kept" in state_sentence(model)
    model.stop()
    drain(model, lambda: not model.running)
    assert [len(m.result.samples_ms) for m in model.measured] == [20]
    assert [p.parameters["n"] for p in model.left] == [32]
    assert state_sentence(model) == "1 launch not measured. All else is below."


def test_a_death_is_told_and_the_rest_is_measured(model, gpu, ladder):
    died = WorkerFailure("The GPU worker was killed.", "worker_died", fatal=True)
    gpu.faults = lambda job: died if job.subject.parameters["n"] == 32 else None
    gpu.cut = 7
    model.run(plan(ladder, 16, 32, 48), Timing(), (0,))
    drain(model, lambda: not model.running)
    assert [len(m.result.samples_ms) for m in model.measured] == [20, 7, 20]
    assert state_sentence(model) == "1 launch failed (worker died). All else is below."
    assert failure_sentence(model) == (
        "Tiled (n = 32, tile = 8): The GPU worker was killed. Its first 7 launches are kept."
    )


def test_spread_over_two_gpus(ladder):
    gpus = [FakeGpu(), FakeGpu(device=second_gpu())]
    model = BenchModel(lambda number: gpus[number])
    for gpu in gpus:
        gpu.hold.clear()  # until each has a launch: one might be done before the other begins
    model.run(plan(ladder, *range(16, 112, 16)), Timing(), (0, 1))
    drain(model, lambda: all(gpu.jobs for gpu in gpus))
    for gpu in gpus:
        gpu.hold.set()
    drain(model, lambda: not model.running)
    assert {m.result.device.ordinal for m in model.measured} == {0, 1}
    assert len(model.measured) == 6
    model.shut_down()


def test_no_gpu(ladder):
    class NoGpu(FakeGpu):
        def submit(self, fn, /, *args, **kwargs):
            future = Future()
            future.set_exception(GpuUnavailable("This machine has no NVIDIA driver."))
            return future

    model = BenchModel(lambda number: NoGpu())
    model.load()
    model.look_for_gpus()
    drain(model, lambda: not model.busy)
    assert state_sentence(model) == (
        "This machine has no NVIDIA driver. These results were recorded elsewhere."
    )
    model.shut_down()


def test_import_of_results_from_elsewhere(model, ladder, tmp_path):
    model.run(plan(ladder, 16, 32), Timing(), (0,))
    drain(model, lambda: not model.running)
    path = tmp_path / "lab.csv"
    write_results(path, [m.result for m in model.measured])
    model.take_up(read_results(path), path.name)
    assert len(model.measured) == 4
    assert model.measured[-1].machine == "Fake GPU, 2026-11-21, from lab.csv"


def test_closing_in_the_midst_of_a_sweep_keeps_what_came(gpu, ladder, tmp_path):
    model = BenchModel(lambda number: gpu, tmp_path)
    gpu.hold.clear()
    model.run(plan(ladder, 16, 32), Timing(), (0,))
    drain(model, lambda: model.live and len(model.live["GPU 0"].times) == 20)
    model.shut_down()
    (kept,) = read_results(model.kept)
    assert len(kept.samples_ms) == 20
