"""The values at which a parameter's slider stops. No Qt here."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.ladder import Parameter, Rung

REACH = 4096
"""Up to here a slider goes by itself; larger values are typed, or are among a rung's choices."""
EVERY = 32
"""Up to here every value is a stop; beyond, each doubling has `PARTS` of them."""
PARTS = 8
FEW = 64
"""A parameter with so few values stops at each of them, whatever choices a form offers."""


def candidates(parameter: Parameter) -> tuple[int, ...]:
    """The stops of a parameter by itself, ascending."""
    low, high = parameter.minimum, parameter.maximum
    if high - low <= FEW:
        return tuple(range(low, high + 1))
    if parameter.choices is None:
        found = spread(low, min(high, max(REACH, parameter.default)))
    elif all(choice & (choice - 1) == 0 for choice in parameter.choices):
        found = parameter.choices
    else:  # odd values matter: an offset, a stride
        found = (*range(low, min(max(parameter.choices), EVERY) + 1), *parameter.choices)
    return tuple(sorted({*found, parameter.default}))


def spread(low: int, high: int) -> tuple[int, ...]:
    """Whole numbers from `low` to `high`, dense where small and of equal ratio where large."""
    found = list(range(low, min(high, EVERY) + 1))
    step = EVERY // PARTS
    value = EVERY + step
    while value <= high:
        if value >= low:
            found.append(value)
        if value & (value - 1) == 0:
            step *= 2
        value += step
    if high > EVERY and (not found or found[-1] != high):
        found.append(high)
    return tuple(found)


def stops(rung: Rung, name: str, values: Mapping[str, int]) -> tuple[int, ...]:
    """The values of one parameter with which the rung can be launched, the others being `values`.

    The value there is comes with them, even if it cannot be launched; ascending.
    """
    parameter = next(p for p in rung.parameters if p.name == name)
    fit = {v for v in candidates(parameter) if rung.accepts(**{**values, name: v})}
    return tuple(sorted(fit | {values[name]}))


def place_of(value: int, among: tuple[int, ...]) -> int:
    """Where a value stands among ascending stops: the last that is not larger, or the first."""
    return max(bisect.bisect_right(among, value) - 1, 0)


def moved(value: int, by: int, among: tuple[int, ...]) -> int:
    """The stop `by` places from a value, which need not be one itself; ends at the ends."""
    if not among:
        return value
    place = bisect.bisect_left(among, value)
    between = place >= len(among) or among[place] != value
    place += by - (1 if between and by > 0 else 0)
    return among[min(max(place, 0), len(among) - 1)]


def reach_text(among: Iterable[int]) -> str:
    """The stops in a few words: "2, 4 or 8", "1 to 32", "4 to 4096 in 40 stops"."""
    found = tuple(among)
    if len(found) == 1:
        return f"only {found[0]}"
    if len(found) <= 6:
        return f"{', '.join(map(str, found[:-1]))} or {found[-1]}"
    if found == tuple(range(found[0], found[-1] + 1)):
        return f"{found[0]} to {found[-1]}"
    return f"{found[0]} to {found[-1]} in {len(found)} stops"
