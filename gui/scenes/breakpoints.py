"""Breakpoints: the steps at which they stop, how they are listed, and what an edit does to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gui.scenes.names_of_elements_and_threads import index_text
from gui.scenes.numbers_and_sentences import grouped, plural
from gui.scenes.selection import Breakpoint, exists, shapes

if TYPE_CHECKING:
    from core.trace import BlockTrace, Trace

Steps = NDArray[np.intp]


def break_steps(trace: Trace, block: BlockTrace, places: Iterable[Breakpoint]) -> Steps:
    """The steps of a block at which any of the breakpoints stops, ascending, each once."""
    found = [stops_of(trace, block, place) for place in places]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.intp)


def stops_of(trace: Trace, block: BlockTrace, place: Breakpoint) -> Steps:
    """The steps at which one breakpoint stops: each time a line begins, each touch of an element.

    Empty where the block never comes there, or the launch has no such element.
    """
    if place.line is not None:
        return line_starts(block, place.line)
    assert place.element is not None
    if not exists(trace, place.element):
        return np.empty(0, np.intp)
    name, index = place.element
    return block.touches(name, int(np.ravel_multi_index(index, shapes(trace)[name])))


def line_starts(block: BlockTrace, line: int) -> Steps:
    """The steps at which threads come to a line: its first step, and each after another line's."""
    from core.trace import EventKind

    here = np.asarray(block.line) == line
    fresh = np.asarray(block.kind) == EventKind.LINE
    before = np.concatenate([[False], here[:-1]])
    return np.flatnonzero(here & (fresh | ~before))


def carried_over(places: Iterable[Breakpoint], lines: Mapping[int, int]) -> frozenset[Breakpoint]:
    """Breakpoints in another text: those at lines go where their lines went, or away with them."""
    kept = set()
    for place in places:
        if place.line is None:
            kept.add(place)
        elif place.line in lines:
            kept.add(Breakpoint(line=lines[place.line]))
    return frozenset(kept)


class OtherBreakpoints:
    """The breakpoints of sources that are not shown, in `of` by their keys.

    A source may lend its breakpoints to its twin: one that is removed there is removed here.
    """

    def __init__(self) -> None:
        self.of: dict[str, frozenset[Breakpoint]] = {}
        self._lender = ""
        self._lent: dict[Breakpoint, Breakpoint] = {}  # the lender's, with what it is in the twin

    def leave(self, key: str, shown: frozenset[Breakpoint]) -> None:
        """Another source will be shown: keep those of this one."""
        if self._lender:
            gone = {mine for mine, there in self._lent.items() if there not in shown}
            self.of[self._lender] = self.of.get(self._lender, frozenset()) - gone
        self._lender, self._lent = "", {}
        self.of[key] = shown

    def arrive(self, key: str) -> frozenset[Breakpoint]:
        """Those of a source that is shown again."""
        return self.of.pop(key, frozenset())

    def lend(self, key: str, lines: Mapping[int, int]) -> None:
        """The source that was left last lends its own to its twin, in which `lines` stand."""
        self._lender, self._lent = key, {mine: mine for mine in self.of[key]}
        self.edit(lines)

    def edit(self, lines: Mapping[int, int]) -> None:
        """The shown text was edited; what is lost with its line there, its lender keeps."""
        images = {mine: carried_over((there,), lines) for mine, there in self._lent.items()}
        self._lent = {mine: next(iter(there)) for mine, there in images.items() if there}


@dataclass(frozen=True)
class BreakRow:
    """One breakpoint as it is listed: where it stands, the line's code, how often it stops."""

    place: Breakpoint
    title: str
    code: str
    times: str


def break_rows(
    trace: Trace | None, block: BlockTrace | None, places: Iterable[Breakpoint]
) -> tuple[BreakRow, ...]:
    """The breakpoints in the order of lines, then of elements."""
    rows = []
    lines = trace.workload.source.splitlines() if trace is not None else []
    for place in sorted(places, key=_order):
        count = 0 if trace is None or block is None else len(stops_of(trace, block, place))
        times = plural(count, "stop") if count else "no stop in this block"
        there = place.line is not None and 0 < place.line <= len(lines)
        code = lines[place.line - 1].strip() if there and place.line is not None else ""
        rows.append(BreakRow(place, _break_title(place), code, times))
    return tuple(rows)


def _break_title(place: Breakpoint) -> str:
    """A breakpoint in words: `Line 24`, `A[0, 2] touched`."""
    if place.line is not None:
        return f"Line {place.line}"
    assert place.element is not None
    return f"{index_text(*place.element)} touched"


def _order(place: Breakpoint) -> tuple[bool, int, tuple[str, tuple[int, ...]]]:
    return place.line is None, place.line or 0, place.element or ("", ())


def breaks_caption(count: int, stops: int, ahead: int | None) -> str:
    """One sentence: how many breakpoints and stops there are, and the step of the next one."""
    if not count:
        return "No breakpoints."
    who = f"{plural(count, 'breakpoint')}, {plural(stops, 'stop')} in this block"
    return f"{who}." if ahead is None else f"{who}; the next is at step {grouped(ahead + 1)}."


def nearest_stop(stops: Steps, step: int, *, forward: bool, around: bool = False) -> int | None:
    """The stop nearest after (or before) a step, or None; `around` the end, the first one.

    stops: ascending, each once.
    """
    if forward:
        place = int(np.searchsorted(stops, step, "right"))
    else:
        place = int(np.searchsorted(stops, step, "left")) - 1
    if around and len(stops):
        place %= len(stops)
    return int(stops[place]) if 0 <= place < len(stops) else None
