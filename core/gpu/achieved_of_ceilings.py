"""Measured results against the ceilings of the same launch on the same device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.devices.device_table import Device, load_devices, tensor_per_clock
from core.errors import TilescopeError
from core.gpu.benchmark_result import BenchmarkResult, DeviceReport
from core.ladder import Ladder
from core.models.ceilings import Ceilings, ceilings
from core.models.launch_counts import measure_rung


@dataclass(frozen=True)
class Achieved:
    """A measured rate, in GFLOPS, and the ceilings that it stands under."""

    result: BenchmarkResult
    ceilings: Ceilings
    gflops: float

    @property
    def share(self) -> float:
        """Measured rate over the binding ceiling."""
        return self.gflops / self.ceilings.lowest.gflops


def reported_device(report: DeviceReport) -> Device:
    """The device table's row of a GPU as its driver describes it.

    Raises TilescopeError where its compute capability is not known.
    """
    cores = report.cores
    if cores is None:
        version = "{}.{}".format(*report.compute_capability)
        raise TilescopeError(
            f"{report.name} has compute capability {version}, whose cores an SM are not in the "
            "table: ceilings cannot be computed for it."
        )
    return Device(
        name=report.name,
        compute_capability=report.compute_capability,
        sms=report.sms,
        cores_per_sm=cores // report.sms,
        boost_mhz=report.clock_mhz,
        memory_mhz=report.memory_clock_mhz,
        bus_bits=report.memory_bus_bits,
        bandwidth_gbs=report.bandwidth_gbs,
        l2_kib=report.l2_bytes // 1024,
        shared_per_sm_kib=report.shared_per_sm_bytes // 1024,
        shared_per_block_kib=report.shared_per_block_bytes // 1024,
        **_tensor_cores(report),
        source=f"as driver {report.driver} reports it",
        checked="read from the driver",
    )


def _tensor_cores(report: DeviceReport) -> dict[str, Any]:
    """The table's figures for a GPU of that name; the best of its generation for any other."""
    try:
        known = load_devices().find(report.name)
    except TilescopeError:
        return {"tensor_per_clock": tensor_per_clock(report.compute_capability)}
    return {"tensor_per_clock": known.tensor_per_clock, "tensor_mhz": known.tensor_mhz}


def achieved(result: BenchmarkResult, ladder: Ladder, *, written: bool = True) -> Achieved:
    """A result of a rung and its ceilings, counted anew; `written` as in `measure`.

    The ceilings are those at the clock that the SMs ran at meanwhile, where it was measured.

    Raises TilescopeError if it is not a rung's, or has no GFLOPS because its check failed.
    """
    if result.rung is None or result.gflops is None:
        raise TilescopeError(f"{result.title} has no rung or no GFLOPS to put under a ceiling.")
    rung = ladder[result.rung]
    counts = measure_rung(rung, result.parameters, written=written)
    found = ceilings(counts, reported_device(result.device)).at(result.readings.launch_mhz)
    return Achieved(result, found, result.gflops)
