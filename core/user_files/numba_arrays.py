"""The arrays of a kernel that Numba compiled: each is several parameters of its PTX.

Numba passes the members of its array structure one by one (`ArrayModel` in Numba's
`core/datamodel/models.py`): meminfo, parent, number of items, bytes of an item, data, then shape
and strides, eight bytes each. The kernel's mangled name tells which parameters are arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.launch import Argument, ArrayArgument, ScalarArgument
from core.ptx.debug.mangled_names import BUILTIN_TYPES
from core.source.c_numbers import NUMBERS

# Itanium C++ ABI, 5.1.5 ("Type encodings"), as Numba's mangler uses them.
_CODES = {code: NUMBERS[name] for code, name in BUILTIN_TYPES.items()}
_ARRAY = re.compile(r"5ArrayI([a-z])Li(\d)E1([ACF])\d+(?:mutable|readonly)\d+(?:non)?alignedE")
_BEFORE_DATA = 4  # parameters of an array in front of its data
_FIXED = 5  # all those that do not depend on the number of axes


@dataclass(frozen=True)
class NumbaType:
    """One argument of the Python function: a number, or an array of so many `axes`.

    `is_fortran`: its first axis is the one whose elements lie side by side.
    """

    dtype: np.dtype[np.generic]
    axes: int = 0
    is_fortran: bool = False

    @property
    def parameters(self) -> int:
        """How many parameters of the kernel it is."""
        return _FIXED + 2 * self.axes if self.axes else 1

    @property
    def data(self) -> int:
        """Which of these is the data."""
        return _BEFORE_DATA if self.axes else 0


def numba_types(entry: str, parameters: int) -> tuple[NumbaType, ...]:
    """The arguments of a kernel that Numba compiled, from its mangled name and its parameters.

    () for what is none of Numba's, or has types other than numbers and arrays of numbers.
    """
    found = tuple(_types(_behind_name(entry)))
    return found if sum(one.parameters for one in found) == parameters else ()


def _behind_name(entry: str) -> str:
    """What follows the nested name of a function: `_ZN…E`."""
    if not entry.startswith("_ZN"):
        return ""
    at = len("_ZN")
    while at < len(entry) and entry[at] != "E":
        length = re.match(r"B?(\d+)", entry[at:])
        if not length:
            return ""
        at += length.end() + int(length[1])
    return entry[at + 1 :]


def _types(text: str) -> Iterator[NumbaType]:
    while text:
        array = _ARRAY.match(text)
        code = array[1] if array else text[0]
        if code not in _CODES:
            return
        dtype = np.dtype(_CODES[code])
        yield NumbaType(dtype, int(array[2]), array[3] == "F") if array else NumbaType(dtype)
        text = text[array.end() if array else 1 :]


def numba_arguments(
    types: Sequence[NumbaType], arguments: Sequence[Argument]
) -> tuple[Argument, ...]:
    """The arguments of the kernel from those of the Python function, one for each of `types`."""
    found: list[Argument] = []
    for one, argument in zip(types, arguments, strict=True):
        if one.axes and isinstance(argument, ArrayArgument):
            found += _members(argument, one)
        else:
            found.append(argument)
    return tuple(found)


def _members(array: ArrayArgument, kind: NumbaType) -> Iterator[Argument]:
    shape = array.data.shape
    strides = np.cumprod((kind.dtype.itemsize, *(shape[:-1] if kind.is_fortran else shape[:0:-1])))
    steps = strides if kind.is_fortran else strides[::-1]
    before = {"meminfo": 0, "parent": 0, "nitems": array.data.size, "itemsize": kind.dtype.itemsize}
    for name, value in before.items():
        yield ScalarArgument(f"{array.name}.{name}", np.uint64(value))
    yield array
    for axis, length in enumerate(shape):
        yield ScalarArgument(f"{array.name}.shape[{axis}]", np.uint64(length))
    for axis, step in enumerate(steps):
        yield ScalarArgument(f"{array.name}.strides[{axis}]", np.uint64(step))
