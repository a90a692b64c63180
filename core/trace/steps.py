"""The steps of a block: every line started, access made, barrier reached and exit, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from core.trace.phases import Filling, Loop, Phase, filling, phase_of

if TYPE_CHECKING:
    from core.emulator.events import Mask
    from core.emulator.record import ChunkRecord
    from core.ptx.ast import Module
    from core.trace.path import Path


class EventKind(IntEnum):
    """What happens in a step."""

    LINE = 0  # threads start a source line
    LOAD = 1
    STORE = 2
    ATOMIC = 3
    BARRIER = 4
    EXIT = 5  # threads end


_ACCESS = {"load": EventKind.LOAD, "store": EventKind.STORE, "atomic": EventKind.ATOMIC}


@dataclass(frozen=True)
class Steps:
    """Columns, one place a step.

    `kind` uint8, `line` and `phase` int32, `pc`, `tick`, `instruction` (place in the block's path)
    and `event` (place in the record's accesses or barriers, -1 otherwise) int64.
    """

    kind: NDArray[np.uint8]
    line: NDArray[np.int32]
    phase: NDArray[np.int32]
    pc: NDArray[np.int64]
    tick: NDArray[np.int64]
    instruction: NDArray[np.int64]
    event: NDArray[np.int64]


@dataclass(frozen=True)
class Executed:
    """What one thread executed: columns with one place an instruction, all int64 (n,).

    `last_steps` is the step that an instruction belongs to: the last that begins no later. Steps
    `first_steps` to it are its own (an access that it makes); there are none where first > last.
    """

    pcs: NDArray[np.int64]
    depths: NDArray[np.int64]
    first_steps: NDArray[np.int64]
    last_steps: NDArray[np.int64]
    ticks: NDArray[np.int64]


def source_lines(module: Module) -> NDArray[np.int32]:
    """The line of the user's source of every instruction, 0 where it has none.

    What comes from a header has none.
    """
    source = module.source_file
    return np.array(
        [i.position.line if i.position.file == source else 0 for i in module.instructions], np.int32
    )


def _with_line(lines: NDArray[np.int32]) -> NDArray[np.intp]:
    """The place of each instruction, or where it has no line that of the last before it with one.

    So a function of a header belongs to the line that calls it, at the caller's depth.
    """
    known = np.where(lines > 0, np.arange(len(lines)), 0)
    return np.maximum.accumulate(known)


def _caller(depths: NDArray[np.int64]) -> NDArray[np.intp]:
    """The place of each instruction, or of the kernel's own call if it is in a function called."""
    own = np.where(depths == 0, np.arange(len(depths)), 0)
    return np.maximum.accumulate(own)


def build_steps(
    record: ChunkRecord,
    path: Path,
    lanes: slice,
    masks: Sequence[Mask | None],
    line_of_pc: NDArray[np.int32],
    exits: NDArray[np.bool_],
    loops: tuple[Loop, ...],
) -> Steps:
    """The steps of the block whose lanes these are, with the mask of each segment of its path.

    `exits` says which pcs end a thread.
    """
    every = np.ones(lanes.stop - lanes.start, bool)

    def lanes_at(place: int) -> NDArray[np.bool_]:
        mask = masks[path.segments[place]]
        return every if mask is None else mask[lanes]

    lines = line_of_pc[path.pcs]
    known = _with_line(lines)
    lines, depths = lines[known], path.depths[known]
    starts = np.flatnonzero(_line_starts(path.pcs, known, lines, depths))
    ends = np.flatnonzero(exits[path.pcs] & (path.depths == 0))
    accesses = _taking_part([_tried(record, i) for i in range(len(record.accesses))], lanes)
    barriers = _taking_part([e.mask for e in record.barriers], lanes)
    access_ticks = np.array([record.accesses[i].tick for i in accesses], np.int64)
    barrier_ticks = np.array([record.barriers[i].tick for i in barriers], np.int64)
    kinds = [_ACCESS[record.accesses[i].kind] for i in accesses]
    seen = [record.accesses[i].region.space != "local" for i in accesses]
    reads = np.array(seen, bool) & (np.array(kinds, np.int64) != EventKind.STORE)
    places = np.searchsorted(path.ticks, access_ticks[reads])
    phases = phase_of(path.pcs, loops, places, lanes_at)
    phases = phases[_caller(path.depths)]

    tick = np.concatenate([path.ticks[starts], access_ticks, barrier_ticks, path.ticks[ends]])
    kind = np.concatenate(
        [
            np.full(len(starts), EventKind.LINE),
            np.array(kinds, np.int64),
            np.full(len(barriers), EventKind.BARRIER),
            np.full(len(ends), EventKind.EXIT),
        ]
    ).astype(np.uint8)
    none = np.full(len(starts), -1)
    event = np.concatenate([none, accesses, barriers, np.full(len(ends), -1)]).astype(np.int64)
    order = np.lexsort((kind != EventKind.LINE, tick))
    tick, kind, event = tick[order], kind[order], event[order]
    instruction = np.searchsorted(path.ticks, tick)
    return Steps(
        kind,
        lines[instruction],
        phases[instruction],
        path.pcs[instruction],
        tick,
        instruction,
        event,
    )


def _line_starts(
    pcs: NDArray[np.int64],
    known: NDArray[np.intp],
    lines: NDArray[np.int32],
    depths: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Where a line begins: another line or function, or a jump back in a loop on one line.

    In a loop over several lines the increment runs just before the test: one start for both.
    """
    starts = np.ones(len(lines), bool)
    starts[1:] = (lines[1:] != lines[:-1]) | (depths[1:] != depths[:-1])
    latest = np.maximum.accumulate(np.where(starts, np.arange(len(lines)), 0))
    back = np.zeros(len(lines), bool)
    own, before = pcs[1:], pcs[known[:-1]]  # not the jumps within functions of a header
    back[1:] = (known[1:] != known[:-1]) & (own <= before) & (own >= pcs[latest[1:]])
    return (starts | back) & (lines > 0)


def _tried(record: ChunkRecord, place: int) -> Mask | None:
    """The lanes that an access is one of, those whose part in it is illegal as well."""
    mask = record.accesses[place].mask
    if mask is None or place not in record.faults:
        return mask
    mask = mask.copy()
    for fault in record.faults[place]:
        mask[fault.lanes] = True
    return mask


def _taking_part(masks: list[Mask | None], lanes: slice) -> NDArray[np.int64]:
    """Places of the events in which one of the lanes takes part."""
    seen: dict[int, bool] = {}
    found = []
    for i, mask in enumerate(masks):
        if mask is None:
            found.append(i)
            continue
        present = seen.get(id(mask))
        if present is None:
            present = seen[id(mask)] = bool(mask[lanes].any())
        if present:
            found.append(i)
    return np.array(found, np.int64)


# The steps of a block as an axis: what each is, which phases there are, and moving along it.


Unit = Literal["access", "line", "barrier", "phase"]
ACCESSES = (EventKind.LOAD, EventKind.STORE, EventKind.ATOMIC)


class StepAxis:
    """The steps of a block, 0 … n_steps - 1. All columns have one place a step."""

    record: ChunkRecord  # what the machine wrote down of the blocks that ran together
    _steps: Steps

    # -- columns ----------------------------------------------------------------------------

    @property
    def n_steps(self) -> int:
        """How many steps there are."""
        return len(self._steps.kind)

    @property
    def kind(self) -> NDArray[np.uint8]:
        """The `EventKind` of every step."""
        return self._steps.kind

    def kind_at(self, step: int) -> int:
        """The `EventKind` of one step as Python's number: NumPy's compares slowly with an enum."""
        return int(self._steps.kind[step])

    @property
    def line(self) -> NDArray[np.int32]:
        """The source line of every step."""
        return self._steps.line

    @property
    def phase(self) -> NDArray[np.int32]:
        """The iteration of the main loop that every step belongs to, -1 outside."""
        return self._steps.phase

    @property
    def pc(self) -> NDArray[np.int64]:
        """The PTX instruction of every step, an index into the module's instructions."""
        return self._steps.pc

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
    def filling(self) -> Filling:
        """Which phases only fill tiles for those that come after them."""
        steps, spaces = self._accesses
        loads, shared = self.kind[steps] == EventKind.LOAD, spaces == "shared"
        stores = steps[shared & (self.kind[steps] == EventKind.STORE)]
        fetches = steps[loads & (spaces == "global")]
        return filling(self.phases, fetches, stores, steps[shared & loads])

    def spaces_of(self, line: int) -> frozenset[str]:
        """The memories that a source line accesses: "global", "shared", "local", "const"."""
        steps, spaces = self._accesses
        return frozenset(np.unique(spaces[self.line[steps] == line]).tolist())

    @cached_property
    def _accesses(self) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
        """Every step that accesses memory, ascending, and the space that each accesses."""
        steps = np.flatnonzero(np.isin(self.kind, ACCESSES))
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
    def operation_steps(self) -> NDArray[np.int64]:
        """The steps in which the block begins bulk copies and products, ascending, each once."""
        return np.zeros(0, np.int64)

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
