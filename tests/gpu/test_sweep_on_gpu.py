"""Sweeps on a real GPU: faults in the midst of them, cuBLAS, a file of one's own, several GPUs."""

import os
import signal

import numpy as np
import pytest

from core.errors import TilescopeError
from core.gpu.benchmark_job import BenchmarkJob, CublasSubject, RungSubject, Timing
from core.gpu.benchmark_run import run_benchmark
from core.gpu.driver_session import describe_devices
from core.gpu.events_and_failures import Sample
from core.gpu.result_files import Journal, read_results
from core.gpu.sweep import Lane, LaneClosed, Outcome, Sweep, Told
from core.gpu.sweep_plan import FileKernel, RungKernel, make_plan
from core.gpu.worker_process import GpuWorker
from core.ladder import load_ladder
from core.user_files.launch_texts import FileLaunch

pytestmark = pytest.mark.gpu

QUICK = Timing(budget_s=0.4, minimum=5, launch_limit_s=3.0)
LADDER = load_ladder()
ARGUMENTS = (("x", "float32[{n}]"), ("y", "float32[{n}]"))


def own(body, n=4096):
    """A sweep's point of a kernel that does `body` to the element i of x and y."""
    source = (
        'extern "C" __global__ void probe(const float* x, float* y)\n'
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; " + body + " }\n"
    )
    launch = FileLaunch("probe.cu", "probe", "{n // 128}", "128", "0", "", ARGUMENTS)
    kernel = FileKernel(source, launch, "n", "y = x + x" if "2 *" in body else "")
    return make_plan([kernel], {"n": (n,)}).points[0]


def tiled(n):
    return make_plan([RungKernel(LADDER["tiled"])], {"n": (n,), "tile": (16,)}).points[0]


def run(points, lanes, tell=lambda update: None, keep=None, timing=QUICK):
    told = []

    def hear(update):
        told.append(update)
        tell(update)

    sweep = Sweep(points, lanes, timing, hear, keep)
    sweep.start()
    assert sweep.wait(200)
    return told


def test_a_sweep_survives_every_fault(gpu, tmp_path):
    memory = gpu.submit(describe_devices).result(timeout=60)[0].memory_bytes
    points = [
        tiled(256),
        own("y[i + (1LL << 40)] = x[i];"),
        own("volatile float* v = y; while (v[0] != 42.0f) { }"),
        own("y[i] = 2 * x[i];"),
        own("y[i] = z;"),
        tiled(512),
        own("y[i] = 2 * x[i] + 1e-3f;"),
        tiled(1024),
    ]
    killed = []

    def kill_in_the_second_tiled(update):
        if (
            isinstance(update, Told)
            and update.point is points[5]
            and isinstance(update.event, Sample)
            and update.event.index == 7
            and not killed
        ):
            killed.append(os.kill(gpu.pid, signal.SIGKILL))

    journal = Journal(tmp_path / "sweep.jsonl")
    long = Timing(budget_s=2.0, stable=0, minimum=5, launch_limit_s=3.0)
    told = run(points, [Lane("GPU 0", gpu)], kill_in_the_second_tiled, journal.keep, long)
    journal.close()
    found = [update for update in told if isinstance(update, Outcome)]
    assert [o.failure and o.failure.kind for o in found] == [
        None, "illegal_access", "timed_out", None, "compile", "worker_died", None, None,
    ]  # fmt: skip
    assert found[0].result.ok
    assert found[3].result.ok
    assert found[7].result.ok
    assert len(found[5].result.samples_ms) >= 8
    assert found[5].result.ended == "cut off"
    assert found[5].result.ok
    assert found[6].result.ok is False
    assert found[6].result.samples_ms == ()
    assert read_results(journal.path) == tuple(o.result for o in found if o.result)
    assert memory > 0


def test_an_allocation_larger_than_the_card_in_a_sweep(gpu):
    memory = gpu.submit(describe_devices).result(timeout=60)[0].memory_bytes
    from tests.gpu import in_worker

    hold = gpu.submit(in_worker.fill_memory, 600 << 20).result(timeout=60)
    try:
        told = run([tiled(8192), tiled(256)], [Lane("GPU 0", gpu)])
    finally:
        gpu.submit(in_worker.empty_memory).result(timeout=60)
    large, small = [update for update in told if isinstance(update, Outcome)]
    assert hold > memory // 2
    assert large.failure.kind == "out_of_memory"
    assert small.result.ok


def test_cublas_is_right_and_timed(gpu):
    for parameters in ({"n": 1024}, {"m": 96, "n": 200, "k": 333}):
        job = BenchmarkJob(CublasSubject(parameters), QUICK)
        try:
            result = gpu.submit(run_benchmark, job).result(timeout=120)
        except TilescopeError as error:
            pytest.skip(str(error))
        assert result.ok is True
        assert result.kernel == "cublasSgemm"
        assert result.gflops > 0
    ours = gpu.submit(
        run_benchmark, BenchmarkJob(RungSubject("tiled", {"n": 2048, "tile": 16}), QUICK)
    ).result(timeout=120)
    theirs = gpu.submit(run_benchmark, BenchmarkJob(CublasSubject({"n": 2048}), QUICK)).result(
        timeout=120
    )
    assert theirs.gflops > ours.gflops


def test_effective_bandwidth_stays_under_the_dram_peak(gpu):
    plan = make_plan([RungKernel(LADDER["vector_add"])], {"n": (1 << 26,), "block_x": (256,)})
    (outcome,) = [u for u in run(plan.points, [Lane("GPU 0", gpu)]) if isinstance(u, Outcome)]
    result = outcome.result
    assert result.bytes_once == 3 * 4 * (1 << 26)
    assert 0.5 * result.device.bandwidth_gbs < result.effective_gbs < result.device.bandwidth_gbs


def test_an_edited_rung(gpu):
    source = LADDER["tiled"].source.replace("value +=", "value -=")
    job = BenchmarkJob(RungSubject("tiled", {"n": 64, "tile": 16}, 7, source), QUICK)
    result = gpu.submit(run_benchmark, job).result(timeout=60)
    assert result.ok is False
    assert "edited" in result.title


def test_spread_over_all_gpus(gpu):
    count = len(gpu.submit(describe_devices).result(timeout=60))
    if count < 2:
        pytest.skip("one GPU only")
    points = make_plan(
        [RungKernel(LADDER[name]) for name in ("tiled", "coalesced")],
        {"n": (512, 1024, 2048), "tile": (16, 32)},
    ).points
    workers = [GpuWorker(number) for number in range(count)]
    lanes = [Lane(f"GPU {number}", worker) for number, worker in enumerate(workers)]
    try:
        told = run(points, lanes)
    finally:
        for worker in workers:
            worker.shutdown()
    found = [update for update in told if isinstance(update, Outcome)]
    assert sorted(o.point.key for o in found) == sorted(p.key for p in points)
    assert all(o.result.ok for o in found)
    assert {o.result.device.ordinal for o in found} == set(range(count))
    assert not any(isinstance(update, LaneClosed) for update in told)
    by_size = {n: [o.result.gflops for o in found if o.point.parameters["n"] == n] for n in (512,)}
    assert np.all(np.array(by_size[512]) > 0)
