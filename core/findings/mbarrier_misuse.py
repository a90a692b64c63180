"""Mbarriers that a thread uses before it can know of them, or that something has overwritten.

Whoever uses an mbarrier must come after its `mbarrier.init`, by a barrier or, in another block, by
one of the cluster (PTX ISA, "mbarrier.init", "fence.mbarrier_init"). Between the initialisation and
a bulk copy of the same block no proxy fence is asked for: an H200 does without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.emulator.events import Indices, Ints, PhaseEvent

Stamps = Ints
OVER = "overwritten"


@dataclass(frozen=True, eq=False)
class _Object:
    """An mbarrier: the stamp of its initialisation, and of each lane's last use (0: none)."""

    stamp: int
    uses: Stamps


@dataclass(frozen=True)
class Misuse:
    """Lanes use, or initialise again, the object at `place`; `how` as in `hazards.Hazard`.

    `others` are stamps, one a lane, of what it clashes with: "early", the initialisation; `OVER`,
    the write; "again", uses by other lanes.
    """

    place: int
    lanes: Indices
    others: Stamps
    how: str


class Initialised:
    """The mbarriers of one machine, by their place among the 64-bit words of shared memory."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._objects: dict[int, _Object] = {}

    def begin(self, event: PhaseEvent, stamps: Stamps) -> Iterator[Misuse]:
        """Lanes initialise objects: `stamps`, one each. Yields earlier uses, to be ordered."""
        for place, lane, stamp in zip(event.places, event.lanes, stamps, strict=True):
            old = self._objects.get(int(place))
            if old is not None:
                uses = old.uses[old.uses != 0]
                yield Misuse(int(place), np.full(len(uses), lane), uses, "again")
            self._objects[int(place)] = _Object(int(stamp), np.zeros(self._lanes, np.int64))

    def since(self, place: int) -> int:
        """The stamp of the initialisation of the object at a place."""
        return self._objects[place].stamp

    def forget(self, places: Indices) -> None:
        """Objects are no more."""
        for place in places.tolist():
            self._objects.pop(place, None)

    def use(self, places: Indices, lanes: Indices, stamps: Stamps) -> Iterator[Misuse]:
        """Lanes use objects. Yields those that use one for the first time, to be ordered."""
        for place in np.unique(places[places >= 0]).tolist():
            known = self._objects.get(place)
            if known is not None:
                mine = places == place
                fresh = lanes[mine][known.uses[lanes[mine]] == 0]
                known.uses[lanes[mine]] = stamps[mine]
                yield Misuse(place, fresh, np.full(len(fresh), known.stamp), "early")
