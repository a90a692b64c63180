"""The state of a machine: groups of lanes, the frames they execute in, and where each lane waits.

An instruction sees of it the `Lanes` that execute it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.emulator.address_spaces import Region
from core.emulator.block_record import ChunkRecord
from core.emulator.budget import Budget, Limits
from core.emulator.events import (
    BarrierEvent,
    CopiesEvent,
    FaultEvent,
    Mask,
    Observer,
    Printed,
)
from core.emulator.geometry import Geometry, lanes_of_rows, warp_rows
from core.emulator.heap import Piece
from core.emulator.launch_image import Image
from core.emulator.memory_unit import MemoryUnit, Values
from core.emulator.operands import OperandDecoder
from core.emulator.program import FunctionCode, Kind, MemoryAccess, Op, Reader, Registers
from core.ptx.arithmetic.operation import type_of
from core.ptx.ast import Instruction, Special
from core.ptx.types import PtxType

_T = TypeVar("_T")

_NO_ADDRESS = np.zeros(0, np.int64)
FAIR_STEP = 1024  # instructions between two looks whether a group has waited too long
_FRAME_GAP = 256  # bytes between two stack frames, so that what runs off one hits nothing


@dataclass(eq=False)
class Group:
    """Lanes at one pc and one call depth. `mask` None means every lane of the machine.

    `warp` is -1 where warps go together; `since` is the tick at which it was put aside; `forced`
    lanes no longer wait for others of their warp, of whom those `expected` were to come from the
    pcs `places` (None: unknown). `yielded`: it has let others go first, at the instruction where it
    stands. `latch` is the last jump back to `pc` while the lanes wait for those that are still in
    the loop, -1 elsewhere.
    """

    pc: int
    depth: int
    mask: Mask | None
    warp: int = -1
    since: int = 0
    forced: bool = False
    yielded: bool = False
    expected: Mask | None = None  # lanes alive when it began to wait
    places: frozenset[int] | None = None
    latch: int = -1
    paused: bool = False  # its turn ended where it stands
    _lanes: NDArray[np.intp] | None = None

    @property
    def stands(self) -> float:
        """The pc by which groups take turns: lanes that wait at a latch stand behind it."""
        return self.pc if self.latch < 0 else self.latch + 0.5

    def lanes(self, count: int) -> NDArray[np.intp]:
        """Indices of the lanes; `count` is the machine's number of lanes."""
        if self._lanes is None:
            if self.mask is None:
                self._lanes = np.arange(count)
            else:
                self._lanes = np.flatnonzero(self.mask)
        return self._lanes


# An instruction's sources, and what it made of them. Arrays are never written in place, so that
# the same arrays give the same result: unoptimised code computes much again and again.
Result = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
Log = Callable[[tuple[int, NDArray[Any]]], None]  # notes a new value and its tick


class Frame:
    """One activation of a function: its registers (one array a slot) and parameters.

    `results` are the last ones of instructions that keep them (`Op.pair`); `logs` note the values
    of the slots that are recorded.
    """

    def __init__(
        self,
        code: FunctionCode,
        local_base: int,
        special: Callable[[str], NDArray[Any]],
        logs: list[Log | None],
        *,
        has_lines: bool,
    ) -> None:
        """`local_base` in bytes, where local variables start; `special` reads special registers."""
        self.code, self.local_base, self.has_lines, self.logs = code, local_base, has_lines, logs
        self.registers: list[NDArray[Any]] = [np.zeros(1, dtype) for dtype in code.dtypes]
        self.parameters: dict[tuple[str, int], NDArray[Any]] = {}
        for slot, value in code.constants:
            self.registers[slot] = value
        self.results: list[Result | None] = [None] * len(code.ops)
        for slot, name in code.specials:
            offset = code.local_offsets.get(name)
            self.registers[slot] = (
                special(name) if offset is None else np.array([local_base + offset], np.int64)
            )

    def give(self, key: tuple[str, int], value: NDArray[Any], mask: Mask | None) -> None:
        """Gives the lanes of a mask (None: all) a parameter, or the piece at an offset of it."""
        old = self.parameters.get(key)
        if mask is not None and old is not None and old.itemsize == value.itemsize:
            value = np.where(mask, value, old.view(value.dtype))
        self.parameters[key] = value


def _stack_bytes(code: FunctionCode) -> int:
    """Bytes of the function's objects in local memory."""
    nbytes = {v.name: v.nbytes for v in code.function.variables}
    return max((o + nbytes[name] for name, o in code.local_offsets.items()), default=0)


class Watcher(Protocol):
    """Looks at instructions while an operation that has begun still uses registers (`wgmma`)."""

    def watch(self, frame: Frame, group: Group, op: Op, tick: int) -> None:
        """An instruction is about to be executed at `tick`."""

    def parameter(self, frame: Frame, group: Group, op: Op) -> None:
        """So is an `ld.param` or `st.param`."""

    def passed(
        self, source: Frame, source_name: str, to: Frame, to_name: str, mask: Mask | None
    ) -> None:
        """A parameter goes from one frame to another, as a call or its end passes it."""


class MachineState:
    """The state of a machine that runs the blocks of `geometry`, and the few ways to change it."""

    def __init__(
        self,
        image: Image,
        geometry: Geometry,
        observers: tuple[Observer, ...],
        record: ChunkRecord | None,
        limits: Limits,
    ) -> None:
        self.image, self.geometry, self.observers = image, geometry, observers
        self.record, self.budget = record, Budget(limits)
        self.count = geometry.lanes
        self.unit = MemoryUnit(image, geometry, observers)
        self.tick = 0
        self.next_check = 0
        self.alive = self.unit.alive = np.ones(self.count, bool)
        self.waiting: dict[int, Mask] = {}  # barrier number -> lanes that wait there
        self.resume_at = np.zeros(self.count, np.int64)  # pc after the barrier
        self.resume_depth = np.zeros(self.count, np.int64)
        self.arrived_at = np.zeros(self.count, np.int64)  # tick of the arrival at a barrier
        self.return_to: list[NDArray[np.int64]] = []  # by depth: pc to go on at, one a lane
        self.frames: dict[tuple[str, int], Frame] = {}
        self._stack_end = 0  # bytes of stack that the frames so far take
        self.exclusive = True  # whether the group that runs has its frame to itself
        self.printed: list[Printed] = []
        self.watcher: Watcher | None = None  # while something that has begun uses registers
        self.parts: dict[Callable[[MachineState], Any], Any] = {}  # by their classes

    def part(self, kind: Callable[[MachineState], _T]) -> _T:
        """The machine's part of that class, made when it is first asked for."""
        found = self.parts.get(kind)
        if found is None:
            found = self.parts[kind] = kind(self)
        made: _T = found
        return made

    def frame(self, group: Group) -> Frame:
        """The activation that the group executes in."""
        code = self.image.code_at(group.pc)
        key = (code.function.name, group.depth)
        frame = self.frames.get(key)
        if frame is None:
            base = self._stack_end  # apart from others': lanes may call it from elsewhere later
            end = base + code.local_bytes
            self.budget.stacks(key[0], group.depth, end, 8 * len(code.dtypes), self.count)
            if code.local_bytes:
                self._stack_end = end + _FRAME_GAP
            self.unit.need_local(end)
            self.unit.open_frame(base, _stack_bytes(code))
            frame = self.frames[key] = self._new_frame(code, group.depth, base)
        return frame

    def _new_frame(self, code: FunctionCode, depth: int, base: int) -> Frame:
        logs: list[Log | None] = [None] * len(code.dtypes)
        if self.record is not None:
            self.record.stack_bases[(code.function.name, depth)] = base
            logs = self.record.logs(code, depth)
        has_lines = code.function.name in self.image.module.own_functions
        return Frame(code, base, self.special, logs, has_lines=has_lines)

    def special(self, name: str) -> NDArray[Any]:
        """The value of a special register, one a lane or one for all."""
        if name in ("%clock64", "%globaltimer"):
            return np.array([self.tick], np.int64)
        if name == "%dynamic_smem_size":
            return np.array([self.image.launch.shared_bytes], np.int32)
        return self.geometry.special(name)

    def write(self, frame: Frame, slot: int, value: NDArray[Any], mask: Mask | None) -> None:
        """Gives the lanes of `mask` a new value; None, or nobody else in the frame: all lanes."""
        if slot < 0:
            return
        if mask is not None:
            value = np.where(mask, value, frame.registers[slot])
        frame.registers[slot] = value
        log = frame.logs[slot]
        if log is not None:
            log((self.tick, value))

    def effective(self, frame: Frame, group: Group, op: Op) -> tuple[Mask | None, bool]:
        """The mask after the guard predicate, and whether any lane is left."""
        if op.guard < 0:
            return group.mask, True
        predicate = frame.registers[op.guard]
        if op.guard_negated:
            predicate = ~predicate
        if predicate.size == 1:
            return group.mask, bool(predicate[0])
        mask = predicate if group.mask is None else predicate & group.mask
        return mask, bool(mask.any())

    def op_at(self, pc: int) -> Op:
        """The instruction at a pc, decoded."""
        code = self.image.code_at(pc)
        return code.ops[pc - code.first_pc]

    def segment(self, tick: int, first: int, end: int, group: Group) -> None:
        """Records that a group ran through a straight stretch of code."""
        if self.record is not None:
            self.record.segment(tick, first, end, group.mask, group.depth)

    def check(self, pc: int) -> None:
        """Looks at the budget, and whether the work is cancelled; `pc` is where the machine is."""
        line = self.image.source_line(pc)
        by_the_clock = self.budget.look(self.tick, self.record, line)
        self.next_check = min(by_the_clock, (self.tick // FAIR_STEP + 1) * FAIR_STEP)

    def check_soon(self) -> None:
        """Has the budget checked after the instruction, which takes longer than most."""
        self.next_check = self.tick

    def fault(
        self,
        kind: str,
        pc: int,
        depth: int,
        lanes: NDArray[np.intp],
        others: NDArray[np.intp] | None = None,
        other_pc: int = -1,
        detail: str = "",
        tick: int = -1,
        piece: Piece | None = None,
        region: Region | None = None,
        address: NDArray[np.int64] = _NO_ADDRESS,
        width: int = 0,
    ) -> None:
        """Tells the observers of a fault that is not a memory access; `tick` -1 is now."""
        site = self.call_site(pc, depth, int(lanes[0]))
        if other_pc >= 0 and others is not None:
            other_pc = self.call_site(other_pc, int(self.resume_depth[others[0]]), int(others[0]))
        event = FaultEvent(
            self.tick - 1 if tick < 0 else tick,
            pc,
            kind,
            lanes,
            address,
            width,
            region,
            detail,
            site,
            others,
            other_pc,
            piece=piece,
        )
        for observer in self.observers:
            observer.on_fault(event)

    def tell_barrier(self, event: BarrierEvent, *, note: bool = False) -> None:
        """Tells the observers, and with `note` the record too, of an arrival at a barrier."""
        for observer in self.observers:
            observer.on_barrier(event)
        if note and self.record is not None:
            self.record.barrier(event)

    def site(self, pc: int, depth: int, mask: Mask | None) -> int:
        """The call site of the first lane of a mask, as `call_site` gives it."""
        return self.call_site(pc, depth, 0 if mask is None else int(mask.argmax()))

    def call_site(self, pc: int, depth: int, lane: int) -> int:
        """`pc`, or the innermost call that led there from a function with source lines."""
        here, module = pc, self.image.module
        while depth > 0 and module.function_at(here).name not in module.own_functions:
            depth -= 1
            here = int(self.return_to[depth][lane]) - 1
        return here

    def place_of(self, pc: int, depth: int, lane: int, outer: int) -> int:
        """`pc`, or the call at depth `outer` that led a lane there."""
        for level in range(depth, outer, -1):
            pc = int(self.return_to[level - 1][lane]) - 1
        return pc


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
        event = CopiesEvent(kind, lanes, self.site, left, places, self.state.tick - 1, self.pc)
        for observer in self.state.observers:
            observer.on_copies(event)

    def fault(
        self,
        kind: str,
        lanes: int | NDArray[np.intp],
        detail: str = "",
        *,
        others: NDArray[np.intp] | None = None,
        tick: int = -1,
    ) -> None:
        """Tells of a fault of lanes of the instruction that lies at no address."""
        who, depth = np.atleast_1d(lanes), self.group.depth
        self.state.fault(kind, self.pc, depth, who, others, detail=detail, tick=tick)

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


Action = Callable[[Lanes], bool]
"""What an instruction does that is neither arithmetic nor a plain load or store.

True if the whole group goes on to the next instruction.
"""


# Clocks, which count instructions: a fiction that never goes back.
#
# The machine has no notion of time. `%clock`, `%clock64` and `%globaltimer` (as nanoseconds) give
# the number of instructions that the blocks which run together have issued.


def _tell_clock(shift: int, bits: int, lanes: Lanes) -> bool:
    """`mov` from a clock register; `shift` is 32 for its upper half."""
    now = (lanes.state.tick >> shift) & ((1 << bits) - 1)
    lanes.write(np.array([now], f"u{bits // 8}"))
    return True


def read_clock(decoder: OperandDecoder, instruction: Instruction) -> Op:
    """Decodes a `mov` from a clock register."""
    kind = type_of(instruction)
    source = instruction.operands[1]
    assert isinstance(source, Special)
    action = partial(_tell_clock, 32 if source.name.endswith("_hi") else 0, kind.bits)
    return decoder.action(instruction, action, (instruction.operands[0],), (kind,))
