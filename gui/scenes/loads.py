"""Which elements of a global array a block has loaded, step by step. No Qt here."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Rows = NDArray[np.int32]
LEAST = 16  # accesses that there is room for at first
NONE = np.empty(0, np.int64)


class Loads:
    """Loads of one global array's elements, in order: the step, and each thread's flat element."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self._table = np.empty((0, 0), np.int32)  # with room for rows to come
        self._own: tuple[range, int, Ints, Ints] = (range(0), 0, NONE, NONE)
        """Of the threads that were asked last: which, accesses read, elements, first steps."""

    @property
    def elements(self) -> Rows:
        """A row for each access, a column for each thread: its element, -1 where it has none."""
        return self._table[: len(self.steps)]

    def add(self, step: int, elements: NDArray[np.int64]) -> None:
        """One access; -1 where a thread takes no part."""
        place = len(self.steps)
        if place == len(self._table):
            table = np.empty((max(LEAST, place * 3 // 2), len(elements)), np.int32)
            if place:
                table[:place] = self._table
            self._table = table
        self._table[place] = elements
        self.steps.append(step)

    def upto(self, step: int) -> int:
        """How many accesses there are up to a step."""
        return bisect_right(self.steps, step)

    def of_threads(self, threads: range, step: int) -> Ints:
        """What threads that follow each other loaded up to `step`, each element once."""
        if self._own[:2] != (threads, len(self.steps)):
            read = self.elements[:, threads.start : threads.stop]
            since = np.repeat(np.array(self.steps, np.int64), read.shape[1])
            live = read >= 0
            flats, first = np.unique(read[live].astype(np.int64), return_index=True)
            self._own = threads, len(self.steps), flats, since[live.reshape(-1)][first]
        _, _, flats, since = self._own
        return flats[since <= step]

    def of_element(self, flat: int, step: int) -> list[tuple[int, Ints]]:
        """The steps up to `step` that loaded an element, each once, with the threads that did."""
        count = self.upto(step)
        found: dict[int, list[Ints]] = {}
        for at, row in zip(self.steps[:count], self.elements[:count], strict=True):
            threads = np.flatnonzero(row == flat)
            if len(threads):
                found.setdefault(at, []).append(threads)
        return [(at, np.unique(np.concatenate(rows))) for at, rows in found.items()]


@dataclass
class Tally:
    """How often each element was loaded by the first `done` accesses.

    Only elements that are loaded at all take room: few of a large array. `read` brings in
    accesses before anybody asks.
    """

    flats: Ints = field(default_factory=lambda: NONE)
    """Every element of the accesses that were read, ascending."""
    counts: Ints = field(default_factory=lambda: NONE)
    """How often each of `flats` was loaded."""
    done: int = 0
    _rows: list[tuple[Ints, Ints]] = field(default_factory=list)
    """Of each access its elements, each once, and by how many threads."""

    @property
    def known(self) -> int:
        """How many accesses were read."""
        return len(self._rows)

    def read(self, elements: Rows, upto: int) -> bool:
        """Bring in the first `upto` accesses; whether there were any to bring in."""
        new = elements[len(self._rows) : upto]
        if not len(new):
            return False
        found = [np.unique(row[row >= 0], return_counts=True) for row in new]
        self._rows += [(flats.astype(np.int64), times) for flats, times in found]
        flats = np.unique(np.concatenate([flats for flats, _ in found])).astype(np.int64)
        place = np.searchsorted(self.flats, flats)
        missing = np.append(self.flats, -1)[place] != flats
        self.counts = np.insert(self.counts, place[missing], 0)
        self.flats = np.insert(self.flats, place[missing], flats[missing])
        return True

    def move(self, elements: Rows, upto: int) -> None:
        """Count accesses in or out until the first `upto` are counted."""
        self.read(elements, upto)
        first, last = sorted((self.done, upto))
        if first < last:
            rows = self._rows[first:last]
            places = np.searchsorted(self.flats, np.concatenate([flats for flats, _ in rows]))
            times = np.concatenate([times for _, times in rows])
            moved = np.bincount(places, times, len(self.flats)).astype(np.int64)
            self.counts = self.counts + (moved if upto > self.done else -moved)
        self.done = upto

    @property
    def loaded(self) -> tuple[Ints, Ints]:
        """The elements that were loaded, ascending, and how often each."""
        live = self.counts > 0
        return self.flats[live], self.counts[live]
