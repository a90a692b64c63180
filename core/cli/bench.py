"""`tilescope bench`: times kernels on a GPU, one launch or a sweep, and checks their results."""

from __future__ import annotations

import json
import queue
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.status import Status
from rich.table import Table

from core.cli.console import FAILED, Terminal, print_json, show_error, tell
from core.cli.options import RESULTS, SIZES, AsJsonResult, cluster_option, option
from core.cli.sweep_options import (
    Axes,
    CheckedLaunch,
    chosen_kernels,
    plan_of,
    settings_of,
    values_of,
)
from core.errors import GpuUnavailable, ParameterError, TilescopeError
from core.gpu.benchmark_job import Timing
from core.gpu.benchmark_result import BenchmarkResult, Readings, summarise
from core.gpu.events_and_failures import Sample, Sensed, Stage
from core.gpu.result_files import (
    WRITTEN,
    Journal,
    load_recorded,
    read_journal,
    read_results,
    write_results,
)
from core.gpu.sweep import Ended, Lane, LaneClosed, Outcome, Started, Sweep, Told, Update
from core.gpu.sweep_plan import Plan, parse_values
from core.gpu.worker_process import GpuWorker
from core.launch import Dim3
from core.wording import assignments, clock, listing

WRONG_RESULT = 1  # exit status, also where a point of a sweep failed
_TELL_EVERY = 10  # samples
_TABLES_SHARE = 20  # times as long as writing the tables took, until they are written again
_NUMBERS = ("GFLOPS", "p5", "p95", "median ms", "GB/s")


def bench(
    kernels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUNG|FILE.cu|cublas|all",
            help="Rungs of the ladder, CUDA sources, NVIDIA's own SGEMM, or the whole ladder.",
            show_default=False,
        ),
    ] = None,
    *,
    axes: Axes,
    settings: Annotated[
        list[str] | None,
        option("--set", panel=SIZES, text="Any parameter by name: --set n=64,128. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random arrays.", min=0)] = 7,
    budget: Annotated[float, typer.Option(help="Most seconds of timing for each point.")] = 5.0,
    launch_limit: Annotated[
        float, typer.Option(help="Seconds after which a launch is ended.")
    ] = 30.0,
    device: Annotated[
        str, typer.Option(help="The GPU's number from 0; 0,1 or all spread a sweep.")
    ] = "0",
    cluster: Annotated[
        str | None,
        cluster_option(
            "Measure on the GPUs of a dask scheduler's workers, or on all of this machine."
        ),
    ] = None,
    flush: Annotated[bool, typer.Option(help="Flush the L2 cache before each launch.")] = True,
    launch: CheckedLaunch,
    out: Annotated[
        list[Path] | None,
        option(
            "--out",
            "-o",
            panel=RESULTS,
            text="Write FILE.json, .jsonl, .csv, .parquet or .md, as results come; with "
            "--show or --recorded what is shown. Repeatable.",
        ),
    ] = None,
    resume: Annotated[
        bool, option("--resume", panel=RESULTS, text="Leave out what stands in the .jsonl file.")
    ] = False,
    shown: Annotated[
        list[Path] | None,
        option(
            "--show",
            panel=RESULTS,
            text="Show results from files, measured anywhere; needs no GPU. Repeatable.",
        ),
    ] = None,
    as_json: AsJsonResult = False,
    recorded: Annotated[
        bool, option("--recorded", panel=RESULTS, text="Show the recorded results of an H200.")
    ] = False,
) -> None:
    """Time kernels on NVIDIA GPUs, after checking their results against float64.

    Several kernels, sizes or tiles make a sweep: every combination that can be launched. What is
    not given: matrices of 4096, and the blocks and tiles that are fast on a GPU.
    """
    names = kernels or []
    if recorded or shown:
        _show_files(names, shown or [], out or [], recorded=recorded, as_json=as_json)
        return
    if not names:
        raise ParameterError("Say which rung to time, as in `tilescope bench tiled --n 4096`.")
    if not budget > 0 or not launch_limit > 0:
        raise ParameterError("The budget and the limit must be more than 0 seconds.")
    values = values_of({**vars(axes), **settings_of(settings or [])})
    plan = plan_of(chosen_kernels(names, launch), values, seed)  # before any GPU is looked for
    timing = Timing(budget_s=budget, flush_l2=flush, launch_limit_s=launch_limit)
    ordinals = (
        None
        if device.strip() == "all"
        else parse_values(device, "--device", "0, or 0,1 for two GPUs, or all")
    )
    run = Run(plan, timing, ordinals, tuple(out or ()), resume=resume, cluster=cluster)
    try:
        outcomes = run.outcomes()
    except GpuUnavailable as error:
        raise GpuUnavailable(f"{error} {without_gpu(names[0])}") from None
    _print(plan, outcomes, as_json=as_json)
    if not run.is_written:
        raise typer.Exit(FAILED)


def _print(plan: Plan, outcomes: Sequence[Outcome], *, as_json: bool) -> None:
    single = len(plan.points) == 1
    results = [o.result for o in outcomes if o.result is not None]
    failed = [o for o in outcomes if o.failure is not None]
    if single and not results and failed and failed[0].failure is not None:
        raise TilescopeError(failed[0].failure.message)
    if as_json:
        data = results[0].to_json() if single and results else _as_json(plan, outcomes)
        print_json(data)
    else:
        _show(plan, results, failed, single=single)
    if failed or any(result.ok is False for result in results):
        raise typer.Exit(WRONG_RESULT)


def _as_json(plan: Plan, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "results": [o.result.to_json() for o in outcomes if o.result is not None],
        "failures": [
            {"point": o.point.text, "kind": o.failure.kind, "message": o.failure.message}
            for o in outcomes
            if o.failure is not None
        ],
        "left_out": [asdict(one) for one in plan.left_out],
    }


def _show(
    plan: Plan, results: Sequence[BenchmarkResult], failed: Sequence[Outcome], *, single: bool
) -> None:
    console = Terminal()
    if single and results:
        console.print(_result_table(results[0]))
    elif results:
        console.print(*_recorded_tables(results, word="Measured"))
    for outcome in failed:
        assert outcome.failure is not None
        kept = ""
        if outcome.result is not None:
            kept = f" {len(outcome.result.samples_ms)} samples are kept."
        show_error(
            TilescopeError(
                f"{outcome.point.text}: {outcome.failure.title}. {outcome.failure.message}{kept}"
            )
        )
    for left in plan.left_out:
        sizes = assignments(left.parameters)
        typer.echo(f"Left out: {left.title}, {sizes}: {left.why}", err=True)


def _show_files(
    names: list[str], paths: list[Path], out: list[Path], *, recorded: bool, as_json: bool
) -> None:
    results = [*(load_recorded() if recorded else ()), *(r for p in paths for r in read_results(p))]
    results = [r for r in results if not names or r.rung in names or r.series in names]
    if not results:
        raise ParameterError(
            f"There are no results{' of ' + listing([*names]) if names else ''} here."
        )
    for path in out:
        write_results(path, results)
    if as_json:
        typer.echo(json.dumps({"results": [r.to_json() for r in results]}, allow_nan=False))
    else:
        Terminal().print(*_recorded_tables(results))


# -- a run in a terminal: workers for the chosen GPUs, progress, Ctrl-C, files kept ----------------


def without_gpu(name: str) -> str:
    """The sentence that says what works on a machine without a GPU."""
    names = sorted({result.device.name for result in load_recorded()})
    shown = f", and `tilescope bench --recorded` shows results from {', '.join(names)}"
    return (
        f"Timing needs an NVIDIA GPU; without one `tilescope trace {name}` still counts every "
        f"memory transaction{shown if names else ''}."
    )


class Run:
    """One run of a plan. devices: ordinals, None for all that the driver finds.

    cluster: the scheduler whose workers' GPUs measure instead, or "local" for all GPUs here.
    Raises TilescopeError where a file cannot be written or `resume` has no .jsonl to read.
    """

    def __init__(
        self,
        plan: Plan,
        timing: Timing,
        devices: tuple[int, ...] | None,
        out: tuple[Path, ...],
        *,
        resume: bool,
        cluster: str | None = None,
    ) -> None:
        self._plan, self._timing, self._devices, self._out = plan, timing, devices, out
        self._cluster = cluster
        for path in out:
            if path.suffix.lower() not in WRITTEN:
                raise TilescopeError(
                    f"{path.name} has an unknown ending: use {', '.join(WRITTEN)}."
                )
        self._before: list[BenchmarkResult] = []
        if resume:
            self._take_up()
        self._journals = [Journal(p) for p in out if p.suffix.lower() == ".jsonl"]
        self._done: list[Outcome] = []
        self._written_at, self._took_s = 0.0, 0.0
        self._unwritten: set[str] = set()

    def _take_up(self) -> None:
        lines = [p for p in self._out if p.suffix.lower() == ".jsonl"]
        if not lines:
            raise ParameterError("--resume needs the file to continue: --out FILE.jsonl.")
        found = [item for path in lines if path.exists() for item in read_journal(path)]
        self._before = [result for _, result in found if result is not None]
        self._plan = self._plan.without(frozenset(key for key, result in found if result))
        if found:
            typer.echo(f"{len(self._before)} points are measured already.", err=True)

    def outcomes(self) -> Sequence[Outcome]:
        """Measures; Ctrl-C ends it with what there is. Raises GpuUnavailable if no GPU answers."""
        with ExitStack() as stack:
            for journal in self._journals:
                stack.callback(journal.close)
            lanes = self._lanes(stack)
            told: queue.SimpleQueue[Update] = queue.SimpleQueue()
            sweep = Sweep(self._plan.points, lanes, self._timing, told.put, self._keep)
            sweep.start()
            why = _Follow(sweep, told).to_the_end()
            if why and not self._done:
                raise GpuUnavailable(why)
            self._write_tables()
        return self._done

    @property
    def is_written(self) -> bool:
        """Whether every file that was asked for has every result."""
        return not self._unwritten

    def _lanes(self, stack: ExitStack) -> list[Lane]:
        if self._cluster is not None:
            from core.distributed.cluster import gpu_lanes

            return stack.enter_context(gpu_lanes(self._cluster, tell))
        if self._devices == (0,):
            return [Lane("GPU 0", stack.enter_context(GpuWorker(0)))]
        from core.gpu.driver_session import describe_devices

        first = stack.enter_context(GpuWorker(0))
        found = first.submit(describe_devices).result()
        wanted = self._devices or tuple(range(len(found)))
        if beyond := [number for number in wanted if number >= len(found)]:
            raise ParameterError(
                f"There is no GPU number {beyond[0]}: the driver finds {len(found)}, counted "
                "from 0."
            )
        workers = {
            number: first if number == 0 else stack.enter_context(GpuWorker(number))
            for number in wanted
        }
        return [Lane(f"GPU {number}", worker) for number, worker in workers.items()]

    def _keep(self, outcome: Outcome) -> None:
        self._done.append(outcome)
        for journal in self._journals:
            with self._told(journal.path):
                journal.keep(outcome)
        now = time.monotonic()
        if now - self._written_at > _TABLES_SHARE * self._took_s:
            self._write_tables()

    def _write_tables(self) -> None:
        """Whole files anew, as seldom as keeps them from taking much of the time."""
        began = time.monotonic()
        results = [*self._before, *(o.result for o in self._done if o.result is not None)]
        for path in self._out:
            if path.suffix.lower() != ".jsonl":
                with self._told(path):
                    write_results(path, results)
        self._written_at = time.monotonic()
        self._took_s = self._written_at - began

    @contextmanager
    def _told(self, path: Path) -> Iterator[None]:
        """Says once that a file cannot be written; the sweep goes on, for results are printed."""
        try:
            yield
            if path.suffix.lower() != ".jsonl":  # which would lack a line
                self._unwritten.discard(path.name)
        except (TilescopeError, OSError) as error:
            if path.name not in self._unwritten:
                self._unwritten.add(path.name)
                why = str(error) if isinstance(error, TilescopeError) else f"{path}: {error}."
                show_error(TilescopeError(why))


class _Follow:
    """Shows a sweep's updates on standard error."""

    def __init__(self, sweep: Sweep, told: queue.SimpleQueue[Update]) -> None:
        self._sweep, self._told = sweep, told
        self._samples: dict[str, list[float]] = {}
        self._sensed: Readings | None = None
        self._why = ""
        self._terminal = sys.stderr.isatty()

    def to_the_end(self) -> str:
        """Returns when the sweep ended: why its GPUs were given up, or ""."""
        asked = False
        with Terminal(stderr=True).status("starting the GPU") as status:
            while True:
                try:
                    update = self._told.get(timeout=0.5)  # wakes up, so that Ctrl-C is heard
                    if isinstance(update, Ended):
                        return self._why
                    self._show(update, status)
                except queue.Empty:
                    continue
                except KeyboardInterrupt:
                    self._sweep.stop(now=asked)
                    asked = True
                    status.update("stopping; the launches so far are kept (Ctrl-C again: at once)")

    def _show(self, update: Update, status: Status) -> None:
        if isinstance(update, LaneClosed):
            self._why = update.why
            self._line(f"{update.lane} is given up: {update.why}")
        elif isinstance(update, Started):
            self._samples[update.lane] = []
            self._line(f"{update.point.text} …")
        elif isinstance(update, Outcome):
            status.update(self._progress())
            self._line(f"{self._progress()}: {update.point.text}: {_said(update)}", always=True)
        elif isinstance(update, Told):
            self._tell(update, status)

    def _tell(self, update: Told, status: Status) -> None:
        event = update.event
        if isinstance(event, Sensed):
            self._sensed = event.readings
        if isinstance(event, Stage):
            status.update(f"{self._progress()}: {update.point.text}: {event.doing}")
        if not isinstance(event, Sample):
            return
        samples = self._samples.setdefault(update.lane, [])
        samples.append(event.milliseconds)
        if len(samples) % _TELL_EVERY == 1:
            rate = "" if event.gflops is None else f", {event.gflops:,.0f} GFLOPS"
            text = f"{len(samples)} launches, median {summarise(samples).median:.4g} ms{rate}"
            clock = self._sensed.sm_mhz if self._sensed else None
            at = "" if clock is None else f", SM {clock:,.0f} MHz"
            status.update(f"{self._progress()}: {update.point.text}: {text}{at}")

    def _progress(self) -> str:
        progress = self._sweep.progress
        left = "" if progress.left_s is None else f", {clock(progress.left_s)} left"
        return f"{progress.done} of {progress.total}{left}"

    def _line(self, text: str, *, always: bool = False) -> None:
        if (always and self._sweep.progress.total > 1) or not self._terminal:
            typer.echo(text, err=True)


def _said(outcome: Outcome) -> str:
    if outcome.failure is not None:
        return f"{outcome.failure.title}. {outcome.failure.message}"
    result = outcome.result
    if result is None or result.ok is False:
        return "wrong result"
    if result.gflops is None:
        return f"{result.median_ms:.4g} ms" if result.median_ms else result.ended
    return f"{result.gflops:,.1f} GFLOPS"


# -- results as tables for people ------------------------------------------------------------------


def _text(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _result_table(result: BenchmarkResult) -> Table:
    """One result, a fact a row."""
    title = f"{result.title} ({assignments(result.parameters)})"
    table = Table(title=title, show_header=False, title_justify="left")
    for name, text in _rows(result):
        table.add_row(name, text)
    return table


def _recorded_tables(results: Sequence[BenchmarkResult], word: str = "Recorded") -> Iterator[Table]:
    """A table for each machine and day, both in plain sight; a result a row."""

    def origin(result: BenchmarkResult) -> str:
        device = result.device
        return f"{word} on {device.name}, driver {device.driver}, {result.date[:10]}"

    for title, rows in groupby(results, origin):
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        for heading in ("kernel", "parameters", *_NUMBERS):
            table.add_column(heading, justify="right" if heading in _NUMBERS else "left")
        for result in rows:
            table.add_row(
                result.rung or result.series,
                assignments(result.parameters),
                _rate(result),
                _text(result.gflops_p5, ",.0f"),
                _text(result.gflops_p95, ",.0f"),
                _text(result.median_ms, ",.4f"),
                _text(result.effective_gbs, ",.1f"),
            )
        yield table


def _rate(result: BenchmarkResult) -> str:
    if result.ok is False:
        return "wrong result"
    return _text(result.gflops, ",.0f") + (" (clock fell)" if result.clock_fell else "")


def _rows(result: BenchmarkResult) -> Iterator[tuple[str, str]]:
    device = result.device
    major, minor = device.compute_capability
    shared = result.static_shared_bytes + result.dynamic_shared_bytes
    yield "device", f"{device.name}, compute capability {major}.{minor}, {device.sms} SMs"
    yield "driver", f"{device.driver} (CUDA {device.cuda_driver}), NVRTC {result.nvrtc}"
    yield "launch", f"grid {Dim3(*result.grid)}, block {Dim3(*result.block)}"
    yield (
        "kernel",
        f"{result.kernel}: {result.registers} registers, {shared:,} bytes of shared memory",
    )
    yield from _verdicts(result)
    if result.median_ms is not None:
        yield (
            "time",
            f"median {result.median_ms:.4f} ms; 5 % under {result.p5_ms:.4f}, 95 % under "
            f"{result.p95_ms:.4f}; {len(result.samples_ms)} launches (ended: {result.ended})",
        )
    if result.gflops is not None:
        yield (
            "rate",
            f"{result.gflops:,.1f} GFLOPS; 5 % under {result.gflops_p5:,.1f}, 95 % under "
            f"{result.gflops_p95:,.1f}",
        )
    if result.effective_gbs is not None:
        yield (
            "bandwidth",
            f"{result.effective_gbs:,.1f} GB/s effective: {result.bytes_once:,} bytes, those of "
            "each array once",
        )
    written = f"flushed before each launch ({result.flush_bytes >> 20} MiB written)"
    yield "L2 cache", written if result.l2_flushed else "not flushed"
    yield "sensors", _sensors(result)
    yield "measured", result.date
    for note in result.notes:
        yield "note", note


def _verdicts(result: BenchmarkResult) -> Iterator[tuple[str, str]]:
    if not result.checks:
        yield "result", "not checked: this kernel's true result is not known"
    for check in result.checks:
        verdict = "right" if check.ok else "WRONG"
        error = "not a number" if check.max_error is None else f"{check.max_error:.3g}"
        yield "result", f"{verdict}: largest error {error}; {check.method}"
        if check.unwritten:
            yield "", f"{check.unwritten:,} elements were never written, or are NaN"


def _sensors(result: BenchmarkResult) -> str:
    readings = result.readings
    values = (
        (readings.sm_mhz, "MHz (SM)"),
        (readings.launch_mhz, "MHz during the launches"),
        (readings.memory_mhz, "MHz (memory)"),
        (readings.temperature_c, "°C"),
        (readings.power_w, "W"),
    )
    shown = [f"{value:,.0f} {unit}" for value, unit in values if value is not None]
    fell = f"; the {result.clock_text}" if result.clock_fell else ""
    return (", ".join(shown) or "not readable (NVML)") + fell
