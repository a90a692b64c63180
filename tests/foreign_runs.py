"""Runs the kernels of `tests.foreign_set` in the emulator and says how right they are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

import numpy as np

from core.guessing.ptx_launch_guess import complete_ptx
from core.launch import Workload
from core.recording.record_launch import record
from core.trace import Trace
from core.user_files.launch_texts import FileLaunch
from core.user_files.ptx_files import ptx_workload, read_ptx
from tests.foreign_set import FOLDER, Foreign, wide

COUNTED = sorted(FOLDER.glob("h?00_*.json"))
"""What Nsight Compute counted of each launch, by GPU and date; scripts/count_foreign.py made it."""


@dataclass(frozen=True)
class Outcome:
    """A kernel's record, and its outputs' largest error relative to their largest value."""

    trace: Trace
    error: float

    @property
    def sectors(self) -> dict[int, int]:
        """Sectors of global memory by line of the Python source."""
        found = {}
        for line, counts in self.trace.counters.by_line.items():
            total = sum(
                int(count.value) for name, count in counts.items()
                if name.startswith("global_") and name.endswith("_sectors")
            )  # fmt: skip
            if total:
                found[line] = total
        return dict(sorted(found.items()))


def workload_of(one: Foreign) -> Workload:
    """The launch of a kernel as `tilescope trace` makes it: the block comes from the PTX."""
    file = read_ptx(str(one.path))
    arguments = tuple((n, v) for n, _, v in (text.partition("=") for text in one.arguments))
    asked = FileLaunch(file.path, "", one.grid, one.block, "", "", arguments)
    return ptx_workload(file, complete_ptx(file, asked))


def run(one: Foreign) -> Outcome:
    """Records a kernel and compares its outputs with NumPy's in float64."""
    workload = workload_of(one)
    trace = record(workload)
    before = {a.name: a.data for a in workload.launch.arrays}
    error = np.float64(0)
    for name, truth in one.truth(before).items():
        wanted = np.asarray(truth, np.float64)
        got = wide(trace.outputs[name]).reshape(wanted.shape)
        error = np.maximum(error, np.abs(got - wanted).max() / np.abs(wanted).max())  # keeps NaN
    return Outcome(trace, float(error))


@cache
def _counted() -> dict[str, dict[str, int]]:
    files = (json.loads(path.read_text(encoding="utf-8")) for path in COUNTED)
    return {name: row for file in files for name, row in file["rows"].items()}


def counters_apart(one: Foreign, found: Outcome) -> dict[str, tuple[int, int]]:
    """The counters that are not the hardware's: ours and its."""
    totals, counted = found.trace.counters.totals, _counted()[one.name]
    ours = {n: int(totals[n].value) if n in totals else 0 for n in counted}
    return {n: (ours[n], theirs) for n, theirs in counted.items() if ours[n] != theirs}


def is_counted_apart(one: Foreign) -> bool:
    """Whether it copies asynchronously or loads matrices, whose requests Nsight counts apart."""
    return any(word in one.path.read_text(encoding="utf-8") for word in ("cp.async", "ldmatrix"))
