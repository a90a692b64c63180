"""The steps of a block as its threads see them: where each is, and what its variables hold."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from core.emulator.groups import WARP
from core.trace.arrays import Array
from core.trace.axis import StepAxis
from core.trace.path import Moment, Path, Segments, moment_in
from core.trace.program_info import ProgramInfo
from core.trace.steps import EventKind, Executed
from core.trace.sums_so_far import Moments, SoFar, SumsSoFar
from core.trace.variables import Value, Variable, VariableReader, VariableRow


class ThreadAxis(StepAxis):
    """The steps, and what any thread of the block has done and holds at each of them."""

    n_threads: int
    _lanes: slice[int, int]  # the threads' places in the machine
    _segments: Segments
    _program: ProgramInfo
    _reader: VariableReader

    def variables(self, step: int, thread: int) -> tuple[Variable, ...]:
        """The variables of a thread in scope at a step."""
        moment = self._moment(step, thread)
        if moment is None:
            return ()
        before: dict[Any, Value | None] = {}
        if step > 0:
            earlier = self._moment(step - 1, thread)
            if earlier is not None and moment.goes_on_from(earlier):
                before = dict(self._read(earlier.at_depth(moment.depth), thread))
        return tuple(
            Variable(
                info.name, info.type.name, value, value is not None and before.get(info) != value
            )
            for info, value in self._read(moment, thread)
        )

    def variable_table(self, step: int, warp: int) -> list[VariableRow]:
        """The variables of a warp's threads, a row each; None where a lane has no such value."""
        rows: dict[str, VariableRow] = {}
        for lane in range(WARP):
            thread = warp * WARP + lane
            if thread >= self.n_threads:
                break
            moment = self._moment(step, thread)
            for info, value in self._read(moment, thread) if moment is not None else ():
                row = rows.setdefault(
                    info.name, VariableRow(info.name, info.type.name, [None] * WARP)
                )
                row.values[lane] = value
        return list(rows.values())

    def _moment(self, step: int, thread: int) -> Moment | None:
        """Where a thread is at a step: in its function, or in the caller of one of a header."""
        moment = moment_in(self._thread_path(thread), self._tick_after(step))
        while moment is not None and moment.depth and not self._reader.is_of_the_source(moment.pc):
            moment = moment.at_depth(moment.depth - 1)
        return moment

    def _tick_after(self, step: int) -> int:
        """What happened before this tick has happened at a step."""
        return int(self._steps.tick[step]) + (self.kind_at(step) != EventKind.LINE)

    def _read(self, moment: Moment, thread: int) -> list[tuple[Any, Value | None]]:
        lane = self._lanes.start + thread
        return self._reader.at(moment.pc, moment.depth, moment.tick, lane)

    def executed(self, thread: int) -> Executed:
        """The instructions that a thread executed, in order, and the steps that they belong to."""
        path, ticks = self._thread_path(thread), self._steps.tick
        last = np.maximum(np.searchsorted(ticks, path.ticks, "right") - 1, 0)
        first = np.searchsorted(ticks, path.ticks, "left")
        return Executed(path.pcs, path.depths, first, last)

    def _thread_path(self, thread: int) -> Path:
        if thread not in self._paths:
            lane = self._lanes.start + thread
            self._paths[thread] = self._segments.path(slice(lane, lane + 1))
        return self._paths[thread]

    @cached_property
    def _paths(self) -> dict[int, Path]:
        return {}

    # -- running sums -----------------------------------------------------------------------

    def so_far(self, name: str, step: int) -> SoFar:
        """What threads hold at a step in the variables that they store to a global array later.

        Only of elements that are not stored yet, and of variables that can be followed to their
        store. Raises KeyError for a name that the launch has not.
        """
        array = self._program.array(name)
        if array is None:
            raise KeyError(f"the launch has no array {name!r}")
        return self._sums(array).at(self._tick_after(step), self._moments)

    def read_so_far_ahead(self, name: str, stores: int) -> bool:
        """Work a little more out for `so_far` before anybody asks; False when all is."""
        array = self._program.array(name)
        return array is not None and self._sums(array).read_ahead(stores)

    def _sums(self, array: Array) -> SumsSoFar:
        if array.name not in self._so_far:
            self._so_far[array.name] = SumsSoFar(self._record, self._lanes, self._reader, array)
        return self._so_far[array.name]

    def _moments(self, tick: int) -> Moments:
        """Where the threads are in the kernel itself before a tick, those of one way together."""
        found = ((threads, moment_in(path, tick)) for threads, path in self._ways)
        return [(threads, moment.at_depth(0)) for threads, moment in found if moment is not None]

    @cached_property
    def _ways(self) -> list[tuple[Any, Path]]:
        return self._segments.ways(self._lanes)

    @cached_property
    def _so_far(self) -> dict[str, SumsSoFar]:
        return {}
