"""Atomics: how many sectors and wavefronts they take, measured on an H200 (`docs/counting.md`).

In shared memory lanes that meet in a bank go one after another, even if they update the same word.
What shared memory cannot do itself (floating-point additions, 8 bytes a lane in optimised code) is
a loop: each round loads, and one lane of a bank gets its compare-and-swap through; a minimum or
maximum tries only while its value would change the cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Indices, Ints, Mask
from core.launch import WARP
from core.rules import shared_memory
from core.rules.global_memory import LINE, SECTOR, Rows, distinct

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
    better: Callable[[NDArray[Any], NDArray[Any]], Mask]


def loop(offset: Rows, active: Mask, width: int, contest: Contest | None = None) -> Loop:
    """The rounds of a loop of `ld.shared` and compare-and-swap.

    Without a `contest` each update changes its cell. With one, lanes whose value is no better than
    the cell's are done once they have loaded it.
    """
    rounds = wavefronts = loads = load_wavefronts = load_conflicts = 0
    left = active.copy()
    cells = None if contest is None else _cells(offset, active, contest)
    while left.any():
        rows = left.any(axis=1)
        loaded = shared_memory.wavefronts(offset[rows], left[rows], width, "merged")
        free = shared_memory.conflict_free_wavefronts(offset[rows], left[rows], width, "merged")
        loads += int(rows.sum())
        load_wavefronts += int(loaded.sum())
        load_conflicts += int(loaded.sum() - free.sum())
        if contest is not None:
            assert cells is not None
            left &= contest.better(contest.operand, cells)
            rows = left.any(axis=1)
        rounds += int(rows.sum())
        wavefronts += 2 * int(
            shared_memory.conflict_free_wavefronts(offset[rows], left[rows], width).sum()
        )
        for row in np.flatnonzero(rows):
            won = _winners(offset[row], np.flatnonzero(left[row]), width)
            left[row, won] = False
            if contest is not None and cells is not None:
                for lane in won:
                    cells[row, offset[row] == offset[row, lane]] = contest.operand[row, lane]
    return Loop(rounds, wavefronts, loads, load_wavefronts, load_conflicts)


def _cells(offset: Rows, active: Mask, contest: Contest) -> NDArray[Any]:
    """What each lane's cell holds before its warp begins: what the first lane there found."""
    cells = contest.before.copy()
    for row in range(len(offset)):
        for lane in np.flatnonzero(active[row])[::-1]:
            cells[row, offset[row] == offset[row, lane]] = contest.before[row, lane]
    return cells


def first_of_each(place: Rows, active: Mask) -> Mask:
    """The first active lane of each place of a warp, bool (rows, 32)."""
    first = np.zeros(active.shape, bool)
    for row in range(len(place)):
        lanes = np.flatnonzero(active[row])
        first[row, lanes[np.unique(place[row, lanes], return_index=True)[1]]] = True
    return first


def leaders(place: Rows, active: Mask, led: str) -> Mask:
    """The lanes that do an atomic of these active ones, bool (rows, 32); `led` of its instruction.

    Where all update one place, the first does it for its warp.
    """
    lanes = active.sum(axis=1)
    whole = lanes == place.shape[1] if led == "whole" else lanes > 0
    alone = whole & (first_of_each(place, active).sum(axis=1) == 1)
    first = active & (active.cumsum(axis=1) == 1)
    return np.where(alone[:, None], first, active)


def _winners(offset: Ints, lanes: Indices, width: int) -> list[int]:
    """The lanes of one warp whose update gets through in this round.

    In each half (8 bytes) or the whole warp, the first lane of each bank tries; it fails if its
    word has just been changed by the other half.
    """
    won: list[int] = []
    changed: set[int] = set()
    unit = max(width, shared_memory.WORD)
    size = _HALF if width == 8 else len(offset)
    for start in range(0, len(offset), size):
        tried: set[int] = set()
        for lane in lanes[(lanes >= start) & (lanes < start + size)].tolist():
            cell = int(offset[lane])
            bank = cell // unit % (shared_memory.BANKS * shared_memory.WORD // unit)
            if bank not in tried:
                tried.add(bank)
                if cell not in changed:
                    won.append(lane)
        changed |= {int(offset[lane]) for lane in won}
    return won


# Atomics in global memory: the passes that a warp's request takes through the L1 cache's tags.
#
# Measured on an H200 with Nsight Compute (`docs/counting.md`, `tests/data/scattered`). The tags lie
# in four banks, and a pass looks up one line in each. It takes with it the lanes of these lines; of
# lanes that have the same place within a line, and whose lines lie in the same bank, only the
# first. What is left goes into the next pass. A sector counts in every pass that visits it
# (`l1tex__t_sectors_pipe_lsu_mem_global_op_{atom,red}`; the passes themselves are
# `l1tex__t_output_wavefronts_…`).


_TAG_BANKS = 4
# What each bit of an address from bit 7 on does to the number of its line's tag bank: it is flipped
# by so much. Bits from 21 on matter, too, but are the driver's choice: it hands out whole 2 MiB.
_FLIPS = (1, 2, 1, 2, 3, 1, 2, 3, 2, 1, 2, 1, 3, 1)
_FIRST_BIT = 7
_HALF_LINE = 64  # compare-and-swap brings two values a lane, so that a pass takes half a line


def tag_bank(address: Rows) -> Rows:
    """Which of the four banks holds the tag of each address's line."""
    found = np.zeros_like(address)
    for place, flip in enumerate(_FLIPS):
        found ^= (address >> (_FIRST_BIT + place) & 1) * flip
    return found


@dataclass(frozen=True)
class Passes:
    """What warps' requests take: each int64 (rows,). `lines` counts a line in every pass."""

    passes: Ints
    lines: Ints
    sectors: Ints


def passes(address: Rows, active: Mask, width: int, *, exchange_if_equal: bool = False) -> Passes:
    """The passes of each warp's atomic on `width` bytes a lane.

    `address` int64 and `active` bool, (rows, 32); `exchange_if_equal` for a compare-and-swap.
    """
    total = np.zeros((3, len(address)), np.int64)
    unit = address // (_HALF_LINE if exchange_if_equal else LINE)
    bank = tag_bank(address)
    column = bank * LINE + address % LINE // width
    left = active.copy()
    rows = np.flatnonzero(left.any(axis=1))
    while rows.size:
        here = left[rows]
        leader = _first(bank[rows], here, _TAG_BANKS)
        picked = np.take_along_axis(unit[rows], leader, axis=1) == unit[rows]
        first = _first(column[rows], here, _TAG_BANKS * LINE) == np.arange(WARP)
        served = here & picked & first
        total[0, rows] += 1
        total[1, rows] += distinct(address[rows] // LINE, served)
        total[2, rows] += distinct(address[rows] // SECTOR, served)
        left[rows] = here & ~served
        rows = rows[left[rows].any(axis=1)]
    return Passes(*total)


def sectors(address: Rows, active: Mask, width: int, *, exchange_if_equal: bool = False) -> Ints:
    """Sectors of each warp's atomic: as `passes` finds them, which most warps do not need."""
    found: Ints = active.sum(axis=1)
    shared = distinct(address // SECTOR, active) != found  # else every lane counts for itself
    crowded = shared & _crowded(address, active)
    simple = shared & ~crowded
    found[simple] = _one_line_a_bank(address[simple], active[simple])
    if crowded.any():
        found[crowded] = passes(
            address[crowded], active[crowded], width, exchange_if_equal=exchange_if_equal
        ).sectors
    return found


def _first(key: Rows, active: Mask, limit: int) -> Ints:
    """For each lane the first active lane of its row with the same key (in [0, limit))."""
    rows = np.broadcast_to(np.arange(len(key))[:, None], key.shape)
    lanes = np.broadcast_to(np.arange(WARP), key.shape)
    table = np.full((len(key), limit), WARP - 1, np.int64)
    # Of several values assigned to one place the last one stays: that of the lowest lane.
    backwards = active[:, ::-1]
    table[rows[:, ::-1][backwards], key[:, ::-1][backwards]] = lanes[:, ::-1][backwards]
    found: Ints = np.take_along_axis(table, key, axis=1)
    return found


def _crowded(address: Rows, active: Mask) -> Mask:
    """Whether two lines of a row have their tags in one bank."""
    line = address // LINE
    found = np.zeros(len(address), bool)
    bank = tag_bank(address)
    for one in range(_TAG_BANKS):
        here = active & (bank == one)
        low = np.where(here, line, np.iinfo(np.int64).max).min(axis=1)
        found |= here.any(axis=1) & (np.where(here, line, 0).max(axis=1) > low)
    return found


def _one_line_a_bank(address: Rows, active: Mask) -> Ints:
    """Sectors where no two lines meet: each as often as the busiest of its cells has lanes."""
    ordered = np.sort(np.where(active, address, np.iinfo(np.int64).max), axis=1)
    place = np.broadcast_to(np.arange(ordered.shape[1]), ordered.shape)
    starts = np.ones(ordered.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    turn = place - np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    live = place < active.sum(axis=1)[:, None]
    return distinct((ordered // SECTOR) * ordered.shape[1] + turn, live)
