"""Which of a block's accesses touch given bytes of their region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent

_AT_ONCE = 512  # accesses whose addresses are compared together


def touching(
    events: Sequence[AccessEvent],
    lanes: slice,
    of_block: Callable[[NDArray[Any]], NDArray[Any]],
    first: int,
    size: int,
) -> NDArray[np.bool_]:
    """Which accesses touch any of the `size` bytes from `first` on in their region: bool (n,).

    `lanes` are the block's among all that ran together, and `of_block` takes its part of an
    event's addresses.
    """
    found = [
        _hits(events[at : at + _AT_ONCE], lanes, of_block, first, size)
        for at in range(0, len(events), _AT_ONCE)
    ]
    return np.concatenate(found) if found else np.empty(0, bool)


def _hits(
    events: Sequence[AccessEvent],
    lanes: slice,
    of_block: Callable[[NDArray[Any]], NDArray[Any]],
    first: int,
    size: int,
) -> NDArray[np.bool_]:
    bases = np.array([event.region.base for event in events])[:, None]
    widths = np.array([event.width for event in events])[:, None]
    offset = np.stack([of_block(event.address) for event in events]) - bases
    hit = (offset < first + size) & (offset + widths > first)
    for row in np.flatnonzero(hit.any(axis=1)).tolist():
        mask = events[row].mask
        if mask is not None:
            hit[row] &= mask[lanes]
    return np.asarray(hit.any(axis=1))
