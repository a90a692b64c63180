"""A benchmark job, as the worker process runs it: compile, check, time, report each sample."""

from __future__ import annotations

import datetime
import importlib
import time
from dataclasses import dataclass
from typing import Any

from core.compiler import compile_cubin, cubin_entries, resolve_entry
from core.errors import GpuUnavailable
from core.gpu import session
from core.gpu.check import Check, check
from core.gpu.jobs import BenchmarkJob, RungSubject, Timing
from core.gpu.reporting import Sample, Stage, report, stop_requested
from core.gpu.result import BenchmarkResult, Readings
from core.gpu.session import LoadedKernel, Session
from core.gpu.statistics import is_stable, summarise
from core.launch import Dim3, Workload

# The median is looked at again after this many further samples: sorting is not free.
_LOOK_EVERY = 10


def run_benchmark(job: BenchmarkJob) -> BenchmarkResult:
    """Benchmarks one kernel on this process's device.

    Reports a Stage before each part and a Sample for each timed launch. Raises GpuUnavailable,
    WorkerFailure, CompileError, ParameterError. A wrong result is not timed: the result says so.
    """
    report(Stage("starting the GPU", 120.0))
    here = session.current()
    report(Stage("preparing the arrays", 300.0))
    workload = job.subject.workload()
    report(Stage("compiling", 120.0))
    cubin, architecture, notes = _compile(workload, here.report.compute_capability)
    entry = resolve_entry(cubin_entries(cubin), workload.kernel, workload.source_name)
    limit = job.timing.launch_limit_s
    with here.load(cubin, entry, workload.launch) as kernel:
        kernel.reset()
        report(Stage("running the kernel once", limit))
        kernel.run()
        report(Stage("checking the result against float64", 600.0))
        seed = job.subject.seed if isinstance(job.subject, RungSubject) else None
        checks = check(workload, kernel.outputs(), seed or 0)
        if all(c.ok for c in checks):
            timed = _time(kernel, workload, job.timing, here)
        else:
            timed = _Timed((), "wrong result", here.sensors.read())
        return _result(job, workload, here, kernel, checks, timed, architecture, notes)


@dataclass(frozen=True)
class _Timed:
    samples: tuple[float, ...]
    ended: str
    readings: Readings


def _time(kernel: LoadedKernel, workload: Workload, timing: Timing, here: Session) -> _Timed:
    report(Stage("warming up", timing.launch_limit_s * max(timing.warm_up, 1)))
    for _ in range(timing.warm_up):
        kernel.time(flush=timing.flush_l2)
    report(Stage("timing", timing.launch_limit_s))
    samples: list[float] = []
    began = time.monotonic()
    ended = ""
    while not ended:
        samples.append(kernel.time(flush=timing.flush_l2))
        report(Sample(len(samples) - 1, samples[-1], gflops(workload.flops, samples[-1])))
        ended = _reason_to_end(samples, timing, time.monotonic() - began)
    # Read at once, while the clocks still are what the last launches ran at.
    return _Timed(tuple(samples), ended, here.sensors.read())


def _reason_to_end(samples: list[float], timing: Timing, elapsed_s: float) -> str:
    if stop_requested():
        return "stopped"
    if elapsed_s >= timing.budget_s:
        return "budget"
    if len(samples) >= timing.maximum:
        return "sample limit"
    if len(samples) % _LOOK_EVERY == 0 and is_stable(
        samples, minimum=timing.minimum, relative=timing.stable
    ):
        return "stable"
    return ""


def gflops(flops: int | None, milliseconds: float) -> float | None:
    """10^9 operations a second; None where the work is unknown or the time is 0."""
    return None if flops is None or milliseconds <= 0 else flops / (milliseconds / 1e3) / 1e9


def _result(
    job: BenchmarkJob,
    workload: Workload,
    here: Session,
    kernel: LoadedKernel,
    checks: tuple[Check, ...],
    timed: _Timed,
    architecture: str,
    notes: tuple[str, ...],
) -> BenchmarkResult:
    summary = summarise(timed.samples) if timed.samples else None
    flops = workload.flops
    return BenchmarkResult(
        device=here.report,
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        title=workload.title,
        rung=workload.rung,
        kernel=workload.kernel,
        parameters=dict(workload.parameters),
        seed=job.subject.seed if isinstance(job.subject, RungSubject) else None,
        grid=_triple(workload.launch.grid),
        block=_triple(workload.launch.block),
        dynamic_shared_bytes=workload.launch.shared_bytes,
        flops=flops,
        samples_ms=timed.samples,
        median_ms=None if summary is None else summary.median,
        p5_ms=None if summary is None else summary.p5,
        p95_ms=None if summary is None else summary.p95,
        gflops=None if summary is None else gflops(flops, summary.median),
        gflops_p5=None if summary is None else gflops(flops, summary.p95),
        gflops_p95=None if summary is None else gflops(flops, summary.p5),
        ended=timed.ended,
        warm_up=job.timing.warm_up if timed.samples else 0,
        l2_flushed=kernel.flush_bytes > 0,
        flush_bytes=kernel.flush_bytes,
        checks=checks,
        registers=kernel.registers,
        static_shared_bytes=kernel.static_shared_bytes,
        local_bytes=kernel.local_bytes,
        architecture=architecture,
        nvrtc=".".join(str(int(part)) for part in _nvrtc().nvrtcVersion()[1:]),
        readings=timed.readings,
        notes=notes,
    )


def _triple(size: Dim3) -> tuple[int, int, int]:
    return size.x, size.y, size.z


def _nvrtc() -> Any:
    return importlib.import_module("cuda.bindings.nvrtc")


def _compile(workload: Workload, capability: tuple[int, int]) -> tuple[bytes, str, tuple[str, ...]]:
    """The cubin, what it was compiled for, and a note where that is not the device's own."""
    status, *answer = _nvrtc().nvrtcGetSupportedArchs()
    known = [int(number) for number in answer[-1]] if answer and not int(status) else []
    chosen = nearest_architecture(capability, known) if known else capability
    cubin = compile_cubin(
        workload.source,
        source_name=workload.source_name,
        defines=workload.defines,
        compute_capability=chosen,
    )
    architecture = f"sm_{chosen[0]}{chosen[1]}"
    if chosen == capability:
        return cubin, architecture, ()
    note = (
        f"NVRTC does not know compute capability {capability[0]}.{capability[1]}; "
        f"compiled for {chosen[0]}.{chosen[1]} instead."
    )
    return cubin, architecture, (note,)


def nearest_architecture(capability: tuple[int, int], supported: list[int]) -> tuple[int, int]:
    """The newest architecture NVRTC knows whose machine code this device runs.

    Machine code runs on the same major revision with an equal or higher minor one (CUDA C++
    Programming Guide, Binary Compatibility). `supported` is NVRTC's list, 90 for 9.0; raises
    GpuUnavailable where none fits.
    """
    known = [divmod(number, 10) for number in supported]
    fitting = [c for c in known if c[0] == capability[0] and c[1] <= capability[1]]
    if not fitting:
        there = ", ".join(f"{major}.{minor}" for major, minor in sorted(known))
        raise GpuUnavailable(
            f"The installed NVRTC makes no machine code for compute capability "
            f"{capability[0]}.{capability[1]} (it knows {there}): install another version of "
            "nvidia-cuda-nvrtc."
        )
    return max(fitting)
