"""What a question of a lesson veils, what a click answers it with, and the answers that it lights.

`Session.veiled` holds names of `core.lessons.lesson.VEILS`. Views ask `Session.hides(part)`, which
knows what else would give a veiled part away (`TELLS`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Union

if TYPE_CHECKING:  # what it imports loads the emulator: only a lesson needs that
    from core.lessons.lesson import Target
    from core.lessons.lesson_expressions import Element

Pick = Union["Element", int]
"""What a click answers with, as `core.lessons.posing_and_marking` takes it: an element of an array,
or a number: a thread (linear in its block), a lane 0..31, a sector (from the start of its array), a
bank 0..31, a line of the source."""

SEVERAL = 8  # things that are named one by one

MORE: Mapping[str, str] = MappingProxyType(
    {
        "matrices.caption": "the sentence over the matrices",
        "warp.elements": "which element each lane of the warp takes",
        "warp.caption": "the sentence over the warp",
        "shared.elements": "which element of a shared array each lane takes",
        "shared.caption": "the sentence over shared memory",
        "shared.copying": "what of shared memory is written, where asynchronous copies write it",
        "transport.caption": "the sentence beside the clock",
        "why": "the explanation of a number",
    }
)
"""Parts that no lesson names: they are veiled where another veil needs it."""

_COUNTS = ("counters", "gutter", "compare")
TELLS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "matrices.loaded": (
            *("matrices.caption", "matrices.heat", "warp.elements", "warp.sectors"),
            *("warp.figures", "warp.caption", "shared.caption", "transport.caption"),
        ),
        "matrices.owners": ("matrices.caption",),
        "matrices.heat": ("matrices.caption", "counters"),
        "matrices.values": ("matrices.caption", "variables"),
        "matrices.hatched": ("matrices.caption", "warp.caption", "warp.elements"),
        "warp": ("warp.caption", *_COUNTS),
        "warp.figures": ("warp.caption", *_COUNTS),
        "warp.sectors": ("warp.caption", *_COUNTS),
        "warp.heading": ("warp", "shared", "matrices.loaded", "transport.caption"),
        "shared": ("shared.caption", *_COUNTS),
        "shared.figures": ("shared.caption", *_COUNTS),
        "shared.banks": ("shared.caption", *_COUNTS),
        "shared.writers": (),
        "phases": (),
        "pipeline": ("shared.copying",),
        "variables": (),
        "counters": ("gutter", "compare"),
        "findings": ("matrices.caption", "warp.caption", "shared.caption", "transport.caption"),
        "compare": (),
        "ceilings": (),
        "occupancy": (),
        "occupancy.next": (),
        "occupancy.matters": (),
        "gutter": (),
        "source": ("gutter",),
        "transport": ("phases", "pipeline", "transport.caption", "matrices.caption"),
        "form": (),
        "benchmark": ("occupancy.matters",),
    }
)
"""What else would give each veiled part away. Why? is veiled with anything but `LEFT_OUT`."""

LEFT_OUT = frozenset({"occupancy.next", "occupancy.matters"})
"""Parts that an explanation leaves out while they are veiled."""


@dataclass(frozen=True)
class Lit:
    """The right answer beside the learner's own, once it is given.

    While the learner is still clicking, `right` is empty and `given` holds the picks so far.
    `by_writer` says that a thread stands for what it has stored in shared memory, as a question
    asks who stored it; else for what it accesses.
    """

    target: Target
    right: tuple[Pick, ...] = ()
    given: tuple[Pick, ...] = ()
    by_writer: bool = False

    def words(self, which: Literal["right", "given"]) -> str:
        """One of the answers in words: "Right: sectors 0, 2, 4", "Yours: A[0,2]"."""
        picks = getattr(self, which)
        if not picks:
            return ""
        names = [str(pick) for pick in picks[:SEVERAL]]
        more = f" and {len(picks) - SEVERAL} more" if len(picks) > SEVERAL else ""
        kind = "" if self.target == "element" else f"{self.target}{'s' * (len(picks) > 1)} "
        head = "Right" if which == "right" else "Yours"
        return f"{head}: {kind}{', '.join(names)}{more}"

    def told(self) -> str:
        """Both answers, once it is told which is right."""
        return "   ".join(words for words in (self.words("right"), self.words("given")) if words)


@cache
def covered(veiled: frozenset[str]) -> frozenset[str]:
    """All parts that are not to be seen: those that are veiled, and those that would tell."""
    if not veiled:
        return veiled
    found, new = {"why"} if veiled - LEFT_OUT else set(), set(veiled)
    while new:
        found |= new
        new = {part for name in new for part in TELLS.get(name, ())} - found
    return frozenset(found)


def hides(parts: frozenset[str], part: str) -> bool:
    """Whether a part is among the covered ones, or lies in one of them."""
    return part in parts or re.split("[.:]", part)[0] in parts


def pick_of(thing: Pick | tuple[str, tuple[int, ...]]) -> Pick:
    """What is picked as a question takes it: an element of the session becomes a lesson's."""
    if not isinstance(thing, tuple):
        return thing
    from core.lessons.lesson_expressions import Element

    return Element(*thing)
