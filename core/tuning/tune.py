"""The fastest parameters: a scan says what is worth timing, Optuna chooses, a GPU times.

Candidates come in the order of their binding ceilings (`core.tuning.scan`). If there are no more of
them than trials, all are timed. Else Optuna's tree-structured Parzen estimator chooses among them,
beginning with the best few of the scan; where it asks for one that was timed, or that cannot be
launched, the nearest is taken. What a cache file already has is not timed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from core.devices.device_table import load_devices
from core.distributed.processes import spread, usual_jobs
from core.errors import TilescopeError
from core.gpu.benchmark_job import BenchmarkJob, Timing
from core.gpu.sweep import Outcome, done_by, failure_of
from core.gpu.sweep_plan import Plan, Point
from core.tuning.kernel_tuner_files import Entry
from core.tuning.scan import Scanned, Task, ranked, scan_point

_FIRST = 5  # of the scan's best, which the search begins with
_WORST = 4.0  # times the slowest: what a failure counts for

_NO_OPTUNA = (
    "Choosing {trials} of {count} candidates needs the package optuna: `pip install optuna` (the "
    "extra tune); or time all of them with --trials {count}."
)


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


def measure(executor: Executor, timing: Timing, candidate: Candidate) -> Outcome:
    """Checks and times a candidate in the process that owns a GPU; its failures are told."""
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
