"""The L1 estimate of a large launch, from the blocks of a few SMs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.assembler.assembled_module import module_of
from core.cancelling import check
from core.compiler.compile_ptx_and_cubin import Build, BuildKind, build_of, find_entry
from core.emulator.geometry import Geometry
from core.emulator.launch_image import Image
from core.emulator.machine import Limits, Machine
from core.launch import Workload
from core.recording.blocks_side_by_side import LANES
from core.rules.l1_cache import L1Estimate, L1Probe, sm_of
from core.rules.memory_instruction_issue import IssueTable
from core.trace.program_info import source_lines

_SEED = 1


@dataclass(frozen=True)
class L1Sample:
    """The estimate for `blocks` of `of` blocks: all those of `sms` SMs."""

    estimate: L1Estimate
    sms: int
    blocks: int
    of: int


def sample_l1(
    workload: Workload,
    sms: int,
    *,
    kind: BuildKind = "as_compiled",
    build: Build | None = None,
) -> L1Sample:
    """Runs only the blocks of `sms` SMs, chosen at random but the same every time.

    Outputs are those of a launch of these blocks alone: where addresses depend on what other blocks
    have written, the estimate is wrong. Raises as `core.recording.record_launch.record` does.
    """
    build = build or build_of(workload, kind)
    entry = find_entry(build, workload.kernel)
    image = Image(module_of(build, entry), entry, workload.launch)
    probe = L1Probe()
    probe.start(image, IssueTable(image.module), source_lines(image.module))
    total = workload.launch.grid.count
    places = sm_of(np.arange(total), total, probe.model.sms, probe.model.resident)
    chosen = np.random.default_rng(_SEED).permutation(np.unique(places))[:sms]
    blocks = np.flatnonzero(np.isin(places, chosen))
    at_once = max(1, LANES // workload.launch.block.count)
    for first in range(0, len(blocks), at_once):
        check()
        some = blocks[first : first + at_once]
        geometry = Geometry(workload.launch.grid, workload.launch.block, some)
        Machine(image, geometry, (probe.part(geometry),), None, Limits()).run()
    return L1Sample(probe.estimate(), len(chosen), len(blocks), total)
