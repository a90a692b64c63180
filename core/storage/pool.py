"""Arrays by number, each stored once, those of one type end to end.

A record refers to the same arrays again and again: a register's value is what was loaded, and
what is stored later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Pool:
    """Arrays by number, each stored once; arrays of one type lie end to end."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._arrays: list[NDArray[Any]] = []  # kept, so that an id stays that array's

    def add(self, array: NDArray[Any]) -> int:
        """The number of an array. Its shape is kept."""
        number = self._numbers.get(id(array))
        if number is None:
            number = self._numbers[id(array)] = len(self._arrays)
            self._arrays.append(array)
        return number

    def maybe(self, array: NDArray[Any] | None) -> int:
        """The number of an array, -1 for None."""
        return -1 if array is None else self.add(array)

    def columns(self) -> dict[str, NDArray[Any]]:
        """What is written: `data_TYPE`, `which` type each array has, and its shape."""
        types = sorted({a.dtype.str for a in self._arrays})
        found: dict[str, NDArray[Any]] = {
            "types": np.array(types),
            "which": np.array([types.index(a.dtype.str) for a in self._arrays], np.int8),
            "dims": np.array([a.ndim for a in self._arrays], np.int8),
            "shapes": np.array([n for a in self._arrays for n in a.shape], np.int64),
        }
        for i, name in enumerate(types):
            parts = [a.reshape(-1) for a in self._arrays if a.dtype.str == name]
            found[f"data_{i}"] = np.concatenate(parts)
        return found


class Arrays:
    """Arrays by number, read back from the pool's columns."""

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self._arrays: list[NDArray[Any]] = []
        data = [columns[f"data_{i}"] for i in range(len(columns["types"]))]
        at = [0] * len(data)
        shapes = columns["shapes"].tolist()
        place = 0
        for which, dims in zip(columns["which"].tolist(), columns["dims"].tolist(), strict=True):
            shape = shapes[place : place + dims]
            place += dims
            size = int(np.prod(shape, dtype=np.int64))
            self._arrays.append(data[which][at[which] : at[which] + size].reshape(shape))
            at[which] += size

    def __getitem__(self, number: int) -> NDArray[Any]:
        return self._arrays[number]

    def maybe(self, number: int) -> Any:
        """The array, or None for -1."""
        return None if number < 0 else self._arrays[number]
