"""What an explanation consists of, and the lines that all of them have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.rules.counters import METRICS
from core.trace.access import fields_of, label
from core.wording import ranges

if TYPE_CHECKING:
    from core.compiler.builds import Build
    from core.trace.access import Access, WarpAccess


# Small words for explanations: counts, runs of numbers, columns.


def lanes_name(lanes: list[int]) -> str:
    """`lane 3`, `lanes 0–7`."""
    return f"{'lane' if len(lanes) == 1 else 'lanes'} {ranges(lanes)}"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their cells padded to the same widths."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


SHORT = {"load": "ld", "store": "st", "atomic": "atom"}
"""Kinds of accesses in the names of counters."""


@dataclass(frozen=True)
class Section:
    """A heading (often `name = value`), a sentence, and lines of figures to be set in columns."""

    heading: str
    text: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """A number explained; `answer` is the whole of it in one sentence, where there is one."""

    title: str
    sections: tuple[Section, ...]
    answer: str = ""

    @property
    def text(self) -> str:
        """All of it as plain text."""
        parts = [self.title, *([self.answer] if self.answer else [])]
        for section in self.sections:
            lines = [section.heading, section.text, *(f"    {line}" for line in section.lines)]
            parts.append("\n".join(line for line in lines if line.strip()))
        return "\n\n".join(parts) + "\n"


AS_WRITTEN = Section(
    "Of which build",
    "The code as written, compiled without optimisation (nvcc -G): every line does the accesses "
    "that it says. An optimised build, nvcc's default and what a profile usually shows, may make "
    "fewer: it keeps variables and small arrays in registers instead of local memory, loads once "
    "what a loop would load again, and joins neighbours into loads of 8 or 16 bytes.",
)
AS_COMPILED = Section(
    "Of which build",
    "The optimised code, as nvcc compiles it by default: it makes no second access for a value "
    "that it keeps in a register, loads once for a whole loop, or joins into a wider access.",
)


def build_of(build: Build) -> Section:
    """What the counts of a build are of."""
    found = AS_WRITTEN if build.kind == "as_written" else AS_COMPILED
    if not build.compiler:
        return found
    note = f" It was compiled {build.compiler_note}, which may make other accesses of it."
    return replace(found, text=found.text + note)


def nsight_names(names: Iterable[str]) -> Section:
    """What Nsight Compute calls the counters of these names."""
    rows = [(name.rpartition("_")[2], METRICS[name]) for name in names if name in METRICS]
    return Section("In Nsight Compute", "", tuple(columns(rows)))


def elements_of(access: Access, part: WarpAccess, lanes: list[int]) -> str:
    """`A[0,0]`, or the first and the last of several: `A[0,0] … A[0,7]`."""
    array = access.array
    flats = sorted({int(part.elements[lane]) for lane in lanes if part.elements[lane] >= 0})
    if array is None or not flats:
        return ""
    last = flats[-1] + max(part.width // array.dtype.itemsize, 1) - 1
    ends = [label(array.name, array.index(i), fields_of(array)) for i in (flats[0], last)]
    return ends[0] if flats[0] == last else " … ".join(ends)
