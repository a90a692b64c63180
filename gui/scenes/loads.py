"""Which elements of a global array a block has loaded, step by step. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass
class Loads:
    """Loads of one global array's elements, in order: the step, and each thread's flat element."""

    steps: list[int] = field(default_factory=list)
    elements: list[NDArray[np.int32]] = field(default_factory=list)

    def add(self, step: int, elements: NDArray[np.int64]) -> None:
        """One access; -1 where a thread takes no part."""
        self.steps.append(step)
        self.elements.append(elements.astype(np.int32))

    def of_thread(self, thread: int, step: int) -> Ints:
        """What `thread` loaded up to `step`, each element once."""
        count = int(np.searchsorted(self.steps, step, side="right"))
        read = np.array([row[thread] for row in self.elements[:count]], np.int64)
        return np.unique(read[read >= 0])

    def of_element(self, flat: int, step: int) -> list[tuple[int, Ints]]:
        """The steps up to `step` that loaded an element, each once, with the threads that did."""
        count = int(np.searchsorted(self.steps, step, side="right"))
        found: dict[int, list[Ints]] = {}
        for at, row in zip(self.steps[:count], self.elements[:count], strict=True):
            threads = np.flatnonzero(row == flat)
            if len(threads):
                found.setdefault(at, []).append(threads)
        return [(at, np.unique(np.concatenate(rows))) for at, rows in found.items()]


@dataclass
class Tally:
    """How often each element was loaded by the first `done` accesses.

    `ever` holds those that were counted at any time, ascending: few of a large array.
    """

    counts: Ints
    done: int = 0
    ever: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def move(self, rows: list[NDArray[np.int32]], upto: int) -> None:
        """Count accesses in or out until the first `upto` are counted."""
        new = []
        for row in rows[self.done : upto]:
            flats = row[row >= 0]
            new.append(flats[self.counts[flats] == 0])
            np.add.at(self.counts, flats, 1)
        if any(len(flats) for flats in new):
            self.ever = np.union1d(self.ever, np.concatenate(new))
        for row in rows[upto : self.done]:
            np.subtract.at(self.counts, row[row >= 0], 1)
        self.done = upto
