"""Counts as tables: actual against ideal, by array or by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.rules.counters import SPACES, UNITS, WAYS
from gui.scenes.numbers_and_sentences import capital, grouped, plural, ratio

if TYPE_CHECKING:
    from core.recording.count_launch import Counted
    from core.rules.counters import Count
    from core.trace import Trace
    from gui.scenes.session import Session


CONSTANT_HEAD = "Constant memory, read by generic addresses: 32-byte sectors"
"""What a build as written reads so, hardware counts among the loads of global memory: the totals
have it too."""
Grouping = Literal["array", "line"]


@dataclass(frozen=True)
class CounterRow:
    """Requests of one kind at one place, and what they cost.

    `moved` and `ideal` are in `unit`: 32-byte sectors of global memory, or wavefronts of shared
    memory. `line` is set when the place is a source line.
    """

    place: str
    space: str
    access: str
    requests: int
    moved: int
    ideal: int
    unit: str
    line: int | None = None
    constant: bool = False
    """Whether the place is a `__constant__` variable, read by generic addresses."""

    @property
    def excessive(self) -> int:
        """What could be saved."""
        return self.moved - self.ideal

    @property
    def times_ideal(self) -> str:
        """`moved` over `ideal`, as text."""
        return ratio(self.moved, self.ideal)

    @property
    def tip(self) -> str:
        """The row as a sentence, with the names that Nsight Compute gives."""
        where = f"Line {self.line}" if self.line is not None else self.place
        return (
            f"{where}: {plural(self.requests, f'{self.space} {self.access} request')} moved "
            f"{plural(self.moved, self.unit[:-1])}; {grouped(self.ideal)} would do."
        )


def counter_rows(
    trace: Trace, grouping: Grouping, counted: Counted | None = None
) -> tuple[CounterRow, ...]:
    """Every place of the launch that touched memory, in the order of its arrays or its lines.

    The counts are those of `counted`, where it is given, and otherwise the trace's.
    """
    counters = (counted or trace).counters
    rows: list[CounterRow] = []
    if grouping == "array":
        for name, counts in counters.by_array.items():
            rows += _rows_of(name, counts, constant=name in trace.constants)
        order = [a.name for a in trace.arrays] + [a.name for a in trace.shared_arrays]
        rows.sort(key=lambda r: order.index(r.place) if r.place in order else len(order))
    else:
        for line in sorted(counters.by_line):
            rows += _rows_of(str(line), counters.by_line[line], line)
    return tuple(rows)


def sections(rows: tuple[CounterRow, ...]) -> tuple[CounterRow | str, ...]:
    """The rows of each space under a heading that names it and its unit."""
    found: list[CounterRow | str] = []
    for name, space in SPACES.items():
        chosen = [row for row in rows if row.space == name and not row.constant]
        found += [f"{space.title}, {space.unit_title}", *chosen] if chosen else []
    constants = [row for row in rows if row.constant]
    found += [CONSTANT_HEAD, *constants] if constants else []
    return tuple(found)


def total_rows(trace: Trace | Counted) -> tuple[CounterRow, ...]:
    """The sums over the launch, one row for each space and way to access it."""
    return _rows_of("all", trace.counters.totals)


def _recorded(session: Session) -> str:
    blocks = session.trace.recorded_blocks if session.trace is not None else ()
    return f"Block {blocks[0]} alone" if len(blocks) == 1 else "The recorded blocks"


def _rows_of(
    place: str, counts: Mapping[str, Count], line: int | None = None, *, constant: bool = False
) -> tuple[CounterRow, ...]:
    rows = []
    for space, unit in UNITS.items():
        for short, access in WAYS.items():
            requests = counts.get(f"{space}_{short}_requests")
            moved = counts.get(f"{space}_{short}_{unit}")
            if requests is not None and requests.value and moved is not None:
                cost = requests.value, moved.value, moved.ideal
                rows.append(CounterRow(place, space, access, *cost, unit, line, constant))
    return tuple(rows)


def efficiency(rows: tuple[CounterRow, ...], space: str) -> tuple[int, int]:
    """(moved, ideal) over the rows of one space."""
    chosen = [row for row in rows if row.space == space]
    return sum(r.moved for r in chosen), sum(r.ideal for r in chosen)


def counters_caption(session: Session) -> str:
    """One sentence about the whole launch, or about the blocks recorded while it is counted."""
    counts = session.counts
    if counts is None:
        return "Nothing has been counted yet."
    rows = total_rows(counts)
    sentences = []
    for space, unit in UNITS.items():
        moved, ideal = efficiency(rows, space)
        if not moved:
            continue
        if moved == ideal:
            sentences.append(f"{plural(moved, f'{space} {unit[:-1]}')}, none of them wasted")
        else:
            sentences.append(
                f"{plural(moved, f'{space} {unit[:-1]}')} where {grouped(ideal)} would do"
            )
    scope = "The whole launch" if session.counts_complete else _recorded(session)
    said = ", and ".join(sentences) or "nothing"
    met = counts.counters.totals.get("barriers")
    waits = []
    if met is not None and met.value:
        waits = [f"Its warps came to {plural(met.value, 'barrier')}, summed over the warps."]
    assembly = None if session.trace is None else session.trace.assembly
    doubts: tuple[str, ...] = ()
    if assembly is not None and (assembly.spilled or not assembly.exact):
        doubts = assembly.sentences
    return " ".join((capital(f"{scope} moved {said}."), *waits, *doubts))
