"""`tilescope trace`: runs a kernel in the emulator and counts its memory traffic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from core.cli.console import compile_errors, progress_bar
from core.cli.workloads import file_launch, is_file, parse_settings, ptx_launch, rung_workload
from core.errors import ArgumentError

if TYPE_CHECKING:
    from core.analysis.l1 import L1Probe
    from core.cuda.compiler import Build
    from core.launch import Workload
    from core.trace import Trace

_SIZES = "Parameters of a rung"
_LAUNCH = "A kernel of your own (FILE.cu or FILE.ptx)"
_OUTPUT = "Result"

Size = Annotated[int | None, typer.Option(show_default=False, rich_help_panel=_SIZES)]


def _option(*names: str, panel: str, text: str) -> Any:
    return typer.Option(*names, help=text, show_default=False, rich_help_panel=panel)


def trace(
    kernel: Annotated[
        str,
        typer.Argument(
            metavar="RUNG|FILE.cu|FILE.ptx",
            help="A rung of the ladder, a CUDA source or a PTX file.",
        ),
    ],
    n: Size = None,
    m: Size = None,
    k: Size = None,
    tile: Size = None,
    pad: Size = None,
    block_x: Size = None,
    block_y: Size = None,
    settings: Annotated[
        list[str] | None,
        _option("--set", panel=_SIZES, text="Any parameter by name: --set n=64. Repeatable."),
    ] = None,
    inputs: Annotated[
        Literal["random", "small", "places"] | None,
        _option(
            "--inputs",
            panel=_SIZES,
            text="What a rung reads: random numbers (so by default), small whole ones (1 to 9), or "
            "places (3.2 in row 3, column 2).",
        ),
    ] = None,
    kernel_name: Annotated[
        str | None,
        _option("--kernel", panel=_LAUNCH, text="The __global__ function, if there are several."),
    ] = None,
    grid: Annotated[
        str | None, _option("--grid", panel=_LAUNCH, text="Blocks in x, y, z: 8,8.")
    ] = None,
    block: Annotated[
        str | None, _option("--block", panel=_LAUNCH, text="Threads of a block: 16,16.")
    ] = None,
    shared: Annotated[
        int | None, _option("--shared", panel=_LAUNCH, text="Dynamic shared memory, bytes.")
    ] = None,
    define: Annotated[
        list[str] | None,
        _option("--define", "-D", panel=_LAUNCH, text="TILE_WIDTH=16, as for a compiler."),
    ] = None,
    arg: Annotated[
        list[str] | None,
        _option(
            "--arg",
            panel=_LAUNCH,
            text="N=128, A=float32[128,128] (random), C=zeros:float32[64] (or ones, range, "
            "small, places, poison; index: below the first size), B=@b.npy. Repeatable; types come "
            "from the kernel's signature. What is not given is guessed.",
        ),
    ] = None,
    build: Annotated[
        Literal["as_written", "as_compiled"],
        typer.Option(help="Trace the source as written (-G) or the optimised build."),
    ] = "as_written",
    seed: Annotated[int, typer.Option(help="Seed of random buffers.", min=0)] = 7,
    blocks: Annotated[
        str | None,
        typer.Option(
            help="Blocks to record for stepping: all, or 0,3,5. All are run and counted.",
            show_default="as many as fit in memory",
        ),
    ] = None,
    only: Annotated[
        bool,
        typer.Option("--only", help="With --blocks: run no other blocks; the counts are theirs."),
    ] = False,
    budget: Annotated[
        int | None,
        typer.Option(
            help="Give up after this many warp-wide instructions of the blocks that run together.",
            min=1,
            show_default=False,
        ),
    ] = None,
    counters_only: Annotated[
        bool,
        _option(
            "--counters-only",
            panel=_OUTPUT,
            text="Count only: one block of each kind runs, so that any size takes seconds.",
        ),
    ] = False,
    order: Annotated[
        Literal["lockstep", "round_robin", "warp_by_warp", "random"],
        typer.Option(help="How the warps of a block take turns; --seed is for random as well."),
    ] = "lockstep",
    checks: Annotated[
        bool,
        typer.Option(
            "--checks/--no-checks", help="Look for races and reads of what was never written."
        ),
    ] = True,
    l1: Annotated[
        bool, _option("--l1", panel=_OUTPUT, text="Estimate what an H200's L1 caches would hit.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=_OUTPUT)
    ] = False,
    save: Annotated[
        Path | None,
        _option("--save", panel=_OUTPUT, text="Save the whole record as FILE.npz."),
    ] = None,
    save_outputs: Annotated[
        Path | None,
        _option("--save-outputs", panel=_OUTPUT, text="Save what the kernel wrote as DIR/*.npy."),
    ] = None,
) -> None:
    """Run a kernel in the emulator and show the memory transactions that it makes."""
    if l1 and counters_only:
        raise ArgumentError(
            "--l1 follows the loads of every block, and --counters-only runs one of each kind: "
            "leave out one of them."
        )
    if only and blocks is None:
        raise ArgumentError(
            "--only runs no blocks but those of --blocks: name them, as in --blocks 0."
        )
    if only and (l1 or counters_only):
        raise ArgumentError("--only leaves blocks out that --l1 and --counters-only look at.")
    sizes = dict(n=n, m=m, k=k, tile=tile, pad=pad, block_x=block_x, block_y=block_y)
    given = {name: value for name, value in sizes.items() if value is not None}
    given |= parse_settings(settings or ())
    launch = {
        "kernel": kernel_name,
        "grid": grid,
        "block": block,
        "shared": shared,
        "define": define or None,
        "arg": arg or None,
    }
    ptx: Build | None = None
    guessed = ""
    if inputs is not None and (is_file(kernel) or kernel.endswith(".ptx")):
        raise ArgumentError(f"--inputs is for a rung; say --arg A={inputs}:float32[64,64].")
    if kernel.endswith(".ptx"):
        workload, ptx = ptx_launch(Path(kernel), given, launch, seed)
    elif is_file(kernel):
        workload, guessed = file_launch(Path(kernel), given, launch, seed)
    else:
        workload = rung_workload(kernel, given, launch, seed, blank=counters_only, inputs=inputs)
    if counters_only:
        _show_counts(workload, build, budget, seed, ptx, as_json=as_json)
        return
    chosen = _chosen_blocks(blocks, workload)
    probe = _l1_probe() if l1 else None
    result = _record(
        workload, build, chosen, budget, order, seed, ptx, probe, checks=checks, only=only
    )
    from core.cli import l1_report, report

    if save is not None:
        from core.storage import save_trace

        save_trace(result, save)
    if save_outputs is not None:
        report.save_outputs(result, save_outputs)
    if as_json:
        data = report.as_json(result, seed)
        if probe is not None:
            data["l1"] = l1_report.as_json(probe.estimate())
        typer.echo(json.dumps(data, indent=1, allow_nan=False))
    else:
        console = report.standard_console()
        report.show(result, console)
        if guessed:
            console.print(f"Guessed: {guessed}", markup=False, highlight=False, soft_wrap=True)
        if probe is not None:
            l1_report.show(probe.estimate(), workload.source, console)


def _show_counts(
    workload: Workload,
    build: Literal["as_written", "as_compiled"],
    budget: int | None,
    seed: int,
    ptx: Build | None,
    *,
    as_json: bool,
) -> None:
    from core.cli import report
    from core.counting import count
    from core.emulator.machine import Limits

    limits = Limits() if budget is None else Limits(instructions=budget, seconds=None)
    with compile_errors(workload), progress_bar(f"counting {workload.kernel}") as progress:
        counted = count(workload, kind=build, build=ptx, limits=limits, progress=progress)
    if as_json:
        typer.echo(json.dumps(report.counted_json(counted, seed), indent=1, allow_nan=False))
    else:
        report.show_counted(counted)


def _chosen_blocks(text: str | None, workload: Workload) -> Literal["all"] | tuple[int, ...] | None:
    if text is None or text == "all":
        return "all" if text else None
    count = workload.launch.grid.count
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) < count for part in parts):
        raise ArgumentError(
            f"`--blocks {text}`: write all, or block numbers from 0 to {count - 1}."
        )
    return tuple(sorted({int(part) for part in parts}))


def _record(
    workload: Workload,
    build: Literal["as_written", "as_compiled"],
    blocks: Literal["all"] | tuple[int, ...] | None,
    budget: int | None,
    order: Literal["lockstep", "round_robin", "warp_by_warp", "random"],
    seed: int,
    ptx: Build | None,
    l1: L1Probe | None,
    *,
    checks: bool,
    only: bool,
) -> Trace:
    from core.emulator.machine import Limits
    from core.recording import record

    limits = Limits() if budget is None else Limits(instructions=budget, seconds=None)
    with compile_errors(workload), progress_bar(f"running {workload.kernel}") as progress:
        return record(
            workload, kind=build, blocks=blocks, limits=limits, order=order, seed=seed,
            checks=checks, only_recorded=only, progress=progress, build=ptx, l1=l1,
        )  # fmt: skip


def _l1_probe() -> L1Probe:
    from core.analysis.l1 import L1Probe

    return L1Probe()
