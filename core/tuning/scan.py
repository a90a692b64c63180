"""A space of parameters without a GPU: what each launch asks of memory, and what binds it.

Every point of a plan is counted by the emulator and set against a device's ceilings and occupancy.
The best come first: the highest binding ceiling, then the most warps on an SM, then the fewest
sectors and wavefronts. A ceiling bounds a rate from above: two launches whose ceilings are equal
may differ on a GPU, so the ranking says which are worth timing, and not which is fastest.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.compiler.compiler import BuildKind, compiled_resources
from core.devices.device_table import Device, capability_of, load_devices
from core.devices.occupancy import Occupancy, occupancy
from core.errors import CompileError, TilescopeError
from core.gpu.benchmark_job import CublasSubject, RungSubject
from core.gpu.sweep_plan import LeftOut, Point
from core.ladder import Ladder, load_ladder
from core.models.ceilings import Ceilings, ceilings
from core.models.launch_counts import Counts, measure, measure_rung
from core.rules.counters import counters_of


@dataclass(frozen=True)
class Scanned:
    """What one launch asks for, and its place on a device.

    `sectors` are those of global memory, `wavefronts` and `conflicts` those of shared memory, all
    ways of access together; `counters` has each by itself. `occupancy` is a share of 1. `binding`
    names the lowest ceiling, `gflops` is its rate and `formula` how it comes about; "" and None
    where the launch does no floating-point work.
    """

    title: str
    parameters: Mapping[str, int]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counters: Mapping[str, int]
    occupancy: float
    blocks_per_sm: int
    limited_by: tuple[str, ...]
    registers: int
    shared_bytes: int
    binding: str
    gflops: float | None
    peak_gflops: float
    formula: str
    note: str

    @property
    def sectors(self) -> int:
        """32-byte sectors that requests to global memory cover, summed."""
        return self._sum("global", "sectors")

    @property
    def wavefronts(self) -> int:
        """Turns that shared memory's banks take."""
        return self._sum("shared", "wavefronts")

    @property
    def conflicts(self) -> int:
        """Wavefronts that only bank conflicts cause."""
        return self._sum("shared", "conflicts")

    @property
    def of_peak(self) -> float | None:
        """The binding ceiling as a share of the device's FP32 peak."""
        return None if self.gflops is None else self.gflops / self.peak_gflops

    def _sum(self, space: str, measure_name: str) -> int:
        return sum(self.counters.get(name, 0) for name in counters_of(space, measure_name))


@dataclass(frozen=True)
class Task:
    """A point to scan; `device` is a name of the table of devices."""

    point: Point
    device: str
    build: BuildKind = "as_compiled"


def scan_point(task: Task) -> Scanned | LeftOut:
    """Counts one point; what the compiler, the device or the emulator refuses is left out."""
    try:
        return _scanned(task)
    except CompileError as error:
        said = error.diagnostics[0].message if error.diagnostics else str(error)
        return _left_out(task, f"It does not compile: {said}")
    except TilescopeError as error:
        return _left_out(task, str(error))
    except MemoryError:
        return _left_out(task, "There is not enough memory for this: use a smaller size.")


def ranked(found: Iterable[Scanned]) -> tuple[Scanned, ...]:
    """The launches, those most worth timing first."""
    return tuple(sorted(found, key=_rank))


def _rank(one: Scanned) -> tuple[object, ...]:
    rate = -1.0 if one.gflops is None else one.gflops
    return (
        -rate,
        -one.occupancy,
        one.sectors + one.wavefronts,
        one.title,
        tuple(one.parameters.values()),
    )


def _left_out(task: Task, why: str) -> LeftOut:
    return LeftOut(task.point.title, task.point.parameters, why)


def _scanned(task: Task) -> Scanned | LeftOut:
    device = load_devices().find(task.device)
    counts = _counts(task)
    major, minor = device.compute_capability
    held = occupancy(
        capability_of(device.compute_capability),
        compiled_resources(counts.workload, f"{major}.{minor}"),
    )
    if not held.blocks:
        return _left_out(task, f"{device.name}: {held.why}")
    found = ceilings(counts, device) if counts.flops else None
    return _row(task, counts, held, found, device)


def _counts(task: Task) -> Counts:
    subject = task.point.subject
    if isinstance(subject, CublasSubject):
        raise TilescopeError("cuBLAS is machine code of NVIDIA's, which nobody can count here.")
    if isinstance(subject, RungSubject):
        return measure_rung(
            _ladder()[subject.rung],
            subject.parameters,
            source=subject.source,
            build=task.build,
            written=False,  # the textbook ceiling is not asked for
        )
    return measure(subject.workload(), build=task.build, written=False)


@functools.cache
def _ladder() -> Ladder:
    """Read once: it takes longer than to count a small launch."""
    return load_ladder()


def _row(
    task: Task, counts: Counts, held: Occupancy, found: Ceilings | None, device: Device
) -> Scanned:
    launch = counts.workload.launch
    return Scanned(
        title=task.point.title,
        parameters=task.point.parameters,
        grid=(launch.grid.x, launch.grid.y, launch.grid.z),
        block=(launch.block.x, launch.block.y, launch.block.z),
        counters=counts.counters,
        occupancy=held.occupancy,
        blocks_per_sm=held.blocks,
        limited_by=held.limited_by,
        registers=held.resources.registers,
        shared_bytes=held.resources.shared_bytes,
        binding="" if found is None else found.binding,
        gflops=None if found is None else found.lowest.gflops,
        peak_gflops=device.peak_gflops,
        formula="" if found is None else found.lowest.brief,
        note=counts.note,
    )
