"""An access cut into the granules that its hazards are looked for in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent


def element_bytes(event: AccessEvent) -> int:
    """Bytes of one element of the access."""
    return event.width // max(len(event.values), 1) if event.kind != "atomic" else event.width


def granule_of(event: AccessEvent) -> int:
    """Bytes of the granules that suit an access."""
    return min(element_bytes(event), 4)


def pieces(
    event: AccessEvent, granule: int, lanes: NDArray[np.intp]
) -> Iterator[NDArray[np.unsignedinteger] | None]:
    """For each granule of the access what the lanes store there; None if it is no plain store."""
    if event.kind != "store":
        yield from [None] * max(event.width // granule, 1)
        return
    for value in event.values:
        raw = np.ascontiguousarray(value)
        raw = np.repeat(raw, len(lanes)) if raw.size == 1 else raw
        raw = raw if len(raw) == len(lanes) else raw[lanes]
        parts = raw.view(f"u{granule}").reshape(len(lanes), -1)
        for column in range(parts.shape[1]):
            yield parts[:, column]
