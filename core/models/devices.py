"""The table of known GPUs (resources/devices.toml) and the figures that follow from a row."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from core.errors import TilescopeError

# How far 2 x clock x width / 8 may lie from the bandwidth that is published (often rounded).
_ROUNDING = 0.005


@dataclass(frozen=True)
class Device:
    """One GPU. Clocks in MHz, sizes in KiB, bandwidth in GB/s (10^9 bytes a second)."""

    name: str
    compute_capability: tuple[int, int]
    sms: int
    cores_per_sm: int
    boost_mhz: float
    memory_mhz: float
    bus_bits: int
    bandwidth_gbs: float
    l2_kib: int
    shared_per_sm_kib: int
    shared_per_block_kib: int
    tensor_per_clock: int
    source: str
    checked: str = ""

    @property
    def cores(self) -> int:
        """FP32 cores of the whole GPU."""
        return self.sms * self.cores_per_sm

    @property
    def peak_gflops(self) -> float:
        """Peak FP32 rate: 2 (a multiply-add counts as two) x cores x clock, in GFLOPS."""
        return 2 * self.cores * self.boost_mhz / 1e3

    @property
    def mma_sync_per_clock(self) -> float:
        """What `mma.sync` reaches of `tensor_per_clock`: all of it, where nothing else is known."""
        return self.tensor_per_clock * _MMA_SYNC.get(self.compute_capability[0], 1.0)

    @property
    def computed_bandwidth_gbs(self) -> float:
        """2 x memory clock x bus width / 8: the rule of NVIDIA's deviceQuery sample, in GB/s."""
        return bandwidth_gbs(self.memory_mhz, self.bus_bits)

    @property
    def ridge(self) -> float:
        """FLOP/B at which DRAM bandwidth and peak FP32 rate meet on a roofline."""
        return self.peak_gflops / self.bandwidth_gbs


def bandwidth_gbs(memory_mhz: float, bus_bits: int) -> float:
    """Peak DRAM bandwidth in GB/s from the memory clock that CUDA reports and the bus width."""
    return 2 * memory_mhz * 1e6 * bus_bits / 8 / 1e9


# helper_cuda.h of NVIDIA's cuda-samples, _ConvertSMVer2Cores; newest first, by major revision or
# by exact version where a major revision has two kinds of SM.
_CORES: Mapping[tuple[int, int | None], int] = {
    (12, None): 128,
    (11, None): 128,
    (10, None): 128,
    (9, None): 128,
    (8, 0): 64,
    (8, None): 128,
    (7, None): 64,
    (6, 0): 64,
    (6, None): 128,
    (5, None): 128,
    (3, None): 192,
    (2, 0): 32,
    (2, None): 48,
    (1, None): 8,
}


# What an SM's tensor cores do a clock (half-precision factors, float sums, dense) at best, from the
# whitepapers of each generation; GeForce cards of 7.5 to 12.0 do half of it.
_TENSOR: Mapping[tuple[int, int | None], int] = {
    (12, None): 1024,
    (10, None): 8192,
    (9, None): 4096,
    (8, 0): 2048,
    (8, None): 1024,
    (7, None): 1024,
}


# The share of that rate which `mma.sync` reaches, by major revision, where `wgmma` has the whole.
# NVIDIA publishes none; measured by scripts/measure_tensor.py on an H200 (driver 580.159.04,
# 2026-11-21): one m16n8k16 product of halves in six clocks of a partition (four for the full rate),
# and one m16n8k8 product of tf32 likewise: 0.984 of that was the best, none was above it.
_MMA_SYNC: Mapping[int, float] = {9: 2 / 3}


def tensor_per_clock(compute_capability: tuple[int, int]) -> int:
    """Operations a clock of an SM's tensor cores at best; 0 where there are none, or not known."""
    major, _ = compute_capability
    return _TENSOR.get(compute_capability, _TENSOR.get((major, None), 0))


def cores_per_sm(compute_capability: tuple[int, int]) -> int | None:
    """FP32 cores of an SM of that compute capability; None where it is not known."""
    major, _ = compute_capability
    return _CORES.get(compute_capability, _CORES.get((major, None)))


@dataclass(frozen=True)
class DeviceTable:
    """The known devices, in the order of the file."""

    devices: tuple[Device, ...]

    def __iter__(self) -> Iterator[Device]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)

    def find(self, name: str) -> Device:
        """The device called `name`; case, spaces, "NVIDIA" and "GeForce" do not matter.

        Raises TilescopeError, listing the names, where none or several fit.
        """
        wanted = _key(name)
        exact = [d for d in self.devices if _key(d.name) == wanted]
        found = exact or [d for d in self.devices if wanted and _key(d.name).startswith(wanted)]
        if len(found) == 1:
            return found[0]
        names = ", ".join(d.name for d in found or self.devices)
        trouble = "fits several devices" if found else "is not in the table of devices"
        raise TilescopeError(f"{name} {trouble}: use one of {names}.")


def _key(name: str) -> str:
    lowered = name.lower()
    for word in ("nvidia", "geforce", "tesla"):
        lowered = lowered.replace(word, "")
    return "".join(c for c in lowered if c.isalnum())


def devices_file() -> Path:
    """Where the table of known devices is."""
    return Path(__file__).resolve().parents[2] / "resources" / "devices.toml"


@cache
def load_devices(path: Path | None = None) -> DeviceTable:
    """Reads and checks the table; raises TilescopeError, naming the row, where it is wrong."""
    file = path or devices_file()
    try:
        rows = tomllib.loads(file.read_text(encoding="utf-8"))["device"]
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise TilescopeError(f"The table of devices, {file}, cannot be read: {error}.") from error
    devices = tuple(_device(row) for row in rows)
    _refuse_twins(d.name for d in devices)
    return DeviceTable(devices)


def _device(row: Mapping[str, Any]) -> Device:
    label = f"devices.toml, {row.get('name', 'a row without a name')}"
    wanted = {field.name for field in fields(Device)}
    if set(row) != wanted:
        odd = ", ".join(sorted(wanted ^ set(row)))
        raise TilescopeError(f"{label}: missing or unknown: {odd}.")
    try:
        major, minor = (int(part) for part in row["compute_capability"].split("."))
        device = Device(**{**row, "compute_capability": (major, minor)})
    except (AttributeError, ValueError) as error:
        raise TilescopeError(f"{label}: compute_capability is written as in '9.0'.") from error
    _check(device, label)
    return device


def _check(device: Device, label: str) -> None:
    known = cores_per_sm(device.compute_capability)
    if device.cores_per_sm != known:
        raise TilescopeError(
            f"{label}: {device.cores_per_sm} cores an SM; that compute capability has {known}."
        )
    error = abs(device.computed_bandwidth_gbs / device.bandwidth_gbs - 1)
    if not error <= _ROUNDING:
        raise TilescopeError(
            f"{label}: {device.bandwidth_gbs} GB/s, but its clock and bus width give "
            f"{device.computed_bandwidth_gbs:.1f}."
        )
    if not (device.source and device.checked):
        raise TilescopeError(f"{label}: a source, or what it was checked against, is missing.")
    if device.tensor_per_clock > tensor_per_clock(device.compute_capability):
        raise TilescopeError(f"{label}: its tensor cores are faster than that generation's.")


def _refuse_twins(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if _key(name) in seen:
            raise TilescopeError(f"devices.toml has {name} twice.")
        seen.add(_key(name))
