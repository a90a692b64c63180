"""Initial contents of the buffers that a kernel works on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from core.cancelling import check
from core.large_arrays import unset

POISON_BYTE = 0xCD
_STRETCH = 1 << 22  # elements that are made at a time: some ten milliseconds

Inputs = Literal["random", "small", "places"]
"""What the arrays that a kernel reads hold: see `random_array`, `small_integers` and `places`."""
INPUTS: tuple[Inputs, ...] = get_args(Inputs)
Maker = Callable[["np.random.Generator", np.dtype[Any], tuple[int, ...]], NDArray[Any]]


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


def small_integers(
    generator: np.random.Generator, dtype: DTypeLike, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Random whole numbers from 1 to 9 of any type: what a kernel computes can be followed."""
    if np.dtype(dtype).kind == "b":
        return random_array(generator, dtype, shape)
    return filled(dtype, shape, lambda start, end: generator.integers(1, 10, end - start))


def places(_: np.random.Generator, dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """Each element's own place: 3.2 in row 3 and column 2, or 3.02 where columns have two digits.

    The row is the index over all axes but the last. Whole numbers have no point (302), and those
    that do not fit their type wrap around; in one dimension each element is its index. Floating
    point numbers are the nearest of their type.
    """
    kind = np.dtype(dtype)
    columns = shape[-1] if len(shape) > 1 else 1
    shift = 10 ** len(str(max(columns - 1, 0))) if len(shape) > 1 else 1

    def make(start: int, end: int) -> NDArray[Any]:
        row, column = np.divmod(np.arange(start, end, dtype=np.int64), columns)
        if kind.kind == "f":
            return row + column / shift
        whole = row * shift + column
        return whole % 2 if kind.kind == "b" else whole.astype(kind)

    return filled(kind, shape, make)


def filled(
    dtype: DTypeLike, shape: tuple[int, ...], make: Callable[[int, int], Any]
) -> NDArray[Any]:
    """An array of elements that `make(start, end)` gives, a stretch at a time in C's order.

    Raises Cancelled between two of them where the work is (`core.cancelling`).
    """
    values = unset(np.dtype(dtype), math.prod(shape))
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


MAKERS: Mapping[Inputs, Maker] = MappingProxyType(
    {"random": random_array, "small": small_integers, "places": places}
)
"""What makes the content of an input."""
