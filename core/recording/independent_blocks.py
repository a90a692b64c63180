"""Whether blocks that run side by side give what they give one after the other.

They do where no block sees what another does. Then all blocks of a small launch may run at once, in
half the time of a first block alone and the rest after it.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from core.emulator.block_record import ChunkRecord
from core.emulator.memory import Region

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
