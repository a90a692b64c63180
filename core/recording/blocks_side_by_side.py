"""Which blocks of a launch run side by side, in which order, and which of them are recorded.

They give what they give one after the other where no block sees what another does. Then all blocks
of a small launch may run at once, in half the time of a first block alone and the rest after it.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from core.emulator.address_spaces import Region
from core.emulator.block_record import ChunkRecord
from core.errors import LaunchError, ParameterError
from core.launch import Launch
from core.wording import runs_of

MOST_THREADS = 1 << 27  # of a launch that are all run: the smallest kernel takes half a minute
MOST_BLOCKS = 1 << 24  # blocks of a grid that is counted by its kinds: each takes tens of bytes
LANES = 8192  # threads that run side by side: as many as keep the registers in the L2 cache

Run = tuple[NDArray[np.int64], bool]
"""Blocks that run side by side, ascending, and whether they are recorded."""


def must_be_runnable(launch: Launch, blocks: int, *, counting: bool = False) -> None:
    """Raises LaunchError where so many blocks of a launch have more threads than can be run.

    `counting`: the launch cannot be counted by kinds of blocks, so that every block has to run.
    """
    each = launch.block.count
    if blocks * each <= MOST_THREADS:
        return
    kinds = not counting and launch.grid.count <= MOST_BLOCKS
    raise LaunchError(
        f"{blocks:,} blocks of {each:,} threads are {blocks * each:,} threads, and at most "
        f"{MOST_THREADS:,} are run: choose a smaller grid, or run some of its blocks "
        f"(--blocks 0,1 --only){', or count one block of each kind (--counters-only)' * kinds}."
    )


def as_many_as_fit(
    total: int, threads: int, most: Callable[[], int], *, only: bool
) -> Iterator[Run]:
    """Record the first blocks of `threads` threads, and run the rest unless `only` they are wanted.

    `most()` says how many may be recorded; it is called when the first has run, which shows how
    large a block's record is.
    """
    yield np.arange(1), True
    fit = min(total, max(1, most())) if total > 1 else 1
    yield from _spans(1, fit, threads, recorded=True)
    if not only:
        yield from _spans(fit, total, threads, recorded=False)


def chosen_blocks(total: int, threads: int, wanted: Sequence[int], *, only: bool) -> Iterator[Run]:
    """Record certain blocks, and run those between them unless `only` they are wanted.

    Raises ParameterError for a block outside the grid.
    """
    chosen = sorted(set(wanted))
    if not chosen or chosen[0] < 0 or chosen[-1] >= total:
        raise ParameterError(
            f"Blocks are numbered from 0 to {total - 1}; asked for {chosen or 'none'}."
        )
    end = 0
    for first, last in runs_of(chosen):
        if not only:
            yield from _spans(end, first, threads, recorded=False)
        end = last + 1
        yield from _spans(first, end, threads, recorded=True)
    if not only:
        yield from _spans(end, total, threads, recorded=False)


def cluster_numbers(members: NDArray[np.int64], blocks: Sequence[int]) -> list[int]:
    """The clusters that blocks belong to; `members` int64 (clusters, blocks of a cluster).

    Raises ParameterError for a block outside the grid.
    """
    wrong = [block for block in blocks if not 0 <= block < members.size]
    if wrong:
        raise ParameterError(
            f"Blocks are numbered from 0 to {members.size - 1}; asked for {wrong}."
        )
    own = np.isin(members, np.asarray(blocks))
    return [int(number) for number in np.flatnonzero(own.any(axis=1))]


def _spans(first: int, end: int, threads: int, *, recorded: bool) -> Iterator[Run]:
    """Blocks `first` up to `end`, a few at once: a grid may have more than memory could list."""
    at_once = max(1, LANES // threads)
    for start in range(first, end, at_once):
        yield np.arange(start, min(end, start + at_once)), recorded


# What lets blocks meet, or see the time: atomics, accesses in an order, clocks, and host calls.
_MEETING = re.compile(
    r"\b(?:atom|red)\.(?!shared)|\.reduce\b|\bsust\b|\bsured\b|%clock|%globaltimer|\bvprintf\b"
    r"|\bmalloc\b|\b(?:ld|st)\.[\w.:]*(?:volatile|acquire|release|relaxed|mmio)"
)
Touch = tuple[NDArray[np.int64], NDArray[np.int64], int, bool]
"""Bytes of a region and the blocks (places in the machine) there, width, whether they store."""


def may_meet(ptx: str) -> bool:
    """Whether the text of a module has anything that lets blocks see what others do, or when."""
    return _MEETING.search(ptx) is not None


def are_apart(record: ChunkRecord) -> bool:
    """Whether no block has touched what another one has stored to in global memory."""
    return all(map(_are_apart, _touches(record).values()))


def _touches(record: ChunkRecord) -> dict[Region, list[Touch]]:
    geometry, found = record.geometry, defaultdict[Region, list[Touch]](list)
    own = np.repeat(np.arange(len(geometry.blocks)), geometry.threads)
    for event in record.accesses:
        if (region := event.region).space == "global":
            place, blocks = np.broadcast_to(event.address - region.base, own.shape), own
            if event.mask is not None:
                place, blocks = place[event.mask], own[event.mask]
            found[region].append((place, blocks, event.width, event.kind != "load"))
    for transfer in record.transfers:
        for spans, stores in ((transfer.reads, False), (transfer.writes, True)):
            for span in spans:
                blocks = np.full(len(span.place), own[transfer.lanes[0]])
                found[span.region].append((span.place, blocks, span.width, stores))
    return {region: touches for region, touches in found.items() if region.space == "global"}


def _are_apart(touches: list[Touch]) -> bool:
    if not any(stores for *_, stores in touches):
        return True
    grain = math.gcd(*(width for _, _, width, _ in touches))
    end = max(int(place.max(initial=0)) + width for place, _, width, _ in touches)
    owner = np.zeros(end // grain + 1, np.int16)  # 0 for nobody: untouched pages cost nothing
    for place, block, width, stores in sorted(touches, key=lambda touch: not touch[3]):
        cells = place[:, None] // grain + np.arange(width // grain)
        mine = block[:, None] + 1
        if stores:
            before = owner[cells]
            owner[cells] = mine
            if ((before > 0) & (before != mine)).any():
                return False
        if ((owner[cells] > 0) & (owner[cells] != mine)).any():
            return False
    return True
