"""Moves data between registers and the bytes of a region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Mask
from core.emulator.memory import Region
from core.emulator.program import MemoryAccess

Values = tuple[NDArray[Any], ...]


def log2(size: int) -> int:
    """Of a power of two."""
    return size.bit_length() - 1


def places_of(
    region: Region, address: NDArray[np.int64], access: MemoryAccess
) -> NDArray[np.int64]:
    """The places of the first elements in the region's data, seen as elements of the type."""
    index = address - region.base
    if region.lane_offset is not None:
        index = index + region.lane_offset
    return index >> log2(access.type.dtype.itemsize)


def gather(region: Region, first: NDArray[np.int64], access: MemoryAccess) -> Values:
    """The values at these places, one array for each element of a vector."""
    view = region.view(access.type.dtype)
    if access.count == 1:
        return (view.take(first),)
    return tuple(view.take(first + i) for i in range(access.count))


def scatter(
    region: Region,
    first: NDArray[np.int64],
    access: MemoryAccess,
    values: Values,
    mask: Mask | None,
) -> None:
    """Stores; where lanes meet, the last one wins (PTX leaves open which)."""
    view = region.writable(access.type.dtype)
    for i, value in enumerate(values):
        place = first + i if i else first
        if mask is not None and place.size > 1:
            lanes = np.flatnonzero(mask)
            view[place[lanes]] = value if value.size == 1 else value[lanes]
        elif place.size == 1 and value.size > 1:
            view[place] = value[-1:] if mask is None else value[np.flatnonzero(mask)[-1:]]
        else:
            view[place] = value


def turns(places: NDArray[np.int64]) -> Iterator[NDArray[np.intp]]:
    """Lanes in turns: no two of a turn share a place, and those that share one keep their order."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    by_rank = np.argsort(rank, kind="stable")
    ends = np.cumsum(np.bincount(rank))
    for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True):
        yield order[by_rank[start:end]]
