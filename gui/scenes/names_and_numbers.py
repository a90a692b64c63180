"""Numbers, elements, threads and phases as short text, the same way in every view."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.wording import in_number, listing, runs_of

if TYPE_CHECKING:
    from core.trace import Array, BlockTrace, SharedArray, Value

    AnyArray = Array | SharedArray

_PLACE = re.compile(r"[\[(][0-9.,]+ [0-9., by]*[\])]")
_EQUALS = re.compile(r"(?<=\w) = (?=\w)")
_QUOTED = re.compile(r"`([^`]*)`")
_TIMES = re.compile(r"(?<=[\w);]) x (?=[0-9(])")
_GROUPS = re.compile(r"(?<![\w.,:/`=\[])[0-9]{1,3}(?:,[0-9]{3})+(?![\w\]`]|,\w)")


def grouped(value: int) -> str:
    """An integer with its digits in groups of three: 2 112."""
    return f"{value:,}".replace(",", "\u202f")


def spaced(sentence: str) -> str:
    """A sentence of `core` with the window's spaces, not commas, between groups of digits.

    An x between figures is the sign of multiplication. Indices, sizes and what stands in a text of
    the user's (`64,128`, A[0,128], x=1,128) stay.
    """
    grouped_digits = _GROUPS.sub(lambda found: found[0].replace(",", "\u202f"), sentence)
    return _TIMES.sub(" × ", grouped_digits)


def thin_spaced(text: str) -> str:
    """`spaced`, and with such a space before %, too: a text of the models."""
    return re.sub(r"(?<=\d) ?%", "\u202f%", spaced(text))


def unbroken(sentence: str) -> str:
    """The sentence with spaces at which no line ends: in C[0, 0], (14, 3) and k = 0."""
    sentence = _EQUALS.sub("\u00a0=\u00a0", sentence)
    return _PLACE.sub(lambda found: found[0].replace(" ", "\u00a0"), sentence)


def in_window(sentence: str) -> str:
    """What `core` says of a mistake, as the window writes it: “a” where `a` is quoted."""
    return unbroken(_QUOTED.sub("“\\1”", spaced(sentence)))


def compact(value: int) -> str:
    """An integer in at most five characters, for gutters: 812, 2112, 21.1k, 1.05M."""
    if value < 10_000:
        return str(value)
    for size, suffix in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= size:
            scaled = value / size
            digits = 2 if scaled < 10 else 1 if scaled < 100 else 0
            return f"{scaled:.{digits}f}{suffix}"
    return str(value)


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`counted` as the window writes it: "1 sector", "2 112 sectors"."""
    return f"{grouped(count)} {in_number(noun, count, many)}"


def ratio(value: int, ideal: int) -> str:
    """How many times the ideal a count is: "×8", "×1.03"; empty where there is no ideal."""
    if not ideal:
        return ""
    times = value / ideal
    return f"×{times:.0f}" if times >= 10 or times == int(times) else f"×{times:.2f}".rstrip("0")


def index_text(name: str, index: Sequence[int]) -> str:
    """An element as the source writes it, with a comma: "A[0, 2]"."""
    return f"{name}[{', '.join(str(int(i)) for i in index)}]"


def variable_text(value: Value | None, type_name: str = "") -> str:
    """A variable's value: integers in full, floats with seven digits at most, pointers in hex."""
    if value is None:
        return "–"
    if isinstance(value, tuple):  # an array or a struct
        inner = type_name.split("[", 1)[0].strip()
        return "{" + ", ".join(variable_text(part, inner) for part in value) + "}"
    if type_name.endswith(("*", "&")) or "(*" in type_name:
        return f"0x{int(value):x}"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    digits = 15 if type_name == "double" else 7
    text = f"{float(value):.{digits}g}"
    return text if any(c in text for c in ".enai") else text + ".0"


def capital(sentence: str) -> str:
    """The sentence with its first letter in upper case."""
    return sentence[:1].upper() + sentence[1:]


def common_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """How many items, or letters, two sequences have in common at their start, and at their end."""
    shorter = min(len(one), len(other))
    head = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    rest = shorter - head
    return head, next((i for i in range(rest) if one[-1 - i] != other[-1 - i]), rest)


def verb_of(kind: str, count: int = 2) -> str:
    """What threads do in an access of a kind: load, store or update; with an s where it is one."""
    return {"load": "load", "store": "store"}.get(kind, "update") + "s" * (count == 1)


def clipped(sentence: str, most: int = 600) -> str:
    """The sentence, without its middle where it is too long to be read."""
    if len(sentence) <= most:
        return sentence
    return f"{sentence[: 2 * most // 3]} … {sentence[-most // 3 :]}"


ELLIPSIS = "…"
_HEADS = (0.5, 0.0, 1.0, 0.25, 0.75)  # shares of what is left of a name that come from its start


def told_apart(names: Sequence[str], width: Callable[[str], float], room: float) -> dict[str, str]:
    """Names shortened to fit into `room`, no two of them alike.

    Names are cut in the middle; where that takes away what differs, elsewhere.
    """
    shown = dict.fromkeys(names, "")
    for head in _HEADS:
        for name in _alike(shown):
            shown[name] = _cut(name, head, width, room)
    for name in _alike(shown):
        at = max(common_ends(name, other)[0] for other in names if other != name)
        shown[name] = _cut(ELLIPSIS + name[at:], 1.0, width, room)
    return shown


def _alike(shown: dict[str, str]) -> list[str]:
    """The names of which the same is shown as of another."""
    times = Counter(shown.values())
    return [name for name, text in shown.items() if times[text] > 1 or not text]


def _cut(name: str, head: float, width: Callable[[str], float], room: float) -> str:
    """The name with so many letters left out as must be; `head` of the others are its first."""
    for kept in range(len(name), 0, -1):
        first = round(kept * head)
        rest = name[len(name) - (kept - first) :] if kept > first else ""
        shown = name if kept == len(name) else f"{name[:first]}{ELLIPSIS}{rest}"
        if width(shown) <= room:
            return shown
    return ELLIPSIS


# Elements, threads and shares in the field's words: `A[0..31, 4]`, `(3, 0)`, `12.5 %`.


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
    return f"{structures}.{listing(names)}"


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
        return "NaN" if np.isnan(number) else "∞" if number > 0 else "−∞"
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
    """A sorted set of integers: `5`, `0–15`, `0–3, 8, 12–15`.

    Of more than four runs, the first three and the last are named.
    """
    parts = [
        str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a}–{b}" for a, b in runs_of(numbers)
    ]
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
