"""Instructions that need the machine: each is an `Action` that is handed the lanes it runs for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.emulator.groups import lanes_of_rows, warp_rows
from core.emulator.program import Kind, MemoryAccess, Op, Reader, Registers
from core.ptx.ast import Instruction
from core.ptx.types import PtxType

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.emulator.events import Mask
    from core.emulator.frames import Frame
    from core.emulator.groups import Group
    from core.emulator.machine import Machine

Values = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Lanes:
    """What an action runs in: the machine, the activation, and the lanes (`mask` None: all)."""

    machine: Machine
    frame: Frame
    group: Group
    op: Op
    mask: Mask | None

    @property
    def active(self) -> NDArray[np.bool_]:
        """The mask as an array."""
        return np.ones(self.machine.count, bool) if self.mask is None else self.mask

    def read(self, reader: Reader) -> NDArray[Any]:
        """An operand's value, one element a lane."""
        value = reader(self.frame.registers)
        return np.repeat(value, self.machine.count) if value.size == 1 else value

    def rows(self, reader: Reader) -> NDArray[Any]:
        """An operand's value as rows of a warp, shape (warps, 32)."""
        return warp_rows(self.read(reader), self.machine.geometry, 0)

    def lanes_of(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows of warps as one value a lane."""
        return lanes_of_rows(np.ascontiguousarray(rows), self.machine.geometry)

    def write(self, values: Values, writers: tuple[Callable[..., Any], ...]) -> None:
        """Gives the instruction's destinations their values, one array a destination."""
        for slot, convert, value in zip(self.op.destinations, writers, values, strict=True):
            self.machine.write(self.frame, slot, convert(value), self.mask)

    def access(
        self,
        kind: str,
        element: PtxType,
        address: NDArray[np.int64],
        values: Values = (),
        *,
        count: int = 1,
        only: NDArray[np.bool_] | None = None,
    ) -> Values:
        """A load or store as part of the instruction, seen by the observers like any other.

        `address` holds generic addresses, int64, one a lane; `only` narrows the lanes down. Returns
        what was loaded, `count` arrays of one element a lane.
        """
        mask = self.mask if only is None else self.active & only
        if mask is not None and not mask.any():
            return tuple(np.zeros(self.machine.count, element.dtype) for _ in range(count))
        readers = tuple(_fixed(v) for v in values)
        payload = MemoryAccess(kind, "", element, count, _fixed(address), readers, ())
        op = Op(Kind.MEMORY, self.op.instruction, payload=payload)
        loaded = self.machine.unit.execute(op, [], mask, self.machine.tick - 1)
        size = self.machine.count
        return tuple(np.repeat(v, size) if v.size == 1 else v for v in loaded)


class Action(Protocol):
    """What an instruction does that is neither arithmetic nor a plain load or store."""

    def run(self, lanes: Lanes) -> bool:
        """Does it; True if the whole group goes on to the next instruction."""


def action_op(instruction: Instruction, action: Action, destinations: tuple[int, ...] = ()) -> Op:
    """The decoded instruction."""
    return Op(Kind.ACTION, instruction, destinations=destinations, payload=action)


def _fixed(value: NDArray[Any]) -> Reader:
    def read(_: Registers) -> NDArray[Any]:
        return value

    return read
