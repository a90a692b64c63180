"""Blocks of fewer threads: which parameters of a rung make them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from core.ladder.rules import dim3
from core.ladder.rung import Rung
from core.launch import Dim3


def smaller_block(
    rung: Rung, parameters: Mapping[str, int], most: int
) -> tuple[Dim3, Mapping[str, int]] | None:
    """The largest block of at most `most` threads, and all parameters with which it is made.

    Only what the block's shape depends on is changed, to no more than the largest of these now; of
    blocks alike the squarest is taken. None where there is no such block, or the present one is
    small enough.
    """
    now = rung.check(**parameters)
    if dim3(rung.block, now).count <= most:
        return None
    names = set().union(*(side.names for side in rung.block))
    changed = [p for p in rung.parameters if p.name in names]
    high = max(now[p.name] for p in changed) if changed else 0
    values = [[v for v in p.choices or _doublings(p.minimum, high) if v <= high] for p in changed]
    found = []
    for chosen in product(*values):
        one = {**now, **{p.name: v for p, v in zip(changed, chosen, strict=True)}}
        if rung.accepts(**one) and (block := dim3(rung.block, one)).count <= most:
            found.append(((block.count, -max(block.x, block.y, block.z)), block, one))
    return max(found, key=lambda row: row[0])[1:] if found else None


def _doublings(low: int, high: int) -> list[int]:
    """1, 2, 4 and so on, from `low` to `high`."""
    return [1 << power for power in range(high.bit_length()) if low <= 1 << power <= high]
