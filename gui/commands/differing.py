"""Goes to moments at which two compared launches differ, and opens the examples there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from gui.frames.pieces import Pieces, Steps
from gui.scenes.next_difference import (
    Measure,
    Pairs,
    Search,
    largest_difference,
    next_difference,
)
from gui.scenes.presets import Preset

if TYPE_CHECKING:
    from gui.commands.comparing import Comparing


class Differing(QObject):
    """Moves the clock of one comparison; a search leaves the window free for other things."""

    def __init__(self, comparing: Comparing) -> None:
        super().__init__(comparing)
        self.comparing = comparing
        self.a, self.b = comparing.a, comparing.b
        self.search = Pieces(self)
        self._example: Preset | None = None
        for recorder in (comparing.main.recorder, comparing.recorder):
            recorder.recorded.connect(self._soon)
            recorder.failed.connect(self._forget)

    def close(self) -> None:
        """End what runs, and listen no more."""
        self.search.stop()
        self._example = None
        self.comparing.main.recorder.recorded.disconnect(self._soon)
        self.comparing.main.recorder.failed.disconnect(self._forget)

    def go(self, *, forward: bool = True) -> None:
        """Go to the next (or previous) access of the selected warp that costs B something else."""
        pairs = self._pairs()
        if pairs is not None:
            where = "after" if forward else "before"
            said = f"Warp {pairs.warp} moves as much on both sides at every access {where} this."
            self._start(next_difference(pairs, self.a.step, forward=forward), said)

    def expect(self, example: Preset) -> None:
        """Go to what an example is about as soon as both sides have been recorded."""
        self.search.stop()
        self._example = example

    def _soon(self) -> None:
        QTimer.singleShot(0, self, self._open)

    def _forget(self, _: object) -> None:
        self._example = None

    def _open(self) -> None:
        recorders = self.comparing.main.recorder, self.comparing.recorder
        example, pairs = self._example, self._pairs()
        if example is None or pairs is None or any(r.worker.busy for r in recorders):
            return
        self._example = None
        if example.opens == "end":
            self.a.last()
        elif example.opens == "largest":
            self._start(largest_difference(pairs))
        else:
            measure: Measure = "lanes" if example.opens == "lanes" else "cost"
            self._start(next_difference(pairs, -1, measure=measure))

    def _pairs(self) -> Pairs | None:
        a, b = self.a.block_trace, self.b.block_trace
        return Pairs(a, b, self.a.warp) if a is not None and b is not None else None

    def _start(self, search: Search, said: str = "") -> None:
        self.a.playing = 0
        self.search.start(self._go(search, said))

    def _go(self, search: Search, said: str) -> Steps:
        found = yield from search
        if found is not None:
            self.a.update(playing=0, step=found)
        elif said:
            self.comparing.main.message.show_message(said, kind="info")
