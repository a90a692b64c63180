"""Elements, threads, blocks and phases in the field's words: `A[0..31, 4]`, `(3, 0)`, `phase 1`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.trace.access import fields_of
from core.wording import listing

if TYPE_CHECKING:
    from core.trace import Array, BlockTrace, SharedArray

    AnyArray = Array | SharedArray


def index_text(name: str, index: Sequence[int]) -> str:
    """An element as the source writes it, with a comma: "A[0, 2]"."""
    return f"{name}[{', '.join(str(int(i)) for i in index)}]"


def verb_of(kind: str, count: int = 2) -> str:
    """What threads do in an access of a kind: load, store or update; with an s where it is one."""
    return {"load": "load", "store": "store"}.get(kind, "update") + "s" * (count == 1)


MOST_FIELDS = 3  # of a structure that are named one by one


def element_name(array: AnyArray, flat: int) -> str:
    """One element by name, `A[0, 4]`; `flat` is its row-major index."""
    return _name(array, array.index(int(flat)))


def elements_name(array: AnyArray, flats: NDArray[np.int64]) -> str:
    """A set of elements in as few words as are true.

    A set that is the product of one range for each axis is written with ranges: `A[0..31, 4]`,
    `A[0..62 by 2, 0]`. Any other is counted within its bounding box: `5 elements of A[0..3, 0..7]`.
    Negative entries (inactive lanes) are left out.
    """
    unique = np.unique(flats[flats >= 0])
    if not len(unique):
        return f"nothing of {array.name}"
    axes = [np.unique(axis) for axis in np.unravel_index(unique, array.shape)]
    whole = int(np.prod([len(axis) for axis in axes])) == len(unique)
    if fields_of(array):
        return _of_structures(array, axes, len(unique), whole=whole)
    if whole and all(_regular(axis) for axis in axes):
        return f"{array.name}[{', '.join(_range(axis) for axis in axes)}]"
    box = ", ".join(_span(int(axis[0]), int(axis[-1])) for axis in axes)
    return f"{len(unique)} elements of {array.name}[{box}]"


def _name(array: AnyArray, index: Sequence[int]) -> str:
    """An element: `A[0, 4]`, `p[3].vx` in an array of structures."""
    fields = fields_of(array)
    if not fields or not fields[index[-1]]:
        return index_text(array.name, index)
    return f"{index_text(array.name, index[:-1])}.{fields[index[-1]]}"


def _of_structures(
    array: AnyArray, axes: Sequence[NDArray[np.int64]], count: int, *, whole: bool
) -> str:
    """`p[0..31].vx`, `p[0..31].x and y`, `p[0..31]` for all fields, or how many numbers."""
    fields, touched = fields_of(array), axes[-1].tolist()
    structures = f"{array.name}[{', '.join(_range(axis) for axis in axes[:-1])}]"
    if not whole or not all(_regular(axis) for axis in axes[:-1]):
        box = ", ".join(_span(int(axis[0]), int(axis[-1])) for axis in axes[:-1])
        return f"{count} numbers of {array.name}[{box}]"
    if len(touched) == len(fields):
        return structures
    names = list(dict.fromkeys(fields[place] or f"byte {place}" for place in touched))
    if len(names) > MOST_FIELDS:
        return f"{structures}.{names[0]} … {names[-1]}"
    return f"{structures}.{listing(names)}"


def span_name(array: AnyArray, first: int, last: int) -> str:
    """The elements first..last (flat, inclusive) that lie next to each other in memory."""
    if first == last:
        return element_name(array, first)
    start, end = array.index(first), array.index(last)
    if fields := fields_of(array):
        ends = element_name(array, first), element_name(array, last)
        if start[:-1] == end[:-1] and end[-1] - start[-1] + 1 == len(fields):
            return index_text(array.name, start[:-1])
        return ends[0] if ends[0] == ends[1] else f"{ends[0]} … {ends[1]}"
    if start[:-1] == end[:-1]:
        lead = "".join(f"{i}, " for i in start[:-1])
        return f"{array.name}[{lead}{_span(start[-1], end[-1])}]"
    return f"{element_name(array, first)} … [{', '.join(str(i) for i in end)}]"


def thread_name(index: Sequence[int], three: bool = False) -> str:
    """A thread by its threadIdx (x, y, z), as `(x, y)`, or with z where `three` or z is not 0."""
    x, y, z = (int(i) for i in index)
    return f"({x}, {y}, {z})" if three or z else f"({x}, {y})"


def block_text(sides: Iterable[int]) -> str:
    """The size of a block: "block 8 × 8"."""
    return "block " + (" × ".join(str(side) for side in sides if side > 1) or "1")


def block_name(block_trace: BlockTrace) -> str:
    """A block by its blockIdx: `(1, 0)`, with z where the grid has it."""
    at = block_trace.index
    return f"({at.x}, {at.y}, {at.z})" if block_trace.grid.z > 1 else f"({at.x}, {at.y})"


def name_of_thread(block_trace: BlockTrace, thread: int) -> str:
    """A thread of a block (linear threadIdx): `(1, 0)`, with z where the block has it."""
    threads = block_trace.threads
    return thread_name(threads[thread], three=bool(threads[:, 2].any()))


def _regular(axis: NDArray[np.int64]) -> bool:
    return len(axis) < 3 or len(np.unique(np.diff(axis))) == 1


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}..{last}"


def _range(axis: NDArray[np.int64]) -> str:
    first, last = int(axis[0]), int(axis[-1])
    if len(axis) < 2 or axis[1] - axis[0] == 1:
        return _span(first, last)
    if len(axis) == 2:
        return f"{first} and {last}"
    return f"{first}..{last} by {int(axis[1] - axis[0])}"


FILL = "fill ahead"


def _phase_name(block: BlockTrace, phase: int) -> str:
    """A phase, counted from 0 as kernels do: "phase 1 (of 0..1)", "phase 0 (of 0..3), fill ahead".

    Both ends are named, since "1 of 2" would be taken for the first.
    """
    count = len(block.phases)
    name = f"phase {phase} ({'the only one' if count == 1 else f'of 0..{count - 1}'})"
    return f"{name}, {FILL}" if fills(block, phase) else name


def fills(block: BlockTrace, phase: int) -> bool:
    """Whether a phase only fills tiles that later ones use."""
    return 0 <= phase < block.filling.phases


def part_name(block: BlockTrace, step: int) -> str:
    """The phase of a step, or what it comes before or after; empty where there are no phases."""
    phase = int(block.phase[step])
    if phase >= 0:
        return _phase_name(block, phase)
    if not block.phases:
        return ""
    if step < block.phases[0].first:
        return FILL if block.filling.before else "before the phases"
    return "after the phases" if step > block.phases[-1].last else "between the phases"


def longest_name(block: BlockTrace) -> str:
    """The longest name that `part_name` gives for any step of a block."""
    if not block.phases:
        return ""
    last_fill = block.filling.phases - 1
    names = ["between the phases", _phase_name(block, len(block.phases) - 1)]
    return max([*names, _phase_name(block, last_fill)] if last_fill >= 0 else names, key=len)
