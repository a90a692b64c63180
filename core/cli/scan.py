"""`tilescope scan`: many launches counted and ranked, to see which are worth timing."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from core.cli.console import Terminal, plain_table, print_json, progress_bar, tell
from core.cli.options import RESULTS, SIZES, AsJsonResult, cluster_option, option
from core.cli.sweep_options import (
    Axes,
    LaunchTexts,
    chosen_kernels,
    plan_of,
    settings_of,
    values_of,
)
from core.devices.device_table import Device, load_devices
from core.distributed.processes import Spreading, spread, usual_jobs
from core.errors import ParameterError, TilescopeError
from core.gpu.sweep_plan import Kernel, LeftOut, Plan
from core.ladder import load_ladder
from core.wording import assignments, listing

if TYPE_CHECKING:
    from core.tuning.parameter_search import Scanned

_TOP = 20


def scan(
    kernels: Annotated[
        list[str],
        typer.Argument(
            metavar="RUNG|FILE.cu|all", help="Rungs of the ladder, CUDA sources, or all rungs."
        ),
    ],
    *,
    axes: Axes,
    settings: Annotated[
        list[str] | None,
        option("--set", panel=SIZES, text="Any parameter by name: --set tile_k=8,16. Repeatable"),
    ] = None,
    device: Annotated[
        str, typer.Option(help="A device of the table that `tilescope devices` prints.")
    ] = "RTX 3090",
    build: Annotated[
        Literal["as_compiled", "as_written"],
        typer.Option(help="The build to count: optimised, which a GPU runs, or as written."),
    ] = "as_compiled",
    launch: LaunchTexts,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            help="Processes that count.",
            show_default="one a core for every four launches, at most 8",
            min=1,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        cluster_option("Count on the workers of a dask scheduler, or of one started here."),
    ] = None,
    top: Annotated[
        int, typer.Option(help="Rows of the table; JSON and CSV have all.", min=1)
    ] = _TOP,
    as_json: AsJsonResult = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print a row a launch.", rich_help_panel=RESULTS)
    ] = False,
) -> None:
    """Count every combination of parameters, and rank them by what binds them; needs no GPU.

    Sectors, bank conflicts, occupancy and the binding ceiling of each: which are worth timing.
    What is not given: matrices of 4096, and the blocks and tiles that are fast on a GPU.
    """
    if as_json and as_csv:
        raise ParameterError("Choose one of --json and --csv.")
    chosen_device = load_devices().find(device)
    chosen = chosen_kernels(kernels, launch)
    values = values_of({**vars(axes), **settings_of(settings or [])})
    ignored = [axis for axis in values if not any(one.targets(axis) for one in chosen)]
    plan = plan_of(chosen, {a: v for a, v in values.items() if a not in ignored}, seed=0)
    notes = tuple(_without_axis(axis, chosen) for axis in ignored)
    with _spreading(cluster, jobs or usual_jobs(len(plan.points))) as spreading:
        found = Found(*_counted(plan, chosen_device, build, spreading), notes)
    if as_json:
        print_json(as_data(found, chosen_device, build))
    elif as_csv:
        _print_csv(found)
    else:
        _show(found, chosen_device, build, top)
    if not found.rows:
        raise TilescopeError(f"No launch can be counted: {found.refused[0].why}")


@dataclass(frozen=True)
class Found:
    """What a scan gives: launches in their order, what was refused, and sentences about both."""

    rows: tuple[Scanned, ...]
    refused: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def _without_axis(axis: str, chosen: Sequence[Kernel]) -> str:
    having = [rung.name for rung in load_ladder().values() if axis in rung.defaults]
    titles = listing([one.title for one in chosen], "or")
    there = f"; the rungs that have one are {listing(having)}" if having else ""
    return f"There is no parameter {axis} in {titles}, so it is left out{there}."


@contextmanager
def _spreading(address: str | None, jobs: int) -> Iterator[Spreading]:
    """Over processes of this machine, or over a cluster."""
    if address is None:
        yield lambda function, tasks: spread(function, tasks, jobs)
        return
    from core.distributed.cluster import opened

    with opened(address, "EMULATOR", jobs=jobs, tell=tell) as cluster:
        yield cluster.spread


def _counted(
    plan: Plan, device: Device, build: Literal["as_compiled", "as_written"], spreading: Spreading
) -> tuple[tuple[Scanned, ...], tuple[LeftOut, ...]]:
    from core.tuning.parameter_search import Scanned, Task, ranked, scan_point

    tasks = [Task(point, device.name, build) for point in plan.points]
    rows: list[Scanned] = []
    left: dict[int, LeftOut] = dict(enumerate(plan.left_out, -len(plan.left_out)))
    with progress_bar(f"counting {len(tasks)} launches") as progress:
        for done, (place, found) in enumerate(spreading(scan_point, tasks), 1):
            if isinstance(found, Scanned):
                rows.append(found)
            else:
                left[place] = found
            progress(done / len(tasks))
    return ranked(rows), tuple(left[place] for place in sorted(left))


def as_data(found: Found, device: Device, build: str) -> dict[str, Any]:
    """The scan as plain data, the best launch first."""
    return {
        "device": device.name,
        "build": build,
        "launches": [_row(rank, one) for rank, one in enumerate(found.rows, 1)],
        "refused": [asdict(one) for one in found.refused],
        "notes": list(found.notes),
    }


def _row(rank: int, one: Scanned) -> dict[str, Any]:
    data = asdict(one)
    del data["peak_gflops"]
    sums = {"sectors": one.sectors, "wavefronts": one.wavefronts, "conflicts": one.conflicts}
    return {"rank": rank, **sums, "of_peak": one.of_peak, **data}


def _print_csv(found: Found) -> None:
    """A row a launch; those refused follow, with no rank and the reason."""
    rows = [_flat(_row(rank, one)) for rank, one in enumerate(found.rows, 1)]
    rows += [
        _flat({"title": one.title, "parameters": dict(one.parameters), "refused": one.why})
        for one in found.refused
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name == "parameters":
            flat |= {f"parameter.{key}": inner for key, inner in value.items()}
        elif name == "counters":
            flat |= {f"counter.{key}": inner for key, inner in value.items()}
        elif isinstance(value, tuple):
            flat[name] = (" " if name == "limited_by" else "x").join(map(str, value))
        else:
            flat[name] = value
    return flat


# -- for people -----------------------------------------------------------------------------------


def _show(found: Found, device: Device, build: str, top: int) -> None:
    console = Terminal()
    for note in found.notes:
        console.say(note, "yellow")
    if found.rows:
        varied, fixed = _split(found.rows)
        same = assignments(fixed)
        console.say(f"{device.name}, counts {build.replace('_', ' ')}{'; ' * bool(same)}{same}")
        console.print(_table(found.rows[:top], varied))
        if len(found.rows) > top:
            console.print(f"and {len(found.rows) - top} more: --top {len(found.rows)} shows all")
    for why, several in _by_reason(found.refused):
        which = "; ".join(several)
        console.say(f"Refused: {which}: {why}")
    count = len(found.rows)
    refused = f", {len(found.refused)} refused" if found.refused else ""
    console.print(f"{count} launch{'es' * (count != 1)} counted{refused}.", highlight=False)


def _split(rows: Sequence[Scanned]) -> tuple[list[str], dict[str, int]]:
    """The parameters that differ between the rows, and those that all have alike."""
    names = dict.fromkeys(name for one in rows for name in one.parameters)
    values = {name: {one.parameters.get(name) for one in rows} for name in names}
    varied = [name for name in names if len(values[name]) > 1]
    fixed = {name: v for name in names if len(values[name]) == 1 for v in values[name]}
    return varied, {name: value for name, value in fixed.items() if value is not None}


def _table(rows: Sequence[Scanned], varied: Sequence[str]) -> Table:
    several = len({one.title for one in rows}) > 1
    counters = (">sectors", ">wavefronts", ">conflicts", ">occupancy")
    kernel = ["kernel"] if several else []
    numbers = (f">{name}" for name in varied)
    table = plain_table(">", *kernel, *numbers, *counters, "binds", ">GFLOPS", ">of peak")
    for rank, one in enumerate(rows, 1):
        parameters = [str(one.parameters.get(name, "")) for name in varied]
        counts = [_short(value) for value in (one.sectors, one.wavefronts, one.conflicts)]
        rate = "" if one.gflops is None else f"{one.gflops:,.0f}"
        share = "" if one.of_peak is None else f"{one.of_peak:.1%}"
        table.add_row(
            str(rank),
            *([one.title] if several else []),
            *parameters,
            *counts,
            f"{one.occupancy:.0%}",
            one.binding or "no FLOP",
            rate,
            share,
        )
    return table


def _short(value: int) -> str:
    """A count with four digits at least, so that a row fits a terminal: 538,968 k."""
    for power, unit in ((9, " G"), (6, " M"), (3, " k")):
        if value >= 1000 * 10**power:
            return f"{value / 10**power:,.0f}{unit}"
    return f"{value:,}"


def _by_reason(refused: Iterable[LeftOut]) -> Iterable[tuple[str, list[str]]]:
    reasons: dict[str, list[str]] = {}
    for one in refused:
        sizes = assignments(one.parameters)
        reasons.setdefault(one.why, []).append(f"{one.title}, {sizes}" if sizes else one.title)
    return reasons.items()
