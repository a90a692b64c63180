"""Initial contents of the buffers that a kernel works on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from core.cancelling import check

POISON_BYTE = 0xCD
_STRETCH = 1 << 22  # elements that are made at a time: some ten milliseconds


def random_array(
    generator: np.random.Generator, dtype: DTypeLike, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Random values: floats uniform in [-1, 1), whole numbers in [-100, 100] or [0, 100]."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        wide = np.float32 if kind.itemsize <= 4 else np.float64
        return filled(kind, shape, lambda start, end: 2 * generator.random(end - start, wide) - 1)
    if kind.kind == "b":
        return filled(kind, shape, lambda start, end: generator.integers(0, 2, end - start))
    low = -100 if kind.kind == "i" else 0
    return filled(
        kind, shape, lambda start, end: generator.integers(low, 101, end - start, dtype=kind)
    )


def filled(
    dtype: DTypeLike, shape: tuple[int, ...], make: Callable[[int, int], Any]
) -> NDArray[Any]:
    """An array of elements that `make(start, end)` gives, a stretch at a time in C's order.

    Raises Cancelled between two of them where the work is (`core.cancelling`).
    """
    values = np.empty(math.prod(shape), dtype)
    for start in range(0, values.size, _STRETCH):
        check()
        end = min(start + _STRETCH, values.size)
        values[start:end] = make(start, end)
    return values.reshape(shape)


def poisoned(dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """What an output holds before the launch, so that an element left out is seen.

    Floats are NaN; every byte of anything else is 0xCD.
    """
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return filled(kind, shape, lambda start, end: np.nan)
    raw = filled(np.uint8, (math.prod(shape) * kind.itemsize,), lambda start, end: POISON_BYTE)
    return raw.view(kind).reshape(shape)
