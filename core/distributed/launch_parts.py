"""A launch counted and checked block by block, in many places, and joined exactly.

Neighbouring blocks make a part. Each part notes which bytes of global memory it reads and writes.
If no part writes what another reads or writes, no block can tell that it ran apart from others:
counters are sums of whole warps' requests, so the parts' sums are the launch's, and its faults are
those of the parts. Where parts touch each other's bytes, where atomics of several meet, or where
blocks wait for each other, the launch is run whole, in one place.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.compiler.compile_ptx_and_cubin import Build, BuildKind, build_of
from core.distributed.processes import Spreading
from core.emulator.address_spaces import Region
from core.emulator.events import AccessEvent, Observer, TransferEvent
from core.emulator.geometry import Geometry
from core.emulator.heap import HEAP_NAME
from core.emulator.launch_image import Image
from core.emulator.machine import Limits
from core.findings.finding_sentences import with_count
from core.gpu.benchmark_job import FileSubject, RungSubject, WorkloadSubject
from core.launch import Workload
from core.recording.record_launch import Part, image_of, merge_finding, run_part
from core.rules.counters import Tally
from core.trace import Trace
from core.trace.finding import Finding
from core.trace.program_info import program_info

_ENDLESS = Limits(instructions=1 << 62, seconds=None)


@dataclass(frozen=True)
class PartTask:
    """Blocks of a launch; `subject` makes the launch where the task is done."""

    subject: RungSubject | FileSubject | WorkloadSubject
    first: int
    end: int
    kind: BuildKind
    checks: bool


@dataclass(frozen=True)
class Ran:
    """What a part did; bytes that it read and wrote by array, packed bits, compressed."""

    part: Part
    read: Mapping[str, bytes]
    written: Mapping[str, bytes]


class Footprints(Observer):
    """The bytes of global memory that some blocks read and write, one flag each."""

    def __init__(self) -> None:
        self.read: dict[str, NDArray[np.bool_]] = {}
        self.written: dict[str, NDArray[np.bool_]] = {}
        self._lanes = 0  # of the blocks that run now

    def start(self, image: Image, issues: Any, lines: Any) -> None:
        """Nothing is known of any array before it is touched."""

    def part(self, geometry: Geometry) -> Observer:
        """Observes the blocks that run next."""
        self._lanes = geometry.lanes
        return self

    def on_access(self, event: AccessEvent) -> None:
        """Notes one access; an atomic reads and writes."""
        region = event.region
        if region.space != "global" or region.name == HEAP_NAME:
            return
        address = np.broadcast_to(event.address, self._lanes) - region.base
        address = address if event.mask is None else address[event.mask]
        for kind, table in (("store", self.read), ("load", self.written)):
            if event.kind != kind:
                _flag(table, region, address, event.width)

    def on_transfer(self, event: TransferEvent) -> None:
        """Notes what an asynchronous copy reads and writes; a reduction does both."""
        updated = event.writes if event.is_update else ()
        reads = (*event.reads, *updated)
        for spans, table in ((reads, self.read), (event.writes, self.written)):
            for span in spans:
                if span.region.space == "global":
                    _flag(table, span.region, span.place, span.width)


def _flag(
    table: dict[str, NDArray[np.bool_]], region: Region, places: NDArray[np.int64], width: int
) -> None:
    flags = table.get(region.name)
    if flags is None:
        flags = table[region.name] = np.zeros(region.nbytes, bool)
    for byte in range(width):
        flags[places + byte] = True


def run_blocks(task: PartTask) -> Ran:
    """Runs a part; raises as `core.recording.record_launch.record` does."""
    marks = Footprints()
    part = run_part(
        task.subject.workload(),
        range(task.first, task.end),
        kind=task.kind,
        checks=task.checks,
        limits=_ENDLESS,
        probe=marks,
    )
    return Ran(part, _packed(marks.read), _packed(marks.written))


def _packed(table: Mapping[str, NDArray[np.bool_]]) -> dict[str, bytes]:
    return {name: zlib.compress(np.packbits(flags).tobytes(), 1) for name, flags in table.items()}


def _bits(packed: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.decompress(packed), np.uint8)


def communicate(parts: Sequence[Ran]) -> bool:
    """Whether a part waits for others, or writes a byte that another reads or writes."""
    if any(one.part.waits for one in parts):
        return True
    read: dict[str, NDArray[np.uint8]] = {}
    written: dict[str, NDArray[np.uint8]] = {}
    for one in parts:
        mine = {name: _bits(packed) for name, packed in one.written.items()}
        for name, bits in mine.items():
            for others in (read, written):
                if name in others and np.any(bits & others[name]):
                    return True
        for name, packed in one.read.items():
            bits = _bits(packed)
            if name in written and np.any(bits & written[name]):
                return True
            read[name] = bits | read[name] if name in read else bits
        for name, bits in mine.items():
            written[name] = bits | written[name] if name in written else bits
    return False


def trace_in_parts(
    subject: RungSubject | FileSubject | WorkloadSubject,
    spreading: Spreading,
    parts: int,
    *,
    kind: BuildKind = "as_written",
    checks: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Trace:
    """The counters and faults of a launch, split into about so many parts; no step is recorded.

    Where it has clusters or textures it is run whole. The trace has no outputs. Its note says how
    it was run. Raises as `record` does.
    """
    workload = subject.workload()
    total = workload.launch.grid.count
    build = build_of(workload, kind)
    image = image_of(workload, build)
    together = _why_together(image)
    parts = 1 if together else parts
    edges = np.linspace(0, total, min(parts, total) + 1).astype(int).tolist()
    tasks = [
        PartTask(subject, first, end, kind, checks) for first, end in itertools.pairwise(edges)
    ]
    found: dict[int, Ran] = {}
    for place, ran in spreading(run_blocks, tasks):
        found[place] = ran
        if progress is not None:
            progress(len(found) / len(tasks))
    in_order = [found[place] for place in sorted(found)]
    note = f"{total:,} blocks ran in {len(tasks)} parts, and no part touches what another writes."
    if together:
        note = f"{together}, so all {total:,} blocks ran in one place."
    elif len(tasks) > 1 and communicate(in_order):
        whole = PartTask(subject, 0, total, kind, checks)
        ((_, ran),) = spreading(run_blocks, [whole])
        in_order = [ran]
        note = (
            f"Blocks communicate through global memory, so all {total:,} ran together in one place."
        )
    return _joined(workload, build, image, in_order, note, checks)


def _why_together(image: Image) -> str:
    """Why the blocks of a launch cannot run apart, "" if they can."""
    if image.textures:
        return "What textures and surfaces touch is not followed"
    if image.cluster.count > 1:
        return "The blocks of a cluster run together"
    return ""


def _joined(
    workload: Workload, build: Build, image: Image, parts: Sequence[Ran], note: str, checks: bool
) -> Trace:
    program = program_info(image, workload)
    tally = Tally()
    findings: dict[tuple[str, int, str], Finding] = {}
    for one in parts:
        for key, sums in one.part.sums.items():
            tally.add(*key, sums)
        for finding in one.part.findings:
            merge_finding(findings, finding)
    return Trace(
        replace(workload, expected=None),
        build,
        MappingProxyType({}),
        tally.counters(lambda pc: int(program.lines[pc])),
        tuple(with_count(finding) for finding in findings.values()),
        True,
        note,
        sum(one.part.issued for one in parts),
        program,
        image,
        (),
        checked=checks,
        prints=tuple(printed for one in parts for printed in one.part.prints),
    )
