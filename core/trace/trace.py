"""The trace of a launch: the only thing that views and tests read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.block_record import ChunkRecord
from core.errors import TilescopeError
from core.launch import Workload
from core.ptx.ast import Instruction, Module
from core.ptx.debug.mangled_names import source_name
from core.rules.counters import Counters
from core.trace.access import Array, SharedArray
from core.trace.block import BlockTrace
from core.trace.finding import Finding
from core.trace.program_info import ProgramInfo
from core.trace.steps import Segments
from core.trace.variables import VariableReader
from core.wording import ranges

if TYPE_CHECKING:
    from core.assembler.machine_accesses import Assembly
    from core.compiler.compile_ptx_and_cubin import Build
    from core.emulator.events import Printed
    from core.emulator.launch_image import Image


@dataclass(frozen=True, eq=False)
class Trace:
    """One launch, recorded.

    `outputs` holds the final content of every array argument. `complete` is False when only some
    blocks were run, so that outputs and counters are theirs alone, or when the run was cut; `note`
    then says so. `cut` is the sentence that says why it was cut, "" where it was not. `program` is
    what is known of the compiled kernel, `image` the code that ran and the memory that it ran on,
    `records` the machine's own, for storage.
    """

    workload: Workload
    build: Build
    outputs: Mapping[str, NDArray[Any]]
    counters: Counters
    findings: tuple[Finding, ...]
    complete: bool
    note: str
    instructions_issued: int
    program: ProgramInfo
    image: Image
    records: tuple[ChunkRecord, ...]
    _blocks: dict[int, BlockTrace] = field(default_factory=dict, repr=False)
    checked: bool = True  # whether races and uninitialised reads were looked for
    prints: tuple[Printed, ...] = ()  # what each call of printf wrote, in order of time
    cut: str = ""

    @property
    def printed(self) -> tuple[str, ...]:
        """The lines that the kernel printed."""
        return tuple("".join(p.text for p in self.prints).splitlines())

    @property
    def constants(self) -> frozenset[str]:
        """The `__constant__` variables, by their symbols and by their names in the source."""
        variables = self.program.module.variables
        symbols = [name for name, variable in variables.items() if variable.space == "const"]
        return frozenset([*symbols, *map(source_name, symbols)])

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays in global memory, in the order of the arguments."""
        return self.program.arrays

    @property
    def shared_arrays(self) -> tuple[SharedArray, ...]:
        """The `__shared__` arrays of the kernel."""
        return self.program.shared_arrays

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The PTX instructions of the module, indexed by pc."""
        return self.module.instructions

    @property
    def module(self) -> Module:
        """The parsed PTX that ran."""
        return self.program.module

    @cached_property
    def assembly(self) -> Assembly | None:
        """How far the counts are those of the machine code; None for the build as written."""
        if self.build.kind == "as_written":
            return None
        from core.assembler.machine_accesses import assembly_of

        return assembly_of(self.build, self.module, self.image.function.name)

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        return {
            int(block): (number, place)
            for number, record in enumerate(self.records)
            for place, block in enumerate(record.geometry.blocks)
        }

    @property
    def recorded_blocks(self) -> tuple[int, ...]:
        """Linear indices of the blocks that can be stepped through."""
        return tuple(self._places)

    def block(self, block: int) -> BlockTrace:
        """The record of a block; `TilescopeError` if it was not recorded."""
        if block not in self._places:
            recorded = ranges(self.recorded_blocks, " to ") or "none"
            raise TilescopeError(f"Block {block} was not recorded; recorded are {recorded}.")
        if block not in self._blocks:
            number, place = self._places[block]
            self._blocks[block] = BlockTrace(
                self.records[number],
                self._segments[number],
                place,
                self.program,
                self._readers[number],
            )
        return self._blocks[block]

    @cached_property
    def _segments(self) -> tuple[Segments, ...]:
        return tuple(Segments(record) for record in self.records)

    @cached_property
    def _readers(self) -> tuple[VariableReader, ...]:
        from core.ptx.debug.variables import debug_info

        debug = debug_info(self.program.module)
        return tuple(VariableReader(record, self.image, debug) for record in self.records)


_LOOK_BACK = 64  # steps of its line among which one is sought in which the thread takes part


def with_step(finding: Finding, trace: Trace) -> Finding:
    """The finding with the step of its block's trace at which to look, if that was recorded."""
    if finding.block not in trace.recorded_blocks:
        return finding
    block = trace.block(finding.block)
    step = block.step_at(finding.tick)
    illegal = block.illegal_step(finding.tick, finding.thread)
    if illegal >= 0:
        return replace(finding, step=illegal)
    near = np.flatnonzero(block.line[: step + 1] == finding.line)[-_LOOK_BACK:]
    taking_part = [s for s in near[::-1] if block.active(int(s))[finding.thread]]
    found = taking_part[0] if taking_part else near[-1] if len(near) else step
    return replace(finding, step=int(found))
