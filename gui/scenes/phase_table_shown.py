"""The phase table as the window shows it: what is lit, its caption, and its three copies."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from core.errors import ParameterError
from core.ladder.rung import smaller_block
from gui.scenes.configuration import Configuration
from gui.scenes.numbers_and_sentences import plural

if TYPE_CHECKING:
    from core.explain.phase_table import Entry, PhaseTable
    from core.ladder import Ladder
    from core.trace import BlockTrace, Trace
    from gui.scenes.session import Session


@lru_cache(maxsize=1 << 14)
def folded(text: str) -> tuple[str, ...]:
    """An entry on lines: the terms of a sum below each other."""
    target, sign, terms = text.partition("= ")
    first, *others = re.split(r" (?=[+-] )", terms)
    indent = " " * len(target)
    return (target + sign + first, *(indent + other for other in others))


@dataclass(frozen=True)
class TableShape:
    """What the size of a table depends on, in type of one width."""

    longest: tuple[str, ...]
    """Of each column its longest line."""
    lines: tuple[int, ...]
    """Of each row how many lines its highest cell has."""


def shape_of(table: PhaseTable) -> TableShape:
    """The shape of a table; a table widget would ask each cell for its size."""
    cells = [[_lines(cell) for cell in row.cells] for row in table.rows]
    columns = zip(*cells, strict=True)
    return TableShape(
        tuple(
            max((line for cell in column for line in cell), key=len, default="")
            for column in columns
        ),
        tuple(max(map(len, row), default=0) for row in cells),
    )


def _lines(cell: tuple[Entry, ...]) -> list[str]:
    return [line for entry in cell for line in folded(entry.short)]


COPIES = ("Text", "Markdown", "LaTeX")


def copy_of(table: PhaseTable, form: str) -> str:
    """The table in one of the forms of `COPIES`."""
    from core.explain import phase_table as made

    forms = {"Text": made.as_text, "Markdown": made.as_markdown, "LaTeX": made.as_latex}
    return forms[form](table)


def why_no_table(session: Session) -> str:
    """Why there is no phase table of the session's block; empty where there is one."""
    if session.block_trace is None:
        return "Nothing has been recorded yet."
    from core.explain.phase_table import too_large

    return too_large(session.block_trace)


def small_enough(session: Session, ladder: Ladder) -> tuple[str, Configuration] | None:
    """A block of the session's rung with few enough threads for a table, and its launch."""
    from core.explain.phase_table import MAX_THREADS

    now, block = session.configuration, session.block_trace
    if now is None or now.own is not None or block is None or block.n_threads <= MAX_THREADS:
        return None
    try:
        found = smaller_block(ladder[now.rung], now.parameters, MAX_THREADS)
    except ParameterError:  # the launch that is shown is another than the one that is chosen
        return None
    if found is None:
        return None
    size, parameters = found
    shape = " × ".join(str(side) for side in (size.x, size.y, size.z) if side > 1) or "1"
    return shape, replace(now, parameters=parameters)


def table_job(_: object, trace: Trace, block: BlockTrace) -> tuple[PhaseTable, TableShape]:
    """A job for `gui.background.Worker` that makes the table, with its shape."""
    from core.explain.phase_table import phase_table

    table = phase_table(trace, block)
    return table, shape_of(table)


def phases_caption(session: Session, table: PhaseTable | None) -> str:
    """One sentence about the table."""
    if table is None:
        return why_no_table(session) or "The phase table is being made …"
    place = table.column_at(session.step, session.phase)
    title = table.columns[place].title if place >= 0 else ""
    column = title if title.startswith("Phase") else f"The column “{title}”"
    where = f"{column} is lit. " if title else ""
    kinds = {entry.kind for row in table.rows for cell in row.cells for entry in cell}
    sums = "+= adds to a register, store writes it; " if "sum" in kinds else ""
    threads = plural(len(table.rows), "thread")
    axes = "(x, y, z)" if any(row.name.count(",") > 1 for row in table.rows) else "(x, y)"
    return f"{where}{threads} {axes} of the block; {sums}a click goes to the step and thread."
