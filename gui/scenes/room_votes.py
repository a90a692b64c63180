"""Votes of a room: a first count, and a second one after people have talked."""

from __future__ import annotations

from dataclasses import dataclass, field

BLOCK = "▮"
LONGEST = 24  # marks of a bar


@dataclass
class Votes:
    """Counts by the place of the choice. `second` says which count a vote goes to."""

    second: bool = False
    counts: dict[bool, dict[int, int]] = field(default_factory=lambda: {False: {}, True: {}})

    def add(self, place: int, by: int) -> None:
        """Count a vote, or take one away; never below none."""
        now = self.counts[self.second]
        now[place] = max(now.get(place, 0) + by, 0)

    def of(self, place: int) -> tuple[int, int]:
        """First and second count of a choice."""
        return self.counts[False].get(place, 0), self.counts[True].get(place, 0)

    def text(self, place: int) -> str:
        """The counts as they are shown: a bar and a number, the second beside the first."""
        first, second = self.of(place)
        if not self.second and not any(self.counts[True].values()):
            return f"{bar(first, self._most())} {first}" if first else ""
        return f"{first} → {second}  {bar(second, self._most())}"

    def _most(self) -> int:
        return max([1, *self.counts[False].values(), *self.counts[True].values()])


def bar(count: int, most: int) -> str:
    """As many marks as votes, or fewer where there are more votes than a bar has room for."""
    return BLOCK * (count if most <= LONGEST else round(count * LONGEST / most))
