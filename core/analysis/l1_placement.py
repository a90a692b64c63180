"""Which SM of an H200 each block runs on: what blocks leave in an L1 for others follows from it.

Read off `%smid` of three grids on one H200 (`placements` in `tests/data/l1`). Of its 132 SMs 124
take their turns in a fixed cycle, two blocks at a time. A group of eight has turns of its own, more
often, until it is full: so neither b and b + 132 nor b and b + 124 share an SM for long. What comes
after the SMs are full goes where a block has ended, here in the order in which they began.

SMs are numbered by their turns: 0 to 123 are those of the cycle, 124 to 131 the group's.
"""

from __future__ import annotations

from functools import cache
from itertools import chain, cycle, islice

import numpy as np
from numpy.typing import NDArray

_CYCLE, _GROUP = 124, 8
SMS = _CYCLE + _GROUP
# Blocks of the others between two turns of the group: at first, and then again and again.
_FEW_BLOCKS = ((76,), (92, 98, 90, 92))  # up to 8 on an SM (256 and 1,024 threads each)
_MANY_BLOCKS = ((24, 48, 52, 72), (92, 92, 98, 90))  # 32 on an SM (64 threads each)
_FEW = 16
_SEED = 1


def sm_of(block: NDArray[np.int64], blocks: int, sms: int, resident: int) -> NDArray[np.int64]:
    """The SM of each of some of a launch's `blocks`, where an SM holds `resident` of them.

    Up to as many blocks as SMs have one each. On other GPUs it is block mod `sms`.
    """
    if sms != SMS or blocks <= sms:
        return block % sms
    turns = _turns(resident)
    found = turns[np.minimum(block, len(turns) - 1)]
    late = np.flatnonzero(block >= len(turns))
    rounds, where = np.unique(block[late] // SMS, return_inverse=True)
    if len(late):
        orders = np.stack([_order(one) for one in rounds.tolist()])
        found[late] = orders[where, block[late] % SMS]
    return found


def _order(number: int) -> NDArray[np.int64]:
    """The SMs of one round of later blocks."""
    return np.random.default_rng((_SEED, number)).permutation(SMS)


@cache
def _turns(resident: int) -> NDArray[np.int64]:
    """The SMs of the blocks that start at once."""
    first, then = _FEW_BLOCKS if resident <= _FEW else _MANY_BLOCKS
    others = iter(np.tile(np.arange(_CYCLE), resident).tolist())
    group = list(range(_CYCLE, SMS))
    found: list[int] = []
    for apart in islice(chain(first, cycle(then)), resident):
        found += [*group, *islice(others, apart)]
    return np.array([*found, *others], np.int64)
