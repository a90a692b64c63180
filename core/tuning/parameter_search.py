"""A space of a kernel's parameters: counted and ranked without a GPU, then searched by timing.

Every point of a plan is counted by the emulator and set against a device's ceilings and occupancy.
The best come first: the highest binding ceiling, then the most warps on an SM, then the fewest
sectors and wavefronts. A ceiling bounds a rate from above: two launches whose ceilings are equal
may differ on a GPU, so the ranking says which are worth timing, and not which is fastest.

Those that are left are timed in that order. If there are more of them than trials, Optuna's
tree-structured Parzen estimator chooses among them, beginning with the best few of the ranking;
where it asks for one that was timed, or that cannot be launched, the nearest is taken. What a cache
file already has is not timed again.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.compiler.compile_ptx_and_cubin import BuildKind, compiled_resources
from core.devices.device_table import Device, capability_of, load_devices
from core.devices.occupancy import Occupancy, occupancy
from core.distributed.processes import spread, usual_jobs
from core.errors import CompileError, TilescopeError
from core.gpu.benchmark_job import BenchmarkJob, CublasSubject, RungSubject, Timing
from core.gpu.sweep_plan import LeftOut, Plan, Point
from core.ladder import Ladder, load_ladder
from core.models.ceiling_counts import Counts, measure, measure_rung
from core.models.ceilings import Ceilings, ceilings
from core.rules.counters import counters_of

if TYPE_CHECKING:
    from core.gpu.sweep import Outcome
    from core.tuning.kernel_tuner_files import Entry

_FIRST = 5  # of the scan's best, which the search begins with
_WORST = 4.0  # times the slowest: what a failure counts for
_NO_OPTUNA = (
    "Choosing {trials} of {count} candidates needs the package optuna: `pip install optuna` (the "
    "extra tune); or time all of them with --trials {count}."
)


# -- counted and ranked ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Scanned:
    """What one launch asks for, and its place on a device.

    `sectors` are those of global memory, `wavefronts` and `conflicts` those of shared memory, all
    ways of access together; `counters` has each by itself. `occupancy` is a share of 1. `binding`
    names the lowest ceiling, `gflops` is its rate and `formula` how it comes about; "" and None
    where the launch does no floating-point work.
    """

    title: str
    parameters: Mapping[str, int]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counters: Mapping[str, int]
    occupancy: float
    blocks_per_sm: int
    limited_by: tuple[str, ...]
    registers: int
    shared_bytes: int
    binding: str
    gflops: float | None
    peak_gflops: float
    formula: str
    note: str

    @property
    def sectors(self) -> int:
        """32-byte sectors that requests to global memory cover, summed."""
        return self._sum("global", "sectors")

    @property
    def wavefronts(self) -> int:
        """Turns that shared memory's banks take."""
        return self._sum("shared", "wavefronts")

    @property
    def conflicts(self) -> int:
        """Wavefronts that only bank conflicts cause."""
        return self._sum("shared", "conflicts")

    @property
    def of_peak(self) -> float | None:
        """The binding ceiling as a share of the device's FP32 peak."""
        return None if self.gflops is None else self.gflops / self.peak_gflops

    def _sum(self, space: str, measure_name: str) -> int:
        return sum(self.counters.get(name, 0) for name in counters_of(space, measure_name))


@dataclass(frozen=True)
class Task:
    """A point to scan; `device` is a name of the table of devices."""

    point: Point
    device: str
    build: BuildKind = "as_compiled"


def scan_point(task: Task) -> Scanned | LeftOut:
    """Counts one point; what the compiler, the device or the emulator refuses is left out."""
    try:
        return _scanned(task)
    except CompileError as error:
        said = error.diagnostics[0].message if error.diagnostics else str(error)
        return _left_out(task, f"It does not compile: {said}")
    except TilescopeError as error:
        return _left_out(task, str(error))
    except MemoryError:
        return _left_out(task, "There is not enough memory for this: use a smaller size.")


def ranked(found: Iterable[Scanned]) -> tuple[Scanned, ...]:
    """The launches, those most worth timing first."""
    return tuple(sorted(found, key=_rank))


def _rank(one: Scanned) -> tuple[object, ...]:
    rate = -1.0 if one.gflops is None else one.gflops
    return (
        -rate,
        -one.occupancy,
        one.sectors + one.wavefronts,
        one.title,
        tuple(one.parameters.values()),
    )


def _left_out(task: Task, why: str) -> LeftOut:
    return LeftOut(task.point.title, task.point.parameters, why)


def _scanned(task: Task) -> Scanned | LeftOut:
    device = load_devices().find(task.device)
    counts = _counts(task)
    major, minor = device.compute_capability
    held = occupancy(
        capability_of(device.compute_capability),
        compiled_resources(counts.workload, f"{major}.{minor}"),
    )
    if not held.blocks:
        return _left_out(task, f"{device.name}: {held.why}")
    found = ceilings(counts, device) if counts.flops else None
    return _row(task, counts, held, found, device)


def _counts(task: Task) -> Counts:
    subject = task.point.subject
    if isinstance(subject, CublasSubject):
        raise TilescopeError("cuBLAS is machine code of NVIDIA's, which nobody can count here.")
    if isinstance(subject, RungSubject):
        return measure_rung(
            _ladder()[subject.rung],
            subject.parameters,
            source=subject.source,
            build=task.build,
            written=False,  # the textbook ceiling is not asked for
        )
    return measure(subject.workload(), build=task.build, written=False)


@functools.cache
def _ladder() -> Ladder:
    """Read once: it takes longer than to count a small launch."""
    return load_ladder()


def _row(
    task: Task, counts: Counts, held: Occupancy, found: Ceilings | None, device: Device
) -> Scanned:
    launch = counts.workload.launch
    return Scanned(
        title=task.point.title,
        parameters=task.point.parameters,
        grid=(launch.grid.x, launch.grid.y, launch.grid.z),
        block=(launch.block.x, launch.block.y, launch.block.z),
        counters=counts.counters,
        occupancy=held.occupancy,
        blocks_per_sm=held.blocks,
        limited_by=held.limited_by,
        registers=held.resources.registers,
        shared_bytes=held.resources.shared_bytes,
        binding="" if found is None else found.binding,
        gflops=None if found is None else found.lowest.gflops,
        peak_gflops=device.peak_gflops,
        formula="" if found is None else found.lowest.brief,
        note=counts.note,
    )


# -- searched by timing ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A point that may be timed; `values` are those of the parameters that are tuned."""

    point: Point
    values: Mapping[str, int]


def all_candidates(plan: Plan, names: Sequence[str]) -> list[Candidate]:
    """Every point of a plan, in its order, where all are to be timed; `names` are tuned."""
    return [Candidate(point, configuration_of(point, names)) for point in plan.points]


def candidates_of(
    plan: Plan,
    names: Sequence[str],
    device: str,
    *,
    keep: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Candidate]:
    """What a scan for a device leaves of a plan, the highest binding ceilings first.

    `names` are the tuned parameters, `keep` how many may be left (None: all that can be launched).
    Raises TilescopeError where the table has no such device, or nothing can be launched.
    """
    known = load_devices().find(device).name
    tasks = [Task(point, known) for point in plan.points]
    point_of = {tuple(task.point.parameters.items()): task.point for task in tasks}
    rows: list[Scanned] = []
    for done, (_, one) in enumerate(spread(scan_point, tasks, usual_jobs(len(tasks))), 1):
        if isinstance(one, Scanned):
            rows.append(one)
        if progress is not None:
            progress(done / len(tasks))
    if not rows:
        raise TilescopeError("No combination can be launched: `tilescope scan` says why.")
    points = [point_of[tuple(one.parameters.items())] for one in ranked(rows)[:keep]]
    return [Candidate(point, configuration_of(point, names)) for point in points]


def configuration_of(point: Point, names: Sequence[str]) -> dict[str, int]:
    """The parameters of a point that name its configuration."""
    return {name: point.parameters[name] for name in names}


def check_and_time(executor: Executor, timing: Timing, candidate: Candidate) -> Outcome:
    """Checks and times a candidate in the process that owns a GPU; its failures are told."""
    from core.gpu.sweep import Outcome, done_by, failure_of

    began = time.monotonic()
    job = BenchmarkJob(candidate.point.subject, timing)
    result, failure = None, None
    try:
        result = done_by(executor, job)
    except TilescopeError as error:
        failure = failure_of(error)
    return Outcome(candidate.point, "", time.monotonic() - began, result, failure)


def chosen_order(
    candidates: Sequence[Candidate],
    trials: int,
    time_of: Callable[[Candidate], Entry],
    *,
    seed: int = 0,
) -> Iterator[tuple[Candidate, Entry]]:
    """Times at most `trials` candidates, the scan's order first; yields each with what came out.

    `time_of` measures one. Raises TilescopeError where a search is needed and Optuna is missing.
    """
    if len(candidates) <= trials:
        for one in candidates:
            yield one, time_of(one)
        return
    yield from _searched(candidates, trials, time_of, seed)


def _searched(
    candidates: Sequence[Candidate], trials: int, time_of: Callable[[Candidate], Entry], seed: int
) -> Iterator[tuple[Candidate, Entry]]:
    try:
        import optuna
    except ImportError:
        raise TilescopeError(_NO_OPTUNA.format(trials=trials, count=len(candidates))) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = list(candidates[0].values)
    space = {name: sorted({one.values[name] for one in candidates}) for name in names}
    distributions = {
        name: optuna.distributions.CategoricalDistribution(values) for name, values in space.items()
    }
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=_FIRST)
    )
    left = {tuple(one.values.values()): one for one in candidates}
    for one in candidates[:_FIRST]:
        study.enqueue_trial(dict(one.values))
    slowest = 0.0
    for _ in range(trials):
        trial = study.ask(distributions)
        asked = {name: trial.params[name] for name in names}
        candidate = left.pop(_nearest(asked, left, space))
        entry = time_of(candidate)
        slowest = max(slowest, entry.time_ms or 0.0)
        value = entry.time_ms if entry.time_ms is not None else _WORST * (slowest or 1.0)
        if asked == dict(candidate.values):
            study.tell(trial, value)
        else:  # what was asked for is timed already, or cannot be launched
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            study.add_trial(
                optuna.trial.create_trial(
                    params=dict(candidate.values), distributions=distributions, value=value
                )
            )
        yield candidate, entry


def _nearest(
    asked: Mapping[str, int],
    left: Mapping[tuple[int, ...], Candidate],
    space: Mapping[str, Sequence[int]],
) -> tuple[int, ...]:
    """The candidate with the fewest steps to what was asked for; of equals the scan's best."""

    def steps(key: tuple[int, ...]) -> int:
        return sum(
            abs(space[name].index(value) - space[name].index(asked[name]))
            for name, value in zip(space, key, strict=True)
        )

    return min(left, key=steps)
