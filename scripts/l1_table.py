"""Fills the tables in docs/l1.md: the L1 estimate against an H200's counters.

The launches are those of tests/l1_set.py, as compiled, and the reference set. Of large launches the
blocks of a few SMs are run (`tests/l1_sampling.py`). With --check: exit status 1 if the tables
are out of date. Takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import pages

from core.recording.record_launch import record
from core.rules.l1_cache import L1Probe
from tests.l1_sampling import sample_l1
from tests.l1_set import FOLDER, L1Launch, load_l1_launches, measured
from tests.reference_set import FOLDER as REFERENCE
from tests.reference_set import load_launches

HITS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit"
MOST_SECTORS = 400_000  # of the SMs that are run together
TOO_MANY = 4_000_000  # of one SM: left out


@dataclass(frozen=True)
class Row:
    """A launch: hit rates measured and estimated, and how far two measurements were apart."""

    launch: L1Launch
    measured: float
    estimated: float
    apart: float

    @property
    def off(self) -> float:
        """Estimate less measurement."""
        return self.estimated - self.measured


def rows() -> Iterator[Row]:
    """Every launch that is not too large."""
    record_of = measured()
    for launch in load_l1_launches():
        found = record_of[launch.name, "as_compiled"]
        per_sm = found["sectors"] / 132
        if per_sm > TOO_MANY:
            continue
        sms = max(1, min(132, int(MOST_SECTORS / per_sm)))
        estimate = sample_l1(launch.workload, sms).estimate.total
        rate, apart = found["hits"] / found["sectors"], found["hits_again"][0] - found["hits"]
        print(f"{launch.name}: {estimate.hit_rate:.4f}, measured {rate:.4f}", flush=True)
        yield Row(launch, rate, estimate.hit_rate or 0.0, abs(apart) / found["sectors"])


def table(found: Sequence[Row]) -> str:
    """By family: how far the hit rate is off, in percentage points."""
    lines = [
        "| launches | | measured hit rates | off, median | off, worst | where | two measurements |",
        "|---|---:|---|---:|---:|---|---:|",
    ]
    families = dict.fromkeys(family(row.launch) for row in found)
    for name in families:
        some = [row for row in found if family(row.launch) == name]
        worst = max(some, key=lambda row: abs(row.off))
        low, high = min(r.measured for r in some), max(r.measured for r in some)
        exact = abs(worst.off) < 5e-5
        lines.append(
            f"| {name} | {len(some)} | {low:.1%} to {high:.1%} "
            f"| {100 * statistics.median(abs(row.off) for row in some):.1f} "
            f"| {'0.0' if exact else f'{100 * worst.off:+.1f}'} "
            f"| {'' if exact else f'`{worst.launch.name}`'} "
            f"| {100 * max(row.apart for row in some):.1f} |"
        )
    off = [abs(row.off) for row in found]
    lines.append(
        f"\nOf {len(found)} launches {sum(o <= 0.001 for o in off)} are within 0.1 points, "
        f"{sum(o <= 0.01 for o in off)} within 1 and {sum(o <= 0.05 for o in off)} within 5."
    )
    return "\n".join(lines)


def family(launch: L1Launch) -> str:
    """What a launch is counted with."""
    if launch.group == "kernels":
        return f"`{launch.workload.kernel}`"
    names = {
        "capacity": "one block goes round 32 to 1,024 KiB",
        "strides": "the same with strides of 2 to 128 lines",
        "carve-outs": "the same beside shared memory of every size",
        "stores": "loads of what the block stored or updated",
    }
    blocks = {
        "same": "all blocks load the same 2 KiB",
        "period": "every 66th to 528th block loads the same",
        "overlap": "neighbouring blocks overlap",
        "crowd": "blocks of an SM crowd each other out",
    }
    return names.get(launch.group) or blocks[launch.name.partition("-")[0]]


def reference() -> str:
    """The reference set, where every block has an SM to itself and everything fits."""
    counters = {
        (row["launch"], row["build"]): row["counters"]
        for row in json.loads((REFERENCE / "h200_2026-11-21.json").read_text("utf-8"))["rows"]
    }
    equal, total = 0, 0
    for launch in load_launches():
        for kind in ("as_written", "as_compiled"):
            counts: dict[str, Any] = counters[launch.name, kind]
            if HITS not in counts:
                continue
            probe = L1Probe()
            record(launch.workload, kind=kind, blocks=[0], checks=False, l1=probe)
            found = probe.estimate().total
            equal += (found.sectors, found.hits) == (counts["global_ld_sectors"], counts[HITS])
            total += 1
    return f"Of the {total} rows of the reference set the estimate equals the counter in {equal}."


def main() -> int:
    """Write or check the tables; 1 where a check finds them out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    machine = json.loads(next(FOLDER.glob("h200_*.json")).read_text("utf-8"))
    source = (
        f"Measured on an {machine['gpu']}, driver {machine['driver']}, Nsight Compute "
        f"{machine['ncu'].split()[1]}, {machine['date']}; in percentage points."
    )
    parts = {"hard": f"{table(list(rows()))}\n\n{source}", "easy": reference()}
    return pages.fill(ROOT / "docs" / "l1.md", Path(__file__).name, parts, check=check)


if __name__ == "__main__":
    sys.exit(main())
