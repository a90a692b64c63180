"""Theoretical occupancy: how many blocks of a kernel an SM holds at a time, and what limits it.

The rules are those of NVIDIA's cuda_occupancy.h (compute capability 5.0 and later) and of its CUDA
Occupancy Calculator spreadsheet (before); tests compare them with the header and its formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from core.devices.device_table import Capability
from core.errors import ParameterError
from core.launch import MAX_STATIC_SHARED, WARP
from core.wording import counted

LIMITS: Mapping[str, str] = {
    "warps": "threads of an SM",
    "blocks": "blocks of an SM",
    "registers": "registers",
    "shared": "shared memory",
    "barriers": "named barriers",
}


@dataclass(frozen=True)
class Resources:
    """What a launch needs: threads of a block, registers of a thread, shared bytes of a block.

    `shared_bytes` is static and dynamic shared memory together, without what the driver adds.
    `barriers` are the named barriers of a block; `__syncthreads` is one.
    """

    block_threads: int
    registers: int = 0
    shared_bytes: int = 0
    barriers: int = 1


@dataclass(frozen=True)
class Occupancy:
    """The blocks, warps and threads that an SM holds at a time.

    `limits` says for each resource how many blocks it allows (None: any number), `limited_by`
    which of them give `blocks`. `registers_per_block` and `shared_per_block` (bytes) are what a
    block is given, rounded up. `why` is a sentence.
    """

    capability: Capability
    resources: Resources
    blocks: int
    limits: Mapping[str, int | None]
    limited_by: tuple[str, ...]
    registers_per_block: int
    shared_per_block: int
    shared_per_sm: int
    why: str

    @property
    def warps(self) -> int:
        """Warps that an SM holds."""
        return self.blocks * warps_of(self.resources.block_threads)

    @property
    def threads(self) -> int:
        """Threads that an SM holds."""
        return self.blocks * self.resources.block_threads

    @property
    def occupancy(self) -> float:
        """Warps held, of the most that an SM can hold: 0 to 1."""
        return self.warps / self.capability.warps


def occupancy(
    capability: Capability, resources: Resources, carve_out: int | None = None
) -> Occupancy:
    """How many blocks an SM holds.

    `carve_out` is the preferred share of shared memory in per cent (0 to 100), None for the
    driver's choice, as much as there is. A launch that a GPU refuses has 0 blocks. Raises
    ParameterError for sizes that make no sense.
    """
    _check(resources, carve_out)
    warps = warps_of(resources.block_threads)
    registers, allocated = _register_limit(capability, resources, warps)
    shared, given, per_sm = _shared_limit(capability, resources, carve_out)
    fits = resources.block_threads <= capability.threads_per_block
    limits = {
        "warps": capability.warps // warps if fits else 0,
        "blocks": capability.blocks,
        "registers": registers,
        "shared": shared,
        "barriers": _barrier_limit(capability, resources),
    }
    blocks = min(limit for limit in limits.values() if limit is not None)
    limited_by = tuple(name for name, limit in limits.items() if limit == blocks)
    why = _sentence(capability, resources, blocks, limited_by, allocated, given)
    return Occupancy(
        capability, resources, blocks, limits, limited_by, allocated, given, per_sm, why
    )


def curve(
    capability: Capability,
    resources: Resources,
    axis: Literal["block_threads", "registers", "shared_bytes"],
    values: Iterable[int],
) -> tuple[Occupancy, ...]:
    """Occupancy with one of the resources varied, the others as given: a plot's points."""
    varied = (replace(resources, **{axis: value}) for value in values)
    return tuple(occupancy(capability, one) for one in varied)


def warps_of(threads: int) -> int:
    """Warps of a block of so many threads."""
    return -(-threads // WARP)


def _check(resources: Resources, carve_out: int | None) -> None:
    if resources.block_threads < 1:
        raise ParameterError("A block has at least one thread.")
    if min(resources.registers, resources.shared_bytes, resources.barriers) < 0:
        raise ParameterError("Registers, shared memory and barriers cannot be negative.")
    if carve_out is not None and not 0 <= carve_out <= 100:
        raise ParameterError("The carve-out is a share of shared memory: use 0 to 100 per cent.")


# -- registers ------------------------------------------------------------------------------------


def _register_limit(
    capability: Capability, resources: Resources, warps: int
) -> tuple[int | None, int]:
    """The blocks that the registers allow, and the registers that a block is given."""
    if capability.allocation == "block":
        return _by_block(capability, resources, warps)
    per_warp = _up(resources.registers * WARP, capability.register_unit)
    per_block = per_warp * warps
    if not _startable(capability, resources.registers, per_warp, warps):
        return 0, per_block
    if not per_warp:
        return None, 0
    each = capability.registers // capability.partitions // per_warp
    return each * capability.partitions // warps, per_block


def _startable(capability: Capability, registers: int, per_warp: int, warps: int) -> bool:
    """Whether a block's registers pass the check at launch.

    The check counts warps up to a multiple of the partitions: of four on Pascal's GP100 as well,
    which has two, so that what it starts runs on the other Pascals too.
    """
    partitions = max(capability.partitions, 4) if capability.major >= 5 else capability.partitions
    assumed = per_warp * _up(warps, partitions)
    # The header lets 256 through from 7.0 on; no compiler makes more than 255.
    most = capability.registers_per_thread + (capability.major >= 7)
    return assumed <= capability.registers_per_block and registers <= most


def _by_block(capability: Capability, resources: Resources, warps: int) -> tuple[int | None, int]:
    threads = _up(warps, capability.warp_unit) * WARP
    per_block = _up(resources.registers * threads, capability.register_unit)
    if resources.registers > capability.registers_per_thread:
        return 0, per_block
    return (capability.registers // per_block if per_block else None), per_block


# -- shared memory and barriers -------------------------------------------------------------------


def _shared_limit(
    capability: Capability, resources: Resources, carve_out: int | None
) -> tuple[int | None, int, int]:
    """The blocks that shared memory allows, what a block is given, what the SM has (bytes)."""
    given = _up(resources.shared_bytes + capability.shared_reserved, capability.shared_unit)
    per_sm = _carved(capability, carve_out, given)
    most = capability.shared_opt_in_kib * 1024 + capability.shared_reserved
    if given > most:
        return 0, given, per_sm
    return (per_sm // given if given else None), given, per_sm


def _carved(capability: Capability, carve_out: int | None, given: int) -> int:
    """Bytes of shared memory that an SM is set up with."""
    whole = capability.shared_kib * 1024
    if carve_out is None or not capability.carve_outs_kib:
        return whole
    return max(_step(capability, carve_out * whole // 100), _step(capability, given))


def _step(capability: Capability, size: int) -> int:
    """The smallest set-up that holds `size`; where nothing does, the largest."""
    steps = [kib * 1024 for kib in capability.carve_outs_kib]
    return next((step for step in steps if step >= size), steps[-1])


def _barrier_limit(capability: Capability, resources: Resources) -> int | None:
    if not (resources.barriers and capability.barriers_per_slot):
        return None
    return capability.blocks * capability.barriers_per_slot // resources.barriers


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


# -- words ----------------------------------------------------------------------------------------


def _sentence(
    capability: Capability,
    resources: Resources,
    blocks: int,
    limited_by: tuple[str, ...],
    registers: int,
    shared: int,
) -> str:
    reasons = {
        "warps": f"{capability.threads:,} threads fit in an SM and a block takes "
        f"{warps_of(resources.block_threads) * WARP:,}",
        "blocks": f"an SM has {capability.blocks} block slots",
        "registers": f"a block takes {registers:,} of {capability.registers:,} registers",
        "shared": f"a block takes {shared:,} of {capability.shared_kib * 1024:,} bytes of "
        "shared memory",
        "barriers": f"a block takes {resources.barriers} named barriers",
    }
    why = "; ".join(reasons[name] for name in limited_by)
    if not blocks:
        return f"A block does not fit: {_refusal(capability, resources, limited_by, why)}."
    held = blocks * resources.block_threads
    share = blocks * warps_of(resources.block_threads) / capability.warps
    told = (
        f"An SM holds {counted(blocks, 'block')}, {held:,} threads, "
        f"{share:.1%} of its warps: {why}."
    )
    if resources.shared_bytes > MAX_STATIC_SHARED:
        told += (
            f" Arrays of a fixed size end at {MAX_STATIC_SHARED:,} bytes a block; more has to be "
            "dynamic."
        )
    return told


def _refusal(
    capability: Capability, resources: Resources, limited_by: tuple[str, ...], why: str
) -> str:
    if "warps" in limited_by:
        return f"it may have at most {capability.threads_per_block:,} threads"
    if "shared" in limited_by:
        return f"it may have at most {capability.shared_opt_in_kib} KiB of shared memory"
    if resources.registers > capability.registers_per_thread:
        return f"a thread may have at most {capability.registers_per_thread} registers"
    return why
