"""Atomics: how many sectors and wavefronts they take, measured on an H200 (`docs/counting.md`).

In shared memory lanes that meet in a bank go one after another, even if they update the same word.
What shared memory cannot do itself (floating-point additions, 8 bytes a lane in optimised code) is
a loop: each round loads, and one lane of a bank gets its compare-and-swap through; a minimum or
maximum tries only while its value would change the cell. Global memory: `global_atomics.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis import banks
from core.analysis.coalescing import Rows

_HALF = 16


@dataclass(frozen=True)
class Loop:
    """A shared atomic done in rounds, summed over warps."""

    rounds: int  # compare-and-swaps executed
    wavefronts: int
    loads: int
    load_wavefronts: int
    load_conflicts: int


@dataclass(frozen=True)
class Contest:
    """A minimum or maximum, which changes only cells that `better(operand, cell)` says.

    `operand` and `before` (the cell's value when the atomic began) are of shape (rows, 32).
    """

    operand: NDArray[Any]
    before: NDArray[Any]
    better: Callable[[NDArray[Any], NDArray[Any]], NDArray[np.bool_]]


def loop(
    offset: Rows, active: NDArray[np.bool_], width: int, contest: Contest | None = None
) -> Loop:
    """The rounds of a loop of `ld.shared` and compare-and-swap.

    Without a `contest` each update changes its cell. With one, lanes whose value is no better than
    the cell's are done once they have loaded it.
    """
    rounds = wavefronts = loads = load_wavefronts = load_conflicts = 0
    left = active.copy()
    cells = None if contest is None else _cells(offset, active, contest)
    while left.any():
        rows = left.any(axis=1)
        loaded = banks.wavefronts(offset[rows], left[rows], width, "merged")
        free = banks.conflict_free_wavefronts(offset[rows], left[rows], width, "merged")
        loads += int(rows.sum())
        load_wavefronts += int(loaded.sum())
        load_conflicts += int(loaded.sum() - free.sum())
        if contest is not None:
            assert cells is not None
            left &= contest.better(contest.operand, cells)
            rows = left.any(axis=1)
        rounds += int(rows.sum())
        wavefronts += 2 * int(banks.conflict_free_wavefronts(offset[rows], left[rows], width).sum())
        for row in np.flatnonzero(rows):
            won = _winners(offset[row], np.flatnonzero(left[row]), width)
            left[row, won] = False
            if contest is not None and cells is not None:
                for lane in won:
                    cells[row, offset[row] == offset[row, lane]] = contest.operand[row, lane]
    return Loop(rounds, wavefronts, loads, load_wavefronts, load_conflicts)


def _cells(offset: Rows, active: NDArray[np.bool_], contest: Contest) -> NDArray[Any]:
    """What each lane's cell holds before its warp begins: what the first lane there found."""
    cells = contest.before.copy()
    for row in range(len(offset)):
        for lane in np.flatnonzero(active[row])[::-1]:
            cells[row, offset[row] == offset[row, lane]] = contest.before[row, lane]
    return cells


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
