"""The names of a structure's fields, for arrays of structures: `p[3].vx`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from core.launch import ArrayArgument
    from core.ptx.dwarf_model import DebugInfo
    from core.ptx.dwarf_types import DwarfType

_MOST = 4096  # fields of a structure


Types = tuple[np.dtype[Any] | None, ...]


def fields_of_rows(
    debug: DebugInfo, function: str, array: ArrayArgument
) -> tuple[tuple[str, ...], Types]:
    """What each number of a row of `array` is called, where its rows are the kernel's structures.

    `function` is the kernel, whose pointer has the array's name. Where a structure's fields are not
    of one type the array's numbers are bytes, all of a field have its name, and the second result
    says for each the type of its field (None: of no single number). Both are empty where the array
    is none of structures, and without debug information, the second one where a number is a field.
    """
    if array.data.ndim < 2:
        return (), ()
    kind = next(
        (
            v.type.element
            for v in debug.variables_of(function)
            if v.name == array.name and v.type.kind == "pointer"
        ),
        None,
    )
    size, count = array.data.dtype.itemsize, array.data.shape[-1]
    if kind is None or not kind.members or kind.nbytes != size * count or count > _MOST:
        return (), ()
    names, types = [""] * count, [np.dtype(np.uint8) if size == 1 else None] * count
    for name, first, leaf in _leaves(kind, "", 0):
        for place in range(first // size, -(-(first + leaf.nbytes) // size)):
            names[place], types[place] = name, leaf.dtype
    mixed = size == 1 and any(t is None or t.itemsize > 1 for t in types)
    return tuple(names), tuple(types) if mixed else ()


def _leaves(kind: DwarfType, name: str, at: int) -> Iterator[tuple[str, int, DwarfType]]:
    """Each number of a type: its name, the byte where it begins, and its type."""
    if kind.members:
        for member in kind.members:
            inner = f"{name}.{member.name}" if name and member.name else name or member.name
            yield from _leaves(member.type, inner, at + member.offset)
    elif kind.kind == "array" and kind.element is not None and kind.element.nbytes:
        for place in range(kind.nbytes // kind.element.nbytes):
            yield from _leaves(kind.element, f"{name}[{place}]", at + place * kind.element.nbytes)
    else:
        yield name, at, kind
