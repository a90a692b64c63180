"""The ladder's launches whose outputs are compared with a GPU's, bit for bit."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from core.ladder import load_ladder
from core.launch import Workload
from core.runs.recording import record
from tests.core.ladder.test_rungs import CASES

FOLDER = Path(__file__).parent / "data" / "rungs"
BUILDS = ("as_written", "as_compiled")


def rung_launches() -> dict[str, Workload]:
    """By name: every launch of ladder/test_rungs.py, and the broken rung that is right."""
    ladder = load_ladder()
    cases = [*CASES, ("broken_inner_barrier", {})]
    found = {}
    for name, sizes in cases:
        label = "-".join([name, *(f"{key}{value}" for key, value in sizes.items())])
        found[label] = ladder[name].workload(seed=11, **sizes)
    return found


@cache
def emulated(name: str, build: str) -> tuple[dict[str, str], dict[str, int]]:
    """What the emulator makes of a launch: the SHA-256 of each output, and its counters."""
    trace = record(rung_launches()[name], kind=build, blocks=[0], checks=False)  # type: ignore[arg-type]
    hashes = {k: hashlib.sha256(v.tobytes()).hexdigest() for k, v in trace.outputs.items()}
    return hashes, {k: count.value for k, count in trace.counters.totals.items()}
