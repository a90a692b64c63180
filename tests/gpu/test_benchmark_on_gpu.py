"""On a real GPU: results, timings, and what happens when a kernel misbehaves."""

import os
import signal

import numpy as np
import pytest

from core.errors import CompileError
from core.gpu.benchmark_job import BenchmarkJob, RungSubject, Timing, WorkloadSubject
from core.gpu.benchmark_run import run_benchmark
from core.gpu.driver_session import describe_devices
from core.gpu.events_and_failures import Sample, WorkerFailure
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from tests.gpu import in_worker

pytestmark = pytest.mark.gpu

QUICK = Timing(budget_s=0.5, minimum=5, launch_limit_s=10.0)


def subject(body, n=1000, truth=None, shared=0):
    rng = np.random.default_rng(11)
    x = rng.standard_normal(n, dtype=np.float32)
    y = np.full(n, np.nan, dtype=np.float32)
    launch = Launch(
        Dim3(-(-n // 128)),
        Dim3(128),
        (
            ArrayArgument("x", x),
            ArrayArgument("y", y, "output"),
            ScalarArgument("n", np.int32(n)),
        ),
        shared,
    )
    source = (
        "__global__ void probe(const float* x, float* y, int n)\n"
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + body + "\n}"
    )
    expected = None if truth is None else lambda: {"y": truth(x.astype(np.float64))}
    workload = Workload("probe", source, "probe.cu", "probe", launch, expected=expected, flops=n)
    return WorkloadSubject.of(workload)


def run(gpu, job_subject, timing=QUICK):
    return gpu.submit(run_benchmark, BenchmarkJob(job_subject, timing)).result(timeout=120)


def test_the_clock_of_the_sms_is_measured_where_launches_are_long_enough(gpu):
    highest = describe_devices()[0].clock_mhz
    for n, is_long in ((2048, True), (64, False)):
        found = run(gpu, RungSubject("tiled", {"n": n, "tile": 32})).readings.launch_mhz
        assert (found is not None) == is_long
        assert found is None or 0.3 * highest < found < 1.02 * highest


@pytest.mark.parametrize(
    ("rung", "parameters"),
    [
        ("uncoalesced", {"n": 256}),
        ("coalesced", {"n": 333}),
        ("tiled", {"n": 512, "tile": 32}),
        ("tiled_bounds", {"n": 333, "tile": 16}),
        ("tiled_rect", {"m": 97, "k": 211, "n": 150, "tile": 16}),
        ("aat_strided", {"n": 256}),
        ("aat_shared", {"n": 256, "tile": 32}),
        ("aat_padded", {"n": 256, "tile": 32}),
    ],
)
def test_rung_is_right_and_timed(gpu, rung, parameters):
    samples = []
    job = BenchmarkJob(RungSubject(rung, parameters), QUICK)
    result = gpu.stream(samples.append, run_benchmark, job).result(timeout=120)
    taken = [e.milliseconds for e in samples if isinstance(e, Sample)]
    assert result.ok is True
    assert taken == list(result.samples_ms)
    assert result.p5_ms <= result.median_ms <= result.p95_ms
    assert result.gflops == pytest.approx(result.flops / (result.median_ms * 1e-3) / 1e9)
    assert result.l2_flushed
    assert result.flush_bytes > result.device.l2_bytes
    assert result.registers > 0


def test_user_kernel_is_checked(gpu):
    right = run(gpu, subject("if (i < n) y[i] = 3 * x[i];", truth=lambda x: 3 * x))
    assert right.ok is True
    wrong = run(gpu, subject("if (i < n) y[i] = 3 * x[i] + 1e-3f;", truth=lambda x: 3 * x))
    assert wrong.ok is False
    assert wrong.samples_ms == ()
    forgot = run(gpu, subject("if (i < n - 1) y[i] = 3 * x[i];", truth=lambda x: 3 * x))
    assert forgot.ok is False
    assert forgot.checks[0].unwritten == 1
    unknown = run(gpu, subject("if (i < n) y[i] = x[i];"))
    assert unknown.ok is None
    assert unknown.samples_ms


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("y[i + (1LL << 40)] = 1;", "illegal_access"),
        ("*(float*)((char*)y + 1) = 1;", "kernel_fault"),
        ("__trap();", "kernel_fault"),
        ("volatile float* v = y; while (v[0] != 42.0f) { }", "timed_out"),
    ],
)
def test_a_bad_kernel_is_told_and_survived(gpu, body, kind):
    timing = Timing(budget_s=0.5, launch_limit_s=3.0)
    with pytest.raises(WorkerFailure) as caught:
        run(gpu, subject(body), timing)
    assert caught.value.kind == kind, str(caught.value)
    again = run(gpu, subject("if (i < n) y[i] = 2 * x[i];", truth=lambda x: 2 * x))
    assert again.ok is True


def test_too_large_for_the_card(gpu):
    memory = gpu.submit(describe_devices).result(timeout=60)[0].memory_bytes
    with pytest.raises(WorkerFailure) as caught:
        gpu.submit(in_worker.allocate, memory + 4).result(timeout=60)
    assert caught.value.kind == "out_of_memory"
    assert run(gpu, subject("if (i < n) y[i] = x[i];")).samples_ms


def test_refused_launches(gpu):
    with pytest.raises(WorkerFailure) as caught:
        run(gpu, subject("extern __shared__ float s[]; y[i] = s[i];", shared=1 << 20))
    assert not caught.value.fatal
    with pytest.raises(CompileError) as compile_error:
        run(gpu, subject("y[i] = z;"))
    assert compile_error.value.diagnostics[0].line == 3


def test_killed_in_the_midst_of_timing(gpu):
    job = BenchmarkJob(RungSubject("tiled", {"n": 512, "tile": 16}), Timing(stable=0, budget_s=60))
    killed = []

    def kill_at_third(event):
        if isinstance(event, Sample) and event.index == 3 and not killed:
            killed.append(os.kill(gpu.pid, signal.SIGKILL))

    with pytest.raises(WorkerFailure) as caught:
        gpu.stream(kill_at_third, run_benchmark, job).result(timeout=60)
    assert caught.value.kind == "worker_died"
    assert "timing" in str(caught.value)
    assert run(gpu, RungSubject("tiled", {"n": 64, "tile": 16})).ok is True


def test_stopped_early_keeps_what_was_measured(gpu):
    job = BenchmarkJob(
        RungSubject("tiled", {"n": 512, "tile": 16}),
        Timing(stable=0, budget_s=60, maximum=10**6),
    )

    def stop_at_tenth(event):
        if isinstance(event, Sample) and event.index == 10:
            gpu.stop()

    result = gpu.stream(stop_at_tenth, run_benchmark, job).result(timeout=60)
    assert result.ended == "stopped"
    assert len(result.samples_ms) > 10
    assert result.median_ms > 0


def test_memory_is_given_back(gpu):
    def free():
        return gpu.submit(in_worker.free_memory).result(timeout=60)

    run(gpu, RungSubject("tiled", {"n": 1024, "tile": 16}))
    before = free()
    for _ in range(3):
        run(gpu, RungSubject("tiled", {"n": 1024, "tile": 16}))
    assert free() >= before - (8 << 20)
