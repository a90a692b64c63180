"""Reads in a view's idle moments what will be asked for next."""

from __future__ import annotations

import time
from collections.abc import Iterable

from PySide6.QtCore import QObject, QTimer, Signal

from gui.scenes.grids import Grid, Owned, owned_by
from gui.scenes.history import history_of
from gui.views.base import SessionView

TICK_S = 0.002  # of the UI thread's time, while it has nothing else to do
ACCESSES_AT_ONCE = 2
PAUSE_MS = 100


class ReadingAhead(QObject):
    """Works while its view is seen and nobody steps.

    First it reads the rest of the block's record, so that jumping to its end need not read it all,
    and what its threads hold for C; then the other blocks' shares of C, after the last of which
    `all_known` is emitted.
    """

    all_known = Signal()

    def __init__(self, view: SessionView) -> None:
        super().__init__(view)
        self._view = view
        self._results: tuple[Grid, ...] = ()
        self.owned: dict[int, tuple[Owned, ...]] = {}
        """What each block stores to each of the results, of those that are known."""
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._work)

    @property
    def busy(self) -> bool:
        """Whether there is something left to read."""
        return self._timer.isActive()

    def forget(self) -> None:
        """Another trace, or other grids."""
        self.owned = {}

    def open(self, grids: Iterable[Grid]) -> tuple[Owned, ...]:
        """Begin with the session's block; gives its share of those that are results."""
        self._results = tuple(grid for grid in grids if grid.result)
        self._timer.start(0)
        return self._read(self._view.session.block)

    def _read(self, block: int) -> tuple[Owned, ...]:
        trace = self._view.session.trace
        if trace is None:
            return ()
        if block not in self.owned:
            shares = (owned_by(trace, result, block) for result in self._results)
            self.owned[block] = tuple(share for share in shares if share is not None)
        return self.owned[block]

    def pause(self) -> None:
        """Let whoever steps have the time."""
        if self.busy:
            self._timer.start(PAUSE_MS)

    def resume(self) -> None:
        """Go on, after a pause."""
        self._timer.start(PAUSE_MS)

    def stop(self) -> None:
        """Work no more until `open` or `resume`."""
        self._timer.stop()

    def _work(self) -> None:
        self._timer.setInterval(0)
        block, end = self._view.session.block_trace, time.perf_counter() + TICK_S
        more = block is not None and self._view.isVisible()
        names = [result.array.name for result in self._results]
        while more and block is not None and time.perf_counter() < end:
            more = (
                history_of(block).read_ahead(ACCESSES_AT_ONCE)
                or any(block.read_so_far_ahead(name, ACCESSES_AT_ONCE) for name in names)
                or self._one_more_block()
            )
        if not more:
            self._timer.stop()

    def _one_more_block(self) -> bool:
        """Another block's share; False when all are known."""
        trace = self._view.session.trace
        if trace is None or not self._results:
            return False
        missing = [block for block in trace.recorded_blocks if block not in self.owned]
        for block in missing[:1]:
            self._read(block)
        if len(missing) == 1:
            self.all_known.emit()
        return len(missing) > 1
