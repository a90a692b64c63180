"""Instructions that need the machine: each is an `Action`, handed the lanes that run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Mask, Read, Span
from core.emulator.frame import Frame
from core.emulator.groups import Geometry, Group, lanes_of_rows, warp_rows
from core.emulator.mbarrier_word import Word
from core.emulator.memory import Region
from core.emulator.program import Kind, MemoryAccess, Op, Reader, Registers
from core.emulator.texels import Texels
from core.ptx.ast import Instruction
from core.ptx.types import PtxType

Values = tuple[NDArray[Any], ...]


class Memory(Protocol):
    """What an action may ask of the machine's memory."""

    shared: Region
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


class Flight(Protocol):
    """What an action may ask of the machine's mbarriers, bulk copies and clusters.

    An object is named by its place among the 64-bit words of shared memory.
    """

    def word(self, place: int) -> Word:
        """An object's content."""

    def phases(self, places: NDArray[np.intp]) -> NDArray[np.int64]:
        """The phases, modulo 8, that the objects are in."""

    def start(self, place: int, word: Word) -> None:
        """An object is initialised."""

    def forget(self, place: int) -> None:
        """An object is no more."""

    def initialised(self, lanes: Lanes, places: NDArray[np.intp]) -> Mask:
        """The active lanes whose object is there; a fault is told of the others."""

    def expect(self, place: int, nbytes: int) -> None:
        """So many more bytes must come before the phase ends; less than 0: they have come."""

    def arrive(self, lanes: Lanes, place: int, lane: int, count: int, *, drop: bool) -> None:
        """A lane arrives; `drop` lowers the count of the phases to come, too."""

    def settle(self, place: int) -> None:
        """Ends the phase of an object if nothing is missing."""

    def tell_phase(self, kind: str, pc: int, places: NDArray[np.intp], mask: Mask) -> None:
        """Tells the observers what lanes do at their objects, see `PhaseEvent`."""

    def sleep(
        self,
        lanes: Lanes,
        waiting: Mask,
        places: NDArray[np.intp],
        parity: NDArray[np.int64],
        writers: tuple[Callable[..., Any], ...],
    ) -> None:
        """Puts lanes to sleep until the phase of their parity is over; the others go on."""

    def begin(
        self,
        lanes: Lanes,
        lane: int,
        kind: str,
        reads: tuple[Span, ...],
        writes: tuple[Span, ...],
        land: Callable[[], None],
        nbytes: int,
        place: int = -1,
        outside: NDArray[np.int64] | None = None,
        *,
        is_multicast: bool = False,
    ) -> None:
        """A copy begins: it tells the mbarrier at `place`, or belongs to the lane's next group."""

    def commit(self, lane: int) -> None:
        """What the lane has begun since its last commit becomes a group, perhaps an empty one."""

    def await_groups(self, lane: int, left: int) -> None:
        """Waits until at most `left` of the lane's groups are not done."""

    def cluster_arrive(self, lanes: Lanes) -> None:
        """Lanes announce themselves at the barrier of their cluster."""

    def cluster_wait(self, lanes: Lanes) -> bool:
        """Waits until all threads of the cluster have arrived as often; True if all go on."""

    def tell(self, lanes: Lanes, kind: str, lane: int, detail: str) -> None:
        """Tells of a fault of one lane that lies at no address."""

    def illegal(
        self, lanes: Lanes, kind: str, lane: int, address: int, width: int, detail: str = ""
    ) -> None:
        """Tells that a lane cannot use an address, so that its copy does not begin."""


class Products(Protocol):
    """What an action may ask of the products of the machine's warpgroups."""

    def fence(self, mask: Mask | None) -> None:
        """Registers are ready for the products of these lanes."""

    def begin(
        self,
        lanes: Lanes,
        slots: tuple[int, ...],
        sources: tuple[int, ...],
        warps: NDArray[np.intp],
        spans: tuple[tuple[Read, ...], ...],
    ) -> None:
        """A product of some warps begins: the registers of its results, and those of its factor."""

    def commit(self, active: Mask) -> None:
        """What the warps have begun since their last commit becomes a group, perhaps empty."""

    def wait(self, active: Mask, left: int) -> None:
        """Waits until at most `left` groups of each warp are not done."""

    def incomplete(self, lanes: Lanes, warps: NDArray[np.intp]) -> None:
        """Some lanes of these warps do not take part in a product."""

    def leads_beyond(self, lanes: Lanes, warp: int, factor: str) -> None:
        """The descriptor of a factor, A or B, leads beyond shared memory."""


class Machine(Protocol):
    """What an action may ask of the machine that runs it."""

    @property
    def flight(self) -> Flight:
        """Its mbarriers, bulk copies and clusters."""

    @property
    def products(self) -> Products:
        """Those of its warpgroups."""

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
