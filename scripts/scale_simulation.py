"""A sweep over many GPUs, simulated: what the scheduler, stragglers and failures add to it.

Each GPU takes points one after another; the next is sent to it while one is measured, as
`core.distributed.cluster.gpu_lanes` does. The scheduler sends one point at a time, and takes as
long over each as was measured. A GPU that fails loses its point, which goes to another, and comes
back later.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import simpy


@dataclass(frozen=True)
class Assumptions:
    """What nobody measured here, but chose: the course of points, stragglers and failures.

    Times are in seconds. A point's time is drawn from `times`; `straggling` of them take `slower`
    times as long. A GPU fails every `between_failures` on average and is away for `away`.
    """

    points: int
    gpus: int
    times: tuple[float, ...]
    straggling: float
    slower: float
    between_failures: float
    away: float
    seed: int = 7


@dataclass(frozen=True)
class Simulated:
    """How a sweep went, in seconds; `work` is that of all points, `lost` what failures undid."""

    took: float
    work: float
    lost: float
    failures: int
    repeated: int
    longest: float

    def least(self, gpus: int) -> float:
        """What no scheduler can beat: the work spread evenly, or its longest point."""
        return max(self.work / gpus, self.longest)


def drawn(assumed: Assumptions, *, stragglers: bool) -> tuple[float, ...]:
    """The time of each point."""
    draw = random.Random(assumed.seed)
    times = [draw.choice(assumed.times) for _ in range(assumed.points)]
    late = [draw.random() < assumed.straggling for _ in times]
    slower = assumed.slower if stragglers else 1.0
    return tuple(t * slower if is_late else t for t, is_late in zip(times, late, strict=True))


def simulated(
    assumed: Assumptions, overhead_s: float, *, stragglers: bool, failures: bool
) -> Simulated:
    """One sweep; `overhead_s` is what the scheduler takes for a point."""
    times = drawn(assumed, stragglers=stragglers)
    run = _Run(assumed, times, overhead_s, failures=failures)
    run.environment.run(until=run.done)
    return Simulated(
        run.environment.now, sum(times), run.lost, run.failures, run.repeated, max(times)
    )


class _Run:
    def __init__(
        self, assumed: Assumptions, times: Sequence[float], overhead_s: float, *, failures: bool
    ) -> None:
        self.environment = simpy.Environment()
        self.done = self.environment.event()
        self.lost, self.failures, self.repeated = 0.0, 0, 0
        self._assumed, self._times, self._overhead = assumed, times, overhead_s
        self._fails = failures
        self._draw = random.Random(assumed.seed + 1)
        self._waiting = deque(range(len(times)))
        self._left = len(times)
        self._scheduler = simpy.Resource(self.environment, capacity=1)
        self._more = self.environment.event()
        for _ in range(assumed.gpus):
            ahead = simpy.Store(self.environment, capacity=1)
            self.environment.process(self._send(ahead))
            self.environment.process(self._measure(ahead))

    def _send(self, ahead: simpy.Store) -> Generator[Any, Any, None]:
        """Sends a GPU its next point while it measures the one before."""
        while True:
            while not self._waiting:
                yield self._more
            point = self._waiting.popleft()
            with self._scheduler.request() as turn:
                yield turn
                yield self.environment.timeout(self._overhead)
            yield ahead.put(point)

    def _measure(self, ahead: simpy.Store) -> Generator[Any, Any, None]:
        fails_in = self._next_failure()
        while True:
            point = yield ahead.get()
            takes = self._times[point]
            if fails_in > takes:
                yield self.environment.timeout(takes)
                fails_in -= takes
                self._left -= 1
                if not self._left:
                    self.done.succeed()
                continue
            yield self.environment.timeout(fails_in)
            self.lost += fails_in
            self.failures += 1
            self.repeated += 1
            self._waiting.appendleft(point)
            self._more.succeed()
            self._more = self.environment.event()
            yield self.environment.timeout(self._assumed.away)
            fails_in = self._next_failure()

    def _next_failure(self) -> float:
        if not self._fails:
            return float("inf")
        return self._draw.expovariate(1 / self._assumed.between_failures)
