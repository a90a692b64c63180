"""Helpers of the tracking machine: values, types, and how far they move between blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.dependence import Affine
from core.ptx.types import PtxType


def as_kind(value: NDArray[Any], kind: PtxType) -> NDArray[Any]:
    """A register's value as an instruction of another type of that size reads it."""
    return value.view(kind.dtype) if value.dtype.itemsize == kind.dtype.itemsize else value


def varies(dependence: Affine | None) -> bool:
    """Whether an address moves by other steps in some lanes than in others."""
    if dependence is None:
        return False
    return any(bool((c != c[0]).any()) for c in (dependence.x, dependence.y, dependence.z))


def range_of(kind: PtxType) -> tuple[int, int]:
    """The least and the greatest value of a type, bits taken as signed."""
    if kind.kind in ("s", "b"):
        return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1
    return 0, min((1 << kind.bits) - 1, (1 << 63) - 1)


def corners_of(steps: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The corners of the box that the steps lie in: an affine value is extreme at one of them."""
    low, high = steps.min(axis=0), steps.max(axis=0)
    return [
        np.array([x, y, z])
        for x in {low[0], high[0]}
        for y in {low[1], high[1]}
        for z in {low[2], high[2]}
    ]
