"""A sweep: its points measured one after another on one GPU, or spread over several.

    sweep = Sweep(plan.points, [Lane("GPU 0", GpuWorker(0))], Timing(), print)
    sweep.start()
    sweep.wait()

A point that fails is reported with its reason, and the sweep goes on with the next; samples taken
before a worker died are kept. A lane's executor may be any `concurrent.futures.Executor`; one
without `stream` gives its samples at the end of each point.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

from core.errors import CompileError, GpuUnavailable, TilescopeError
from core.gpu.benchmark_job import BenchmarkJob, Timing
from core.gpu.benchmark_result import BenchmarkResult, Readings, with_samples
from core.gpu.benchmark_run import run_benchmark
from core.gpu.events_and_failures import Begun, Event, Sample, Sensed, Stage, WorkerFailure
from core.gpu.sweep_plan import Point

log = logging.getLogger(__name__)

# A GPU that cannot be reached twice in a row is given up; the other lanes take its points.
_TRIES = 2
FAILURES = {
    "illegal_access": "illegal access",
    "kernel_fault": "kernel fault",
    "timed_out": "hang, cut off",
    "out_of_memory": "out of memory",
    "launch_refused": "launch refused",
    "worker_died": "worker died",
    "driver": "driver error",
    "unavailable": "GPU gone",
    "compile": "does not compile",
    "refused": "cannot be run",
    "defect": "unexpected error",
}
_REFUSALS = {GpuUnavailable: "unavailable", CompileError: "compile", TilescopeError: "refused"}


# -- what a sweep says while it runs: points begun, samples, outcomes, and what went wrong ---------


@dataclass(frozen=True)
class Failure:
    """Why a point has no whole result: a key of FAILURES, and a sentence."""

    kind: str
    message: str

    @property
    def title(self) -> str:
        """The kind in two or three words."""
        return FAILURES.get(self.kind, self.kind)


def failure_of(error: BaseException) -> Failure:
    """What an exception of a job stands for."""
    if isinstance(error, WorkerFailure):
        return Failure(error.kind, str(error))
    for kind, name in _REFUSALS.items():
        if isinstance(error, kind):
            return Failure(name, str(error))
    if isinstance(error, MemoryError):
        return Failure("out_of_memory", "This machine has too little memory for the arrays.")
    return Failure("defect", f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class Outcome:
    """What became of a point. Result and failure both: the worker ended before the point did."""

    point: Point
    lane: str
    seconds: float
    result: BenchmarkResult | None = None
    failure: Failure | None = None


@dataclass(frozen=True)
class Started:
    """A lane begins a point."""

    point: Point
    lane: str


@dataclass(frozen=True)
class Told:
    """The job of a point says something."""

    point: Point
    lane: str
    event: Event


@dataclass(frozen=True)
class LaneClosed:
    """A lane's GPU cannot be reached any more."""

    lane: str
    why: str


@dataclass(frozen=True)
class Ended:
    """Nothing runs any more. `left` are the points that were not measured."""

    left: tuple[Point, ...]


Update = Started | Told | Outcome | LaneClosed | Ended


@dataclass(frozen=True)
class Progress:
    """How far a sweep is. `left_s` is an estimate, None before the first point is done."""

    total: int
    done: int
    failed: int
    left_s: float | None


# -- running it -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lane:
    """A GPU that takes points: what it is called, and what runs its jobs."""

    name: str
    executor: Executor


class Sweep:
    """Runs points; every method returns at once, but `wait`.

    `tell` gets each update, from the lanes' threads, one at a time. `keep` gets each outcome before
    that, and is where they are written down. `measure` is what a lane's executor runs.
    """

    def __init__(
        self,
        points: Sequence[Point],
        lanes: Sequence[Lane],
        timing: Timing,
        tell: Callable[[Update], None],
        keep: Callable[[Outcome], None] | None = None,
        measure: Callable[[BenchmarkJob], BenchmarkResult] = run_benchmark,
    ) -> None:
        self._total = len(points)
        self._waiting = deque(points)
        self._lanes = tuple(lanes)
        self._timing, self._tell, self._job = timing, tell, measure
        self._keep = keep or (lambda outcome: None)
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)  # a lane has done a point, or is to stop
        self._told = threading.RLock()
        self._go = threading.Event()
        self._go.set()
        self._stopped = False
        self._done: list[Outcome] = []
        self._running: dict[str, float] = {}
        self._open = len(self._lanes)
        self._threads = [
            threading.Thread(target=self._serve, args=(lane,), name=lane.name, daemon=True)
            for lane in self._lanes
        ]

    # ---- what the user does

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def pause(self) -> None:
        """Begin no further point; those that run are finished."""
        with self._lock:
            if self._go.is_set() and not self._stopped:
                self._go.clear()

    def resume(self) -> None:
        """Go on."""
        self._go.set()

    def stop(self, *, now: bool = False) -> None:
        """Begin no further point, and finish those that run with what they have.

        With `now` their workers are ended at once; the samples that have come are kept.
        """
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self.resume()
        for lane in self._lanes:
            _end(lane.executor, now=now)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; False if it did not come in `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for thread in self._threads:
            thread.join(None if deadline is None else max(deadline - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in self._threads)

    # ---- how far it is

    @property
    def paused(self) -> bool:
        """Whether it was paused; a point may still be running."""
        return not self._go.is_set()

    @property
    def progress(self) -> Progress:
        """How far it is now."""
        with self._lock:
            failed = sum(o.failure is not None for o in self._done)
            return Progress(self._total, len(self._done), failed, self._left_s())

    def _left_s(self) -> float | None:
        if not self._done:
            return None
        mean = sum(outcome.seconds for outcome in self._done) / len(self._done)
        now = time.monotonic()
        ahead = len(self._waiting) * mean
        ahead += sum(max(mean - (now - began), 0.0) for began in self._running.values())
        return ahead / max(self._open, 1)

    # ---- a lane's thread

    def _serve(self, lane: Lane) -> None:
        missed = 0
        while (point := self._next(lane)) is not None:
            outcome = self._measure(point, lane)
            gone = outcome.failure is not None and outcome.failure.kind == "unavailable"
            missed = missed + 1 if gone else 0
            with self._changed:
                self._running.pop(lane.name, None)
                if gone:
                    self._waiting.appendleft(point)
                else:
                    self._done.append(outcome)
                self._changed.notify_all()
            if not gone:
                self._hand(self._keep, outcome)
                self._hand(self._tell, outcome)
            elif missed >= _TRIES:
                assert outcome.failure is not None
                self._hand(self._tell, LaneClosed(lane.name, outcome.failure.message))
                break
            else:
                _end(lane.executor, now=True)  # the next process asks the driver anew
        with self._lock:
            self._open -= 1
            last = self._open == 0
        if last:
            self._hand(self._tell, Ended(tuple(self._waiting)))

    def _next(self, lane: Lane) -> Point | None:
        """The lane's next point, None for no more: while another lane runs one it may come back."""
        point = None
        while point is None:
            self._go.wait()
            with self._changed:
                if self._stopped or not (self._waiting or self._running):
                    return None
                if not self._waiting:
                    self._changed.wait()
                elif self._go.is_set():  # it may have been paused in the meantime
                    self._running[lane.name] = time.monotonic()
                    point = self._waiting.popleft()
        self._hand(self._tell, Started(point, lane.name))
        return point

    def _measure(self, point: Point, lane: Lane) -> Outcome:
        def say(event: Event) -> None:
            self._hand(self._tell, Told(point, lane.name, event))
            if self._stopped and isinstance(event, Stage):  # asked to before the job was begun
                _end(lane.executor, now=False)

        watch = _Watch(say)
        began = time.monotonic()
        result, failure = None, None
        try:
            job = BenchmarkJob(point.subject, self._timing)
            result = done_by(lane.executor, job, watch, self._job)
        except Exception as error:  # told, and the sweep goes on
            failure = failure_of(error)
            result = watch.rescued()
            if failure.kind == "defect":
                log.exception("%s failed", point.text, exc_info=error)
            if self._stopped and failure.kind == "worker_died":
                failure = None if result is not None else Failure("worker_died", "Stopped.")
        return Outcome(point, lane.name, time.monotonic() - began, result, failure)

    def _hand(self, receiver: Callable[[Any], None], update: Update) -> None:
        with self._told:
            try:
                receiver(update)
            except Exception:
                log.exception("a receiver of the sweep's updates failed")


class _Watch:
    """What a job has said: enough to make a result of it if its worker dies."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._begun: BenchmarkResult | None = None
        self._samples: list[float] = []
        self._readings = Readings()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Begun):
            self._begun = event.result
        elif isinstance(event, Sample):
            self._samples.append(event.milliseconds)
        elif isinstance(event, Sensed):
            self._readings = event.readings
        self._tell(event)

    def rescued(self) -> BenchmarkResult | None:
        """The result of the samples that came; None if none did."""
        if self._begun is None or not self._samples:
            return None
        return with_samples(self._begun, self._samples, "cut off", self._readings)


def done_by(
    executor: Executor,
    job: BenchmarkJob,
    on_event: Callable[[Event], None] = lambda event: None,
    measure: Callable[[BenchmarkJob], BenchmarkResult] = run_benchmark,
) -> BenchmarkResult:
    """A job's result; what it says meanwhile is heard where the executor can `stream`."""
    stream: Any = getattr(executor, "stream", None)
    if stream is None:
        return executor.submit(measure, job).result()
    future: Future[BenchmarkResult] = stream(on_event, measure, job)
    return future.result()


def _end(executor: Executor, *, now: bool) -> None:
    """Ask the running job to finish, or end its process; other executors run on."""
    end = getattr(executor, "kill" if now else "stop", None)
    if end is not None:
        end()
