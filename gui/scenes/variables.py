"""The variables of the selected thread, or of its whole warp. No Qt here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gui.scenes.naming import thread_name
from gui.scenes.session import WARP_SIZE
from gui.scenes.text import join, variable_text

if TYPE_CHECKING:
    from gui.scenes.session import Session


@dataclass(frozen=True)
class VariableRow:
    """One variable: its value in the selected thread and in each lane of the warp.

    `lanes` holds 32 texts, "" where the warp has no such thread and "–" where the variable is not
    live. `uniform` says that all lanes that hold a value hold the same.
    """

    name: str
    type: str
    value: str
    changed: bool
    lanes: tuple[str, ...]
    uniform: bool


def variable_rows(session: Session, warp_table: bool = False) -> tuple[VariableRow, ...]:
    """Variables at the current step, in the order of the source, pointers last.

    The warp's lanes are filled in only for `warp_table`.
    """
    trace = session.block_trace
    if trace is None or not trace.n_steps:
        return ()
    lanes: dict[str, tuple[str, ...]] = {}
    if warp_table:
        present = min(WARP_SIZE, trace.n_threads - session.warp * WARP_SIZE)
        for row in trace.variable_table(session.step, session.warp):
            lanes[row.name] = tuple(
                variable_text(value, row.type) if lane < present else ""
                for lane, value in enumerate(row.values)
            )
    rows = []
    for variable in trace.variables(session.step, session.thread):
        across = lanes.get(variable.name, ())
        live = {text for text in across if text not in ("", "–")}
        text = variable_text(variable.value, variable.type)
        rows.append(
            VariableRow(
                variable.name, variable.type, text, variable.changed, across, len(live) == 1
            )
        )
    return tuple(sorted(rows, key=lambda row: row.type.endswith("*")))


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
    names = [row.name for row in rows if row.changed]
    if warp_table:
        who = f"Warp {session.warp}, lane by lane"
    else:
        name = thread_name(session.block_trace.threads[session.thread])
        who = f"Thread {name}: warp {session.warp}, lane {session.lane}"
    return f"{who}. {join(names) + ' just changed' if names else 'Nothing changed'}."
