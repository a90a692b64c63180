"""Where the lanes of a load or store point, up to a shift that all of them share.

In a loop most instructions go to the same addresses again, each moved by one and the same distance.
What holds for the first of these accesses (that it lies in one region, how it falls into sectors
and banks) holds for the others too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.address_spaces import Region
from core.emulator.geometry import same_lanes
from core.emulator.program import MemoryAccess


@dataclass(eq=False, slots=True)
class Pattern:
    """One access that lay in one region, aligned. `address` as in `AccessEvent`.

    `low` is its first byte and `high` the one after its last; `first` the places of the lanes'
    first elements in the region's data. `notes` are for observers: what holds for
    all accesses of the pattern.
    """

    access: MemoryAccess
    region: Region
    mask: NDArray[np.bool_] | None
    address: NDArray[np.int64]
    low: int
    high: int
    first: NDArray[np.int64]
    notes: dict[Any, Any] = field(default_factory=dict)

    def shift(
        self, access: MemoryAccess, address: NDArray[np.int64], mask: NDArray[np.bool_] | None
    ) -> int | None:
        """How far this access lies from the pattern, in bytes; None where it does not match.

        Addresses of idle lanes have been replaced by that of the first active one in both.
        """
        if access is not self.access or not same_lanes(mask, self.mask):
            return None
        if address is self.address:
            return 0
        if address.size != self.address.size:
            return None
        moved = address - self.address
        shift = moved[0]
        return None if np.count_nonzero(moved != shift) else self.moved_by(int(shift))

    def moved_by(self, distance: int) -> int | None:
        """The distance in bytes, or None where the moved access leaves its region or alignment."""
        low, high = self.low + distance, self.high + distance
        inside = self.region.base <= low and high <= self.region.end
        return distance if inside and not distance & (self.access.width - 1) else None
