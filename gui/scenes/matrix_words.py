"""What the matrices show at a step, in a sentence. No Qt here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.trace import EventKind
from gui.scenes import faults
from gui.scenes.grids import Grid
from gui.scenes.masked import idle
from gui.scenes.naming import block_name, elements_name, value_text
from gui.scenes.parts import accessed_name
from gui.scenes.phase_words import part_name
from gui.scenes.text import capital, join, plural

if TYPE_CHECKING:
    from core.trace import Access, BlockTrace, SoFar

FEW_SUMS = 2  # that are said one by one


def caption_of(
    block_trace: BlockTrace,
    access: Access | None,
    step: int,
    held: str = "",
    *,
    filled: bool = False,
    placed: bool = True,
) -> str:
    """One sentence: what the block's threads do at a step, then `held`.

    `placed` says that the places of the threads masked off are known, `filled` that these put a
    zero into shared memory instead.
    """
    where = f"Block {block_name(block_trace)}"
    part = part_name(block_trace, step)
    when = f", {part}" if part else ""
    if access is None:
        return f"{where}{when}: {'; '.join(filter(None, (_event(block_trace, step), held)))}."
    lanes = int(np.count_nonzero(access.active))
    wrong = faults.at_fault(access)
    said = [faults.words(access, wrong)] if wrong else []
    if lanes or not wrong:
        said.append(_done(access, lanes))
    masked = int(np.count_nonzero(idle(block_trace, access))) if access.array is not None else 0
    if masked:
        guarded = f"{plural(masked, 'thread')} masked off"
        if filled:
            guarded = f"{masked} masked off, 0 in their place"
        if not placed:
            guarded += ", where they would have gone is not in the record"
        said.append(guarded)
    if held:
        said.append(held)
    return f"{where}{when}: {'; '.join(said)}."


def held_words(grids: Sequence[Grid], held: Sequence[SoFar | None], thread: int) -> str:
    """What a thread holds for what it stores later: `value holds 0.442 for C[0, 1] so far`."""
    said = []
    for grid, so_far in zip(grids, held, strict=True):
        mine = so_far.of_thread(thread) if so_far is not None else None
        if mine is None or not len(mine.flats):
            continue
        numbers = (
            [value_text(v) for v in mine.values.tolist()] if len(mine.flats) <= FEW_SUMS else []
        )
        what = f"{join(numbers)} for " if numbers else ""
        verb = "hold" if len(mine.used) > 1 else "holds"
        words = f"{join(mine.used)} {verb} {what}{elements_name(grid.array, mine.flats)} so far"
        said.append(words)
    return ", ".join(said)


def _done(access: Access, lanes: int) -> str:
    """What the threads that are served do: `4 threads load A[0..1, 0..1]`."""
    verb = {"load": "load", "store": "store"}.get(access.kind, "update")
    verb += "s" if lanes == 1 else ""
    if access.array is None:
        own = f"{'their' if lanes > 1 else 'its'} own local memory"
        own += "; an optimised build may use registers" if access.space == "local" else ""
        what = own if access.space == "local" else access.target
        return f"{plural(lanes, 'thread')} {verb} {what}"
    what = accessed_name(access, access.array)
    place = " in shared memory" if access.space == "shared" else ""
    return f"{plural(lanes, 'thread')} {verb} {what}{place}"


def _leaving(block_trace: BlockTrace, step: int) -> str:
    lanes = int(np.count_nonzero(block_trace.active(step)))
    if lanes == block_trace.n_threads:
        return "all its threads have left the kernel"
    return f"{plural(lanes, 'thread')} {'have' if lanes > 1 else 'has'} left the kernel"


def _meeting(block_trace: BlockTrace, step: int) -> str:
    lanes = int(np.count_nonzero(block_trace.active(step)))
    if lanes == block_trace.n_threads:
        return "all threads of the block have met at the barrier"
    return f"{plural(lanes, 'thread')} of {block_trace.n_threads} have met at the barrier"


def _event(block_trace: BlockTrace, step: int) -> str:
    line = int(block_trace.line[step])
    names: Mapping[int, str] = {
        EventKind.LINE: f"threads come to line {line}",
        EventKind.BARRIER: _meeting(block_trace, step),
        EventKind.EXIT: _leaving(block_trace, step),
    }
    return names.get(int(block_trace.kind[step]), capital(f"line {line}"))
