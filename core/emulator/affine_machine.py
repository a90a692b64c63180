"""A machine that runs one block and follows how its registers depend on which block it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from core.emulator.affine_dependences import (
    Affine,
    Dependence,
    Dependences,
    DependsOnData,
    LocalDependences,
    Mark,
    merged,
    varies,
)
from core.emulator.async_copies import copy, tell_groups
from core.emulator.calls import Calls, register_slots
from core.emulator.events import AccessEvent, Ints, Mask, Observer
from core.emulator.machine import Machine
from core.emulator.machine_state import Frame, Group, Lanes, MachineState
from core.emulator.program import Call, MemoryAccess, Op, ParameterAccess
from core.emulator.tensor_cores import (
    load_fragment,
    load_matrix,
    move_matrix,
    product,
    store_fragment,
    store_matrix,
)
from core.ptx.ast import Address, Function, Immediate, Negated, Operand, Register, Symbol, elements
from core.ptx.ast import Group as Operands
from core.ptx.types import PtxType

Key = tuple[str, int]  # variable and byte offset, as in `Frame.parameters`


class AffineCalls(Calls):
    """Every piece of a parameter has a dependence, which goes from frame to frame as it does."""

    def __init__(self, state: MachineState, follows: Dependences) -> None:
        super().__init__(state)
        self._follows = follows
        self._passed_deps: dict[int, dict[Key, Dependence]] = {}  # by frame

    def _of_frame(self, frame: Frame) -> dict[Key, Dependence]:
        return self._passed_deps.setdefault(id(frame), {})  # frames live as long as the machine

    def parameter(self, frame: Frame, group: Group, op: Op) -> None:
        """Follows what a parameter is given or gives."""
        deps = self._follows.of(frame)
        self._follows.check_guard(group, op, deps)
        mask, any_left = self.state.effective(frame, group, op)
        if not any_left:
            return
        keep = None if op.guard < 0 and self.state.exclusive else mask
        access: ParameterAccess = op.payload
        (name, offset), size = access.key, access.types.nbytes
        keys = [(name, offset + i * size) for i in range(max(len(op.destinations), 1))]
        loaded = [self._piece(frame, key, size) for key in keys]
        super().parameter(frame, group, op)
        for slot, new in zip(op.destinations, loaded, strict=False):
            self._set_slot(frame, slot, new, size, keep)
        if not access.is_load:
            passed = self._of_frame(frame)
            for i, value in enumerate(elements(op.instruction.operands[1])):
                key, new = (name, offset + i * size), _stored(frame, deps, value, access.types)
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
        deps = self._follows.of(frame)
        if new is not None and frame.registers[slot].dtype.itemsize != nbytes:
            new = Mark.UNKNOWN
        deps[slot] = new if keep is None else merged(deps[slot], new, keep)

    # -- calls and returns --------------------------------------------------------------------

    def call(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Follows arguments that are registers or constants."""
        deps, call = self._follows.of(frame), op.payload
        groups = [o for o in op.instruction.operands if isinstance(o, Operands)]
        given = [
            element
            for operand in (groups[-1].elements if groups else ())
            if not isinstance(operand, Symbol)
            for element in elements(operand)
        ]
        for (key, _), value in zip(call.values, given, strict=True):
            slot = frame.code.slots[value.name] if isinstance(value, Register) else None
            self._of_frame(frame)[key] = None if slot is None else deps[slot]
        return super().call(frame, group, op, pc)

    def call_pointer(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Raises `DependsOnData`: the address may differ from block to block."""
        line = self.state.image.source_line(pc)
        raise DependsOnData(f"line {line} calls a function by its address")

    def enter(self, frame: Frame, group: Group, op: Op, pc: int, function: Function) -> bool:
        """Raises `DependsOnData` for `malloc`, which gives each block memory of its own."""
        call: Call = op.payload
        if function.first_pc == function.end_pc:  # the driver's: malloc gives each block its own
            for name in call.results:
                self._of_frame(frame)[name, 0] = Mark.UNKNOWN
        return super().enter(frame, group, op, pc, function)

    def copy_parameter(
        self, source: Frame, source_name: str, to: Frame, to_name: str, mask: Mask | None
    ) -> None:
        """Follows what one frame gives to another."""
        given, taken = self._of_frame(source), self._of_frame(to)
        for key, slot in register_slots(source, source_name):  # a result that is a register
            given[key] = self._follows.of(source)[slot]
        for name, offset in list(source.parameters):
            if name == source_name:
                new, there = given.get((name, offset)), (to_name, offset)
                taken[there] = new if mask is None else merged(taken.get(there), new, mask)
        super().copy_parameter(source, source_name, to, to_name, mask)
        for key, slot in register_slots(to, to_name):  # a parameter that is one
            self._set_register(to, key, slot, mask)

    def set_results(self, frame: Frame, call: Call, mask: Mask | None) -> None:
        """Follows results that go to registers."""
        super().set_results(frame, call, mask)
        for key, slot in call.targets:
            self._set_register(frame, key, slot, mask)

    def _set_register(self, frame: Frame, key: Key, slot: int, mask: Mask | None) -> None:
        """The dependence of a register that holds a parameter, or an element of one."""
        value: NDArray[Any] | None = frame.parameters.get(key)
        size = frame.registers[slot].dtype.itemsize if value is None else value.itemsize
        self._set_slot(frame, slot, self._of_frame(frame).get(key), size, mask)


def _stored(frame: Frame, deps: list[Dependence], value: Operand, kind: PtxType) -> Dependence:
    """The dependence of a stored value; of a narrow one only that it has none is known."""
    if isinstance(value, Immediate):
        return None
    if not isinstance(value, Register):
        return Mark.UNKNOWN
    dependence = deps[frame.code.slots[value.name]]
    return dependence if dependence is None or kind.nbytes >= 4 else Mark.UNKNOWN


# Actions of which the addresses are followed; what they give is data.
_FOLLOWED = (
    copy,
    tell_groups,
    load_matrix,
    store_matrix,
    move_matrix,
    load_fragment,
    store_fragment,
    product,
)


class AffineMachine(Machine):
    """Runs a single block and finds out which other blocks do just the same.

    The blocks left in `equivalent` at the end do exactly what this block does, at addresses that
    move as `on_address` was told.
    """

    def follow(
        self, candidates: Ints, origin: Ints, on_address: Callable[[AccessEvent, Dependence], None]
    ) -> None:
        """Says which blocks to compare with; `origin` is this block's blockIdx."""
        self._follows = Dependences(self.state, candidates, origin)
        self.calls = AffineCalls(self.state, self._follows)
        self.warps.on_exchange = self._exchanged
        self.on_address = on_address
        self._seen: list[AccessEvent] = []
        self._local = LocalDependences()
        self.state.observers = (*self.state.observers, _Catch(self._seen))
        self.unit.observers = self.state.observers

    @property
    def equivalent(self) -> Mask:
        """Of the candidates, those that have done the same so far."""
        return self._follows.equivalent

    def compute(self, frame: Frame, group: Group, ops: list[Op]) -> None:
        """Follows arithmetic."""
        state, follows = self.state, self._follows
        deps, registers = follows.of(frame), frame.registers
        whole = state.exclusive or group.mask is None
        for op in ops:
            plain = whole and op.guard < 0 and len(op.destinations) == 1
            if plain and all(deps[slot] is None for slot in op.sources):
                assert op.compute is not None
                registers[op.destinations[0]] = op.compute(registers)
                deps[op.destinations[0]] = None
                state.tick += 1
                continue
            new = follows.result(frame, group, op, deps)
            mask, any_left = state.effective(frame, group, op)
            if whole and op.guard < 0:
                mask = None
            super().compute(frame, group, [op])
            if any_left:
                follows.put(deps, op, new, mask)

    def memory(self, frame: Frame, group: Group, op: Op) -> None:
        """Tells of the addresses, and follows what stays on the stack."""
        deps = self._follows.of(frame)
        self._follows.check_guard(group, op, deps)
        mask, any_left = self.state.effective(frame, group, op)
        if not any_left:
            return
        address = next(o for o in op.instruction.operands if isinstance(o, Address))
        dependence = self._address(frame, group, op, address)
        self._seen.clear()
        super().memory(frame, group, op)
        for event in self._seen:
            self.on_address(event, dependence)
        keep = None if self.state.exclusive and op.guard < 0 else mask
        self._follows.put(deps, op, Mark.DATA, keep)
        if any(event.region.space == "local" for event in self._seen):
            self._local_memory(frame, op, dependence, mask, keep)

    def _address(self, frame: Frame, group: Group, op: Op, address: Address) -> Affine | None:
        """The dependence of an address operand."""
        if not isinstance(address.base, Register):
            return None
        slot = frame.code.slots[address.base.name]
        dependence = self._follows.seen_by(self._follows.of(frame)[slot], group.mask)
        if isinstance(dependence, Mark):
            raise self._follows.refuse(op, "an address", dependence)
        return dependence

    def _local_memory(
        self, frame: Frame, op: Op, address: Dependence, mask: Mask | None, keep: Mask | None
    ) -> None:
        """Follows what a load or store moves between registers and a place of every stack.

        `mask` are the lanes that do so; `keep` those whose registers change (None: no other lane
        needs them; what lies on the stacks, lanes that wait in a calling function may).
        """
        deps = self._follows.of(frame)
        access: MemoryAccess = op.payload
        if len(self._seen) > 1 or address is not None or access.kind == "atomic":
            self._local.forget()
        elif access.kind == "store":
            values = elements(op.instruction.operands[1])
            stored = [_stored(frame, deps, value, access.type) for value in values]
            self._local.store(self._seen[0], stored, mask)
        else:
            loaded = self._local.load(self._seen[0], access.count)
            for slot, dependence in zip(op.destinations, loaded, strict=True):
                if slot < 0:
                    continue
                extended = frame.registers[slot].dtype.itemsize != access.type.nbytes
                new = Mark.UNKNOWN if extended and dependence is not None else dependence
                deps[slot] = new if keep is None else merged(deps[slot], new, keep)

    def branch(self, frame: Frame, group: Group, op: Op, pc: int) -> int:
        """Raises `DependsOnData` where the condition cannot be followed."""
        self._follows.check_guard(group, op, self._follows.of(frame))
        return super().branch(frame, group, op, pc)

    def other(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """Raises `DependsOnData` where the guard cannot be followed."""
        self._follows.check_guard(group, op, self._follows.of(frame))
        return super().other(frame, group, op, pc)

    def _exchanged(self, frame: Frame, op: Op) -> None:
        self._follows.put(self._follows.of(frame), op, Mark.UNKNOWN, None)

    def action(self, lanes: Lanes) -> bool:
        """Tells of the addresses; raises `DependsOnData` for what is not `_FOLLOWED`."""
        frame, group, op = lanes.frame, lanes.group, lanes.op
        what = getattr(op.payload, "func", None)
        if what not in _FOLLOWED:
            raise self._not_followed(op)
        deps = self._follows.of(frame)
        self._follows.check_guard(group, op, deps)
        addresses = [
            self._address(frame, group, op, operand)
            for operand in op.instruction.operands
            if isinstance(operand, Address)
        ]
        if addresses:  # a size to copy or a distance between rows stands alone
            for operand in op.instruction.operands:
                inner = operand.operand if isinstance(operand, Negated) else operand
                if isinstance(inner, Register):
                    dependence = deps[frame.code.slots[inner.name]]
                    self._need_same(op, self._follows.seen_by(dependence, group.mask))
        if what is not copy:
            for address in addresses:  # whose lanes name rows for others
                self._need_same(op, address if varies(address) else None)
        self._seen.clear()
        went_on = super().action(lanes)
        for event in self._seen:
            self.on_address(event, addresses[-1 if event.region.space == "global" else 0])
        self._follows.put(deps, op, Mark.DATA, None if self.state.exclusive else group.mask)
        return went_on

    def indexed_branch(self, lanes: Lanes) -> None:
        """Raises `DependsOnData`."""
        raise self._not_followed(lanes.op)

    def _not_followed(self, op: Op) -> DependsOnData:
        line = self.state.image.source_line(op.instruction.pc)
        return DependsOnData(f"`{op.instruction.opcode}` of line {line} is not followed")

    def _need_same(self, op: Op, dependence: Affine | Mark | None) -> None:
        if dependence is not None:
            mark = dependence if isinstance(dependence, Mark) else Mark.UNKNOWN
            raise self._follows.refuse(op, "an operand", mark)


class _Catch(Observer):
    """Hands the events of the access that is being done to the tracker."""

    def __init__(self, events: list[AccessEvent]) -> None:
        self._events = events

    def on_access(self, event: AccessEvent) -> None:
        self._events.append(event)

    def on_fault(self, event: object) -> None:
        raise DependsOnData("the kernel makes an illegal access")
