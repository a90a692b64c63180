"""`cp.async`: sectors of global memory that a warp's copy asks for, measured on an H200.

A copy of 16 bytes that passes the L1 cache by (`.cg`) is counted from its other end: each sector of
shared memory that it fills counts once for every line of global memory that the bytes come from.
So four rows of 128 bytes count 16 sectors, and 18 if two of them begin in the middle of a sector of
shared memory. Other copies (`.ca`) ask for the sectors that their lanes touch, as loads do. Lanes
of which no byte is copied do not count (`docs/counting.md`, `tests/data/scattered`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.analysis.coalescing import LINE, SECTOR, Rows, distinct

_FEW = 1 << 20  # more sectors than shared memory has


def sectors(source: Rows, target: Rows, active: NDArray[np.bool_], *, past_l1: bool) -> Rows:
    """What `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` counts of each warp's copy.

    `source` (global addresses) and `target` (offsets in shared memory) are int64 (rows, 32);
    `active` says which lanes copy anything. Returns int64 (rows,).
    """
    if not past_l1:
        return distinct(source // SECTOR, active)
    return distinct(source // LINE * _FEW + target // SECTOR, active)
