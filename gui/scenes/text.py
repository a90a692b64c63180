"""Numbers and indices as short text, the same way in every view. No Qt here."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from core.trace import Value

_TIMES = re.compile(r"(?<=[\w);]) x (?=[0-9(])")
_GROUPS = re.compile(r"(?<![\w.,:/`=\[])[0-9]{1,3}(?:,[0-9]{3})+(?![\w,\]`])")


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
    """A count with its noun: "1 sector", "32 sectors"."""
    return f"{grouped(count)} {noun if count == 1 else many or noun + 's'}"


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


def join(parts: Sequence[str]) -> str:
    """A list in a sentence: "A", "A and B", "A, B and C"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def capital(sentence: str) -> str:
    """The sentence with its first letter in upper case."""
    return sentence[:1].upper() + sentence[1:]


def clipped(sentence: str, most: int = 600) -> str:
    """The sentence, without its middle where it is too long to be read."""
    if len(sentence) <= most:
        return sentence
    return f"{sentence[: 2 * most // 3]} … {sentence[-most // 3 :]}"
