"""What is shown: a launch's record, and of it the block that is selected."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from gui.scenes.breakpoints import Steps, break_steps
from gui.scenes.selection import Breakpoint, Element, exists

if TYPE_CHECKING:
    from core.recording.count_launch import Counted
    from core.trace import BlockTrace, Trace
    from gui.scenes.nsight_rows import Profile

_LAUNCH = attrgetter("source", "kernel", "defines", "parameters", "launch.grid", "launch.block")
"""What two workloads have in common if they are of one launch."""


class Shown:
    """One record at a time, open at one of its recorded blocks; it makes places fit it."""

    def __init__(self) -> None:
        self.trace: Trace | None = None
        self.block: BlockTrace | None = None
        self._stops: tuple[frozenset[Breakpoint], Steps] | None = None
        """Of the breakpoints that were asked about last; None for another block."""

    def open(self, block: int) -> int:
        """Open the recorded block nearest to one of the grid; returns which one it is."""
        self._stops = None
        if self.trace is None:
            self.block = None
            return 0
        nearest = min(self.trace.recorded_blocks, key=lambda known: (abs(known - block), known))
        self.block = self.trace.block(nearest)
        return int(nearest)

    def wants(self, block: int) -> int | None:
        """The block of the grid that has to be recorded before it can be opened; None for none."""
        if self.trace is None:
            return None
        block = max(0, min(int(block), self.trace.workload.launch.grid.count - 1))
        return None if block in self.trace.recorded_blocks else block

    @property
    def n_steps(self) -> int:
        """Number of steps of the block's record, 0 without one."""
        return self.block.n_steps if self.block is not None else 0

    @property
    def first_access(self) -> int:
        """The step of the block's first access to memory, where a new launch begins.

        A bulk copy is one, too: no lane of a kernel that loads by them may load anything itself.
        """
        if self.block is None or not self.n_steps or self.block.access(0) is not None:
            return 0
        copies = [at for at, begun in self.block.operations if begun.kind != "product"]
        return self.clamp_step(min([self.block.seek(0, "access", forward=True), *copies[:1]]))

    def clamp_step(self, step: int) -> int:
        """The recorded step nearest to a number."""
        return max(0, min(int(step), self.n_steps - 1))

    def clamp_thread(self, thread: int) -> int:
        """The nearest thread of the block."""
        count = self.block.n_threads if self.block is not None else 1
        return max(0, min(int(thread), count - 1))

    def has(self, element: Element | None) -> bool:
        """Whether the launch has an element."""
        return element is not None and self.trace is not None and exists(self.trace, element)

    def is_of_launch(self, counted: Counted | Profile | None) -> bool:
        """Whether counts, or a profile's, are of the launch that was recorded."""
        if counted is None or self.trace is None:
            return False
        return bool(_LAUNCH(counted.workload) == _LAUNCH(self.trace.workload))

    def stops(self, places: frozenset[Breakpoint]) -> Steps:
        """The block's steps at which any of the breakpoints stops, ascending, each once."""
        if self.trace is None or self.block is None or not places:
            return np.empty(0, np.intp)
        if self._stops is None or self._stops[0] != places:
            self._stops = (places, break_steps(self.trace, self.block, places))
        return self._stops[1]
