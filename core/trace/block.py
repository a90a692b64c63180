"""The record of one block: what the window steps through, forwards and backwards."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import FaultEvent
from core.emulator.groups import WARP
from core.emulator.record import ChunkRecord
from core.launch import Dim3
from core.ptx.dwarf_names import source_name
from core.trace.access import Access
from core.trace.arrays import Array, SharedArray, SharedState, owner_of
from core.trace.axis import ACCESSES
from core.trace.path import Segments
from core.trace.program_info import ProgramInfo
from core.trace.shared_history import SharedHistory
from core.trace.steps import EventKind, Steps, build_steps
from core.trace.thread_axis import ThreadAxis
from core.trace.touches import touching
from core.trace.variables import VariableReader


class BlockTrace(ThreadAxis):
    """Everything that happened in one block. A *step* is an event, 0 … n_steps - 1.

    What is shown at a step is the state after it, except that at a LINE step the line is about to
    be executed. All columns have one place a step; see `EventKind` for `kind`.
    """

    def __init__(
        self,
        record: ChunkRecord,
        segments: Segments,
        place: int,
        program: ProgramInfo,
        reader: VariableReader,
    ) -> None:
        """`place` is the block's place among the blocks that ran together."""
        geometry = record.geometry
        self._record, self._segments, self._reader = record, segments, reader
        self._program, self._geometry = program, geometry
        self.block = int(geometry.blocks[place])
        self.n_threads, self.n_warps = geometry.threads, geometry.warps
        self._lanes = slice(place * self.n_threads, (place + 1) * self.n_threads)
        self._path = segments.path(self._lanes)
        self._steps: Steps = build_steps(
            record, self._path, self._lanes, program.lines, program.exits, program.loops
        )

    # -- columns ----------------------------------------------------------------------------

    @cached_property
    def index(self) -> Dim3:
        """blockIdx."""
        grid = self._geometry.grid
        return Dim3(
            self.block % grid.x, self.block // grid.x % grid.y, self.block // (grid.x * grid.y)
        )

    @property
    def grid(self) -> Dim3:
        """gridDim."""
        return self._geometry.grid

    @cached_property
    def threads(self) -> NDArray[np.int32]:
        """threadIdx of every thread: int32 (n_threads, 3), in x, y, z."""
        size = self._geometry.block
        linear = np.arange(self.n_threads)
        columns = [linear % size.x, linear // size.x % size.y, linear // (size.x * size.y)]
        return np.stack(columns, axis=1).astype(np.int32)

    # -- one step ---------------------------------------------------------------------------

    def active(self, step: int) -> NDArray[np.bool_]:
        """Which threads take part, padded to whole warps: bool (n_warps * 32,)."""
        event = int(self._steps.event[step])
        if event < 0:
            segment = self._path.segments[self._steps.instruction[step]]
            mask = self._segments.masks[int(segment)]
        elif self.kind_at(step) == EventKind.BARRIER:
            mask = self._record.barriers[event].mask
        else:
            mask = self._record.accesses[event].mask
        return self._padded(np.ones(self.n_threads, bool) if mask is None else mask[self._lanes])

    def _padded(self, values: NDArray[Any]) -> NDArray[Any]:
        whole = self.n_warps * WARP
        if whole == self.n_threads:
            return values
        padded = np.zeros(
            (whole, *values.shape[1:]), values.dtype
        )  # np.pad takes ten times as long
        padded[: self.n_threads] = values
        return padded

    def _of_block(self, values: NDArray[Any]) -> NDArray[Any]:
        """This block's part of one value a lane (or of one value for all)."""
        if values.size == 1:
            return np.repeat(values, self.n_threads)
        return values[self._lanes]

    def access(self, step: int) -> Access | None:
        """The memory access that the step makes, or None."""
        if self.kind_at(step) not in ACCESSES:
            return None
        place = int(self._steps.event[step])
        event = self._record.accesses[place]
        space = event.region.space
        address = self._of_block(event.address)
        active = self.active(step)
        values = [self._of_block(v) for v in event.values]
        wrong, fault = None, ""
        if place in self._record.faults:
            wrong, fault, address, values = self._illegal(place, address, values)
        array: Array | SharedArray | None = self._program.array(event.region.name)
        if space == "shared":
            address = address - event.region.base
            one = int((active if wrong is None or active.any() else wrong).argmax())
            array = owner_of(self._program.shared_arrays, int(address[one]))
            if array is None and wrong is not None and len(self._program.shared_arrays):
                array = self._program.shared_arrays[-1]
        issue = self._program.issues[event.pc]
        return Access(
            step,
            event.kind,
            space,
            event.width,
            int(self.line[step]),
            array,
            self._padded(address),
            active,
            self._padded(values[0] if len(values) == 1 else np.stack(values, axis=1)),
            issue.sharing,
            source_name(event.region.name) if space in ("const", "global") else "",
            issue.is_exchange_if_equal,
            wrong,
            fault,
        )

    @cached_property
    def illegal_steps(self) -> NDArray[np.int64]:
        """The steps in which an access of one of the block's threads is illegal, ascending."""
        mine = [
            place
            for place, faults in self._record.faults.items()
            if any(self._of_this(fault).any() for fault in faults)
        ]
        steps = self._accesses[0]
        return steps[np.isin(self._steps.event[steps], mine)] if mine else np.empty(0, np.int64)

    def illegal_step(self, tick: int, thread: int) -> int:
        """The step at `tick` in which a thread's access is illegal, -1 if there is none."""
        for step in self.illegal_steps[self._steps.tick[self.illegal_steps] == tick].tolist():
            access = self.access(step)
            if access is not None and access.faulty[thread]:
                return int(step)
        return -1

    def _of_this(self, fault: FaultEvent) -> NDArray[np.bool_]:
        """Which of a fault's lanes are this block's."""
        return (fault.lanes >= self._lanes.start) & (fault.lanes < self._lanes.stop)

    def _illegal(
        self, place: int, address: NDArray[np.int64], values: list[NDArray[Any]]
    ) -> tuple[NDArray[np.bool_] | None, str, NDArray[np.int64], list[NDArray[Any]]]:
        """Which of the block's threads an access is illegal for, and why.

        And the access's addresses and values with those threads' put in.
        """
        wrong, kind = np.zeros(self.n_threads, bool), ""
        for fault in self._record.faults[place]:
            mine = self._of_this(fault)
            threads = fault.lanes[mine] - self._lanes.start
            if not len(threads):
                continue
            wrong[threads], kind = True, kind or fault.kind
            address = address.copy()
            address[threads] = fault.address[mine]
            values = [v.copy() for v in values]
            for column, value in zip(values, fault.values, strict=False):
                column[threads] = self._of_block(value)[threads]
        return (self._padded(wrong) if kind else None), kind, address, values

    def touches(self, name: str, flat: int) -> NDArray[np.intp]:
        """The steps, ascending, at which any thread touches element `flat` of a named array.

        `name` is a global or a `__shared__` array's, `flat` a row-major index. Loads, stores and
        atomics count; so does an access of several elements a thread that covers this one. Raises
        KeyError for a name that the launch has not.
        """
        shared = {array.name: array for array in self._program.shared_arrays}
        if name in shared:
            start, size = shared[name].offset, shared[name].dtype.itemsize
        else:
            array = self._program.array(name)
            if array is None:
                raise KeyError(f"the launch has no array {name!r}")
            start, size = 0, array.dtype.itemsize
        first = start + flat * size
        steps, events = [], []
        for step in self._stops["access"]:
            event = self._record.accesses[int(self._steps.event[step])]
            region = event.region
            if (region.space == "shared") if name in shared else (region.name == name):
                steps.append(step)
                events.append(event)
        hit = touching(events, self._lanes, self._of_block, first, size)
        return np.array(steps, np.intp)[hit]

    def shared(self, step: int) -> dict[str, SharedState]:
        """What every shared array holds after the step.

        An asynchronous copy loads in one step and stores in the next, both at one tick.
        """
        loads = self.kind_at(step) == EventKind.LOAD
        return self._shared_history.at(int(self._steps.tick[step]) - int(loads))

    @cached_property
    def _shared_history(self) -> SharedHistory:
        return SharedHistory(self._record, self._lanes, self._program.shared_arrays)
