"""The arrays of a launch: buffers in global memory, and the `__shared__` arrays of a block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.launch import Role


@dataclass(frozen=True)
class Array:
    """A buffer in global memory. `base` is its address in the emulator, a multiple of 256.

    `fields` names the places of the last axis where the rows are structures; else it is empty.
    Where these are of several types the numbers are bytes, and `types` says of which type each
    byte's field is.
    """

    name: str
    base: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    role: Role = "input"
    fields: tuple[str, ...] = ()
    types: tuple[np.dtype[Any] | None, ...] = ()

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def field_at(self, flat: int) -> tuple[int, np.dtype[Any]] | None:
        """Where the field begins that a byte belongs to (flat), and its type.

        None where a number is a field by itself, and where a field is no number.
        """
        if not self.types:
            return None
        row, place = divmod(int(flat), self.shape[-1])
        kind, name = self.types[place], self.fields[place]
        first = place
        while first and self.fields[first - 1] == name:
            first -= 1
        if kind is None or not name:
            return None
        whole = self.fields[first : first + kind.itemsize] == (name,) * kind.itemsize
        return (row * self.shape[-1] + first, kind) if whole else None

    def index(self, flat: int) -> tuple[int, ...]:
        """The index of the element at place `flat` in row-major order."""
        return tuple(int(i) for i in np.unravel_index(flat, self.shape))


@dataclass(frozen=True)
class SharedArray:
    """A `__shared__` array; `offset` is where it starts in the block's shared memory, in bytes."""

    name: str
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def index(self, flat: int) -> tuple[int, ...]:
        """The index of the element at place `flat` in row-major order."""
        return tuple(int(i) for i in np.unravel_index(flat, self.shape))


@dataclass(frozen=True)
class SharedState:
    """What a shared array holds at some step.

    `values` has the array's shape and type (zero where nothing was written), `written` bool, and
    `last_writer` int32 the linear thread that wrote each element last, -1 for none.
    """

    values: NDArray[Any]
    written: NDArray[np.bool_]
    last_writer: NDArray[np.int32]


def owner_of(arrays: tuple[SharedArray, ...], offset: int) -> SharedArray | None:
    """The shared array at a byte offset."""
    for array in arrays:
        if array.offset <= offset < array.offset + array.nbytes:
            return array
    return None


def label(name: str, index: tuple[int, ...], fields: tuple[str, ...] = ()) -> str:
    """An element as the source writes it: `A[0,4]`, `p[3].vx` with the structure's `fields`."""
    if fields and len(index) > 1 and fields[index[-1]]:
        return f"{label(name, index[:-1])}.{fields[index[-1]]}"
    return f"{name}[{','.join(str(i) for i in index)}]"


def fields_of(array: Array | SharedArray) -> tuple[str, ...]:
    """The fields of an array of structures, none of any other."""
    return array.fields if isinstance(array, Array) else ()
