"""Shadow memory: who wrote and who read every granule of a piece of memory last.

A granule has as many bytes as the narrowest access so far. Accesses are *plain*, *volatile* or
*atomic*. Two accesses by different threads race if nothing orders them, one of them writes, and
one of them is plain (PTX ISA, "Memory Consistency Model": a data race). Volatile accesses of one
warp to shared memory race as well: code that counts on its lanes running in lock step has been
wrong since Volta.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent, Indices, Ints, Mask
from core.findings.happens_before import AGENTS, LOW, Order, Stamps
from core.ptx.ast import Instruction
from core.ptx.opcodes import opcode_of

Class = Literal["plain", "volatile", "atomic", "async", "reduced"]
_OF_COPIES = ("async", "reduced")  # which asynchronous agents do, and no thread
Bad = Mask


@dataclass(frozen=True)
class Manner:
    """How an instruction touches memory, as far as ordering is concerned."""

    how: Class
    fenced: bool  # publishes what its thread did before, with no fence of its own
    exchanges: bool  # an atomic whose result does not depend on the old content
    is_copy: bool = False  # of a thread's asynchronous copy


def manner(instruction: Instruction) -> Manner:
    """Reads it off the modifiers (PTX ISA, "ld", "st", "atom")."""
    modifiers = instruction.modifiers
    fenced = "release" in modifiers or "acq_rel" in modifiers
    if opcode_of(instruction).kind in ("atomic", "reduction"):
        return Manner("atomic", fenced, "exch" in modifiers)
    if fenced or "acquire" in modifiers or "relaxed" in modifiers or "mmio" in modifiers:
        return Manner("atomic", fenced, False)
    is_copy = opcode_of(instruction).kind == "copy"
    return Manner("volatile" if "volatile" in modifiers else "plain", False, False, is_copy)


@dataclass(slots=True)
class Touch:
    """Lanes touch one granule each. All arrays have one place a lane that takes part.

    `value` is what is stored there, as unsigned whole numbers; None for loads and atomics.
    """

    writes: bool
    how: Class
    place: Ints
    stamp: Stamps
    lanes: Indices
    value: NDArray[np.unsignedinteger] | None = None


class Shadow:
    """The shadow of `nbytes` bytes.

    `initialised`: whether their content is defined at the start; `private`: whether only threads of
    one block touch a granule, so that the block's barrier orders everything; `space`: "shared" for
    what `fence.proxy.async.shared` fences.
    """

    def __init__(
        self, nbytes: int, *, initialised: bool, private: bool, space: str = "global"
    ) -> None:
        self.nbytes, self.granule, self._private, self._space = nbytes, 4, private, space
        size = self._size()
        self._writes: dict[Class, Stamps] = {}
        # Who read: the highest and lowest lane of the latest read, and one before it.
        self._reads: dict[Class, Stamps] = {}  # (3, granules)
        self._read_by: dict[int, Stamps] = {}  # the latest read of each asynchronous agent
        self._values: NDArray[np.unsignedinteger] = np.zeros(size, "u4")
        self.written: Mask | None = None if initialised else np.zeros(size, bool)

    def _size(self) -> int:
        return -(-self.nbytes // self.granule) + 16 // self.granule

    def _of(self, rows: dict[Any, Stamps], key: Class | int) -> Stamps:
        """The stamps of a kind of access or an agent, all 0 at first."""
        if key not in rows:
            rows[key] = np.zeros(self._size(), np.int64)
        return rows[key]

    def fill_gaps(self, nbytes: int, stride: int, count: int) -> None:
        """Only the first `nbytes` of each of `count` stretches are there to be written."""
        assert self.written is not None
        end = stride * count // self.granule
        self.written[end:] = True
        self.written[:end].reshape(count, -1)[:, -(-nbytes // self.granule) :] = True

    def refine(self, granule: int) -> None:
        """Makes the granules as small as this; the parts of a granule inherit its stamps."""
        factor = self.granule // granule
        if factor <= 1:
            return
        self.granule = granule
        size = self._size()

        def cut(old: Ints) -> Ints:
            return np.repeat(old, factor, axis=-1)[..., :size]

        self._writes = {how: cut(stamps) for how, stamps in self._writes.items()}
        self._read_by = {agent: cut(stamps) for agent, stamps in self._read_by.items()}
        self._reads = {how: cut(stamps) for how, stamps in self._reads.items()}
        self._values = self._values.view(f"u{granule}")[:size]
        if self.written is not None:
            self.written = np.repeat(self.written, factor)[:size]

    def forget(self, start: int, nbytes: int) -> None:
        """Nobody has touched these bytes."""
        granules = slice(start // self.granule, -(-(start + nbytes) // self.granule))
        known = (*self._writes.values(), *self._read_by.values(), *self._reads.values())
        for stamps in known:
            stamps[..., granules] = 0
        if self.written is not None:
            self.written[granules] = False

    def is_copied(self, place: Ints) -> Bad:
        """Whether asynchronous operations wrote these bytes last."""
        copied = self._writes.get("async")
        if copied is None:
            return np.zeros(len(place), bool)
        granules = place // self.granule
        mine = copied.take(granules)
        result: Bad = mine != 0
        for how, stamps in self._writes.items():
            if how != "async":
                result &= stamps.take(granules) < mine
        return result

    def written_by(self, how: Class, granules: Ints) -> Stamps:
        """Who wrote each granule last by accesses of a kind, 0 where nobody did."""
        stamps = self._writes.get(how)
        return np.zeros(granules.shape, np.int64) if stamps is None else stamps.take(granules)

    def last_write(self, start: int) -> int:
        """The stamp of the latest write of any of eight bytes, 0 where there is none."""
        granules = slice(start // self.granule, (start + 8) // self.granule)
        return max((int(s[granules].max()) for s in self._writes.values()), default=0)

    def restamp(self, words: Ints, how: Class, old: Stamps, to: Class, new: Stamps) -> None:
        """Writes of words, which bear stamps `old`, count as others; what came later stays.

        `words` (lanes, words of each), `old` and `new` (lanes,).
        """
        parts = 4 // self.granule
        place = words
        if parts > 1:
            place = (words[..., None] * parts + np.arange(parts)).reshape(len(words), -1)
        several = place.shape[1]
        place, old, new = place.reshape(-1), np.repeat(old, several), np.repeat(new, several)
        writes = self._writes.get(how)
        if writes is None:
            return
        mine = writes[place] == old
        if to != how:
            target = self._of(self._writes, to)
            mine &= target[place] <= old
            place, new = place[mine], new[mine]
            writes[place], target[place] = 0, new
        elif np.count_nonzero(mine) < len(mine):
            writes[place[mine]] = new[mine]
        else:
            writes[place] = new

    def differs(self, event: AccessEvent, offset: Ints, lanes: Indices) -> Bad:
        """Which lanes of a plain store change what was stored last, as far as that is known."""
        result = np.zeros(len(lanes), bool)
        first = offset // self.granule
        for i, value in enumerate(pieces(event, self.granule, lanes)):
            result |= True if value is None else self._values[first + i] != value
        return result

    def unwritten(self, first: Ints, granules: int) -> Bad:
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
            self._note_read(touch, order)
            return
        yield from self._against_reads(touch, order)
        place = touch.place
        writes = self._of(self._writes, touch.how)
        writes[place] = touch.stamp
        if touch.value is not None:
            self._values[place] = touch.value
            lost = self._values[place] != touch.value
            if np.count_nonzero(lost):
                yield lost, writes[place]
        if self.written is not None:
            self.written[place] = True

    def _note_read(self, touch: Touch, order: Order) -> None:
        """Notes a read; one by another warp replaces the one before it."""
        if touch.how not in self._reads:
            self._reads[touch.how] = np.zeros((3, self._size()), np.int64)
        last, first, before = self._reads[touch.how]
        place, stamp = touch.place, touch.stamp
        old = last[place]
        move = ((old ^ stamp) & LOW != 0) & (old != 0)
        if np.count_nonzero(move):
            kept = before[place]
            useless = (kept == 0) | order.same_warp(kept, touch.lanes)
            move &= useless | ~order.same_warp(old, touch.lanes)
            before[place[move]] = old[move]
        last[place] = stamp
        first[place[::-1]] = stamp[::-1]

    def _against_writes(self, touch: Touch, order: Order) -> Iterator[tuple[Bad, Stamps]]:
        for how, stamps in self._writes.items():
            rule = self._rule(touch.how, how)
            if rule is None:
                continue
            found = stamps.take(touch.place)
            bad = self._suspects(found, touch, order, by_thread=how not in _OF_COPIES)
            if bad is None:
                continue
            if touch.value is not None and how not in ("atomic", *_OF_COPIES):
                bad &= self._values[touch.place] != touch.value
            if rule == "in a warp":
                bad &= order.same_warp(found, touch.lanes)
            if bad.any():
                yield bad, found

    def _against_reads(self, touch: Touch, order: Order) -> Iterator[tuple[Bad, Stamps]]:
        for stamps in self._read_by.values():
            found = stamps.take(touch.place)
            bad = self._suspects(found, touch, order, by_thread=False)
            if bad is not None:
                yield bad, found
        for how, reads in self._reads.items():
            rule = self._rule(touch.how, how)
            if rule is None:
                continue
            seen = np.zeros(len(touch.place), bool)
            for stamps in reads:
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

    def begin(
        self, place: Ints, stamp: int, order: Order, lanes: Indices, how: str
    ) -> Iterator[tuple[str, Indices, Stamps]]:
        """Notes that an asynchronous operation of these lanes reads or writes (`how`) granules.

        Yields what is wrong, in which places, with the stamps of the other accesses. `how`
        "update": it reduces, which goes with other reductions and atomics in any order.
        """
        agent = stamp & int(LOW)
        harmless = ("atomic", "reduced") if how == "update" else ()
        writes = (stamps for kind, stamps in self._writes.items() if kind not in harmless)
        others: list[tuple[str, Stamps]] = [("write", stamps) for stamps in writes]
        if how != "read":
            reads = (stamps for kind in self._reads.values() for stamps in kind)
            others += [("read", s) for s in (*reads, *self._read_by.values())]
        for what, stamps in others:
            found = stamps.take(place)
            several, inverse = np.unique(found, return_inverse=True)
            bad = order.unordered_with(several, lanes) & ((several & LOW) | 1 != agent | 1)
            if bad.any():
                yield "race", np.flatnonzero(bad[inverse]), found
            elif what == "write" and how != "write":
                hidden = (several != 0) & (several & LOW < AGENTS)
                hidden &= ~order.has_passed_proxy(several, self._space)
                if hidden.any():
                    yield "proxy_fence", np.flatnonzero(hidden[inverse]), found
        if how == "read":
            self._of(self._read_by, agent)[place] = stamp
            return
        mine: Class = "reduced" if how == "update" else "async"
        self._of(self._writes, mine)[place] = stamp
        for how_written, stamps in self._writes.items():
            if mine == "async" and how_written != mine:
                stamps[place] = 0
        if self.written is not None:
            self.written[place] = True

    def _suspects(
        self, found: Stamps, touch: Touch, order: Order, *, by_thread: bool = True
    ) -> Bad | None:
        """The lanes not ordered after these stamps, None if there are none.

        `by_thread`: the stamps are those of threads, which barriers order.
        """
        if self._private and by_thread:
            bound = order.bound
            if len(touch.lanes) != len(bound):
                bound = bound[touch.lanes]
            if not np.count_nonzero(found >= bound):
                return None
        elif not np.count_nonzero(found):
            return None
        bad = order.unordered(found, touch.lanes)
        return bad if np.count_nonzero(bad) else None

    def _rule(self, one: Class, other: Class) -> str | None:
        """When two accesses that nothing orders race, given that one of them writes."""
        if "plain" in (one, other):
            return "always"
        return "in a warp" if one == other == "volatile" and self._private else None


# An access, cut into the granules in which hazards are looked for.


def element_bytes(event: AccessEvent) -> int:
    """Bytes of one element of the access."""
    return event.width // max(len(event.values), 1) if event.kind != "atomic" else event.width


def granule_of(event: AccessEvent) -> int:
    """Bytes of the granules that suit an access."""
    return min(element_bytes(event), 4)


def pieces(
    event: AccessEvent, granule: int, lanes: Indices
) -> Iterator[NDArray[np.unsignedinteger] | None]:
    """What the lanes store in each granule of the access; None if it is not a plain store."""
    if event.kind != "store":
        yield from [None] * max(event.width // granule, 1)
        return
    for value in event.values:
        raw = np.ascontiguousarray(value)
        raw = np.repeat(raw, len(lanes)) if raw.size == 1 else raw
        raw = raw if len(raw) == len(lanes) else raw[lanes]
        parts = raw.view(f"u{granule}").reshape(len(lanes), -1)
        for column in range(parts.shape[1]):
            yield parts[:, column]
