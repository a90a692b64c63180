"""What a benchmark gives back: statistics of its times, its JSON, its share of a ceiling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from core.dataclasses_as_json import plain, typed
from core.devices.device_table import (
    Device,
    bandwidth_gbs,
    cores_per_sm,
    load_devices,
    tensor_per_clock,
)
from core.errors import TilescopeError
from core.gpu.result_check import Check

if TYPE_CHECKING:
    from core.ladder import Ladder
    from core.models.ceilings import Ceilings

FORMAT = 1
# A clock below this share of the highest has fallen: under a limit of power or heat it does so in
# steps of 15 MHz, the first of which no rate shows.
CLOCK_KEPT = 0.98


def clock_fell(lowest_mhz: float | None, highest_mhz: float) -> bool:
    """Whether the SM clock fell: such a rate is compared with no other, and with no ceiling."""
    return lowest_mhz is not None and lowest_mhz < CLOCK_KEPT * highest_mhz


@dataclass(frozen=True)
class DeviceReport:
    """A GPU as its driver describes it. Clocks in MHz are the device's maxima."""

    ordinal: int
    name: str
    compute_capability: tuple[int, int]
    sms: int
    clock_mhz: float
    memory_clock_mhz: float
    memory_bus_bits: int
    memory_bytes: int
    l2_bytes: int
    shared_per_sm_bytes: int
    shared_per_block_bytes: int
    registers_per_sm: int
    threads_per_sm: int
    driver: str
    cuda_driver: str

    @property
    def bandwidth_gbs(self) -> float:
        """Peak DRAM bandwidth, in GB/s, from the memory's clock and bus width."""
        return bandwidth_gbs(self.memory_clock_mhz, self.memory_bus_bits)

    @property
    def cores(self) -> int | None:
        """FP32 cores of the whole GPU; None for a compute capability that is not known."""
        each = cores_per_sm(self.compute_capability)
        return None if each is None else each * self.sms

    @property
    def peak_gflops(self) -> float | None:
        """Peak FP32 rate at the maximum clock, 2 x cores x clock, in GFLOPS."""
        return None if self.cores is None else 2 * self.cores * self.clock_mhz / 1e3


@dataclass(frozen=True)
class Readings:
    """What the GPU's sensors said while timing (NVML); None where NVML has no value.

    `lowest_sm_mhz` is the lowest of all readings of the SM clock, the rest are the last reading's.
    `launch_mhz` is the median clock of the SMs during the launches by their own counters
    (`core.gpu.sensors`), None where these were too short and in results of older versions.
    """

    sm_mhz: float | None = None
    memory_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    lowest_sm_mhz: float | None = None
    launch_mhz: float | None = None


@dataclass(frozen=True)
class BenchmarkResult:
    """One kernel, one launch, one device: checked, timed. Times in milliseconds.

    `samples_ms` is empty, and what is computed from it None, when the check failed. `gflops` is
    10^9 operations a second at the median time, None where the kernel's work is unknown;
    `gflops_p5` is its slow end, from the 95th percentile of time. `bytes_once` counts what the
    algorithm must read and write: every array whole, once each way, unless the rung says less.
    The last four are empty in results of older versions.
    """

    device: DeviceReport
    date: str  # ISO 8601, UTC
    title: str
    rung: str | None
    kernel: str
    parameters: Mapping[str, int]
    seed: int | None
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared_bytes: int
    flops: int | None
    samples_ms: tuple[float, ...]
    median_ms: float | None
    p5_ms: float | None
    p95_ms: float | None
    gflops: float | None
    gflops_p5: float | None
    gflops_p95: float | None
    ended: str  # "stable", "budget", "sample limit", "stopped", "wrong result" or "cut off"
    warm_up: int
    l2_flushed: bool
    flush_bytes: int
    checks: tuple[Check, ...]
    registers: int
    static_shared_bytes: int
    local_bytes: int
    architecture: str  # what the cubin was compiled for, "sm_90"
    nvrtc: str
    readings: Readings
    notes: tuple[str, ...] = ()
    source_name: str = ""
    source_digest: str = ""  # of the text that was compiled: SHA-256, its first 12 digits
    bytes_once: int | None = None
    software: Mapping[str, str] = field(default_factory=dict)  # version by name

    @property
    def series(self) -> str:
        """Which kernel this is, whatever its parameters: a rung's name, or FILE:KERNEL."""
        return self.rung or f"{self.source_name or self.title}:{self.kernel}"

    @property
    def effective_gbs(self) -> float | None:
        """Effective bandwidth in GB/s: bytes that must be read and written, over the time.

        As CUDA C++ Best Practices Guide defines it (Effective Bandwidth Calculation): what the
        algorithm needs, each byte once, not what the kernel moves.
        """
        if self.bytes_once is None or not self.median_ms:
            return None
        return self.bytes_once / (self.median_ms * 1e6)

    @property
    def clock_fell(self) -> bool:
        """Whether the SM clock was seen below the GPU's highest while this was timed."""
        return clock_fell(self.lowest_sm_mhz, self.device.clock_mhz)

    @property
    def lowest_sm_mhz(self) -> float | None:
        """The lowest SM clock that was read while this was timed."""
        seen = (self.readings.lowest_sm_mhz, self.readings.sm_mhz)
        return min((mhz for mhz in seen if mhz is not None), default=None)

    @property
    def clock_text(self) -> str:
        """What the SM clock did, where it fell: "SM clock fell to 1,500 of 1,980 MHz"; else ""."""
        if not self.clock_fell:
            return ""
        return f"SM clock fell to {self.lowest_sm_mhz:,.0f} of {self.device.clock_mhz:,.0f} MHz"

    @property
    def ok(self) -> bool | None:
        """Whether the result is right; None where nobody knows the truth."""
        return all(c.ok for c in self.checks) if self.checks else None

    def to_json(self) -> dict[str, Any]:
        """A dictionary that `json.dumps` takes."""
        data = plain(self)
        data["device"]["bandwidth_gbs"] = round(self.device.bandwidth_gbs, 1)
        return {"format": FORMAT, "ok": self.ok, **data}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BenchmarkResult:
        """The inverse of `to_json`; raises TilescopeError for anything else."""
        try:
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']}")
            fields = {k: v for k, v in data.items() if k not in ("format", "ok")}
            fields["device"] = {k: v for k, v in data["device"].items() if k != "bandwidth_gbs"}
            return cast(BenchmarkResult, typed(cls, fields))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TilescopeError(
                f"This is not a benchmark result that this version reads ({error})."
            ) from error


def gflops(flops: int | None, milliseconds: float) -> float | None:
    """10^9 operations a second; None where the work is unknown or the time is 0."""
    return None if flops is None or milliseconds <= 0 else flops / (milliseconds / 1e3) / 1e9


def with_samples(
    result: BenchmarkResult, samples_ms: Sequence[float], ended: str, readings: Readings
) -> BenchmarkResult:
    """The result with these samples and what is computed from them; none leave it without."""
    if not samples_ms:
        return replace(result, ended=ended, readings=readings)
    summary, flops = summarise(samples_ms), result.flops
    return replace(
        result,
        samples_ms=tuple(samples_ms),
        median_ms=summary.median,
        p5_ms=summary.p5,
        p95_ms=summary.p95,
        gflops=gflops(flops, summary.median),
        gflops_p5=gflops(flops, summary.p95),
        gflops_p95=gflops(flops, summary.p5),
        ended=ended,
        readings=readings,
    )


# -- statistics of timing samples -----------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """Quantiles of samples, in the samples' own unit (milliseconds throughout `core.gpu`)."""

    count: int
    median: float
    p5: float
    p95: float
    # Bounds of the 95 % confidence interval of the median.
    median_low: float
    median_high: float

    @property
    def median_uncertainty(self) -> float:
        """Half the confidence interval's width over the median."""
        return (self.median_high - self.median_low) / 2 / self.median if self.median else math.inf


def summarise(samples: Sequence[float]) -> Summary:
    """The summary of at least one sample; raises ValueError for none or for NaN."""
    if not samples:
        raise ValueError("there are no samples to summarise")
    ordered = np.sort(np.asarray(samples, dtype=np.float64))
    if not np.all(np.isfinite(ordered)):
        raise ValueError("a sample is not a finite number")
    low, high = _median_ranks(len(ordered))
    p5, median, p95 = np.quantile(ordered, (0.05, 0.5, 0.95))
    return Summary(
        count=len(ordered),
        median=float(median),
        p5=float(p5),
        p95=float(p95),
        median_low=float(ordered[low]),
        median_high=float(ordered[high]),
    )


def _median_ranks(count: int) -> tuple[int, int]:
    """Ranks (from 0) of the order statistics that enclose the median with 95 % confidence.

    How many samples fall below the median is binomial(count, 1/2); its normal approximation gives
    the ranks whatever the samples' own distribution is (Hollander & Wolfe, Nonparametric
    Statistical Methods, on confidence intervals from the sign test).
    """
    half = 1.96 * math.sqrt(count) / 2
    low = max(math.floor(count / 2 - half), 0)
    high = min(math.ceil(count / 2 + half), count - 1)
    return low, high


def is_stable(samples: Sequence[float], *, minimum: int, relative: float) -> bool:
    """Whether there are `minimum` samples and the median is known to within `relative` (0.002)."""
    return len(samples) >= minimum and summarise(samples).median_uncertainty <= relative


# -- against the ceilings of the same launch on the same device -----------------------------------


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
    from core.models.ceiling_counts import measure_rung
    from core.models.ceilings import ceilings

    if result.rung is None or result.gflops is None:
        raise TilescopeError(f"{result.title} has no rung or no GFLOPS to put under a ceiling.")
    rung = ladder[result.rung]
    counts = measure_rung(rung, result.parameters, written=written)
    found = ceilings(counts, reported_device(result.device)).at(result.readings.launch_mhz)
    return Achieved(result, found, result.gflops)
