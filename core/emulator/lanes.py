"""The lanes that execute an instruction, and what it reads, writes and accesses for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.call_frames import Frame
from core.emulator.events import CopiesEvent, Mask
from core.emulator.lane_groups import Geometry, Group, lanes_of_rows, warp_rows
from core.emulator.memory_unit import Values
from core.emulator.program import Kind, MemoryAccess, Op, Reader, Registers
from core.emulator.state import MachineState
from core.ptx.types import PtxType


@dataclass(frozen=True)
class Lanes:
    """An instruction, the activation that it runs in, and its lanes (`mask` None: all)."""

    state: MachineState
    frame: Frame
    group: Group
    op: Op
    mask: Mask | None

    @property
    def count(self) -> int:
        """Lanes of the machine."""
        return self.state.count

    @property
    def geometry(self) -> Geometry:
        """How the machine's lanes map to blocks, warps and threads."""
        return self.state.geometry

    @property
    def pc(self) -> int:
        """The instruction's place in its module."""
        return self.op.instruction.pc

    @property
    def active(self) -> NDArray[np.bool_]:
        """The mask as an array."""
        return np.ones(self.count, bool) if self.mask is None else self.mask

    @property
    def site(self) -> int:
        """Where findings point: `pc`, or the call that led here from code with source lines."""
        if self.frame.has_lines:
            return self.pc
        return self.state.site(self.pc, self.group.depth, self.mask)

    def read(self, reader: Reader) -> NDArray[Any]:
        """An operand's value, one element a lane."""
        value = reader(self.frame.registers)
        return np.repeat(value, self.count) if value.size == 1 else value

    def rows(self, reader: Reader) -> NDArray[Any]:
        """An operand's value as rows of a warp, shape (warps, 32)."""
        return warp_rows(self.read(reader), self.geometry, 0)

    def lanes_of(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows of warps as one value a lane."""
        return lanes_of_rows(np.ascontiguousarray(rows), self.geometry)

    def write(self, *values: NDArray[Any]) -> None:
        """Gives the instruction's destinations their values, one array a destination."""
        op = self.op
        for slot, convert, value in zip(op.destinations, op.writers, values, strict=True):
            self.state.write(self.frame, slot, convert(value), self.mask)

    def tell_copies(self, kind: str, left: int = 0, places: NDArray[np.intp] | None = None) -> None:
        """Tells the observers what these lanes say of their `cp.async`, see `CopiesEvent`."""
        lanes = np.flatnonzero(self.active)
        if places is not None:
            places = places[lanes]
        event = CopiesEvent(kind, lanes, self.site, left, places)
        for observer in self.state.observers:
            observer.on_copies(event)

    def fault(self, kind: str, lane: int, detail: str = "") -> None:
        """Tells of a fault of one lane that lies at no address."""
        self.state.fault(kind, self.pc, self.group.depth, np.array([lane]), detail=detail)

    def illegal(self, kind: str, lane: int, address: int, width: int, detail: str = "") -> None:
        """Tells that a lane cannot use an address."""
        self.state.fault(
            kind,
            self.pc,
            self.group.depth,
            np.array([lane]),
            detail=detail,
            region=self.state.unit.meant(self.pc, address),
            address=np.array([address], np.int64),
            width=width,
        )

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
            return tuple(np.zeros(self.count, element.dtype) for _ in range(count))
        readers = tuple(_fixed(v) for v in values)
        payload = MemoryAccess(kind, "", element, count, _fixed(address), readers)
        op = Op(Kind.MEMORY, self.op.instruction, payload=payload)
        loaded = self.state.unit.execute(op, [], mask, self.state.tick - 1, self.site)
        return tuple(np.repeat(v, self.count) if v.size == 1 else v for v in loaded)


def _fixed(value: NDArray[Any]) -> Reader:
    def read(_: Registers) -> NDArray[Any]:
        return value

    return read
