"""How the addresses of a warp fall into sectors and lines of global memory.

Rules as Nsight Compute counts them: each warp-level memory instruction with an active lane is one
*request*; a *sector* is an aligned piece of 32 bytes, a *line* one of 128 bytes, and a request
fetches every sector that an active lane touches, once (Nsight Compute, "Memory Tables";
`l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum` and `l1tex__t_sectors_…`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SECTOR = 32
LINE = 128
_FAR = np.iinfo(np.int64).max

Rows = NDArray[np.int64]
Active = NDArray[np.bool_] | None


def distinct(keys: Rows, active: Active) -> NDArray[np.int64]:
    """How many different keys the active lanes of each row have.

    `keys` int64 (rows, lanes); `active` bool of the same shape, or None for all. Returns (rows,).
    """
    if active is None:
        steps = np.diff(keys, axis=1)
        if (steps >= 0).all():  # in order already, as coalesced accesses are
            return 1 + np.count_nonzero(steps, axis=1)
        ordered = np.sort(keys, axis=1)
        return 1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1)
    ordered = np.sort(np.where(active, keys, _FAR), axis=1)
    changes = np.count_nonzero(np.diff(ordered, axis=1), axis=1)
    # The idle lanes' key counts as one more change, unless nobody is idle or nobody active.
    idle = ~active.all(axis=1)
    return np.where(active.any(axis=1), changes + 1 - idle, 0)


def sectors(address: Rows, active: Active, width: int) -> NDArray[np.int64]:
    """Sectors that each warp's access touches. `width` bytes a lane, aligned, at most 32."""
    del width  # an aligned access of up to 32 bytes lies in one sector
    return distinct(address >> 5, active)


def lines(address: Rows, active: Active) -> NDArray[np.int64]:
    """128-byte lines that each warp's access touches."""
    return distinct(address >> 7, active)


def ideal_sectors(address: Rows, active: Active, width: int) -> NDArray[np.int64]:
    """The fewest sectors that could hold the bytes each warp asks for.

    Bytes that several lanes ask for count once: a broadcast needs one sector.
    """
    count = distinct(address, active)
    return -(-count * width // SECTOR)


def used_bytes(address: NDArray[np.int64], width: int) -> dict[int, int]:
    """Of each sector (by its address), how many of its bytes the lanes ask for."""
    offsets = np.arange(width, dtype=np.int64)
    unique = np.unique((address[:, None] + offsets).reshape(-1))
    found, counts = np.unique(unique & ~np.int64(SECTOR - 1), return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))
