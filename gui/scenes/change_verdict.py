"""What comes of a change, in a sentence: of two compared launches, and of a repair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.rules.counters import UNITS
from gui.scenes.computed_arrays import Outcome, outcome, reference_text, result_text
from gui.scenes.cost_differences import Difference, differences, moved
from gui.scenes.findings_list import fault_names
from gui.scenes.names_and_numbers import capital, join, plural

if TYPE_CHECKING:
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
        said.append(capital(f"{join([f'the {fault}' for fault in gone])} {are} gone."))
    if new:
        said.append(f"New: {join(new)}.")
    from gui.scenes.benchmark import times_text  # loads much: no window needs it to begin

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
        said.append(f"as many {join(same)} as {called}")
    return [*said, f"but {join(against)}"] if against else said


def _what(row: Difference) -> str:
    way, what = row.label.split(": ")
    assert row.topic is not None
    return f"{what if what.startswith('bank') else f'{row.topic.space} {what}'} of {way.lower()}"


def repaired_text(gone: Sequence[str], before: Outcome | None, after: Outcome | None) -> str:
    """What has come of an edit after which nothing is at fault any more.

    "Race on tile_a gone, result right: C equals the reference to within rounding."
    """
    right = after.right if after is not None else None
    joint = {None: "; ", True: ", "}.get(right, ", but ")
    return f"{capital(join(gone))} gone{joint}{reference_text(after, before)}."
