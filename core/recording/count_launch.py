"""Exact counts of a launch of any size, from one block of each kind.

Blocks are of one kind if their guards fall alike and their addresses differ by steps that leave the
counts alone: whole sectors in global memory, nothing in shared memory. Where addresses or control
flow depend on data this cannot be known, and every block is run instead (`Counted.note` says so).

By whole lines a load or store may move and count the same; what an atomic counts depends on which
of its lines have their tags in one bank (`core.rules.atomics`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.assembler.assembled_module import module_of
from core.assembler.machine_accesses import Assembly, assembly_of
from core.cancelling import check
from core.compiler.compile_ptx_and_cubin import Build, BuildKind, build_of, find_entry
from core.emulator.affine_machine import Affine, AffineMachine, Dependence, DependsOnData
from core.emulator.events import AccessEvent, BarrierEvent, Ints, Mask, Observer, SaveEvent
from core.emulator.geometry import Geometry, clusters
from core.emulator.launch_image import Image
from core.emulator.machine import Limits, Machine
from core.errors import LaunchError
from core.launch import Workload
from core.recording.blocks_side_by_side import MOST_BLOCKS, must_be_runnable
from core.rules.atomics import tag_bank
from core.rules.counters import Counters, Tally
from core.rules.counting_observer import CountingObserver
from core.rules.global_memory import LINE, SECTOR
from core.trace.program_info import program_info

if TYPE_CHECKING:
    from core.rules.flops_and_traffic import WorkPart, WorkProbe

_LANES = 16384  # threads that run side by side where every block runs
_MOST_KINDS = 64
_AT_ONCE = 1 << 20  # places whose tag banks are worked out together


@dataclass(frozen=True)
class BlockKind:
    """Blocks that do the same: `count` of them, one of which, `block`, was run."""

    block: int
    count: int


@dataclass(frozen=True)
class Counted:
    """Counters of a whole launch. `kinds` is empty if every block was run, and `note` says why.

    `assembly` says how far they are those of the machine code; None for the build as written.
    `alike` says whether every block executes the same instructions, as far as a probe has seen it.
    """

    workload: Workload
    build: Build
    counters: Counters
    kinds: tuple[BlockKind, ...]
    note: str
    assembly: Assembly | None = None
    alike: bool = False


@dataclass
class _Moving:
    """Accesses whose counts change with the block: counted once the blocks are known.

    It is one access, or those of one `cp.async`, which ends with a store to shared memory.
    """

    events: tuple[AccessEvent, ...]
    affine: Affine


class _Moves:
    """How addresses move from block to block, as rows to be multiplied with a step.

    A step is (x, y, z) in blockIdx, followed by each table's value for the block.
    """

    def __init__(self) -> None:
        self._tables: list[Ints] = []

    def of(self, dependence: Dependence) -> tuple[int, ...]:
        """How far the first lane's address moves, by each part of a step."""
        if not isinstance(dependence, Affine):
            return 0, 0, 0
        steps = (int(dependence.x[0]), int(dependence.y[0]), int(dependence.z[0]))
        if dependence.table is None:
            return steps
        place = next((i for i, t in enumerate(self._tables) if t is dependence.table), None)
        if place is None:
            place = len(self._tables)
            self._tables.append(dependence.table)
        return (*steps, *(0,) * place, 1)

    def steps(self, steps: Ints, which: Mask) -> Ints:
        """The whole steps to the blocks `which`, whose steps in blockIdx are `steps` (n, 3)."""
        return np.column_stack([steps, *(table[which] for table in self._tables)])


def count(
    workload: Workload,
    *,
    kind: BuildKind = "as_written",
    build: Build | None = None,
    shortcut: bool = True,
    limits: Limits | None = None,
    progress: Callable[[float], None] | None = None,
    probe: WorkProbe | None = None,
) -> Counted:
    """Counts a launch without recording it.

    With `shortcut` False every block is run. A `probe` counts more than the counters. Raises as
    `core.recording.record_launch.record` does, and LaunchError for more than `MOST_BLOCKS`.
    """
    if workload.launch.grid.count > MOST_BLOCKS:
        raise LaunchError(
            f"A grid of {workload.launch.grid.count:,} blocks is too large to count: "
            f"use at most {MOST_BLOCKS:,} blocks, or run some of them (--blocks 0,1 --only)."
        )
    build = build or build_of(workload, kind)
    entry = find_entry(build, workload.kernel)
    module = module_of(build, entry)
    assembly = assembly_of(build, module, entry)
    counter = _Counter(
        workload, Image(module, entry, workload.launch), limits or Limits(), progress, probe
    )
    note = ""
    if shortcut:
        try:
            kinds = counter.by_kind()
            return Counted(
                workload, build, counter.counters(), tuple(kinds), note, assembly, len(kinds) == 1
            )
        except DependsOnData as reason:
            note = f"Every block was run: {reason}."
            image = Image(module, entry, workload.launch)
            counter = _Counter(workload, image, limits or Limits(), progress, probe)
    alike = counter.every_block()
    return Counted(workload, build, counter.counters(), (), note, assembly, alike)


class _WithoutAccesses(Observer):
    """Hears of what each block does alike: accesses count once it is known how they move."""

    def __init__(self, observer: CountingObserver) -> None:
        self._observer = observer

    def on_barrier(self, event: BarrierEvent) -> None:
        self._observer.on_barrier(event)

    def on_save(self, event: SaveEvent) -> None:
        self._observer.on_save(event)


class _Counter:
    def __init__(
        self,
        workload: Workload,
        image: Image,
        limits: Limits,
        progress: Callable[[float], None] | None,
        probe: WorkProbe | None,
    ) -> None:
        self.image, self.limits, self.probe = image, limits, probe
        if probe is not None:
            probe.restart()
        self.program = program_info(image, workload)
        self.progress = progress or (lambda fraction: None)
        self.tally = Tally()

    def counters(self) -> Counters:
        return self.tally.counters(lambda pc: int(self.program.lines[pc]))

    def _geometry(self, blocks: NDArray[np.int64]) -> Geometry:
        launch = self.image.launch
        return Geometry(launch.grid, launch.block, blocks, self.image.cluster)

    def _observer(self, tally: Tally, geometry: Geometry) -> CountingObserver:
        return CountingObserver(tally, geometry, self.program.shared_name, self.program.issues)

    # -- every block ------------------------------------------------------------------------

    def every_block(self) -> bool:
        """Runs them all; whether a probe has seen that each does the same."""
        total = self.image.launch.grid.count
        alike, before = self.probe is not None, None
        must_be_runnable(self.image.launch, total, counting=True)
        at_once = max(1, _LANES // self.image.launch.block.count)
        members = clusters(self.image.launch.grid, self.image.cluster)
        at_once = max(1, at_once // members.shape[1])
        for first in range(0, len(members), at_once):
            check()
            geometry = self._geometry(np.sort(members[first : first + at_once].reshape(-1)))
            observer, part = self._observer(self.tally, geometry), self._part(geometry)
            observers = (observer,) if part is None else (observer, part)
            record = None if part is None else part.record
            Machine(self.image, geometry, observers, record, self.limits).run()
            self._keep(part, 1)
            if record is not None and alike:
                each = record.by_block
                alike = each is not None and (before is None or np.array_equal(each, before))
                before = each
            self.progress(min(1.0, (first + at_once) / len(members)))
        return alike

    # -- one block of each kind -------------------------------------------------------------

    def by_kind(self) -> list[BlockKind]:
        if self.image.cluster.count > 1:
            raise DependsOnData("the blocks of a cluster run together")
        total = self.image.launch.grid.count
        left = np.arange(total)
        kinds: list[BlockKind] = []
        while len(left):
            if len(kinds) == _MOST_KINDS:
                raise DependsOnData("the blocks are of too many kinds")
            alike = self._run_kind(left)
            kinds.append(BlockKind(int(left[0]), int(alike.sum())))
            left = left[~alike]
            self.progress(1 - len(left) / total)
        return kinds

    def _run_kind(self, blocks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Runs the first of the blocks and counts it for all that do the same."""
        tally, moves = Tally(), _Moves()
        moving: list[_Moving] = []
        copying: list[tuple[AccessEvent, Dependence]] = []
        geometry = self._geometry(blocks[:1])
        observer = self._observer(tally, geometry)
        part = self._part(geometry)
        record = None if part is None else part.record
        arrivals = _WithoutAccesses(observer)
        machine = AffineMachine(self.image, geometry, (arrivals,), record, self.limits)
        index = np.stack(self.image.launch.grid.at(blocks))

        def on_access(events: list[tuple[AccessEvent, Dependence]]) -> None:
            moved = [_uniform_step(e, d) for e, d in events if _matters(e, d)]
            if moved:
                moving.append(_Moving(tuple(e for e, _ in events), moved[0]))
            for event, dependence in events:
                if not moved:
                    observer.on_access(event)
                if part is not None:
                    lines = not _matters(event, dependence)
                    part.on_access(event, lines=lines, moves=moves.of(dependence))

        def on_address(event: AccessEvent, dependence: Dependence) -> None:
            if not self.program.issues[event.pc].is_copy:
                on_access([(event, dependence)])
                return
            copying.append((event, dependence))
            if event.kind == "store":
                on_access(copying)
                copying.clear()

        machine.follow(index.T, index[:, 0], on_address)
        machine.run()
        alike = machine.equivalent
        for key, sums in tally.sums.items():
            self.tally.add(*key, sums * int(alike.sum()))
        steps = index.T[alike] - index[:, 0]
        for one in moving:
            check()
            self._count_moving(one, geometry, steps, alike)
        self._keep(part, int(alike.sum()), moves.steps(steps, alike))
        return alike

    def _part(self, geometry: Geometry) -> WorkPart | None:
        return None if self.probe is None else self.probe.part(self.image, geometry)

    def _keep(
        self, part: WorkPart | None, times: int, steps: NDArray[np.int64] | None = None
    ) -> None:
        if self.probe is not None and part is not None:
            self.probe.add(part, times, steps)

    def _count_moving(
        self,
        moving: _Moving,
        geometry: Geometry,
        steps: NDArray[np.int64],
        alike: NDArray[np.bool_],
    ) -> None:
        """Counts an access once for all places with the same counts, times their number."""
        c = moving.affine
        shifts = steps[:, 0] * c.x + steps[:, 1] * c.y + steps[:, 2] * c.z
        if c.table is not None:
            shifts = shifts + c.table[alike]
        for shift, times in _alike_places(moving.events, shifts):
            tally = Tally()
            observer, part = self._observer(tally, geometry), self._part(geometry)
            for event in moving.events:
                if event.region.space != "global":
                    observer.on_access(event)
                    continue
                moved = replace(
                    event, base=event.address + shift, shift=0, pattern=None, moved=None
                )
                observer.on_access(moved)
                if part is not None:
                    part.on_access(moved, footprint=False)
            self._keep(part, times)
            for key, sums in tally.sums.items():
                self.tally.add(*key, sums * times)


# What moving with the block does to what an access counts.


def _alike_places(events: Sequence[AccessEvent], shifts: Ints) -> Iterator[tuple[int, int]]:
    """One of the shifts of each sort that counts the same, and how many are of that sort.

    `shifts` int64 (blocks,), in bytes; the events are one access, or those of one `cp.async`.
    """
    atomics = [event for event in events if event.kind == "atomic"]
    if not atomics:
        found, counts = np.unique(shifts % LINE, return_counts=True)
        yield from zip(found.tolist(), counts.tolist(), strict=True)
        return
    places = np.unique(np.concatenate([_places(event) for event in atomics]))
    known: dict[bytes, list[int]] = {}
    step = max(1, _AT_ONCE // len(places))
    for start in range(0, len(shifts), step):
        part = shifts[start : start + step, None]
        banks = tag_bank(places + part)
        keys = np.column_stack([part % LINE, banks ^ banks[:, :1]]).astype(np.uint8)
        rows, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
        for row, at, times in zip(rows, first.tolist(), counts.tolist(), strict=True):
            known.setdefault(row.tobytes(), [int(part[at, 0]), 0])[1] += times
    yield from ((shift, times) for shift, times in known.values())


def _places(event: AccessEvent) -> Ints:
    """The sectors that the lanes touch, as addresses."""
    active = (
        event.address
        if event.mask is None
        else np.broadcast_to(event.address, event.mask.shape)[event.mask]
    )
    return np.unique(active // SECTOR * SECTOR)


def _matters(event: AccessEvent, dependence: Dependence) -> bool:
    """Whether the access may count differently in another block, where it has other addresses."""
    space = event.region.space
    if not isinstance(dependence, Affine) or space not in ("global", "shared"):
        return False
    parts = [_active(event, part) for part in (dependence.x, dependence.y, dependence.z)]
    period = 0 if event.kind == "atomic" and space == "global" else LINE
    steps = [_same_step(part) for part in parts]
    if dependence.table is not None:
        steps += np.unique(dependence.table).tolist()
    if all(step is not None and (step % period == 0 if period else step == 0) for step in steps):
        return False
    if space == "shared":
        raise DependsOnData("a shared-memory address depends on the block")
    return True


def _uniform_step(event: AccessEvent, dependence: Dependence) -> Affine:
    """The step that all lanes have in common; raises DependsOnData where they differ."""
    assert isinstance(dependence, Affine)
    parts = []
    for part in (dependence.x, dependence.y, dependence.z):
        active = _active(event, part)
        if not (active == active[0]).all():
            raise DependsOnData("the lanes of a warp move by different steps from block to block")
        parts.append(active[:1])
    return Affine(parts[0], parts[1], parts[2], dependence.table)


def _same_step(part: Ints) -> int | None:
    return int(part[0]) if bool((part == part[0]).all()) else None


def _active(event: AccessEvent, part: Ints) -> Ints:
    if part.size == 1 or event.mask is None:
        return part
    return part[event.mask]
