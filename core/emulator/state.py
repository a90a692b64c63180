"""What a machine holds: its lanes, who stands where, the frames; and the few ways to change them.

The machine is built up in layers, each in a file: this state, the groups that can run
(`run_queue`), barriers and ends (`barriers`), what the lanes of a warp do together (`warp_sync`),
calls (`calls`), and the instructions (`machine`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.access import MemoryUnit
from core.emulator.budget import DEFAULTS, Budget, Limits
from core.emulator.events import FaultEvent, Mask, Observer
from core.emulator.frames import Frame, has_lines, stack_bytes
from core.emulator.groups import WARP, Geometry, Group
from core.emulator.host_calls import Printed
from core.emulator.image import Image
from core.emulator.named_barriers import NamedBarriers
from core.emulator.program import Op
from core.emulator.record import ChunkRecord
from core.emulator.schedule import Schedule
from core.emulator.spinning import Spinning

_FRAME_GAP = 256  # bytes between two stack frames, so that what runs off one hits nothing


class MachineState:
    """The state of a machine that runs the blocks of `geometry`."""

    def __init__(
        self,
        image: Image,
        geometry: Geometry,
        observers: tuple[Observer, ...] = (),
        record: ChunkRecord | None = None,
        limits: Limits = DEFAULTS,
        cancelled: Callable[[], bool] | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        """`schedule` None is lock step: all warps advance together."""
        self.image, self.geometry, self.observers = image, geometry, observers
        self.schedule = schedule
        self._on_sync = [s for o in observers if (s := getattr(o, "on_sync", None))]
        self._on_call = [c for o in observers if (c := getattr(o, "on_call", None))]
        self.record, self.budget = record, Budget(limits, cancelled)
        self.count = geometry.lanes
        self.unit = MemoryUnit(image, geometry, observers)
        self.tick = 0
        self._next_check = 0
        self.alive = np.ones(self.count, bool)
        self.groups: list[Group] = []
        self.held: list[Group] = []  # wait for lanes of their warp
        self.parked: list[tuple[Group, int]] = []  # spin; and the changes of memory they had seen
        self.stuck = False  # whether threads were left that could not go on
        self._spinning = Spinning()
        self._turn = 0  # memory accesses left of a warp's turn, 0 for no limit
        # In its block: the warps of one number of all blocks take their turns together.
        self._warp_of_lane = np.arange(self.count) % geometry.threads // WARP
        self.waiting: dict[int, Mask] = {}  # barrier number -> lanes that wait there
        self.resume_at = np.zeros(self.count, np.int64)  # pc after the barrier
        self.resume_depth = np.zeros(self.count, np.int64)
        self.arrived_at = np.zeros(self.count, np.int64)  # tick of the arrival at a barrier
        self.return_to: list[NDArray[np.int64]] = []  # by depth: pc to go on at, one a lane
        self.frames: dict[tuple[str, int], Frame] = {}
        self._stack_end = 0  # bytes of stack that the frames so far take
        self.exclusive = True
        self.printed: list[Printed] = []
        self.named = NamedBarriers(self)  # type: ignore[arg-type]
        self.arrivals: dict[int, set[int]] = {}  # lanes that came to an mbarrier, by its place

    def frame(self, group: Group) -> Frame:
        """The activation that the group executes in."""
        code = self.image.code_at(group.pc)
        key = (code.function.name, group.depth)
        frame = self.frames.get(key)
        if frame is None:
            base = self._stack_end  # a place of its own: lanes may call it from elsewhere later
            end = base + code.local_bytes
            self.budget.stacks(key[0], group.depth, end, 8 * len(code.dtypes), self.count)
            if code.local_bytes:
                self._stack_end = end + _FRAME_GAP
            self.unit.need_local(end)
            self.unit.open_frame(base, stack_bytes(code))
            frame = self.frames[key] = Frame(code, self, group.depth, base)
        return frame

    def special(self, name: str) -> NDArray[Any]:
        """The value of a special register, one a lane or one for all."""
        if name in ("%clock64", "%globaltimer"):
            return np.array([self.tick], np.int64)
        if name == "%dynamic_smem_size":
            return np.array([self.image.launch.shared_bytes], np.int32)
        return self.geometry.special(name)

    def _write(self, frame: Frame, slot: int, value: NDArray[Any], mask: Mask | None) -> None:
        """Gives the lanes of `mask` a new value; None, or nobody else in the frame: all lanes."""
        if slot < 0:
            return
        if mask is not None:
            value = np.where(mask, value, frame.registers[slot])
        frame.registers[slot] = value
        log = frame.logs[slot]
        if log is not None:
            log((self.tick, value))

    def _effective(self, frame: Frame, group: Group, op: Op) -> tuple[Mask | None, bool]:
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

    def _alone(self) -> bool:
        """Whether no other group is anywhere."""
        return not (self.groups or self.waiting or self.held or self.parked)

    def _in_block_of(self, lane: int) -> Mask:
        same: Mask = np.arange(self.count) // self.geometry.threads == lane // self.geometry.threads
        return same

    def _op_at(self, pc: int) -> Op:
        code = self.image.code_at(pc)
        return code.ops[pc - code.first_pc]

    def _segment(self, tick: int, first: int, end: int, group: Group) -> None:
        if self.record is not None:
            self.record.segment(tick, first, end, group.mask, group.depth)

    def _check(self, pc: int) -> None:
        """Looks at the budget, and whether the work is cancelled; `pc` is where the machine is."""
        line = self.image.source_line(pc)
        self._next_check = self.budget.look(self.tick, self.record, line)

    def check_soon(self) -> None:
        """After work that takes longer than most instructions."""
        self._next_check = self.tick

    def _fault(
        self,
        kind: str,
        pc: int,
        depth: int,
        lanes: NDArray[np.intp],
        others: NDArray[np.intp] | None = None,
        other_pc: int = -1,
        detail: str = "",
        tick: int = -1,
    ) -> None:
        """Tells the observers of a fault that is no memory access; `tick` -1 is now."""
        site = self._call_site(pc, depth, int(lanes[0]))
        if other_pc >= 0 and others is not None:
            other_pc = self._call_site(other_pc, int(self.resume_depth[others[0]]), int(others[0]))
        event = FaultEvent(
            self.tick - 1 if tick < 0 else tick, pc, kind, lanes, np.zeros(0, np.int64), 0, None,
            detail, site, others, other_pc,
        )  # fmt: skip
        for observer in self.observers:
            observer.on_fault(event)

    def report(self, kind: str, pc: int, group: Group, detail: str = "") -> None:
        """Tells of a fault of all the lanes of a group."""
        self._fault(kind, pc, group.depth, group.lanes(self.count), detail=detail)

    def _site(self, pc: int, depth: int, mask: Mask | None) -> int:
        return self._call_site(pc, depth, 0 if mask is None else int(mask.argmax()))

    def _call_site(self, pc: int, depth: int, lane: int) -> int:
        """`pc`, or the innermost call that led there from a function with source lines."""
        here = pc
        while depth > 0 and not has_lines(self.image.code_at(here), self.image):
            depth -= 1
            here = int(self.return_to[depth][lane]) - 1
        return here
