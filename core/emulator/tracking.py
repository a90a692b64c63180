"""A machine that runs one block and finds out which other blocks do just the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from core.emulator.action import Lanes
from core.emulator.async_copy import AsyncCopy
from core.emulator.block_arithmetic import DependsOnData
from core.emulator.block_steps import varies
from core.emulator.decode_memory import elements
from core.emulator.dependence import Affine, Dependence, Mark, merged
from core.emulator.events import AccessEvent, Mask
from core.emulator.followed_calls import FollowingCalls
from core.emulator.frames import Frame
from core.emulator.groups import Group
from core.emulator.local_dependence import LocalDependences
from core.emulator.matrices import LoadMatrix, MoveMatrix, StoreMatrix
from core.emulator.program import MemoryAccess, Op
from core.emulator.tensor import LoadFragment, Multiply, StoreFragment
from core.ptx.ast import Address, Negated, Register

# Actions of which the addresses are followed; what they give is data.
FOLLOWED = (AsyncCopy, LoadMatrix, StoreMatrix, MoveMatrix, LoadFragment, StoreFragment, Multiply)


class TrackingMachine(FollowingCalls):
    """Follows addresses and branches as well.

    What is left of `equivalent` at the end does exactly what this block does, at addresses that
    move as `on_address` was told.
    """

    on_address: Callable[[AccessEvent, Dependence], None]

    def follow(
        self,
        candidates: NDArray[np.int64],
        origin: NDArray[np.int64],
        on_address: Callable[[AccessEvent, Dependence], None],
    ) -> None:
        """Says which blocks to compare with; `origin` is this block's blockIdx."""
        self._start(candidates, origin)
        self.on_address = on_address
        self._seen: list[AccessEvent] = []
        self._local = LocalDependences()
        self.observers = (*self.observers, _Catch(self._seen))
        self.unit.observers = self.observers

    def _memory(self, frame: Frame, group: Group, op: Op) -> None:
        deps = self._dependences(frame)
        self._check_guard(group, op, deps)
        mask, any_left = self._effective(frame, group, op)
        if not any_left:
            return
        address = next(o for o in op.instruction.operands if isinstance(o, Address))
        dependence = self._address(frame, group, op, address)
        self._seen.clear()
        super()._memory(frame, group, op)
        for event in self._seen:
            self.on_address(event, dependence)
        keep = None if self.exclusive and op.guard < 0 else mask
        self._set(deps, op, Mark.DATA, keep)
        if any(event.region.space == "local" for event in self._seen):
            self._local_memory(frame, op, dependence, mask, keep)

    def _address(self, frame: Frame, group: Group, op: Op, address: Address) -> Affine | None:
        """The dependence of an address operand."""
        if not isinstance(address.base, Register):
            return None
        slot = frame.code.slots[address.base.name]
        dependence = self._seen_by(self._dependences(frame)[slot], group.mask)
        if isinstance(dependence, Mark):
            raise self._refuse(op, "an address", dependence)
        return dependence

    def _local_memory(
        self, frame: Frame, op: Op, address: Dependence, mask: Mask | None, keep: Mask | None
    ) -> None:
        """Follows what a load or store moves between registers and a place of every stack.

        `mask` are the lanes that do so; `keep` those whose registers change (None: no other lane
        needs them; what lies on the stacks, lanes that wait in a calling function may).
        """
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
                deps[slot] = new if keep is None else merged(deps[slot], new, keep)

    def _branch(self, frame: Frame, group: Group, op: Op, pc: int) -> int:
        self._check_guard(group, op, self._dependences(frame))
        return super()._branch(frame, group, op, pc)

    def _other(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        self._check_guard(group, op, self._dependences(frame))
        return super()._other(frame, group, op, pc)

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
                    dependence = deps[frame.code.slots[inner.name]]
                    self._need_same(op, self._seen_by(dependence, group.mask))
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
