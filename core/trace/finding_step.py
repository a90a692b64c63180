"""The step at which to look at a finding."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.analysis.findings import Finding
    from core.trace.trace import Trace

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
