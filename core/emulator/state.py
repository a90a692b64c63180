"""The state of a machine: its lanes, where each of them waits, and the frames they execute in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.access import MemoryUnit
from core.emulator.budget import Budget, Limits
from core.emulator.events import BarrierEvent, FaultEvent, Mask, Observer, Printed
from core.emulator.frame import Frame, Log, stack_bytes
from core.emulator.groups import Geometry, Group
from core.emulator.heap import Piece
from core.emulator.image import Image
from core.emulator.memory import Region
from core.emulator.program import FunctionCode, Op
from core.emulator.record import ChunkRecord

_NO_ADDRESS = np.zeros(0, np.int64)
_FRAME_GAP = 256  # bytes between two stack frames, so that what runs off one hits nothing


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
            self.unit.open_frame(base, stack_bytes(code))
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
        self.next_check = self.budget.look(self.tick, self.record, line)

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

    def report(self, kind: str, pc: int, group: Group, detail: str = "") -> None:
        """Tells of a fault of all the lanes of a group."""
        self.fault(kind, pc, group.depth, group.lanes(self.count), detail=detail)

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

    def kernel_pc(self, pc: int, depth: int, lane: int) -> int:
        """`pc`, or the call in the kernel's own code that led a lane there."""
        return self.place_of(pc, depth, lane, 0)

    def place_of(self, pc: int, depth: int, lane: int, outer: int) -> int:
        """`pc`, or the call at depth `outer` that led a lane there."""
        for level in range(depth, outer, -1):
            pc = int(self.return_to[level - 1][lane]) - 1
        return pc
