"""Follows how what functions are given, and give back, depends on which block runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.block_arithmetic import DependsOnData, FollowingMachine
from core.emulator.decode_memory import elements
from core.emulator.dependence import Dependence, Mark, merged
from core.emulator.events import Mask
from core.emulator.frames import Frame
from core.emulator.groups import Group
from core.emulator.program import Call, Op, ParameterAccess
from core.ptx.ast import Function, Immediate, Operand, Register
from core.ptx.ast import Group as Operands
from core.ptx.types import PtxType

Key = tuple[str, int]  # variable and byte offset, as in `Frame.parameters`


class FollowingCalls(FollowingMachine):
    """Every piece of a parameter has a dependence, which goes from frame to frame as it does."""

    def _start(self, candidates: NDArray[np.int64], origin: NDArray[np.int64]) -> None:
        super()._start(candidates, origin)
        self._passed_deps: dict[int, dict[Key, Dependence]] = {}  # by frame

    def _of_frame(self, frame: Frame) -> dict[Key, Dependence]:
        return self._passed_deps.setdefault(id(frame), {})  # frames live as long as the machine

    def _parameter(self, frame: Frame, group: Group, op: Op) -> None:
        deps = self._dependences(frame)
        self._check_guard(group, op, deps)
        mask, any_left = self._effective(frame, group, op)
        if not any_left:
            return
        keep = None if op.guard < 0 and self.exclusive else mask
        access: ParameterAccess = op.payload
        (name, offset), size = access.key, access.types.nbytes
        keys = [(name, offset + i * size) for i in range(max(len(op.destinations), 1))]
        loaded = [self._piece(frame, key, size) for key in keys]
        super()._parameter(frame, group, op)
        for slot, new in zip(op.destinations, loaded, strict=False):
            self._set_slot(frame, slot, new, size, keep)
        if not access.is_load:
            passed = self._of_frame(frame)
            for i, value in enumerate(elements(op.instruction.operands[1])):
                key, new = (name, offset + i * size), self._value(frame, deps, value, access.types)
                passed[key] = new if keep is None else merged(passed.get(key), new, keep)

    def _piece(self, frame: Frame, key: Key, nbytes: int) -> Dependence:
        """The dependence of `nbytes` of a parameter; of several pieces only whether there is one.

        What was not written in this frame comes from the launch.
        """
        passed = self._of_frame(frame)
        value = frame.parameters.get(key)
        if value is not None and value.itemsize == nbytes:
            return passed.get(key)
        name, first = key
        for (other, offset), part in frame.parameters.items():
            overlaps = other == name and first - part.itemsize < offset < first + nbytes
            if overlaps and passed.get((other, offset)) is not None:
                return Mark.UNKNOWN
        return None

    def _set_slot(
        self, frame: Frame, slot: int, new: Dependence, nbytes: int, keep: Mask | None
    ) -> None:
        """Gives a register the dependence of `nbytes`; of what it extends only that it has one."""
        if slot < 0:
            return
        deps = self._dependences(frame)
        if new is not None and frame.registers[slot].dtype.itemsize != nbytes:
            new = Mark.UNKNOWN
        deps[slot] = new if keep is None else merged(deps[slot], new, keep)

    @staticmethod
    def _value(frame: Frame, deps: list[Dependence], value: Operand, kind: PtxType) -> Dependence:
        """The dependence of a stored value; of a narrow one only that it has none is known."""
        if isinstance(value, Immediate):
            return None
        if not isinstance(value, Register):
            return Mark.UNKNOWN
        dependence = deps[frame.code.slots[value.name]]
        return dependence if dependence is None or kind.nbytes >= 4 else Mark.UNKNOWN

    # -- calls and returns --------------------------------------------------------------------

    def _call(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        deps, call = self._dependences(frame), op.payload
        groups = [o for o in op.instruction.operands if isinstance(o, Operands)]
        by_name = dict(zip(call.arguments, groups[-1].elements if groups else (), strict=False))
        for name, _ in call.values:
            given = by_name[name]
            slot = frame.code.slots[given.name] if isinstance(given, Register) else None
            self._of_frame(frame)[name, 0] = None if slot is None else deps[slot]
        return super()._call(frame, group, op, pc)

    def _call_pointer(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        line = self.image.source_line(pc)
        raise DependsOnData(f"line {line} calls a function by its address")

    def _enter_function(
        self, frame: Frame, group: Group, op: Op, pc: int, function: Function
    ) -> bool:
        call: Call = op.payload
        if function.first_pc == function.end_pc:  # the driver's: malloc gives each block its own
            for name in call.results:
                self._of_frame(frame)[name, 0] = Mark.UNKNOWN
        return super()._enter_function(frame, group, op, pc, function)

    def _copy_parameter(
        self, source: Frame, source_name: str, to: Frame, to_name: str, mask: Mask | None
    ) -> None:
        given, taken = self._of_frame(source), self._of_frame(to)
        result, formal = (f.code.slots.get(n) for f, n in ((source, source_name), (to, to_name)))
        if result is not None:  # a function's result that is a register
            given[source_name, 0] = self._dependences(source)[result]
        for name, offset in list(source.parameters):
            if name == source_name:
                new, key = given.get((name, offset)), (to_name, offset)
                taken[key] = new if mask is None else merged(taken.get(key), new, mask)
        super()._copy_parameter(source, source_name, to, to_name, mask)
        if formal is not None:  # a parameter that is one
            self._set_register(to, to_name, formal, mask)

    def _set_results(self, frame: Frame, call: Call, mask: Mask | None) -> None:
        super()._set_results(frame, call, mask)
        for name, slot in call.targets:
            self._set_register(frame, name, slot, mask)

    def _set_register(self, frame: Frame, name: str, slot: int, mask: Mask | None) -> None:
        """The dependence of a register that holds the whole of a parameter."""
        value: NDArray[Any] | None = frame.parameters.get((name, 0))
        size = frame.registers[slot].dtype.itemsize if value is None else value.itemsize
        self._set_slot(frame, slot, self._of_frame(frame).get((name, 0)), size, mask)
