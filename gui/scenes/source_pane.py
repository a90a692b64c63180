"""The source pane's content: coloured text, totals for each line, and a caption."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from core.rules.counters import UNITS, WAYS, Count
from core.trace import EventKind
from gui.scenes.numbers_and_sentences import compact, grouped, plural

if TYPE_CHECKING:
    from core.recording.count_launch import Counted
    from core.trace import BlockTrace, Trace
    from gui.scenes.session import Session


@dataclass(frozen=True)
class Span:
    """Characters of one line that share a colour.

    Of CUDA C `category` is comment, preprocessor, keyword, type, builtin, number, string or
    function; of PTX number (the source line's), label, function, operation, load or store.
    """

    start: int
    length: int
    category: str


@dataclass(frozen=True)
class Total:
    """What a source line cost over the launch in one unit, and what would do at best."""

    actual: int
    ideal: int

    @property
    def text(self) -> str:
        """Both, as the gutter says them."""
        return f"{compact(self.actual)}/{compact(self.ideal)}"

    @property
    def short(self) -> str:
        """The actual one, for a narrow gutter."""
        return compact(self.actual)

    @property
    def wasteful(self) -> bool:
        """More than needed: of sectors, or by bank conflicts of wavefronts."""
        return self.actual > self.ideal


ELSEWHERE = (
    "Another compiler made the PTX of this text: change and compile it there, and open the new PTX."
)


def made_elsewhere(trace: Trace | None) -> bool:
    """Whether the shown text is what another compiler made the trace's PTX from."""
    return trace is not None and trace.workload.ptx not in ("", trace.workload.source)


LineTotals = Mapping[str, Total]
"""Of one source line: global memory's "sectors", shared memory's "wavefronts", "local" sectors."""
_KEYS = {space: space if space == "local" else unit for space, unit in UNITS.items()}


def next_step_at(block: BlockTrace | None, step: int, line: int) -> int | None:
    """The next step at a line, or its first where there is none after `step`; None for none."""
    steps = np.flatnonzero(np.asarray(block.line) == line) if block is not None else np.empty(0)
    later = steps[steps > step]
    return int((later if len(later) else steps)[0]) if len(steps) else None


def line_totals(counted: Trace | Counted) -> dict[int, LineTotals]:
    """Totals of every source line that touched memory, by line number (from 1)."""
    found: dict[int, dict[str, Total]] = {}
    for line, counts in counted.counters.by_line.items():
        for space, unit in UNITS.items():
            made = [way for way in WAYS if counts.get(f"{space}_{way}_requests", Count()).value]
            costs = [counts[f"{space}_{way}_{unit}"] for way in made]
            total = Total(sum(c.value for c in costs), sum(c.ideal for c in costs))
            if line > 0 and total.actual:
                found.setdefault(line, {})[_KEYS[space]] = total
    return dict(found)


def totals_text(totals: LineTotals) -> str:
    """A line's totals in a sentence."""
    parts = []
    for space, unit in UNITS.items():
        total = totals.get(_KEYS[space])
        if total is not None:
            told = plural(total.actual, f"{space} {unit.removesuffix('s')}")
            best = grouped(total.ideal)
            parts.append(told + (f" where {best} would do" if total.wasteful else ", none wasted"))
    return "; ".join(parts) + "." if parts else ""


_LEXERS = {".py": "python", ".rs": "rust", ".jl": "julia", ".zig": "zig"}


def language_of(name: str, source: str) -> str:
    """The end of a file's name that says how its text is coloured: CUDA's within Python, too."""
    return ".cu" if "__global__" in source else PurePath(name).suffix or ".cu"


@lru_cache(maxsize=16)
def highlight(source: str, suffix: str = ".cu") -> tuple[tuple[Span, ...], ...]:
    """Coloured spans of each line of a source, or of some of its lines, by Pygments' lexer.

    `suffix` is the end of its file's name; a language that has no lexer here is taken for CUDA C.
    """
    from pygments.lexers import find_lexer_class_by_name

    lines: list[list[Span]] = [[]]
    column = 0
    lexer = find_lexer_class_by_name(_LEXERS.get(suffix, "cuda"))
    for token, text in lexer(stripnl=False, ensurenl=False).get_tokens(source):
        category = _category(str(token), text)
        for i, piece in enumerate(text.split("\n")):
            if i:
                lines.append([])
                column = 0
            if piece and category:
                lines[-1].append(Span(column, len(piece), category))
            column += len(piece)
    return tuple(tuple(line) for line in lines)


_STRINGS = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_OPENERS = {
    "/*": re.compile(rf"//[^\n]*|{_STRINGS}|/\*.*?(?:\*/|\Z)", re.DOTALL),
    '"""': re.compile(rf'#[^\n]*|""".*?(?:"""|\Z)|{_STRINGS}', re.DOTALL),
}


def comment_opening(suffix: str) -> str:
    """What opens a comment of several lines in the language of a file's name."""
    return '"""' if suffix == ".py" else "/*"


def lines_inside_comments(source: str, suffix: str = ".cu") -> frozenset[int]:
    """The lines (from 0) that begin within a comment of several lines, or a docstring."""
    found: set[int] = set()
    line = place = 0
    opening = comment_opening(suffix)
    for match in _OPENERS[opening].finditer(source):
        if match[0].startswith(opening) and "\n" in match[0]:
            line += source.count("\n", place, match.start())
            place = match.end()
            lines = match[0].count("\n")
            found.update(range(line + 1, line + lines + 1))
            line += lines
    return frozenset(found)


CUDA_BUILTINS = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "__syncthreads"}

STATEMENTS = {"if", "for", "while", "switch", "return"}


def _category(token: str, text: str) -> str:
    if text in CUDA_BUILTINS:
        return "builtin"
    if text in STATEMENTS:  # in a part of a function, `else if (…) {` looks like another function
        return "keyword"
    for prefix, category in (
        ("Token.Comment.Preproc", "preprocessor"),
        ("Token.Comment", "comment"),
        ("Token.Keyword.Type", "type"),
        ("Token.Keyword", "keyword"),
        ("Token.Literal.Number", "number"),
        ("Token.Literal.String", "string"),
        ("Token.Name.Function", "function"),
        ("Token.Name.Builtin", "builtin"),
    ):
        if token.startswith(prefix):
            return category
    return ""


def _uncounted(session: Session, line: int) -> str:
    """What a line without counts touches: constants are not counted."""
    block = session.block_trace
    spaces = block.spaces_of(line) if block is not None else frozenset()
    if "const" in spaces:
        return "it touches only constant memory, which is not counted"
    return "it touches no memory"


def _event(session: Session, line: int) -> str:
    """What happens at a line that is a barrier or the kernel's end; empty for any other."""
    block = session.block_trace
    kind = int(block.kind[session.step]) if block is not None else -1
    if kind == EventKind.BARRIER:
        return f"Line {line} is a barrier: the threads wait there for all of their block."
    if kind == EventKind.EXIT:
        return f"The threads leave the kernel at line {line}."
    return ""


def source_caption(session: Session) -> str:
    """One sentence about the line that runs now."""
    trace, line = session.trace, session.current_line
    if trace is None:
        return "No kernel has been recorded yet."
    if line is None:
        return f"{trace.workload.source_name}: no line is running."
    totals = line_totals(session.counts or trace).get(line)
    if totals is None and (event := _event(session, line)):
        return event
    if totals is None:
        return f"Line {line} runs; {_uncounted(session, line)}."
    scope = "over the launch" if session.counts_complete else "in the recorded blocks"
    return f"Line {line}, {scope}: {totals_text(totals)}"
