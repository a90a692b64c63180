"""What threads hold in the variables that they store to an array later: running sums.

The variable is followed from the store (`_StoredVariables`), and taken for it only if it held, at
the moment of the store, the very bits that were stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.ptx.ast import Instruction, Operand, Register, Vector, registers
from core.ptx.dataflow import results
from core.ptx.debug.variables import VariableInfo
from core.trace.access import Array
from core.trace.memory_history import StackBytes, of_threads
from core.trace.steps import Position
from core.trace.variables import VariableReader

if TYPE_CHECKING:
    from core.emulator.block_record import ChunkRecord
    from core.emulator.events import AccessEvent, Ints

Positions = list[tuple[NDArray[np.intp], Position]]  # threads, and where in the kernel they are
Held = tuple[NDArray[Any], NDArray[np.bool_]]  # a value for each element, and which are known


@dataclass(frozen=True)
class SoFar:
    """Elements that are stored later, and what their threads hold for them now.

    `flats` (row-major) and `threads` are int64 (n,), `values` has the array's type (n,); `names`
    are the variables that they are kept in, and `which` (n,) says in which of these.
    """

    flats: Ints
    threads: Ints
    values: NDArray[Any]
    names: tuple[str, ...]
    which: Ints

    def of_thread(self, thread: int) -> SoFar:
        """What one thread holds."""
        mine = self.threads == thread
        which, names = self.which[mine], self.names
        return SoFar(self.flats[mine], self.threads[mine], self.values[mine], names, which)

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the variables that hold a value."""
        return tuple(self.names[i] for i in np.unique(self.which))


@dataclass(frozen=True)
class _Share:
    """The elements that are stored from one variable; all columns have a place an element.

    `ticks` are those of an element's first store, `starts` where its thread keeps it on the stack.
    """

    variable: VariableInfo
    flats: Ints
    threads: Ints
    ticks: Ints
    starts: Ints | None


class SumsSoFar:
    """Answers for one array of one block, whose threads are the machine's `lanes`."""

    def __init__(
        self, record: ChunkRecord, lanes: slice, reader: VariableReader, array: Array
    ) -> None:
        self._record, self._lanes, self._reader, self._array = record, lanes, reader, array
        self._shares = tuple(self._find())
        kept = [share.starts for share in self._shares if share.starts is not None]
        self._bottom = min((int(starts.min()) for starts in kept), default=0)
        top = max((int(starts.max()) for starts in kept), default=0) + array.dtype.itemsize
        self._stack = StackBytes(record, lanes, self._bottom, top) if kept else None

    def at(self, tick: int, positions: Callable[[int], Positions]) -> SoFar:
        """The sums held before `tick`, of elements that are stored later.

        `positions` says of a tick where the threads are.
        """
        none = np.empty(0, np.int64)
        found: list[tuple[NDArray[Any], ...]] = [(none, none, np.empty(0, self._array.dtype), none)]
        for number, share in enumerate(self._shares):
            later = share.ticks >= tick
            for threads, position in positions(tick) if later.any() else ():
                values, known = self._held(share, position.pc, tick)
                mine = later & known
                if len(threads) < self._lanes.stop - self._lanes.start:
                    mine &= np.isin(share.threads, threads)
                which = np.full(np.count_nonzero(mine), number)
                found.append((share.flats[mine], share.threads[mine], values[mine], which))
        flats, held_by, values, which = (np.concatenate(c) for c in zip(*found, strict=True))
        names = tuple(share.variable.name for share in self._shares)
        return SoFar(flats, held_by, values, names, which)

    # -- what is held -----------------------------------------------------------------------

    def _held(self, share: _Share, pc: int, tick: int) -> Held:
        """What the variable holds at a place in the kernel, where it is in scope there."""
        info, dtype = share.variable, self._array.dtype
        location = info.location(pc) if info.scope.first_pc <= pc < info.scope.end_pc else None
        count = len(share.flats)
        if location is not None and share.starts is not None:
            return self._on_the_stack(share.threads, share.starts, tick)
        if location is not None and location.constant is not None:
            return np.full(count, location.constant, dtype), np.ones(count, bool)
        held = None
        if location is not None and location.register is not None:
            held = self._reader.register(pc, 0, location.register, tick)
        if held is None:
            return np.zeros(count, dtype), np.zeros(count, bool)
        own = of_threads(held, self._lanes, share.threads)
        return _bits(own, dtype), np.ones(count, bool)

    def _on_the_stack(self, threads: Ints, starts: Ints, tick: int) -> Held:
        assert self._stack is not None
        data, written = self._stack.at(tick)
        octets = (starts - self._bottom)[:, None] + np.arange(self._array.dtype.itemsize)
        raw = np.ascontiguousarray(data[threads[:, None], octets])
        return raw.view(self._array.dtype)[:, 0], written[threads[:, None], octets].all(axis=1)

    # -- what is stored ---------------------------------------------------------------------

    def _find(self) -> Iterator[_Share]:
        """The elements whose last store is of a variable, by variable."""
        columns: dict[VariableInfo, list[tuple[Ints, ...]]] = {}
        for place, flats, threads, ticks in self._last_stores():
            starts = np.full(len(flats), -1) if place.starts is None else place.starts
            columns.setdefault(place.variable, []).append((flats, threads, ticks, starts))
        for variable, parts in columns.items():
            flats, threads, ticks, starts = (np.concatenate(c) for c in zip(*parts, strict=True))
            on_the_stack = bool((starts >= 0).all())
            if on_the_stack or (starts < 0).all():
                yield _Share(variable, flats, threads, ticks, starts if on_the_stack else None)

    def _last_stores(self) -> Iterator[tuple[_Place, Ints, Ints, Ints]]:
        """For each store: the values, elements and threads, and the elements' first ticks."""
        events = [e for e in self._record.accesses if self._is_written(e)]
        stores = [
            (e, part, *self._stored(e, part)) for e in events for part in range(len(e.values))
        ]
        if not stores:
            return
        finder = _StoredVariables(self._record, self._lanes, self._reader)
        flats = np.concatenate([store[3] for store in stores])
        which = np.repeat(np.arange(len(stores)), [len(store[3]) for store in stores])
        elements, first = np.unique(flats, return_index=True)
        last = which[::-1][np.unique(flats[::-1], return_index=True)[1]]
        ticks = np.array([store[0].tick for store in stores], np.int64)[which[first]]
        for number, (event, part, threads, own) in enumerate(stores):
            at = np.searchsorted(elements, own)
            final = last[at] == number
            if not final.any():
                continue
            found = finder.of(event, part, threads[final])
            if found is not None and self._agrees(event, part, threads[final], found):
                yield found, own[final], threads[final], ticks[at[final]]

    def _is_written(self, event: AccessEvent) -> bool:
        if event.region.name != self._array.name or event.kind == "load":
            return False
        return event.mask is None or bool(event.mask[self._lanes].any())

    def _stored(self, event: AccessEvent, part: int) -> tuple[Ints, Ints]:
        """The threads that store a part, and the elements; none of another size."""
        size = self._array.dtype.itemsize
        if event.width != size * len(event.values):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        lanes = self._lanes
        count = lanes.stop - lanes.start
        threads = np.arange(count) if event.mask is None else np.flatnonzero(event.mask[lanes])
        place = of_threads(event.address, lanes, threads) - self._array.base
        return threads, place // size + part

    def _agrees(self, event: AccessEvent, part: int, threads: Ints, place: _Place) -> bool:
        """Whether the variable held what was stored, bit by bit."""
        stored = of_threads(event.values[part], self._lanes, threads)
        if stored.dtype.itemsize != place.bits.dtype.itemsize:
            return False
        kind = np.dtype(f"u{stored.dtype.itemsize}")
        return bool((_bits(stored, kind) == _bits(place.bits, kind)).all())


def _bits(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same bits as another type, or where that has fewer, its lowest ones."""
    if values.dtype.itemsize == dtype.itemsize:
        return np.ascontiguousarray(values).view(dtype)
    wide = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
    return wide.astype(f"u{dtype.itemsize}").view(dtype)


# Which variable a thread stores: followed from a store's register back through moves.
#
# A `-G` build stores a variable from its own register, or from one that the variable was moved to,
# or from one that its place on the stack was loaded into. The debug information names the variable;
# a register that something was computed into (`C[i] = a + b`) is none.


_MOST_HOPS = 12  # moves, and ways over the stack, between a variable and a store of it
Threads = NDArray[np.intp]


@dataclass(frozen=True)
class _Place:
    """A variable, and of one on the stack at which byte of it each of the threads keeps its own.

    `starts` are bytes from the stack's beginning, int64 (threads,); None of one in a register.
    `bits` is what it held when it was stored, a value of the store's size a thread.
    """

    variable: VariableInfo
    bits: NDArray[Any]
    starts: NDArray[np.int64] | None = None


class _StoredVariables:
    """Answers for one block of a record: `lanes` are its threads' places in the machine."""

    def __init__(self, record: ChunkRecord, lanes: slice, reader: VariableReader) -> None:
        self._record, self._lanes, self._reader = record, lanes, reader
        self._local: dict[tuple[str, int], list[AccessEvent]] = {}
        for event in record.accesses:
            if event.region.space == "local":
                kind = "load" if event.kind == "load" else "store"
                self._local.setdefault((kind, event.pc), []).append(event)
        self._writes = sorted(
            (e for (kind, _), events in self._local.items() if kind == "store" for e in events),
            key=lambda e: e.tick,
        )

    def of(self, event: AccessEvent, part: int, threads: Threads) -> _Place | None:
        """What the threads store in one part of a vector, None where it is no variable."""
        function = self._reader.function_at(event.pc)
        if function.name not in {name for name, depth in self._record.stack_bases if not depth}:
            return None  # a function that the kernel calls has variables of its own
        self._at = event.pc
        return self._stored(event, part, threads, _MOST_HOPS)

    def _stored(self, event: AccessEvent, part: int, threads: Threads, hops: int) -> _Place | None:
        instruction = self._reader.instructions[event.pc]
        if instruction.opcode != "st" or hops <= 0:
            return None
        register = _part(instruction.operands[1], part)
        return self._in_register(register, event.tick, threads, hops - 1)

    def _in_register(
        self, register: Operand | None, tick: int, threads: Threads, hops: int
    ) -> _Place | None:
        if not isinstance(register, Register) or hops <= 0:
            return None
        for info in self._reader.in_scope(self._at):
            location = info.location(self._at)
            if location is not None and location.register == register.name:
                held = self._reader.register(self._at, 0, register.name, tick)
                return (
                    None if held is None else _Place(info, of_threads(held, self._lanes, threads))
                )
        found = self._definitions.get(register.name, [])
        if len(found) != 1 or found[0].guard is not None:
            return None
        made = found[0]
        if made.opcode == "mov":
            return self._in_register(made.operands[1], tick, threads, hops - 1)
        if made.opcode == "ld":
            return self._loaded(made, register.name, tick, threads, hops - 1)
        return None

    @cached_property
    def _definitions(self) -> dict[str, list[Instruction]]:
        """The instructions of the kernel that set each register."""
        found: dict[str, list[Instruction]] = {}
        function = self._reader.function_at(self._at)
        for instruction in self._reader.instructions[function.first_pc : function.end_pc]:
            for name in results(instruction):
                found.setdefault(name, []).append(instruction)
        return found

    def _loaded(
        self, made: Instruction, name: str, tick: int, threads: Threads, hops: int
    ) -> _Place | None:
        """The variable on the stack that a register was loaded from, or what was put there."""
        event = self._latest(self._local.get(("load", made.pc), []), tick)
        if event is None or not self._all(event, threads):
            return None
        part = list(registers(made.operands[0])).index(name)
        starts = self._starts(event, threads) + part * (event.width // len(event.values))
        for info in self._reader.in_scope(self._at):
            span = self._span(info)
            if span is not None and (starts >= span[0]).all() and (starts < span[1]).all():
                return _Place(info, of_threads(event.values[part], self._lanes, threads), starts)
        for write in reversed(self._writes):
            if write.tick >= event.tick or not self._all(write, threads):
                continue
            number, rest = np.divmod(
                starts - self._starts(write, threads), write.width // len(write.values)
            )
            same = (number == number[0]).all() and not rest.any()
            if same and 0 <= number[0] < len(write.values):
                return self._stored(write, int(number[0]), threads, hops)
        return None

    def _span(self, info: VariableInfo) -> tuple[int, int] | None:
        """The bytes of the stack that a variable of the kernel takes."""
        location = info.location(self._at)
        if location is None or location.stack_offset is None or info.space != "local":
            return None
        base = self._record.stack_bases.get((self._reader.function_at(self._at).name, 0))
        if base is None:
            return None
        first = base + location.stack_offset
        return first, first + info.type.nbytes

    @staticmethod
    def _latest(events: list[AccessEvent], tick: int) -> AccessEvent | None:
        return max((e for e in events if e.tick < tick), key=lambda e: e.tick, default=None)

    def _all(self, event: AccessEvent, threads: Threads) -> bool:
        return event.mask is None or bool(event.mask[self._lanes][threads].all())

    def _starts(self, event: AccessEvent, threads: Threads) -> NDArray[np.int64]:
        return of_threads(event.address, self._lanes, threads) - event.region.base


def _part(operand: Operand, part: int) -> Operand | None:
    if not isinstance(operand, Vector):
        return operand if part == 0 else None
    return operand.elements[part] if part < len(operand.elements) else None
