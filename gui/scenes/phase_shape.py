"""How a phase table's entries are folded into lines, and how much room they take. No Qt here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from core.analysis.phase_table import Entry, PhaseTable


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
        tuple(max((line for cell in column for line in cell), key=len, default="")
              for column in columns),
        tuple(max(map(len, row), default=0) for row in cells),
    )  # fmt: skip


def shaped(job: Callable[..., PhaseTable]) -> Callable[..., tuple[PhaseTable, TableShape]]:
    """A job that makes a table, with its shape."""

    def work(progress: Any, cancelled: Any) -> tuple[PhaseTable, TableShape]:
        table = job(progress, cancelled)
        return table, shape_of(table)

    return work


def _lines(cell: tuple[Entry, ...]) -> list[str]:
    return [line for entry in cell for line in folded(entry.short)]
