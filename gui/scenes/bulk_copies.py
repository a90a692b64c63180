"""Bulk copies and products of warpgroups: the boxes that they load, and what lands where.

They make no access of their own in the record. The elements of a box are known from its copy, and
what a product reads of an array is what copies or threads have brought to the shared memory that
it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from core.emulator.events import Ints
from core.launch import WARP
from core.trace import Array
from gui.scenes.elements_of_accesses import EMPTY

if TYPE_CHECKING:
    from core.emulator.events import Span, TransferEvent
    from core.trace import BlockTrace


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


def landings(block: BlockTrace) -> Iterator[tuple[int, TransferEvent]]:
    """The copies that have landed, each with its tick."""
    began = {event.number: event for event in block.record.transfers if event.kind != "product"}
    for landing in block.record.landings:
        yield landing.tick, began[landing.number]


def brought_by(
    block: BlockTrace, event: TransferEvent
) -> tuple[Ints, list[tuple[str, Ints, Ints]]]:
    """The bytes of the block's shared memory that a copy overwrites, and what it brings there.

    That is the name of an array in global memory, bytes, and the element that comes to each. A box
    is copied element by element, of which only the first bytes are named, and plain bytes by pieces
    of 16.
    """
    (written,) = event.writes
    place = written.place - block.place * block.shared_stride
    if written.region.space != "shared" or not len(place):
        return EMPTY, []
    if place.min() < 0 or place.max() >= block.shared_stride:
        return EMPTY, []  # it goes to another block
    found = []
    for read in event.reads:
        if read.region.space == "global":
            numbers = np.arange(len(read.place)) if read.number is None else read.number
            inner = np.arange(written.width if read.number is None else 1)
            array = block.array(read.region.name)
            itemsize = 1 if array is None else array.dtype.itemsize
            flats = (read.place[:, None] + inner).reshape(-1) // itemsize
            found.append((read.region.name, (place[numbers][:, None] + inner).reshape(-1), flats))
    return (place[:, None] + np.arange(written.width)).reshape(-1), found


def warps_of(block: BlockTrace, events: Iterable[TransferEvent]) -> tuple[int, ...]:
    """The warps that multiply, or whose lanes begin copies."""
    lanes = np.concatenate([e.lanes for e in events]) - block.lanes.start
    return tuple(np.unique(lanes // WARP).tolist())
