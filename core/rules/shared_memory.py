"""Shared memory: 32 banks of 4 bytes, and how many wavefronts a warp's access takes.

Words that lie in one bank are served one after another; lanes that ask for the same word share it
(CUDA C++ Programming Guide, "Shared Memory"). Accesses of 8 and 16 bytes a lane go by half and
quarter warps; a load that names shared memory (`ld.shared`) merges pairs of these where neighbours
ask for the same, stores and generic addresses do not. Atomics share nothing. Measured on an H200
(`docs/counting.md`, `tests/core/test_reference.py`) as
`l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum`; the conflicts of
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum` are the wavefronts beyond those of an
access in which no two lanes of a group meet in a bank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.emulator.events import Mask
from core.rules.global_memory import Active, Rows

BANKS = 32
WORD = 4
_NONE = np.iinfo(np.int64).max

# What lanes share that ask for the same word: "merged" (`ld.shared`) as well between the halves or
# quarters of a warp, "grouped" (stores, generic addresses) inside them, "apart" (atomics) nothing.
Sharing = Literal["merged", "grouped", "apart"]


def wavefronts(offset: Rows, active: Active, width: int, sharing: Sharing = "grouped") -> Rows:
    """Wavefronts of each warp's access.

    `offset` int64 (rows, 32): byte offsets in shared memory; `width` bytes a lane, aligned.
    """
    total: Rows = np.zeros(len(offset), np.int64)
    mask = np.ones(offset.shape, bool) if active is None else active
    for group, taken in _groups(offset, mask, width, sharing):
        rows = np.flatnonzero(taken)
        if len(rows):
            apart = sharing == "apart"
            total[rows] += _passes(offset[rows][:, group], mask[rows][:, group], width, apart)
    return total


def product_wavefronts(rows: int, width: int) -> int:
    """Wavefronts with which `wgmma` reads a factor of so many rows of `width` bytes.

    A row at a time has no conflicts in any layout of its descriptors, as an H200 showed: 128 bytes
    go in each wavefront (`l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum`).
    """
    return -(-rows * width // (BANKS * WORD))


def conflict_free_wavefronts(
    offset: Rows, active: Active, width: int, sharing: Sharing = "grouped"
) -> Rows:
    """Wavefronts of the same access if no two lanes of a group met in a bank."""
    mask = np.ones(offset.shape, bool) if active is None else active
    total: Rows = np.zeros(len(offset), np.int64)
    for group, taken in _groups(offset, mask, width, sharing):
        total += taken & mask[:, group].any(axis=1)
    return total


def ideal_wavefronts(actual: Rows, active_lanes: Rows, width: int) -> Rows:
    """Wavefronts if every active lane's bytes lay side by side, and never more than the actual.

    As `memory_l1_wavefronts_shared_ideal` of Nsight Compute (measured, see `docs/counting.md`).
    """
    return np.minimum(actual, -(-active_lanes * width // (BANKS * WORD)))


@dataclass(frozen=True)
class Group:
    """Lanes of a warp that go together, and how many of their words each bank serves in turn.

    `passes` int64 (32,): different words of the bank, or with atomics lanes that update one.
    """

    lanes: slice
    passes: Rows


def groups(
    offset: Rows, active: Mask, width: int, sharing: Sharing = "grouped"
) -> tuple[Group, ...]:
    """The groups in which one warp's access goes: the wavefronts are the sum of their most passes.

    `offset` int64 and `active` bool, (32,).
    """
    rows, mask, found = offset[None, :], active[None, :], []
    for lanes, taken in _groups(rows, mask, width, sharing):
        if taken[0] and mask[0, lanes].any():
            counts = _counts(rows[:, lanes], mask[:, lanes], width, sharing == "apart")
            found.append(Group(lanes, counts[0]))
    return tuple(found)


def _words(offset: Rows, width: int) -> Rows:
    """Every 4-byte word that the lanes touch, (rows, lanes * words a lane)."""
    first = offset // WORD
    count = -(-width // WORD)
    if count == 1:
        return first
    every: Rows = first[:, :, None] + np.arange(count)
    return every.reshape(len(offset), -1)


def _passes(offset: Rows, active: Mask, width: int, apart: bool = False) -> Rows:
    """The largest number of different words in one bank, row by row (0 where no lane is active).

    With `apart` a word counts as often as lanes ask for it.
    """
    passes: Rows = _counts(offset, active, width, apart).max(axis=1)
    return passes


def _counts(offset: Rows, active: Mask, width: int, apart: bool) -> Rows:
    """The same of every bank: int64 (rows, 32)."""
    words = _words(offset, width)
    wide = np.repeat(active, words.shape[1] // active.shape[1], axis=1)
    ordered = np.sort(np.where(wide, words, _NONE), axis=1)
    new = np.ones(ordered.shape, bool)
    if not apart:
        new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    new &= ordered != _NONE
    row = np.broadcast_to(np.arange(len(words))[:, None], ordered.shape)
    keys = row[new] * BANKS + ordered[new] % BANKS
    counts: Rows = np.bincount(keys, minlength=len(words) * BANKS)
    return counts.reshape(-1, BANKS)


def _groups(offset: Rows, active: Mask, width: int, sharing: Sharing) -> list[tuple[slice, Mask]]:
    """The groups of lanes that go together, each with the rows for which they do.

    Up to 4 bytes a lane: the warp. 8 bytes: half warps, or the warp if they merge. 16 bytes:
    quarter warps, or half warps if they merge; halves never merge then.
    """
    lanes = int(offset.shape[1])
    size = lanes * WORD // max(width, WORD)
    if sharing != "merged" or size == lanes:
        every = np.ones(len(offset), bool)
        return [(slice(start, start + size), every) for start in range(0, lanes, size)]
    merged = _mergeable(offset, active)
    single = [(slice(start, start + size), ~merged) for start in range(0, lanes, size)]
    double = [(slice(start, start + 2 * size), merged) for start in range(0, lanes, 2 * size)]
    return single + double


def _mergeable(offset: Rows, active: Mask) -> Mask:
    """Whether every active lane's neighbour (lane^1, or else lane^2) is idle or asks the same."""
    lanes = np.arange(offset.shape[1])
    result = np.zeros(len(offset), bool)
    for step in (1, 2):
        other = lanes ^ step
        same = (offset[:, other] == offset) | ~active[:, other]
        result |= (same | ~active).all(axis=1)
    return result
