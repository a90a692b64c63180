"""Which `cp.async` are in flight: what they write and read, and who has yet to wait for them.

The emulator copies at once. To a GPU's threads the bytes of a copy come at some time between its
issue and the end of a wait of the thread that issued it (PTX ISA, "cp.async",
"cp.async.wait_group"): `wait_group N` lets the N latest groups of the thread be pending, and says
nothing of copies that no `commit_group` has put into a group. All sizes are multiples of four
bytes, and so is every address: words are as fine as need be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from core.emulator.events import Indices, Ints, Mask
from core.findings.happens_before import Stamps

_WORD = 4  # bytes
SHARED = ""  # the place of what lies in shared memory; a buffer's is its name


@dataclass(frozen=True, eq=False)
class Flight:
    """What lanes issued together, one row a lane.

    `words` int64 (lanes, words of a copy) of `place`; `stamps` are those that the copies' accesses
    bear, `groups` the numbers of the groups that they belong to, or will. An mbarrier `tracks` the
    copies where the threads that wait for its phase may use what they bring.
    """

    place: str
    words: Ints
    lanes: Indices
    stamps: Stamps
    groups: Ints
    is_tracked: bool = False

    @property
    def serial(self) -> int:
        """The serial of the access."""
        return int(self.stamps[0]) >> 32

    def part(self, rows: Mask) -> Flight:
        """Some of the lanes."""
        return replace(
            self,
            words=self.words[rows],
            lanes=self.lanes[rows],
            stamps=self.stamps[rows],
            groups=self.groups[rows],
        )


@dataclass(frozen=True)
class Pending:
    """Why a copy is in flight: how its thread stands with its groups.

    `newer` groups were committed after its own (-1: that is not committed), `pending` ones have not
    been waited for. The last wait since the issue, at `wait_pc` (-1: none), let `left` groups be;
    there `needed` would have waited for the copy too, -1: it was in no group. `is_over`: that wait
    has ended the copy, for its own thread.
    """

    newer: int
    pending: int
    wait_pc: int = -1
    left: int = 0
    needed: int = -1
    is_over: bool = False


class AsyncCopies:
    """The copies of one machine's lanes."""

    def __init__(self, lanes: int) -> None:
        self._by_word: dict[str, Stamps] = {}  # by place: each word's last copy, < 0: over
        self._flights: dict[int, Flight] = {}  # by serial
        self._open = 0  # flights that no mbarrier tracks
        self._most = 256  # flights, after which it is looked for useless ones
        self._committed = np.zeros(lanes, np.int64)  # groups so far
        self._done = np.zeros(lanes, np.int64)  # of these, the oldest that have been waited for
        # The last wait of each lane: its serial and site, and how many groups it left of how many.
        self._wait = np.zeros((4, lanes), np.int64)
        self._waits: list[int] = []  # serials

    @property
    def any_in_flight(self) -> bool:
        """Whether anything is in flight that no mbarrier tracks."""
        return self._open > 0

    def begin(
        self, place: str, nbytes: int, offset: Ints, width: int, lanes: Indices, stamps: Stamps
    ) -> None:
        """Lanes issue copies of `width` bytes that touch `place`, of `nbytes`, at `offset`."""
        by_word = self._by_word.get(place)
        if by_word is None:
            by_word = self._by_word[place] = np.zeros(-(-nbytes // _WORD), np.int64)
        words = (offset // _WORD)[:, None] + np.arange(-(-width // _WORD))
        self._open += 1
        by_word[words] = stamps[:, None]
        flight = Flight(place, words, lanes, stamps, self._committed[lanes])
        self._flights[flight.serial] = flight
        if len(self._flights) > self._most:  # of threads that do not wait
            self._forget(lambda flight: not flight.is_tracked and self._is_replaced(flight))
            self._most = 2 * len(self._flights) + 256

    def commit(self, lanes: Indices) -> None:
        """Lanes close their groups."""
        self._committed[lanes] += 1

    def wait(self, lanes: Indices, left: int, serial: int, site: int) -> Iterator[Flight]:
        """Lanes wait until at most `left` of their groups are pending; yields what has come."""
        self._waits.append(serial)
        committed = self._committed[lanes]
        self._done[lanes] = np.maximum(self._done[lanes], committed - left)
        self._wait[:3, lanes] = np.array([[serial], [site], [left]])
        self._wait[3, lanes] = committed
        for flight in [*self._flights.values()]:
            yield from self._leave(flight, flight.groups < self._done[flight.lanes])

    def track(self, lanes: Indices) -> Iterator[Flight]:
        """An mbarrier tracks what lanes have issued so far: yields it, to be given to `tracked`."""
        for flight in [*self._flights.values()]:
            if not flight.is_tracked:
                yield from self._leave(flight, np.isin(flight.lanes, lanes))

    def tracked(self, flight: Flight, stamp: int) -> None:
        """The flight's accesses bear this stamp from now on. A wait for its groups ends it too."""
        stamps = np.full(len(flight.lanes), stamp, np.int64)
        followed = replace(flight, stamps=stamps, is_tracked=True)
        self._flights[followed.serial] = followed

    def forget(self, is_over: Callable[[Flight], bool]) -> None:
        """Drops tracked flights that nothing depends on any more."""
        self._forget(lambda flight: flight.is_tracked and is_over(flight))

    def _forget(self, is_over: Callable[[Flight], bool]) -> None:
        for serial, flight in [*self._flights.items()]:
            if is_over(flight):
                del self._flights[serial]
                self._open -= not flight.is_tracked

    def _is_replaced(self, flight: Flight) -> bool:
        """Whether later copies go to all words of a flight."""
        found = self._by_word[flight.place][flight.words]
        return not np.count_nonzero(found == flight.stamps[:, None])

    def _leave(self, flight: Flight, rows: Mask) -> Iterator[Flight]:
        """Lanes' part of a flight is no longer in flight."""
        count = np.count_nonzero(rows)
        if not count:
            return
        if count == len(rows):
            del self._flights[flight.serial]
            self._open -= not flight.is_tracked
            gone = flight
        else:
            self._flights[flight.serial] = flight.part(~rows)
            gone = flight.part(rows)
        if not flight.is_tracked:
            by_word = self._by_word[flight.place]
            mine = by_word[gone.words] == gone.stamps[:, None]  # else a later copy goes there
            by_word[gone.words[mine]] *= -1
        yield gone

    def met(self, place: str, offset: Ints, width: int) -> tuple[Stamps, Ints] | None:
        """The copies in flight that accesses of `width` bytes at `offset` meet, and in which words.

        They are given by their stamps, 0: none. None where no access meets any.
        """
        by_word = self._by_word.get(place)
        if by_word is None:
            return None
        word = offset // _WORD
        found = np.maximum(by_word.take(word), 0)
        for i in range(1, -(-width // _WORD)):
            further = np.maximum(by_word.take(offset // _WORD + i), 0)
            if np.count_nonzero(further):
                word = np.where((found == 0) & (further != 0), offset // _WORD + i, word)
                found = np.where(found == 0, further, found)
        return (found, word) if np.count_nonzero(found) else None

    def over_at(self, words: Ints, writes: Stamps) -> Stamps | None:
        """The copies, by their stamps, whose threads' waits are these `writes` of shared memory.

        0: it is no wait; None: none is.
        """
        by_word = self._by_word.get(SHARED)
        if by_word is None or not self._waits:
            return None
        found = np.maximum(-by_word.take(words), 0)
        found *= np.isin(writes >> 32, self._waits)
        return found if np.count_nonzero(found) else None

    def why(self, stamp: int) -> Pending:
        """Why a copy is in flight."""
        flight = self._flights[stamp >> 32]
        row = int((flight.stamps == stamp).argmax())
        lane, group = int(flight.lanes[row]), int(flight.groups[row])
        committed = int(self._committed[lane])
        found = Pending(committed - 1 - group, committed - int(self._done[lane]))
        serial, site, left, then = self._wait[:, lane].tolist()
        if serial < flight.serial:
            return found
        return replace(found, wait_pc=site, left=left, needed=max(then - 1 - group, -1))
