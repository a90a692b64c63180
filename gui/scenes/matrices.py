"""What the matrix canvas shows: the arrays as grids, who owns what, and what a step touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Ints
from core.launch import WARP
from core.trace import EventKind
from core.wording import listing
from gui.scenes.arrays_as_grids import Grid, Rect, bounding_box, is_product
from gui.scenes.block_history import BEFORE, History, history_of, multiplied
from gui.scenes.bulk_copies import boxes_between, copied, operations_at, warps_of
from gui.scenes.elements_of_accesses import (
    EMPTY,
    accessed_name,
    all_elements,
    deed,
    elements_a_lane,
    is_global,
)
from gui.scenes.illegal_accesses import at_fault, faults_in_words, faulty_cells
from gui.scenes.masked_off_threads import Guards, idle, zero_filled
from gui.scenes.names_of_elements_and_threads import block_name, elements_name, part_name
from gui.scenes.numbers_and_sentences import plural, value_text
from gui.scenes.operations_in_words import operations_words

if TYPE_CHECKING:
    from core.emulator.events import TransferEvent
    from core.trace import Access, BlockTrace
    from core.trace.running_sums import SoFar
    from gui.scenes.session import Session


FEW_SUMS = 2  # that are said one by one


def _caption_of(
    block_trace: BlockTrace,
    access: Access | None,
    step: int,
    held: str = "",
    does: str = "",
    *,
    filled: bool = False,
    placed: bool = True,
) -> str:
    """One sentence: what the block's threads do at a step, then `held`.

    `does` is what a copy or a product does that they begin, perhaps besides an access.
    `placed` says that the places of the threads masked off are known, `filled` that these put a
    zero into shared memory instead.
    """
    where = f"Block {block_name(block_trace)}"
    part = part_name(block_trace, step)
    when = f", {part}" if part else ""
    if access is None:
        does = does or _event(block_trace, step)
        return f"{where}{when}: {'; '.join(filter(None, (does, held)))}."
    lanes = int(np.count_nonzero(access.active))
    wrong = at_fault(access)
    said = [faults_in_words(access, wrong)] if wrong else []
    if lanes or not wrong:
        said.append(_done(access, lanes))
    masked = int(np.count_nonzero(idle(block_trace, access))) if access.array is not None else 0
    if masked:
        guarded = f"{plural(masked, 'thread')} masked off"
        if filled:
            guarded = f"{masked} masked off, 0 in their place"
        if not placed:
            guarded += " (their places are not in the record)"
        said.append(guarded)
    if does:
        said.append(does)
    if held:
        said.append(held)
    return f"{where}{when}: {'; '.join(said)}."


def _held_words(grids: Sequence[Grid], held: Sequence[SoFar | None], thread: int) -> str:
    """What a thread holds for what it stores later: `value holds 0.442 for C[0, 1] so far`."""
    said = []
    for grid, so_far in zip(grids, held, strict=True):
        mine = so_far.of_thread(thread) if so_far is not None else None
        if mine is None or not len(mine.flats):
            continue
        few = mine.values.tolist() if len(mine.flats) <= FEW_SUMS else []
        what = f"{listing([value_text(v) for v in few])} for " if few else ""
        verb = "hold" if len(mine.used) > 1 else "holds"
        said.append(
            f"{listing(mine.used)} {verb} {what}{elements_name(grid.array, mine.flats)} so far"
        )
    return ", ".join(said)


def _done(access: Access, lanes: int) -> str:
    """What the threads that are served do: `4 threads load A[0..1, 0..1]`."""
    verb = deed(access, lanes)
    if access.array is None:
        own = f"{'their' if lanes > 1 else 'its'} own local memory"
        own += "; an optimised build may use registers" if access.space == "local" else ""
        what = own if access.space == "local" else access.target
        return f"{plural(lanes, 'thread')} {verb} {what}"
    what = accessed_name(access, access.array)
    place = " in shared memory" if access.space == "shared" else ""
    return f"{plural(lanes, 'thread')} {verb} {what}{place}"


def _event(block_trace: BlockTrace, step: int) -> str:
    """What happens at a step that accesses nothing: `4 threads have left the kernel`."""
    line, kind = int(block_trace.line[step]), int(block_trace.kind[step])
    lanes = int(np.count_nonzero(block_trace.active(step)))
    all_of_them = lanes == block_trace.n_threads
    if kind == EventKind.LINE:
        return f"threads come to line {line}"
    if kind == EventKind.BARRIER and all_of_them:
        return "all threads of the block have met at the barrier"
    if kind == EventKind.BARRIER:
        return f"{plural(lanes, 'thread')} of {block_trace.n_threads} have met at the barrier"
    if kind == EventKind.EXIT and all_of_them:
        return "all its threads have left the kernel"
    if kind == EventKind.EXIT:
        return f"{plural(lanes, 'thread')} {'have' if lanes > 1 else 'has'} left the kernel"
    return f"Line {line}"


@dataclass(frozen=True)
class GridMarks:
    """What the current step does to one grid. Arrays are flat elements, each once."""

    lit: Ints
    through: Ints
    """Elements whose copies in shared memory are loaded at this step."""
    verb: str
    thread: Ints
    """Elements that the selected thread touches at this step."""
    warp: Ints
    """Those that its warp touches; none where the block has no other warp."""
    trail: Ints
    """Elements that the selected thread, or its warp, has read up to this step."""
    tiles: tuple[Rect, ...]
    """Bounding box of what each instruction loads for the block in the current phase."""
    band: Rect | None
    """The selected thread's row of A or column of B."""
    echo: Ints = field(default_factory=lambda: EMPTY)
    """Of an array that is drawn twice: elements touched that the other drawing is about."""
    outside: tuple[Ints, Ints] = (EMPTY, EMPTY)
    """Rows and columns beyond the array of the threads that a bounds check masks off."""
    filled: bool = False
    """Whether those threads put a zero into shared memory instead."""
    faults: tuple[Ints, Ints] = (EMPTY, EMPTY)
    """Rows and columns, mostly beyond the array, of what threads at fault wanted."""
    written: Ints = field(default_factory=lambda: EMPTY)
    values: NDArray[np.generic] = field(default_factory=lambda: np.empty(0, np.float32))
    so_far: SoFar | None = None
    """Of the result: what threads hold for elements that they store later."""


@dataclass(frozen=True)
class MatrixScene:
    """One step: marks for each grid, in the order of `grids_of`, and the caption."""

    caption: str
    marks: tuple[GridMarks, ...]
    own: Ints
    """Elements of the result that the selected thread stores in the whole record."""
    owns: tuple[Ints, ...]
    """The same of each grid: a kernel may store several arrays."""


def veiled_scene(scene: MatrixScene, session: Session) -> MatrixScene:
    """The scene without what a question veils."""
    if not session.veiled:
        return scene
    marks = tuple(_veiled_marks(marks, session) for marks in scene.marks)
    if session.hides("matrices.owners"):
        own, none = tuple(EMPTY for _ in scene.owns), np.empty(0, np.float32)
        marks = tuple(
            replace(mark, band=None, written=EMPTY, values=none, so_far=None) for mark in marks
        )
        return replace(scene, marks=marks, own=EMPTY, owns=own)
    return replace(scene, marks=marks)


def _veiled_marks(marks: GridMarks, session: Session) -> GridMarks:
    nowhere = EMPTY, EMPTY
    if session.hides("matrices.loaded"):
        touched = ("lit", "through", "thread", "warp", "trail", "echo")
        nothing: dict[str, Any] = dict.fromkeys(touched, EMPTY)
        marks = replace(marks, tiles=(), outside=nowhere, faults=nowhere, **nothing)
    if session.hides("matrices.hatched"):
        marks = replace(marks, outside=nowhere, faults=nowhere)
    if session.hides("findings"):
        marks = replace(marks, faults=nowhere)
    if session.hides("matrices.values"):
        none = np.empty(0, np.float32)
        marks = replace(marks, written=EMPTY, values=none, so_far=None)
    return marks


def matrix_scene(
    block_trace: BlockTrace,
    grids: tuple[Grid, ...],
    step: int,
    thread: int,
    guards: Guards | None = None,
    *,
    warp_trail: bool = False,
) -> MatrixScene:
    """Work out the marks for one step and one selected thread.

    The trail is what the thread has read so far, or with `warp_trail` its whole warp.
    """
    access = block_trace.access(step)
    if access is not None and access.space == "local" and operations_at(block_trace, step):
        access = None  # on the way to what the line is about, in a build as written
    history = history_of(block_trace)
    owns = tuple(_own(grid, history, thread) for grid in grids)
    results = (mine for grid, mine in zip(grids, owns, strict=True) if grid.result)
    own = next((mine for mine in results if len(mine)), EMPTY)
    first = thread // WARP * WARP
    who = range(first, first + WARP) if warp_trail else range(thread, thread + 1)
    marks = tuple(
        _marks(block_trace, grid, grids, access, step, thread, own, who) for grid in grids
    )
    marks = _with_echoes(marks, grids, access)
    filled, placed = False, True
    if access is not None and is_global(access):
        filled = zero_filled(block_trace, access)
        here = [grid.array is access.array for grid in grids]
        outside = [
            guards.outside(block_trace, grid, access) if guards is not None and mine else None
            for grid, mine in zip(grids, here, strict=True)
        ]
        placed = guards is None or not any(here) or any(place is not None for place in outside)
        marks = tuple(
            replace(
                mark,
                outside=mark.outside if place is None else place,
                filled=filled and place is not None,
                faults=faulty_cells(grid, access) if mine and access.fault else mark.faults,
            )
            for mark, grid, mine, place in zip(marks, grids, here, outside, strict=True)
        )
    said = _held_words(grids, [mark.so_far for mark in marks], thread)
    arrays = list(dict.fromkeys(grid.array for grid in grids))
    does = operations_words(block_trace, step, arrays)
    caption = _caption_of(block_trace, access, step, said, does, filled=filled, placed=placed)
    return MatrixScene(caption, marks, own, owns)


HOT = 32
"""From so many loads on, an element is as hot as can be: the lanes of a warp."""


def heat_levels(counts: Ints) -> NDArray[np.float64]:
    """Where counts stand on the heat scale, 0..1: the same for every launch, even in doublings."""
    return np.minimum(np.log2(1.0 + counts) / np.log2(1.0 + HOT), 1.0)


def heat_caption(block_trace: BlockTrace, grids: tuple[Grid, ...], step: int) -> str:
    """One sentence: how often the block has loaded the elements of each array so far."""
    said = []
    for grid in {g.array.name: g for g in grids}.values():
        _, seen = history_of(block_trace).loaded(grid.array.name, step)
        if len(seen):
            most, least = int(seen.max()), int(seen.min())
            times = f"{least} times" if least == most else f"{least} to {most} times"
            times = "once" if most == 1 else times
            each = " each" if len(seen) > 1 and most > 1 else ""
            said.append(f"{plural(len(seen), 'element')} of {grid.array.name} {times}{each}")
    if not said:
        return "So far the block has loaded nothing from global memory."
    return f"So far the block has loaded {' and '.join(said)}."


def _marks(
    block_trace: BlockTrace,
    grid: Grid,
    grids: tuple[Grid, ...],
    access: Access | None,
    step: int,
    thread: int,
    own: Ints,
    who: range,
) -> GridMarks:
    history, name = history_of(block_trace), grid.array.name
    lit, verb = EMPTY, ""
    if is_global(access) and access.array.name == name:  # type: ignore[union-attr]
        lit, verb = _touched(access)  # type: ignore[arg-type]
    through = history.read_through(name, step)
    if len(through):
        verb = "load"
    phase = _phase_of(block_trace, step)
    loaded = list(history.loaded_in_phase(phase).get(name, []))
    loaded += boxes_between(block_trace, grid.array, *history.bounds_of(phase))
    events = operations_at(block_trace, step)
    if phase == -1:  # a copy begun outside the phases is framed while it begins
        loaded += boxes_between(block_trace, grid.array, step, step)
    warp, first = EMPTY, thread // WARP * WARP
    if block_trace.n_threads > WARP:
        warp = touched_by(block_trace, name, step, slice(first, first + WARP))
    if events and not len(lit):
        lit, verb = copied(events, grid.array)
        through = multiplied(block_trace, step, grid.array)
        verb = "load" if len(through) else verb
        warp = _product_of(block_trace, events, history, name) if grid.result else warp
    side = _side(grid, grids, history)
    written, values = history.value_stored(name, step) if grid.result else (EMPTY, EMPTY)
    return GridMarks(
        lit=_on_side(grid, side, lit),
        through=_on_side(grid, side, np.unique(through[through >= 0])),
        verb=verb,
        thread=_on_side(grid, side, touched_by(block_trace, name, step, thread)),
        warp=_on_side(grid, side, warp),
        trail=_on_side(grid, side, history.read_by(name, who, step)),
        tiles=tuple(
            bounding_box(grid, part)
            for part in (_on_side(grid, side, flats) for flats in loaded)
            if len(part)
        ),
        band=_band(grid, grids, own),
        written=written,
        values=values,
        so_far=block_trace.so_far(name, step) if grid.result else None,
    )


def _product_of(
    block_trace: BlockTrace, events: list[TransferEvent], history: History, name: str
) -> Ints:
    """The elements of the result that warpgroups work out which multiply at a step."""
    products = [event for event in events if event.kind == "product"]
    if not products:
        return EMPTY
    flats, threads, _ = history.stored(name)
    return np.unique(flats[np.isin(threads // WARP, warps_of(block_trace, products))])


def _with_echoes(
    marks: tuple[GridMarks, ...], grids: tuple[Grid, ...], access: Access | None
) -> tuple[GridMarks, ...]:
    """For C = A Aᵀ: where one drawing has all that an access touches, the other shows it faintly.

    So the column of A that makes a tidy row of Aᵀ is seen as what it is.
    """
    twice = len(grids) == 3 and grids[0].array is grids[1].array
    if not twice or access is None or not is_global(access) or access.array is not grids[0].array:
        return marks
    touched = _touched(access)[0]
    whole = [len(mark.lit) == len(touched) for mark in marks[:2]]
    if whole[0] == whole[1]:
        return marks
    other = whole.index(False)
    echoed = replace(marks[other], lit=EMPTY, thread=EMPTY, warp=EMPTY, echo=touched)
    return tuple(echoed if i == other else mark for i, mark in enumerate(marks))


def _phase_of(block_trace: BlockTrace, step: int) -> int:
    """The phase of a step; `BEFORE` while tiles are filled before the first one, else -1."""
    phase = int(block_trace.phase[step])
    ahead = block_trace.filling.before and step < block_trace.phases[0].first
    return BEFORE if phase < 0 and ahead else phase


def _side(grid: Grid, grids: tuple[Grid, ...], history: History) -> Rect | None:
    """For C = A Aᵀ, which shows one array twice: the cells of this grid that the block is about.

    The rows of A (the columns of Aᵀ) of the block's part of C; None where every cell counts.
    """
    if len(grids) != 3 or grid.result or grids[0].array is not grids[1].array:
        return None
    flats = history.stored(grids[2].array.name)[0]
    if not len(flats):
        return None
    top, left, rows, columns = bounding_box(grids[2], flats)
    if grid.transposed:
        return 0, left, grid.extent[0], columns
    return top, 0, rows, grid.extent[1]


def _on_side(grid: Grid, side: Rect | None, flats: Ints) -> Ints:
    if side is None or not len(flats):
        return flats
    rows, columns = grid.cells(flats)
    inside = (rows >= side[0]) & (rows < side[0] + side[2])
    return flats[inside & (columns >= side[1]) & (columns < side[1] + side[3])]


def _own(grid: Grid, history: History, thread: int) -> Ints:
    if not grid.result:
        return EMPTY
    flats, threads, _ = history.stored(grid.array.name)
    return np.asarray(flats[threads == thread])


def touched_by(block_trace: BlockTrace, name: str, step: int, threads: int | slice) -> Ints:
    """What a thread, or some, access of global array `name` at a step: flat elements, each once.

    A load of copies in shared memory counts as one of the elements that they are copies of.
    """
    through = history_of(block_trace).read_through(name, step)
    if len(through):
        found = np.unique(through[:, threads])
        return found[found >= 0]
    access = block_trace.access(step)
    if access is None or not is_global(access) or access.array is None or access.array.name != name:
        return EMPTY
    first = np.unique(np.asarray(access.elements)[threads])
    wide = np.arange(elements_a_lane(access, access.array.dtype.itemsize))
    return (first[first >= 0][:, None] + wide).reshape(-1)


def _touched(access: Access) -> tuple[Ints, str]:
    """All the elements that an access touches, each once, and what is done there."""
    assert access.array is not None
    verb = "load" if access.kind == "load" else "store"
    return np.unique(all_elements(access, access.array.dtype.itemsize)), verb


def _band(grid: Grid, grids: tuple[Grid, ...], own: Ints) -> Rect | None:
    """The row of A (left of C) or column of B (above C) that the thread's elements of C need."""
    if not len(own) or grid.place == (1, 1) or not is_product(grids):
        return None
    top, left, height, width = bounding_box(grids[2], own)
    if grid.place == (1, 0):
        return top, 0, height, grid.extent[1]
    return 0, left, grid.extent[0], width
