"""The PTX pane's content: the kernel's instructions beside the source lines they come from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from core.ptx.ast import Symbol
from gui.scenes.cached_per_object import once_for_each
from gui.scenes.numbers_and_sentences import plural
from gui.scenes.source_pane import Span

if TYPE_CHECKING:
    from core.trace import Trace
    from gui.scenes.session import Session


@dataclass(frozen=True)
class PtxRow:
    """A row of the listing: an instruction, or (`pc` -1) a label or the name of a function.

    `line` is the source line, 0 where there is none.
    """

    text: str
    pc: int = -1
    line: int = 0


class PtxListing:
    """All functions of a trace's module that have instructions, the kernel first."""

    def __init__(self, trace: Trace) -> None:
        self.rows = tuple(_rows(trace))
        self._of_pc = {row.pc: place for place, row in enumerate(self.rows) if row.pc >= 0}

    @cached_property
    def _of_line(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for place, row in enumerate(self.rows):
            if row.pc >= 0 and row.line:
                found.setdefault(row.line, []).append(place)
        return found

    @cached_property
    def _digits(self) -> int:
        return len(str(max((row.line for row in self.rows), default=0)))

    def spans(self, first: int, last: int) -> list[list[Span]]:
        """The coloured spans of some rows of `text`: faint line numbers, operations."""
        return [_spans(row, self._digits + 4) for row in self.rows[first:last]]

    @cached_property
    def text(self) -> str:
        """The listing, with the source line before each instruction that begins another."""
        width, shown, lines = self._digits, 0, []
        for row in self.rows:
            if row.pc < 0:
                lines.append(row.text)
                continue
            number = f"{row.line:>{width}}" if row.line and row.line != shown else " " * width
            shown = row.line
            lines.append(f"  {number}  {row.text}")
        return "\n".join(lines)

    def place(self, pc: int) -> int:
        """The row of an instruction, -1 if it is not listed."""
        return self._of_pc.get(pc, -1)

    def places(self, line: int | None) -> list[int]:
        """The rows of a source line's instructions."""
        return self._of_line.get(line or -1, [])

    def line_at(self, place: int) -> int | None:
        """The source line of a row, None where it has none."""
        if not 0 <= place < len(self.rows):
            return None
        return self.rows[place].line or None


OPERATIONS = {"ld": "load", "ldu": "load", "st": "store", "atom": "store", "red": "store"}


def _spans(row: PtxRow, start: int) -> list[Span]:
    if row.pc < 0:
        return [Span(0, len(row.text), "label" if row.text.endswith(":") else "function")]
    words = row.text.split(" ")
    skipped = len(words[0]) + 1 if words[0].startswith("@") else 0
    operation = words[1 if skipped else 0]
    category = OPERATIONS.get(operation.split(".", maxsplit=1)[0], "operation")
    width = len(operation.rstrip(";"))
    return [Span(0, start, "number"), Span(start + skipped, width, category)]


listing_of = once_for_each(PtxListing)
"""The one listing of a trace, made when first asked for and dropped with the trace."""


def _rows(trace: Trace) -> Iterable[PtxRow]:
    module = trace.module
    jumps = {o.name for i in module.instructions for o in i.operands if isinstance(o, Symbol)}
    jumps.update(name for table in module.branch_targets.values() for name in table)
    labels: dict[int, list[str]] = {}
    for name, pc in module.labels.items():
        if name in jumps:  # the others are the debugger's
            labels.setdefault(pc, []).append(name)
    source = module.source_file
    functions = [f for f in module.functions.values() if f.end_pc > f.first_pc]
    functions.sort(key=lambda f: (f.name != trace.workload.kernel, not f.is_entry, f.first_pc))
    for function in functions:
        yield PtxRow(f"{'.entry' if function.is_entry else '.func'} {function.name}")
        for pc in range(function.first_pc, function.end_pc):
            for name in labels.get(pc, ()):
                yield PtxRow(f"{name}:")
            instruction = module.instructions[pc]
            own = instruction.position.file == source
            yield PtxRow(instruction.text, pc, instruction.position.line if own else 0)


def current_pc(session: Session) -> int:
    """The instruction of the current step, -1 without one."""
    block = session.block_trace
    return int(block.pc[session.step]) if block is not None and block.n_steps else -1


def ptx_caption(session: Session, listing: PtxListing | None) -> str:
    """One sentence about what is lit."""
    if listing is None:
        return "No kernel has been recorded yet."
    assert session.trace is not None
    build = session.trace.build
    how = "as written (no optimisation)" if build.kind == "as_written" else "optimised"
    if build.compiler:
        how += f", {build.compiler_note}"
    line = session.line or session.current_line
    count = len(listing.places(line))
    if line is None or not count:
        return f"The instructions of the kernel, {how}."
    chosen = "selected " if session.line else ""
    verb = "is" if count == 1 else "are"
    return f"{plural(count, 'instruction')} of the {chosen}line {line} {verb} tinted; {how}."
