"""The variables of the selected thread, or of its whole warp."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from core.launch import WARP
from core.trace.variables import Value, Variable
from core.wording import listing
from gui.scenes.names_of_elements_and_threads import name_of_thread
from gui.scenes.numbers_and_sentences import variable_text

if TYPE_CHECKING:
    from core.trace import BlockTrace
    from gui.scenes.session import Session

MOST_PARTS = 64
"""Elements of a local array that get a row each; a longer one stays in one row."""
MOST_BASES = 6  # names of whole arrays and structures that a sentence has
MOST_NAMES = 4
"""That are said to have changed; of more, arrays are named as a whole."""


@dataclass(frozen=True)
class VariableRow:
    """A variable, or an element of one: its value in the selected thread and each lane of the warp.

    `lanes` holds 32 texts, "" where the warp has no such thread and "–" where the variable is not
    live. `uniform` says that all lanes that hold a value hold the same.
    """

    name: str
    type: str
    value: str
    changed: bool
    lanes: tuple[str, ...]
    uniform: bool
    given: bool = False
    """Whether CUDA gives it, not the source."""

    @property
    def pointer(self) -> bool:
        """Whether the value is an address."""
        return "*" in self.type  # `float (*)[8]` is one, too


def table_rows(session: Session, warp_table: bool = False) -> tuple[VariableRow, ...]:
    """The rows of the table: the source's variables, CUDA's own, then pointers.

    The closure that a lambda's body has as `this` is the compiler's, and left out.
    """
    rows = variable_rows(session, warp_table)
    shown = [row for row in rows if not (row.name == "this" and "(lambda)" in row.type)]
    values = [row for row in shown if not row.pointer]
    pointers = [row for row in shown if row.pointer]
    return (*values, *_given(session, warp_table), *pointers)


def _given(session: Session, warp_table: bool) -> Iterator[VariableRow]:
    block = session.block_trace
    if block is None or not block.n_steps:
        return
    first = session.warp * WARP
    mates = block.threads[first : first + WARP].tolist() if warp_table else []
    for name, value in builtin_rows(session):
        mine = name == "threadIdx"
        lanes = tuple(f"({', '.join(map(str, mate))})" if mine else value for mate in mates)
        padded = lanes + ("",) * (WARP - len(lanes)) if lanes else ()
        kind = "uint3" if name.endswith("Idx") else "dim3"
        yield VariableRow(name, kind, value, False, padded, len(set(lanes)) == 1, given=True)


def variable_rows(session: Session, warp_table: bool = False) -> tuple[VariableRow, ...]:
    """Variables at the current step, in the order of the source, then arrays, then pointers.

    A small array has a row for each element. The warp's lanes are filled in only for `warp_table`.
    """
    trace = session.block_trace
    if trace is None or not trace.n_steps:
        return ()
    present = min(WARP, trace.n_threads - session.warp * WARP)
    table = trace.variable_table(session.step, session.warp) if warp_table else []
    lanes = {row.name: row.values[:present] for row in table}
    rows = []
    for variable in _parted(trace, session.step, session.thread):
        array, _, place = variable.name.partition("[")
        values = lanes.get(array, [])
        if place and values:
            values = [_part(value, variable.place) for value in values]
        across = tuple(variable_text(value, variable.type) for value in values)
        live = {text for text in across if text != "–"}
        rows.append(
            VariableRow(
                variable.name,
                variable.type,
                variable_text(variable.value, variable.type),
                variable.changed,
                across + ("",) * (WARP - len(across)) if across else (),
                len(live) == 1,
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.type.endswith("*"), "[" in row.name)))


@dataclass(frozen=True)
class _Part(Variable):
    """A variable, or the element at a `place` of an array, in row-major order."""

    place: int = 0


def _parted(trace: BlockTrace, step: int, thread: int) -> Iterator[_Part]:
    """The variables of a thread, small arrays element by element."""
    before: Mapping[str, Value | None] | None = None
    for variable in trace.variables(step, thread):
        shape = [int(n) for n in re.findall(r"\[([0-9]+)\]", variable.type)]
        whole, count = variable.value, prod(shape)
        if not shape or count > MOST_PARTS or not isinstance(whole, tuple) or len(whole) != count:
            yield _Part(variable.name, variable.type, whole, variable.changed)
            continue
        if variable.changed and before is None:
            before = {v.name: v.value for v in trace.variables(step - 1, thread)} if step else {}
        old = before.get(variable.name) if before is not None else whole
        inner = variable.type.partition("[")[0].strip()
        for place, index in enumerate(itertools.product(*map(range, shape))):
            name = variable.name + "".join(f"[{i}]" for i in index)
            yield _Part(name, inner, whole[place], _part(old, place) != whole[place], place)


def _part(value: Value | None, place: int) -> Value | None:
    """An element of an array, None where the array has no value."""
    return value[place] if isinstance(value, tuple) else None


def builtin_rows(session: Session) -> tuple[tuple[str, str], ...]:
    """CUDA's built-in variables of the selected thread: (name, value)."""
    trace, block_trace = session.trace, session.block_trace
    if trace is None or block_trace is None:
        return ()
    launch = trace.workload.launch
    x, y, z = (int(i) for i in block_trace.threads[session.thread])
    at, block, grid = block_trace.index, launch.block, launch.grid

    def dims(*values: int) -> str:
        return f"({', '.join(str(v) for v in values)})"

    return (
        ("threadIdx", dims(x, y, z)),
        ("blockIdx", dims(at.x, at.y, at.z)),
        ("blockDim", dims(block.x, block.y, block.z)),
        ("gridDim", dims(grid.x, grid.y, grid.z)),
    )


def variables_caption(
    session: Session, rows: Sequence[VariableRow], warp_table: bool = False
) -> str:
    """One sentence: whose variables the rows are and which have just changed."""
    if session.block_trace is None:
        return "No thread is selected yet."
    changed = [row.name for row in rows if row.changed]
    few = len(changed) <= MOST_NAMES
    names = changed if few else list(dict.fromkeys(name.partition("[")[0] for name in changed))
    if len(names) > MOST_BASES:
        names = [*names[: MOST_BASES - 1], f"{len(names) - MOST_BASES + 1} others"]
    if warp_table:
        who = f"Warp {session.warp}, lane by lane"
    else:
        name = name_of_thread(session.block_trace, session.thread)
        who = f"Thread {name}: warp {session.warp}, lane {session.lane}"
    return f"{who}. {listing(names) + ' just changed' if names else 'Nothing changed'}."
