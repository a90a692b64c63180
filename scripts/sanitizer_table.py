"""Fills the tables in docs/faults.md: what compute-sanitizer and a GPU make of faulty kernels.

The record is tests/core/faults/sanitizer_DATE.json; tests/core/faults/test_faults.py says that
Tilescope finds what each kernel is marked with. With --check: exit status 1 if it is out of date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import pages

from tests.core.faults.cases import CASES as ALL_CASES
from tests.core.faults.hopper_family import H200
from tests.core.faults.sanitizer import KINDS, RECORD, reports

ORDER = (
    "out_of_bounds", "misaligned", "race", "uninitialised", "divergent_barrier", "divergent_warp",
    "inactive_lane", "deadlock", "livelock", "trap", "bad_call",
)  # fmt: skip
CASES = [case for case in ALL_CASES if case.kernel in RECORD["ran"]]  # the others came later
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def table() -> str:
    """By kind of fault: how many faulty kernels have it, and who finds it."""
    lines = [
        "| kind | kernels with it | both find it | only Tilescope | only compute-sanitizer | by |",
        "|---|---:|---:|---:|---:|---|",
    ]
    total = [0, 0, 0]
    for kind in ORDER:
        having = [c for c in CASES if kind in {k for k, _, _ in c.expected}]
        by = [tool for tool in TOOLS if kind in KINDS[tool]]
        both = sum(any(r.finds(kind, c.expected) for r in reports(c.kernel)) for c in having)
        total = [a + b for a, b in zip(total, (len(having), both, len(having) - both), strict=True)]
        lines.append(
            f"| `{kind}` | {len(having)} | {both} | {len(having) - both} | {_only_it(by)} | "
            f"{', '.join(by) or 'none: it hangs'} |"
        )
    lines.append(f"| all | {total[0]} | {total[1]} | {total[2]} | {_only_it(TOOLS)} | |")
    faulty = [c for c in CASES if c.expected]
    clean = [c for c in CASES if not c.expected]
    alarmed = [c.kernel for c in clean if reports(c.kernel)]
    found = sum(bool(reports(c.kernel)) for c in faulty)
    lines.append(
        f"\nOf the {len(faulty)} faulty kernels compute-sanitizer reports {found}, Tilescope all. "
        f"Of the {len(clean)} clean twins it reports {len(alarmed)} "
        f"({', '.join(f'`{name}`' for name in alarmed)}), Tilescope none. "
        f"Taken with {RECORD['compute-sanitizer'].split(' (')[0].lower()} on an {RECORD['gpu']}, "
        f"driver {RECORD['driver']}, {RECORD['date']}."
    )
    return "\n".join(lines)


def hopper() -> str:
    """By family of Hopper's faults: what the kernels do on the GPU, where Tilescope finds all."""
    lines = [
        "| family | kernels | fail or hang | give other bits | give the twin's bits |",
        "|---|---:|---:|---:|---:|",
    ]
    for family, runs in H200["families"].items():
        counts = [0, 0, 0]
        for build, rows in runs["faulty"].items():
            for name, came in rows.items():
                same = came == runs["twin"][build][name]
                counts[2 if same else 0 if came == "hangs" or came.startswith("error") else 1] += 1
        kernels = len(runs["faulty"]["as_written"])
        lines.append(f"| {family} | {kernels} | {' | '.join(str(count) for count in counts)} |")
    gpu, driver = H200["machine"].split(", ")
    lines.append(
        f"\nEach kernel ran twice, as written and as compiled: {gpu}, driver {driver}, "
        f"{H200['date']}."
    )
    return "\n".join(lines)


def _only_it(tools: Sequence[str]) -> int:
    """Faulty kernels that one of the tools reports, but for nothing that Tilescope finds there."""
    return sum(
        any(r.tool == tool for r in reports(case.kernel))
        and not any(
            r.finds(kind, case.expected)
            for r in reports(case.kernel)
            if r.tool == tool
            for kind in KINDS[tool]
        )
        for case in CASES
        if case.expected
        for tool in tools
    )


def main() -> int:
    """Write or check the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="only compare")
    page = ROOT / "docs" / "faults.md"
    check = parser.parse_args().check
    tables = {"sanitizer": table(), "hopper": hopper()}
    return pages.fill(page, Path(__file__).name, tables, check=check)


if __name__ == "__main__":
    sys.exit(main())
