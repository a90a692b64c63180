"""The table of known GPUs (resources/devices.toml) and the figures that follow from a row."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from core.errors import TilescopeError
from core.launch import WARP


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
    also: tuple[str, ...] = ()
    tensor_mhz: float = 0.0
    """The highest clock while `wgmma` keeps the tensor cores busy; 0: `boost_mhz`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, and others that it has."""
        return (self.name, *self.also)

    @property
    def major(self) -> int:
        """The major revision of its compute capability."""
        return self.compute_capability[0]

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
    def group_mhz(self) -> float:
        """The clock of products by `wgmma`, at best."""
        return min(self.tensor_mhz or self.boost_mhz, self.boost_mhz)

    @property
    def tensor_gflops(self) -> float:
        """Peak rate of the tensor cores (halves, float sums, dense); 0 without them."""
        return self.sms * self.tensor_per_clock * self.group_mhz / 1e3

    @property
    def ridge(self) -> float:
        """FLOP/B at which DRAM bandwidth and peak FP32 rate meet on a roofline."""
        return self.peak_gflops / self.bandwidth_gbs


def bandwidth_gbs(memory_mhz: float, bus_bits: int) -> float:
    """Peak DRAM bandwidth, GB/s, from the memory clock that CUDA reports: as deviceQuery has it."""
    return 2 * memory_mhz * 1e6 * bus_bits / 8 / 1e9


# helper_cuda.h of NVIDIA's cuda-samples, _ConvertSMVer2Cores; newest first, by major revision or
# by exact version where a major revision has two kinds of SM.
_CORES: Mapping[tuple[int, int | None], int] = {
    **{(major, None): 128 for major in (12, 11, 10, 9, 8, 6, 5)},
    **dict.fromkeys(((8, 0), (7, None), (6, 0)), 64),
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
        """The device called `name`, or that alone has all its words, in any order ("3090").

        Case, spaces, "NVIDIA" and "GeForce" do not matter. Raises TilescopeError, naming those that
        may be meant, where none or several fit.
        """
        wanted, words = _device_key(name), set(_words(name))
        found = [d for d in self.devices if wanted in map(_device_key, d.names)]
        found = found or [
            d for d in self.devices if words and any(words <= set(_words(n)) for n in d.names)
        ]
        if len(found) == 1:
            return found[0]
        near = found or [d for d in self.devices if wanted and wanted in _device_key(d.name)]
        names = ", ".join(d.name for d in near or self.devices)
        trouble = "fits several devices" if found else "is not in the table of devices"
        raise TilescopeError(f"{name} {trouble}: use one of {names}.")


def _words(name: str) -> list[str]:
    words = re.findall(r"[a-z0-9]+", name.lower())
    return [word for word in words if word not in ("nvidia", "geforce", "tesla")]


def _device_key(name: str) -> str:
    return "".join(_words(name))


_RESOURCES = Path(__file__).resolve().parents[2] / "resources"


@cache
def load_devices() -> DeviceTable:
    """Reads the table, whose rows the tests check."""
    rows = tomllib.loads((_RESOURCES / "devices.toml").read_text(encoding="utf-8"))["device"]
    return DeviceTable(tuple(_device(**row) for row in rows))


def _device(compute_capability: str, also: Sequence[str] = (), **row: Any) -> Device:
    major, minor = map(int, compute_capability.split("."))
    return Device(compute_capability=(major, minor), also=tuple(also), **row)


# What an SM can hold, by compute capability (resources/compute_capabilities.toml).


@dataclass(frozen=True)
class Capability:
    """The limits of an SM. Sizes as their names say; the file explains each of them."""

    name: str
    threads: int
    blocks: int
    registers: int
    registers_per_block: int
    registers_per_thread: int
    register_unit: int
    allocation: str
    warp_unit: int
    partitions: int
    threads_per_block: int
    shared_kib: int
    shared_per_block_kib: int
    shared_opt_in_kib: int
    shared_unit: int
    shared_reserved: int
    carve_outs_kib: tuple[int, ...]
    barriers_per_slot: int
    source: str

    @property
    def warps(self) -> int:
        """Most warps of an SM."""
        return self.threads // WARP

    @property
    def major(self) -> int:
        """The major revision; 0 for an example that is no GPU."""
        head = self.name.partition(".")[0]
        return int(head) if head.isdecimal() else 0


@cache
def load_capabilities() -> Mapping[str, Capability]:
    """The rows by name ("9.0"); the tests check them."""
    path = _RESOURCES / "compute_capabilities.toml"
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["capability"]
    made = (Capability(**{**r, "carve_outs_kib": tuple(r["carve_outs_kib"])}) for r in rows)
    return {one.name: one for one in made}


def capability_of(version: tuple[int, int]) -> Capability:
    """The row of a compute capability, such as (9, 0). Raises TilescopeError if there is none.

    A minor revision that is not in the table is taken for the nearest older one of its major
    revision, as CUDA runs its programs.
    """
    table = load_capabilities()
    major, minor = version
    for older in range(minor, -1, -1):
        if one := table.get(f"{major}.{older}"):
            return one
    known = ", ".join(one.name for one in table.values() if one.major)
    raise TilescopeError(f"Compute capability {major}.{minor} is not in the table; it has {known}.")


def find_capability(name: str) -> tuple[Capability, Device | None]:
    """The SM of a device by its name, of a compute capability ("8.6"), or an example SM by name.

    Raises TilescopeError, listing what there is, for anything else.
    """
    table = load_capabilities()
    wanted = _key(name)
    for one in table.values():
        if _key(one.name) == wanted:
            return one, None
    major, dot, minor = wanted.partition(".")
    if major.isdecimal() and minor.isdecimal():
        return capability_of((int(major), int(minor))), None
    if major.isdecimal() and not minor and (dot or len(major) < 3):
        known = [one for one in table if one.partition(".")[0] == major] or list(table)
        raise TilescopeError(
            f"`{name}` is not a compute capability, which has two numbers: use one of "
            f"{', '.join(known)}."
        )
    try:
        device = load_devices().find(name)
    except TilescopeError as error:
        names = ", ".join(one.name for one in table.values() if not one.major)
        raise TilescopeError(
            f"{str(error).rstrip('.')}; or a compute capability such as 8.6, or {names}."
        ) from error
    return capability_of(device.compute_capability), device


def _key(name: str) -> str:
    return "".join(c for c in name.lower().removeprefix("sm_") if c.isalnum() or c == ".")
