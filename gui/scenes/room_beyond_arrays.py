"""The room that is made for what lies outside of an array: illegal and masked-off accesses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.emulator.events import Ints
from core.trace import EventKind
from gui.scenes.arrays_as_grids import Grid
from gui.scenes.cached_per_object import once_for_each
from gui.scenes.elements_of_accesses import is_global
from gui.scenes.illegal_accesses import faulty_cells
from gui.scenes.masked_off_threads import guards_of

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace, Trace


LOOKED_AT = 64  # illegal accesses of a block that room is made for


class Reach(NamedTuple):
    """Rows below an array, columns right of it, rows above and columns left of it."""

    down: int = 0
    across: int = 0
    up: int = 0
    left: int = 0

    def __bool__(self) -> bool:
        return any(self)

    def __or__(self, other: Reach) -> Reach:
        """The further of the two on each side."""
        return Reach(*map(max, self, other))


class Reaches:
    """Answers for one trace, kept for each grid. Get it with `reaches_of`."""

    def __init__(self, trace: Trace) -> None:
        ends = {trace.recorded_blocks[0], trace.recorded_blocks[-1]}
        named = {f.block for f in trace.findings} & set(trace.recorded_blocks)
        self._guards = guards_of(trace)
        self._ends = [trace.block(block) for block in sorted(ends)]
        self._blamed = [trace.block(block) for block in sorted(ends | named)]
        self._known: dict[tuple[str, str, bool], Reach] = {}
        self._gaps: dict[str, tuple[int, int]] = {}

    def roomy(self, grid: Grid) -> Grid:
        """The grid with room for all that lies outside of its array."""
        gap = self._gap(grid)
        if any(gap):
            pitch = grid.pitch
            counts = grid.extent[0] // pitch[0], grid.extent[1] // pitch[1]
            extent = (counts[0] * (pitch[0] + gap[0]), counts[1] * (pitch[1] + gap[1]))
            grid = replace(grid, gap=gap, extent=extent, rows=extent[0], columns=extent[1])
        both = self.masked(grid) | self.faults(grid)
        return replace(grid, overhang=both[:2], before=both[2:])

    def masked(self, grid: Grid) -> Reach:
        """How far the first and the last block's masked-off threads reach beyond the array."""
        return self._reach("masked", grid)

    def faults(self, grid: Grid) -> Reach:
        """How far illegal accesses reach beyond the array.

        Those of the first and the last block and of the blocks that findings name.
        """
        return self._reach("faults", grid)

    def _reach(self, kind: str, grid: Grid) -> Reach:
        key = kind, grid.array.name, grid.transposed
        if key not in self._known:
            places = self._masked(grid) if kind == "masked" else self._at_fault(grid)
            found = Reach()
            for rows, columns in places:
                found |= _beyond(grid, rows, columns)
            self._known[key] = found
        return self._known[key]

    def _masked(self, grid: Grid) -> Iterator[tuple[Ints, Ints]]:
        for block, access in self._guarded(grid):
            places = self._guards.outside(block, grid, access)
            if places is not None:
                yield places

    def _at_fault(self, grid: Grid) -> Iterator[tuple[Ints, Ints]]:
        for block in self._blamed:
            for step in block.illegal_steps[:LOOKED_AT].tolist():
                access = block.access(step)
                if access is not None and is_global(access) and access.array is grid.array:
                    yield faulty_cells(grid, access)

    def _gap(self, grid: Grid) -> tuple[int, int]:
        """Rows and columns below and right of each slice where masked-off threads would go."""
        if grid.plane is None or grid.plane[0] == 1:
            return 0, 0
        if grid.array.name not in self._gaps:
            most = np.zeros(2, np.int64)
            for block, access in self._guarded(grid):
                places = self._guards.beyond(block, grid, access)
                if places is not None and len(places):
                    most = np.maximum(most, places[:, 1:].max(axis=0) + 1 - grid.plane)
            room = [max(2, side // 4) for side in grid.plane]
            down, across = np.minimum(most, room).tolist()
            self._gaps[grid.array.name] = down, across
        return self._gaps[grid.array.name]

    def _guarded(self, grid: Grid) -> Iterator[tuple[BlockTrace, Access]]:
        """The first and the last access of each instruction to the grid's array."""
        for block in self._ends:
            for step in _first_and_last_steps(block):
                access = block.access(step)
                if access is not None and is_global(access) and access.array is grid.array:
                    yield block, access


reaches_of = once_for_each(Reaches)
"""The one Reaches of a trace, made when first asked for and dropped with the trace."""


def _beyond(grid: Grid, rows: Ints, columns: Ints) -> Reach:
    """How many rows and columns the furthest of some cells lie outside the array."""
    if not len(rows):
        return Reach()
    down, across = int(rows.max()) - grid.extent[0] + 1, int(columns.max()) - grid.extent[1] + 1
    return Reach() | Reach(down, across, -int(rows.min()), -int(columns.min()))


def _first_and_last_steps(block: BlockTrace) -> list[int]:
    """The visible steps at which a load or store is executed for the first and the last time."""
    kind, pc = np.asarray(block.kind), np.asarray(block.pc)
    steps = np.flatnonzero((kind == EventKind.LOAD) | (kind == EventKind.STORE))
    _, first = np.unique(pc[steps], return_index=True)
    _, last = np.unique(pc[steps][::-1], return_index=True)
    ends = np.union1d(steps[first], steps[::-1][last])
    found: list[int] = np.intersect1d(ends, block.access_steps).tolist()
    return found
