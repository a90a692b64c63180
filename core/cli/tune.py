"""`tilescope tune`: the fastest parameters of a kernel on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.cli.console import Terminal, plain_table, print_json, progress_bar, tell
from core.cli.options import RESULTS, AsJsonResult, cluster_option, option
from core.cli.sweep_options import CheckedLaunch, chosen_kernels, plan_of, settings_of, values_of
from core.devices.device_table import load_devices
from core.errors import GpuUnavailable, ParameterError, TilescopeError
from core.gpu.benchmark_job import Timing
from core.gpu.benchmark_result import DeviceReport
from core.gpu.sweep_plan import SIZE_NAMES, Plan
from core.gpu.worker_process import GpuWorker
from core.tuning.kernel_tuner_files import Cache, Entry, read_cache, write_cache, write_t4
from core.wording import assignments

if TYPE_CHECKING:
    from core.tuning.parameter_search import Candidate


def tune(
    kernel: Annotated[str, typer.Argument(metavar="RUNG|FILE.cu", help="The kernel to tune.")],
    param: Annotated[
        list[str], option("--param", "-p", text="tile_m=64,128 or pad=0..4. Repeatable.")
    ],
    *,
    settings: Annotated[
        list[str] | None, option("--set", text="What is not tuned: --set n=4096. Repeatable.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Most launches that are timed.", min=1)] = 32,
    keep: Annotated[
        int, typer.Option(help="Candidates that the scan leaves, the best ceilings first.", min=1)
    ] = 256,
    budget: Annotated[float, typer.Option(help="Most seconds of timing for each.")] = 2.0,
    launch_limit: Annotated[
        float, typer.Option(help="Seconds after which a launch is ended.")
    ] = 30.0,
    device: Annotated[int, typer.Option(help="The GPU's number from 0.", min=0)] = 0,
    model: Annotated[
        str | None,
        option("--model", text="The device of the table to scan for, if the GPU is not in it."),
    ] = None,
    cluster: Annotated[
        str | None, cluster_option("Measure on a GPU of a dask scheduler's workers.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the arrays and of the search.", min=0)] = 7,
    launch: CheckedLaunch,
    cache: Annotated[
        Path | None,
        option(
            "--cache",
            panel=RESULTS,
            text="A cache file of kernel_tuner: what it has is not timed again.",
        ),
    ] = None,
    t4: Annotated[
        Path | None, option("--t4", panel=RESULTS, text="Write all results by the T4 schema.")
    ] = None,
    as_json: AsJsonResult = False,
) -> None:
    """Find the fastest parameters: a scan prunes, an optimiser chooses, the GPU times.

    Every result is compared with float64 before it is timed, as with `tilescope bench`.
    """
    tuned = settings_of(param, "--param")
    fixed = settings_of(settings or [])
    if twice := sorted(set(tuned) & set(fixed)):
        raise ParameterError(f"{twice[0]} is both tuned and set: leave out one.")
    chosen = chosen_kernels([kernel], launch)
    if len(chosen) != 1:
        raise ParameterError(f"`{kernel}` is not one kernel: name a rung or a .cu file.")
    plan = plan_of(chosen, values_of({**tuned, **fixed}), seed)
    names = _names(plan, [name for axis in tuned for name in chosen[0].targets(axis)])
    timing = Timing(budget_s=budget, launch_limit_s=launch_limit)
    with ExitStack() as stack:
        executor = _executor(stack, cluster, device)
        report = _gpu_of(executor)
        candidates = _candidates(plan, names, model or report.name, keep)
        known = _known(cache, report, plan, candidates)
        search = _Search(executor, timing, known, cache)
        search.run(candidates, trials, seed)
    if t4 is not None:
        write_t4(t4, search.cache)
    _show(plan, names, search, as_json=as_json)


def _executor(stack: ExitStack, cluster: str | None, device: int) -> Executor:
    if cluster is None:
        return stack.enter_context(GpuWorker(device))
    from core.distributed.cluster import opened

    return stack.enter_context(opened(cluster, "GPU", jobs=0, tell=tell))


def _gpu_of(executor: Executor) -> DeviceReport:
    """The GPU that will time; raises GpuUnavailable with what works without one."""
    from core.distributed.cluster_workers import first_device

    try:
        found: DeviceReport = executor.submit(first_device, None).result()
    except GpuUnavailable as error:
        raise GpuUnavailable(
            f"{error} Timing needs an NVIDIA GPU; `tilescope scan` ranks the same parameters "
            "without one."
        ) from None
    return found


def _candidates(plan: Plan, names: Sequence[str], device: str, keep: int) -> list[Candidate]:
    """What the scan leaves of a plan; says what to do where the table lacks the GPU."""
    from core.tuning.parameter_search import candidates_of

    try:
        load_devices().find(device)
    except TilescopeError as error:
        raise TilescopeError(f"{error} Name one that is like it with --model.") from None
    with progress_bar(f"scanning {len(plan.points)} launches") as progress:
        return candidates_of(plan, names, device, keep=keep, progress=progress)


def _names(plan: Plan, tuned: Sequence[str]) -> list[str]:
    """The parameters that name a configuration: what is tuned, and what else is not a problem size.

    Without the latter a cache would give the times of one `--set pad=0` for another.
    """
    others = [name for name in plan.points[0].parameters if name not in SIZE_NAMES]
    return list(dict.fromkeys([*tuned, *others]))


def _known(
    path: Path | None, report: DeviceReport, plan: Plan, candidates: Sequence[Candidate]
) -> Cache:
    """The cache file, or an empty cache; raises TilescopeError where it is of something else."""
    first = candidates[0]
    names = list(first.values)
    sizes = [v for n, v in first.point.parameters.items() if n in SIZE_NAMES and n not in names]
    values = {name: sorted({p.parameters[name] for p in plan.points}) for name in names}
    fresh = Cache(report.name, first.point.title, tuple(sizes), values, ())
    if path is None or not path.exists():
        return fresh
    found = read_cache(path)
    found.must_be_of(fresh)
    return Cache(found.device, found.kernel, found.problem_size, values, found.entries)


class _Search:
    """Times candidates, and writes the cache after each."""

    def __init__(self, executor: Executor, timing: Timing, known: Cache, path: Path | None) -> None:
        self._executor, self._timing, self.cache, self._path = executor, timing, known, path
        self.timed = 0
        self.why: dict[str, str] = {}

    def run(self, candidates: Sequence[Candidate], trials: int, seed: int) -> None:
        from core.tuning.parameter_search import chosen_order

        try:
            total = min(trials, len(candidates))
            for done, (one, entry) in enumerate(
                chosen_order(candidates, trials, self._measured, seed=seed), 1
            ):
                said = f"{entry.time_ms:.4g} ms" if entry.time_ms is not None else entry.failure
                typer.echo(f"{done} of {total}: {assignments(one.values)}: {said}", err=True)
        except KeyboardInterrupt:
            typer.echo("Stopped; what was timed is kept.", err=True)

    def _measured(self, candidate: Candidate) -> Entry:
        known = {one.key: one for one in self.cache.entries}
        key = ",".join(str(value) for value in candidate.values.values())
        if key in known:
            return known[key]
        entry = self._timed(candidate)
        self.timed += 1
        self.cache = replace(self.cache, entries=(*self.cache.entries, entry))
        if self._path is not None:
            write_cache(self._path, self.cache)
        return entry

    def _timed(self, candidate: Candidate) -> Entry:
        from core.tuning.parameter_search import check_and_time

        now = datetime.now(UTC).isoformat()
        found = check_and_time(self._executor, self._timing, candidate)
        if found.failure is not None:
            self.why[assignments(candidate.values)] = found.failure.message
            return Entry(candidate.values, None, failure=found.failure.kind, timestamp=now)
        result = found.result
        if result is None or result.ok is False or result.median_ms is None:
            self.why[assignments(candidate.values)] = "wrong result"
            return Entry(candidate.values, None, failure="wrong result", timestamp=now)
        further = {} if result.gflops is None else {"GFLOP/s": result.gflops}
        took = 1e3 * found.seconds
        return Entry(candidate.values, result.median_ms, result.samples_ms, "", took, now, further)


def _show(plan: Plan, names: Sequence[str], search: _Search, *, as_json: bool) -> None:
    """The results of what was asked for: a cache may hold others."""
    from core.tuning.parameter_search import configuration_of

    asked = [configuration_of(point, names) for point in plan.points]
    entries = sorted(
        (one for one in search.cache.entries if dict(one.configuration) in asked),
        key=lambda one: (one.time_ms is None, one.time_ms or 0.0),
    )
    best = next((one for one in entries if one.time_ms is not None), None)
    if as_json:
        data = {
            "kernel": search.cache.kernel,
            "device": search.cache.device,
            "points": len(plan.points),
            "timed": search.timed,
            "best": None if best is None else dict(best.configuration),
            "results": [asdict(one) for one in entries],
            "failures": search.why,
        }
        print_json(data)
    else:
        _print_table(plan, search, entries)
    if best is None:
        raise TilescopeError(
            "Nothing could be timed: "
            + next(
                iter(search.why.values()),
                "the cache file has failures alone." if entries else "stopped.",
            )
        )


def _print_table(plan: Plan, search: _Search, entries: Sequence[Entry]) -> None:
    table = plain_table(*(f">{name}" for name in (*search.cache.values, "median ms", "GFLOPS")))
    for one in entries:
        if one.time_ms is None:
            continue
        rate = one.further.get("GFLOP/s")
        table.add_row(
            *(str(value) for value in one.configuration.values()),
            f"{one.time_ms:.4f}",
            "" if rate is None else f"{rate:,.0f}",
        )
    console = Terminal()
    console.print(f"{search.cache.kernel} on {search.cache.device}", highlight=False)
    console.print(table)
    for text, why in search.why.items():
        console.say(f"{text}: {why}")
    console.print(f"{search.timed} of {len(plan.points)} combinations timed now.", highlight=False)
