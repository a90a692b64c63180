"""What the kernel does wrong, as rows to list and places to go to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.guessing.findings_in_doubt import caveats, in_doubt, left_open
from gui.scenes.cached_per_object import once_for_each
from gui.scenes.names_of_elements_and_threads import index_text
from gui.scenes.numbers_and_sentences import plural, spaced

if TYPE_CHECKING:
    from core.trace import Trace
    from core.trace.finding import Finding
    from gui.scenes.session import Session


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


def findings_of(session: Session) -> tuple[FindingRow, ...]:
    """The findings that are shown: none while a question is about them."""
    return () if session.hides("findings") else finding_rows(session.trace)


@once_for_each
def _rows(trace: Trace) -> tuple[FindingRow, ...]:
    said = caveats(trace, "{} in Configuration".format, "{1} at {0}".format)
    opened = left_open(trace)

    def row(f: Finding) -> FindingRow:
        title = in_doubt(f.kind) if f in opened else f.kind.replace("_", " ")
        message = f"{f.message} {said.get(f, '')}".rstrip()
        return FindingRow(title.capitalize(), _place(f), spaced(message), f, f in opened)

    return tuple(sorted(map(row, trace.findings), key=lambda one: one.is_open))


FAULTS = {
    "race": "race on {}",
    "out_of_bounds": "access out of bounds of {}",
    "misaligned": "misaligned access to {}",
    "uninitialised": "read of {} before it is written",
    "not_awaited": "access to what was not awaited",
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
