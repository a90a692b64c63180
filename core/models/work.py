"""What a launch asks of the hardware, counted from the emulation: the numbers under the ceilings.

`WorkProbe` watches the blocks that `core.counting.count` runs. It counts what the ten counters do
not: bytes asked for, distinct 128-byte lines, sectors distinct within a block, instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis import banks, coalescing
from core.analysis.wide_loads import WideLoad, wide_loads
from core.emulator.events import AccessEvent, Mask
from core.emulator.groups import Geometry, warp_rows
from core.emulator.image import Image
from core.emulator.program import FunctionCode
from core.emulator.record import ChunkRecord
from core.models.footprint import Footprint, Moves, Touched
from core.models.operations import (
    is_certain,
    is_copy,
    machine_work,
    operations,
    tensor_operations,
)
from core.ptx.ast import Module

_LANE_WIDTH = 4


@dataclass(frozen=True)
class Work:
    """Sums over a launch. Those of blocks of one kind are those of its first block.

    `loaded_bytes`, `stored_bytes`: what lanes asked of global memory. `load_sectors`,
    `store_sectors`: 32-byte sectors by array, each request's own. `lines`: distinct 128-byte lines
    of each global request, summed. `wavefronts`: of shared memory. `l2_sectors`: sectors that a
    block loads, each once, and every sector stored. `instructions`: warp instructions that no
    assembler can do without. `flops`: floating-point operations, a multiply-add as two, those of
    tensor cores among them; `tensor` are the latter alone, by the type of the factors. `needs` is
    what machine code must do for all lanes together, by the classes of `operations.machine_work`.
    """

    loaded_bytes: int = 0
    stored_bytes: int = 0
    loads: int = 0
    lines: int = 0
    wavefronts: int = 0
    l2_sectors: int = 0
    instructions: int = 0
    flops: int = 0
    tensor: Mapping[str, int] = field(default_factory=dict)
    needs: Mapping[str, int] = field(default_factory=dict)
    load_sectors: Mapping[str, int] = field(default_factory=dict)
    store_sectors: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: Work, times: int) -> Work:
        """This and `times` the other."""
        numbers = {name: getattr(self, name) + times * getattr(other, name) for name in SUMS}
        return Work(
            **numbers,
            tensor=_sum(self.tensor, other.tensor, times),
            needs=_sum(self.needs, other.needs, times),
            load_sectors=_sum(self.load_sectors, other.load_sectors, times),
            store_sectors=_sum(self.store_sectors, other.store_sectors, times),
        )


@dataclass(frozen=True)
class Asked:
    """What lanes ask of global memory, as in `Work`; `load_sectors` by array."""

    loaded_bytes: int
    stored_bytes: int
    loads: int
    load_sectors: Mapping[str, int]

    @classmethod
    def of(cls, work: Work) -> Asked:
        """That part of a launch's work."""
        return cls(work.loaded_bytes, work.stored_bytes, work.loads, work.load_sectors)


SUMS = (
    "loaded_bytes", "stored_bytes", "loads", "lines", "wavefronts", "l2_sectors", "instructions",
    "flops",
)  # fmt: skip


def _sum(one: Mapping[str, int], other: Mapping[str, int], times: int) -> dict[str, int]:
    return {n: one.get(n, 0) + times * other.get(n, 0) for n in {**one, **other}}


class IssueRecord(ChunkRecord):
    """Instead of a record: how many warps, and lanes, ran each instruction."""

    def __init__(self, geometry: Geometry, instructions: int) -> None:
        super().__init__(geometry)
        self._warps = np.zeros(instructions + 1, np.int64)
        self._lanes = np.zeros(instructions + 1, np.int64)
        self._masks: dict[int, tuple[Mask, int, int]] = {}

    def segment(self, tick: int, first: int, end: int, mask: Mask | None, depth: int) -> None:
        """Counts a straight stretch of code."""
        if end <= first:
            return
        warps, lanes = self._who(mask)
        for sums, count in ((self._warps, warps), (self._lanes, lanes)):
            sums[first] += count
            sums[end] -= count

    def _who(self, mask: Mask | None) -> tuple[int, int]:
        if mask is None:
            return self.geometry.warps * len(self.geometry.blocks), self.geometry.lanes
        known = self._masks.get(id(mask))
        if known is None:
            rows = warp_rows(mask, self.geometry, False)
            counts = (int(rows.any(axis=1).sum()), int(np.count_nonzero(mask)))
            known = self._masks[id(mask)] = (mask, *counts)  # kept alive: its id stays its own
        return known[1:]

    def barrier(self, event: object) -> None:
        """Barriers are instructions like others."""

    def logs(
        self, code: FunctionCode, depth: int
    ) -> list[Callable[[tuple[int, NDArray[Any]]], None] | None]:
        """Values are not kept."""
        return [None] * len(code.dtypes)

    @property
    def warps(self) -> NDArray[np.int64]:
        """By pc: how often a warp issued it."""
        return np.cumsum(self._warps)

    @property
    def lanes(self) -> NDArray[np.int64]:
        """By pc: how often a lane executed it."""
        return np.cumsum(self._lanes)


class WorkPart:
    """Watches one machine."""

    def __init__(self, image: Image, geometry: Geometry, wide: Mapping[int, WideLoad]) -> None:
        self._image, self._geometry, self._wide = image, geometry, wide
        self._joined = frozenset().union(*(load.others for load in wide.values()))
        self.record = IssueRecord(geometry, len(image.module.instructions))
        self._sums = dict.fromkeys(SUMS, 0)
        self._sectors: dict[str, dict[str, int]] = {"load": {}, "store": {}}
        self.touched = Touched(geometry)

    # -- events -----------------------------------------------------------------------------

    def on_access(
        self,
        event: AccessEvent,
        *,
        footprint: bool = True,
        lines: bool = True,
        moves: Moves = (0, 0, 0),
    ) -> None:
        """Counts an access; `lines` and `footprint` may be counted apart, at other addresses.

        Where one block stands for many, `moves` says how its address changes from block to block:
        what moves differently is not the same data, even if it is in this block.
        """
        if event.region.space == "global":
            address = np.broadcast_to(event.address, self._geometry.lanes)
            if lines:
                self._global(event, address)
            if footprint:
                self.touched.add(event, address, moves)
        elif event.region.space == "shared":
            self._shared(event)

    def on_barrier(self, event: object) -> None:
        """Counted with the instructions."""

    def on_fault(self, event: object) -> None:
        """What did not happen is not counted."""

    def _global(self, event: AccessEvent, address: NDArray[np.int64]) -> None:
        rows, active = warp_rows(address, self._geometry, 0), self._active(event)
        lanes = self._geometry.lanes if event.mask is None else int(np.count_nonzero(event.mask))
        is_load = event.kind == "load"
        sums = self._sums
        sums["loaded_bytes" if is_load else "stored_bytes"] += lanes * event.width
        sums["loads"] += lanes * is_load
        if not is_copy(self._image.module.instructions[event.pc]):
            per_line = max(1, event.width // _LANE_WIDTH)
            spread = coalescing.lines(rows, active)
            sums["lines"] += int(np.maximum(spread, _pieces(rows, active, per_line)).sum())
        sectors = int(coalescing.sectors(rows, active).sum())
        by_array = self._sectors["load" if is_load else "store"]
        by_array[event.region.name] = by_array.get(event.region.name, 0) + sectors
        if not is_load:
            sums["l2_sectors"] += sectors

    def _shared(self, event: AccessEvent) -> None:
        if event.pc in self._joined:
            self._sums["instructions"] -= self._busy_warps(event)
            return
        address = np.broadcast_to(event.address, self._geometry.lanes) - event.region.base
        wide = self._wide.get(event.pc)
        if wide is None:
            self._wavefronts(event, address, event.width)
        else:
            self._wavefronts(event, address + wide.shift, wide.width)

    def _wavefronts(self, event: AccessEvent, offset: NDArray[np.int64], width: int) -> None:
        rows, active = warp_rows(offset, self._geometry, 0), self._active(event)
        sharing = "merged" if event.kind == "load" else "grouped"
        taken = banks.wavefronts(rows, active, width, sharing)  # type: ignore[arg-type]
        self._sums["wavefronts"] += int(taken.sum())

    def _busy_warps(self, event: AccessEvent) -> int:
        active = self._active(event)
        if active is None:
            return self._geometry.warps * len(self._geometry.blocks)
        return int(active.any(axis=1).sum())

    def _active(self, event: AccessEvent) -> NDArray[np.bool_] | None:
        if event.mask is None and self._geometry.threads % 32 == 0:
            return None
        mask = np.ones(self._geometry.lanes, bool) if event.mask is None else event.mask
        rows: NDArray[np.bool_] = warp_rows(mask, self._geometry, 0).astype(bool)
        return rows

    # -- the end ----------------------------------------------------------------------------

    def work(self) -> Work:
        """The sums of this machine's blocks."""
        sums = dict(self._sums)
        sums["l2_sectors"] += sum(g.blocks for g in self.touched.groups() if g.kind == "load")
        warps, lanes = self.record.warps, self.record.lanes
        tensor: dict[str, int] = {}
        needs: dict[str, int] = {}
        for instruction in self._image.module.instructions:
            if not warps[instruction.pc]:
                continue
            sums["instructions"] += int(warps[instruction.pc]) * is_certain(instruction)
            each = operations(instruction)
            sums["flops"] += each * int(lanes[instruction.pc])
            if does := machine_work(instruction):
                name, units = does
                needs[name] = needs.get(name, 0) + units * int(lanes[instruction.pc])
            if product := tensor_operations(instruction):
                done = product.flops * int(warps[instruction.pc])
                tensor[product.factors] = tensor.get(product.factors, 0) + done
                sums["flops"] += done * product.floating
        loads, stores = self._sectors["load"], self._sectors["store"]
        return Work(**sums, tensor=tensor, needs=needs, load_sectors=loads, store_sectors=stores)


def _pieces(
    rows: NDArray[np.int64], active: NDArray[np.bool_] | None, per_line: int
) -> NDArray[np.int64]:
    """The least lines that a request's bytes can come in: 128 bytes go to a warp at a time."""
    if per_line == 1:
        return np.zeros(len(rows), np.int64)
    lanes = np.full(len(rows), rows.shape[1]) if active is None else active.sum(axis=1)
    found: NDArray[np.int64] = -(-lanes * per_line // rows.shape[1])
    return found


class WorkProbe:
    """Watches a whole count.

    Shared loads of optimised code count as the wide loads that the assembler makes of them.
    """

    def __init__(self) -> None:
        self.total, self.footprint = Work(), Footprint()
        self._wide: tuple[Module, Mapping[int, WideLoad]] | None = None

    def restart(self) -> None:
        """Forgets everything: the count begins anew."""
        self.total, self.footprint = Work(), Footprint()

    def part(self, image: Image, geometry: Geometry) -> WorkPart:
        """A watcher for one machine."""
        if self._wide is None or self._wide[0] is not image.module:
            self._wide = (image.module, wide_loads(image.module))
        return WorkPart(image, geometry, self._wide[1])

    def add(self, part: WorkPart, times: int, steps: NDArray[np.int64] | None = None) -> None:
        """A machine is done; as many blocks are like its one, so many steps (x, y, z) away."""
        self.total = self.total.plus(part.work(), times)
        for group in part.touched.groups():
            self.footprint.mark(group, steps)
