"""What a sweep says while it runs: points begun, samples, outcomes, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import CompileError, GpuUnavailable, TilescopeError
from core.gpu.failures import WorkerFailure
from core.gpu.plan import Point
from core.gpu.reporting import Event
from core.gpu.result import BenchmarkResult

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
    if isinstance(error, GpuUnavailable):
        return Failure("unavailable", str(error))
    if isinstance(error, CompileError):
        return Failure("compile", str(error))
    if isinstance(error, TilescopeError):
        return Failure("refused", str(error))
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
    elapsed_s: float
    left_s: float | None
