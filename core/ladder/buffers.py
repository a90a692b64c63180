"""Initial contents of the buffers that a kernel works on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

POISON_BYTE = 0xCD


def random_array(
    generator: np.random.Generator, dtype: DTypeLike, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Random values: floats uniform in [-1, 1), whole numbers in [-100, 100] or [0, 100]."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        wide = np.float32 if kind.itemsize <= 4 else np.float64
        values: NDArray[Any] = generator.random(shape, dtype=wide)
        values *= 2
        values -= 1
        return values.astype(kind, copy=False)
    if kind.kind == "b":
        return generator.integers(0, 2, shape).astype(kind)
    low = -100 if kind.kind == "i" else 0
    return generator.integers(low, 101, shape, dtype=kind)


def poisoned(dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """What an output holds before the launch, so that an element left out is seen.

    Floats are NaN; every byte of anything else is 0xCD.
    """
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return np.full(shape, np.nan, dtype=kind)
    count = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    return np.full(count, POISON_BYTE, dtype=np.uint8).view(kind).reshape(shape)
