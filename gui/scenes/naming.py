"""Elements, threads and shares in the field's words: `A[0..31, 4]`, `(3, 0)`, `12.5 %`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gui.scenes.text import index_text, join

if TYPE_CHECKING:
    from core.trace import Array, BlockTrace, SharedArray

    AnyArray = Array | SharedArray

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
    if _fields(array):
        return _of_structures(array, axes, len(unique), whole=whole)
    if whole and all(_regular(axis) for axis in axes):
        return f"{array.name}[{', '.join(_range(axis) for axis in axes)}]"
    box = ", ".join(_span(int(axis[0]), int(axis[-1])) for axis in axes)
    return f"{len(unique)} elements of {array.name}[{box}]"


def _fields(array: AnyArray) -> tuple[str, ...]:
    return getattr(array, "fields", ())


def _name(array: AnyArray, index: Sequence[int]) -> str:
    """An element: `A[0, 4]`, `p[3].vx` in an array of structures."""
    fields = _fields(array)
    if not fields or not fields[index[-1]]:
        return index_text(array.name, index)
    return f"{index_text(array.name, index[:-1])}.{fields[index[-1]]}"


def _of_structures(
    array: AnyArray, axes: Sequence[NDArray[np.int64]], count: int, *, whole: bool
) -> str:
    """`p[0..31].vx`, `p[0..31].x and y`, `p[0..31]` for all fields, or how many numbers."""
    fields, touched = _fields(array), axes[-1].tolist()
    structures = f"{array.name}[{', '.join(_range(axis) for axis in axes[:-1])}]"
    if not whole or not all(_regular(axis) for axis in axes[:-1]):
        box = ", ".join(_span(int(axis[0]), int(axis[-1])) for axis in axes[:-1])
        return f"{count} numbers of {array.name}[{box}]"
    if len(touched) == len(fields):
        return structures
    names = list(dict.fromkeys(fields[place] or f"byte {place}" for place in touched))
    if len(names) > MOST_FIELDS:
        return f"{structures}.{names[0]} … {names[-1]}"
    return f"{structures}.{join(names)}"


def span_name(array: AnyArray, first: int, last: int) -> str:
    """The elements first..last (flat, inclusive) that lie next to each other in memory."""
    if first == last:
        return element_name(array, first)
    start, end = array.index(first), array.index(last)
    if fields := _fields(array):
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


def block_name(block_trace: BlockTrace) -> str:
    """A block by its blockIdx: `(1, 0)`, with z where the grid has it."""
    at = block_trace.index
    return f"({at.x}, {at.y}, {at.z})" if block_trace.grid.z > 1 else f"({at.x}, {at.y})"


def name_of_thread(block_trace: BlockTrace, thread: int) -> str:
    """A thread of a block (linear threadIdx): `(1, 0)`, with z where the block has it."""
    threads = block_trace.threads
    return thread_name(threads[thread], three=bool(threads[:, 2].any()))


@lru_cache(maxsize=1 << 16, typed=True)  # the same values are written frame after frame
def value_text(value: float | int, digits: int = 3, decimals: int | None = None) -> str:
    """A value in few characters: `digits` significant for floating point, a true minus sign.

    Whole numbers have no point, and of three digits up to 99.99 those that two decimals say exactly
    keep both. With `decimals` it has so many (see `decimals_of`).
    """
    if decimals is not None:
        return f"{value:.{decimals}f}".replace("-", "−")
    if isinstance(value, (int, np.integer)):
        return f"{int(value)}".replace("-", "−")
    number = float(value)
    if not np.isfinite(number):
        return {True: "NaN"}.get(np.isnan(number), "∞" if number > 0 else "−∞")
    text = f"{number:.{digits}g}"
    if "e" not in text and abs(number) < 1000:
        decimals = max(0, digits - max(1, len(str(int(abs(number))))))
        if digits >= 3 and decimals == 1 and _says(number, 2) and not _says(number, 1):
            decimals = 2
        text = f"{number:.{decimals}f}"
    if number == int(number) and 1 <= abs(number) < 10 ** (digits + 1):
        text = f"{number:.0f}"
    if not text.strip("-0."):
        text = text.lstrip("-")  # what rounds to nothing has no sign
    return text.replace("-", "−")


def decimals_of(values: NDArray[np.generic], digits: int = 3) -> int | None:
    """As few decimals, two at most, as say all values of an array exactly.

    None where there are no such, or nothing but zeros, or texts too long for cells of so many
    digits.
    """
    if values.dtype.kind != "f" or not np.isfinite(values).all() or not values.any():
        return None
    for decimals in range(3):
        if np.array_equal(np.round(values, decimals), values):
            ends = f"{values.max():.{decimals}f}", f"{values.min():.{decimals}f}"
            return decimals if max(map(len, ends)) <= digits + 2 else None
    return None


def _says(number: float, decimals: int) -> bool:
    """Whether so many decimals give the number, as one of 32 bits."""
    return bool(np.float32(round(number, decimals)) == np.float32(number))


def percent(part: float, whole: float) -> str:
    """`part` of `whole` in per cent: one decimal where it says something."""
    if not whole:
        return "–"
    figure = 100.0 * part / whole
    return f"{figure:.0f} %" if figure >= 99.95 or figure == int(figure) else f"{figure:.1f} %"


def numbers_name(numbers: Sequence[int]) -> str:
    """A sorted set of integers: `5`, `0–15`, `0–3, 8, 12–15`; more than four runs are counted."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    parts = [str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a}–{b}" for a, b in runs]
    return ", ".join(parts) if len(parts) <= 4 else f"{', '.join(parts[:3])} … {parts[-1]}"


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
