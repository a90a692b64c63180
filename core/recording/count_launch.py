"""Exact counts of a launch of any size, from one block of each kind.

Blocks are of one kind if their guards fall alike and their addresses differ by steps that leave the
counts alone: whole sectors in global memory, nothing in shared memory. Where addresses or control
flow depend on data this cannot be known, and every block is run instead (`Counted.note` says so).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.assembler.assembled_module import module_of
from core.assembler.machine_loads import Assembly, assembly_of
from core.cancelling import check
from core.compiler.builds import Build, BuildKind, build_of, find_entry
from core.emulator.affine.block_values import Affine, Dependence
from core.emulator.affine.one_block_machine import AffineMachine
from core.emulator.affine.register_dependences import DependsOnData
from core.emulator.events import AccessEvent, BarrierEvent, Observer, SaveEvent
from core.emulator.lane_groups import Geometry, clusters
from core.emulator.launch_image import Image
from core.emulator.machine import Limits, Machine
from core.errors import LaunchError
from core.launch import Workload
from core.recording.blocks_side_by_side import MOST_BLOCKS, must_be_runnable
from core.rules.counters import Counters, Tally
from core.rules.counting_observer import CountingObserver
from core.rules.moved_blocks import Moves, alike_places, matters, uniform_step
from core.trace.access import shared_name
from core.trace.program_info import program_info

if TYPE_CHECKING:
    from core.rules.hardware_work import WorkPart, WorkProbe

_LANES = 16384  # threads that run side by side where every block runs
_MOST_KINDS = 64


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


@dataclass
class _Run:
    tally: Tally = field(default_factory=Tally)
    moving: list[_Moving] = field(default_factory=list)
    copying: list[tuple[AccessEvent, Dependence]] = field(default_factory=list)
    moves: Moves = field(default_factory=Moves)


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
        return CountingObserver(tally, geometry, self._shared_name, self.program.issues)

    def _shared_name(self, offset: int) -> str:
        return shared_name(self.program.shared_arrays, offset)

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
        run = _Run()
        geometry = self._geometry(blocks[:1])
        observer = self._observer(run.tally, geometry)
        part = self._part(geometry)
        record = None if part is None else part.record
        arrivals = _WithoutAccesses(observer)
        machine = AffineMachine(self.image, geometry, (arrivals,), record, self.limits)
        grid = self.image.launch.grid
        index = np.stack([blocks % grid.x, blocks // grid.x % grid.y, blocks // (grid.x * grid.y)])

        def on_access(events: list[tuple[AccessEvent, Dependence]]) -> None:
            moved = [uniform_step(e, d) for e, d in events if matters(e, d)]
            if moved:
                run.moving.append(_Moving(tuple(e for e, _ in events), moved[0]))
            for event, dependence in events:
                if not moved:
                    observer.on_access(event)
                if part is not None:
                    lines = not matters(event, dependence)
                    part.on_access(event, lines=lines, moves=run.moves.of(dependence))

        def on_address(event: AccessEvent, dependence: Dependence) -> None:
            if not self.program.issues[event.pc].is_copy:
                on_access([(event, dependence)])
                return
            run.copying.append((event, dependence))
            if event.kind == "store":
                on_access(run.copying)
                run.copying.clear()

        machine.follow(index.T, index[:, 0], on_address)
        machine.run()
        alike = machine.equivalent
        for key, sums in run.tally.sums.items():
            self.tally.add(*key, sums * int(alike.sum()))
        steps = index.T[alike] - index[:, 0]
        for moving in run.moving:
            check()
            self._count_moving(moving, geometry, steps, alike)
        self._keep(part, int(alike.sum()), run.moves.steps(steps, alike))
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
        for shift, times in alike_places(moving.events, shifts):
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
