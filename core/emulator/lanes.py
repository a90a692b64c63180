"""Instructions that need the machine: each is an `Action`, handed the lanes that run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Mask
from core.emulator.frame import Frame
from core.emulator.groups import Geometry, Group, lanes_of_rows, warp_rows
from core.emulator.memory import Region
from core.emulator.program import Kind, MemoryAccess, Op, Reader, Registers
from core.ptx.ast import Instruction
from core.ptx.types import PtxType

if TYPE_CHECKING:
    from core.emulator.image import Image
    from core.emulator.in_flight import InFlight
    from core.emulator.products import Products
    from core.emulator.textures import Texels

Values = tuple[NDArray[Any], ...]


class Memory(Protocol):
    """What an action may ask of the machine's memory."""

    shared: Region
    image: Image
    changes: int  # stores, and atomics that changed something, so far

    def execute(
        self, op: Op, registers: Registers, mask: Mask | None, tick: int, site: int = -1
    ) -> Values:
        """Executes a load, store or atomic, and returns what was loaded."""

    def shared_offset(self, address: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where shared addresses lie among the bytes of all blocks; -1: nowhere."""

    def shared_bytes(
        self, lane: int, address: int, nbytes: int, rank: int | None = None
    ) -> tuple[Region, int] | None:
        """Shared memory from an address of a lane on, and the place of its first byte in there."""

    def global_bytes(self, address: int, nbytes: int) -> tuple[Region, int] | None:
        """The region that holds so many bytes from an address on, and the place of the first."""


class Machine(Protocol):
    """What an action may ask of the machine that runs it."""

    flight: InFlight  # its mbarriers and bulk copies
    products: Products  # of its warpgroups

    @property
    def count(self) -> int:
        """Lanes of the machine."""

    @property
    def geometry(self) -> Geometry:
        """How its lanes map to blocks, warps and threads."""

    @property
    def unit(self) -> Memory:
        """Its memory."""

    @property
    def textures(self) -> Mapping[int, Texels]:
        """The launch's textures and surfaces by handle."""

    @property
    def tick(self) -> int:
        """Instructions issued so far, this one included."""

    def write(self, frame: Frame, slot: int, value: NDArray[Any], mask: Mask | None) -> None:
        """Gives a register of the lanes of `mask` a value; None: of all lanes."""

    def place(self, pc: int, depth: int, mask: Mask) -> None:
        """Puts some of the lanes at a pc."""

    def come(
        self,
        lanes: Lanes,
        numbers: NDArray[Any],
        count: NDArray[Any] | None,
        votes: Mask,
        *,
        waits: bool,
    ) -> None:
        """Each lane arrives at the barrier of its number, with its vote; with `waits` it stays."""


@dataclass(frozen=True)
class Lanes:
    """The context of an action: the machine, the activation, and the lanes (`mask` None: all)."""

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
        """Executes it; True if the whole group goes on to the next instruction."""


def action_op(instruction: Instruction, action: Action, destinations: tuple[int, ...] = ()) -> Op:
    """The decoded instruction."""
    return Op(Kind.ACTION, instruction, destinations=destinations, payload=action)


def _fixed(value: NDArray[Any]) -> Reader:
    def read(_: Registers) -> NDArray[Any]:
        return value

    return read
