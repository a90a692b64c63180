"""What a launch was counted to need: the numbers that every ceiling is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from core.counting import Counted, count
from core.cuda.compiler import BuildKind
from core.emulator.machine import Limits
from core.launch import Workload
from core.models.work import Asked, Work, WorkProbe

SECTOR = 32

# A block of a large launch may run long; who counts can stop it by `cancelled`.
_LIMITS = Limits(instructions=1 << 31, seconds=None)


@dataclass(frozen=True)
class Counts:
    """What a launch needs: as written for the textbook ceiling, and in the build that runs.

    `read_sectors` and `written_sectors` are the 32-byte sectors of each array that are loaded and
    stored, each once. `uniform` says that every block does the same. `note` says why every block
    had to be run, where that was so.
    """

    workload: Workload
    written: Asked
    work: Work
    build: BuildKind
    read_sectors: Mapping[str, int]
    written_sectors: Mapping[str, int]
    uniform: bool
    note: str

    @property
    def flops(self) -> int:
        """Floating-point operations: the kernel's formula, or what the emulation counted."""
        return self.workload.flops or self.work.flops

    @property
    def dram_bytes(self) -> int:
        """Bytes that DRAM must move at least: each touched sector read once and written once."""
        return SECTOR * (sum(self.read_sectors.values()) + sum(self.written_sectors.values()))

    @property
    def intensity(self) -> float | None:
        """FLOP for each byte that loads of the source ask for; None where there is neither."""
        asked = self.written.loaded_bytes
        return self.flops / asked if asked and self.flops else None

    @property
    def transfers(self) -> int:
        """Elements that threads load from global memory, as written."""
        return self.written.loads

    @property
    def least_transfers(self) -> int:
        """Elements of the arrays that are loaded from: each of them once."""
        sizes = {a.name: a.data.size for a in self.workload.launch.arrays}
        return sum(sizes.get(name, 0) for name in self.written.load_sectors)

    @property
    def served(self) -> float:
        """The share of the bytes asked for, 0 to 1, that DRAM need not deliver: caches can."""
        asked = self.written.loaded_bytes
        needed = SECTOR * sum(self.read_sectors.values())
        return max(0.0, 1 - needed / asked) if asked else 0.0


def measure(
    workload: Workload,
    *,
    build: BuildKind = "as_compiled",
    written: bool = True,
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Counts:
    """Counts a launch in the build that runs and as written. Raises as `core.counting.count` does.

    Without `written` the first stands for the second, which saves most of the time: right where
    the compiler drops no loads from global memory.
    In the optimised build neighbouring loads of shared memory count as the wide loads that the
    assembler makes of them (`core.analysis.wide_loads`).
    """
    probes: dict[BuildKind, WorkProbe] = {}
    counted: dict[BuildKind, Counted] = {}
    kinds: tuple[BuildKind, ...] = tuple(dict.fromkeys((build, "as_written" if written else build)))
    for place, kind in enumerate(kinds):
        probe = probes[kind] = WorkProbe()
        told = None if progress is None else _part_of(progress, place, len(kinds))
        counted[kind] = count(
            workload,
            kind=kind,
            limits=_LIMITS,
            probe=probe,
            progress=told,
            cancelled=cancelled,
        )
    note = next((c.note for c in counted.values() if c.note), "")
    own, found = probes[build], counted[build]
    return Counts(
        workload,
        Asked.of(probes["as_written"].total if written else own.total),
        own.total,
        build,
        _touched(workload, own.footprint.sectors("load"), own.total.load_sectors),
        _touched(workload, own.footprint.sectors("store"), own.total.store_sectors),
        len(found.kinds) == 1,
        note,
    )


def _touched(
    workload: Workload, known: Mapping[str, int], asked: Mapping[str, int]
) -> Mapping[str, int]:
    """Sectors by array; for an array too large to tell, all of it or what was asked for."""
    sizes = {a.name: -(-a.data.nbytes // SECTOR) for a in workload.launch.arrays}
    most = {name: min(asked, sizes.get(name, asked)) for name, asked in asked.items()}
    return {**most, **known}


def _part_of(tell: Callable[[float], None], place: int, parts: int) -> Callable[[float], None]:
    return lambda fraction: tell((place + fraction) / parts)
