"""`tilescope bench`: times a rung of the ladder on a GPU and checks its result."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.status import Status
from rich.table import Table

from core.errors import GpuUnavailable, ParameterError
from core.gpu.benchmark import run_benchmark
from core.gpu.executor import GpuWorker
from core.gpu.jobs import BenchmarkJob, RungSubject, Timing
from core.gpu.reporting import Event, Stage
from core.gpu.result import BenchmarkResult, load_recorded
from core.gpu.statistics import summarise

NO_GPU = 2  # exit status


def bench(
    rung: Annotated[
        str | None, typer.Argument(help="A rung of the ladder, such as tiled.", show_default=False)
    ] = None,
    n: Annotated[int | None, typer.Option(help="Matrix size.", show_default=False)] = None,
    m: Annotated[int | None, typer.Option(help="Rows of A and C.", show_default=False)] = None,
    k: Annotated[int | None, typer.Option(help="Columns of A.", show_default=False)] = None,
    tile: Annotated[int | None, typer.Option(help="Tile width.", show_default=False)] = None,
    pad: Annotated[
        int | None, typer.Option(help="Padding of a tile's rows.", show_default=False)
    ] = None,
    block_x: Annotated[
        int | None, typer.Option(help="Threads of a block in x.", show_default=False)
    ] = None,
    block_y: Annotated[
        int | None, typer.Option(help="Threads of a block in y.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random matrices.")] = 7,
    budget: Annotated[float, typer.Option(help="Stop timing after this many seconds.")] = 5.0,
    device: Annotated[int, typer.Option(help="Which GPU, counted from 0.")] = 0,
    flush: Annotated[bool, typer.Option(help="Flush the L2 cache before each launch.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    recorded: Annotated[
        bool, typer.Option(help="Show results recorded on other machines; needs no GPU.")
    ] = False,
) -> None:
    """Time a kernel on an NVIDIA GPU, after checking its result against float64."""
    if recorded:
        _show_recorded(rung, as_json)
        return
    if rung is None:
        raise ParameterError("Say which rung to time, as in `tilescope bench tiled --n 4096`.")
    if budget <= 0:
        raise ParameterError("The budget must be more than 0 seconds.")
    given = dict(n=n, m=m, k=k, tile=tile, pad=pad, block_x=block_x, block_y=block_y)
    parameters = {name: value for name, value in given.items() if value is not None}
    job = BenchmarkJob(RungSubject(rung, parameters, seed), Timing(budget_s=budget, flush_l2=flush))
    try:
        result = _run(job, device)
    except GpuUnavailable as error:
        typer.echo(f"{error} {without_gpu(rung)}", err=True)
        raise typer.Exit(NO_GPU) from None
    if as_json:
        typer.echo(json.dumps(result.to_json(), indent=1, allow_nan=False))
    else:
        Console().print(result_table(result))
    if result.ok is False:
        raise typer.Exit(1)


def without_gpu(rung: str) -> str:
    """The sentence that says what works on a machine without a GPU."""
    names = sorted({result.device.name for result in load_recorded()})
    shown = (
        f", and `tilescope bench --recorded` shows results recorded on {', '.join(names)}"
        if names
        else ""
    )
    return (
        f"Timing needs an NVIDIA GPU; without one `tilescope trace {rung}` still counts every "
        f"memory transaction{shown}."
    )


def _run(job: BenchmarkJob, device: int) -> BenchmarkResult:
    console = Console(stderr=True)
    with GpuWorker(device) as worker, console.status("starting the GPU") as status:
        future = worker.stream(_progress(status), run_benchmark, job)
        try:
            return _wait(future)
        except KeyboardInterrupt:
            status.update("finishing with what was measured")
            worker.stop()
            return _wait(future)


def _wait(future: Future[Any]) -> BenchmarkResult:
    """The future's result; wakes up now and then so that Ctrl-C is heard on every system."""
    while True:
        try:
            result: BenchmarkResult = future.result(timeout=0.5)
            return result
        except TimeoutError:
            if future.done():
                raise


def _progress(status: Status) -> Callable[[Event], None]:
    samples: list[float] = []

    def show(event: Event) -> None:
        if isinstance(event, Stage):
            status.update(event.doing)
            if not sys.stderr.isatty():
                typer.echo(f"{event.doing} ...", err=True)
            return
        samples.append(event.milliseconds)
        rate = "" if event.gflops is None else f", {event.gflops:,.0f} GFLOPS"
        if event.index % 10 == 0:
            median = summarise(samples).median
            status.update(f"timing: {len(samples)} launches, median {median:.4g} ms{rate}")

    return show


def result_table(result: BenchmarkResult) -> Table:
    """The result as a table for people."""
    sizes = ", ".join(f"{name} = {value}" for name, value in result.parameters.items())
    table = Table(title=f"{result.title} ({sizes})", show_header=False, title_justify="left")
    for name, text in _rows(result):
        table.add_row(name, text)
    return table


def _rows(result: BenchmarkResult) -> list[tuple[str, str]]:
    device, readings = result.device, result.readings
    major, minor = device.compute_capability
    rows = [
        ("device", f"{device.name}, compute capability {major}.{minor}, {device.sms} SMs"),
        ("driver", f"{device.driver} (CUDA {device.cuda_driver}), NVRTC {result.nvrtc}"),
        ("launch", f"grid {_by(result.grid)}, block {_by(result.block)}"),
        (
            "kernel",
            f"{result.kernel}: {result.registers} registers, "
            f"{result.static_shared_bytes + result.dynamic_shared_bytes:,} bytes of shared memory",
        ),
    ]
    for check in result.checks:
        verdict = "right" if check.ok else "WRONG"
        error = "not a number" if check.max_error is None else f"{check.max_error:.3g}"
        rows.append(("result", f"{verdict}: largest error {error}; {check.method}"))
        if check.unwritten:
            rows.append(("", f"{check.unwritten:,} elements were never written, or are NaN"))
    if not result.checks:
        rows.append(("result", "not checked: nobody knows this kernel's true result"))
    if result.median_ms is not None:
        rows.append(
            (
                "time",
                f"median {result.median_ms:.4f} ms, 5 % {result.p5_ms:.4f}, 95 % "
                f"{result.p95_ms:.4f}, {len(result.samples_ms)} launches (ended: {result.ended})",
            )
        )
    if result.gflops is not None:
        rows.append(("rate", f"{result.gflops:,.1f} GFLOPS"))
    flushed = (
        f"flushed before each launch ({result.flush_bytes >> 20} MiB written)"
        if result.l2_flushed
        else "not flushed"
    )
    rows.append(("L2 cache", flushed))
    clocks = [
        f"{value:,.0f} {unit}"
        for value, unit in (
            (readings.sm_mhz, "MHz (SM)"),
            (readings.memory_mhz, "MHz (memory)"),
            (readings.temperature_c, "°C"),
            (readings.power_w, "W"),
        )
        if value is not None
    ]
    rows.append(("sensors", ", ".join(clocks) or "not readable (NVML)"))
    rows.append(("measured", result.date))
    return rows + [("note", note) for note in result.notes]


def _by(size: tuple[int, int, int]) -> str:
    x, y, z = size
    return f"{x} x {y}" + (f" x {z}" if z != 1 else "")


def _show_recorded(rung: str | None, as_json: bool) -> None:
    results = [r for r in load_recorded() if rung in (None, r.rung)]
    if as_json:
        typer.echo(json.dumps({"results": [r.to_json() for r in results]}, allow_nan=False))
        return
    table = Table(title="Results recorded on other machines", title_justify="left")
    for heading in ("kernel", "parameters", "GFLOPS", "median ms", "device", "driver", "measured"):
        table.add_column(heading, justify="right" if heading in ("GFLOPS", "median ms") else "left")
    for r in results:
        sizes = ", ".join(f"{name} = {value}" for name, value in r.parameters.items())
        rate = "" if r.gflops is None else f"{r.gflops:,.0f}"
        median = "" if r.median_ms is None else f"{r.median_ms:.4f}"
        table.add_row(
            r.rung or r.kernel, sizes, rate, median, r.device.name, r.device.driver, r.date[:10]
        )
    Console().print(table)
