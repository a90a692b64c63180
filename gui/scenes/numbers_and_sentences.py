"""Numbers as short text, and sentences as the window writes them, the same way in every view."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.wording import in_number, runs_of

if TYPE_CHECKING:
    from core.trace.variables import Value

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


def factor(times: float) -> str:
    """8, 1.5 or 12.3: three digits at most, none of them idle."""
    return f"{times:.{0 if times >= 100 else 1}f}".removesuffix(".0")


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


def clipped(sentence: str, most: int = 600) -> str:
    """The sentence, without its middle where it is too long to be read."""
    if len(sentence) <= most:
        return sentence
    return f"{sentence[: 2 * most // 3]} … {sentence[-most // 3 :]}"


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
