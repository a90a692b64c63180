"""What a trace knows about the program that ran, the same for every block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.launch import Workload
from core.ptx.ast import Module
from core.ptx.loops import Loop, outermost_loops
from core.rules.memory_instruction_issue import IssueTable
from core.source.shared_arrays import match, shared_arrays
from core.trace.access import Array, SharedArray, owner_of

if TYPE_CHECKING:
    from core.emulator.launch_image import Image
    from core.launch import ArrayArgument
    from core.ptx.debug.dwarf_types import DwarfType
    from core.ptx.debug.variables import DebugInfo


@dataclass(frozen=True)
class ProgramInfo:
    """Arrays, and per instruction: source line, whether it ends a thread, and the loops."""

    module: Module
    arrays: tuple[Array, ...]
    shared_arrays: tuple[SharedArray, ...]
    lines: NDArray[np.int32]
    exits: NDArray[np.bool_]
    loops: tuple[Loop, ...]
    shared_stride: int  # bytes of shared memory from one block that runs to the next beside it

    @cached_property
    def issues(self) -> IssueTable:
        """How each memory instruction reaches the hardware."""
        return IssueTable(self.module)

    def shared_name(self, offset: int) -> str:
        """What a byte of a block's shared memory is called: the array's name, or the memory's."""
        array = owner_of(self.shared_arrays, offset)
        return array.name if array is not None else "shared memory"

    def array(self, name: str) -> Array | None:
        """The array in global memory of that name."""
        return next((array for array in self.arrays if array.name == name), None)


def source_lines(module: Module) -> NDArray[np.int32]:
    """The line of the user's source of every instruction, 0 where it has none.

    What comes from a header has none.
    """
    source = module.source_file
    return np.array(
        [i.position.line if i.position.file == source else 0 for i in module.instructions], np.int32
    )


def program_info(image: Image, workload: Workload, debug: DebugInfo | None = None) -> ProgramInfo:
    """Gathers it from the image of a launch; names of fields come from the debug information."""
    module = image.module
    return ProgramInfo(
        module,
        tuple(
            Array(
                a.name,
                image.buffers[a.name].base,
                a.data.shape,
                a.data.dtype,
                a.role,
                *(_fields_of_rows(debug, image.function.name, a) if debug is not None else ()),
            )
            for a in image.launch.arrays
        ),
        _shared_arrays(image, workload),
        source_lines(module),
        np.array([i.opcode in ("ret", "exit") for i in module.instructions], bool),
        outermost_loops(module, image.function),
        image.shared_stride,
    )


def _shared_arrays(image: Image, workload: Workload) -> tuple[SharedArray, ...]:
    if not image.shared_layout:
        return ()
    declarations = shared_arrays(workload.source, workload.defines)
    found = []
    for symbol, (offset, variable) in image.shared_layout.items():
        nbytes = variable.nbytes or image.shared_bytes - offset
        if nbytes:
            name, shape, dtype = match(symbol, nbytes, declarations)
            found.append(SharedArray(name.rpartition("::")[2], offset, shape, dtype))
    return tuple(found)


# The names of a structure's fields, for arrays of structures: `p[3].vx`.


_MOST = 4096  # fields of a structure


Types = tuple[np.dtype[Any] | None, ...]


def _fields_of_rows(
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
