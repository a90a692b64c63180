"""The clock of a session: stepping, playing, and breakpoints that stop it. No Qt here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gui.scenes.breakpoints import Steps, break_steps
from gui.scenes.selection import Breakpoint, Unit
from gui.scenes.state import State

if TYPE_CHECKING:
    from core.trace import BlockTrace, Trace


class Clock(State):
    """Moves `step` through the selected block's record."""

    def __init__(self) -> None:
        super().__init__()
        self._trace: Trace | None = None
        self._block_trace: BlockTrace | None = None
        self._stops: tuple[frozenset[Breakpoint], Steps] | None = None
        """Of the breakpoints that were asked about last; None for another block."""

    @property
    def n_steps(self) -> int:
        """Number of steps of the selected block's record, 0 without one."""
        return self._block_trace.n_steps if self._block_trace is not None else 0

    def seek(self, unit: Unit | None = None, forward: bool = True) -> bool:
        """Move by one unit (the session's own when None); False at the end, where nothing moves."""
        if self._block_trace is None or not self.n_steps:
            return False
        before = self.step
        self.step = self._block_trace.seek(before, unit or self.unit, forward=forward)
        return self.step != before

    def first(self) -> None:
        """Go to the first step."""
        self.step = 0

    def last(self) -> None:
        """Go to the last step."""
        self.step = self.n_steps - 1

    def toggle_breakpoint(self, place: Breakpoint) -> None:
        """Set a breakpoint, or take it away."""
        self.breakpoints = self.breakpoints ^ {place}

    @property
    def break_steps(self) -> Steps:
        """The steps of the selected block at which a breakpoint stops, ascending."""
        trace, block = self._trace, self._block_trace
        if trace is None or block is None or not self.breakpoints:
            return np.empty(0, np.intp)
        if self._stops is None or self._stops[0] != self.breakpoints:
            self._stops = (self.breakpoints, break_steps(trace, block, self.breakpoints))
        return self._stops[1]

    def next_break(self, forward: bool = True) -> int | None:
        """The nearest step after (or before) this one at which a breakpoint stops, or None."""
        stops = self.break_steps
        if forward:
            place = int(np.searchsorted(stops, self.step, "right"))
        else:
            place = int(np.searchsorted(stops, self.step, "left")) - 1
        return int(stops[place]) if 0 <= place < len(stops) else None

    def run_to_break(self, forward: bool = True) -> bool:
        """Go to the next breakpoint; False where there is none, and nothing moves."""
        found = self.next_break(forward)
        self.update(playing=0, **({} if found is None else {"step": found}))
        return found is not None

    def play_on(self) -> None:
        """Move by one unit in the direction of play; stop at a breakpoint and at the end."""
        forward, block = self.playing > 0, self._block_trace
        if block is None or not self.n_steps:
            self.playing = 0
            return
        ahead, stop = block.seek(self.step, self.unit, forward=forward), self.next_break(forward)
        if stop is not None and (stop <= ahead if forward else stop >= ahead):
            self.update(playing=0, step=stop)
        elif ahead == self.step:
            self.playing = 0
        else:
            self.step = ahead
