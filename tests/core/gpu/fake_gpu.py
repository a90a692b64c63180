"""A GPU for tests on machines without one: it measures nothing, and says so in its name."""

import threading
from concurrent.futures import Executor, Future
from dataclasses import replace

from core.errors import GpuUnavailable
from core.gpu.benchmark_result import BenchmarkResult, DeviceReport, Readings, with_samples
from core.gpu.events_and_failures import Begun, Sample, Sensed, Stage, WorkerFailure

FAKE_DEVICE = DeviceReport(
    0, "Fake GPU", (9, 0), 132, 1980.0, 3201.0, 6144, 150 << 30, 60 << 20, 228 << 10, 227 << 10,
    65536, 2048, "580.1", "13.0",
)  # fmt: skip


_PARSING = threading.Lock()  # ast.parse in two threads at once fails in Python 3.11.0 to 3.11.7


def begun_for(job, device=FAKE_DEVICE):
    """The result before timing, from the job's own workload."""
    with _PARSING:
        workload = job.subject.workload()
    launch = workload.launch
    return BenchmarkResult(
        device, "2026-11-21T10:00:00+00:00", workload.title, workload.rung, workload.kernel,
        dict(workload.parameters), job.subject.seed, (launch.grid.x, launch.grid.y, launch.grid.z),
        (launch.block.x, launch.block.y, launch.block.z), launch.shared_bytes, workload.flops, (),
        None, None, None, None, None, None, "cut off", 3, True, 240 << 20, (), 32, 2048, 0, "sm_90",
        "13.5", Readings(), (), workload.source_name, "abc", 12 * workload.parameters.get("n", 1),
    )  # fmt: skip


def fake_samples(job, count=20, begun=None):
    """Times that grow with the work: 1 ms for 10^9 operations, 3 % spread."""
    flops = (begun or begun_for(job)).flops or 10**9
    return [flops / 1e9 * (1 + 0.03 * ((7 * i) % 11) / 11) for i in range(count)]


def fake_benchmark(job):
    """What a worker process runs in place of a benchmark; misbehaves as the job's seed says."""
    import os
    import signal
    import time

    from core.gpu.events_and_failures import report, stop

    report(Stage("running the kernel once", 1.0))
    if job.subject.seed == 13:
        os.kill(os.getpid(), signal.SIGSEGV)
    if job.subject.seed == 14:
        time.sleep(60)
    if job.subject.seed == 15:
        raise WorkerFailure("The kernel read what it must not.", "illegal_access", fatal=True)
    if job.subject.seed == 16:
        raise WorkerFailure("The arrays need 500 GB.", "out_of_memory")
    begun = begun_for(job)
    report(Begun(begun))
    report(Stage("timing", 5.0))
    taken = []
    for index, value in enumerate(fake_samples(job)):
        taken.append(value)
        report(Sample(index, value, 1.0))
        if job.subject.seed == 17 and index == 11:
            time.sleep(0.2)  # lets the frames out
            os.kill(os.getpid(), signal.SIGKILL)
        if stop.is_set():
            return with_samples(begun, taken, "stopped", Readings())
    return with_samples(begun, taken, "stable", Readings(1980.0))


class FakeGpu(Executor):
    """Streams samples as a real worker does. `hold` is waited for before each result.

    `faults` gives the exception of a job, or None; it is raised after `cut` samples.
    """

    def __init__(self, faults=lambda job: None, cut=0, device=FAKE_DEVICE):
        self.faults, self.cut, self.device = faults, cut, device
        self.hold = threading.Event()
        self.hold.set()
        self.jobs, self.stops, self.kills, self.closed = [], 0, 0, False
        self._killed = threading.Event()

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_result((self.device,))
        return future

    def stream(self, on_event, fn, job):
        future = Future()
        self.jobs.append(job)
        self._killed.clear()
        threading.Thread(target=self._run, args=(on_event, job, future)).start()
        return future

    def _run(self, on_event, job, future):
        try:
            on_event(Stage("compiling"))
            error = self.faults(job)
            if isinstance(error, GpuUnavailable):
                raise error
            begun = begun_for(job, self.device)
            on_event(Begun(begun))
            taken = []
            for index, value in enumerate(fake_samples(job, begun=begun)):
                if error is not None and index == self.cut:
                    raise error
                taken.append(value)
                on_event(Sample(index, value, (begun.flops or 0) / value / 1e6))
            on_event(Sensed(Readings(1755.0, 3201.0, 41.0, 300.0)))
            while not self.hold.wait(0.01):
                if self._killed.is_set():
                    raise WorkerFailure("killed", "worker_died", fatal=True)
            future.set_result(with_samples(begun, taken, "stable", Readings(1980.0)))
        except Exception as failure:  # noqa: BLE001 - as the worker hands it over
            future.set_exception(failure)

    def stop(self):
        self.stops += 1
        self.hold.set()

    def kill(self):
        self.kills += 1
        self._killed.set()

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.closed = True


def second_gpu():
    """The same GPU once more, as another of the machine."""
    return replace(FAKE_DEVICE, ordinal=1)
