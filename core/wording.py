"""How quantities and lists read in sentences: `3 sectors`, `8.59 GB`, `0–3, 8`, `a, b and c`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal


def in_number(noun: str, count: int, many: str | None = None) -> str:
    """The noun as it stands after a count: `sector` after 1, otherwise `sectors`, or `many`."""
    return noun if count == 1 else many or f"{noun}s"


def counted(count: int, noun: str, many: str | None = None) -> str:
    """`1 sector`, `4 sectors`, `1,024 sectors`."""
    return f"{count:,} {in_number(noun, count, many)}"


def listing(names: Sequence[str], word: Literal["and", "or"] = "and") -> str:
    """`a, b and c`."""
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def assignments(values: Mapping[str, Any]) -> str:
    """`n = 64, tile = 8`."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def runs_of(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The first and the last of each run in ascending numbers."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def ranges(numbers: Iterable[int], to: str = "–") -> str:
    """Ascending numbers: `0–3, 8, 12–15`."""
    return ", ".join(str(a) if a == b else f"{a}{to}{b}" for a, b in runs_of(numbers))


def number(value: float) -> str:
    """At most five significant digits below 100,000, with commas: `7,489.6`."""
    if value >= 1e5:
        return f"{value:,.0f}"
    rounded = float(f"{value:.5g}")
    return f"{rounded:,.5f}".rstrip("0").rstrip(".") if rounded >= 1e-4 else f"{value:.3g}"


def prefixed(value: float, unit: str) -> str:
    """A count with a decimal prefix before its unit, in four digits: `137.4 GFLOP`, `77.3 G lines`.

    Units written in capitals take the prefix directly. Counts below 100,000 stay exact.
    """
    if value >= 1e5:
        for prefix, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
            if value >= size:
                return f"{value / size:.4g} {prefix}{'' if unit.isupper() else ' '}{unit}"
    return f"{value:,.0f} {unit}"


def nbytes(value: float) -> str:
    """Bytes with a decimal prefix: `8.59 GB`."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value:.0f} B"


def clock(seconds: float) -> str:
    """65.2 as `1 min 5 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def share(part: float) -> str:
    """`99.97 %`: as many nines as it takes, never rounded up to all."""
    percent = 100 * part
    for digits in range(6):
        if round(percent, digits) < 100:
            return f"{percent:.{digits}f} %"
    return "all"
