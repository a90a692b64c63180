"""What moving with the block does to what an access counts.

Of one kind's blocks only one is run; the others make its accesses at other places. By whole lines
a load or store may move and count the same; what an atomic counts depends on which of its lines
have their tags in one bank (`core.rules.atomics`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from core.emulator.affine.block_values import Affine, Dependence
from core.emulator.affine.register_dependences import DependsOnData
from core.emulator.events import AccessEvent, Ints, Mask
from core.rules.atomics import tag_bank
from core.rules.global_memory import LINE, SECTOR

_AT_ONCE = 1 << 20  # places whose tag banks are worked out together


def alike_places(events: Sequence[AccessEvent], shifts: Ints) -> Iterator[tuple[int, int]]:
    """One of the shifts of each sort that counts the same, and how many are of that sort.

    `shifts` int64 (blocks,), in bytes; the events are one access, or those of one `cp.async`.
    """
    atomics = [event for event in events if event.kind == "atomic"]
    if not atomics:
        found, counts = np.unique(shifts % LINE, return_counts=True)
        yield from zip(found.tolist(), counts.tolist(), strict=True)
        return
    places = np.unique(np.concatenate([_places(event) for event in atomics]))
    known: dict[bytes, list[int]] = {}
    step = max(1, _AT_ONCE // len(places))
    for start in range(0, len(shifts), step):
        part = shifts[start : start + step, None]
        banks = tag_bank(places + part)
        keys = np.column_stack([part % LINE, banks ^ banks[:, :1]]).astype(np.uint8)
        rows, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
        for row, at, times in zip(rows, first.tolist(), counts.tolist(), strict=True):
            known.setdefault(row.tobytes(), [int(part[at, 0]), 0])[1] += times
    yield from ((shift, times) for shift, times in known.values())


def _places(event: AccessEvent) -> Ints:
    """The sectors that the lanes touch, as addresses."""
    active = (
        event.address
        if event.mask is None
        else np.broadcast_to(event.address, event.mask.shape)[event.mask]
    )
    return np.unique(active // SECTOR * SECTOR)


class Moves:
    """How addresses move from block to block, as rows to be multiplied with a step.

    A step is (x, y, z) in blockIdx, followed by each table's value for the block.
    """

    def __init__(self) -> None:
        self._tables: list[Ints] = []

    def of(self, dependence: Dependence) -> tuple[int, ...]:
        """How far the first lane's address moves, by each part of a step."""
        if not isinstance(dependence, Affine):
            return 0, 0, 0
        steps = (int(dependence.x[0]), int(dependence.y[0]), int(dependence.z[0]))
        if dependence.table is None:
            return steps
        place = next((i for i, t in enumerate(self._tables) if t is dependence.table), None)
        if place is None:
            place = len(self._tables)
            self._tables.append(dependence.table)
        return (*steps, *(0,) * place, 1)

    def steps(self, steps: Ints, which: Mask) -> Ints:
        """The whole steps to the blocks `which`, whose steps in blockIdx are `steps` (n, 3)."""
        return np.column_stack([steps, *(table[which] for table in self._tables)])


def matters(event: AccessEvent, dependence: Dependence) -> bool:
    """Whether the access may count differently in another block, where it has other addresses."""
    space = event.region.space
    if not isinstance(dependence, Affine) or space not in ("global", "shared"):
        return False
    parts = [_active(event, part) for part in (dependence.x, dependence.y, dependence.z)]
    period = 0 if event.kind == "atomic" and space == "global" else LINE
    steps = [_same_step(part) for part in parts]
    if dependence.table is not None:
        steps += np.unique(dependence.table).tolist()
    if all(step is not None and (step % period == 0 if period else step == 0) for step in steps):
        return False
    if space == "shared":
        raise DependsOnData("a shared-memory address depends on the block")
    return True


def uniform_step(event: AccessEvent, dependence: Dependence) -> Affine:
    """The step that all lanes have in common; raises DependsOnData where they differ."""
    assert isinstance(dependence, Affine)
    parts = []
    for part in (dependence.x, dependence.y, dependence.z):
        active = _active(event, part)
        if not (active == active[0]).all():
            raise DependsOnData("the lanes of a warp move by different steps from block to block")
        parts.append(active[:1])
    return Affine(parts[0], parts[1], parts[2], dependence.table)


def _same_step(part: Ints) -> int | None:
    return int(part[0]) if bool((part == part[0]).all()) else None


def _active(event: AccessEvent, part: Ints) -> Ints:
    if part.size == 1 or event.mask is None:
        return part
    return part[event.mask]
