"""A machine that runs one block and finds out which other blocks do just the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.action import Lanes
from core.emulator.async_copy import AsyncCopy
from core.emulator.block_steps import as_kind, corners_of, equal, range_of, varies
from core.emulator.decode_memory import elements
from core.emulator.dependence import (
    Affine,
    Dependence,
    Mark,
    merged,
    of_lanes,
    special_dependence,
    transfer,
)
from core.emulator.events import AccessEvent, Mask
from core.emulator.frames import Frame
from core.emulator.groups import Group
from core.emulator.local_dependence import LocalDependences
from core.emulator.machine import Machine
from core.emulator.matrices import LoadMatrix, MoveMatrix, StoreMatrix
from core.emulator.program import MemoryAccess, Op
from core.emulator.tensor import LoadFragment, Multiply, StoreFragment
from core.ptx.ast import Address, Immediate, Negated, Operand, Register
from core.ptx.types import PRED, TYPES, PtxType

# Actions of which the addresses are followed; what they give is data.
FOLLOWED = (AsyncCopy, LoadMatrix, StoreMatrix, MoveMatrix, LoadFragment, StoreFragment, Multiply)


class DependsOnData(Exception):
    """One block cannot stand for others; the text says where and why."""


class TrackingMachine(Machine):
    """Runs a single block, following how its registers depend on blockIdx.

    Whenever a comparison depends on blockIdx, the blocks for which it would come out otherwise are
    taken from `equivalent`. What is left at the end does exactly what this block does, at addresses
    that move as `on_address` was told.
    """

    candidates: NDArray[np.int64]  # (n, 3): blockIdx of the blocks that may be equivalent
    equivalent: NDArray[np.bool_]  # (n,)
    on_address: Callable[[AccessEvent, Dependence], None]

    def follow(
        self,
        candidates: NDArray[np.int64],
        origin: NDArray[np.int64],
        on_address: Callable[[AccessEvent, Dependence], None],
    ) -> None:
        """Says which blocks to compare with; `origin` is this block's blockIdx."""
        self.candidates = candidates
        self._steps = candidates - origin
        self.equivalent = np.ones(len(candidates), bool)
        self._corners = corners_of(self._steps)
        self.on_address = on_address
        self._deps: dict[int, list[Dependence]] = {}
        self._parameter_deps: dict[tuple[int, str, int], Dependence] = {}
        self._compared: dict[tuple[int, ...], tuple[list[Any], NDArray[np.bool_]]] = {}
        self._seen: list[AccessEvent] = []
        self._local = LocalDependences()
        self.observers = (*self.observers, _Catch(self._seen))
        self.unit.observers = self.observers

    def _dependences(self, frame: Frame) -> list[Dependence]:
        found = self._deps.get(id(frame))
        if found is None:
            found = [None] * len(frame.registers)
            for slot, name in frame.code.specials:
                if name.startswith("%"):
                    found[slot] = special_dependence(name)
            self._deps[id(frame)] = found
        return found

    def _refuse(self, op: Op, what: str, mark: Mark) -> DependsOnData:
        line = self.image.source_line(op.instruction.pc)
        return DependsOnData(f"{what} of line {line} depends on {mark.value}")

    # -- arithmetic -------------------------------------------------------------------------

    def _compute(self, frame: Frame, group: Group, ops: list[Op]) -> None:
        deps, registers = self._dependences(frame), frame.registers
        whole = self.exclusive or group.mask is None
        for op in ops:
            plain = whole and op.guard < 0 and len(op.destinations) == 1
            if plain and all(deps[slot] is None for slot in op.sources):
                assert op.compute is not None
                registers[op.destinations[0]] = op.compute(registers)
                deps[op.destinations[0]] = None
                self.tick += 1
                continue
            new = self._result(frame, group, op, deps)
            mask = None if whole and op.guard < 0 else self._effective(frame, group, op)[0]
            super()._compute(frame, group, [op])
            self._set(deps, op, new, mask)

    @staticmethod
    def _set(deps: list[Dependence], op: Op, new: Dependence, mask: Mask | None) -> None:
        for slot in op.destinations:
            if slot >= 0:
                deps[slot] = new if mask is None else merged(deps[slot], new, mask)

    def _result(self, frame: Frame, group: Group, op: Op, deps: list[Dependence]) -> Dependence:
        self._check_guard(group, op, deps)
        seen = {slot: of_lanes(deps[slot], group.mask) for slot in op.sources}
        if all(dependence is None for dependence in seen.values()):
            return None
        if op.instruction.opcode in ("setp", "set"):
            return self._compare(frame, group, op, seen)
        return transfer(op, lambda i: self._operand(frame, op, i, seen), self._in_range)

    def _operand(
        self, frame: Frame, op: Op, index: int, deps: dict[int, Affine | Mark | None]
    ) -> tuple[NDArray[Any], Dependence]:
        """The value of a source operand, as its instruction reads it, and its dependence."""
        operand = op.instruction.operands[index + 1]
        if isinstance(operand, Immediate):
            return np.array([operand.value]), None
        kinds = [TYPES[m] for m in op.instruction.modifiers if m in TYPES]
        kind = kinds[-1]
        if isinstance(operand, Register):
            slot = frame.code.slots[operand.name]
            if op.instruction.opcode == "selp" and index == 2:
                kind = PRED
            return as_kind(frame.registers[slot], kind), deps.get(slot)
        slots = [s for s, n in frame.code.specials if n == getattr(operand, "name", "")]
        if slots:
            return frame.registers[slots[0]], deps.get(slots[0])
        return np.zeros(1, np.int64), None

    def _in_range(self, value: NDArray[Any], dependence: Affine, kind: PtxType) -> bool:
        """Whether the value stays within its type for every block that is still equivalent."""
        low, high = range_of(kind)
        exact = value.astype(np.int64)
        for corner in self._corners:
            moved = exact + dependence.shift(corner)
            if int(moved.min()) < low or int(moved.max()) > high:
                return False
        return True

    # -- comparisons ------------------------------------------------------------------------

    def _compare(
        self, frame: Frame, group: Group, op: Op, deps: dict[int, Affine | Mark | None]
    ) -> Dependence:
        """Keeps the blocks for which the comparison comes out alike: then all have the same."""
        for dependence in deps.values():
            if isinstance(dependence, Mark):
                return dependence
        affine = {slot: d for slot, d in deps.items() if isinstance(d, Affine)}
        arrays = [frame.registers[slot] for slot in op.sources]
        key = (op.instruction.pc, id(group.mask), *(id(a) for a in arrays))
        known = self._compared.get(key)
        if known is None:
            same = self._alike(frame, group.mask, op, affine)
            self._compared[key] = ([*arrays, group.mask], same)  # kept alive: ids stay theirs
        else:
            same = known[1]
        if not same[self.equivalent].all():
            self.equivalent &= same
            self._corners = corners_of(self._steps[self.equivalent])
        return None

    def _alike(
        self, frame: Frame, mask: Mask | None, op: Op, affine: dict[int, Affine]
    ) -> NDArray[np.bool_]:
        assert op.compute is not None
        truth = op.compute(frame.registers)
        axes = np.any([d.axes for d in affine.values()], axis=0)
        steps, inverse = np.unique(self._steps * axes, axis=0, return_inverse=True)
        registers = list(frame.registers)
        result = np.zeros(len(steps), bool)
        for i, step in enumerate(steps):
            for slot, dependence in affine.items():
                value = frame.registers[slot]
                registers[slot] = (value.astype(np.int64) + dependence.shift(step)).astype(
                    value.dtype
                )
            result[i] = equal(truth, op.compute(registers), mask)
        return result[inverse.reshape(-1)]

    # -- everything else --------------------------------------------------------------------

    def _check_guard(self, group: Group, op: Op, deps: list[Dependence]) -> None:
        if op.guard >= 0:
            mark = of_lanes(deps[op.guard], group.mask)
            if isinstance(mark, Mark):
                raise self._refuse(op, "the condition", mark)

    def _memory(self, frame: Frame, group: Group, op: Op) -> None:
        deps = self._dependences(frame)
        self._check_guard(group, op, deps)
        address = next(o for o in op.instruction.operands if isinstance(o, Address))
        dependence = self._address(frame, group, op, address)
        self._seen.clear()
        super()._memory(frame, group, op)
        for event in self._seen:
            self.on_address(event, dependence)
        mask = None if self.exclusive and op.guard < 0 else group.mask
        self._set(deps, op, Mark.DATA, mask)
        if any(event.region.space == "local" for event in self._seen):
            self._local_memory(frame, op, dependence, mask)

    def _address(self, frame: Frame, group: Group, op: Op, address: Address) -> Affine | None:
        """The dependence of an address operand."""
        if not isinstance(address.base, Register):
            return None
        slot = frame.code.slots[address.base.name]
        dependence = of_lanes(self._dependences(frame)[slot], group.mask)
        if isinstance(dependence, Mark):
            raise self._refuse(op, "an address", dependence)
        return dependence

    def _local_memory(self, frame: Frame, op: Op, address: Dependence, mask: Mask | None) -> None:
        """Follows what a load or store moves between registers and a place of every stack."""
        deps = self._dependences(frame)
        access: MemoryAccess = op.payload
        if len(self._seen) > 1 or address is not None or access.kind == "atomic":
            self._local.forget()
        elif access.kind == "store":
            values = elements(op.instruction.operands[1])
            stored = [self._value(frame, deps, value, access.type) for value in values]
            self._local.store(self._seen[0], stored, mask)
        else:
            loaded = self._local.load(self._seen[0], access.count)
            for slot, dependence in zip(op.destinations, loaded, strict=True):
                if slot < 0:
                    continue
                extended = frame.registers[slot].dtype.itemsize != access.type.nbytes
                new = Mark.UNKNOWN if extended and dependence is not None else dependence
                deps[slot] = new if mask is None else merged(deps[slot], new, mask)

    @staticmethod
    def _value(frame: Frame, deps: list[Dependence], value: Operand, kind: PtxType) -> Dependence:
        """The dependence of a stored value; of a narrow one only that it has none is known."""
        if isinstance(value, Immediate):
            return None
        if not isinstance(value, Register):
            return Mark.UNKNOWN
        dependence = deps[frame.code.slots[value.name]]
        return dependence if dependence is None or kind.nbytes >= 4 else Mark.UNKNOWN

    def _branch(self, frame: Frame, group: Group, op: Op, pc: int) -> int:
        self._check_guard(group, op, self._dependences(frame))
        return super()._branch(frame, group, op, pc)

    def _exchange(self, frame: Frame, group: Group, op: Op, mask: Mask | None) -> None:
        deps = self._dependences(frame)
        super()._exchange(frame, group, op, mask)
        self._set(deps, op, Mark.UNKNOWN, None)

    def _action(self, lanes: Lanes) -> bool:
        frame, group, op = lanes.frame, lanes.group, lanes.op
        line = self.image.source_line(op.instruction.pc)
        if not isinstance(op.payload, FOLLOWED):
            raise DependsOnData(f"`{op.instruction.opcode}` of line {line} is not followed")
        deps = self._dependences(frame)
        self._check_guard(group, op, deps)
        addresses = [
            self._address(frame, group, op, operand)
            for operand in op.instruction.operands
            if isinstance(operand, Address)
        ]
        if addresses:  # a size to copy or a distance between rows stands alone
            for operand in op.instruction.operands:
                inner = operand.operand if isinstance(operand, Negated) else operand
                if isinstance(inner, Register):
                    self._need_same(op, of_lanes(deps[frame.code.slots[inner.name]], group.mask))
        if not isinstance(op.payload, AsyncCopy):
            for address in addresses:  # whose lanes name rows for others
                self._need_same(op, address if varies(address) else None)
        self._seen.clear()
        went_on = super()._action(lanes)
        for event in self._seen:
            self.on_address(event, addresses[-1 if event.region.space == "global" else 0])
        self._set(deps, op, Mark.DATA, None if self.exclusive else group.mask)
        return went_on

    def _need_same(self, op: Op, dependence: Affine | Mark | None) -> None:
        if dependence is not None:
            mark = dependence if isinstance(dependence, Mark) else Mark.UNKNOWN
            raise self._refuse(op, "an operand", mark)

    def _call_pointer(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        line = self.image.source_line(pc)
        raise DependsOnData(f"line {line} calls a function by its address")

    def _parameter(self, frame: Frame, group: Group, op: Op) -> None:
        deps = self._dependences(frame)
        name, offset = op.payload.key
        size = op.payload.types.nbytes
        super()._parameter(frame, group, op)
        for i, slot in enumerate(op.destinations):
            if slot >= 0:
                deps[slot] = self._parameter_deps.get((id(frame), name, offset + i * size))
        if not op.payload.is_load:
            values = [o for o in op.instruction.operands[1:] if isinstance(o, Register)]
            for i, operand in enumerate(values):
                self._parameter_deps[(id(frame), name, offset + i * size)] = deps[
                    frame.code.slots[operand.name]
                ]

    def _copy_parameter(
        self, source: Frame, source_name: str, to: Frame, to_name: str, mask: Mask | None
    ) -> None:
        super()._copy_parameter(source, source_name, to, to_name, mask)
        for frame, name, offset in list(self._parameter_deps):
            if frame == id(source) and name == source_name:
                value = self._parameter_deps[(frame, name, offset)]
                self._parameter_deps[(id(to), to_name, offset)] = value


class _Catch:
    """Hands the events of the access that is being done to the tracker."""

    def __init__(self, events: list[AccessEvent]) -> None:
        self._events = events

    def on_access(self, event: AccessEvent) -> None:
        self._events.append(event)

    def on_barrier(self, event: object) -> None:
        pass

    def on_fault(self, event: object) -> None:
        raise DependsOnData("the kernel makes an illegal access")
