"""Comparisons that are offered, and what to compare a launch with where nobody has said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from core.errors import ParameterError
from core.ladder import Ladder, Rung
from gui.scenes.configuration import Configuration
from gui.scenes.launch_form import stops

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
    return with_parameters(_neighbour(rung, ladder), shown.parameters)


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
    others = [ladder[name] for name in ladder.names if name != rung.name]
    kind = rung.defaults.keys(), rung.layout, rung.group
    same = [o for o in others if (o.defaults.keys(), o.layout, o.group) == kind]
    after = [o for o in others if o.number > rung.number]
    return min(same or after or others, key=lambda o: (abs(o.number - rung.number), o.number))


Opens = Literal["largest", "next", "lanes", "end"]


@dataclass(frozen=True)
class Preset:
    """A comparison: its name, what to look for, its link, and the view that shows it best.

    `opens` says at which moment: where what the sides move differs most, where it differs first,
    where other lanes take part, or at the end, when all has been loaded.
    """

    title: str
    lesson: str
    link: str
    view: str = "Matrices"
    opens: Opens = "largest"


PRESETS: tuple[Preset, ...] = (
    Preset(
        "Uncoalesced and coalesced",
        "A warp's loads of A: 32 sectors down a column, or one for all lanes.",
        "uncoalesced?n=64&block_x=32&block_y=4&vs=coalesced",
        "Memory",
    ),
    Preset(
        "[32][32] and [32][33]",
        "Stores of a transposed tile: all lanes in one bank, or a bank for each.",
        "aat_padded?n=64&tile=32&pad=0&vs=aat_padded&vs.pad=1",
        "Memory",
    ),
    Preset(
        "Coalesced and tiled",
        "Each element of A and B from global memory N times, or N / tile times.",
        "coalesced?n=64&block_x=16&block_y=16&vs=tiled&vs.tile=16&heat=1",
        opens="end",
    ),
    Preset(
        "Tile 8 and tile 16",
        "A tile twice as wide: half the phases, half the loads from global memory.",
        "tiled?n=64&tile=8&vs=tiled&vs.tile=16&heat=1",
        opens="end",
    ),
    Preset(
        "Tile 16 and tile 32",
        "Half the loads again, and the most threads that a block can have.",
        "tiled?n=64&tile=16&vs=tiled&vs.tile=32&heat=1",
        opens="end",
    ),
    Preset(
        "Tile 8 and tile 32",
        "Four phases of one are one phase of the other.",
        "tiled?n=64&tile=8&vs=tiled&vs.tile=32",
        opens="next",
    ),
    Preset(
        "A Aᵀ: strided and shared",
        "The second factor down its columns, or through shared memory.",
        "aat_strided?n=64&block_x=32&block_y=32&vs=aat_shared&vs.tile=32",
        "Memory",
    ),
    Preset(
        "Any N: guards and none",
        "N = 30 in tiles of 8: lanes that the guard switches off.",
        "tiled_bounds?n=30&tile=8&vs=tiled&vs.n=32",
        opens="lanes",
    ),
)
