"""What one block has done up to a step, worked out from its record and kept for the next question.

Everything here is a function of a `BlockTrace`. The record is read once, in order and only as far
as a question needs; each answer after that is a look-up.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.trace import EventKind
from gui.scenes.loads import Ints, Loads, Tally
from gui.scenes.once import once_for_each
from gui.scenes.origins import Origins
from gui.scenes.parts import Part, parts_of

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace

BEFORE = -2
"""In place of a phase: all that comes before the first one."""

__all__ = ["BEFORE", "History", "Ints", "history_of", "is_global"]

_LOAD, _STORE, _ATOMIC = EventKind.LOAD, EventKind.STORE, EventKind.ATOMIC


@dataclass(frozen=True)
class _Write:
    """One store or atomic to a global array: its lanes' elements, threads and values."""

    step: int
    flats: Ints
    threads: Ints
    values: NDArray[np.generic]


class History:
    """Answers about one block. Get it with `history_of`, which keeps one for each record."""

    def __init__(self, block_trace: BlockTrace) -> None:
        self._record = weakref.ref(block_trace)  # the record must not be kept alive from here
        kind = np.asarray(block_trace.kind)
        self._accesses = np.flatnonzero(np.isin(kind, (_LOAD, _STORE, _ATOMIC)))
        self._writes = np.flatnonzero(np.isin(kind, (_STORE, _ATOMIC)))
        self._loads: dict[str, Loads] = {}
        self._through_shared: dict[str, Loads] = {}
        self._tallies: dict[str, Tally] = {}
        self._origins = Origins()
        self._scanned = 0
        self._global_writes: dict[str, list[_Write]] | None = None
        self._stored: dict[str, tuple[Ints, Ints, Ints]] = {}
        self._phase_loads: dict[int, dict[str, list[Ints]]] = {}
        self._spaces: dict[int, str] = {}

    @property
    def _trace(self) -> BlockTrace:
        trace = self._record()
        assert trace is not None, "a History is asked while its record is held"
        return trace

    def last_access(self, step: int, space: str) -> Access | None:
        """The latest access to `space` at or before `step`, None if there was none."""
        place = int(np.searchsorted(self._accesses, step, side="right")) - 1
        while place >= 0:
            at = int(self._accesses[place])
            if self._space(at) == space:
                return self._trace.access(at)
            place -= 1
        return None

    def read_by(
        self, name: str, thread: int | range, step: int, *, only_copies: bool = False
    ) -> Ints:
        """Flat elements of global array `name` that a thread has read up to `step`, each once.

        Or that any of several threads has, which follow each other. Read directly, or through
        shared memory where the copy came from (see `read_through`).
        """
        self._scan(step)
        kinds = (self._through_shared,) if only_copies else (self._loads, self._through_shared)
        who = thread if isinstance(thread, range) else range(thread, thread + 1)
        found = [loads[name].of_threads(who, step) for loads in kinds if name in loads]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    def read_through(self, name: str, step: int) -> Ints:
        """For each thread, the elements of global `name` whose copies in shared memory it loads.

        int64[k, threads], -1 where there is none; k is 0 or the elements that each thread loads at
        this step. A copy is known by its value: a thread stores to shared memory the very value
        that one of its latest loads from global memory gave it.
        """
        self._scan(step)
        loads = self._through_shared.get(name)
        if loads is None:
            return np.empty((0, 0), np.int64)
        return loads.rows(loads.upto(step - 1), loads.upto(step)).astype(np.int64)

    def loads_of(self, name: str, flat: int, step: int) -> list[tuple[int, Ints]]:
        """The steps up to `step` that load an element of global `name`, each with its threads."""
        self._scan(step)
        return self._loads[name].of_element(flat, step) if name in self._loads else []

    def copies_read(self, name: str, flat: int, step: int) -> int:
        """How many lanes have loaded a copy of that element from shared memory up to `step`."""
        self._scan(step)
        loads = self._through_shared.get(name)
        found = loads.of_element(flat, step) if loads is not None else []
        return sum(len(threads) for _, threads in found)

    def loaded(self, name: str, step: int) -> tuple[Ints, Ints]:
        """The elements of global `name` loaded up to `step`, ascending, and by how many lanes."""
        self._scan(step)
        loads = self._loads.get(name)
        if loads is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        tally = self._tallies.setdefault(name, Tally())
        tally.move(loads, loads.upto(step))
        return tally.loaded

    def times_loaded(self, name: str, flat: int, step: int) -> int:
        """How many lanes have loaded one element of global `name` up to `step`."""
        flats, times = self.loaded(name, step)
        place = int(np.searchsorted(flats, flat))
        return int(times[place]) if place < len(flats) and flats[place] == flat else 0

    def stored(self, name: str) -> tuple[Ints, Ints, Ints]:
        """What the block stores to global array `name`, over its whole record.

        Returns flat elements (sorted, each once), the thread that stored each last, and the step
        of its first store.
        """
        if name not in self._stored:
            self._stored[name] = self._collect_stores(name)
        return self._stored[name]

    def value_stored(self, name: str, step: int) -> tuple[Ints, NDArray[np.generic]]:
        """Elements of global `name` that the block has stored up to `step`, with their values.

        In the order of the stores: an element stored twice is there twice.
        """
        upto = [w for w in self._writes_to(name) if w.step <= step]
        if not upto:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        return np.concatenate([w.flats for w in upto]), np.concatenate([w.values for w in upto])

    def loaded_in_phase(self, phase: int) -> dict[str, list[Ints]]:
        """What the block loads from each global array in a whole phase, or `BEFORE` them.

        One array of flat elements (each once) for each load instruction.
        """
        if phase not in self._phase_loads:
            first, last = self._bounds_of(phase)
            self._scan(last)
            result: dict[str, list[Ints]] = {}
            for name, loads in self._loads.items():
                parts: dict[int, list[NDArray[np.int32]]] = {}
                places = range(loads.upto(first - 1), loads.upto(last))
                for place, row in zip(places, loads.rows(places.start, places.stop), strict=True):
                    pc = int(self._trace.pc[loads.steps[place]])
                    parts.setdefault(pc, []).append(row)
                found = (np.unique(np.concatenate(rows)) for rows in parts.values())
                result[name] = [flats[flats >= 0].astype(np.int64) for flats in found]
            self._phase_loads[phase] = result
        return self._phase_loads[phase]

    def _bounds_of(self, phase: int) -> tuple[int, int]:
        """The first and the last step of a phase; none lies between them where there is no such."""
        phases = self._trace.phases
        if phase == BEFORE and phases:
            return 0, phases[0].first - 1
        return next(((p.first, p.last) for p in phases if p.index == phase), (0, -1))

    def read_ahead(self, accesses: int) -> bool:
        """Read a few more accesses of the record before anybody asks; False when all are read."""
        if self._scanned < len(self._accesses):
            last = min(self._scanned + accesses, len(self._accesses)) - 1
            self._scan(int(self._accesses[last]))
            return True
        for name, loads in self._loads.items():
            tally = self._tallies.setdefault(name, Tally())
            if tally.read(loads, tally.known + 2 * accesses):
                return True
        return False

    def _space(self, step: int) -> str:
        if step not in self._spaces:
            access = self._trace.access(step)
            self._spaces[step] = access.space if access is not None else ""
        return self._spaces[step]

    def _scan(self, step: int) -> None:
        end = int(np.searchsorted(self._accesses, step, side="right"))
        for at in self._accesses[self._scanned : end]:
            access: Any = self._trace.access(int(at))
            if access is None:
                continue
            self._spaces[int(at)] = access.space
            if access.array is not None:
                for part in parts_of(access, access.array.dtype):
                    self._note(int(at), access, part)
        self._scanned = max(self._scanned, end)

    def _note(self, step: int, access: Access, part: Part) -> None:
        """One part of an access, for the answers that go along with the clock."""
        assert access.array is not None
        name = access.array.name
        if access.space == "global" and access.kind == "load":
            self._loads.setdefault(name, Loads()).add(step, part.elements)
            self._origins.loaded(name, part)
        elif access.space == "shared" and access.kind == "store":
            self._origins.stored(name, access.array.nbytes // access.array.dtype.itemsize, part)
        elif access.space == "shared":
            for source, elements in self._origins.read(name, part):
                self._through_shared.setdefault(source, Loads()).add(step, elements)

    def _writes_to(self, name: str) -> list[_Write]:
        if self._global_writes is None:
            found: dict[str, list[_Write]] = {}
            for at in self._writes:
                access: Any = self._trace.access(int(at))
                if is_global(access):
                    for part in parts_of(access, access.array.dtype):
                        live = np.flatnonzero(part.elements >= 0)
                        write = _Write(int(at), part.elements[live], live, part.values[live])
                        found.setdefault(access.array.name, []).append(write)
            self._global_writes = found
        return self._global_writes.get(name, [])

    def _collect_stores(self, name: str) -> tuple[Ints, Ints, Ints]:
        writes = self._writes_to(name)
        if not writes:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
        flat = np.concatenate([w.flats for w in writes])
        thread = np.concatenate([w.threads for w in writes])
        step = np.concatenate([np.full(len(w.flats), w.step) for w in writes])
        unique, first = np.unique(flat, return_index=True)
        _, last = np.unique(flat[::-1], return_index=True)
        return unique, thread[::-1][last], step[first]


def is_global(access: Any) -> bool:
    """Whether an access (or None) is to a known array in global memory."""
    return access is not None and access.space == "global" and access.array is not None


@once_for_each
def history_of(block_trace: BlockTrace) -> History:
    """The one History of a record, made when first asked for and dropped with the record."""
    return History(block_trace)
