"""What a trace knows about the program that ran, the same for every block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.launch import Workload
from core.ptx.ast import Module
from core.rules.issue import IssueTable
from core.source.shared_arrays import match, shared_arrays
from core.trace.access import Array, SharedArray
from core.trace.phases import Loop, outermost_loops
from core.trace.steps import source_lines
from core.trace.variables import fields_of_rows

if TYPE_CHECKING:
    from core.emulator.launch_image import Image
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

    @cached_property
    def _by_name(self) -> dict[str, Array]:
        return {a.name: a for a in self.arrays}

    def array(self, name: str) -> Array | None:
        """The array in global memory of that name."""
        return self._by_name.get(name)


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
                *(fields_of_rows(debug, image.function.name, a) if debug is not None else ()),
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
