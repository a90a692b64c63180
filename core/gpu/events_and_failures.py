"""What the process that owns the GPU tells: events of a running job, and failures as sentences.

A job calls `report(event)`. Whoever runs the job decides where the event goes: through the pipe of
`core.gpu.worker_process`, a scheduler's own channel, or nowhere, when the job is called directly.
`stop` is what a job is told: to finish early. A failure has a kind for programs and a sentence.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.errors import GpuFailure

if TYPE_CHECKING:
    from core.gpu.benchmark_result import BenchmarkResult, Readings


@dataclass(frozen=True)
class Stage:
    """The job begins something. `limit_s` is how long it may take until the next event."""

    doing: str  # a verb in -ing, as in "checking the result"
    limit_s: float = 60.0


@dataclass(frozen=True)
class Sample:
    """One timed launch, counted from 0. `gflops` is None where the kernel's work is unknown."""

    index: int
    milliseconds: float
    gflops: float | None


@dataclass(frozen=True)
class Begun:
    """Timing begins; the result so far, with everything but samples.

    Whoever watches can make a whole result of it and the samples, should the worker die.
    """

    result: BenchmarkResult


@dataclass(frozen=True)
class Sensed:
    """What the GPU's sensors say while timing goes on."""

    readings: Readings


Event = Stage | Sample | Begun | Sensed

_sink: Callable[[Event], None] | None = None
stop = threading.Event()  # set: the running job is asked to finish early with what it has


def set_sink(sink: Callable[[Event], None] | None) -> None:
    """Sends this process's events to `sink` from now on (None: nowhere)."""
    global _sink
    _sink = sink


def report(event: Event) -> None:
    """Passes an event on to whoever watches the job."""
    if _sink is not None:
        _sink(event)


FailureKind = Literal[
    "worker_died",
    "timed_out",
    "illegal_access",
    "kernel_fault",
    "out_of_memory",
    "launch_refused",
    "driver",
]

# Errors after which CUDA refuses all further work in the same context ("sticky" errors, CUDA Driver
# API, CUresult): the process has to end, and the next job gets a new one. Keys are patterns.
_STICKY: dict[str, tuple[FailureKind, str]] = {
    "illegal memory access": (
        "illegal_access",
        "The kernel read or wrote memory that belongs to none of its arrays (an illegal memory "
        "access); run it through `tilescope trace` to see the thread and the line.",
    ),
    "misaligned address": (
        "kernel_fault",
        "The kernel used an address that is not a multiple of the access's width "
        "(a misaligned address).",
    ),
    "illegal instruction": ("kernel_fault", "The kernel executed an illegal instruction or trap."),
    "launch timed out": (
        "timed_out",
        "The driver stopped the kernel, because it ran longer than the display's time limit.",
    ),
    "launch (failed|failure)": (
        "kernel_fault",
        "The kernel failed while it ran (unspecified launch failure).",
    ),
    "invalid address space": (
        "kernel_fault",
        "The kernel used an address of the wrong kind of memory.",
    ),
    "invalid program counter": ("kernel_fault", "The kernel jumped to an invalid address."),
    "device-side assert": ("kernel_fault", "An assert in the kernel failed."),
    "stack error|hardware stack": ("kernel_fault", "The kernel's call stack overflowed."),
    "uncorrectable": ("driver", "The GPU reported an uncorrectable memory error."),
    "gpu has fallen|device is lost": ("driver", "The GPU stopped answering the driver."),
}


class WorkerFailure(GpuFailure):
    """A job failed on the GPU. `kind` is for programs, the text for people.

    `fatal` says that the worker process ended with it; the next job starts a new one.
    """

    def __init__(self, message: str, kind: FailureKind = "driver", fatal: bool = False) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.fatal = fatal

    def __reduce__(self) -> tuple[type[WorkerFailure], tuple[str, FailureKind, bool]]:
        return WorkerFailure, (str(self), self.kind, self.fatal)


def from_driver(text: str) -> WorkerFailure:
    """The failure that a CUDA driver error's text stands for."""
    lowered = text.lower()
    if "out of memory" in lowered:
        return WorkerFailure(
            f"The GPU has too little free memory for this ({text}).", "out_of_memory"
        )
    if "launch out of resources" in lowered or "too many resources" in lowered:
        return WorkerFailure(
            "The GPU refused the launch: a block needs more registers or shared memory than a "
            "multiprocessor has.",
            "launch_refused",
        )
    for mark, (kind, sentence) in _STICKY.items():
        if re.search(mark, lowered):
            return WorkerFailure(sentence, kind, fatal=True)
    if "invalid value" in lowered or "invalid argument" in lowered:
        return WorkerFailure(
            f"The driver refused a value of this launch ({text}).", "launch_refused"
        )
    return WorkerFailure(f"The CUDA driver reported an error: {text}.", "driver")


def from_exit(code: int | None, stage: str, stderr: str) -> WorkerFailure:
    """The failure of a worker process that ended by itself: its exit status, told in words."""
    why = ""
    if code is None:
        how = "closed its connection"
    elif code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        how = f"was killed ({name})"
        if name == "SIGKILL":
            why = ", by someone or because the machine ran out of memory"
    else:
        how = f"ended with exit status {code}"
    tail = stderr.strip().splitlines()
    said = f" Its last words: {tail[-1].strip()}" if tail else ""
    return WorkerFailure(
        f"The GPU worker process {how} while {stage}{why}; the next run starts a new one.{said}",
        "worker_died",
        fatal=True,
    )


def timed_out(seconds: float, stage: str) -> WorkerFailure:
    """The failure of a worker that gave no sign for too long and was stopped."""
    return WorkerFailure(
        f"No sign from the GPU for {seconds:g} s while {stage}, so the worker process was stopped; "
        "a kernel that never ends does this.",
        "timed_out",
        fatal=True,
    )
