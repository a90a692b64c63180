"""What one block executed, instruction by instruction, from the machine's segments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from core.emulator.events import Mask
    from core.emulator.record import ChunkRecord


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
class Moment:
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

    def at_depth(self, depth: int) -> Moment:
        """The same moment in the frame of a caller, which stands at its call."""
        if depth == self.depth:
            return self
        places = np.flatnonzero(self.path.depths[: self.place + 1] == depth)
        return replace(self, place=int(places[-1])) if len(places) else self

    def goes_on_from(self, earlier: Moment) -> bool:
        """Whether the frame was there at an earlier moment already."""
        between = self.path.depths[earlier.place : self.place + 1]
        return bool((between >= self.depth).all())


def moment_in(path: Path, tick: int) -> Moment | None:
    """Where a thread that went this way is before a tick; None if it executed nothing."""
    if not len(path.pcs):
        return None
    place = min(int(np.searchsorted(path.ticks, tick)), len(path.pcs) - 1)
    end = min(tick, int(path.ticks[-1]) + 1)  # other threads go on after this one has ended
    return Moment(path, place, end)


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
