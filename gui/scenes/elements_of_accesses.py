"""What the lanes of an access touch, element by element, and what they do there.

An access of several elements a lane (`float4`) is as many accesses of one element each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.trace import Array
from core.trace.access import Access, SharedArray, WarpAccess
from gui.scenes.names_of_elements_and_threads import elements_name, verb_of

EMPTY = np.empty(0, np.int64)  # no elements


@dataclass(frozen=True)
class Part:
    """One element a lane: its flat index (-1 where the lane is idle) and value; a place a lane."""

    elements: NDArray[np.int64]
    values: NDArray[Any]


def elements_a_lane(access: Access | WarpAccess, itemsize: int) -> int:
    """How many elements of an array each lane of an access touches, at least 1."""
    return max(1, access.width // itemsize)


def parts_of(access: Access | WarpAccess, dtype: np.dtype[Any]) -> tuple[Part, ...]:
    """The parts of an access to an array of `dtype`, in the order of memory."""
    count = elements_a_lane(access, dtype.itemsize)
    elements, values = np.asarray(access.elements), np.asarray(access.values)
    if count == 1 and values.ndim == 1 and values.dtype == dtype:
        return (Part(elements, values),)
    columns = _columns(values, dtype, count)
    return tuple(
        Part(np.where(elements >= 0, elements + j, -1), columns[:, min(j, columns.shape[1] - 1)])
        for j in range(count)
    )


def _columns(values: NDArray[Any], dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """One column for each element; registers of another type are read as the array's bits."""
    table = np.ascontiguousarray(values.reshape(len(values), -1))
    if table.dtype != dtype and table.nbytes == len(table) * count * dtype.itemsize:
        return table.view(dtype)
    return table


def all_elements(access: Access | WarpAccess, itemsize: int) -> NDArray[np.int64]:
    """The flat elements that the active lanes touch, every one of each lane, in lane order."""
    live = np.asarray(access.elements)
    live = live[live >= 0]
    count = elements_a_lane(access, itemsize)
    return live if count == 1 else (live[:, None] + np.arange(count)).reshape(-1)


def deed(access: Access, count: int = 2) -> str:
    """What so many threads do in an access, as a verb: the store of a `cp.async` only begins."""
    if access.is_copy and access.kind == "store":
        return f"begin{'s' * (count == 1)} to copy to"
    return verb_of(access.kind, count)


def accessed_name(access: Access | WarpAccess, array: Array | SharedArray) -> str:
    """What the active lanes touch: an index may run out of an array into its neighbour, legally."""
    what = elements_name(array, all_elements(access, array.dtype.itemsize))
    active = np.asarray(access.active)
    astray = active & (np.asarray(access.elements) < 0)
    if not astray.any():
        return what
    rest = f"what lies outside {array.name}"
    return rest if astray.sum() == active.sum() else f"{what} and {rest}"


def numbers_of(part: WarpAccess, array: Array | SharedArray) -> NDArray[Any]:
    """What each lane loads or stores, (32, numbers): a field of a mixed structure is one number."""
    values = np.stack([p.values for p in parts_of(part, array.dtype)], axis=1)
    live = np.asarray(part.elements)[np.asarray(part.active)]
    field = array.field_at(int(live[0])) if isinstance(array, Array) and len(live) else None
    if field is None or values.dtype != array.dtype or field[1].itemsize != values.shape[1]:
        return values
    row = array.shape[-1]
    if (live % row != field[0] % row).any():  # lanes touch several fields
        return values
    return np.ascontiguousarray(values).view(field[1])


def number_at(array: Array | SharedArray, data: NDArray[Any], flat: int) -> Any:
    """An element among an array's values (flat); of a mixed structure the whole field."""
    field = array.field_at(flat) if isinstance(array, Array) else None
    if field is None:
        return data[flat].item()
    first, kind = field
    return np.ascontiguousarray(data[first : first + kind.itemsize]).view(kind)[0].item()


def is_global(access: Any) -> bool:
    """Whether an access (or None) is to a known array in global memory."""
    return access is not None and access.space == "global" and access.array is not None
