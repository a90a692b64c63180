"""Phases: the iterations of the kernel's main loop.

The main loop is the longest of the kernel's outermost loops, by the instructions that a block
executes from its first to its last. With it counts any other that is at least a quarter as long and
reads memory: of several main loops the iterations are numbered through. A loop that only fills
tiles before it, or writes results back after it, is none; nor is one that other threads run beside
it, as a producer does. Where warps run the loop one after another and a barrier holds them
together, an iteration is one phase for all of them.
(`docs/window.md` says so to users.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.ptx.loops import Loop

if TYPE_CHECKING:
    from core.emulator.events import Indices, Ints, Mask

MAIN = 4  # the longest loop's length over the least of a main loop


@dataclass(frozen=True)
class Phase:
    """Steps `first` to `last` (inclusive) belong to iteration `index` of the main loop."""

    index: int
    first: int
    last: int


def main_loops(
    pcs: Ints, loops: tuple[Loop, ...], reads: Ints, lanes_at: Callable[[int], Mask] | None = None
) -> tuple[Loop, ...]:
    """Those of the outermost loops whose iterations are phases.

    `pcs` is what a block executed, in order; `reads` are the places in it of loads from global or
    shared memory, ascending. `lanes_at` is as for `phase_of`.
    """
    spans = {}
    for loop in loops:
        inside = np.flatnonzero((pcs >= loop.first) & (pcs < loop.end))
        if len(inside):
            spans[loop] = int(inside[0]), int(inside[-1])
    most = max((last - first for first, last in spans.values()), default=0)
    found = [
        loop
        for loop, (first, last) in spans.items()
        if last - first == most
        or (MAIN * (last - first) >= most and _any_between(reads, first, last))
    ]
    if lanes_at is not None and len(found) > 1:
        runs = {o: sum(lanes_at(int(i)) for i in np.flatnonzero(pcs == o.first)) > 0 for o in found}
        longest = max(found, key=lambda o: spans[o][1] - spans[o][0])
        found = [o for o in found if o is longest or np.any(runs[o] & runs[longest])]
    return tuple(found)


def _any_between(places: Ints, first: int, last: int) -> bool:
    found = np.searchsorted(places, [first, last + 1])
    return bool(found[0] < found[1])


def phase_of(
    pcs: Ints, loops: tuple[Loop, ...], reads: Ints, lanes_at: Callable[[int], Mask] | None = None
) -> NDArray[np.int32]:
    """The phase of each executed instruction, -1 outside every main loop.

    `pcs` and `reads` are as for `main_loops`. `lanes_at` says who executed the instruction at a
    place, bool (threads of the block,); without it all threads did.
    """
    result = np.full(len(pcs), -1, np.int32)
    count = 0
    for loop in main_loops(pcs, loops, reads, lanes_at):
        inside = np.flatnonzero((pcs >= loop.first) & (pcs < loop.end))
        entries = np.flatnonzero(pcs == loop.first)
        inside = inside[inside >= entries[0]] if len(entries) else inside[:0]
        if not len(inside):
            continue
        found = _iterations_of_lanes(pcs, inside, entries, loop, lanes_at) if lanes_at else None
        if found is None:
            visit = np.searchsorted(entries, inside, "right") - 1
            has_body = _has_body(pcs[inside], visit, len(entries), loop)
            found = np.where(has_body, np.cumsum(has_body) - 1, -1)[visit]
        result[inside] = np.where(found >= 0, count + found, -1)
        count += int(found.max()) + 1
    return result


def _iterations_of_lanes(
    pcs: Ints, inside: Indices, entries: Indices, loop: Loop, lanes_at: Callable[[int], Mask]
) -> Ints | None:
    """The iteration of each instruction inside, -1 in visits that only test, as its lanes count.

    None where that is no other than counting visits, and where nothing holds warps together: they
    go through all iterations one after another, and a phase is to be one stretch of time.
    """
    lanes = [lanes_at(int(i)) for i in entries]
    if all(np.array_equal(mask, lanes[0]) for mask in lanes):
        return None
    visit = np.full(len(inside), -1)
    leaders = np.array([int(lanes_at(int(i)).argmax()) for i in inside])
    for leader in np.unique(leaders):
        own = np.flatnonzero([mask[leader] for mask in lanes])
        places = np.flatnonzero(leaders == leader)
        if not len(own):  # jumped into the loop's middle
            return None
        before = np.searchsorted(entries[own], inside[places], "right") - 1
        visit[places] = own[np.maximum(before, 0)]
    has_body = _has_body(pcs[inside], visit, len(entries), loop)
    iteration, done = np.full(len(entries), -1), np.zeros(len(lanes[0]), np.int64)
    for place in np.flatnonzero(has_body):
        done[lanes[place]] += 1
        iteration[place] = done[lanes[place]].max() - 1
    if (np.diff(iteration[has_body]) < 0).any():
        return None
    found = iteration[visit]  # the last to leave an iteration are still in it when others begin one
    return np.where(found >= 0, np.maximum.accumulate(found), -1)


def _has_body(pcs: Ints, visit: Indices, visits: int, loop: Loop) -> Mask:
    """Which visits of the loop's head went on into its body: the last one only tests and leaves."""
    if loop.test_end is None:
        return np.ones(visits, bool)
    body = pcs >= loop.test_end
    return np.bincount(visit[body], minlength=visits) > 0


@dataclass(frozen=True)
class FilledAhead:
    """What a block does ahead of its use: in its first `phases`, and `before` the first of them."""

    phases: int = 0
    before: bool = False


def filled_ahead(phases: tuple[Phase, ...], fetches: Ints, stores: Ints, uses: Ints) -> FilledAhead:
    """Which phases only fill shared memory for later ones, and whether that begins before them.

    The steps, ascending, that load from global memory, store to shared memory and load from it. A
    phase fills ahead if it stores before anything has been loaded from shared memory and loads
    nothing itself; before the phases, if something is fetched and stored there.
    """
    if not phases or not len(uses):
        return FilledAhead()
    count = 0
    for phase in phases:
        if phase.last >= uses[0] or not _any_between(stores, phase.first, phase.last):
            break
        count += 1
    end = phases[0].first - 1
    return FilledAhead(count, _any_between(fetches, 0, end) and _any_between(stores, 0, end))
