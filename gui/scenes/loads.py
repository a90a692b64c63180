"""Which elements of a global array a block has loaded, step by step. No Qt here."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Rows = NDArray[np.int32]
TABLE = 256  # accesses that are kept together
NONE = np.empty(0, np.int64)


class Loads:
    """Loads of one global array's elements, in order: the step, and each thread's flat element."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self._tables: list[Rows] = []
        """`TABLE` accesses each: one that grew would have to be copied, in the middle of a step."""
        self._own = _Own(range(0))

    def rows(self, first: int, last: int, threads: range | None = None) -> Rows:
        """A row for each access from `first` to before `last`, a column for each thread.

        Its element, -1 where it has none. `threads` asks for some that follow each other only.
        """
        last = min(last, len(self.steps))
        columns = slice(None) if threads is None else slice(threads.start, threads.stop)
        parts = [
            self._tables[number][max(first - number * TABLE, 0) : last - number * TABLE, columns]
            for number in range(first // TABLE, -(-last // TABLE))
        ]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty((0, 0), np.int32)

    def add(self, step: int, elements: NDArray[np.int64]) -> None:
        """One access; -1 where a thread takes no part."""
        table, place = divmod(len(self.steps), TABLE)
        if table == len(self._tables):
            self._tables.append(np.empty((TABLE, len(elements)), np.int32))
        self._tables[table][place] = elements
        self.steps.append(step)

    def upto(self, step: int) -> int:
        """How many accesses there are up to a step."""
        return bisect_right(self.steps, step)

    def of_threads(self, threads: range, step: int) -> Ints:
        """What threads that follow each other loaded up to `step`, each element once."""
        if self._own.threads != threads:
            self._own = _Own(threads)
        self._own.read(self)
        return self._own.upto(step)

    def of_element(self, flat: int, step: int) -> list[tuple[int, Ints]]:
        """The steps up to `step` that loaded an element, each once, with the threads that did."""
        count = self.upto(step)
        found: dict[int, list[Ints]] = {}
        for at, row in zip(self.steps[:count], self.rows(0, count), strict=True):
            threads = np.flatnonzero(row == flat)
            if len(threads):
                found.setdefault(at, []).append(threads)
        return [(at, np.unique(np.concatenate(rows))) for at, rows in found.items()]


@dataclass
class _Own:
    """What the threads that were asked last have loaded, brought up to date as more is read."""

    threads: range
    flats: Ints = field(default_factory=lambda: NONE)
    """Each element once, ascending."""
    since: Ints = field(default_factory=lambda: NONE)
    """The step of the first load of each."""
    known: int = 0
    """Accesses that were read."""

    def read(self, loads: Loads) -> None:
        """Bring in the accesses that have been added since the last time."""
        count = len(loads.steps)
        if count == self.known:
            return
        read = loads.rows(self.known, count, self.threads)
        steps = np.repeat(np.array(loads.steps[self.known :], np.int64), read.shape[1])
        live = read.reshape(-1) >= 0
        flats = np.concatenate([self.flats, read.reshape(-1)[live].astype(np.int64)])
        since = np.concatenate([self.since, steps[live]])
        self.flats, first = np.unique(flats, return_index=True)
        self.since = since[first]
        self.known = count

    def upto(self, step: int) -> Ints:
        """The elements of which the first load is not later than `step`."""
        return self.flats[self.since <= step]


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

    def read(self, loads: Loads, upto: int) -> bool:
        """Bring in the first `upto` accesses; whether there were any to bring in."""
        new = loads.rows(len(self._rows), upto)
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

    def move(self, loads: Loads, upto: int) -> None:
        """Count accesses in or out until the first `upto` are counted."""
        self.read(loads, upto)
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
