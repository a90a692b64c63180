"""Calls of functions, their parameters, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.barriers import Barriers
from core.emulator.events import CallEvent, Mask, SaveEvent
from core.emulator.machine_state import Frame, Group, Lanes, MachineState
from core.emulator.program import Call, Op, ParameterAccess
from core.emulator.scheduling import RunQueue
from core.emulator.system_calls import system_call
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Function
from core.ptx.types import PtxType


def _passed(frame: Frame, key: tuple[str, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """A parameter for a register of `dtype`; one that was never given is zero."""
    value = frame.parameters.get(key)
    if value is None:
        return np.zeros(1, dtype)
    if value.itemsize == dtype.itemsize:
        return value.view(dtype)
    bits = value.view(f"u{value.itemsize}")
    return bits.astype(f"u{dtype.itemsize}").view(dtype)


def register_slots(frame: Frame, name: str) -> tuple[tuple[tuple[str, int], int], ...]:
    """The slots of a formal parameter that is a register, each with its name and offset.

    Of a vector there is one for each element; a parameter that is a variable has none.
    """
    slots = frame.code.slots
    if name in slots:
        return (((name, 0), slots[name]),)
    found = [slots[f"{name}.{axis}"] for axis in "xyzw" if f"{name}.{axis}" in slots]
    size = frame.registers[found[0]].dtype.itemsize if found else 0
    return tuple(((name, place * size), slot) for place, slot in enumerate(found))


class Calls:
    """Frames entered and left; a call's parameters go from frame to frame."""

    def __init__(self, state: MachineState) -> None:
        self.state = state
        self.queue, self.barriers = state.part(RunQueue), state.part(Barriers)

    def parameter(self, frame: Frame, group: Group, op: Op) -> None:
        """`ld.param` or `st.param`."""
        access: ParameterAccess = op.payload
        name, offset = access.key
        mask, any_left = self.state.effective(frame, group, op)
        if not any_left:
            return
        if op.instruction.on_stack and not op.instruction.silent:
            nbytes = access.types.nbytes * max(len(op.destinations), len(access.values))
            kind = "load" if access.is_load else "store"
            self.tell_stacked(kind, op.instruction.pc, group.depth, mask, max(1, nbytes // 4))
        keep = None if op.guard < 0 and self.state.exclusive else mask
        for i, slot in enumerate(op.destinations):
            value = self._read_parameter(frame, op, (name, offset + i * access.types.nbytes))
            self.state.write(frame, slot, op.writers[i](value), keep)
        for i, read in enumerate(access.values):
            key = (name, offset + i * access.types.nbytes)
            frame.give(key, read(frame.registers), keep)

    def _read_parameter(self, frame: Frame, op: Op, key: tuple[str, int]) -> NDArray[Any]:
        kind = op.payload.types
        found = frame.parameters.get(key)
        if found is not None and found.dtype.itemsize == kind.nbytes:
            return found.view(kind.dtype)
        raw = (
            self.state.image.parameters.get(key[0])
            if frame.code is self.state.image.entry
            else None
        )
        if raw is None:
            return self._parameter_pieces(frame, op, key)
        if key[1] + kind.nbytes > len(raw):
            raise unsupported(op.instruction, "reads beyond the end of a parameter")
        return np.frombuffer(raw, kind.dtype, 1, key[1]).copy()

    def _parameter_pieces(self, frame: Frame, op: Op, key: tuple[str, int]) -> NDArray[Any]:
        """A parameter read in another width than it was written in: put together from bytes."""
        kind: PtxType = op.payload.types
        raw = np.zeros((self.state.count, kind.nbytes), np.uint8)
        for (name, offset), value in frame.parameters.items():
            first, size = offset - key[1], value.itemsize
            if name != key[0] or first >= kind.nbytes or first + size <= 0:
                continue
            full = np.repeat(value, self.state.count) if value.size == 1 else value
            octets = np.ascontiguousarray(full).view(np.uint8).reshape(self.state.count, size)
            low, high = max(first, 0), min(first + size, kind.nbytes)
            raw[:, low:high] = octets[:, low - first : high - first]
        return raw.view(kind.dtype).reshape(-1)

    def call(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """`call`; True if the whole group goes on to the next instruction."""
        call: Call = op.payload
        for key, read in call.values:
            frame.parameters[key] = read(frame.registers)
        if call.pointer is not None:
            return self.call_pointer(frame, group, op, pc)
        return self.enter(frame, group, op, pc, self.state.image.module.functions[call.function])

    def call_pointer(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Each lane calls the function whose address it has."""
        address = op.payload.pointer(frame.registers)
        if address.size == 1:
            address = np.repeat(address, self.state.count)
        active = np.ones(self.state.count, bool) if group.mask is None else group.mask
        targets = np.unique(address[active])
        self.state.exclusive = self.state.exclusive and len(targets) == 1
        for target in targets:
            mask = group.mask if len(targets) == 1 else active & (address == target)
            part = Group(pc, group.depth, mask, group.warp)
            function = self.state.image.function_at(int(target))
            if function is None:
                lanes, detail = part.lanes(self.state.count), hex(int(target))
                self.state.fault("bad_call", pc, part.depth, lanes, detail=detail)
                self.barriers.exit(part)
            elif self.enter(frame, part, op, pc, function):
                assert mask is not None or len(targets) == 1
                self.queue.enter(Group(pc + 1, group.depth, mask, group.warp))
        return False

    def enter(self, frame: Frame, group: Group, op: Op, pc: int, function: Function) -> bool:
        """Enters a function, or executes it where it is the driver's; True as `call` says."""
        call: Call = op.payload
        if function.first_pc == function.end_pc:
            lanes = Lanes(self.state, frame, group, op, group.mask)
            goes_on = system_call(lanes, function.name)
            if goes_on:
                self.set_results(frame, call, group.mask)
            else:
                self.barriers.exit(group)
            return goes_on
        depth = group.depth + 1
        self.queue.spinning.entered(depth)
        inner = Group(function.first_pc, depth, group.mask, group.warp)
        callee = self.state.frame(inner)
        alone = self.state.exclusive
        if len(function.parameters) != len(call.arguments):
            raise unsupported(
                op.instruction, f"gives {function.name} too many or too few arguments"
            )
        for formal, actual in zip(function.parameters, call.arguments, strict=True):
            self.copy_parameter(frame, actual, callee, formal.name, None if alone else group.mask)
            if formal.space == "reg":
                for key, slot in register_slots(callee, formal.name):
                    value = _passed(callee, key, callee.registers[slot].dtype)
                    self.state.write(callee, slot, value, None if alone else group.mask)
        if len(self.state.return_to) < depth:
            self.state.return_to.append(np.zeros(self.state.count, np.int64))
        self.state.return_to[depth - 1][group.lanes(self.state.count)] = pc + 1
        base, nbytes = callee.local_base, callee.code.local_bytes
        event = CallEvent(self.state.tick - 1, pc, group.mask, base, nbytes)
        for observer in self.state.observers:
            observer.on_call(event)
        self.tell_stacked("store", function.first_pc, inner.depth, inner.mask, function.saves)
        self.queue.enter(inner)
        return False

    def tell_stacked(self, kind: str, pc: int, depth: int, mask: Mask | None, words: int) -> None:
        """Tells of words that lanes keep on the stack ("store"), or take back ("load")."""
        if words:
            event = SaveEvent(kind, self.state.site(pc, depth, mask), mask, words)
            for observer in self.state.observers:
                observer.on_save(event)

    def set_results(self, frame: Frame, call: Call, mask: Mask | None) -> None:
        """Results that go to registers, not to parameter variables."""
        for key, slot in call.targets:
            self.state.write(frame, slot, _passed(frame, key, frame.registers[slot].dtype), mask)

    def copy_parameter(
        self, source: Frame, source_name: str, to: Frame, to_name: str, mask: Mask | None
    ) -> None:
        """Gives a parameter of one frame to the lanes of `mask` in another."""
        if self.state.watcher is not None:
            self.state.watcher.passed(source, source_name, to, to_name, mask)
        for (name, offset), value in list(source.parameters.items()):
            if name == source_name:
                to.give((to_name, offset), value, mask)

    def leave(self, frame: Frame, group: Group) -> None:
        """Goes on after the call, each lane where it came from."""
        function = frame.code.function
        self.tell_stacked("load", function.first_pc, group.depth, group.mask, function.saves)
        targets = self.state.return_to[group.depth - 1]
        lanes = group.lanes(self.state.count)
        alone = self.queue.alone()
        several = targets[lanes]
        one = not np.count_nonzero(several != several[0])
        for pc in several[:1] if one else np.unique(several):
            here = targets == pc
            mask = here if group.mask is None else here & group.mask
            whole = group.mask if one else mask
            caller_group = Group(int(pc), group.depth - 1, whole, group.warp)
            caller = self.state.frame(caller_group)
            call: Call = caller.code.ops[int(pc) - 1 - caller.code.first_pc].payload
            for formal, actual in zip(function.returns, call.results, strict=False):
                keep = None if alone and whole is group.mask else mask
                if formal.space == "reg":
                    for key, slot in register_slots(frame, formal.name):
                        frame.parameters[key] = frame.registers[slot]
                self.copy_parameter(frame, formal.name, caller, actual, keep)
            self.set_results(caller, call, mask)
            self.queue.enter(caller_group)
