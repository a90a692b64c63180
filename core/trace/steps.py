"""What a block executed: its threads' paths through the instructions, and the steps made of them.

A step is a line started, an access made, a barrier reached or an exit, in order of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.ptx.loops import Loop
from core.trace.phases import phase_of

if TYPE_CHECKING:
    from core.emulator.block_record import ChunkRecord
    from core.emulator.events import Mask


# The paths of a block's threads, from the machine's segments.


@dataclass(frozen=True)
class Path:
    """The instructions of a block (or of one of its lanes) in order of time.

    `pcs`, `ticks`, `depths` int64 (n,); `segments` says which of the record's segments each
    belongs to.
    """

    pcs: NDArray[np.int64]
    ticks: NDArray[np.int64]
    depths: NDArray[np.int64]
    segments: NDArray[np.int64]


@dataclass(frozen=True)
class Position:
    """Before an instruction of a thread's path, in the frame that this belongs to.

    `place` is the instruction's, and what happened before `tick` has happened.
    """

    path: Path
    place: int
    tick: int

    @property
    def pc(self) -> int:
        """The instruction."""
        return int(self.path.pcs[self.place])

    @property
    def depth(self) -> int:
        """How many calls deep it is."""
        return int(self.path.depths[self.place])

    def at_depth(self, depth: int) -> Position:
        """The same position in the frame of a caller, which stands at its call."""
        if depth == self.depth:
            return self
        places = np.flatnonzero(self.path.depths[: self.place + 1] == depth)
        return replace(self, place=int(places[-1])) if len(places) else self

    def goes_on_from(self, earlier: Position) -> bool:
        """Whether the frame was there at an earlier position already."""
        between = self.path.depths[earlier.place : self.place + 1]
        return bool((between >= self.depth).all())


def position_in(path: Path, tick: int) -> Position | None:
    """Where a thread that went this way is before a tick; None if it executed nothing."""
    if not len(path.pcs):
        return None
    place = min(int(np.searchsorted(path.ticks, tick)), len(path.pcs) - 1)
    end = min(tick, int(path.ticks[-1]) + 1)  # other threads go on after this one has ended
    return Position(path, place, end)


class Segments:
    """The segments of a record as columns, in order of time."""

    def __init__(self, record: ChunkRecord) -> None:
        ticks = np.array(record.ticks, np.int64)
        self.order = np.argsort(ticks, kind="stable")
        self.ticks = ticks[self.order]
        self.firsts = np.array(record.firsts, np.int64)[self.order]
        self.ends = np.array(record.ends, np.int64)[self.order]
        self.depths = np.array(record.depths, np.int64)[self.order]
        self.masks: list[Mask | None] = [record.masks[i] for i in self.order]
        self._record = record
        self._paths: dict[bytes, Path] = {}

    @cached_property
    def _unique_masks(self) -> tuple[dict[int, Mask], NDArray[np.int64]]:
        """The different masks by identity, and for each segment the place of its own (-1: none)."""
        masks: dict[int, Mask] = {}
        places: dict[int, int] = {}
        column = np.full(len(self.masks), -1, np.int64)
        for i, mask in enumerate(self.masks):
            if mask is not None:
                masks.setdefault(id(mask), mask)
                column[i] = places.setdefault(id(mask), len(places))
        return masks, column

    def path(self, lanes: slice) -> Path:
        """What the lanes executed. Lanes that went the same way share it."""
        masks, column = self._unique_masks
        present = np.array([bool(m[lanes].any()) for m in masks.values()] + [True])
        key = present.tobytes()
        if key not in self._paths:
            self._paths[key] = self._path(present[column])  # -1, no mask, picks the last
        return self._paths[key]

    def ways(self, lanes: slice) -> list[tuple[NDArray[np.intp], Path]]:
        """Places in `lanes` of those that went one way together, and what they executed."""
        masks, _ = self._unique_masks
        count = lanes.stop - lanes.start
        if not masks:
            return [(np.arange(count), self.path(lanes))]
        present = np.stack([mask[lanes] for mask in masks.values()])
        _, first, which = np.unique(present, axis=1, return_index=True, return_inverse=True)
        return [
            (np.flatnonzero(which.ravel() == way), self.path(slice(lane, lane + 1)))
            for way, lane in enumerate((first + lanes.start).tolist())
        ]

    def _path(self, taking_part: NDArray[np.bool_]) -> Path:
        chosen = np.flatnonzero(taking_part)
        lengths = self.ends[chosen] - self.firsts[chosen]
        segments = np.repeat(chosen, lengths)
        starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        within = np.arange(len(segments)) - starts
        return Path(
            self.firsts[segments] + within,
            self.ticks[segments] + within,
            self.depths[segments],
            segments,
        )


# The steps.


class EventKind(IntEnum):
    """What happens in a step."""

    LINE = 0  # threads start a source line
    LOAD = 1
    STORE = 2
    ATOMIC = 3
    BARRIER = 4
    EXIT = 5  # threads end


_ACCESS = {"load": EventKind.LOAD, "store": EventKind.STORE, "atomic": EventKind.ATOMIC}


@dataclass(frozen=True)
class Steps:
    """Columns, one place a step.

    `kind` uint8, `line` and `phase` int32, `pc`, `tick`, `instruction` (place in the block's path)
    and `event` (place in the record's accesses or barriers, -1 otherwise) int64.
    """

    kind: NDArray[np.uint8]
    line: NDArray[np.int32]
    phase: NDArray[np.int32]
    pc: NDArray[np.int64]
    tick: NDArray[np.int64]
    instruction: NDArray[np.int64]
    event: NDArray[np.int64]


@dataclass(frozen=True)
class Executed:
    """What one thread executed: columns with one place an instruction, all int64 (n,).

    `last_steps` is the step that an instruction belongs to: the last that begins no later. Steps
    `first_steps` to it are its own (an access that it makes); there are none where first > last.
    """

    pcs: NDArray[np.int64]
    depths: NDArray[np.int64]
    first_steps: NDArray[np.int64]
    last_steps: NDArray[np.int64]
    ticks: NDArray[np.int64]


def _with_line(lines: NDArray[np.int32]) -> NDArray[np.intp]:
    """The place of each instruction, or where it has no line that of the last before it with one.

    So a function of a header belongs to the line that calls it, at the caller's depth.
    """
    known = np.where(lines > 0, np.arange(len(lines)), 0)
    return np.maximum.accumulate(known)


def _caller(depths: NDArray[np.int64]) -> NDArray[np.intp]:
    """The place of each instruction, or of the kernel's own call if it is in a function called."""
    own = np.where(depths == 0, np.arange(len(depths)), 0)
    return np.maximum.accumulate(own)


def build_steps(
    record: ChunkRecord,
    path: Path,
    lanes: slice,
    masks: Sequence[Mask | None],
    line_of_pc: NDArray[np.int32],
    exits: NDArray[np.bool_],
    loops: tuple[Loop, ...],
) -> Steps:
    """The steps of the block whose lanes these are, with the mask of each segment of its path.

    `exits` says which pcs end a thread.
    """
    every = np.ones(lanes.stop - lanes.start, bool)

    def lanes_at(place: int) -> NDArray[np.bool_]:
        mask = masks[path.segments[place]]
        return every if mask is None else mask[lanes]

    lines = line_of_pc[path.pcs]
    known = _with_line(lines)
    lines, depths = lines[known], path.depths[known]
    starts = np.flatnonzero(_line_starts(path.pcs, known, lines, depths))
    ends = np.flatnonzero(exits[path.pcs] & (path.depths == 0))
    accesses = _taking_part([_tried(record, i) for i in range(len(record.accesses))], lanes)
    barriers = _taking_part([e.mask for e in record.barriers], lanes)
    access_ticks = np.array([record.accesses[i].tick for i in accesses], np.int64)
    barrier_ticks = np.array([record.barriers[i].tick for i in barriers], np.int64)
    kinds = [_ACCESS[record.accesses[i].kind] for i in accesses]
    seen = [record.accesses[i].region.space != "local" for i in accesses]
    reads = np.array(seen, bool) & (np.array(kinds, np.int64) != EventKind.STORE)
    places = np.searchsorted(path.ticks, access_ticks[reads])
    phases = phase_of(path.pcs, loops, places, lanes_at)
    phases = phases[_caller(path.depths)]

    tick = np.concatenate([path.ticks[starts], access_ticks, barrier_ticks, path.ticks[ends]])
    kind = np.concatenate(
        [
            np.full(len(starts), EventKind.LINE),
            np.array(kinds, np.int64),
            np.full(len(barriers), EventKind.BARRIER),
            np.full(len(ends), EventKind.EXIT),
        ]
    ).astype(np.uint8)
    none = np.full(len(starts), -1)
    event = np.concatenate([none, accesses, barriers, np.full(len(ends), -1)]).astype(np.int64)
    order = np.lexsort((kind != EventKind.LINE, tick))
    tick, kind, event = tick[order], kind[order], event[order]
    instruction = np.searchsorted(path.ticks, tick)
    return Steps(
        kind,
        lines[instruction],
        phases[instruction],
        path.pcs[instruction],
        tick,
        instruction,
        event,
    )


def _line_starts(
    pcs: NDArray[np.int64],
    known: NDArray[np.intp],
    lines: NDArray[np.int32],
    depths: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Where a line begins: another line or function, or a jump back in a loop on one line.

    In a loop over several lines the increment runs just before the test: one start for both.
    """
    starts = np.ones(len(lines), bool)
    starts[1:] = (lines[1:] != lines[:-1]) | (depths[1:] != depths[:-1])
    latest = np.maximum.accumulate(np.where(starts, np.arange(len(lines)), 0))
    back = np.zeros(len(lines), bool)
    own, before = pcs[1:], pcs[known[:-1]]  # not the jumps within functions of a header
    back[1:] = (known[1:] != known[:-1]) & (own <= before) & (own >= pcs[latest[1:]])
    return (starts | back) & (lines > 0)


def _tried(record: ChunkRecord, place: int) -> Mask | None:
    """The lanes that an access is one of, those whose part in it is illegal as well."""
    mask = record.accesses[place].mask
    if mask is None or place not in record.faults:
        return mask
    mask = mask.copy()
    for fault in record.faults[place]:
        mask[fault.lanes] = True
    return mask


def _taking_part(masks: list[Mask | None], lanes: slice) -> NDArray[np.int64]:
    """Places of the events in which one of the lanes takes part."""
    seen: dict[int, bool] = {}
    found = []
    for i, mask in enumerate(masks):
        if mask is None:
            found.append(i)
            continue
        present = seen.get(id(mask))
        if present is None:
            present = seen[id(mask)] = bool(mask[lanes].any())
        if present:
            found.append(i)
    return np.array(found, np.int64)
