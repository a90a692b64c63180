"""What the views ask first about a new trace, worked out before it is shown. No Qt here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.scenes.grids import grids_of, owned_by
from gui.scenes.guards import Guards
from gui.scenes.history import history_of
from gui.scenes.matrices import matrix_scene
from gui.scenes.source import highlight
from gui.scenes.warp import warp_scene

if TYPE_CHECKING:
    from core.trace import Trace

WARP = 32
ACCESSES = 1500  # of the block's record that are read ahead; the rest when the window is idle


def look_ahead(trace: Trace, block: int) -> None:
    """Indexes a recorded block's steps, phases and variables, and what is drawn of it first.

    Everything found is kept with the record. Belongs into the thread that made the trace.
    """
    highlight(trace.workload.source)
    record = trace.block(block)
    len(record.phases)
    if not record.n_steps:
        return
    step = record.seek(0, "access", forward=True)
    for warp in range(record.n_warps):
        record.variables(step, warp * WARP)
    record.shared(step)
    record.active(step)
    guards, grids = Guards(trace), grids_of(trace)
    for grid in grids:
        guards.overhang(grid)
        if grid.result:
            owned_by(trace, grid, block)
    matrix_scene(record, grids, step, 0, guards)
    warp_scene(record, step, 0)
    history_of(record).read_ahead(ACCESSES)
