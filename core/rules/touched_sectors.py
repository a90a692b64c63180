"""Which sectors of each array a launch touches, each once: what DRAM has to move at least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from core.emulator.address_spaces import Region
from core.emulator.events import AccessEvent, Ints, Mask
from core.emulator.geometry import Geometry

Moves = tuple[int, ...]  # by each part of a step from block to block

SECTOR_BITS = 5  # a sector is 32 bytes
_OFFSET_BITS = 44  # of a byte in its array; the block's place stands above
_KEEP = 1 << 20  # keys gathered before doubles are taken out
_LARGEST = 1 << 31  # bytes of an array that is mapped sector by sector
_MOST_MARKS = 1 << 27  # of one group; beyond, only a bound is known


@dataclass(frozen=True)
class Group:
    """Accesses of one kind to an array, whose addresses move alike from block to block.

    `places` are the distinct bytes at which lanes access it, counted from the array's start, or the
    distinct sectors where the moves are whole sectors (`unit` is 5 then, 0 for bytes); `blocks` the
    number of distinct (block, sector) pairs.
    """

    region: Region
    kind: str
    moves: Moves
    unit: int
    places: Ints
    blocks: int


class Touched:
    """Gathers what some blocks touch, while they run."""

    def __init__(self, geometry: Geometry) -> None:
        count = len(geometry.blocks)
        self._block = np.repeat(np.arange(count), geometry.threads) << _OFFSET_BITS
        self._found: dict[tuple[str, str, Moves], list[Ints]] = {}
        self._copied: dict[tuple[str, str], list[Ints]] = {}
        self._regions: dict[str, Region] = {}
        self._size = 0

    def add(self, event: AccessEvent, address: Ints, moves: Moves) -> None:
        """Notes an access to global memory; `address` has one for each lane of the machine."""
        region = event.region
        keys = self._block + ((address - region.base) >> _unit(moves))
        keys = np.unique(keys if event.mask is None else keys[event.mask])
        for kind in ("load", "store") if event.kind == "atomic" else (event.kind,):
            self._found.setdefault((region.name, kind, moves), []).append(keys)
        self._regions[region.name] = region
        self._size += len(keys)
        if self._size > _KEEP:
            self._found = {n: [np.unique(np.concatenate(k))] for n, k in self._found.items()}
            self._size = sum(len(k[0]) for k in self._found.values())

    def add_sectors(self, region: Region, kind: str, sectors: Ints) -> None:
        """Notes what a copy moves, which counts as traffic of its own and not for its block."""
        self._copied.setdefault((region.name, kind), []).append(sectors)
        self._regions[region.name] = region

    def groups(self) -> Iterator[Group]:
        """What was gathered."""
        for (name, kind), copied in self._copied.items():
            places = np.unique(np.concatenate(copied))
            yield Group(self._regions[name], kind, (0, 0, 0), SECTOR_BITS, places, 0)
        for (name, kind, moves), parts in self._found.items():
            keys, unit = np.unique(np.concatenate(parts)), _unit(moves)
            places = np.unique(keys & ((1 << _OFFSET_BITS) - 1))
            pairs = len(keys) if unit else len(np.unique(keys >> SECTOR_BITS))
            yield Group(self._regions[name], kind, moves, unit, places, pairs)


def _unit(moves: Moves) -> int:
    return SECTOR_BITS if all(move % (1 << SECTOR_BITS) == 0 for move in moves) else 0


class Footprint:
    """The sectors of each array that a launch loads, and those that it stores."""

    def __init__(self) -> None:
        self._maps: dict[tuple[str, str], Mask] = {}
        self._unknown: set[tuple[str, str]] = set()

    def mark(self, group: Group, steps: Ints | None) -> None:
        """Marks what a group touches in all the blocks that lie `steps` away.

        `steps` int64 (n, m) with m at least the number of the group's moves.
        """
        key = (group.region.name, group.kind)
        shifts = np.zeros(1, np.int64)
        if steps is not None and any(group.moves):
            moves = np.array(group.moves, np.int64)
            shifts = np.unique(steps[:, : len(moves)] @ moves) >> group.unit
        if len(shifts) * len(group.places) > _MOST_MARKS or group.region.nbytes > _LARGEST:
            self._unknown.add(key)
            return
        sectors = -(-group.region.nbytes >> SECTOR_BITS)
        marked = self._maps.setdefault(key, np.zeros(sectors, bool))
        at_once = max(1, _KEEP // max(1, len(group.places)))
        for first in range(0, len(shifts), at_once):
            moved = shifts[first : first + at_once, None] + group.places
            moved >>= SECTOR_BITS - group.unit
            marked[moved[(moved >= 0) & (moved < sectors)]] = True

    def sectors(self, kind: str) -> Mapping[str, int]:
        """Distinct sectors that are loaded ("load") or stored ("store"), by array.

        Arrays that are too large to tell are left out.
        """
        return {
            name: int(np.count_nonzero(marked))
            for (name, which), marked in self._maps.items()
            if which == kind and (name, which) not in self._unknown
        }
