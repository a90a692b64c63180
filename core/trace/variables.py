"""Source variables of a thread at a step: the debug information says where, the record what."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.ptx.ast import Function, Instruction, Operand, Register, Vector, registers
from core.ptx.dataflow import results
from core.ptx.debug.dwarf_types import DwarfType
from core.ptx.debug.variables import DebugInfo, VariableInfo, lookup

if TYPE_CHECKING:
    from core.emulator.block_record import ChunkRecord, Log
    from core.emulator.events import AccessEvent
    from core.emulator.launch_image import Image
    from core.launch import ArrayArgument


# The names of a structure's fields, for arrays of structures: `p[3].vx`.


_MOST = 4096  # fields of a structure


Types = tuple[np.dtype[Any] | None, ...]


def fields_of_rows(
    debug: DebugInfo, function: str, array: ArrayArgument
) -> tuple[tuple[str, ...], Types]:
    """What each number of a row of `array` is called, where its rows are the kernel's structures.

    `function` is the kernel, whose pointer has the array's name. Where a structure's fields are not
    of one type the array's numbers are bytes, all of a field have its name, and the second result
    says for each the type of its field (None: of no single number). Both are empty where the array
    is none of structures, and without debug information, the second one where a number is a field.
    """
    if array.data.ndim < 2:
        return (), ()
    kind = next(
        (
            v.type.element
            for v in debug.variables_of(function)
            if v.name == array.name and v.type.kind == "pointer"
        ),
        None,
    )
    size, count = array.data.dtype.itemsize, array.data.shape[-1]
    if kind is None or not kind.members or kind.nbytes != size * count or count > _MOST:
        return (), ()
    names, types = [""] * count, [np.dtype(np.uint8) if size == 1 else None] * count
    for name, first, leaf in _leaves(kind, "", 0):
        for place in range(first // size, -(-(first + leaf.nbytes) // size)):
            names[place], types[place] = name, leaf.dtype
    mixed = size == 1 and any(t is None or t.itemsize > 1 for t in types)
    return tuple(names), tuple(types) if mixed else ()


def _leaves(kind: DwarfType, name: str, at: int) -> Iterator[tuple[str, int, DwarfType]]:
    """Each number of a type: its name, the byte where it begins, and its type."""
    if kind.members:
        for member in kind.members:
            inner = f"{name}.{member.name}" if name and member.name else name or member.name
            yield from _leaves(member.type, inner, at + member.offset)
    elif kind.kind == "array" and kind.element is not None and kind.element.nbytes:
        for place in range(kind.nbytes // kind.element.nbytes):
            yield from _leaves(kind.element, f"{name}[{place}]", at + place * kind.element.nbytes)
    else:
        yield name, at, kind


# What memory held at any time, from the stores to it that were recorded.


_LEAST_APART = 16  # stores between two states that are kept
_ROOM = 8_000_000  # bytes that the kept states of a block may take; where they are large, fewer are

State = tuple[NDArray[Any], NDArray[Any]]


class Replay:
    """Two arrays that stores change, in order of time.

    Going on from the state asked for last costs the stores between; going back, those since the
    last state that was kept.
    """

    def __init__(self, stores: Sequence[Any], empty: State, apply: Callable[..., None]) -> None:
        """`apply(store, *state)` changes the arrays; a store has a `tick`."""
        self._stores, self._apply = stores, apply
        self._ticks = [store.tick for store in stores]
        self._frames = [empty]
        whole = len(stores) * sum(part.nbytes for part in empty)
        self._apart = max(_LEAST_APART, -(-whole // _ROOM))
        self.done, self._state = 0, _copied(empty)  # how many stores the state has

    def before(self, tick: int) -> State:
        """The arrays after all stores before `tick`; they are not to be changed."""
        count = bisect.bisect_left(self._ticks, tick)
        frame = min(count // self._apart, len(self._frames) - 1)
        if not frame * self._apart <= self.done <= count:
            self.done, self._state = frame * self._apart, _copied(self._frames[frame])
        for i in range(self.done, count):
            self._apply(self._stores[i], *self._state)
            if i + 1 == len(self._frames) * self._apart:
                self._frames.append(_copied(self._state))
        self.done = count
        return self._state


def _copied(state: State) -> State:
    return state[0].copy(), state[1].copy()


def stores_of(record: ChunkRecord, lanes: slice, space: str) -> list[AccessEvent]:
    """The stores and atomics of any of these lanes to a space, in order of time."""
    return [
        e
        for e in record.accesses
        if e.region.space == space and e.kind != "load" and (e.mask is None or e.mask[lanes].any())
    ]


class StackBytes:
    """Bytes `first` up to `end` of the stacks of a block's threads, all at once.

    `StackHistory` answers for one thread; this is for a question about all of them at every step.
    """

    def __init__(self, record: ChunkRecord, lanes: slice, first: int, end: int) -> None:
        self._lanes, self._first, self._size = lanes, first, end - first
        self._threads = np.arange(lanes.stop - lanes.start)
        shape = len(self._threads), self._size
        empty = np.zeros(shape, np.uint8), np.zeros(shape, bool)
        self._replay = Replay(stores_of(record, lanes, "local"), empty, self._apply)

    def at(self, tick: int) -> State:
        """The bytes after all instructions before `tick`, and which were written.

        uint8 and bool (threads, end - first); they are not to be changed.
        """
        return self._replay.before(tick)

    def _apply(
        self, event: AccessEvent, data: NDArray[np.uint8], written: NDArray[np.bool_]
    ) -> None:
        lanes, size = self._lanes, event.width // len(event.values)
        address, mask = event.address, event.mask
        offsets = (address if address.size == 1 else address[lanes]) - event.region.base
        starts = offsets - self._first
        who = self._threads if mask is None else np.flatnonzero(mask[lanes])
        same = len(starts) == 1 or bool((starts == starts[0]).all())
        for i, values in enumerate(event.values):
            own = values if values.size == 1 else values[lanes][who]
            raw = np.ascontiguousarray(np.broadcast_to(own, who.shape))
            octets = raw.view(np.uint8).reshape(len(who), size)
            if same:
                self._put_at_one_place(int(starts[0]) + i * size, who, octets, data, written)
            else:
                at = (starts + i * size)[who]
                for byte in range(size):
                    fits = (at + byte >= 0) & (at + byte < self._size)
                    data[who[fits], at[fits] + byte] = octets[fits, byte]
                    written[who[fits], at[fits] + byte] = True

    def _put_at_one_place(
        self,
        start: int,
        who: NDArray[np.intp],
        octets: NDArray[np.uint8],
        data: NDArray[np.uint8],
        written: NDArray[np.bool_],
    ) -> None:
        first, end = max(start, 0), min(start + octets.shape[1], self._size)
        if first < end:
            rows: Any = slice(None) if len(who) == len(self._threads) else who
            data[rows, first:end] = octets[:, first - start : end - start]
            written[rows, first:end] = True


# What a thread's stack held at any time, from the local stores that were recorded.
#
# A `-G` build keeps arrays, structs and variables whose address is taken in local memory.


StackValue = Any  # a number, or a tuple of values for an array or struct
_MOST_ELEMENTS = 256  # of an array that is shown


class StackHistory:
    """Looks up values on the stack. Each lane's stores are gathered when it is first asked for."""

    def __init__(self, record: ChunkRecord) -> None:
        self._record = record
        self._lanes: dict[int, tuple[NDArray[np.int64], ...]] = {}

    def value(
        self, function: str, depth: int, offset: int, kind: DwarfType, lane: int, tick: int
    ) -> StackValue | None:
        """A variable's value after all instructions before `tick`; None where not yet written."""
        base = self._record.stack_bases.get((function, depth))
        return None if base is None else self._read(kind, base + offset, lane, tick)

    def _read(self, kind: DwarfType, offset: int, lane: int, tick: int) -> StackValue | None:
        if kind.dtype is not None:
            bits = self._bits(offset, kind.nbytes, lane, tick)
            if bits is None:
                return None
            return kind.from_bits(np.array([bits], np.uint64))[0].item()
        parts: list[StackValue | None] = []
        if kind.kind == "array" and kind.element is not None and kind.element.nbytes:
            size = kind.element.nbytes
            count = min(kind.nbytes // size, _MOST_ELEMENTS)
            parts = [self._read(kind.element, offset + i * size, lane, tick) for i in range(count)]
        elif kind.members:
            parts = [self._read(m.type, offset + m.offset, lane, tick) for m in kind.members]
        return None if all(part is None for part in parts) else tuple(parts)

    def _bits(self, offset: int, nbytes: int, lane: int, tick: int) -> int | None:
        """The little-endian bytes at a place, as the last stores before `tick` left them."""
        ticks, places, widths, bits = self._stores(lane)
        count = int(np.searchsorted(ticks, tick))
        result, missing = 0, (1 << nbytes) - 1
        for i in reversed(
            np.flatnonzero(
                (places[:count] < offset + nbytes) & (places[:count] + widths[:count] > offset)
            )
        ):
            for byte in range(nbytes):
                inside = 0 <= offset + byte - places[i] < widths[i]
                if missing >> byte & 1 and inside:
                    shift = 8 * int(offset + byte - places[i])
                    result |= ((int(bits[i]) >> shift) & 0xFF) << (8 * byte)
                    missing &= ~(1 << byte)
            if not missing:
                return result
        return None

    def _stores(self, lane: int) -> tuple[NDArray[np.int64], ...]:
        """The lane's local stores: ticks, offsets, widths, and the bits stored (uint64)."""
        if lane not in self._lanes:
            rows: list[tuple[int, int, int, int]] = []
            for event in self._record.accesses:
                stores = event.kind != "load" and event.region.space == "local"
                if stores and (event.mask is None or event.mask[lane]):
                    start = int(_of_lane(event.address, lane)) - event.region.base
                    size = event.width // len(event.values)
                    for i, values in enumerate(event.values):
                        raw = np.array([_of_lane(values, lane)]).view(f"u{size}")
                        rows.append((event.tick, start + i * size, size, int(raw[0])))
            columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
            self._lanes[lane] = (
                *(np.array(column, np.int64) for column in columns[:3]),
                np.array(columns[3], np.uint64),
            )
        return self._lanes[lane]


def _of_lane(values: NDArray[Any], lane: int) -> Any:
    return values[lane if values.size > 1 else 0]


Value = int | float | bool | tuple[Any, ...]  # a tuple: the parts of an array or struct


@dataclass(frozen=True)
class Variable:
    """A variable of one thread: `value` None while it has none, `changed` since the step before."""

    name: str
    type: str
    value: Value | None
    changed: bool


@dataclass(frozen=True)
class VariableRow:
    """A variable of the lanes of a warp; one value a lane."""

    name: str
    type: str
    values: list[Value | None]


class RegisterHistory:
    """Looks up what a register held at a time."""

    def __init__(self, record: ChunkRecord, image: Image) -> None:
        self._record, self._image = record, image
        self._ticks: dict[int, list[int]] = {}

    def value(self, function: str, depth: int, register: str, tick: int) -> NDArray[Any] | None:
        """The register's value after all instructions before `tick`: one a lane, or one for all."""
        code = self._image.code(self._image.module.functions[function])
        slot = code.slots.get(register)
        log = self._record.values.get((function, depth), {}).get(-1 if slot is None else slot)
        if not log:
            return None
        place = bisect.bisect_left(self._ticks_of(log), tick) - 1
        return None if place < 0 else log[place][1]

    def _ticks_of(self, log: Log) -> list[int]:
        found = self._ticks.get(id(log))
        if found is None:
            found = self._ticks[id(log)] = [tick for tick, _ in log]
        return found


class VariableReader:
    """Reads the variables of any lane at any time."""

    def __init__(self, record: ChunkRecord, image: Image, debug: DebugInfo) -> None:
        self._history = RegisterHistory(record, image)
        self._stack = StackHistory(record)
        self._image, self._debug = image, debug
        self._in_scope: dict[int, tuple[VariableInfo, ...]] = {}

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The module's instructions, by pc."""
        return self._image.module.instructions

    def function_at(self, pc: int) -> Function:
        """The function that an instruction is in."""
        return self._image.module.function_at(pc)

    def in_scope(self, pc: int) -> tuple[VariableInfo, ...]:
        """The variables in scope before an instruction."""
        return self._scope(self.function_at(pc).name, pc)

    def register(self, pc: int, depth: int, register: str, tick: int) -> NDArray[Any] | None:
        """A register of the function at `pc` before `tick`: one value a lane, or one for all."""
        return self._history.value(self.function_at(pc).name, depth, register, tick)

    def at(
        self, pc: int, depth: int, tick: int, lane: int
    ) -> list[tuple[VariableInfo, Value | None]]:
        """The variables in scope before the instruction at `pc`, with the lane's values."""
        function = self.function_at(pc).name
        return [
            (info, self._value(info, function, pc, depth, tick, lane))
            for info in self._scope(function, pc)
        ]

    def is_of_the_source(self, pc: int) -> bool:
        """Whether the function at `pc` is the user's, and not one of a header."""
        return self.function_at(pc).name in self._image.module.own_functions

    def _scope(self, function: str, pc: int) -> tuple[VariableInfo, ...]:
        known = self._in_scope.get(pc)
        if known is None:
            known = self._in_scope[pc] = lookup(self._debug.variables_of(function), pc)
        return known

    def _value(
        self, info: VariableInfo, function: str, pc: int, depth: int, tick: int, lane: int
    ) -> Value | None:
        location = info.location(pc)
        if location is None:
            return None
        if location.constant is not None:
            return location.constant
        if location.stack_offset is not None and info.space == "local":
            offset = location.stack_offset
            return self._stack.value(function, depth, offset, info.type, lane, tick)
        if location.register is None or info.type.dtype is None:
            return None
        held = self._history.value(function, depth, location.register, tick)
        if held is None:
            return None
        bits = held[lane if held.size > 1 else 0 : (lane if held.size > 1 else 0) + 1]
        wide = bits.view(f"u{bits.dtype.itemsize}").astype(np.uint64)
        value: Value = info.type.from_bits(wide)[0].item()
        return value


# Which variable a thread stores: followed from a store's register back through moves.
#
# A `-G` build stores a variable from its own register, or from one that the variable was moved to,
# or from one that its place on the stack was loaded into. The debug information names the variable;
# a register that something was computed into (`C[i] = a + b`) is none.


_MOST_HOPS = 12  # moves, and ways over the stack, between a variable and a store of it
Threads = NDArray[np.intp]


@dataclass(frozen=True)
class Place:
    """A variable, and of one on the stack at which byte of it each of the threads keeps its own.

    `starts` are bytes from the stack's beginning, int64 (threads,); None of one in a register.
    `bits` is what it held when it was stored, a value of the store's size a thread.
    """

    variable: VariableInfo
    bits: NDArray[Any]
    starts: NDArray[np.int64] | None = None


class StoredVariables:
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

    def of(self, event: AccessEvent, part: int, threads: Threads) -> Place | None:
        """What the threads store in one part of a vector, None where it is no variable."""
        function = self._reader.function_at(event.pc)
        if function.name not in {name for name, depth in self._record.stack_bases if not depth}:
            return None  # a function that the kernel calls has variables of its own
        self._at = event.pc
        return self._stored(event, part, threads, _MOST_HOPS)

    def _stored(self, event: AccessEvent, part: int, threads: Threads, hops: int) -> Place | None:
        instruction = self._reader.instructions[event.pc]
        if instruction.opcode != "st" or hops <= 0:
            return None
        register = _part(instruction.operands[1], part)
        return self._in_register(register, event.tick, threads, hops - 1)

    def _in_register(
        self, register: Operand | None, tick: int, threads: Threads, hops: int
    ) -> Place | None:
        if not isinstance(register, Register) or hops <= 0:
            return None
        for info in self._reader.in_scope(self._at):
            location = info.location(self._at)
            if location is not None and location.register == register.name:
                held = self._reader.register(self._at, 0, register.name, tick)
                return None if held is None else Place(info, self._own(held, threads))
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
    ) -> Place | None:
        """The variable on the stack that a register was loaded from, or what was put there."""
        event = self._latest(self._local.get(("load", made.pc), []), tick)
        if event is None or not self._all(event, threads):
            return None
        part = list(registers(made.operands[0])).index(name)
        starts = self._starts(event, threads) + part * (event.width // len(event.values))
        for info in self._reader.in_scope(self._at):
            span = self._span(info)
            if span is not None and (starts >= span[0]).all() and (starts < span[1]).all():
                return Place(info, self._own(event.values[part], threads), starts)
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
        return self._own(event.address, threads) - event.region.base

    def _own(self, values: NDArray[Any], threads: Threads) -> NDArray[Any]:
        own = values if values.size == 1 else values[self._lanes][threads]
        return np.broadcast_to(own, threads.shape)


def _part(operand: Operand, part: int) -> Operand | None:
    if not isinstance(operand, Vector):
        return operand if part == 0 else None
    return operand.elements[part] if part < len(operand.elements) else None
