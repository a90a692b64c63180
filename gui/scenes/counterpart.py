"""What to compare a launch with, where nobody has said. No Qt here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from core.errors import ParameterError
from gui.scenes.selection import Configuration
from gui.scenes.stops import stops

if TYPE_CHECKING:
    from core.ladder import Ladder, Rung

TELLING = ("pad", "offset", "stride", "tile")
"""Parameters whose effect is the lesson of a rung, the most telling first."""


def counterpart(shown: Configuration, ladder: Ladder) -> Configuration:
    """A launch that differs from `shown` in what its rung is about.

    Padding, offset and stride go to none and back, a tile is halved or doubled. A rung without such
    a parameter is compared with a neighbour that computes the same. A launch of a user's file is
    compared with itself: they change one side.
    """
    if shown.own is not None:
        return shown
    rung = ladder[shown.rung]
    for name in TELLING:
        if name in shown.parameters:
            return replace(shown, parameters={**shown.parameters, name: _other(rung, name, shown)})
    neighbour = _neighbour(rung, ladder)
    return with_parameters(neighbour, shown.parameters)


def with_parameters(rung: Rung, wanted: Mapping[str, int]) -> Configuration:
    """A rung with the parameters of another launch as far as it has them and can be launched."""
    common = {name: value for name, value in wanted.items() if name in rung.defaults}
    try:
        return Configuration(rung.name, dict(rung.check(**common)))
    except ParameterError:
        return Configuration(rung.name, dict(rung.defaults))


def _other(rung: Rung, name: str, shown: Configuration) -> int:
    parameter = next(p for p in rung.parameters if p.name == name)
    value = shown.parameters[name]
    found = [stop for stop in stops(rung, name, shown.parameters) if stop != value]
    if not found:
        return value
    if name == "tile":
        return min(found, key=lambda tile: (abs(tile - 2 * value), tile))
    if value != parameter.minimum:
        return parameter.minimum
    return parameter.default if parameter.default in found else found[0]


def _neighbour(rung: Rung, ladder: Ladder) -> Rung:
    """The rung with the other mapping, or the nearest of the same kind, or the next one.

    Of the same kind is what takes the same parameters to the same result.
    """
    if rung.mapping is not None:
        return ladder[rung.mapping.other]
    others = [other for other in ladder.values() if other is not rung]
    same = [o for o in others if o.defaults.keys() == rung.defaults.keys() and _alike(o, rung)]
    after = [o for o in others if o.number > rung.number]
    return min(same or after or others, key=lambda o: (abs(o.number - rung.number), o.number))


def _alike(one: Rung, other: Rung) -> bool:
    return one.layout == other.layout and one.group == other.group
