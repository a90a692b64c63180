"""Two rungs that differ in one thing: along which way of the matrices threadIdx.x runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from core.errors import TilescopeError

if TYPE_CHECKING:
    from core.ladder.rung import Rung

Way = Literal["columns", "rows"]
WAYS: tuple[Way, ...] = get_args(Way)


@dataclass(frozen=True)
class Orientation:
    """What neighbouring values of threadIdx.x choose, and the rung in which they choose the other.

    `x` is "columns" where a warp runs along a row of the result, from column to column, and "rows"
    where it runs down a column.
    """

    x: Way
    other: str

    def __post_init__(self) -> None:
        if self.x not in WAYS:
            raise TilescopeError(f"mapping.x is {self.x!r}, and has to be {' or '.join(WAYS)}.")

    def rungs(self, name: str) -> Mapping[Way, str]:
        """The rung of each way, that of `name` with them."""
        return {way: name if way == self.x else self.other for way in WAYS}


def check_pairs(rungs: Mapping[str, Rung]) -> None:
    """Raise TilescopeError where a rung and the one with the other mapping do not agree."""
    for rung in rungs.values():
        if rung.mapping is not None:
            wrong = _disagreement(rung, rungs.get(rung.mapping.other), rung.mapping)
            if wrong:
                raise TilescopeError(f"rung {rung.name}, mapping: {wrong}.")


def _disagreement(rung: Rung, other: Rung | None, mapping: Orientation) -> str:
    if other is None:
        return f"there is no rung {mapping.other}"
    if other is rung:
        return "the other rung is this one"
    if other.mapping is None or other.mapping.other != rung.name:
        return f"{other.name} does not name {rung.name} as its other one"
    if other.mapping.x == mapping.x:
        return f"x runs along {mapping.x} in {other.name} as well"
    for what in ("parameters", "shorthands", "arguments", "layout", "expected"):
        if getattr(rung, what) != getattr(other, what):
            return f"{other.name} has other {what}"
    return ""
