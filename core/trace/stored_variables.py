"""Which variable a thread stores: from a store's register back through what was only moved.

A `-G` build stores a variable from its own register, or from one that the variable was moved to, or
from one that its place on the stack was loaded into. The debug information names the variable; a
register that something was computed into (`C[i] = a + b`) is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent
from core.emulator.record import ChunkRecord
from core.ptx.ast import Instruction, Operand, Pair, Register, Vector
from core.ptx.dwarf_model import VariableInfo
from core.trace.variables import VariableReader

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
            first = instruction.operands[0] if instruction.operands else None
            if instruction.opcode in ("st", "red", "bra") or first is None:
                continue
            for name in _names(first):
                found.setdefault(name, []).append(instruction)
        return found

    def _loaded(
        self, made: Instruction, name: str, tick: int, threads: Threads, hops: int
    ) -> Place | None:
        """The variable on the stack that a register was loaded from, or what was put there."""
        event = self._latest(self._local.get(("load", made.pc), []), tick)
        if event is None or not self._all(event, threads):
            return None
        part = _names(made.operands[0]).index(name)
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


def _names(operand: Operand) -> list[str]:
    """The registers of an operand; those of a pair (`p|q`), too."""
    if isinstance(operand, Register):
        return [operand.name]
    if isinstance(operand, Pair):
        return _names(operand.first) + _names(operand.second)
    elements = operand.elements if isinstance(operand, Vector) else ()
    return [name for element in elements for name in _names(element)]
