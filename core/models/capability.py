"""What an SM can hold, by compute capability (resources/compute_capabilities.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from core.errors import TilescopeError
from core.models.devices import Device, load_devices

WARP = 32


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


def capabilities_file() -> Path:
    """Where the table is."""
    return Path(__file__).resolve().parents[2] / "resources" / "compute_capabilities.toml"


@cache
def load_capabilities(path: Path | None = None) -> Mapping[str, Capability]:
    """The rows by name ("9.0"); raises TilescopeError, naming the row, where one is wrong."""
    file = path or capabilities_file()
    try:
        rows = tomllib.loads(file.read_text(encoding="utf-8"))["capability"]
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise TilescopeError(f"The table {file} cannot be read: {error}.") from error
    found: dict[str, Capability] = {}
    for row in rows:
        one = _capability(row)
        if one.name in found:
            raise TilescopeError(f"{file.name} has {one.name} twice.")
        found[one.name] = one
    return found


def _capability(row: Mapping[str, Any]) -> Capability:
    label = f"compute_capabilities.toml, {row.get('name', 'a row without a name')}"
    wanted = {field.name for field in fields(Capability)}
    if set(row) != wanted:
        odd = ", ".join(sorted(wanted ^ set(row)))
        raise TilescopeError(f"{label}: missing or unknown: {odd}.")
    one = Capability(**{**row, "carve_outs_kib": tuple(row["carve_outs_kib"])})
    if one.allocation not in ("warp", "block"):
        raise TilescopeError(f'{label}: allocation is "warp" or "block".')
    if one.threads % WARP or (one.carve_outs_kib and one.carve_outs_kib[-1] != one.shared_kib):
        raise TilescopeError(f"{label}: threads or carve_outs_kib do not fit the rest of the row.")
    return one


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
    known = ", ".join(table)
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
    head, dot, tail = wanted.partition(".")
    if dot and head.isdecimal() and tail.isdecimal():
        return capability_of((int(head), int(tail))), None
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
