"""Sweeps: the order of what is told, faults that are survived, pause, stop, several GPUs."""

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import CompileError, GpuUnavailable
from core.gpu.benchmark_job import Timing
from core.gpu.events_and_failures import Sample, WorkerFailure
from core.gpu.result_files import Journal, read_journal, read_results
from core.gpu.sweep import Ended, Lane, LaneClosed, Outcome, Started, Sweep, Told
from core.gpu.sweep_plan import RungKernel, make_plan
from core.gpu.worker_process import GpuWorker
from core.ladder import load_ladder
from tests.core.gpu.fake_gpu import FakeGpu, fake_benchmark

LIMIT = 20
TILED = load_ladder()["tiled"]


def points(sizes=(16, 32, 48), seeds=(7,)):
    return [
        point
        for seed in seeds
        for point in make_plan([RungKernel(TILED)], {"size": sizes, "tile": (8,)}, seed).points
    ]


def run(work, *gpus, keep=None, measure=fake_benchmark):
    """Runs a sweep to its end; gives the updates."""
    told = []
    lanes = [Lane(f"GPU {i}", gpu) for i, gpu in enumerate(gpus)]
    sweep = Sweep(work, lanes, Timing(), told.append, keep, measure)
    sweep.start()
    assert sweep.wait(LIMIT)
    return sweep, told


def outcomes(told):
    return [update for update in told if isinstance(update, Outcome)]


def test_points_in_order_with_their_samples():
    sweep, told = run(points(), FakeGpu())
    kinds = [type(update) for update in told if not isinstance(update, Told)]
    assert kinds == [Started, Outcome] * 3 + [Ended]
    samples = [u.event for u in told if isinstance(u, Told) and isinstance(u.event, Sample)]
    taken = [s for o in outcomes(told) for s in o.result.samples_ms]
    assert [s.milliseconds for s in samples] == taken
    assert [o.result.parameters["n"] for o in outcomes(told)] == [16, 32, 48]
    assert told[-1].left == ()
    progress = sweep.progress
    assert (progress.total, progress.done, progress.failed, progress.left_s) == (3, 3, 0, 0)


@pytest.mark.parametrize(
    ("error", "kind", "title"),
    [
        (WorkerFailure("…", "illegal_access", fatal=True), "illegal_access", "illegal access"),
        (WorkerFailure("…", "timed_out", fatal=True), "timed_out", "hang, cut off"),
        (WorkerFailure("…", "out_of_memory"), "out_of_memory", "out of memory"),
        (CompileError("no"), "compile", "does not compile"),
        (ZeroDivisionError("a defect"), "defect", "unexpected error"),
    ],
)
def test_a_point_that_fails_is_told_and_the_next_is_measured(error, kind, title):
    gpu = FakeGpu(lambda job: error if job.subject.parameters["n"] == 32 else None)
    sweep, told = run(points(), gpu)
    first, second, third = outcomes(told)
    assert (second.result, second.failure.kind, second.failure.title) == (None, kind, title)
    assert first.failure is third.failure is None
    assert third.result.gflops > 0
    assert sweep.progress.failed == 1


def test_samples_before_a_death_are_kept():
    died = WorkerFailure("The worker was killed.", "worker_died", fatal=True)
    gpu = FakeGpu(lambda job: died if job.subject.parameters["n"] == 32 else None, cut=12)
    (_, cut, _) = outcomes(run(points(), gpu)[1])
    assert cut.failure.kind == "worker_died"
    assert len(cut.result.samples_ms) == 12
    assert cut.result.ended == "cut off"
    assert cut.result.gflops == pytest.approx(
        cut.result.flops / (sorted(cut.result.samples_ms)[5] + sorted(cut.result.samples_ms)[6])
        * 2 / 1e6
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_real_worker_process_dies_in_five_ways_and_the_sweep_goes_on(tmp_path):
    journal = Journal(tmp_path / "sweep.jsonl")
    work = points((16,), (7, 13, 14, 15, 16, 17, 8))
    with GpuWorker(stall_s=LIMIT) as gpu:
        _, told = run(work, gpu, keep=journal.keep)
    journal.close()
    found = outcomes(told)
    assert [o.failure and o.failure.kind for o in found] == [
        None, "worker_died", "timed_out", "illegal_access", "out_of_memory", "worker_died", None,
    ]  # fmt: skip
    assert "SIGSEGV" in found[1].failure.message
    assert [len(o.result.samples_ms) if o.result else 0 for o in found] == [20, 0, 0, 0, 0, 12, 20]
    assert len(read_results(journal.path)) == 3
    lines = [json.loads(line) for line in journal.path.read_text().splitlines()]
    assert [line["point"] for line in lines] == [p.key for p in work]
    assert lines[5]["failure"]["kind"] == "worker_died"


def test_what_is_kept_is_written_before_it_is_told(tmp_path):
    journal = Journal(tmp_path / "new" / "sweep.jsonl")
    seen = []

    def tell(update):
        if isinstance(update, Outcome):
            seen.append(len(read_journal(journal.path)))

    sweep = Sweep(points(), [Lane("GPU 0", FakeGpu())], Timing(), tell, journal.keep)
    sweep.start()
    assert sweep.wait(LIMIT)
    journal.close()
    assert seen == [1, 2, 3]
    with journal.path.open("a") as file:
        file.write('{"point": "half a li')  # the machine stopped here
    assert len(read_journal(journal.path)) == 3


def test_pause_and_resume():
    gpu, told, first = FakeGpu(), [], threading.Event()
    gpu.hold.clear()

    def tell(update):
        told.append(update)
        if isinstance(update, Told):
            first.set()

    sweep = Sweep(points(), [Lane("GPU 0", gpu)], Timing(), tell)
    sweep.start()
    assert first.wait(LIMIT)
    sweep.pause()
    gpu.hold.set()
    end = time.monotonic() + LIMIT
    while not outcomes(told) and time.monotonic() < end:
        time.sleep(0.005)
    assert not sweep.wait(0.2)
    assert len(outcomes(told)) == 1
    assert sweep.paused
    sweep.resume()
    assert sweep.wait(LIMIT)
    assert len(outcomes(told)) == 3


@pytest.mark.parametrize("now", [False, True])
def test_stop_keeps_what_was_measured(now):
    gpu, told, timing = FakeGpu(), [], threading.Event()
    gpu.hold.clear()

    def tell(update):
        told.append(update)
        if isinstance(update, Told) and isinstance(update.event, Sample) and update.event.index > 9:
            timing.set()

    sweep = Sweep(points(), [Lane("GPU 0", gpu)], Timing(), tell)
    sweep.start()
    assert timing.wait(LIMIT)
    sweep.pause()
    sweep.stop(now=now)
    assert sweep.wait(LIMIT)
    (only,) = outcomes(told)
    assert only.failure is None
    assert len(only.result.samples_ms) >= 10
    assert [p.parameters["n"] for p in told[-1].left] == [32, 48]


def test_two_gpus_share_the_work():
    one, two = FakeGpu(), FakeGpu()
    for gpu in (one, two):
        gpu.hold.clear()
    told = []
    sweep = Sweep(
        points((16, 32, 48, 64)), [Lane("GPU 0", one), Lane("GPU 1", two)], Timing(), told.append
    )
    sweep.start()
    end = time.monotonic() + LIMIT
    while not (one.jobs and two.jobs) and time.monotonic() < end:
        time.sleep(0.005)
    for gpu in (one, two):
        gpu.hold.set()
    assert sweep.wait(LIMIT)
    assert len(one.jobs) + len(two.jobs) == 4
    assert {o.lane for o in outcomes(told)} == {"GPU 0", "GPU 1"}
    assert sum(isinstance(update, Ended) for update in told) == 1


def test_a_point_that_comes_back_last_is_still_measured():
    """The other GPU has nothing to do by then, and waits for it."""
    other = FakeGpu()

    def late(job):
        end = time.monotonic() + LIMIT
        while len(other.jobs) < 2 and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(0.1)  # until it looks for another point
        return GpuUnavailable("The driver finds no GPU.")

    _, told = run(points((16, 32, 48)), FakeGpu(late), other)
    assert sorted(o.result.parameters["n"] for o in outcomes(told)) == [16, 32, 48]


def test_a_gpu_that_is_gone_leaves_its_points_to_the_others():
    gone = FakeGpu(lambda job: GpuUnavailable("The driver finds no GPU."))
    _, told = run(points((16, 32, 48, 64)), gone, FakeGpu())
    assert sorted(o.result.parameters["n"] for o in outcomes(told)) == [16, 32, 48, 64]
    if gone.jobs:
        assert len(gone.jobs) <= 2
    _, told = run(points(), gone)
    assert outcomes(told) == []
    closed = [update for update in told if isinstance(update, LaneClosed)]
    assert [update.why for update in closed] == ["The driver finds no GPU."]
    assert [p.parameters["n"] for p in told[-1].left] == [16, 32, 48]


def test_any_executor_will_do():
    with ThreadPoolExecutor(1) as pool:
        _, told = run(points(), pool)
    assert [len(o.result.samples_ms) for o in outcomes(told)] == [20, 20, 20]


def test_a_fault_in_the_receiver_loses_nothing(caplog):
    kept = []
    sweep = Sweep(points(), [Lane("GPU 0", FakeGpu())], Timing(), lambda _: 1 / 0, kept.append)
    sweep.start()
    assert sweep.wait(LIMIT)
    assert len(kept) == 3
    assert "ZeroDivisionError" in caplog.text
