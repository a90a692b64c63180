"""`tilescope devices`: the GPUs of this machine, and the table of known ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from core.cli.console import Terminal, plain_table, print_json
from core.cli.options import AsJson
from core.devices.device_table import load_devices
from core.errors import GpuFailure, GpuUnavailable
from core.gpu.benchmark_result import DeviceReport
from core.gpu.worker_process import devices_here


def devices(
    as_json: AsJson = False,
    sources: Annotated[
        bool, typer.Option("--sources", help="Show the source of each figure.")
    ] = False,
) -> None:
    """List the NVIDIA GPUs found here, and the table of known ones."""
    found, trouble = _find()
    if as_json:
        print_json(_as_json(found, trouble))
        return
    console = Terminal()
    if trouble:
        console.say(f"No GPU found: {trouble}")
    else:
        console.print(_table("GPUs of this machine", [_found_row(d) for d in found]))
    console.print(_table("Known GPUs", [_known_row(d) for d in load_devices()]))
    console.print(
        "CC: compute capability. GB/s: peak DRAM bandwidth, 2 x memory clock x bus width / 8 or as "
        "published. GFLOPS: peak FP32, 2 x cores x clock. Shared memory: KiB an SM.",
        soft_wrap=True,
    )
    if sources:
        for device in load_devices():
            said = f"{device.name}: {device.source}; {device.checked}."
            console.say(said)


def _find() -> tuple[tuple[DeviceReport, ...], str]:
    """The GPUs that the driver finds, or why there are none."""
    try:
        return devices_here(), ""
    except (GpuUnavailable, GpuFailure) as error:
        return (), str(error)


def _as_json(found: tuple[DeviceReport, ...], trouble: str) -> dict[str, Any]:
    known = [
        {**asdict(d), "cores": d.cores, "peak_gflops": d.peak_gflops, "ridge": d.ridge}
        for d in load_devices()
    ]
    here = [
        {**asdict(d), "bandwidth_gbs": d.bandwidth_gbs, "peak_gflops": d.peak_gflops} for d in found
    ]
    return {"found": here, "trouble": trouble or None, "known": known}


def _table(title: str, rows: Iterable[tuple[str, ...]]) -> Table:
    figures = (">CC", ">SMs", ">cores", ">MHz", ">GB/s", ">GFLOPS", ">L2 MiB", ">shared")
    table = plain_table("device", *figures, title=title)
    for row in rows:
        table.add_row(*row)
    return table


def _known_row(device: Any) -> tuple[str, ...]:
    return (
        device.name,
        "{}.{}".format(*device.compute_capability),
        str(device.sms),
        f"{device.cores:,}",
        f"{device.boost_mhz:,.0f}",
        f"{device.bandwidth_gbs:,.1f}",
        _four_digits(device.peak_gflops),
        f"{device.l2_kib / 1024:.4g}",
        str(device.shared_per_sm_kib),
    )


def _found_row(device: DeviceReport) -> tuple[str, ...]:
    cores = device.cores
    return (
        f"{device.name} (number {device.ordinal}, driver {device.driver}, "
        f"{device.memory_bytes / 2**30:.0f} GiB)",
        "{}.{}".format(*device.compute_capability),
        str(device.sms),
        "?" if cores is None else f"{cores:,}",
        f"{device.clock_mhz:,.0f}",
        f"{device.bandwidth_gbs:,.1f}",
        "?" if device.peak_gflops is None else _four_digits(device.peak_gflops),
        f"{device.l2_bytes / 2**20:.4g}",
        f"{device.shared_per_sm_bytes / 1024:.4g}",
    )


def _four_digits(value: float) -> str:
    """Four significant digits, as makers publish peaks: 35,580."""
    return f"{float(f'{value:.4g}'):,.4g}" if value < 1000 else f"{float(f'{value:.4g}'):,.0f}"
