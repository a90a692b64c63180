"""What the views ask first about a new trace, worked out before it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.launch import WARP
from core.trace import EventKind
from gui.scenes.arrays_as_grids import grids_of, owned_by
from gui.scenes.block_history import history_of
from gui.scenes.findings_list import finding_rows
from gui.scenes.launch_outcome import outcome
from gui.scenes.masked_off_threads import guards_of
from gui.scenes.matching_steps import Course, Lockstep, course_of
from gui.scenes.matrices import heat_caption, matrix_scene
from gui.scenes.ptx_pane import listing_of
from gui.scenes.room_beyond_arrays import reaches_of
from gui.scenes.shared_arrays_and_banks import shared_scene
from gui.scenes.transport_bar import timeline_of
from gui.scenes.warp_lanes import warp_scene

if TYPE_CHECKING:
    from core.trace import BlockTrace, Trace

STORES = 400  # that are replayed ahead


@dataclass(frozen=True)
class Standpoint:
    """Where somebody looks at the record that was there before: the new one is shown there too."""

    source: str
    """`source_key` of its trace: another source is shown from its beginning."""
    course: Course
    step: int
    """Of the course, as `Session.anchored` gives both."""
    thread: int


def look_ahead(trace: Trace, block: int, at: Standpoint | None = None) -> None:
    """Indexes a block's steps, phases and variables, and what is drawn of it first.

    It is the first recorded one if that one was not recorded. What takes long to find is kept with
    the record. Belongs into the thread that made the trace.
    """
    finding_rows(trace)
    outcome(trace)
    listing = listing_of(trace)
    len(listing.text)
    listing.places(1)
    record = trace.block(block if block in trace.recorded_blocks else trace.recorded_blocks[0])
    len(record.phases)
    timeline_of(trace, record)
    course_of(record)
    if not record.n_steps:
        return
    step, thread = _place(record, at)
    for warp in range(record.n_warps):
        record.variables(step, warp * WARP)
    record.variables(step, thread)
    record.active(step)
    stores = np.flatnonzero(np.asarray(record.kind) == EventKind.STORE)
    if len(stores):  # a jump then need not replay all stores before it
        record.shared(int(stores[min(len(stores), STORES) - 1]))
    history_of(record).read_all()
    _look_at_matrices(trace, record, step, thread)
    warp_scene(record, step, thread // WARP)
    shared_scene(trace, record, step, thread // WARP)


def _place(record: BlockTrace, at: Standpoint | None) -> tuple[int, int]:
    """The step and the thread that will be looked at first."""
    if at is None or not at.course.n_steps:
        return record.seek(0, "access", forward=True), 0
    step = Lockstep(at.course, course_of(record)).counterpart(at.step)
    return step, min(at.thread, record.n_threads - 1)


def _look_at_matrices(trace: Trace, record: BlockTrace, step: int, thread: int) -> None:
    guards, reaches = guards_of(trace), reaches_of(trace)
    grids = tuple(map(reaches.roomy, grids_of(trace)))
    for grid in grids:
        if grid.result:
            owned_by(trace, grid, record.block)
    matrix_scene(record, grids, step, thread, guards)
    heat_caption(record, grids, step)
