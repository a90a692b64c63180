"""Shadow of a piece of memory: who wrote and who read every granule of it last.

A granule has as many bytes as the narrowest access so far. Accesses are *plain*, *volatile* or
*atomic*. Two accesses by different threads race if nothing orders them, one of them writes, and one
of them is plain (PTX ISA, "Memory Consistency Model": a data race). Volatile accesses of one warp
to shared memory race as well: code that counts on its lanes running in lock step has been wrong
since Volta.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.analysis.hazard_knowledge import Stamps
from core.analysis.hazard_order import Order

Class = Literal["plain", "volatile", "atomic"]
Bad = NDArray[np.bool_]


@dataclass(frozen=True)
class Touch:
    """Lanes touch one granule each. All arrays have one place a lane that takes part.

    `value` is what is stored there, as unsigned whole numbers; None for loads and atomics.
    """

    writes: bool
    how: Class
    place: NDArray[np.int64]
    stamp: Stamps
    lanes: NDArray[np.intp]
    value: NDArray[np.unsignedinteger] | None = None


class Reads:
    """Who read each granule: the highest and lowest lane of the latest read, and one before it."""

    def __init__(self, size: int) -> None:
        self.last: Stamps = np.zeros(size, np.int64)
        self.first: Stamps = np.zeros(size, np.int64)
        self.before: Stamps = np.zeros(size, np.int64)

    def note(self, touch: Touch, order: Order) -> None:
        """Notes a read. What `before` holds makes way for a read by another warp."""
        place, stamp = touch.place, touch.stamp
        old = self.last[place]
        distinct = (old & 0xFFFFFFFF) != (stamp & 0xFFFFFFFF)
        kept = self.before[place]
        useless = (kept == 0) | order.same_warp(kept, touch.lanes)
        move = distinct & (old != 0) & (useless | ~order.same_warp(old, touch.lanes))
        if move.any():
            self.before[place[move]] = old[move]
        self.last[place] = stamp
        self.first[place[::-1]] = stamp[::-1]

    def slots(self) -> tuple[Stamps, ...]:
        """The stamps that a write has to be ordered after."""
        return self.last, self.first, self.before


class Shadow:
    """The shadow of `nbytes` bytes.

    `initialised`: whether their content is defined at the start; `private`: whether only threads of
    one block touch a granule, so that the block's barrier orders everything.
    """

    def __init__(self, nbytes: int, *, initialised: bool, private: bool) -> None:
        self._nbytes, self.granule, self._private = nbytes, 4, private
        size = self._size()
        self._writes: dict[Class, Stamps] = {}
        self._reads: dict[Class, Reads] = {}
        self._values: NDArray[np.unsignedinteger] = np.zeros(size, "u4")
        self.written: NDArray[np.bool_] | None = None if initialised else np.zeros(size, bool)

    def _size(self) -> int:
        return -(-self._nbytes // self.granule) + 16 // self.granule

    def fill_gaps(self, nbytes: int, stride: int, count: int) -> None:
        """Only the first `nbytes` of each of `count` stretches are there to be written."""
        assert self.written is not None
        end = stride * count // self.granule
        self.written[end:] = True
        self.written[:end].reshape(count, -1)[:, -(-nbytes // self.granule) :] = True

    def refine(self, granule: int) -> None:
        """Makes the granules as small as this; what is known of a large one goes for its parts."""
        factor = self.granule // granule
        if factor <= 1:
            return
        self.granule = granule
        size = self._size()

        def cut(old: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.repeat(old, factor)[:size]

        self._writes = {how: cut(stamps) for how, stamps in self._writes.items()}
        for reads in self._reads.values():
            reads.last, reads.first = cut(reads.last), cut(reads.first)
            reads.before = cut(reads.before)
        self._values = self._values.view(f"u{granule}")[:size]
        if self.written is not None:
            self.written = np.repeat(self.written, factor)[:size]

    def unwritten(self, first: NDArray[np.int64], granules: int) -> Bad:
        """Whether no granule of each element has been written."""
        assert self.written is not None
        result: Bad = ~self.written.take(first)
        for i in range(1, granules):
            result &= ~self.written.take(first + i)
        return result

    def touch(self, touch: Touch, order: Order) -> Iterator[tuple[Bad, Stamps]]:
        """Notes an access and yields the lanes that race, with the stamps that they race with."""
        yield from self._against_writes(touch, order)
        if not touch.writes:
            reads = self._reads.get(touch.how)
            if reads is None:
                reads = self._reads[touch.how] = Reads(self._size())
            reads.note(touch, order)
            return
        yield from self._against_reads(touch, order)
        place = touch.place
        writes = self._writes.get(touch.how)
        if writes is None:
            writes = self._writes[touch.how] = np.zeros(self._size(), np.int64)
        writes[place] = touch.stamp
        if touch.value is not None:
            self._values[place] = touch.value
            lost = self._values[place] != touch.value
            if lost.any():
                yield lost, writes[place]
        if self.written is not None:
            self.written[place] = True

    def _against_writes(self, touch: Touch, order: Order) -> Iterator[tuple[Bad, Stamps]]:
        for how, stamps in self._writes.items():
            rule = self._rule(touch.how, how)
            if rule is None:
                continue
            found = stamps.take(touch.place)
            bad = self._suspects(found, touch, order)
            if bad is None:
                continue
            if touch.value is not None and how != "atomic":
                bad &= self._values[touch.place] != touch.value
            if rule == "in a warp":
                bad &= order.same_warp(found, touch.lanes)
            if bad.any():
                yield bad, found

    def _against_reads(self, touch: Touch, order: Order) -> Iterator[tuple[Bad, Stamps]]:
        for how, reads in self._reads.items():
            rule = self._rule(touch.how, how)
            if rule is None:
                continue
            seen = np.zeros(len(touch.place), bool)
            for stamps in reads.slots():
                found = stamps.take(touch.place)
                bad = self._suspects(found, touch, order)
                if bad is None:
                    continue
                if rule == "in a warp":
                    bad &= order.same_warp(found, touch.lanes)
                bad &= ~seen
                seen |= bad
                if bad.any():
                    yield bad, found

    def _suspects(self, found: Stamps, touch: Touch, order: Order) -> Bad | None:
        """The lanes not ordered after these stamps, None if there are none."""
        if self._private:
            bound = order.bound
            if len(touch.lanes) != len(bound):
                bound = bound[touch.lanes]
            if not (found >= bound).any():
                return None
        elif not found.any():
            return None
        bad = order.unordered(found, touch.lanes)
        return bad if bad.any() else None

    def _rule(self, one: Class, other: Class) -> str | None:
        """When two accesses that nothing orders race, given that one of them writes."""
        if "plain" in (one, other):
            return "always"
        return "in a warp" if one == other == "volatile" and self._private else None
