"""Atomics: how many sectors and wavefronts they take, measured on an H200 (`docs/counting.md`).

In global memory each sector is visited as often as the busiest of its cells has lanes. In shared
memory lanes that meet in a bank go one after another, even if they update the same word. What
shared memory cannot do itself (floating-point additions, 8 bytes a lane in optimised code) is a
loop: each round loads, and one lane of a bank gets its compare-and-swap through.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.analysis import banks
from core.analysis.coalescing import SECTOR, Rows, distinct

_HALF = 16


def sectors(address: Rows, active: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Sectors of each warp's atomic in global memory (`…_mem_global_op_atom` and `…_op_red`).

    `address` int64 and `active` bool, (rows, 32). Scattered 8-byte atomics take a few more.
    """
    ordered = np.sort(np.where(active, address, np.iinfo(np.int64).max), axis=1)
    place = np.broadcast_to(np.arange(ordered.shape[1]), ordered.shape)
    starts = np.ones(ordered.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    turn = place - np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    live = place < active.sum(axis=1)[:, None]
    return distinct((ordered // SECTOR) * ordered.shape[1] + turn, live)


@dataclass(frozen=True)
class Loop:
    """A shared atomic done in rounds, summed over warps."""

    rounds: int  # shared atomic instructions executed, and as many loads
    wavefronts: int
    load_wavefronts: int
    load_conflicts: int


def loop(offset: Rows, active: NDArray[np.bool_], width: int) -> Loop:
    """The rounds of a loop of `ld.shared` and compare-and-swap, if each update changes its cell."""
    rounds = wavefronts = load_wavefronts = load_conflicts = 0
    left = active.copy()
    while left.any():
        rows = left.any(axis=1)
        offset, left = offset[rows], left[rows]
        loaded = banks.wavefronts(offset, left, width, "merged")
        free = banks.conflict_free_wavefronts(offset, left, width, "merged")
        rounds += len(left)
        load_wavefronts += int(loaded.sum())
        load_conflicts += int(loaded.sum() - free.sum())
        wavefronts += 2 * int(banks.conflict_free_wavefronts(offset, left, width).sum())
        for row, lanes in zip(offset, left, strict=True):
            lanes[_winners(row, np.flatnonzero(lanes), width)] = False
    return Loop(rounds, wavefronts, load_wavefronts, load_conflicts)


def _winners(offset: NDArray[np.int64], lanes: NDArray[np.intp], width: int) -> list[int]:
    """The lanes of one warp whose update gets through in this round.

    In each half (8 bytes) or the whole warp, the first lane of each bank tries; it fails if its
    word has just been changed by the other half.
    """
    won: list[int] = []
    changed: set[int] = set()
    unit = max(width, banks.WORD)
    size = _HALF if width == 8 else len(offset)
    for start in range(0, len(offset), size):
        tried: set[int] = set()
        for lane in lanes[(lanes >= start) & (lanes < start + size)].tolist():
            cell = int(offset[lane])
            bank = cell // unit % (banks.BANKS * banks.WORD // unit)
            if bank not in tried:
                tried.add(bank)
                if cell not in changed:
                    won.append(lane)
        changed |= {int(offset[lane]) for lane in won}
    return won
