"""`tilescope compare-ncu`: a profile of Nsight Compute beside the emulator's counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from core.cli.console import FOUND, Terminal, compile_errors, plain_table, print_json, progress_bar
from core.cli.named_launch import chosen_workload
from core.cli.options import AsJson, FileOptions, Sizes

if TYPE_CHECKING:
    from core.nsight import Comparison


def compare_ncu(
    profile: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.csv|REPORT.ncu-rep",
            help="What `ncu --csv` printed, a page (raw, details) exported as CSV, or a report.",
        ),
    ],
    kernel: Annotated[
        str, typer.Argument(metavar="RUNG|FILE.cu", help="The launch that was profiled.")
    ],
    *,
    sizes: Sizes,
    number: Annotated[
        int | None,
        typer.Option(
            "--id", help="The launch's ID in the profile.", show_default="the first that fits"
        ),
    ] = None,
    build: Annotated[
        Literal["auto", "as_compiled", "as_written"],
        typer.Option(help="The build to count; auto: the one that agrees with more."),
    ] = "auto",
    launch: FileOptions,
    as_json: AsJson = False,
) -> None:
    """Set a profile of Nsight Compute beside the counts of the same launch; needs no GPU.

    Where they differ it says why, as far as that is known. A report has sectors and wavefronts by
    source line as well. The exit status is 1 where a counter differs.
    """
    from core.nsight import compare, read_profile

    launches = read_profile(profile)
    workload = chosen_workload(kernel, sizes.given(), launch.launch())
    with compile_errors(workload), progress_bar(f"counting {workload.kernel}") as progress:
        found = compare(
            launches,
            workload,
            number=number,
            build=None if build == "auto" else build,
            progress=progress,
        )
    if as_json:
        print_json(as_data(found))
    else:
        _show(found)
    if found.differing or any(not line.equal for line in found.lines):
        raise typer.Exit(FOUND)


def as_data(found: Comparison) -> dict[str, Any]:
    """The comparison as plain data."""
    profiled = found.profiled
    return {
        "id": profiled.number,
        "kernel": profiled.kernel,
        "compute_capability": profiled.capability or None,
        "build": found.build,
        "counters": {
            one.name: {
                "metric": one.metric,
                "tilescope": one.ours,
                "ncu": one.theirs,
                "equal": one.equal,
                "why": one.why,
            }
            for one in found.counters
        },
        "lines": [
            {"line": one.line, "what": one.what, "tilescope": one.ours, "ncu": one.theirs}
            for one in found.lines
        ],
        "more": found.more,
        "notes": list(found.notes),
    }


def _show(found: Comparison) -> None:
    console = Terminal()
    profiled = found.profiled
    at = f", compute capability {profiled.capability}" if profiled.capability else ""
    console.say(
        f"Launch {profiled.number} of the profile: {profiled.text}{at}; counted "
        f"{found.build.replace('_', ' ')}"
    )
    console.print(_counters(found))
    for one in found.differing:
        console.say(f"{one.name}: {one.why}.", "yellow")
    if found.lines:
        console.print(_by_line(found))
    more = [f"The profile has {found.more} more of it; --id chooses one."] if found.more else []
    for note in (*more, *found.notes):
        console.say(note)
    if missing := [one.name for one in found.missing]:
        names = ", ".join(missing)
        console.say(f"Not in the profile: {names}.", "dim")
    there = [one for one in found.counters if one.theirs is not None]
    equal = sum(one.equal for one in there)
    lines = ""
    if found.lines:
        lines = f", {sum(one.equal for one in found.lines)} of {len(found.lines)} figures by line"
    console.print(f"{equal} of {len(there)} counters equal{lines}.", highlight=False)


def _counters(found: Comparison) -> Table:
    table = plain_table("counter", ">Tilescope", ">ncu", ">difference")
    for one in found.counters:
        if one.theirs is None or (one.equal and not one.ours):
            continue
        difference = "" if one.equal else f"{one.ours - one.theirs:+,.0f}"
        style = None if one.equal else "yellow"
        table.add_row(one.name, f"{one.ours:,}", f"{one.theirs:,.0f}", difference, style=style)
    return table


def _by_line(found: Comparison) -> Table:
    table = plain_table(">line", "", ">Tilescope", ">ncu")
    for one in found.lines:
        style = None if one.equal else "yellow"
        table.add_row(str(one.line), one.what, f"{one.ours:,}", f"{one.theirs:,.0f}", style=style)
    return table
