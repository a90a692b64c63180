"""Source variables of a thread at a step: the debug information says where, the record what."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.ptx.ast import Function, Instruction
from core.ptx.debug.variables import DebugInfo, VariableInfo, lookup
from core.trace.memory_history import StackHistory

if TYPE_CHECKING:
    from core.emulator.block_record import ChunkRecord
    from core.emulator.launch_image import Image

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


class VariableReader:
    """Reads the variables of any lane at any time."""

    def __init__(self, record: ChunkRecord, image: Image, debug: DebugInfo) -> None:
        self._history = _RegisterHistory(record, image)
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
        place = lane if held.size > 1 else 0
        bits = held[place : place + 1]
        wide = bits.view(f"u{bits.dtype.itemsize}").astype(np.uint64)
        value: Value = info.type.from_bits(wide)[0].item()
        return value


class _RegisterHistory:
    """Looks up what a register held at a time."""

    def __init__(self, record: ChunkRecord, image: Image) -> None:
        self._record, self._image = record, image

    def value(self, function: str, depth: int, register: str, tick: int) -> NDArray[Any] | None:
        """The register's value after all instructions before `tick`: one a lane, or one for all."""
        code = self._image.code(self._image.module.functions[function])
        slot = code.slots.get(register)
        log = self._record.values.get((function, depth), {}).get(-1 if slot is None else slot)
        if not log:
            return None
        place = bisect.bisect_left(log, tick, key=itemgetter(0)) - 1
        return None if place < 0 else log[place][1]
