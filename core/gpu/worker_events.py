"""Events that a running job reports, and the request to stop that it may receive.

A job calls `report(event)`. Whoever runs the job decides where the event goes: through the pipe of
`core.gpu.worker`, a scheduler's own channel, or nowhere, when the job is called directly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
