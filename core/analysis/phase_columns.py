"""The columns of a phase table: the phases, and what lies before, between and after them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.trace.block import BlockTrace


@dataclass(frozen=True)
class Column:
    """A phase, or what lies before, between or after the phases (`phase` is then -1).

    `first` and `last` are its first and last step, both included.
    """

    title: str
    phase: int
    first: int
    last: int


class Spans:
    """Places steps in columns. A column's key is its phase, or lies half way between two."""

    def __init__(self, block: BlockTrace) -> None:
        self._phase, self._phases, self._end = block.phase, block.phases, block.n_steps - 1
        self._filling = block.filling

    def key(self, step: int) -> float:
        """The key of a step's column."""
        phase = int(self._phase[step])
        if phase >= 0:
            return float(phase)
        return sum(p.first <= step for p in self._phases) - 0.5

    def column(self, key: float) -> Column:
        """The column of a key."""
        if key == int(key):
            phase = self._phases[int(key)]
            ahead = ", fill ahead" if phase.index < self._filling.phases else ""
            return Column(f"Phase {phase.index}{ahead}", phase.index, phase.first, phase.last)
        after = int(key + 0.5)  # phases that have begun before it
        first = self._phases[after - 1].last + 1 if after else 0
        last = self._phases[after].first - 1 if after < len(self._phases) else self._end
        if not self._phases:
            return Column("Whole kernel", -1, first, last)
        before = "Fill ahead" if self._filling.before else "Before"
        names = {0: before, len(self._phases): "After"}
        return Column(names.get(after, "Between"), -1, first, last)
