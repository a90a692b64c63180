"""How what lies in local memory depends on which block runs.

A debug build keeps in local memory what is passed by reference and arrays with an index; where all
threads use the same place of their stacks, what was stored there is followed like a register.
"""

from __future__ import annotations

from core.emulator.dependence import Dependence, Mark, merged
from core.emulator.events import AccessEvent, Mask


class LocalDependences:
    """The dependence of every element that was stored in local memory."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[int, Dependence]] = {}  # address: (bytes, dependence)

    def forget(self) -> None:
        """Nothing is known any more of what lies there."""
        self._places.clear()

    def store(self, event: AccessEvent, stored: list[Dependence], mask: Mask | None) -> None:
        """Elements of a store by the lanes of `mask` (None: all), one dependence each."""
        first = place_of(event)
        if first is None:
            self.forget()
            return
        size = event.width // len(stored)
        for i, dependence in enumerate(stored):
            place = first + i * size
            before = self._at(place, size)
            self._clear(place, size)
            new = dependence if mask is None else merged(before, dependence, mask)
            self._places[place] = size, new

    def load(self, event: AccessEvent, count: int) -> list[Dependence]:
        """The dependence of each of `count` elements that were loaded."""
        first, size = place_of(event), event.width // count
        if first is None:
            return [Mark.DATA] * count
        return [self._at(first + i * size, size) for i in range(count)]

    def _at(self, place: int, size: int) -> Dependence:
        nbytes, dependence = self._places.get(place, (0, Mark.DATA))
        return dependence if nbytes == size else Mark.DATA

    def _clear(self, place: int, size: int) -> None:
        """Takes out what a store of `size` bytes, at most 16, overlaps."""
        for other in range(place - 15, place + size):
            if other in self._places and other + self._places[other][0] > place:
                del self._places[other]


def place_of(event: AccessEvent) -> int | None:
    """The address that all lanes of an access have, or None if they differ."""
    address = event.address
    if address.size > 1 and event.mask is not None:
        address = address[event.mask]
    first = int(address[0])
    return first if address.size == 1 or bool((address == first).all()) else None
