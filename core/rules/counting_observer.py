"""Counts every global, shared and local access of a machine, by the rules of this package."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from core.emulator.address_spaces import RANK_BITS, SHARED_WINDOW
from core.emulator.events import (
    AccessEvent,
    BarrierEvent,
    Ints,
    Mask,
    Observer,
    SaveEvent,
    Span,
    TransferEvent,
)
from core.emulator.geometry import Geometry, active_rows, warp_rows
from core.ptx.ast import immediate
from core.rules import atomics, global_memory, shared_memory
from core.rules.counters import SPACES, Tally, figures
from core.rules.memory_instruction_issue import Issue, IssueTable

SharedNamer = Callable[[int], str]
_SHORT = {"load": "ld", "store": "st"}
_MOST_FORMS = 256  # of accesses of stacks, each of 8 bytes a lane, whose counts are kept


@dataclass(frozen=True)
class _Rows:
    """One access, warp by warp: addresses, active lanes and their number."""

    address: Ints
    active: Mask
    lanes: Ints

    def in_words(self) -> _Rows:
        """The words that the addresses lie in."""
        return replace(self, address=self.address & -shared_memory.WORD)

    def with_(self, other: _Rows) -> _Rows:
        """Both accesses as one, of the lanes of either."""
        address = np.where(other.active, other.address, self.address)
        return _Rows(address, self.active | other.active, self.lanes + other.lanes)


@dataclass(frozen=True)
class _Repeated:
    """What an access counts; `lane` is the first that takes part.

    Moved by whole sectors, or by whole words of shared memory, it counts the same: in shared memory
    all lanes then change their banks alike. Atomics in global memory do not.
    """

    array: str
    name: str
    sums: Ints
    lane: int


class CountingObserver(Observer):
    """Counts every global, shared and local access of one machine into a tally."""

    def __init__(
        self, tally: Tally, geometry: Geometry, shared_name: SharedNamer, issues: IssueTable
    ) -> None:
        """`shared_name` gives the name of the array at an offset in shared memory."""
        self.tally, self.geometry, self._shared_name = tally, geometry, shared_name
        self._issues = issues
        # By pc: what a `cp.async` has loaded; it counts when it stores.
        self._copied: dict[int, tuple[AccessEvent, _Rows]] = {}
        self._local_sums: dict[Hashable, Ints] = {}  # of accesses of stacks, by form
        # Of the last atomic among a cluster's blocks, which comes block by block: its tick and pc,
        # which warps' parts are counted, and the rounds of each warp's loop.
        self._atomic = -1, -1
        self._passed, self._rounds = np.zeros((0, 1), bool), np.zeros(0, np.int64)
        # The last instruction that asked for global memory, array by array: its tick and pc, and
        # what it has asked for.
        self._asked: tuple[int, int, _Rows] | None = None

        # The last atomic: its tick and pc, and which warps have passed shared memory's data stage.
        self._staged = -1, -1, np.zeros(0, bool)

    def on_access(self, event: AccessEvent) -> None:
        """Counts one access; a repetition counts as much as the access that it repeats."""
        shared = event.region.space in ("shared", "cluster")
        pattern = event.pattern
        grain = shared_memory.WORD if shared else global_memory.SECTOR
        part = event.shift % grain  # the part of the shift that counts depend on
        if pattern is None or part not in pattern.notes:
            self._last: _Repeated | None = None
            self._count(event)
            atomic = event.kind == "atomic" and event.region.space != "shared"
            if not (pattern is None or atomic or self._issues[event.pc].is_copy):
                pattern.notes[part] = self._last
        elif (known := pattern.notes[part]) is not None:
            array = known.array
            if shared:
                lane = known.lane if event.address.size > 1 else 0
                array = self._shared_name(int(event.address[lane]) - event.region.base)
            self.tally.add(_site(event), array, known.name, known.sums)

    def _count(self, event: AccessEvent) -> None:
        if event.pc in self._issues.joined:
            return  # another load brings its word along
        if event.region.space == "local":
            self._local(event)
            return
        issue = self._issues[event.pc]
        space = event.region.space
        if space == "const" and issue.generic:
            space = "global"  # a generic address reads constants where they lie: in global memory
        if space == "cluster":
            own = self._own_of_cluster(event)
            if event.kind == "atomic":
                self._pass_to_others(event, own)
            if not own.any():
                return
            space, event = "shared", replace(event, mask=own)
        if space not in SPACES:
            return
        rows = self._rows(event.address, event.mask)
        if issue.instruction.led:
            active = atomics.leaders(rows.address, rows.active, issue.instruction.led)
            rows = _Rows(rows.address, active, active.sum(axis=1))
        if space == "global":
            (self._global_atomic if event.kind == "atomic" else self._global)(event, issue, rows)
        else:
            rows = replace(rows, address=rows.address - event.region.base)
            (self._shared_atomic if event.kind == "atomic" else self._shared)(event, issue, rows)

    def _rows(self, address: Ints, mask: Mask | None) -> _Rows:
        """An access warp by warp; `address` is int64 (lanes,), or (1,) where all have the same."""
        rows = warp_rows(np.broadcast_to(address, self.geometry.lanes), self.geometry, 0)
        active = active_rows(mask, self.geometry)
        return _Rows(rows, active, active.sum(axis=1))

    def _global(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        if issue.is_copy:
            self._collect(event, rows)
            return
        units = global_memory.sectors(rows.address, rows.active)
        ideal = global_memory.ideal_sectors(units, rows.lanes, event.width)
        name = f"global_{_SHORT[event.kind]}"
        before = self._ask(event, rows)
        self._add(event, event.region.name, name, rows, before, units=units, ideal=ideal)

    def _local(self, event: AccessEvent) -> None:
        sums = self._of_stacks(event.address - event.region.base, event.width, event.mask)
        name = f"local_{_SHORT[event.kind]}"
        self.tally.add(_site(event), "", name, sums)
        self._last = _Repeated("", name, sums, 0)

    def on_save(self, event: SaveEvent) -> None:
        """Counts registers saved or spilled: each a word of the stack, the same for a warp."""
        sums = self._of_stacks(np.zeros(1, np.int64), global_memory.LOCAL_WORD, event.mask)
        self.tally.add(event.site, "", f"local_{_SHORT[event.kind]}", sums * event.registers)

    def _of_stacks(self, address: Ints, width: int, mask: Mask | None) -> Ints:
        """Figures of an access of stacks: those of any other of its form, whole words away.

        `address` is int64 (lanes,), or (1,) where it is the same in all stacks.
        """
        first = int(address[0])
        lanes_of = None if mask is None else mask.tobytes()
        form = width, first % global_memory.LOCAL_WORD, (address - first).tobytes(), lanes_of
        sums = self._local_sums.get(form)
        if sums is None:
            rows = self._rows(address, mask)
            units = global_memory.local_sectors(rows.address, rows.active, width)
            ideal = global_memory.ideal_sectors(units, rows.lanes, width)
            requests = max(1, width // global_memory.LOCAL_WORD) * int(np.count_nonzero(rows.lanes))
            sums = figures(requests=requests, units=int(units.sum()), ideal=int(ideal.sum()))
            if len(self._local_sums) >= _MOST_FORMS:
                self._local_sums.clear()
            self._local_sums[form] = sums
        return sums

    def _collect(self, event: AccessEvent, rows: _Rows) -> None:
        """Adds lanes to a copy. Those that copy less than the whole load byte by byte."""
        if event.pc in self._copied:
            before, known = self._copied[event.pc]
            active = known.active | rows.active
            address = np.where(known.active, known.address, rows.address)
            event, rows = before, _Rows(address, active, active.sum(axis=1))
        self._copied[event.pc] = event, rows

    def _copy(self, pc: int, issue: Issue, target: _Rows) -> None:
        """Counts what a copy loaded; `target` is where it stores."""
        if pc not in self._copied:
            return  # it only fills with zeros
        event, rows = self._copied.pop(pc)
        past = issue.passes_l1
        units = global_memory.copied_sectors(
            rows.address, target.address, rows.active, past_l1=past
        )
        width = immediate(issue.instruction.operands[2]) or event.width
        ideal = global_memory.ideal_sectors(units, rows.lanes, width)
        self._add(event, event.region.name, "global_ld", rows, units=units, ideal=ideal)

    def _global_atomic(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        if event.width < shared_memory.WORD:
            self._narrow_global_atomic(event, issue, rows)
            return
        before = self._ask(event, rows)
        units = self._passes(event, issue, rows)
        if before is not None:  # the passes through the tags are those of all arrays together
            both = before.with_(rows)
            units = self._passes(event, issue, both) - self._passes(event, issue, before)
        ideal = global_memory.ideal_sectors(units, rows.lanes, event.width)
        name = f"global_{'red' if issue.is_reduction else 'atom'}"
        self._add(event, event.region.name, name, rows, before, units=units, ideal=ideal)
        if issue.generic:
            tick, pc, has_passed = self._staged
            if (tick, pc) == (event.tick, event.pc):  # these warps' wavefronts count already
                rows = replace(rows, active=rows.active & ~has_passed[:, None])
            self._add_pass(event, event.region.name, rows, issue.turns)
            self._pass(event, rows)

    def _narrow_global_atomic(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        """An atomic of 2 bytes: a load of its word, then compare-and-swaps of it in a loop."""
        array, word = event.region.name, rows.in_words()
        units = global_memory.sectors(word.address, word.active)
        self._add(event, array, "global_ld", word, units=units, ideal=units)
        for turn in self._turns(issue, word):
            units = atomics.sectors(
                turn.address, turn.active, shared_memory.WORD, exchange_if_equal=True
            )
            self._add(event, array, "global_atom", turn, units=units, ideal=units)
            if issue.generic:
                self._add_pass(event, array, turn, turns=2)

    def _narrow_shared_atomic(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        """The same in shared memory."""
        array, word, width = self._array(rows), rows.in_words(), shared_memory.WORD
        units = shared_memory.wavefronts(word.address, word.active, width, "merged")
        free = shared_memory.conflict_free_wavefronts(word.address, word.active, width, "merged")
        self._add(event, array, "shared_ld", word, units=units, ideal=free, conflicts=units - free)
        for turn in self._turns(issue, word):
            units = shared_memory.wavefronts(turn.address, turn.active, width, issue.sharing)
            free = shared_memory.conflict_free_wavefronts(turn.address, turn.active, width)
            taken, least, lost = 2 * units, 2 * free, units - free
            self._add(event, array, "shared_atom", turn, units=taken, ideal=least, conflicts=lost)

    def _turns(self, issue: Issue, rows: _Rows) -> Iterator[_Rows]:
        """The lanes that try each time: in each, one lane gets through to each word.

        Measured on an H200 (`tests/blind_set.py`). Of a compare-and-swap one try is counted: others
        follow only where another lane has changed the word's other half.
        """
        left = rows.active
        while left.any():
            yield _Rows(rows.address, left, left.sum(axis=1))
            left = left & ~atomics.first_of_each(rows.address, left)
            if issue.is_exchange_if_equal:
                return

    def _passes(self, event: AccessEvent, issue: Issue, rows: _Rows) -> Ints:
        return atomics.sectors(
            rows.address, rows.active, event.width, exchange_if_equal=issue.is_exchange_if_equal
        )

    def _ask(self, event: AccessEvent, rows: _Rows) -> _Rows | None:
        """What the same instruction has asked of other arrays before; None for nothing.

        Lanes that access several arrays make one request together.
        """
        before = None
        if self._asked is not None and self._asked[:2] == (event.tick, event.pc):
            before = self._asked[2]
            if (before.active & rows.active).any():  # a fragment's next element
                before = None
        self._asked = event.tick, event.pc, rows if before is None else before.with_(rows)
        return before

    def _shared(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        if issue.is_copy:
            self._copy(event.pc, issue, rows)
        array, width = self._array(rows), event.width
        if (wide := self._issues.wide.get(event.pc)) is not None:
            rows, width = replace(rows, address=rows.address + wide.shift), wide.width
        self._add_wavefronts(event, array, f"shared_{_SHORT[event.kind]}", issue, rows, width)

    def _shared_atomic(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        if event.width < shared_memory.WORD:
            self._narrow_shared_atomic(event, issue, rows)
            return
        if issue.is_loop:
            self._shared_loop(event, issue, rows)
            return
        self._pass(event, rows)
        self._add_wavefronts(event, self._array(rows), "shared_atom", issue, rows, event.width)

    def _add_wavefronts(
        self, event: AccessEvent, array: str, name: str, issue: Issue, rows: _Rows, width: int
    ) -> None:
        """Adds what an access of shared memory counts, `width` bytes a lane."""
        address, active, sharing = rows.address, rows.active, issue.sharing
        units = shared_memory.wavefronts(address, active, width, sharing)
        free = shared_memory.conflict_free_wavefronts(address, active, width, sharing)
        taken = units * issue.turns
        ideal = shared_memory.ideal_wavefronts(taken, rows.lanes, width)
        self._add(event, array, name, rows, units=taken, ideal=ideal, conflicts=units - free)

    def _shared_loop(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        contest = self._contest(event, issue)
        found = atomics.loop(rows.address, rows.active, event.width, contest)
        array, tried = self._array(rows), found.rounds
        self._tell(event, array, "shared_atom", requests=tried, units=found.wavefronts, ideal=tried)
        self._tell(
            event,
            array,
            "shared_ld",
            requests=found.loads,
            units=found.load_wavefronts,
            ideal=found.loads,
            conflicts=found.load_conflicts,
        )
        if issue.generic:
            self._add_pass(event, array, rows, issue.turns)
            if contest is not None:  # it is itself an instruction, whatever follows
                self._tell(event, array, "shared_atom", requests=int(np.count_nonzero(rows.lanes)))

    def _own_of_cluster(self, event: AccessEvent) -> Mask:
        """The lanes that a cluster's address leads to their own block's memory, bool (lanes,).

        Only they count as accesses of shared memory do (measured: `tests/reaching_set.py`).
        """
        rank = (event.region.base - SHARED_WINDOW >> RANK_BITS) - 1
        own: Mask = np.repeat(self.geometry.ranks == rank, self.geometry.threads)
        return own if event.mask is None else own & event.mask

    def _pass_to_others(self, event: AccessEvent, own: Mask) -> None:
        """Counts what an atomic does for lanes that address other blocks of the cluster.

        It takes a wavefront of a warp (with 8 bytes a lane: of half a warp) none of whose lanes
        address their own block; compare-and-swap takes two. A loop takes two more in each round,
        in which one lane gets to each element. Measured on an H200 (`tests/reaching_set.py`).
        Where blocks update each other's memory at once, the hardware takes a few wavefronts more.
        """
        issue, groups = self._issues[event.pc], max(1, event.width // shared_memory.WORD)
        active = np.ones(own.shape, bool) if event.mask is None else event.mask
        rows = warp_rows(active & ~own, self.geometry, 0)
        others = rows.reshape(len(rows), groups, -1).any(axis=2)
        mine = warp_rows(own, self.geometry, 0).reshape(len(rows), groups, -1).any(axis=2)
        if self._atomic != (event.tick, event.pc):
            self._atomic = event.tick, event.pc
            self._passed, self._rounds = np.zeros_like(mine), np.zeros(len(rows), np.int64)
        passes = int((others & ~mine & ~self._passed).sum()) - int((mine & self._passed).sum())
        self._passed |= others | mine
        units = passes * issue.turns
        where = np.broadcast_to(event.address, self.geometry.lanes)
        address = warp_rows(where, self.geometry, 0)
        if issue.is_loop and issue.better is None:
            for warp in np.flatnonzero(rows.any(axis=1)):
                tried = int(np.unique(address[warp, rows[warp]], return_counts=True)[1].max())
                units += 2 * max(0, tried - int(self._rounds[warp]))
                self._rounds[warp] = max(tried, self._rounds[warp])
        array = self._shared_name(int(where[int(active.argmax())]) - event.region.base)
        self._tell(event, array, "shared_atom", units=units, ideal=units)

    def _contest(self, event: AccessEvent, issue: Issue) -> atomics.Contest | None:
        """Which lanes would change a cell by a minimum or maximum of 8-byte integers."""
        better = issue.better
        if better is None or not event.operands:
            return None
        given = [
            np.broadcast_to(x, self.geometry.lanes) for x in (event.operands[0], *event.values)
        ]
        operand, before = (warp_rows(values, self.geometry, 0) for values in given)
        return atomics.Contest(operand.astype(before.dtype), before, better)

    def _pass(self, event: AccessEvent, rows: _Rows) -> None:
        """The warps of an atomic that have passed through shared memory's data stage."""
        tick, pc, passed = self._staged
        now = rows.lanes > 0
        is_same = (tick, pc) == (event.tick, event.pc)
        self._staged = event.tick, event.pc, now | passed if is_same else now

    def _add_pass(self, event: AccessEvent, array: str, rows: _Rows, turns: int) -> None:
        """A generic atomic passes through shared memory's data stage, wherever it goes."""
        free = shared_memory.conflict_free_wavefronts(rows.address, rows.active, event.width)
        passes = int(free.sum()) * turns
        self._tell(event, array, "shared_atom", units=passes, ideal=passes)

    def _add(
        self,
        event: AccessEvent,
        array: str,
        name: str,
        rows: _Rows,
        before: _Rows | None = None,
        **found: Ints,
    ) -> None:
        """Adds figures of each warp, and the requests of each that takes part, but not `before`."""
        sums = {figure: int(values.sum()) for figure, values in found.items()}
        begins = rows.lanes if before is None else rows.lanes * (before.lanes == 0)
        requests = int(np.count_nonzero(begins))
        told = self._tell(event, array, name, requests=requests, **sums)
        lane = 0 if event.mask is None else int(event.mask.argmax())
        self._last = _Repeated(array, name, told, lane)

    def _tell(self, event: AccessEvent, array: str, name: str, **found: int) -> Ints:
        sums = figures(**found)
        self.tally.add(_site(event), array, name, sums)
        return sums

    def _array(self, rows: _Rows) -> str:
        return self._shared_name(int(rows.address[rows.active][0]))

    def on_transfer(self, event: TransferEvent) -> None:
        """Counts a matrix product's reads of shared memory, or a bulk copy's global memory.

        What goes from block to block counts nothing. A product reads each factor once, each of its
        warps its own rows of A.
        """
        site = event.site if event.site >= 0 else event.pc
        if event.kind == "product":
            requests = len(event.lanes)
            for span in event.reads:
                units = shared_memory.product_wavefronts(len(span.place), span.width)
                sums = figures(requests=requests, units=units, ideal=units)
                name = self._shared_name(int(span.place[0]) % self._stride(span))
                self.tally.add(site, name, "shared_gmma", sums)
                requests = 0
            return
        if event.kind == "shared":
            return
        loaded, stored = event.reads[0], event.writes[0]
        change = "tma_red" if event.is_update else "tma_st"
        for span, other, name in ((loaded, stored, "tma_ld"), (stored, loaded, change)):
            if span.region.space == "global":
                shared = other.place % self._stride(other)
                row = span.row if span.row is not None else np.zeros_like(shared)
                if span.number is not None and event.outside is not None:
                    row = np.arange(len(shared)) // (len(shared) // len(event.outside))
                sectors = global_memory.bulk_sectors(
                    span.region.base + span.place,
                    shared,
                    row,
                    span.number,
                    is_multicast=event.is_multicast,
                )
                least = -(-len(span.place) * span.width // global_memory.SECTOR)
                sums = figures(requests=1, units=sectors, ideal=min(sectors, least))
                self.tally.add(site, span.region.name, f"global_{name}", sums)

    def _stride(self, span: Span) -> int:
        """Bytes from one block's part of shared memory to the next one's."""
        return span.region.data.size // len(self.geometry.blocks)

    def on_barrier(self, event: BarrierEvent) -> None:
        """Counts the warps that came, once."""
        if event.executed:
            came = int(active_rows(event.mask, self.geometry).any(axis=1).sum())
            self.tally.add(event.pc, "", "", figures(requests=came))


def _site(event: AccessEvent) -> int:
    """The instruction that an access counts for: its own, or the call of a header's function."""
    return event.site if event.site >= 0 else event.pc
