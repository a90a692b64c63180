"""What to benchmark and how, in a form that travels to the worker process (picklable)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.launch import Launch, MatrixLayout, Workload


@dataclass(frozen=True)
class RungSubject:
    """A rung of the ladder by its name: the worker builds the arrays, so nothing large travels."""

    rung: str
    parameters: Mapping[str, int]
    seed: int = 7

    def workload(self) -> Workload:
        """Builds it; raises ParameterError."""
        from core.ladder import load_ladder

        return load_ladder()[self.rung].workload(seed=self.seed, **self.parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        return RungSubject, (self.rung, dict(self.parameters), self.seed)


@dataclass(frozen=True)
class _Truth:
    values: Mapping[str, NDArray[np.float64]]

    def __call__(self) -> Mapping[str, NDArray[np.float64]]:
        return self.values


@dataclass(frozen=True)
class WorkloadSubject:
    """Any workload, arrays and all: a user's own kernel. `truth` is `expected()`, or None."""

    title: str
    source: str
    source_name: str
    kernel: str
    launch: Launch
    defines: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, int] = field(default_factory=dict)
    layout: MatrixLayout | None = None
    flops: int | None = None
    truth: Mapping[str, NDArray[np.float64]] | None = None

    @classmethod
    def of(cls, workload: Workload) -> WorkloadSubject:
        """Packs a workload; evaluates its `expected`, which may take seconds for large arrays."""
        return cls(
            title=workload.title,
            source=workload.source,
            source_name=workload.source_name,
            kernel=workload.kernel,
            launch=workload.launch,
            defines=dict(workload.defines),
            parameters=dict(workload.parameters),
            layout=workload.layout,
            flops=workload.flops,
            truth=None if workload.expected is None else dict(workload.expected()),
        )

    def workload(self) -> Workload:
        """The workload again."""
        return Workload(
            title=self.title,
            source=self.source,
            source_name=self.source_name,
            kernel=self.kernel,
            launch=self.launch,
            defines=MappingProxyType(dict(self.defines)),
            parameters=MappingProxyType(dict(self.parameters)),
            layout=self.layout,
            flops=self.flops,
            expected=None if self.truth is None else _Truth(self.truth),
        )


@dataclass(frozen=True)
class Timing:
    """How long and how well to time.

    budget_s: stop after this many seconds of timing. stable: stop when the median is known to
    within this fraction. launch_limit_s: a launch that takes longer counts as endless.
    """

    budget_s: float = 5.0
    stable: float = 0.001
    minimum: int = 20
    maximum: int = 2000
    warm_up: int = 3
    flush_l2: bool = True
    launch_limit_s: float = 30.0


@dataclass(frozen=True)
class BenchmarkJob:
    """One point of a sweep."""

    subject: RungSubject | WorkloadSubject
    timing: Timing = Timing()
