"""What bulk copies and products of warpgroups do to the arrays: boxes loaded, blocks multiplied.

They make no access of their own in the record. The elements of a box are known from its copy, and
what a product reads of an array is what copies or threads have brought to the shared memory that it
reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from core.emulator.events import Ints
from gui.scenes.block_history import history_of
from gui.scenes.grids import EMPTY
from gui.scenes.names_and_numbers import elements_name, join, numbers_name
from gui.scenes.session_values import WARP_SIZE
from gui.scenes.weak_memo import last_for_each

if TYPE_CHECKING:
    from core.emulator.events import Span, TransferEvent
    from core.trace import Array, BlockTrace


def operations_at(block: BlockTrace, step: int) -> list[TransferEvent]:
    """The copies and products that the block begins at a step."""
    return [event for when, event in block.operations if when == step]


def boxes_between(block: BlockTrace, array: Array, first: int, last: int) -> list[Ints]:
    """The elements of an array that each copy loads which begins from a step to another."""
    return [
        flats
        for step, event in block.operations
        if first <= step <= last and event.kind == "load"
        if len(flats := _of_array(event.reads, array))
    ]


def _of_array(spans: Iterable[Span], array: Array) -> Ints:
    """The elements of an array in global memory that spans cover, each once."""
    found = [
        (s.place[:, None] + np.arange(0, s.width, array.dtype.itemsize)).reshape(-1)
        for s in spans
        if s.region.name == array.name and s.region.space == "global"
    ]
    return np.unique(np.concatenate(found) // array.dtype.itemsize) if found else EMPTY


def copied(events: Iterable[TransferEvent], array: Array) -> tuple[Ints, str]:
    """What copies load from an array or store there, and which: flat elements, each once."""
    loads = [_of_array(e.reads, array) for e in events if e.kind == "load"]
    stores = [_of_array(e.writes, array) for e in events if e.kind == "store"]
    both = [*loads, *stores]
    if not any(map(len, both)):
        return EMPTY, ""
    return np.unique(np.concatenate(both)), "load" if any(map(len, loads)) else "store"


def multiplied(block: BlockTrace, step: int, array: Array) -> Ints:
    """The elements whose copies the products of a step read: flat, each once."""
    products = [e for e in operations_at(block, step) if e.kind == "product"]
    if not products:
        return EMPTY
    owner = _copies(block, max(e.tick for e in products), array.name)
    first = block.place * block.shared_stride
    found = [EMPTY]
    for event in products:
        for span in event.reads:
            place = span.place - first
            place = place[(place >= 0) & (place < block.shared_stride)]
            every = (place[:, None] + np.arange(0, span.width, array.dtype.itemsize)).reshape(-1)
            found += [owner[every], history_of(block).multiplied(array.name, every, step)]
    flats = np.unique(np.concatenate(found))
    return flats[flats >= 0]


@last_for_each
def _copies(block: BlockTrace, tick: int, name: str) -> Ints:
    """For each byte of shared memory, the element of an array that a copy brought, -1 for none."""
    first, size = block.place * block.shared_stride, block.shared_stride
    owner = np.full(size, -1, np.int64)
    began = {event.number: event for event in block.record.transfers if event.kind != "product"}
    for landing in block.record.landings:
        if landing.tick > tick:
            break
        event = began[landing.number]
        (written,) = event.writes
        place = written.place - first
        if not len(place) or place.min() < 0 or place.max() >= size:
            continue
        pieces = (place[:, None] + np.arange(written.width)).reshape(-1)
        owner[pieces] = -1
        for read in event.reads:
            if read.region.name != name or read.region.space != "global":
                continue
            numbers = np.arange(len(read.place)) if read.number is None else read.number
            # A box is copied element by element, and plain bytes by pieces of 16.
            for at in range(written.width if read.number is None else 1):
                owner[place[numbers] + at] = (read.place + at) // _itemsize(block, name)
    return owner


def _itemsize(block: BlockTrace, name: str) -> int:
    array = block.array(name)
    return 1 if array is None else array.dtype.itemsize


def warps_of(block: BlockTrace, events: Iterable[TransferEvent]) -> tuple[int, ...]:
    """The warps that multiply, or whose lanes begin copies."""
    lanes = np.concatenate([e.lanes for e in events]) - block.lanes.start
    return tuple(np.unique(lanes // WARP_SIZE).tolist())


def operations_words(block: BlockTrace, step: int, arrays: Iterable[Array]) -> str:
    """What the operations of a step do, as part of a sentence; empty where there are none."""
    events = operations_at(block, step)
    products = [e for e in events if e.kind == "product"]
    if products:
        parts = [(a, multiplied(block, step, a)) for a in arrays]
        what = join([elements_name(a, flats) for a, flats in parts if len(flats)])
        warps = warps_of(block, products)
        who = f"warp{'s' * (len(warps) > 1)} {numbers_name(warps)}"
        said = f"{who} multipl{'y' if len(warps) > 1 else 'ies'} by wgmma"
        return f"{said}: {what}" if what else said
    verbs = {"load": "loads", "store": "stores"}
    found = [(array, *copied(events, array)) for array in arrays]
    moved = [f"{verbs[verb]} {elements_name(a, flats)}" for a, flats, verb in found if verb]
    return f"the copy engine {join(moved)}" if moved else ""
