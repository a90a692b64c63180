"""Comparisons worth a look, as links. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
