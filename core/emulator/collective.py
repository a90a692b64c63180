"""Instructions that lanes of a warp execute together: who is missing, and who reads from nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Mask
from core.emulator.groups import Geometry, lanes_of_rows, warp_rows

Members = NDArray[np.uint32]


def lane_words(mask: Mask, geometry: Geometry) -> Members:
    """For each warp the lanes of `mask` as bits of a word, lane 0 lowest; uint32 (warps, 1)."""
    rows = warp_rows(mask, geometry, 0)
    return np.packbits(rows, axis=1, bitorder="little").view(np.uint32)


def member_rows(members: Members, geometry: Geometry) -> Members:
    """Member masks as rows of a warp; a single one is everybody's."""
    if members.size == 1:
        return members.reshape(1, 1)
    return warp_rows(members, geometry, 0)


def lacking(members: Members, present: Mask, alive: Mask, geometry: Geometry) -> Mask:
    """The lanes of `present` whose member mask names a living lane that is not present."""
    wanted = member_rows(members, geometry) & lane_words(alive, geometry)
    missing = (wanted & ~lane_words(present, geometry)) != 0
    rows = warp_rows(present, geometry, 0)
    return lanes_of_rows(np.broadcast_to(missing, rows.shape) & rows, geometry)


def missing_lanes(members: Members, present: Mask, alive: Mask, geometry: Geometry) -> Mask:
    """The living lanes that the member masks of `present` name and that are not present."""
    rows = warp_rows(present, geometry, 0)
    wanted = np.where(rows, member_rows(members, geometry), np.uint32(0))
    words = np.bitwise_or.reduce(wanted, axis=1)[:, None]
    named = (words >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    result: Mask = lanes_of_rows(named.astype(bool), geometry) & alive & ~present
    return result


def strangers(members: Members, present: Mask, geometry: Geometry) -> Mask:
    """The lanes of `present` that their own member mask does not name."""
    rows = warp_rows(present, geometry, 0)
    own = np.uint32(1) << np.arange(32, dtype=np.uint32)
    outside = (member_rows(members, geometry) & own) == 0
    return lanes_of_rows(rows & outside, geometry)


def reading_nobody(
    shuffle: Callable[..., Any], active: Mask, operands: list[NDArray[Any]], geometry: Geometry
) -> Mask:
    """The lanes whose shuffle reads from a lane that takes no part: it is undone with flags.

    `operands` are the instruction's sources as rows: value, lane or distance, and limits.
    """
    rows = warp_rows(active, geometry, 0)
    result = shuffle(rows, rows.astype(np.uint32), *operands[1:])
    flags = result[0] if isinstance(result, tuple) else result
    return lanes_of_rows(rows & (flags == 0), geometry)
