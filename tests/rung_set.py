"""The ladder's launches whose outputs are compared with a GPU's, bit for bit."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from core.ladder import load_ladder
from core.launch import Workload
from tests.core.ladder.test_rungs import CASES

FOLDER = Path(__file__).parent / "data" / "rungs"
BUILDS = ("as_written", "as_compiled")


@cache
def rung_launches() -> dict[str, Workload]:
    """By name: every launch of ladder/test_rungs.py, and the broken rung that is right."""
    ladder = load_ladder()
    cases = [*CASES, ("broken_inner_barrier", {})]
    found = {}
    for name, sizes in cases:
        label = "-".join([name, *(f"{key}{value}" for key, value in sizes.items())])
        found[label] = ladder[name].workload(seed=11, **sizes)
    return found
