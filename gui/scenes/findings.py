"""What the kernel does wrong, as rows to list and places to go to. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gui.scenes.text import index_text, plural, spaced

if TYPE_CHECKING:
    from core.analysis.findings import Finding
    from core.trace import Trace
    from gui.scenes.session import Session


@dataclass(frozen=True)
class FindingRow:
    """One finding: its kind in words, its place, its sentence, and the finding itself."""

    title: str
    place: str
    message: str
    finding: Finding


def finding_rows(trace: Trace | None) -> tuple[FindingRow, ...]:
    """The launch's findings in the order in which they were found."""
    findings = trace.findings if trace is not None else ()
    return tuple(
        FindingRow(f.kind.replace("_", " ").capitalize(), _place(f), spaced(f.message), f)
        for f in findings
    )


def _place(finding: Finding) -> str:
    line = f"line {finding.line}" if finding.line > 0 else ""
    element = index_text(finding.array, finding.index) if finding.array and finding.index else ""
    return "   ".join(filter(None, (line, element)))


def findings_caption(trace: Trace | None) -> str:
    """How many there are."""
    rows = finding_rows(trace)
    if not rows:
        return "No races, uninitialised reads or accesses out of bounds."
    return f"{plural(len(rows), 'fault')}. Click one to go to its step, thread and line."


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
