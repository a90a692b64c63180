"""Faults and hazards put into words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.analysis.findings import Finding
from core.analysis.hazards import Hazard
from core.emulator.events import AccessEvent, BarrierEvent, FaultEvent
from core.emulator.groups import Geometry
from core.emulator.memory import Region
from core.launch import Dim3
from core.trace.arrays import SharedArray, label, owner_of
from core.trace.program_info import ProgramInfo


@dataclass
class _Fault:
    event: FaultEvent
    count: int


class FaultCollector:
    """Keeps the first fault of each kind and instruction, and counts the rest."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], _Fault] = {}

    def on_fault(self, event: FaultEvent) -> None:
        """Notes a fault."""
        known = self.found.get((event.kind, event.pc))
        if known is None:
            self.found[(event.kind, event.pc)] = _Fault(event, len(event.lanes))
        else:
            known.count += len(event.lanes)

    def on_access(self, event: AccessEvent) -> None:
        """Legal accesses are none of its business."""

    def on_barrier(self, event: BarrierEvent) -> None:
        """Nor are barriers."""


class Reporter:
    """Writes the findings of one machine."""

    def __init__(self, program: ProgramInfo, geometry: Geometry) -> None:
        self._program, self._geometry = program, geometry

    def faults(self, collector: FaultCollector) -> list[Finding]:
        """The findings of illegal accesses and failed assertions."""
        return [self._fault(f.event, f.count) for f in collector.found.values()]

    def hazards(self, found: Sequence[Hazard]) -> list[Finding]:
        """The findings of races and uninitialised reads."""
        return [self._hazard(h) for h in found]

    # -- places -----------------------------------------------------------------------------

    def _where(self, lane: int) -> tuple[int, int]:
        block, thread = divmod(lane, self._geometry.threads)
        return int(self._geometry.blocks[block]), thread

    def thread_name(self, lane: int) -> str:
        """`thread (1,0) of block (0,2)`, in x, y (and z where the block has it)."""
        block, thread = self._where(lane)
        return (
            f"thread {_index(thread, self._geometry.block)} of block "
            f"{_index(block, self._geometry.grid)}"
        )

    def _line(self, pc: int) -> int:
        return int(self._program.lines[pc])

    def _element(self, region: Region | None, address: int) -> tuple[str, tuple[int, ...], str]:
        """Array, index, and the element's name; an index outside the array is a flat one."""
        array = None if region is None else self._program.array(region.name)
        if region is not None and region.space == "shared":
            offset = address - region.base
            near = owner_of(self._program.shared_arrays, offset)
            if near is not None:
                return _shared_element(near, offset)
            return "shared memory", (offset,), f"byte {offset:,} of shared memory"
        if array is None:
            name = "no array" if region is None else region.name
            return "", (), f"address {address:#x}, near {name}"
        flat = (address - array.base) // array.dtype.itemsize
        size = int(np.prod(array.shape))
        if 0 <= flat < size:
            return array.name, array.index(flat), label(array.name, array.index(flat))
        return array.name, (flat,), f"element {flat} of {array.name}, which has {size}"

    # -- sentences --------------------------------------------------------------------------

    def _fault(self, event: FaultEvent, count: int) -> Finding:
        lane = int(event.lanes[0])
        line = self._line(event.pc)
        who = self.thread_name(lane)
        array, index = "", ()  # type: tuple[str, tuple[int, ...]]
        if event.kind == "assert":
            message = f"Line {line}: the assertion `{event.detail}` fails for {who}."
        else:
            array, index, name = self._element(event.region, int(event.address[0]))
            if event.kind == "misaligned":
                message = (
                    f"Line {line}: {who} accesses {event.width} bytes at {name}, an address that "
                    f"is not a multiple of {event.width}."
                )
            else:
                message = f"Line {line}: {who} goes out of bounds: it accesses {name}."
        block, thread = self._where(lane)
        return Finding(
            event.kind, _counted(message, count), block, thread, line, event.tick, array, index,
            count,
        )  # fmt: skip

    def _hazard(self, hazard: Hazard) -> Finding:
        line = self._line(hazard.pc)
        who = self.thread_name(hazard.lane)
        array = owner_of(self._program.shared_arrays, hazard.offset)
        name, index, text = (
            _shared_element(array, hazard.offset)
            if array is not None
            else ("shared memory", (hazard.offset,), f"byte {hazard.offset} of shared memory")
        )
        verb = "writes" if hazard.is_store else "reads"
        if hazard.kind == "uninitialised":
            message = f"Line {line}: {who} reads {text}, which no thread has written."
        else:
            message = (
                f"Line {line}: {who} {verb} {text} with no barrier after "
                f"{self._other(hazard)}; a __syncthreads() between them is missing."
            )
        block, thread = self._where(hazard.lane)
        return Finding(
            hazard.kind, _counted(message, hazard.count), block, thread, line, hazard.tick,
            name, index, hazard.count,
        )  # fmt: skip

    def _other(self, hazard: Hazard) -> str:
        line = self._line(hazard.other_pc)
        opcode = self._program.module.instructions[hazard.other_pc].opcode
        verb = "reads" if opcode in ("ld", "ldu") else "writes"
        if hazard.other_lane < 0:
            return f"other threads {verb.rstrip('s')} it (line {line})"
        _, thread = self._where(hazard.other_lane)
        return f"thread {_index(thread, self._geometry.block)} {verb} it (line {line})"


def _index(linear: int, size: Dim3) -> str:
    x, y, z = size.x, size.y, size.z
    parts = [linear % x, linear // x % y]
    if z > 1:
        parts.append(linear // (x * y))
    return f"({','.join(str(p) for p in parts)})"


def _shared_element(array: SharedArray, offset: int) -> tuple[str, tuple[int, ...], str]:
    index = array.index((offset - array.offset) // array.dtype.itemsize)
    return array.name, index, label(array.name, index)


def _counted(message: str, count: int) -> str:
    return message if count == 1 else f"{message} ({count:,} accesses like it.)"
