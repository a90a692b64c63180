"""Whether a launch multiplies matrices, and which: from what its threads do.

A rung says so itself. A kernel of somebody's own is looked at: C = A B where the thread that
stores C[i, j] has read elements of row i of A and of column j of B, itself or through shared
memory. A sum of two matrices is therefore not a product, and pointers need not be const.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from core.emulator.events import Ints
from core.launch import MatrixLayout
from gui.scenes.block_history import History, history_of
from gui.scenes.cached_per_object import once_for_each

if TYPE_CHECKING:
    from core.trace import Array, Trace


LOOKED_AT = 600  # accesses of the first block
MOST = 8  # matrices of a launch that are tried


@once_for_each
def product_of(trace: Trace) -> MatrixLayout | None:
    """The matrices of a product, or None."""
    block = trace.block(trace.recorded_blocks[0])
    steps = block.access_steps
    matrices = [a for a in trace.arrays if len(a.shape) == 2][:MOST]
    if trace.workload.rung or not len(steps) or not matrices:
        return trace.workload.layout
    history, last = history_of(block), int(steps[min(LOOKED_AT, len(steps)) - 1])
    stored = [a for a in matrices if len(history.stored(a.name)[0])]
    if not stored:
        return trace.workload.layout
    for result in stored:
        read = [a for a in matrices if a not in stored]
        for left, top in permutations(read, 2):
            if _fit(left, top, result) and _multiplies(history, left, top, result, last):
                return MatrixLayout(left.name, top.name, result.name)
    return None


def _fit(left: Array, top: Array, result: Array) -> bool:
    return (left.shape[1], left.shape[0], top.shape[1]) == (top.shape[0], *result.shape)


def _multiplies(history: History, left: Array, top: Array, result: Array, step: int) -> bool:
    """Whether the thread that stores the block's first element reads its row and its column."""
    flats, threads, _ = history.stored(result.name)
    thread = int(threads[0])
    rows, columns = np.unravel_index(flats[threads == thread], result.shape)
    of_left = np.unravel_index(_reads(history, left.name, thread, step), left.shape)
    of_top = np.unravel_index(_reads(history, top.name, thread, step), top.shape)
    enough = min(2, left.shape[1])
    return (
        len(of_left[0]) >= enough
        and len(of_top[0]) >= enough
        and bool(np.isin(of_left[0], rows).all())
        and bool(np.isin(of_top[1], columns).all())
    )


def _reads(history: History, name: str, thread: int, step: int) -> Ints:
    """What a thread uses of an array: the copies in shared memory if it reads any there."""
    copies = history.read_by(name, thread, step, only_copies=True)
    return copies if len(copies) else history.read_by(name, thread, step)
