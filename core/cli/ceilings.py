"""`tilescope ceilings`: how fast a kernel can run on a device at most, and what binds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from core.cli.console import Terminal, compile_errors, plain_table, print_json, progress_bar
from core.cli.named_launch import chosen_workload
from core.cli.options import AsJson, FileOptions, Sizes
from core.devices.device_table import load_devices
from core.ladder import load_ladder
from core.wording import assignments

if TYPE_CHECKING:
    from core.models.ceilings import Ceilings


def ceilings(
    kernel: Annotated[
        str, typer.Argument(metavar="RUNG|FILE.cu", help="A rung of the ladder or a CUDA source.")
    ],
    *,
    sizes: Sizes,
    device: Annotated[
        str, typer.Option(help="A device of the table that `tilescope devices` prints.")
    ] = "RTX 3090",
    build: Annotated[
        Literal["as_compiled", "as_written"],
        typer.Option(
            help="The build to count: optimised, which a GPU runs, or as written. The textbook "
            "ceiling is always as written."
        ),
    ] = "as_compiled",
    launch: FileOptions,
    as_json: AsJson = False,
) -> None:
    """Compute the ceilings of a kernel on a device; needs no GPU."""
    from core.models.ceiling_counts import measure, measure_rung
    from core.models.ceilings import ceilings as all_ceilings

    chosen = load_devices().find(device)
    workload = chosen_workload(kernel, sizes.given(), launch.launch())
    with compile_errors(workload), progress_bar(f"counting {workload.kernel}") as progress:
        if workload.rung is not None:
            rung = load_ladder()[workload.rung]
            counts = measure_rung(rung, workload.parameters, build=build, progress=progress)
        else:
            counts = measure(workload, build=build, progress=progress)
        found = all_ceilings(counts, chosen)
    if as_json:
        print_json(as_data(found))
    else:
        _show(found)


def as_data(found: Ceilings) -> dict[str, Any]:
    """The ceilings as plain data."""
    counts, workload = found.counts, found.counts.workload
    launch = workload.launch
    return {
        "kernel": workload.kernel,
        "rung": workload.rung,
        "parameters": dict(workload.parameters),
        "grid": list(launch.grid),
        "block": list(launch.block),
        "device": found.device.name,
        "peak_gflops": found.device.peak_gflops,
        "bandwidth_gbs": found.device.bandwidth_gbs,
        "build": counts.build,
        "counts": {
            "flops": counts.flops,
            "loaded_bytes": counts.written.loaded_bytes,
            "transfers": counts.transfers,
            "least_transfers": counts.least_transfers,
            "dram_bytes": counts.dram_bytes,
            "l2_sectors": counts.work.l2_sectors,
            "lines": counts.work.lines,
            "wavefronts": counts.work.wavefronts,
            "warp_instructions": counts.work.instructions,
        },
        "ceilings": {
            name: {
                "title": one.title,
                "gflops": one.gflops,
                "of_peak": one.gflops / found.device.peak_gflops,
                "formula": one.formula,
                "assumes": one.assumes,
                "build": one.build or None,
                "binds": one.binds,
            }
            for name, one in found.ceilings.items()
        },
        "binding": found.binding,
        "why": found.why,
        "left_out": dict(found.left_out),
        "note": counts.note,
    }


def _show(found: Ceilings) -> None:
    console, counts = Terminal(), found.counts
    sizes = assignments(counts.workload.parameters)
    launch = counts.workload.launch
    console.say(
        f"{counts.workload.title} ({f'{sizes}; ' if sizes else ''}grid {launch.grid}, block "
        f"{launch.block}) on "
        f"{found.device.name}, counts {counts.build.replace('_', ' ')}"
    )
    console.print(_table(found))
    for name, one in found.ceilings.items():
        console.say(f"{name}: {one.formula}")
        console.say(f"    assumes {one.assumes}", "dim")
    for name, reason in found.left_out.items():
        console.say(f"{name}: left out, {reason}")
    console.say(found.why)
    if counts.note:
        console.say(counts.note)


def _table(found: Ceilings) -> Table:
    table = plain_table("ceiling", "", ">GFLOPS", ">of FP32 peak", "")
    for name, one in sorted(found.ceilings.items(), key=lambda item: item[1].gflops):
        mark = "binds" if name == found.binding else "" if one.binds else "caches can beat it"
        of_peak = f"{one.gflops / found.device.peak_gflops:.2%}"
        style = "bold" if name == found.binding else None
        table.add_row(name, one.title, f"{one.gflops:,.2f}", of_peak, mark, style=style)
    return table
