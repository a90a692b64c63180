"""Illegal accesses in words, and where they lie outside their arrays.

A thread at fault is not masked off: it made the access, to a place that is in no array (or that is
not aligned). The emulator goes on after it, which a GPU does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.emulator.events import Ints
from core.trace.access import Access
from gui.scenes.arrays_as_grids import Grid
from gui.scenes.elements_of_accesses import EMPTY, elements_a_lane
from gui.scenes.names_of_elements_and_threads import verb_of
from gui.scenes.numbers_and_sentences import plural

FEW = 3  # elements that are named one by one


def faulty_cells(grid: Grid, access: Access) -> tuple[Ints, Ints]:
    """Rows and columns of what the threads at fault wanted; those of a matrix go on beyond it."""
    wanted = [access.wanted(int(t)) for t in np.flatnonzero(access.faulty)]
    first = np.array([w for w in wanted if w is not None], np.int64)
    if not len(first):
        return EMPTY, EMPTY
    wide = np.arange(elements_a_lane(access, grid.array.dtype.itemsize))
    flats = np.unique(first[:, None] + wide)
    if access.fault == "out_of_bounds":
        flats = flats[(flats < 0) | (flats >= grid.size)]
    return grid.cells(flats)


def faulty_name(access: Access, thread: int) -> str:
    """What a thread at fault wanted, in few characters: `B[9]`, `0x0`."""
    wanted = access.wanted(thread)
    if wanted is None or access.array is None:
        return f"0x{int(access.addresses[thread]):x}"
    return f"{access.array.name}[{wanted}]"


def fault_of_thread(access: Access, thread: int) -> str:
    """What a thread at fault does: `loads B[9], outside B (9 elements): a fault; …`."""
    instead = "nothing is stored" if access.kind == "store" else "the emulator gives 0"
    return f"{_does(access, 1)} {_what(access, [thread])}: a fault; {instead}"


def faults_in_words(access: Access, threads: Sequence[int], noun: str = "thread") -> str:
    """The same of several: `2 threads load B[9] and B[10], outside B (9 elements): a fault`."""
    count = len(threads)
    return f"{plural(count, noun)} {_does(access, count)} {_what(access, threads)}: a fault"


def at_fault(access: Access, first: int = 0, count: int | None = None) -> list[int]:
    """The threads at fault among `count` from `first` on, all of the block by default."""
    end = None if count is None else first + count
    return (np.flatnonzero(access.faulty[first:end]) + first).tolist()


def _does(access: Access, count: int) -> str:
    place = " to" if access.kind == "store" and access.fault == "out_of_bounds" else ""
    return f"{verb_of(access.kind, count)}{place}"


def _what(access: Access, threads: Sequence[int]) -> str:
    array = access.array
    if array is None:
        named = sorted({faulty_name(access, t) for t in threads})
        more = f" … {named[-1]}" if len(named) > 1 else ""
        where = "freed before" if access.fault == "use_after_free" else "in no array"
        return f"address {named[0]}{more}, {where}"
    wanted = np.unique([w for t in threads if (w := access.wanted(t)) is not None])
    if access.fault == "misaligned":
        return (
            f"{access.width} bytes at {_some(array.name, wanted)}, at no multiple of {access.width}"
        )
    size = array.nbytes // array.dtype.itemsize
    return f"{_some(array.name, wanted)}, outside {array.name} ({plural(size, 'element')})"


def _some(name: str, flats: Ints) -> str:
    """Flat elements in few words, as ranges where they are regular."""
    steps = np.unique(np.diff(flats))
    if len(flats) > 2 and len(steps) == 1:
        by = f" by {steps[0]}" if steps[0] > 1 else ""
        return f"{name}[{flats[0]}..{flats[-1]}{by}]"
    if len(flats) > FEW:
        return f"{len(flats)} elements from {name}[{flats[0]}] to [{flats[-1]}]"
    return " and ".join(f"{name}[{flat}]" for flat in flats.tolist())
