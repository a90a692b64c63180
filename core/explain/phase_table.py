"""The phase table: what each thread of a block loads, copies and adds up in each phase.

Rows are threads, columns the iterations of the kernel's main loop. Everything comes from the
trace: `A[0,2] -> tile_a[0,0]` because a value loaded there was stored here, `C[0,0] += …` because
that sum ended up in C[0,0]. No kernel is known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from core.cancelling import check
from core.errors import TilescopeError
from core.explain.value_flow import (
    OTHER,
    Constant,
    Flow,
    FlowReader,
    Load,
    Named,
    Node,
    Store,
    Sum,
    Term,
    Unknown,
    chain,
    loads_in,
    text_of,
    within,
)
from core.wording import assignments

if TYPE_CHECKING:
    from core.trace.block import BlockTrace
    from core.trace.trace import Trace


# The columns of a phase table: the phases, and what lies before, between and after them.


@dataclass(frozen=True)
class Column:
    """A phase, or what lies before, between or after the phases (`phase` is then -1).

    `first` and `last` are its first and last step, both included.
    """

    title: str
    phase: int
    first: int
    last: int


class Spans:
    """Places steps in columns.

    A column's key is its phase's place among the block's, which need not have all numbers; or it
    lies half way between two.
    """

    def __init__(self, block: BlockTrace) -> None:
        self._phase, self._phases, self._end = block.phase, block.phases, block.n_steps - 1
        self._places = {phase.index: place for place, phase in enumerate(block.phases)}
        self._filling = block.filling

    def key(self, step: int) -> float:
        """The key of a step's column."""
        phase = int(self._phase[step])
        if phase >= 0:
            return float(self._places[phase])
        return sum(p.first <= step for p in self._phases) - 0.5

    def column(self, key: float) -> Column:
        """The column of a key."""
        if key == int(key):
            phase = self._phases[int(key)]
            ahead = ", fill ahead" if phase.index < self._filling.phases else ""
            return Column(f"Phase {phase.index}{ahead}", phase.index, phase.first, phase.last)
        after = int(key + 0.5)  # phases that have begun before it
        first = self._phases[after - 1].last + 1 if after else 0
        last = self._phases[after].first - 1 if after < len(self._phases) else self._end
        if not self._phases:
            return Column("Whole kernel", -1, first, last)
        before = "Fill ahead" if self._filling.before else "Before"
        names = {0: before, len(self._phases): "After"}
        return Column(names.get(after, "Between"), -1, first, last)


MAX_THREADS, MAX_PHASES = 64, 32
LONGEST = 4  # terms of a sum that are shown in full
KINDS = ("load", "copy", "store", "sum")


@dataclass(frozen=True)
class Entry:
    """One thing that a thread does in a phase. `kind` is one of `KINDS`, `step` when it happens.

    `short` is the text with the middle of a long sum left out, `element` what was loaded: an
    array's name and an index into it.
    """

    kind: str
    text: str
    step: int
    short: str = ""
    element: tuple[str, tuple[int, ...]] | None = None


@dataclass(frozen=True)
class Row:
    """A thread (linear threadIdx), its threadIdx, and a cell for each column."""

    thread: int
    name: str
    cells: tuple[tuple[Entry, ...], ...]


@dataclass(frozen=True)
class PhaseTable:
    """The table of one block."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def column_at(self, step: int, phase: int) -> int:
        """The column that a step of a phase belongs to, -1 if there is none."""
        for place, column in enumerate(self.columns):
            if phase >= 0 and column.phase == phase:
                return place
            if phase < 0 and column.phase < 0 and column.first <= step <= column.last:
                return place
        return -1


def phase_table(trace: Trace, block: BlockTrace) -> PhaseTable:
    """The table of a block; raises `TilescopeError` where it is too large to read, `Cancelled`."""
    reason = too_large(block)
    if reason:
        raise TilescopeError(reason)
    reader = FlowReader(trace, block)
    spans = Spans(block)
    rows: list[tuple[int, Mapping[float, list[Entry]]]] = []
    for thread in range(block.n_threads):
        check()
        rows.append((thread, _Cells(spans).of(reader.of(thread))))
    used = {key for _, cells in rows for key, entries in cells.items() if entries}
    keys = sorted(used | set(map(float, range(len(block.phases)))))
    return PhaseTable(
        _title(trace, block),
        tuple(spans.column(key) for key in keys),
        tuple(
            Row(thread, _thread_name(block, thread), tuple(tuple(cells.get(k, ())) for k in keys))
            for thread, cells in rows
        ),
    )


def too_large(block: BlockTrace) -> str:
    """Why there is no table of a block, in a sentence; empty if there is one."""
    if block.n_threads > MAX_THREADS:
        return (
            f"The phase table has a row for each thread, and this block has {block.n_threads}; "
            f"choose a block of at most {MAX_THREADS} threads."
        )
    if len(block.phases) > MAX_PHASES:
        return (
            f"The phase table has a column for each phase, and this block has "
            f"{len(block.phases)}; choose sizes with at most {MAX_PHASES} phases."
        )
    return ""


def _title(trace: Trace, block: BlockTrace) -> str:
    values = assignments(trace.workload.parameters)
    x, y, z = block.index
    where = f"({x}, {y}, {z})" if trace.workload.launch.grid.z > 1 else f"({x}, {y})"
    return f"{trace.workload.title}{', ' if values else ''}{values}, block {where}"


def _thread_name(block: BlockTrace, thread: int) -> str:
    x, y, z = (int(i) for i in block.threads[thread])
    return f"({x}, {y}, {z})" if block.threads[:, 2].any() else f"({x}, {y})"


@dataclass
class _Cells:
    """Gathers one thread's entries, by the key of their column."""

    spans: Spans
    entries: dict[float, list[tuple[int, int, Entry]]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)  # sums that have a name, by identity
    shown: set[int] = field(default_factory=set)  # loads that an entry names, by identity
    copies: set[tuple[int, float]] = field(default_factory=set)  # loads copied in their own column
    counted: int = 0  # sums that go into others, named sum, sum2, …

    def of(self, flow: Flow) -> dict[float, list[Entry]]:
        for store in flow.stores:
            self._store(store)
        for leftover in flow.unstored:
            self._sum(leftover, "(not stored)", None)
        for load in flow.loads:
            self._load(load)
        return {
            key: [e for _, _, e in sorted(found, key=lambda row: row[:2])]
            for key, found in self.entries.items()
        }

    def _add(
        self, kind: str, text: str, step: int, short: str = "", loaded: Load | None = None
    ) -> None:
        found = self.entries.setdefault(self.spans.key(step), [])
        element = (loaded.array, loaded.index) if loaded is not None and loaded.index else None
        entry = Entry(kind, text, step, short or text, element)
        found.append((step, KINDS.index(kind), entry))

    def _load(self, load: Load) -> None:
        """A load from global memory, or one whose use nothing else shows."""
        if load.space != "global" and id(load) in self.shown:
            return
        if (id(load), self.spans.key(load.step)) not in self.copies:
            self._add("load", f"load {load.name}", load.step, loaded=load)

    def _store(self, store: Store) -> None:
        target, node = store.target.name, store.node
        if store.update:
            words = self._text(node, store.step, "…")
            self._add("store", f"atomic {store.update} {target}, {words}", store.step)
        elif isinstance(node, Load):
            self.shown.add(id(node))
            self.copies.add((id(node), self.spans.key(store.step)))
            self._add("copy", f"{node.name} -> {target}", store.step, loaded=node)
        elif isinstance(node, Sum):
            self._sum(node, target, store.step)
        elif isinstance(node, Constant):
            self._add("copy", f"{node.value:.9g} -> {target}", store.step)
        else:
            words = self._text(node, store.step, store.target.value)
            self._add("store", f"{target} = {words}", store.step)

    def _sum(self, node: Sum, target: str, stored: int | None) -> None:
        """A sum's terms in the columns where they were added, then its store."""
        base, terms = chain(_on_top_of(node, target), self.names)
        columns: dict[float, list[Term]] = {}
        for term in terms:
            columns.setdefault(self.spans.key(term.step), []).append(term)
        for _, group in sorted(columns.items()):
            for term in group:
                self._name_inner(term.node, group[-1].step)
        self._name_inner(base, node.step)
        self.shown.update(map(id, loads_in(node)))
        at_once = stored is not None and list(columns) == [self.spans.key(stored)]
        started = text_of(base, self.names)
        begins = "" if started == target else started
        replaces = (at_once and not started) or bool(begins)
        for _, group in sorted(columns.items()):
            texts = [
                _after(begins, words) if replaces else words.removeprefix("+ ")
                for words in (_joined(group, self.names), _joined(_cut(group), self.names))
            ]
            lead = f"{target} {'=' if replaces else '+='} "
            self._add("sum", lead + texts[0], group[-1].step, lead + texts[1])
            begins, replaces = "", False
        self.names[id(node)] = target
        if stored is not None and not at_once:
            self._add("store", f"store {target}", stored)

    def _name_inner(self, node: Node, step: int) -> None:
        """Sums inside a term that were added up elsewhere get a name and entries of their own."""
        for inner in within(node, until=Sum):
            if not isinstance(inner, Sum) or id(inner) in self.names:
                continue
            _, terms = chain(inner, self.names)
            here = self.spans.key(step)
            if any(self.spans.key(t.step) != here for t in terms):
                self.counted += 1
                self._sum(inner, f"sum{self.counted if self.counted > 1 else ''}", None)

    def _text(self, node: Node, step: int, value: object) -> str:
        if isinstance(node, Unknown):
            return f"{value}"
        self._name_inner(node, step)
        self.shown.update(map(id, loads_in(node)))
        return text_of(node, self.names) or "0"


def _on_top_of(node: Sum, target: str) -> Sum:
    """A sum added to what the target held (`C[0] += sum`) begins with the target."""
    held = isinstance(node.term, Load) and node.term.name == target
    if held and not node.minus and isinstance(node.base, Sum):
        return Sum(node.term, node.base, False, node.step)
    return node


def _joined(terms: list[Term], names: Mapping[int, str]) -> str:
    words = (f"{'-' if t.minus else '+'} {text_of(t.node, names) or 0}" for t in terms)
    return " ".join(words)


def _cut(terms: list[Term]) -> list[Term]:
    """A long sum without its middle."""
    if len(terms) <= LONGEST:
        return terms
    return [terms[0], Term(Named(OTHER), False, terms[1].step), terms[-1]]


def _after(begins: str, words: str) -> str:
    if begins:
        return f"{begins} {words}"
    return words.removeprefix("+ ") if words.startswith("+ ") else "-" + words.removeprefix("- ")


# The phase table as plain text, Markdown and LaTeX. Standard LaTeX, no packages needed.


THREAD = "Thread (x, y)"


def as_text(table: PhaseTable) -> str:
    """Columns side by side, an entry on each line, a rule under the heading and every thread."""
    heads = [[THREAD], *([column.title] for column in table.columns)]
    rows = [
        [[f"{row.name}"], *([e.text for e in cell] for cell in row.cells)] for row in table.rows
    ]
    widths = [
        max(len(line) for row in [heads, *rows] for line in row[i] or [""])
        for i in range(len(heads))
    ]
    rule = "-+-".join("-" * width for width in widths)
    blocks = [_side_by_side(row, widths) for row in [heads, *rows]]
    return f"{table.title}\n\n" + f"\n{rule}\n".join(blocks) + "\n"


def _side_by_side(row: list[list[str]], widths: list[int]) -> str:
    lines = zip_longest(*row, fillvalue="")
    padded = (
        " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def as_markdown(table: PhaseTable) -> str:
    """A table of GitHub's Markdown; the entries of a cell are separated by line breaks."""
    heads = [THREAD, *(column.title for column in table.columns)]
    lines = [f"**{table.title}**", "", _piped(heads), _piped(["---"] * len(heads))]
    for row in table.rows:
        cells = ["<br>".join(f"`{e.text}`" for e in cell) for cell in row.cells]
        lines.append(_piped([row.name, *cells]))
    return "\n".join(lines) + "\n"


def _piped(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_latex(table: PhaseTable) -> str:
    """A `table` with a `tabular`; each cell stacks its entries in a `tabular` of its own."""
    layout = "l" * (len(table.columns) + 1)
    heads = [THREAD, *(column.title for column in table.columns)]
    lines = [
        r"\begin{table}",
        rf"\caption{{{_escaped(table.title)}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\hline",
        " & ".join(_escaped(head) for head in heads) + r" \\",
        r"\hline",
    ]
    for row in table.rows:
        cells = [_stacked([e.text for e in cell]) for cell in row.cells]
        lines.append(" & ".join([row.name, *cells]) + r" \\")
        lines.append(r"\hline")
    return "\n".join([*lines, r"\end{tabular}", r"\end{table}"]) + "\n"


def _stacked(texts: list[str]) -> str:
    if not texts:
        return ""
    inner = r" \\ ".join(rf"\texttt{{{_escaped(text)}}}" for text in texts)
    return rf"\begin{{tabular}}[t]{{@{{}}l@{{}}}}{inner}\end{{tabular}}"


_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "_": r"\_",
        "&": r"\&",
        "%": r"\%",
        "#": r"\#",
        "$": r"\$",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "…": r"\dots{}",
        "ᵀ": r"\textsuperscript{T}",
        "×": r"$\times$",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
    }
)


def _escaped(text: str) -> str:
    return r"$\rightarrow$".join(part.translate(_SPECIAL) for part in text.split("->"))
