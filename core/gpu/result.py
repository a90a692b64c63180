"""What a benchmark gives back, and its JSON; results recorded earlier, read from files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from core.errors import TilescopeError
from core.gpu.check import Check
from core.gpu.statistics import summarise
from core.models.devices import bandwidth_gbs, cores_per_sm

FORMAT = 1


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
    """What the GPU's sensors said while timing (NVML); None where it would not say."""

    sm_mhz: float | None = None
    memory_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None


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
    def ok(self) -> bool | None:
        """Whether the result is right; None where nobody knows the truth."""
        return all(c.ok for c in self.checks) if self.checks else None

    def to_json(self) -> dict[str, Any]:
        """A dictionary that `json.dumps` takes."""
        data = asdict(self)
        data["parameters"] = dict(self.parameters)
        data["software"] = dict(self.software)
        data["device"]["bandwidth_gbs"] = round(self.device.bandwidth_gbs, 1)
        return {"format": FORMAT, "ok": self.ok, **data}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BenchmarkResult:
        """The inverse of `to_json`; raises TilescopeError for anything else."""
        try:
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']}")
            fields = {k: v for k, v in data.items() if k not in ("format", "ok")}
            device = {k: v for k, v in data["device"].items() if k != "bandwidth_gbs"}
            device["compute_capability"] = tuple(device["compute_capability"])
            fields["device"] = DeviceReport(**device)
            fields["checks"] = tuple(Check(**c) for c in data["checks"])
            fields["readings"] = Readings(**data["readings"])
            for name in ("samples_ms", "notes", "grid", "block"):
                fields[name] = tuple(fields[name])
            return cls(**fields)
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


def load_results(path: Path) -> tuple[BenchmarkResult, ...]:
    """The results in a file that `tilescope bench --json` or `save_results` wrote."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TilescopeError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise TilescopeError(f"{path} is not JSON: {error}.") from error
    rows = data.get("results", [data]) if isinstance(data, dict) else [data]
    if not isinstance(rows, list):
        raise TilescopeError(f"{path} holds no list of results.")
    return tuple(BenchmarkResult.from_json(row) for row in rows)


def save_results(path: Path, results: tuple[BenchmarkResult, ...]) -> None:
    """Writes results to a JSON file that `load_results` reads, a result a line."""
    rows = ",\n".join(json.dumps(r.to_json(), allow_nan=False) for r in results)
    path.write_text(f'{{"results": [\n{rows}\n]}}\n', encoding="utf-8")


def recorded_folder() -> Path:
    """Where the results measured on other machines are kept."""
    return Path(__file__).resolve().parents[2] / "resources" / "recorded"


def load_recorded(folder: Path | None = None) -> tuple[BenchmarkResult, ...]:
    """All recorded results, in the order of the files' names."""
    paths = sorted((folder or recorded_folder()).glob("*.json"))
    return tuple(result for path in paths for result in load_results(path))
