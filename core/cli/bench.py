"""`tilescope bench`: times kernels on a GPU, one launch or a sweep, and checks their results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.cli.errors import show_error
from core.errors import GpuUnavailable, ParameterError, TilescopeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.gpu.plan import Plan
    from core.gpu.result import BenchmarkResult
    from core.gpu.updates import Outcome

WRONG_RESULT = 1  # exit status, also where a point of a sweep failed
_SIZES, _FILE, _OUTPUT = "Parameters", "A kernel of your own (FILE.cu)", "Results"

Values = Annotated[
    str | None,
    typer.Option(
        metavar="VALUES", help="512,1024 or 256..4096.", show_default=False, rich_help_panel=_SIZES
    ),
]


def _option(*names: str, panel: str, text: str) -> Any:
    return typer.Option(*names, help=text, show_default=False, rich_help_panel=panel)


def bench(
    kernels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUNG|FILE.cu|cublas|all",
            help="Rungs of the ladder, CUDA sources, NVIDIA's own SGEMM, or the whole ladder.",
            show_default=False,
        ),
    ] = None,
    n: Values = None,
    m: Values = None,
    k: Values = None,
    size: Annotated[
        str | None, _option("--size", panel=_SIZES, text="Sets every size that a kernel has.")
    ] = None,
    tile: Values = None,
    pad: Values = None,
    block_x: Values = None,
    block_y: Values = None,
    settings: Annotated[
        list[str] | None,
        _option("--set", panel=_SIZES, text="Any parameter by name: --set n=64,128. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random arrays.", min=0)] = 7,
    budget: Annotated[float, typer.Option(help="Seconds of timing for each point at most.")] = 5.0,
    launch_limit: Annotated[
        float, typer.Option(help="A launch that takes more seconds than this is cut off.")
    ] = 30.0,
    device: Annotated[
        str, typer.Option(help="Which GPU, counted from 0; 0,1 or all spread a sweep.")
    ] = "0",
    flush: Annotated[bool, typer.Option(help="Flush the L2 cache before each launch.")] = True,
    kernel_name: Annotated[
        str | None, _option("--kernel", panel=_FILE, text="The __global__ function.")
    ] = None,
    grid: Annotated[
        str | None, _option("--grid", panel=_FILE, text='Blocks: "{n//tile},{n//tile}".')
    ] = None,
    block: Annotated[
        str | None, _option("--block", panel=_FILE, text='Threads of a block: "{tile},{tile}".')
    ] = None,
    shared: Annotated[
        str, _option("--shared", panel=_FILE, text="Dynamic shared memory, bytes.")
    ] = "0",
    define: Annotated[
        list[str] | None, _option("--define", "-D", panel=_FILE, text='"TILE={tile}".')
    ] = None,
    arg: Annotated[
        list[str] | None, _option("--arg", panel=_FILE, text='"A=float32[{n},{n}]", "N={n}".')
    ] = None,
    flops: Annotated[
        str, _option("--flops", panel=_FILE, text='Its operations: "2*n*n*n".')
    ] = "",
    expect: Annotated[
        str, _option("--expect", panel=_FILE, text='What an output must be: "C = A @ B".')
    ] = "",
    out: Annotated[
        list[Path] | None,
        _option(
            "--out", "-o", panel=_OUTPUT,
            text="Write FILE.json, .jsonl, .csv, .parquet or .md, anew after each point; with "
            "--show or --recorded what is shown. Repeatable.",
        ),
    ] = None,
    resume: Annotated[
        bool, _option("--resume", panel=_OUTPUT, text="Leave out what stands in the .jsonl file.")
    ] = False,
    shown: Annotated[
        list[Path] | None,
        _option(
            "--show", panel=_OUTPUT,
            text="Show results from files, measured anywhere; needs no GPU. Repeatable.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=_OUTPUT)
    ] = False,
    recorded: Annotated[
        bool, _option("--recorded", panel=_OUTPUT, text="Show results that come with Tilescope.")
    ] = False,
) -> None:  # fmt: skip
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
    axes = dict(n=n, m=m, k=k, size=size, tile=tile, pad=pad, block_x=block_x, block_y=block_y)
    from core.cli.bench_plan import LaunchTexts, planned, settings_of
    from core.cli.bench_run import Run, without_gpu
    from core.gpu.jobs import Timing

    texts = (kernel_name, grid, block, shared, tuple(define or ()), tuple(arg or ()))
    launch = LaunchTexts(*texts, flops, expect)
    plan = planned(names, {**axes, **settings_of(settings or [])}, launch, seed)

    timing = Timing(budget_s=budget, flush_l2=flush, launch_limit_s=launch_limit)
    run = Run(plan, timing, _devices(device), tuple(out or ()), resume=resume)
    try:
        outcomes = run.outcomes()
    except GpuUnavailable as error:
        raise GpuUnavailable(f"{error} {without_gpu(names[0])}") from None
    _print(plan, outcomes, as_json=as_json)


def _devices(text: str) -> tuple[int, ...] | None:
    """Ordinals, or None for all."""
    from core.gpu.plan import parse_values

    return None if text.strip() == "all" else parse_values(text, "--device")


def _print(plan: Plan, outcomes: Sequence[Outcome], *, as_json: bool) -> None:
    single = len(plan.points) == 1
    results = [o.result for o in outcomes if o.result is not None]
    failed = [o for o in outcomes if o.failure is not None]
    if single and not results and failed and failed[0].failure is not None:
        raise TilescopeError(failed[0].failure.message)
    if as_json:
        data = results[0].to_json() if single and results else _as_json(plan, outcomes)
        typer.echo(json.dumps(data, indent=1, allow_nan=False))
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
        "left_out": [
            {"title": one.title, "parameters": dict(one.parameters), "why": one.why}
            for one in plan.left_out
        ],
    }


def _show(
    plan: Plan, results: Sequence[BenchmarkResult], failed: Sequence[Outcome], *, single: bool
) -> None:
    from rich.console import Console

    from core.cli.bench_report import recorded_tables, result_table

    console = Console()
    if single and results:
        console.print(result_table(results[0]))
    elif results:
        console.print(*recorded_tables(results, word="Measured"))
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
        sizes = ", ".join(f"{name} = {value}" for name, value in left.parameters.items())
        typer.echo(f"Left out: {left.title}, {sizes}: {left.why}", err=True)


def _show_files(
    names: Sequence[str], paths: Sequence[Path], out: Sequence[Path], *, recorded: bool,
    as_json: bool,
) -> None:  # fmt: skip
    from rich.console import Console

    from core.cli.bench_report import recorded_tables
    from core.gpu.files import read_results, write_results
    from core.gpu.result import load_recorded

    results = [*(load_recorded() if recorded else ()), *(r for p in paths for r in read_results(p))]
    results = [r for r in results if not names or r.rung in names or r.series in names]
    for path in out:
        write_results(path, results)
    if as_json:
        typer.echo(json.dumps({"results": [r.to_json() for r in results]}, allow_nan=False))
    else:
        Console().print(*recorded_tables(results))
