"""What the kernel does wrong, as rows to list and places to go to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.launch import ScalarArgument
from core.trace.finding import in_doubt, is_in_front, of_guessed_contents, of_guessed_size
from gui.scenes.text import index_text, plural, spaced
from gui.scenes.weak_memo import once_for_each

if TYPE_CHECKING:
    from core.trace import Trace
    from core.trace.finding import Finding
    from gui.scenes.session import Session

MOST_READ = 200_000  # characters of a source: more take long to read


@dataclass(frozen=True)
class FindingRow:
    """One finding: its kind in words, its place, its sentence, and the finding itself.

    It `is_open` where other contents of memory than were guessed may rule it out.
    """

    title: str
    place: str
    message: str
    finding: Finding
    is_open: bool = False


def finding_rows(trace: Trace | None) -> tuple[FindingRow, ...]:
    """The launch's findings in the order in which they were found, faults before open ones."""
    return _rows(trace) if trace is not None else ()


@once_for_each
def _rows(trace: Trace) -> tuple[FindingRow, ...]:
    guesses: dict[str, bool] = {}  # by the array: to know it takes reading the whole source
    for finding in trace.findings:
        if finding.kind == "out_of_bounds" and finding.array not in guesses:
            guesses[finding.array] = _is_guessed(trace, finding.array)

    resting = _resting(trace)

    def message(f: Finding) -> str:
        said = [f.message]
        if f.kind == "out_of_bounds" and guesses[f.array] and not is_in_front(f):
            shape = next(a.shape for a in trace.arrays if a.name == f.array)
            said.append(of_guessed_size(f, shape, f"{f.array} in Configuration"))
        if names := resting.get(f):
            said.append(of_guessed_contents(f, resting, (f"{{}} at {names[0]}").format))
        return " ".join(said)

    def row(f: Finding) -> FindingRow:
        from core.explain.origins import is_left_open

        is_open = f in resting and is_left_open(trace, f)
        title = in_doubt(f.kind) if is_open else f.kind.replace("_", " ")
        return FindingRow(title.capitalize(), _place(f), spaced(message(f)), f, is_open)

    return tuple(sorted(map(row, trace.findings), key=lambda one: one.is_open))


def _resting(trace: Trace) -> Mapping[Finding, tuple[str, ...]]:
    """The findings that arrays' contents lead to, where nobody gave them, and which arrays'."""
    launch = trace.workload.launch
    if trace.workload.rung is not None or not trace.findings:
        return {}
    from core.explain.origins import resting_on  # follows values: it is not needed to begin

    own = {a.name for a in launch.arrays if a.is_own}
    names = {a.name for a in (*launch.arguments, *launch.symbols)}
    return resting_on(trace, frozenset(names - own))


def _is_guessed(trace: Trace, name: str) -> bool:
    """Whether nothing says the size of an array that a finding leaves."""
    work = trace.workload
    array = next((a for a in trace.arrays if a.name == name), None)
    if array is None or work.rung is not None:
        return False
    scalars = (a for a in work.launch.arguments if isinstance(a, ScalarArgument))
    given = {a.name: str(a.value) for a in scalars}
    from core.launching.guess import size_is_guessed  # loads the reading of C++

    return len(work.source) <= MOST_READ and size_is_guessed(
        work.source, work.source_name, work.kernel, given, array.name, array.shape
    )


FAULTS = {
    "race": "race on {}",
    "out_of_bounds": "access out of bounds of {}",
    "misaligned": "misaligned access to {}",
    "uninitialised": "read of {} before it is written",
}
"""Kinds of findings that are about an array, with a place for its name."""


def fault_names(trace: Trace | None) -> tuple[str, ...]:
    """What is at fault, each once: "race on tile_a", "divergent barrier"."""
    named = (
        FAULTS.get(f.kind, f.kind.replace("_", " ")).format(f.array or "memory")
        for f in (trace.findings if trace is not None else ())
    )
    return tuple(dict.fromkeys(named))


def _place(finding: Finding) -> str:
    line = f"line {finding.line}" if finding.line > 0 else ""
    element = index_text(finding.array, finding.index) if finding.array and finding.index else ""
    return "   ".join(filter(None, (line, element)))


def findings_caption(trace: Trace | None) -> str:
    """How many there are."""
    rows = finding_rows(trace)
    if not rows and trace is not None and trace.cut:
        return "No fault was found until the run was cut short."
    if not rows:
        return "No races, uninitialised reads or accesses out of bounds."
    opened = sum(row.is_open for row in rows)
    faults = plural(len(rows) - opened, "fault")
    if opened:
        certain = opened < len(rows)
        faults = (
            f"{faults} and perhaps {opened} more"
            if certain
            else f"Perhaps {plural(opened, 'fault')}"
        )
    return f"{faults}. Click one to go to its step, thread and line."


def go_to(session: Session, finding: Finding) -> None:
    """Select the finding's block, thread, line and element, and go to its step if recorded."""
    wanted: dict[str, object] = {"playing": 0, "block": finding.block, "thread": finding.thread}
    if finding.line > 0:
        wanted["line"] = finding.line
    if finding.step >= 0:
        wanted["step"] = finding.step
    if finding.array and finding.index:
        wanted["element"] = (finding.array, finding.index)
    session.update(**wanted)
