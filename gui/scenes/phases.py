"""The phase table as the window shows it: what is lit, its caption, and its three copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from core.analysis.phase_export import as_latex, as_markdown, as_text
from core.analysis.phase_table import MAX_THREADS, PhaseTable, phase_table, too_large
from core.errors import ParameterError
from core.ladder.blocks import smaller_block
from gui.scenes.selection import Configuration
from gui.scenes.text import plural

if TYPE_CHECKING:
    from core.ladder import Ladder
    from core.trace import BlockTrace, Trace
    from gui.scenes.session import Session

COPIES: dict[str, Callable[[PhaseTable], str]] = {
    "Text": as_text,
    "Markdown": as_markdown,
    "LaTeX": as_latex,
}


def why_no_table(session: Session) -> str:
    """Why there is no phase table of the session's block; empty where there is one."""
    if session.block_trace is None:
        return "Nothing has been recorded yet."
    return too_large(session.block_trace)


def small_enough(session: Session, ladder: Ladder) -> tuple[str, Configuration] | None:
    """A block of the session's rung with few enough threads for a table, and its launch."""
    now, block = session.configuration, session.block_trace
    if now is None or now.own is not None or block is None or block.n_threads <= MAX_THREADS:
        return None
    try:
        found = smaller_block(ladder[now.rung], now.parameters, MAX_THREADS)
    except ParameterError:  # the launch that is shown is another than the one that is chosen
        return None
    if found is None:
        return None
    sides = [found[0].x, found[0].y, found[0].z]
    shape = " × ".join(str(side) for side in sides if side > 1) or "1"
    return shape, replace(now, parameters=found[1])


def table_job(trace: Trace, block: BlockTrace) -> Callable[..., PhaseTable]:
    """A job for `gui.frames.work.Worker` that makes the table."""
    return lambda progress, cancelled: phase_table(trace, block, cancelled)


def lit_column(session: Session, table: PhaseTable) -> int:
    """The column of the current step, -1 where none is lit."""
    return table.column_at(session.step, session.phase)


def phases_caption(session: Session, table: PhaseTable | None) -> str:
    """One sentence about the table."""
    if table is None:
        return why_no_table(session) or "The phase table is being made …"
    place = lit_column(session, table)
    title = table.columns[place].title if place >= 0 else ""
    column = title if title.startswith("Phase") else f"The column “{title}”"
    where = f"{column} is lit. " if title else ""
    kinds = {entry.kind for row in table.rows for cell in row.cells for entry in cell}
    sums = "+= adds to a register, store writes it; " if "sum" in kinds else ""
    threads = plural(len(table.rows), "thread")
    axes = "(x, y, z)" if any(row.name.count(",") > 1 for row in table.rows) else "(x, y)"
    return f"{where}{threads} {axes} of the block; {sums}a click goes to the step and thread."
