"""What an address is called in the source: array and index, for findings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from core.emulator.address_spaces import Region
from core.emulator.heap import HEAP_NAME
from core.ptx.debug.variables import debug_info
from core.trace.access import Array, SharedArray, fields_of, label, owner_of
from core.trace.program_info import ProgramInfo

if TYPE_CHECKING:
    from core.ptx.debug.variables import DebugInfo, VariableInfo


@dataclass(frozen=True)
class Place:
    """An element: its array ("" if unknown), index, and how a sentence names it.

    `points` says that it holds an address: a pointer, or a reference to what `text` names.
    """

    array: str
    index: tuple[int, ...]
    text: str
    points: bool = False


class Places:
    """Names the places of one program."""

    def __init__(self, program: ProgramInfo) -> None:
        self._program = program

    @cached_property
    def _debug(self) -> DebugInfo:
        return debug_info(self._program.module)

    def at_address(self, region: Region | None, address: int, pc: int) -> Place:
        """The place at a (generic) address, near or in `region`, which may be None."""
        if region is None:
            what = "a null pointer" if 0 <= address < 1 << 16 else f"address {address:#x}"
            return Place("", (), f"{what}, which lies in no array")
        return self.at_offset(region.space, region.name, address - region.base, pc)

    def at_offset(self, space: str, region: str, offset: int, pc: int) -> Place:
        """The place at an offset in a region; an index outside its array is a flat one."""
        if space in ("shared", "cluster"):
            return self._shared(offset)
        if space == "local":
            return self._local(offset, pc)
        array = self._program.array(region)
        if array is not None:
            return _in_array(array, offset)
        if space == "global":
            name = f"the {region}" if region == HEAP_NAME else region
            return Place(region, (offset,), f"byte {offset:,} of {name}")
        return Place("", (), f"byte {offset:,} of {region}")

    def _shared(self, offset: int) -> Place:
        arrays = self._program.shared_arrays
        near = owner_of(arrays, offset)
        if near is not None:
            return _in_array(near, offset - near.offset)
        if not arrays:
            return Place("shared memory", (offset,), f"byte {offset:,} of shared memory")
        last = (
            max(arrays, key=lambda a: a.offset)
            if offset >= 0
            else min(arrays, key=lambda a: a.offset)
        )
        return _in_array(last, offset - last.offset)

    def _local(self, offset: int, pc: int) -> Place:
        """A local variable of the function that `pc` lies in, as far as the compiler tells."""
        found = self._local_arrays(pc)
        inside = [v for v, start, size in found if start <= offset < start + size]
        near = [v for v, start, size in found if offset >= start + size]
        if not inside and not near:
            return Place("local memory", (offset,), f"byte {offset:,} of its local memory")
        variable = inside[0] if inside else near[-1]
        start = next(s for v, s, _ in found if v is variable)
        kind = variable.type
        step = kind.element.nbytes if kind.element is not None and kind.dims else kind.nbytes
        flat, size = (offset - start) // max(step, 1), kind.nbytes // max(step, 1)
        if kind.kind == "pointer":
            refers = kind.name.endswith("&") or "(&" in kind.name  # `float&`, `float (&)[64]`
            text = f"the address of {variable.name}" if refers else variable.name
            return Place(variable.name, (), text, points=True)
        if not kind.dims:
            return Place(variable.name, (), variable.name)
        if flat < size:
            index = tuple(int(i) for i in np.unravel_index(flat, kind.dims))
            return Place(variable.name, index, label(variable.name, index))
        return Place(variable.name, (flat,), f"element {flat} of {variable.name}, which has {size}")

    def _local_arrays(self, pc: int) -> list[tuple[VariableInfo, int, int]]:
        """The variables on the stack of a kernel, with where they start in local memory."""
        function = self._program.module.function_at(pc)
        if not function.is_entry:
            return []
        found = [
            (v, location.stack_offset, v.type.nbytes)
            for v in self._debug.variables_of(function.name)
            for location in v.locations
            if v.space == "local" and location.stack_offset is not None
        ]
        return sorted(found, key=lambda item: item[1])


def _in_array(array: Array | SharedArray, offset: int) -> Place:
    flat = offset // array.dtype.itemsize
    size = array.nbytes // array.dtype.itemsize
    if 0 <= flat < size:
        index = array.index(flat)
        return Place(array.name, index, label(array.name, index, fields_of(array)))
    return Place(array.name, (flat,), f"element {flat} of {array.name}, which has {size}")
