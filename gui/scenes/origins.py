"""Where values in shared memory were copied from, known by the values themselves. No Qt here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gui.scenes.loads import Ints
from gui.scenes.parts import Part

RECENT = 16  # loaded elements of a thread that a value stored to shared memory may have come from


class Origins:
    """Which element of which global array each cell of shared memory holds a copy of."""

    def __init__(self) -> None:
        self._recent: list[tuple[int, Part]] = []
        self._names: list[str] = []
        self._cells: dict[str, tuple[NDArray[np.int16], Ints]] = {}

    def loaded(self, name: str, part: Part) -> None:
        """A load from global memory: its values may be stored to shared memory next."""
        if name not in self._names:
            self._names.append(name)
        self._recent = [*self._recent[-RECENT + 1 :], (self._names.index(name), part)]

    def stored(self, name: str, size: int, part: Part) -> None:
        """A store to shared memory: each lane's value is looked for in its latest loads."""
        names, flats = self._cells.setdefault(
            name, (np.full(size, -1, np.int16), np.full(size, -1, np.int64))
        )
        live = np.flatnonzero(part.elements >= 0)
        cells, values = part.elements[live], part.values[live]
        names[cells], flats[cells] = -1, -1
        open_lanes = np.ones(len(live), bool)
        for number, load in reversed(self._recent):
            same = open_lanes & (load.elements[live] >= 0) & (load.values[live] == values)
            names[cells[same]] = number
            flats[cells[same]] = load.elements[live[same]]
            open_lanes &= ~same
            if not open_lanes.any():
                break

    def read(self, name: str, part: Part) -> list[tuple[str, Ints]]:
        """A load from shared memory: for each global array, the element each thread gets."""
        if name not in self._cells:
            return []
        names, flats = self._cells[name]
        live = part.elements >= 0
        cell = np.where(live, part.elements, 0)
        found = []
        for number, source in enumerate(self._names):
            mine = live & (names[cell] == number)
            if mine.any():
                found.append((source, np.where(mine, flats[cell], -1)))
        return found
