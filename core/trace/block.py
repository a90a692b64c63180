"""The record of one block: what the window steps through, forwards and backwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.emulator.block_record import ChunkRecord
from core.emulator.events import AccessEvent, FaultEvent, TransferEvent
from core.launch import WARP, Dim3
from core.ptx.debug.mangled_names import source_name
from core.trace.access import Access, Array, SharedArray, SharedState, owner_of
from core.trace.memory_history import SharedHistory
from core.trace.phases import FilledAhead, Phase, filled_ahead
from core.trace.program_info import ProgramInfo
from core.trace.running_sums import Positions, SoFar, SumsSoFar
from core.trace.steps import (
    EventKind,
    Executed,
    Path,
    Position,
    Segments,
    Steps,
    build_steps,
    position_in,
)
from core.trace.variables import Value, Variable, VariableReader, VariableRow

Unit = Literal["access", "line", "barrier", "phase"]
_ACCESSES = (EventKind.LOAD, EventKind.STORE, EventKind.ATOMIC)
_AT_ONCE = 512  # accesses whose addresses are compared together


class BlockTrace:
    """Everything that happened in one block. A *step* is an event, 0 … n_steps - 1.

    What is shown at a step is the state after it, except that at a LINE step the line is about to
    be executed. Columns with one place a step: `kind` (uint8, an `EventKind`), `line` of the source
    and `phase` (int32, -1 outside every phase), and `pc` (int64), the PTX instruction.

    `block` is its linear index, `index` blockIdx and `grid` gridDim; `place` is the block's place
    among those of the record, `lanes` its threads among the record's. `instructions` are the PTX
    instructions by pc; from one of the record's blocks to the next are `shared_stride` bytes of
    shared memory.
    """

    def __init__(
        self,
        record: ChunkRecord,
        segments: Segments,
        place: int,
        program: ProgramInfo,
        reader: VariableReader,
    ) -> None:
        geometry = record.geometry
        self.record, self._segments, self._reader = record, segments, reader
        self._program, self._geometry = program, geometry
        self.block, self.place, self.grid = int(geometry.blocks[place]), place, geometry.grid
        self.index = Dim3(*self.grid.at(self.block))
        self.n_threads, self.n_warps = geometry.threads, geometry.warps
        self.lanes = slice(place * self.n_threads, (place + 1) * self.n_threads)
        self.instructions, self.shared_stride = program.module.instructions, program.shared_stride
        self._paths: dict[int, Path] = {}
        self._so_far: dict[str, SumsSoFar] = {}
        self._path = segments.path(self.lanes)
        self._steps: Steps = build_steps(
            record,
            self._path,
            self.lanes,
            segments.masks,
            program.lines,
            program.exits,
            program.loops,
        )
        self.n_steps, self.kind, self.line = (
            len(self._steps.kind),
            self._steps.kind,
            self._steps.line,
        )
        self.phase, self.pc = self._steps.phase, self._steps.pc

    # -- the block and its record -------------------------------------------------------------

    @cached_property
    def threads(self) -> NDArray[np.int32]:
        """threadIdx of every thread: int32 (n_threads, 3), in x, y, z."""
        columns = self._geometry.block.at(np.arange(self.n_threads))
        return np.stack(columns, axis=1).astype(np.int32)

    @cached_property
    def barriers(self) -> int:
        """How many times all threads of the block met at a barrier and went on."""
        return sum(self.place in event.released for event in self.record.barriers)

    @cached_property
    def operations(self) -> tuple[tuple[int, TransferEvent], ...]:
        """The copies and products that the block's threads begin, each with its step."""
        lanes = self.lanes
        return tuple(
            (self.step_at(event.tick), event)
            for event in self.record.transfers
            if lanes.start <= int(event.lanes[0]) < lanes.stop
        )

    @cached_property
    def operation_steps(self) -> NDArray[np.int64]:
        """The steps in which the block begins bulk copies and products, ascending, each once."""
        return np.unique(np.array([step for step, _ in self.operations], np.int64))

    def array(self, name: str) -> Array | None:
        """The array in global memory of that name."""
        return self._program.array(name)

    def event_at(self, step: int) -> AccessEvent:
        """What the machine wrote down of the access that a step makes."""
        return self.record.accesses[int(self._steps.event[step])]

    def executions(self, pc: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """When the block's threads executed an instruction, and the lanes that did, by tick.

        Lanes that the guard of arithmetic or of a jump holds back count among them.
        """
        every = np.arange(self.lanes.start, self.lanes.stop)
        for place in np.flatnonzero(self._path.pcs == pc).tolist():
            tick = int(self._path.ticks[place])
            way = self._segments.masks[int(self._path.segments[place])]
            mask = self.record.guarded.get(tick, way)
            lanes = every if mask is None else every[mask[self.lanes]]
            if len(lanes):
                yield tick, lanes

    # -- columns ----------------------------------------------------------------------------

    def kind_at(self, step: int) -> int:
        """The `EventKind` of one step as Python's number: NumPy's compares slowly with an enum."""
        return int(self._steps.kind[step])

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases in order, each with its first and last step."""
        numbers = self.phase
        found = []
        for number in range(int(numbers.max(initial=-1)) + 1):
            steps = np.flatnonzero(numbers == number)
            if len(steps):
                found.append(Phase(number, int(steps[0]), int(steps[-1])))
        return tuple(found)

    @cached_property
    def filling(self) -> FilledAhead:
        """Which phases only fill tiles for those that come after them."""
        steps, spaces = self._accesses
        loads, shared = self.kind[steps] == EventKind.LOAD, spaces == "shared"
        stores = steps[shared & (self.kind[steps] == EventKind.STORE)]
        fetches = steps[loads & (spaces == "global")]
        return filled_ahead(self.phases, fetches, stores, steps[shared & loads])

    def spaces_of(self, line: int) -> frozenset[str]:
        """The memories that a source line accesses: "global", "shared", "local", "const"."""
        steps, spaces = self._accesses
        return frozenset(np.unique(spaces[self.line[steps] == line]).tolist())

    @cached_property
    def _accesses(self) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
        """Every step that accesses memory, ascending, and the space that each accesses."""
        steps = np.flatnonzero(np.isin(self.kind, _ACCESSES))
        events = self.record.accesses
        spaces = [events[int(event)].region.space for event in self._steps.event[steps]]
        return steps, np.array(spaces, np.str_)

    # -- moving -----------------------------------------------------------------------------

    def seek(self, step: int, unit: Unit, *, forward: bool) -> int:
        """The next (or previous) step at which a unit begins; the last (or first) if there is none.

        The unit "access" is one of `access_steps`, or where a bulk copy or a product begins.
        Backwards by phase goes to the start of this phase, and from there to the one before.
        """
        stops = self._stops[unit]
        if forward:
            place = int(np.searchsorted(stops, step, "right"))
            return int(stops[place]) if place < len(stops) else self.n_steps - 1
        place = int(np.searchsorted(stops, step, "left")) - 1
        return int(stops[place]) if place >= 0 else 0

    @cached_property
    def access_steps(self) -> NDArray[np.int64]:
        """The steps that access memory, ascending.

        Local memory, a thread's own arrays that no other thread sees, is passed over, unless the
        block accesses nothing else.
        """
        steps, spaces = self._accesses
        visible = steps[spaces != "local"]
        return visible if len(visible) else steps

    def _visible_accesses(self) -> NDArray[np.int64]:
        """`access_steps`; none where they are local and operations move what there is."""
        steps, spaces = self._accesses
        only_local = bool(len(steps)) and bool(np.all(spaces == "local"))
        return steps[:0] if only_local and len(self.operation_steps) else self.access_steps

    @cached_property
    def _stops(self) -> dict[str, NDArray[np.int64]]:
        starts = [phase.first for phase in self.phases]
        return {
            "access": np.union1d(self._visible_accesses(), self.operation_steps),
            "line": np.flatnonzero(self.kind == EventKind.LINE),
            "barrier": np.flatnonzero(self.kind == EventKind.BARRIER),
            "phase": np.array(starts, np.int64),
        }

    def step_at(self, tick: int) -> int:
        """The step of the machine's `tick`: the last that begins no later."""
        return max(int(np.searchsorted(self._steps.tick, tick, "right")) - 1, 0)

    # -- what threads do and hold ---------------------------------------------------------

    def variables(self, step: int, thread: int) -> tuple[Variable, ...]:
        """The variables of a thread in scope at a step."""
        position = self._position(step, thread)
        if position is None:
            return ()
        before: dict[Any, Value | None] = {}
        if step > 0:
            earlier = self._position(step - 1, thread)
            if earlier is not None and position.goes_on_from(earlier):
                before = dict(self._read(earlier.at_depth(position.depth), thread))
        return tuple(
            Variable(
                info.name, info.type.name, value, value is not None and before.get(info) != value
            )
            for info, value in self._read(position, thread)
        )

    def variable_table(self, step: int, warp: int) -> list[VariableRow]:
        """The variables of a warp's threads, a row each; None where a lane has no such value."""
        rows: dict[str, VariableRow] = {}
        for lane in range(WARP):
            thread = warp * WARP + lane
            if thread >= self.n_threads:
                break
            position = self._position(step, thread)
            for info, value in self._read(position, thread) if position is not None else ():
                row = rows.setdefault(
                    info.name, VariableRow(info.name, info.type.name, [None] * WARP)
                )
                row.values[lane] = value
        return list(rows.values())

    def _position(self, step: int, thread: int) -> Position | None:
        """Where a thread is at a step: in its function, or in the caller of a header's function."""
        position = position_in(self._thread_path(thread), self._tick_after(step))
        while (
            position is not None
            and position.depth
            and not self._reader.is_of_the_source(position.pc)
        ):
            position = position.at_depth(position.depth - 1)
        return position

    def _tick_after(self, step: int) -> int:
        """The tick up to which everything has happened at a step."""
        return int(self._steps.tick[step]) + (self.kind_at(step) != EventKind.LINE)

    def _read(self, position: Position, thread: int) -> list[tuple[Any, Value | None]]:
        lane = self.lanes.start + thread
        return self._reader.at(position.pc, position.depth, position.tick, lane)

    def executed(self, thread: int) -> Executed:
        """The instructions that a thread executed, in order, and the steps that they belong to."""
        path, ticks = self._thread_path(thread), self._steps.tick
        last = np.maximum(np.searchsorted(ticks, path.ticks, "right") - 1, 0)
        first = np.searchsorted(ticks, path.ticks, "left")
        return Executed(path.pcs, path.depths, first, last, path.ticks)

    def _thread_path(self, thread: int) -> Path:
        if thread not in self._paths:
            lane = self.lanes.start + thread
            self._paths[thread] = self._segments.path(slice(lane, lane + 1))
        return self._paths[thread]

    # -- running sums -----------------------------------------------------------------------

    def so_far(self, name: str, step: int) -> SoFar:
        """What threads hold at a step in the variables that they store to a global array later.

        Only of elements that are not stored yet, and of variables that can be followed to their
        store. Raises KeyError for a name that the launch has not.
        """
        array = self._program.array(name)
        if array is None:
            raise KeyError(f"the launch has no array {name!r}")
        return self._sums(array).at(self._tick_after(step), self._positions)

    def _sums(self, array: Array) -> SumsSoFar:
        if array.name not in self._so_far:
            self._so_far[array.name] = SumsSoFar(self.record, self.lanes, self._reader, array)
        return self._so_far[array.name]

    def _positions(self, tick: int) -> Positions:
        """Where the threads are in the kernel itself before a tick, those of one way together."""
        found = ((threads, position_in(path, tick)) for threads, path in self._ways)
        return [
            (threads, position.at_depth(0)) for threads, position in found if position is not None
        ]

    @cached_property
    def _ways(self) -> list[tuple[Any, Path]]:
        return self._segments.ways(self.lanes)

    # -- one step ---------------------------------------------------------------------------

    def active(self, step: int) -> NDArray[np.bool_]:
        """Which threads take part, padded to whole warps: bool (n_warps * 32,)."""
        event = int(self._steps.event[step])
        if event < 0:
            segment = self._path.segments[self._steps.instruction[step]]
            mask = self._segments.masks[int(segment)]
        elif self.kind_at(step) == EventKind.BARRIER:
            mask = self.record.barriers[event].mask
        else:
            mask = self.record.accesses[event].mask
        return self._padded(np.ones(self.n_threads, bool) if mask is None else mask[self.lanes])

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
        return values[self.lanes]

    def access(self, step: int) -> Access | None:
        """The memory access that the step makes, or None."""
        if self.kind_at(step) not in _ACCESSES:
            return None
        place, event = int(self._steps.event[step]), self.event_at(step)
        space = event.region.space
        address = self._of_block(event.address)
        active = self.active(step)
        values = [self._of_block(v) for v in event.values]
        wrong, fault = None, ""
        if place in self.record.faults:
            wrong, fault, address, values = self._illegal(place, address, values)
        array: Array | SharedArray | None = self._program.array(event.region.name)
        if space == "shared":
            address = address - event.region.base
            one = int((active if wrong is None or active.any() else wrong).argmax())
            array = owner_of(self._program.shared_arrays, int(address[one]))
            if array is None and wrong is not None and len(self._program.shared_arrays):
                array = max(self._program.shared_arrays, key=lambda a: a.offset)
        issue = self._program.issues[event.pc]
        return Access(
            step=step,
            kind=event.kind,
            space=space,
            width=event.width,
            line=int(self.line[step]),
            array=array,
            addresses=self._padded(address),
            active=active,
            values=self._padded(values[0] if len(values) == 1 else np.stack(values, axis=1)),
            sharing=issue.sharing,
            variable=source_name(event.region.name) if space in ("const", "global") else "",
            exchanges=issue.is_exchange_if_equal,
            wrong=wrong,
            fault=fault,
            origin=event.region.base,
            pc=event.pc,
            led=issue.instruction.led,
            is_copy=issue.is_copy,
            is_reduction=event.kind == "atomic" and issue.is_reduction,
        )

    @cached_property
    def illegal_steps(self) -> NDArray[np.int64]:
        """The steps in which an access of one of the block's threads is illegal, ascending."""
        mine = [
            place
            for place, faults in self.record.faults.items()
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
        return (fault.lanes >= self.lanes.start) & (fault.lanes < self.lanes.stop)

    def _illegal(
        self, place: int, address: NDArray[np.int64], values: list[NDArray[Any]]
    ) -> tuple[NDArray[np.bool_] | None, str, NDArray[np.int64], list[NDArray[Any]]]:
        """Which of the block's threads an access is illegal for, and why.

        And the access's addresses and values with those threads' put in.
        """
        wrong, kind = np.zeros(self.n_threads, bool), ""
        for fault in self.record.faults[place]:
            mine = self._of_this(fault)
            threads = fault.lanes[mine] - self.lanes.start
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

        def is_there(step: int) -> bool:
            region = self.event_at(step).region
            return region.space == "shared" if name in shared else region.name == name

        steps = [step for step in self.access_steps.tolist() if is_there(step)]
        events = [self.event_at(step) for step in steps]
        parts = [
            self._hits(events[at : at + _AT_ONCE], first, size)
            for at in range(0, len(events), _AT_ONCE)
        ]
        hit = np.concatenate(parts) if parts else np.empty(0, bool)
        found: NDArray[np.intp] = np.array(steps, np.intp)[hit]
        return found

    def _hits(self, events: Sequence[AccessEvent], first: int, size: int) -> NDArray[np.bool_]:
        """Which accesses touch any of `size` bytes from `first` on in their region: bool (n,)."""
        bases = np.array([event.region.base for event in events])[:, None]
        widths = np.array([event.width for event in events])[:, None]
        offset = np.stack([self._of_block(event.address) for event in events]) - bases
        hit = (offset < first + size) & (offset + widths > first)
        for row in np.flatnonzero(hit.any(axis=1)).tolist():
            mask = events[row].mask
            if mask is not None:
                hit[row] &= mask[self.lanes]
        return np.asarray(hit.any(axis=1))

    def shared(self, step: int) -> dict[str, SharedState]:
        """What every shared array holds after the step.

        An asynchronous copy loads in one step and stores in the next, both at one tick.
        """
        loads = self.kind_at(step) == EventKind.LOAD
        return self._shared_history.at(int(self._steps.tick[step]) - int(loads))

    @cached_property
    def _shared_history(self) -> SharedHistory:
        first = self.place * self.shared_stride
        return SharedHistory(self.record, self.lanes, self._program.shared_arrays, first)
