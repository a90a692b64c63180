"""The steps of a block as an axis: what each is, which phases there are, and moving along it."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.emulator.record import ChunkRecord
from core.trace.phases import Filling, Phase, filling
from core.trace.steps import EventKind, Steps

Unit = Literal["access", "line", "barrier", "phase"]
ACCESSES = (EventKind.LOAD, EventKind.STORE, EventKind.ATOMIC)


class StepAxis:
    """The steps of a block, 0 … n_steps - 1. All columns have one place a step."""

    _record: ChunkRecord
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
        events = self._record.accesses
        spaces = [events[int(event)].region.space for event in self._steps.event[steps]]
        return steps, np.array(spaces, np.str_)

    # -- moving -----------------------------------------------------------------------------

    def seek(self, step: int, unit: Unit, *, forward: bool) -> int:
        """The next (or previous) step at which a unit begins; the last (or first) if there is none.

        The unit "access" is one of `access_steps`. Backwards by phase goes to the start of this
        phase, and from there to the one before.
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

    @cached_property
    def _stops(self) -> dict[str, NDArray[np.int64]]:
        starts = [phase.first for phase in self.phases]
        return {
            "access": self.access_steps,
            "line": np.flatnonzero(self.kind == EventKind.LINE),
            "barrier": np.flatnonzero(self.kind == EventKind.BARRIER),
            "phase": np.array(starts, np.int64),
        }

    def step_at(self, tick: int) -> int:
        """The step of the machine's `tick`: the last that begins no later."""
        return max(int(np.searchsorted(self._steps.tick, tick, "right")) - 1, 0)
