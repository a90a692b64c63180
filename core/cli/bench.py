"""`tilescope bench`: times a rung of the ladder on a GPU, after checking its result."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.errors import GpuUnavailable, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from rich.status import Status

    from core.gpu.jobs import BenchmarkJob
    from core.gpu.reporting import Event
    from core.gpu.result import BenchmarkResult

WRONG_RESULT = 1  # exit status
_PROGRESS_EVERY = 10  # samples

Size = Annotated[int | None, typer.Option(show_default=False, rich_help_panel="Sizes")]


def bench(
    rung: Annotated[
        str | None, typer.Argument(help="A rung of the ladder, such as tiled.", show_default=False)
    ] = None,
    n: Size = None,
    m: Size = None,
    k: Size = None,
    tile: Size = None,
    pad: Size = None,
    block_x: Size = None,
    block_y: Size = None,
    seed: Annotated[int, typer.Option(help="Seed of the random arrays.", min=0)] = 7,
    budget: Annotated[float, typer.Option(help="Stop timing after this many seconds.")] = 5.0,
    device: Annotated[int, typer.Option(help="Which GPU, counted from 0.", min=0)] = 0,
    flush: Annotated[bool, typer.Option(help="Flush the L2 cache before each launch.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Show results from other machines; needs no GPU.")
    ] = False,
) -> None:
    """Time a kernel on an NVIDIA GPU, after checking its result against float64."""
    if recorded:
        _show_recorded(rung, as_json)
        return
    if rung is None:
        raise ParameterError("Say which rung to time, as in `tilescope bench tiled --n 4096`.")
    if not budget > 0:
        raise ParameterError("The budget must be more than 0 seconds.")
    sizes = {"n": n, "m": m, "k": k, "tile": tile, "pad": pad, "block_x": block_x}
    sizes["block_y"] = block_y
    given = {name: value for name, value in sizes.items() if value is not None}
    result = _run(_job(rung, given, seed, budget, flush), device)
    if as_json:
        typer.echo(json.dumps(result.to_json(), indent=1, allow_nan=False))
    else:
        _print(result)
    if result.ok is False:
        raise typer.Exit(WRONG_RESULT)


def _job(rung: str, given: dict[str, int], seed: int, budget: float, flush: bool) -> BenchmarkJob:
    """The job; raises ParameterError here, before any GPU is looked for."""
    from core.gpu.jobs import BenchmarkJob, RungSubject, Timing
    from core.ladder import load_ladder

    load_ladder()[rung].check(**given)
    return BenchmarkJob(RungSubject(rung, given, seed), Timing(budget_s=budget, flush_l2=flush))


def without_gpu(rung: str) -> str:
    """The sentence that says what works on a machine without a GPU."""
    from core.gpu.result import load_recorded

    names = sorted({result.device.name for result in load_recorded()})
    shown = f", and `tilescope bench --recorded` shows results from {', '.join(names)}"
    return (
        f"Timing needs an NVIDIA GPU; without one `tilescope trace {rung}` still counts every "
        f"memory transaction{shown if names else ''}."
    )


def _run(job: BenchmarkJob, device: int) -> BenchmarkResult:
    from rich.console import Console

    from core.gpu.benchmark import run_benchmark
    from core.gpu.executor import GpuWorker
    from core.gpu.jobs import RungSubject

    console = Console(stderr=True)
    with GpuWorker(device) as worker, console.status("starting the GPU") as status:
        future = worker.stream(_progress(status), run_benchmark, job)
        try:
            return _wait(future)
        except KeyboardInterrupt:
            status.update("finishing with what was measured")
            worker.stop()
            return _wait(future)
        except GpuUnavailable as error:
            assert isinstance(job.subject, RungSubject)
            raise GpuUnavailable(f"{error} {without_gpu(job.subject.rung)}") from None


def _wait(future: Future[Any]) -> BenchmarkResult:
    """The future's result; wakes up now and then so that Ctrl-C is heard on every system."""
    from concurrent.futures import wait

    while not wait([future], timeout=0.5).done:
        pass
    result: BenchmarkResult = future.result()
    return result


def _progress(status: Status) -> Callable[[Event], None]:
    """Shows each stage, and the running median now and then, on standard error."""
    from core.gpu.reporting import Sample, Stage
    from core.gpu.statistics import summarise

    samples: list[float] = []
    terminal = sys.stderr.isatty()

    def show(event: Event) -> None:
        if isinstance(event, Stage):
            status.update(event.doing)
            if not terminal:
                typer.echo(f"{event.doing} …", err=True)
        if not isinstance(event, Sample):
            return
        samples.append(event.milliseconds)
        if len(samples) % _PROGRESS_EVERY == 1:
            rate = "" if event.gflops is None else f", {event.gflops:,.0f} GFLOPS"
            median = summarise(samples).median
            status.update(f"timing: {len(samples)} launches, median {median:.4g} ms{rate}")

    return show


def _print(result: BenchmarkResult) -> None:
    from rich.console import Console

    from core.cli.bench_report import result_table

    Console().print(result_table(result))


def _show_recorded(rung: str | None, as_json: bool) -> None:
    from rich.console import Console

    from core.cli.bench_report import recorded_tables
    from core.gpu.result import load_recorded

    results = [r for r in load_recorded() if rung in (None, r.rung)]
    if as_json:
        typer.echo(json.dumps({"results": [r.to_json() for r in results]}, allow_nan=False))
    else:
        Console().print(*recorded_tables(results))
