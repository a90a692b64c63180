"""What compute-sanitizer said of the kernels of this folder and of the broken rungs.

`scripts/record_sanitizer.py` took the record on a GPU.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RECORD = json.loads(
    (Path(__file__).parent / "sanitizer_2026-11-21.json").read_text(encoding="utf-8")
)
# Kinds of ours that a report of each tool may mean.
KINDS = {
    "memcheck": {"out_of_bounds", "misaligned", "trap", "bad_call", "assert", "inactive_lane"},
    "racecheck": {"race"},
    "initcheck": {"uninitialised"},
    "synccheck": {"divergent_barrier", "divergent_warp", "inactive_lane"},
}


@dataclass(frozen=True)
class Report:
    """One report: its title, and the source lines that it names."""

    tool: str
    title: str
    lines: frozenset[int]

    def finds(self, kind: str, expected: frozenset[tuple[str, int, str]]) -> bool:
        """Whether it may mean a fault of this kind on one of its lines."""
        return kind in KINDS[self.tool] and any(
            kind == other and line in self.lines for other, line, _ in expected
        )


@cache
def reports(name: str) -> tuple[Report, ...]:
    """The reports of a kernel, or of a rung as `rung NAME`."""
    found = []
    for tool, titles in RECORD["found"].get(name, {}).items():
        for key in titles:
            title, _, lines = key.rpartition(" @ ")
            numbers = frozenset(int(line) for line in lines.split(","))
            found.append(Report(tool, title, numbers))
    return tuple(found)
