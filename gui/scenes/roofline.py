"""The roofline of the ceilings page: where measured runs stand, and its frame."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gui.scenes.benchmark_results import neighbours

if TYPE_CHECKING:
    from core.devices.device_table import Device
    from core.ladder import Ladder
    from core.models.ceilings import Ceilings
    from gui.scenes.ceilings_shown import Run

_ROWS = 5
_BOXES = 200  # along the roof: each is hardly higher than the line
NEIGHBOURS = 3  # of the chosen kernel, in the simple plot


@dataclass(frozen=True)
class Mark:
    """A run on the plot: at `x` FLOP per byte that its source asks for."""

    x: float
    run: Run
    chosen: bool = False


def marks(
    runs: Iterable[Run], intensities: Mapping[object, float], chosen: Run | None
) -> tuple[Mark, ...]:
    """The runs whose intensity is known; of runs of the same launch, the best."""
    best: dict[object, Run] = {}
    for run in runs:
        if run.key not in best or run.gflops > best[run.key].gflops:
            best[run.key] = run
    return tuple(
        Mark(intensities[key], run, chosen is not None and key == chosen.key)
        for key, run in best.items()
        if key in intensities
    )


def simple(found: Sequence[Mark], ladder: Ladder, rung: str) -> tuple[Mark, ...]:
    """A kernel's mark and those of its neighbours on the ladder, one for each kernel.

    The kernel's is that of the chosen launch, or of its fastest where that was not measured.
    """
    kind = ladder[rung].arithmetic if rung in ladder.names else "float32"
    best = _best(mark for mark in found if ladder[mark.run.rung].arithmetic == kind)
    order = [name for name in ladder.names if name in best]
    return tuple(best[name] for name in neighbours(order, rung, NEIGHBOURS))


def _best(found: Iterable[Mark]) -> dict[str, Mark]:
    """A mark for each kernel: the chosen one or the fastest."""
    best: dict[str, Mark] = {}
    for mark in found:
        old = best.get(mark.run.rung)
        if old is None or (mark.chosen, mark.run.gflops) > (old.chosen, old.run.gflops):
            best[mark.run.rung] = mark
    return best


def chains(found: Sequence[Mark], ladder: Ladder) -> tuple[tuple[Mark, ...], ...]:
    """One mark a rung, in the order of the ladder: the chosen one or the fastest.

    There is one chain for each series of rungs (numbers 10 to 19, 20 to 29 …).
    """
    best = _best(found)
    series: dict[int, list[Mark]] = {}
    for name in ladder.names:
        if name in best:
            series.setdefault(ladder[name].number // 10, []).append(best[name])
    return tuple(tuple(marks) for marks in series.values())


@dataclass(frozen=True)
class Label:
    """A name at a place of the plot (decimal logarithms of FLOP/B and GFLOPS)."""

    x: float
    y: float
    text: str
    chosen: bool = False
    """Whether it names the launch whose ceilings are drawn."""


def labels(chained: Sequence[Mark], apart: tuple[float, float]) -> tuple[Label, ...]:
    """Names for the marks; marks nearer than `apart` (decades in x and y) share one."""
    groups: list[list[Mark]] = []
    for mark in chained:
        for group in groups:
            first = group[0]
            near_x = abs(math.log10(mark.x / first.x)) < apart[0]
            if near_x and abs(math.log10(mark.run.gflops / first.run.gflops)) < apart[1]:
                group.append(mark)
                break
        else:
            groups.append([mark])
    made = []
    for group in groups:
        x = sum(math.log10(m.x) for m in group) / len(group)
        y = min(math.log10(m.run.gflops) for m in group)
        run = group[0].run
        text = run.name if len(group) == 1 else f"{run.title} and {len(group) - 1} more"
        made.append(Label(x, y, text, any(mark.chosen for mark in group)))
    return tuple(made)


Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in decades."""


def at_left(
    frame: Roofline, y: float, size: tuple[float, float], gap: float, taken: Iterable[Box]
) -> bool:
    """Whether the name of a ceiling at y stands at its left end, else beside its right one.

    It goes where the roof does not run through it, nor what is `taken`. `size`: width and height of
    the name; `gap` lies between it and the ceiling's end. All in decades.
    """
    width, half = size[0], size[1] / 2
    left, right = math.log10(frame.left), math.log10(frame.right)
    end = math.log10(frame.x) if frame.x is not None else right
    before = (left, y - half, left + width + gap, y + half)
    behind = (end + gap, y - half, end + gap + width, y + half)
    wrong_before = _crossed(frame, before) + 2 * (before[2] > end)
    wrong_behind = _crossed(frame, behind) + 2 * (behind[2] > right)
    wrong_behind += any(_meet(behind, one) for one in taken)
    return wrong_before <= wrong_behind


def beside(
    at: tuple[float, float],
    size: tuple[float, float],
    gap: tuple[float, float],
    right: float,
    taken: Sequence[Box],
    left: float = -math.inf,
) -> Box:
    """Where the name of the point `at` stands: right or left of it, a little below or above.

    The nearest of these that meets nothing `taken` and lies between `left` and `right`, up to
    `_ROWS` rows away; else it is moved down.
    `size` is width and height, `gap` what lies between them and the point. All in decades.
    """
    (x, y), (wide, high) = at, size
    across = [x + gap[0], x - gap[0] - wide]
    if across[0] + wide > right:
        across = [across[1], right - wide - 1e-9]  # or above or below, as far right as it can be
    across = [max(begin, left + 1e-9) for begin in across]
    ways = [
        (begin, top)
        for row in range(_ROWS)
        for begin in across
        for top in (y - gap[1] - row * high, y + gap[1] + (row + 1) * high)
    ]
    boxes = [(begin, top - high, begin + wide, top) for begin, top in ways]
    free = (box for box in boxes if not any(_meet(box, one) for one in taken))
    return next((box for box in free if box[2] <= right), None) or below(boxes[0], taken)


def below(box: Box, taken: Iterable[Box]) -> Box:
    """A box moved down until it meets nothing that is `taken`."""
    left, bottom, right, top = box
    high = top - bottom
    for one in sorted(taken, key=lambda taken: taken[3], reverse=True):
        if _meet((left, top - high, right, top), one):
            top = one[1]
    return left, top - high, right, top


def roof_boxes(frame: Roofline) -> list[Box]:
    """Small boxes along the roof: no name of a point is to be struck through by it."""
    left, right = math.log10(frame.left), math.log10(frame.right)
    slope, peak = math.log10(frame.bandwidth), math.log10(frame.peak)
    places = [left + (right - left) * i / _BOXES for i in range(_BOXES + 1)]
    heights = [min(x + slope, peak) for x in places]
    return [
        (x, y, next_x, next_y)
        for (x, next_x), (y, next_y) in zip(pairwise(places), pairwise(heights), strict=True)
    ]


def _crossed(frame: Roofline, box: Box) -> bool:
    slope, peak = math.log10(frame.bandwidth), math.log10(frame.peak)
    low, high = (min(x + slope, peak) for x in (box[0], box[2]))
    return low <= box[3] and high >= box[1]


def _meet(one: Box, other: Box) -> bool:
    apart = one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
    return not apart


def spread(places: Sequence[float], gap: float) -> tuple[float, ...]:
    """Places moved apart so that neighbours are `gap` away, each as near to its own as it can be.

    `places` ascend. Neighbours that are too near share the error.
    """
    blocks: list[tuple[float, int]] = []  # of neighbours that touch: the sum of errors, how many
    for index, place in enumerate(places):
        total, members = place - index * gap, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / members:
            before, count = blocks.pop()
            total, members = before + total, count + members
        blocks.append((total, members))
    found: list[float] = []
    for total, members in blocks:
        found += [total / members + (len(found) + place) * gap for place in range(members)]
    return tuple(found)


@dataclass(frozen=True)
class Roofline:
    """The plot's frame: intensity of the chosen launch, and ranges, all in FLOP/B and GFLOPS."""

    x: float | None
    left: float
    right: float
    bottom: float
    top: float
    bandwidth: float
    peak: float

    @property
    def ridge(self) -> float:
        """Where the slope meets the flat part."""
        return self.peak / self.bandwidth


def roofline(
    found: Ceilings | None,
    device: Device,
    shown: Sequence[Mark],
    names: Collection[str] | None = None,
) -> Roofline:
    """The frame for a device, the marks, and the ceilings within eight times its peak.

    So is the one that binds. `names` are the ceilings that are shown, None for all of them.
    """
    textbook = found.ceilings.get("textbook") if found is not None else None
    x = textbook.intensity if textbook is not None else None
    xs = [mark.x for mark in shown] + ([x] if x else [])
    left = min([0.25, *xs]) / 90  # room for the names of the ceilings
    right = max([device.ridge * 6, *(x * 60 for x in xs)])  # room for the names of the points
    rates = [mark.run.gflops for mark in shown] + [device.peak_gflops, device.bandwidth_gbs / 8]
    if found is not None:
        rates += [c.gflops for n, c in found.ceilings.items() if names is None or n in names]
    most = max(8 * device.peak_gflops, found.lowest.gflops if found is not None else 0)
    top = max(rate for rate in rates if rate <= most)
    return Roofline(
        x, left, right, min(rates) / 2, top * 2.2, device.bandwidth_gbs, device.peak_gflops
    )
