"""The order in which warps advance between barriers.

Hardware promises none. In lock step (the default) all warps of the machine go together, which is
fast and hides races; the other orders let one warp of each block advance at a time, so that the
answer of a kernel that races really changes.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from core.errors import ParameterError

WarpOrder = Literal["lockstep", "round_robin", "warp_by_warp", "random"]
ORDERS: tuple[WarpOrder, ...] = get_args(WarpOrder)
_LONGEST_TURN = 16  # memory accesses


class Schedule:
    """Picks the warp that advances next, and for how many memory accesses (0: until it waits)."""

    def __init__(self, order: WarpOrder, seed: int) -> None:
        """Raises `ParameterError` for an order that there is not."""
        if order not in ORDERS:
            raise ParameterError(f"There is no order {order!r}: use {', '.join(ORDERS)}.")
        self._order = order
        self._random = np.random.default_rng(seed)
        self._last = -1

    def turn(self, ready: list[int]) -> tuple[int, int]:
        """One of the `ready` warps (ascending numbers), and the length of its turn."""
        if self._order == "random":
            warp = ready[int(self._random.integers(len(ready)))]
            return warp, int(self._random.integers(1, _LONGEST_TURN + 1))
        if self._order == "round_robin":
            self._last = next((w for w in ready if w > self._last), ready[0])
            return self._last, 1
        return ready[0], 0
