"""Why the total of a source line or an array is what it is: its requests, and one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from core.explain.access_explained import WARP, explain_access
from core.explain.explanation import Explanation, Section
from core.rules import shared_memory
from core.rules.counters import UNITS, WAYS, Count, measures_of

if TYPE_CHECKING:
    from core.trace.access import Access
    from core.trace.block import BlockTrace

MOST_ACCESSES = 48  # of a block, that are looked through for the spread


@dataclass(frozen=True)
class Place:
    """Whose total: a source line, an array, or both None for the launch.

    `space` is one of `UNITS`, `way` one of `WAYS`.
    """

    space: str
    way: str
    line: int | None = None
    array: str | None = None

    @property
    def name(self) -> str:
        """The place in words."""
        where = f"Line {self.line}" if self.line is not None else self.array or "The launch"
        return f"{where}: {self.space} {WAYS[self.way]}s"

    def holds(self, access: Access) -> bool:
        """Whether an access counts here."""
        array = access.array.name if access.array is not None else None
        kind = {"red": "atomic"}.get(self.way, WAYS[self.way])
        return (
            access.space == self.space
            and access.kind == kind
            and (self.line is None or access.line == self.line)
            and (self.array is None or array == self.array)
        )


def explain_total(
    counts: Mapping[str, Count], place: Place, block: BlockTrace, step: int = 0, warp: int = 0
) -> Explanation:
    """A total taken apart; `counts` are those of the place, such as `Counters.by_line[line]`.

    The example is the access of `step` if it counts here, else the block's first that does.
    """
    unit = UNITS[place.space]
    requests = counts.get(f"{place.space}_{place.way}_requests", Count()).value
    moved = counts.get(f"{place.space}_{place.way}_{unit}", Count())
    mean = moved.value / requests if requests else 0.0
    title = f"{place.name}: {_grouped(moved.value)} {unit} where {_grouped(moved.ideal)} would do"
    total = Section(
        f"{unit.capitalize()} = {_grouped(moved.value)}",
        f"The sum over {_grouped(requests)} requests (a memory instruction of a warp each), over "
        "all blocks that were counted.",
        (f"{_grouped(requests)} requests × {mean:.4g} {unit} each on average",),
    )
    ideal = Section(
        f"Ideal = {_grouped(moved.ideal)}",
        "The same sum over what each request would take with its bytes side by side.",
        (
            f"excessive = {_grouped(moved.value)} - {_grouped(moved.ideal)} = "
            f"{_grouped(moved.excessive)}",
        ),
    )
    sections = [total, ideal, *_further(counts, place)]
    found = list(islice(_accesses(block, place), MOST_ACCESSES + 1))
    if found:
        accesses, now = found[:MOST_ACCESSES], block.access(step)
        whole = len(found) == len(accesses)
        sections.append(_spread(accesses, block, unit, whole=whole))
        chosen = now if now is not None and place.holds(now) else accesses[0]
        example = explain_access(chosen, _busy(chosen, warp))
        sections.append(Section("One of these requests", f"{example.title}, step {chosen.step}."))
        sections += example.sections
    elif place.space == "local" and requests:
        sections.append(
            Section(
                "Registers",
                "No step of this block shows these requests: the compiler moves registers to local "
                "memory and back where a kernel has too few of them, or a function is called.",
            )
        )
    return Explanation(title, tuple(sections))


def _further(counts: Mapping[str, Count], place: Place) -> list[Section]:
    """What else is measured of the space, such as bank conflicts."""
    found = []
    for measure in measures_of(place.space):
        count = counts.get(f"{place.space}_{place.way}_{measure.name}")
        if count is not None and measure.name not in ("requests", UNITS[place.space]):
            heading = f"{measure.name.capitalize()} = {_grouped(count.value)}"
            found.append(Section(heading, measure.rule))
    return found


def _accesses(block: BlockTrace, place: Place) -> Iterator[Access]:
    """The block's accesses that count at a place."""
    steps = np.arange(block.n_steps)
    if place.line is not None:
        steps = np.flatnonzero(np.asarray(block.line) == place.line)
    for step in steps.tolist():
        access = block.access(step)
        if access is not None and place.holds(access):
            yield access


def _spread(accesses: list[Access], block: BlockTrace, unit: str, *, whole: bool) -> Section:
    """How many requests cost how much. `whole` says that these are all the block's accesses."""
    costs: Counter[int] = Counter()
    for access in accesses:
        rows = access.warps
        found = (
            access.warp_sectors
            if unit == "sectors"
            else shared_memory.wavefronts(*rows, access.width, access.sharing)
        )
        costs.update(found[rows[1].any(axis=1)].tolist())
    lines = tuple(
        f"{_grouped(n)} × {cost} {unit} = {_grouped(n * cost)}" for cost, n in sorted(costs.items())
    )
    limit = "" if whole else f" (its first {len(accesses)} accesses)"
    return Section(f"In block {block.block}", f"Requests by what they cost{limit}:", lines)


def _busy(access: Access, warp: int) -> int:
    """The warp, or the first that takes part where it does not."""
    if access.warp(warp).active.any():
        return warp
    return int(np.flatnonzero(access.active)[0]) // WARP


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")
