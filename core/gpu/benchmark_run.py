"""A benchmark job, as the worker process runs it: compile, check, time, report each sample."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import platform
import statistics
import sys
import time
from dataclasses import dataclass, replace
from importlib import metadata

from core.compiler import nvrtc
from core.compiler.compile_ptx_and_cubin import workload_cubin
from core.errors import GpuUnavailable
from core.gpu import driver_session, events_and_failures
from core.gpu.benchmark_job import BenchmarkJob, CublasSubject, Timing
from core.gpu.benchmark_result import BenchmarkResult, Readings, gflops, is_stable, with_samples
from core.gpu.driver_session import Session
from core.gpu.events_and_failures import Begun, Sample, Sensed, Stage, report
from core.gpu.loaded_launch import CublasProduct, Launchable, LoadedKernel
from core.gpu.result_check import Check, check
from core.launch import Dim3, Launch, Workload

# The median is looked at again after this many further samples: sorting is not free.
_LOOK_EVERY = 10
_SENSE_EVERY_S = 0.25


def run_benchmark(job: BenchmarkJob) -> BenchmarkResult:
    """Benchmarks one kernel on this process's device.

    Reports a Stage before each part, Begun before timing and a Sample for each timed launch. Raises
    GpuUnavailable, WorkerFailure, CompileError, ParameterError. A wrong result is not timed: the
    result says so.
    """
    report(Stage("starting the GPU", 120.0))
    here = driver_session.current()
    report(Stage("preparing the arrays", 300.0))
    workload = job.subject.workload()
    report(Stage("compiling", 120.0))
    built, kernel = _load(job, workload, here)
    with here.using(kernel):
        kernel.reset()
        report(Stage("running the kernel once", job.timing.launch_limit_s))
        kernel.run()
        report(Stage("checking the result against float64", 600.0))
        checks = check(workload, kernel.outputs(), job.subject.seed or 0)
        begun = _result(job, workload, here, kernel, checks, built)
        if all(c.ok for c in checks):
            return _time(kernel, begun, job)
        wrong = replace(begun, warm_up=0, l2_flushed=False)
        return with_samples(wrong, (), "wrong result", here.sensors.read())


def _load(job: BenchmarkJob, workload: Workload, here: Session) -> tuple[Built, Launchable]:
    if isinstance(job.subject, CublasSubject):
        product = CublasProduct(here, workload.launch)
        return Built(b"", "", "cuBLAS", product.version, ()), product
    built = build_for(workload, here.report.compute_capability)
    return built, LoadedKernel(here, built.cubin, built.entry, workload.launch)


def _time(kernel: Launchable, begun: BenchmarkResult, job: BenchmarkJob) -> BenchmarkResult:
    """Takes samples until the median is stable or the budget is spent."""
    timing, sensors = job.timing, driver_session.current().sensors
    report(Stage("warming up", timing.launch_limit_s * max(timing.warm_up, 1)))
    for _ in range(timing.warm_up):
        kernel.time(flush=timing.flush_l2)
    begun = replace(begun, l2_flushed=kernel.flush_bytes > 0, flush_bytes=kernel.flush_bytes)
    report(Begun(begun))
    report(Stage("timing", timing.launch_limit_s))
    samples: list[float] = []
    clocks: list[float] = []
    began = time.monotonic()
    sensed, seen, ended = 0.0, Readings(), ""
    while not ended:
        samples.append(kernel.time(flush=timing.flush_l2))
        if kernel.sm_mhz is not None:
            clocks.append(kernel.sm_mhz)
        report(Sample(len(samples) - 1, samples[-1], gflops(begun.flops, samples[-1])))
        now = time.monotonic()
        if now - sensed >= _SENSE_EVERY_S:
            sensed, seen = now, with_lowest(sensors.read(), seen)
            report(Sensed(seen))
        ended = _reason_to_end(samples, timing, now - began)
    # Read at once, while the clocks still are what the last launches ran at.
    last = with_lowest(sensors.read(), seen)
    if 2 * len(clocks) > len(samples):  # a short launch that was held up once says nothing
        last = replace(last, launch_mhz=statistics.median(clocks))
    return with_samples(begun, samples, ended, last)


def with_lowest(now: Readings, before: Readings) -> Readings:
    """The present readings, with the lowest SM clock of these and of those before."""
    clocks = [mhz for mhz in (now.sm_mhz, before.lowest_sm_mhz) if mhz is not None]
    return replace(now, lowest_sm_mhz=min(clocks, default=None))


def _reason_to_end(samples: list[float], timing: Timing, elapsed_s: float) -> str:
    if events_and_failures.stop.is_set():
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


def _result(
    job: BenchmarkJob,
    workload: Workload,
    here: Session,
    kernel: Launchable,
    checks: tuple[Check, ...],
    built: Built,
) -> BenchmarkResult:
    """The result before timing."""
    return BenchmarkResult(
        device=here.report,
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        title=workload.title,
        rung=workload.rung,
        kernel=workload.kernel,
        parameters=dict(workload.parameters),
        seed=job.subject.seed,
        grid=_triple(workload.launch.grid),
        block=_triple(workload.launch.block),
        dynamic_shared_bytes=workload.launch.shared_bytes,
        flops=workload.flops,
        samples_ms=(),
        median_ms=None,
        p5_ms=None,
        p95_ms=None,
        gflops=None,
        gflops_p5=None,
        gflops_p95=None,
        ended="cut off",
        warm_up=job.timing.warm_up,
        l2_flushed=job.timing.flush_l2,
        flush_bytes=0,
        checks=checks,
        registers=kernel.registers,
        static_shared_bytes=kernel.static_shared_bytes,
        local_bytes=kernel.local_bytes,
        architecture=built.architecture,
        nvrtc=built.compiler,
        readings=Readings(),
        notes=built.notes,
        source_name=workload.source_name,
        source_digest=hashlib.sha256(workload.source.encode()).hexdigest()[:12],
        bytes_once=workload.nbytes or bytes_once(workload.launch),
        software=software(),
    )


def bytes_once(launch: Launch) -> int:
    """Bytes that a launch must read and write, each of its arrays' bytes once each way."""
    return sum(a.data.nbytes * (2 if a.role == "inout" else 1) for a in launch.arrays)


def software() -> dict[str, str]:
    """Versions of what measured; of the packages that drive a GPU, of the one that did."""
    found = {"python": platform.python_version(), "system": platform.system()}
    drives = "cuda-bindings" if "cuda.bindings.driver" in sys.modules else "pycuda"
    for name in ("tilescope", drives):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _triple(size: Dim3) -> tuple[int, int, int]:
    return size.x, size.y, size.z


@dataclass(frozen=True)
class Built:
    """A cubin and its kernel's name in it. `architecture` is what it was compiled for ("sm_90")."""

    cubin: bytes
    entry: str
    architecture: str
    compiler: str  # NVRTC's version, "13.0"
    notes: tuple[str, ...]


def build_for(workload: Workload, capability: tuple[int, int]) -> Built:
    """Compiles a workload; notes say where it is not for the device's own compute capability.

    Raises CompileError, and GpuUnavailable where NVRTC makes nothing that the device runs.
    """
    chosen = nearest_architecture(capability, nvrtc.architectures())
    cubin, entry = workload_cubin(workload, chosen)
    notes: tuple[str, ...] = ()
    if chosen != capability:
        notes = (
            f"NVRTC does not know compute capability {capability[0]}.{capability[1]}; "
            f"compiled for {chosen[0]}.{chosen[1]} instead.",
        )
    return Built(
        cubin=cubin,
        entry=entry,
        architecture=f"sm_{chosen[0]}{chosen[1]}",
        compiler=nvrtc.version(),
        notes=notes,
    )


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
