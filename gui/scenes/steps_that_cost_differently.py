"""Moments at which two launches' accesses cost something else.

What the searches return is a step of A, or None where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from core.cancelling import check
from core.launch import WARP
from gui.scenes.matching_steps import Lockstep, course_of

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace


Measure = Literal["cost", "lanes"]


@dataclass(frozen=True)
class Cost:
    """One warp's access: its memory, active lanes, and the sectors or wavefronts it moves."""

    space: str
    lanes: int
    amount: int

    def differs(self, other: Cost | None, measure: Measure) -> bool:
        """Whether the other side's access moves another amount (or has other active lanes)."""
        if other is None or self.space != other.space:
            return measure == "cost"
        return self.lanes != other.lanes if measure == "lanes" else self.amount != other.amount


def _cost_of(access: Access | None, warp: int) -> Cost | None:
    """One warp's share of an access; None without one, or where the block has no such warp."""
    if access is None or access.space not in ("global", "shared"):
        return None
    if warp * WARP >= len(access.active):
        return None
    share = access.warp(warp)
    amount = share.wavefronts if access.space == "shared" else share.n_sectors
    return Cost(access.space, int(np.count_nonzero(share.active)), amount)


class Pairs:
    """What one warp's accesses of a block A cost, and those of a block B at the same moments."""

    def __init__(self, a: BlockTrace, b: BlockTrace, warp: int) -> None:
        self.a, self.b, self.warp = a, b, warp
        self._lock = Lockstep(course_of(a), course_of(b))

    def at(self, step: int) -> tuple[Cost | None, Cost | None]:
        """Both costs at a step of A."""
        theirs = self.b.access(self._lock.counterpart(step))
        return _cost_of(self.a.access(step), self.warp), _cost_of(theirs, self.warp)


def next_difference(
    pairs: Pairs, step: int, *, forward: bool = True, measure: Measure = "cost"
) -> int | None:
    """The nearest access after (or before) `step` that costs B something else."""
    accesses = np.asarray(pairs.a.access_steps)
    ahead = accesses[accesses > step] if forward else accesses[accesses < step][::-1]
    for at in ahead.tolist():
        check()
        mine, theirs = pairs.at(at)
        if mine is not None and mine.differs(theirs, measure):
            return int(at)
    return None


def largest_difference(pairs: Pairs) -> int | None:
    """The first of the accesses of one memory whose amounts differ by most."""
    most, found = 1.0, None
    for at in np.asarray(pairs.a.access_steps).tolist():
        check()
        mine, theirs = pairs.at(at)
        if mine is not None and theirs is not None and mine.space == theirs.space:
            low, high = sorted((mine.amount, theirs.amount))
            if low and high / low > most:
                most, found = high / low, int(at)
    return found
