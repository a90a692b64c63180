"""How the addresses of a warp fall into sectors and lines of global memory.

Rules as Nsight Compute counts them: each warp-level memory instruction with an active lane is one
*request*; a *sector* is an aligned piece of 32 bytes, a *line* one of 128 bytes, and a request
fetches every sector that an active lane touches, once (Nsight Compute, "Memory Tables";
`l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum` and `l1tex__t_sectors_…`).

A `cp.async` of 16 bytes that passes by the L1 cache (`.cg`) counts from its other end, as measured
on an H200: each sector of shared memory that it fills counts once for every line of global memory
that its bytes come from. So four rows of 128 bytes count 16 sectors, and 18 if two of them begin in
the middle of a sector of shared memory. Other copies (`.ca`) count as loads do. Lanes that copy no
byte do not count (`docs/counting.md`, `tests/data/scattered`).
"""

from __future__ import annotations

import numpy as np

from core.emulator.events import Ints, Mask

SECTOR = 32
LINE = 128
LOCAL_WORD = 4
"""Bytes of local memory that a request brings each lane: 16 bytes a lane take four of them."""
_FAR = np.iinfo(np.int64).max

Rows = Ints
Active = Mask | None


def distinct(keys: Rows, active: Active) -> Rows:
    """How many different keys the active lanes of each row have.

    `keys` int64 (rows, lanes); `active` bool of the same shape, or None for all. Returns (rows,).
    """
    if active is None:
        active = np.ones(keys.shape, bool)
    ordered = np.sort(np.where(active, keys, _FAR), axis=1)
    changes = np.count_nonzero(np.diff(ordered, axis=1), axis=1)
    # The idle lanes' key counts as one more change, unless nobody is idle or nobody active.
    idle = ~active.all(axis=1)
    return np.where(active.any(axis=1), changes + 1 - idle, 0)


def sectors(address: Rows, active: Active) -> Rows:
    """Sectors that each warp's access touches: an aligned access of a lane lies in one sector."""
    return distinct(address >> 5, active)


def local_sectors(address: Rows, active: Active, width: int) -> Rows:
    """Sectors of local memory that each warp's access touches; addresses count from its beginning.

    The same 4-byte word of all lanes lies side by side, a line for each word of a warp's stack:
    seen in `l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum` (and `_st`) on an H200.
    """
    own = np.arange(address.shape[1]) * LOCAL_WORD
    found = np.zeros(len(address), np.int64)
    for at in range(0, max(width, LOCAL_WORD), LOCAL_WORD):
        found += sectors((address + at) // LOCAL_WORD * LINE + own, active)
    return found


def lines(address: Rows, active: Active) -> Rows:
    """128-byte lines that each warp's access touches."""
    return distinct(address >> 7, active)


def ideal_sectors(actual: Rows, active_lanes: Rows, width: int) -> Rows:
    """Sectors if every active lane's bytes lay side by side, and never more than the actual.

    As `memory_l2_theoretical_sectors_global_ideal` of Nsight Compute (measured, see
    `docs/counting.md`): a broadcast touches one sector, and one is its ideal.
    """
    return np.minimum(actual, -(-active_lanes * width // SECTOR))


def used_bytes(address: Rows, width: int) -> dict[int, int]:
    """Of each sector (by its address), how many of its bytes the lanes ask for."""
    offsets = np.arange(width, dtype=np.int64)
    unique = np.unique((address[:, None] + offsets).reshape(-1))
    found, counts = np.unique(unique & ~np.int64(SECTOR - 1), return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def bulk_sectors(
    address: Rows, shared: Rows, row: Rows, number: Rows | None, *, is_multicast: bool
) -> int:
    """What `l1tex__m_…_sectors_mem_global_op_tma_ld.sum` (and `_st`) counts of a bulk copy.

    `shared` is where each piece lies in shared memory, and `row` its row of the box. Those with a
    `number` (None: all) have an `address` in global memory, the others lie outside the map and are
    filled. No piece crosses a sector.

    Rows are cut where they cross a 128-byte line of global or of shared memory. Each part counts
    its sectors of global memory or, outside the map, of shared memory. If a multicast brings it to
    a block, a part counts two at least, and three outside the map (measured on an H200,
    `tests/data/hopper/multicast_h200.json`).
    """
    there = np.arange(len(shared)) if number is None else number
    line, least, least_outside = shared // LINE, *((2, 3) if is_multicast else (1, 1))
    keys = np.stack([row[there], line[there], address // LINE])
    sectors = _sectors_of_parts(keys, address // SECTOR, least)
    keys, outside = np.delete(np.stack([row, line]), there, 1), np.delete(shared // SECTOR, there)
    return sectors + (_sectors_of_parts(keys, outside, least_outside) if outside.size else 0)


def _sectors_of_parts(keys: Rows, sector: Rows, least: int) -> int:
    """How many sectors the parts have, at least so many each; pieces with equal `keys` are one."""
    if not len(sector):
        return 0
    parts, part = np.unique(_joined(*keys), return_inverse=True)
    _, first = np.unique(_joined(part, sector), return_index=True)
    return int(np.maximum(np.bincount(part[first], minlength=len(parts)), least).sum())


def _joined(*keys: Rows) -> Rows:
    """One number for each combination of several, whose spans multiply to less than 2**63.

    `np.unique` finds those in a tenth of the time that it takes for columns.
    """
    found = np.zeros_like(keys[0])
    for key in keys:
        low = key.min()
        found = found * (key.max() - low + 1) + key - low
    return found


_FEW = 1 << 20  # more sectors than shared memory has


def copied_sectors(source: Rows, target: Rows, active: Mask, *, past_l1: bool) -> Rows:
    """What `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` counts of each warp's copy.

    `source` (global addresses) and `target` (offsets in shared memory) are int64 (rows, 32);
    `active` says which lanes copy anything. Returns int64 (rows,).
    """
    if not past_l1:
        return distinct(source // SECTOR, active)
    return distinct(source // LINE * _FEW + target // SECTOR, active)
