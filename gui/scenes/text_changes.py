"""Where two texts of a source differ: lines, characters within a line, and gaps."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from gui.scenes.shortened_names import common_ends

MOST_LINES = 600  # between the first and the last difference; more are not lined up with each other


@dataclass(frozen=True)
class Changes:
    """Where one text differs from another; lines count from 1.

    `spans` are (line, first character, length) of what differs within a changed line. `gaps` are
    the lines in front of which the other text has lines that this one has not; one more than there
    are lines for its end.
    """

    lines: frozenset[int] = frozenset()
    spans: tuple[tuple[int, int, int], ...] = ()
    gaps: frozenset[int] = frozenset()

    @property
    def ends(self) -> tuple[int, int] | None:
        """The first changed line and the last that follows it without a break; None without one."""
        places = self.lines | self.gaps
        if not places:
            return None
        first = last = min(places)
        while last + 1 in self.lines:
            last += 1
        return first, last


@lru_cache(8)
def changes(old: str, new: str) -> tuple[Changes, Changes]:
    """Where `old` differs from `new`, and `new` from `old`."""
    one, two = old.split("\n"), new.split("\n")
    head, tail = common_ends(one, two)
    middle = one[head : len(one) - tail], two[head : len(two) - tail]
    if max(map(len, middle)) > MOST_LINES:
        blocks = [("replace", 0, len(middle[0]), 0, len(middle[1]))]
    else:
        matcher = SequenceMatcher(None, *middle, autojunk=False)
        blocks = [block for block in matcher.get_opcodes() if block[0] != "equal"]
    lines: tuple[set[int], set[int]] = (set(), set())
    gaps: tuple[set[int], set[int]] = (set(), set())
    spans: tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]] = ([], [])
    for _, *ends in blocks:
        for side, (first, last) in enumerate((ends[:2], ends[2:])):
            lines[side].update(range(head + first + 1, head + last + 1))
            if first == last:
                gaps[side].add(head + first + 1)
        if ends[1] - ends[0] == ends[3] - ends[2]:
            for i in range(ends[1] - ends[0]):
                texts = middle[0][ends[0] + i], middle[1][ends[2] + i]
                start, after = common_ends(*texts)
                for side, text in enumerate(texts):
                    if length := len(text) - start - after:
                        spans[side].append((head + ends[2 * side] + i + 1, start, length))
    made = [
        Changes(frozenset(lines[side]), tuple(spans[side]), frozenset(gaps[side]))
        for side in (0, 1)
    ]
    return made[0], made[1]
