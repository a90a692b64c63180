"""What two launches cost, side by side, which is better, and the verdict.

"After: 8 times fewer global sectors, the same result, no findings."
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from core.explain.explanations import Place
from core.rules.counters import SPACES, UNITS, WAYS, measures_of
from core.rules.global_memory import SECTOR
from core.wording import listing
from gui.scenes.findings_list import fault_names
from gui.scenes.launch_outcome import outcome, result_text
from gui.scenes.numbers_and_sentences import capital, factor, grouped, plural
from gui.scenes.recorded_times import times_text

if TYPE_CHECKING:
    from core.recording.count_launch import Counted
    from core.rules.counters import Count
    from core.trace import Trace
    from gui.scenes.session import Session


def verdict(first: Session, second: Session, name: str) -> str:
    """What the second launch, called `name`, costs and gives against the first.

    "After: 8 times fewer global sectors, the same result, no findings. The race on tile_a is gone."
    A row of the table that goes against these figures is named, too.
    """
    one, two = first.trace, second.trace
    if one is None or two is None or first.counts is None or second.counts is None:
        return "The two launches are being recorded."
    if first.counts_complete != second.counts_complete:
        return "One launch is counted whole and the other is still being counted."
    faults = [fault_names(trace) for trace in (one, two)]
    parts = [
        *_costs(first, second, "A" if name == "B" else "before"),
        result_text(outcome(one), outcome(two)),
        plural(len(faults[1]), "finding") if faults[1] else "no findings",
    ]
    scope = "" if first.counts_complete else ", in the recorded blocks alone"
    said = [f"{name}: {', '.join(filter(None, parts))}{scope}."]
    gone = [fault for fault in faults[0] if fault not in faults[1]]
    new = [fault for fault in faults[1] if fault not in faults[0]]
    if gone:
        are = "is" if len(gone) == 1 else "are"
        said.append(capital(f"{listing([f'the {fault}' for fault in gone])} {are} gone."))
    if new:
        said.append(f"New: {listing(new)}.")
    return " ".join([*said, times_text(first, second)]).strip()


def _costs(first: Session, second: Session, called: str) -> list[str]:
    """What the second launch moves against the first, `called` so, and rows that go against it."""
    said, same, against = [], [], list[str]()
    rows = differences(first, second, "total")
    for space, unit in UNITS.items():
        total = moved(first, second, space)
        if total is None:
            continue
        if not total.change:
            same.append(f"{space} {unit}")
        elif total.a and total.b:
            said.append(f"{total.ratio_text} {space} {unit}")
        else:
            said.append(
                f"{plural(round(total.b or 0), f'{space} {unit[:-1]}')} instead of none"
                if total.b
                else f"no {space} {unit} any more"
            )
        against += [
            f"{row.ratio_text} {_what(row)}"
            for row in rows
            if isinstance(row, Difference)
            and row.topic is not None
            and row.topic.space == space
            and row.winner
            and row.winner != total.winner
        ]
    if same:
        said.append(f"as many {listing(same)} as {called}")
    return [*said, f"but {listing(against)}"] if against else said


def _what(row: Difference) -> str:
    way, what = row.label.split(": ")
    assert row.topic is not None
    return f"{what if what.startswith('bank') else f'{row.topic.space} {what}'} of {way.lower()}"


Grouping = Literal["total", "array"]
Better = Literal["less", "more", ""]
LEAST_FACTOR = 1.095  # below it a difference is said in per cent


@dataclass(frozen=True)
class Difference:
    """One figure of both sides; None where a side has none. `better` says which way is good."""

    label: str
    a: float | None
    b: float | None
    better: Better = "less"
    digits: int = 0
    tip: str = ""
    topic: Place | None = None
    """What explains the figures."""

    @property
    def change(self) -> float | None:
        """b - a."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def winner(self) -> Literal["a", "b", ""]:
        """The better side; empty where they are equal, or neither is better."""
        change = self.change
        if not change or not self.better:
            return ""
        return "b" if (change < 0) == (self.better == "less") else "a"

    def text(self, side: Literal["a", "b"]) -> str:
        """One side's figure."""
        return _figure(self.a if side == "a" else self.b, self.digits)

    @property
    def change_text(self) -> str:
        """b - a with its sign; empty where there is none."""
        change = self.change
        if change is None:
            return ""
        if not change:
            return "0"
        return f"{'+' if change > 0 else '−'}{_figure(abs(change), self.digits)}"

    @property
    def ratio_text(self) -> str:
        """B against A in a sentence: "8 times fewer", "1.5 times more", "the same"."""
        if self.a is None or self.b is None:
            return ""
        if self.a == self.b:
            return "the same"
        if not self.a or not self.b:
            return "none left" if self.a else "new"
        less = "less" if self.digits else "fewer"
        word = "more" if self.b > self.a else less
        times = max(self.a, self.b) / min(self.a, self.b)
        if times < LEAST_FACTOR:
            return f"{abs(self.b / self.a - 1) * 100:.1f} % {word}"
        return f"{factor(times)} times {word}"

    @property
    def factor_text(self) -> str:
        """What B makes of A: "÷ 8", "× 1.5", "+ 2.1 %", "the same"."""
        if self.a is None or self.b is None or self.a == self.b or not self.a or not self.b:
            return self.ratio_text
        more = self.b > self.a
        times = max(self.a, self.b) / min(self.a, self.b)
        if times < LEAST_FACTOR:
            return f"{'+' if more else '−'} {abs(self.b / self.a - 1) * 100:.1f} %"
        return f"{'×' if more else '÷'} {factor(times)}"

    @property
    def shares(self) -> tuple[float, float]:
        """The lengths of two bars for A and B: 1 for the larger figure, 0 for a missing one."""
        most = max(abs(self.a or 0.0), abs(self.b or 0.0))
        return (abs(self.a or 0.0) / most, abs(self.b or 0.0) / most) if most else (0.0, 0.0)


def _figure(value: float | None, digits: int = 0) -> str:
    """A figure with its digits grouped; a dash where there is none."""
    if value is None:
        return "–"
    if not digits:
        return grouped(round(value))
    return f"{value:.{digits}f}"


def differences(a: Session, b: Session, grouping: Grouping) -> tuple[Difference | str, ...]:
    """The figures of two sessions, in sections under headings (texts); empty without a trace.

    Of the totals, what differs comes first.
    """
    if a.trace is None or b.trace is None or a.counts is None or b.counts is None:
        return ()
    if grouping == "array":
        rows = _by_array(a.counts, b.counts, _arrays(a.trace, b.trace))
    else:
        rows = (*_telling_first(_totals(a.counts, b.counts)), *_launches(a, b))
    if alike(a, b):
        return rows
    return tuple(
        replace(r, better="") if not isinstance(r, str) and r.better == "less" else r for r in rows
    )


def _totals(a: Trace | Counted, b: Trace | Counted) -> tuple[Difference | str, ...]:
    found: list[Difference | str] = []
    of_a, of_b = a.counters.totals, b.counters.totals
    for name, space in SPACES.items():
        rows = []
        for way, label in WAYS.items():
            for measure in measures_of(name):
                words = f"{capital(label)}s: {measure.noun}"
                rows += _row(words, f"{name}_{way}_{measure.name}", of_a, of_b)
        found += [space.title, *rows] if rows else []
    return tuple(found)


def _telling_first(rows: tuple[Difference | str, ...]) -> tuple[Difference | str, ...]:
    """What one side does better comes first, the sections and the rows in each of them."""
    sections: list[list[Difference | str]] = []
    for row in rows:
        if isinstance(row, str):
            sections.append([row])
        else:
            sections[-1].append(row)

    def rank(row: Difference | str) -> int:
        return 0 if isinstance(row, str) else 1 if row.winner else 2 if row.change else 3

    ordered = [sorted(section, key=rank) for section in sections]
    ordered.sort(key=lambda section: min(map(rank, section[1:]), default=3))
    return tuple(row for section in ordered for row in section)


def _row(
    label: str, name: str, a: Mapping[str, Count], b: Mapping[str, Count], array: str | None = None
) -> list[Difference]:
    """A counter's row; none where both sides have nothing of it."""
    values = [counts[name].value if name in counts else 0 for counts in (a, b)]
    if not any(values):
        return []
    ideals = [counts[name].ideal if name in counts else 0 for counts in (a, b)]
    tip = f"{name}: {grouped(ideals[0])} and {grouped(ideals[1])} would do."
    space, way, what = name.split("_")
    requests = f"{space}_{way}_requests"
    both = all(requests in counts and counts[requests].value for counts in (a, b))
    # What one side leaves is its own.
    better: Better = "less" if both and what != "requests" else ""
    topic = Place(space, way, array=array)
    return [Difference(label, values[0], values[1], better=better, tip=tip, topic=topic)]


def _by_array(
    a: Trace | Counted, b: Trace | Counted, arrays: tuple[str, ...]
) -> tuple[Difference | str, ...]:
    found: list[Difference | str] = []
    for name in arrays:
        of_a, of_b = (c.counters.by_array.get(name, {}) for c in (a, b))
        rows = []
        for space, unit in UNITS.items():
            for way, label in WAYS.items():
                words = f"{capital(label)}s: {unit}"
                rows += _row(words, f"{space}_{way}_{unit}", of_a, of_b, name)
        found += [name, *rows] if rows else []
    return tuple(found)


def _arrays(a: Trace, b: Trace) -> tuple[str, ...]:
    names = [array.name for t in (a, b) for array in t.arrays]
    names += [array.name for t in (a, b) for array in t.shared_arrays]
    return tuple(dict.fromkeys(names))


def _launches(a: Session, b: Session) -> tuple[Difference | str, ...]:
    """Facts of both launches, and what can be worked out of the counts and the arithmetic."""
    pairs = zip(_facts(a), _facts(b), strict=True)
    rows = [
        Difference(label, of_a, of_b, better, digits, tip)
        for (label, of_a, better, digits, tip), (_, of_b, *_) in pairs
        if of_a or of_b
    ]
    return ("Launch", *rows)


Fact = tuple[str, float | None, Better, int, str]
"""What it is, the figure, None where it is not known, which way is good, decimals, a tip."""


def _facts(session: Session) -> tuple[Fact, ...]:
    trace, block, counts = session.trace, session.block_trace, session.counts
    assert trace is not None
    launch, flops = trace.workload.launch, trace.workload.flops
    totals = counts.counters.totals if counts is not None else {}
    sectors, ideal = _in_all(totals, "global")
    moved = SECTOR * sectors
    intensity = flops / moved if flops and moved and session.counts_complete else None
    barriers = totals["barriers"].value if "barriers" in totals else None
    used = 100 * ideal / sectors if sectors else None
    shared = max(sum(array.nbytes for array in trace.shared_arrays), launch.shared_bytes)
    phases = len(block.phases) if block is not None else None
    return (
        ("Bytes moved from and to global memory", moved, "less", 0, "32 bytes a sector"),
        ("FLOP for each byte moved", intensity, "more", 2, "Arithmetic over bytes moved"),
        ("Global sectors, % of use", used, "", 1, "Least sectors over those moved"),
        ("Barriers, summed over warps", barriers, "", 0, "Of blocks and parts of them"),
        ("Threads in a block", launch.block.count, "", 0, ""),
        ("Blocks", launch.grid.count, "", 0, ""),
        ("Shared memory in a block, bytes", shared, "", 0, "Static or dynamic"),
        ("Phases", phases, "", 0, "Iterations of the kernel's main loop"),
    )


def _in_all(totals: Mapping[str, Count], space: str) -> tuple[int, int]:
    """What is moved of one memory over all ways to access it, and the least that would do."""
    unit = UNITS[space]
    found = [c for n, c in totals.items() if n.startswith(space) and n.endswith(f"_{unit}")]
    return sum(c.value for c in found), sum(c.ideal for c in found)


def moved(a: Session, b: Session, space: str) -> Difference | None:
    """What both launches move of one memory in all; None where neither moves anything."""
    counts = [session.counts.counters.totals if session.counts else {} for session in (a, b)]
    values = [_in_all(totals, space)[0] for totals in counts]
    better: Better = "less" if all(values) and alike(a, b) else ""
    return Difference(space, values[0], values[1], better) if any(values) else None


def alike(a: Session, b: Session) -> bool:
    """Whether two launches do the same work, so that less traffic for it is better."""
    flops = {s.trace.workload.flops for s in (a, b) if s.trace is not None}
    return len(flops - {None}) < 2
