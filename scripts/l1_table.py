"""Fills the tables in docs/l1.md: the L1 estimate and its rivals against the reference set.

With --check it only says whether the tables are up to date (exit status 1: they are not).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout, like `python -m gui`

from core.analysis.coalescing import SECTOR  # noqa: E402
from core.analysis.issue import IssueTable  # noqa: E402
from core.analysis.l1 import L1Estimate, L1Model, L1Observer, L1Probe, model_of  # noqa: E402
from core.emulator.events import AccessEvent  # noqa: E402
from core.emulator.groups import Geometry, warp_rows  # noqa: E402
from core.emulator.image import Image  # noqa: E402
from core.recording import record  # noqa: E402
from tests.reference_set import FOLDER, ReferenceLaunch, load_launches  # noqa: E402

PAGE = ROOT / "docs" / "l1.md"
HITS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit"
KINDS: tuple[Literal["as_written", "as_compiled"], ...] = ("as_written", "as_compiled")
_MARKS = ("errors", "rivals")
_CAPACITIES_KIB = (0.5, 1, 2, 4)

Request = tuple[int, int, str, list[int]]  # block, tick, kind, sectors


@dataclass(frozen=True)
class Row:
    """One launch in one build: what was measured, the estimate, and every access it made."""

    launch: ReferenceLaunch
    kind: str
    sectors: int
    hits: int
    estimate: L1Estimate
    requests: list[Request]

    @property
    def exact(self) -> bool:
        """Whether the estimate equals the measurement."""
        return (self.estimate.total.sectors, self.estimate.total.hits) == (self.sectors, self.hits)


class _Recorder(L1Probe):
    """Also notes stores and atomics, for the rival models."""

    def __init__(self, model: L1Model | None = None) -> None:
        super().__init__(model)
        self.requests: list[Request] = []

    def start(self, image: Image, issues: IssueTable, lines: NDArray[np.int32]) -> None:
        super().start(image, issues, lines)
        self.requests = []

    def part(self, geometry: Geometry) -> L1Observer:
        observer = super().part(geometry)
        noted, requests, issues = observer.on_access, self.requests, self._issues

        def on_access(event: AccessEvent) -> None:
            noted(event)
            space = event.region.space
            if space == "global" or (space == "const" and issues[event.pc].generic):
                requests.extend(_requests(event, geometry))

        observer.on_access = on_access  # type: ignore[method-assign]
        return observer


def _requests(event: AccessEvent, geometry: Geometry) -> Iterator[Request]:
    address = warp_rows(np.broadcast_to(event.address, geometry.lanes), geometry, 0)
    mask = np.ones(geometry.lanes, bool) if event.mask is None else event.mask
    active = warp_rows(mask, geometry, 0)
    blocks = np.repeat(geometry.blocks, geometry.warps).tolist()
    for block, row, live in zip(blocks, address, active, strict=True):
        if live.any():
            yield block, event.tick, event.kind, np.unique(row[live] // SECTOR).tolist()


def rows() -> list[Row]:
    """Every row of the record that has the counter."""
    measured = json.loads((FOLDER / "h200_2026-11-21.json").read_text(encoding="utf-8"))["rows"]
    counters = {(r["launch"], r["build"]): r["counters"] for r in measured}
    found = []
    for launch in load_launches():
        for kind in KINDS:
            counts = counters[launch.name, kind]
            if HITS in counts:
                probe = run(launch, kind)
                found.append(
                    Row(launch, kind, counts["global_ld_sectors"], counts[HITS], probe.estimate(),
                        probe.requests)
                )  # fmt: skip
    return found


def run(
    launch: ReferenceLaunch,
    kind: Literal["as_written", "as_compiled"],
    model: L1Model | None = None,
) -> _Recorder:
    """The launch's probe after a run."""
    probe = _Recorder(model)
    record(launch.workload, kind=kind, blocks=[0], checks=False, l1=probe)
    return probe


# -- the estimate ---------------------------------------------------------------------------------


def errors(found: Iterable[Row]) -> str:
    """By source file: sectors, hits measured and estimated; errors are of rows with hits."""
    lines = [
        "| kernel | rows | sectors | hits measured | hits estimated | rows equal |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    found = list(found)
    files = dict.fromkeys(row.launch.workload.source_name for row in found)
    lines += (_error_line(f"`{file}`", [r for r in found if _file(r) == file]) for file in files)
    lines.append(_error_line("all", found))
    some = [abs(r.estimate.total.hits - r.hits) / r.hits for r in found if r.hits]
    lines.append(
        f"\nRelative error over the {len(some)} rows with hits: median "
        f"{statistics.median(some):.1%}, worst {max(some):.1%}. "
        f"Of the {len(found) - len(some)} rows without hits the estimate finds none in "
        f"{sum(r.exact for r in found if not r.hits)}."
    )
    return "\n".join(lines)


def _file(row: Row) -> str:
    return row.launch.workload.source_name


def _error_line(label: str, some: list[Row]) -> str:
    sums = (
        len(some),
        sum(r.sectors for r in some),
        sum(r.hits for r in some),
        sum(r.estimate.total.hits for r in some),
        sum(r.exact for r in some),
    )
    return "| " + " | ".join((label, *(f"{value:,}" for value in sums))) + " |"


# -- its rivals -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rival:
    """Another rule, with caches of any size."""

    text: str
    blocks_per_sm: int = 1
    shift: int = 0  # a load fills this many sectors, as a power of two
    late: bool = False  # a sector on its way is a miss
    store: str = "kept"  # what a store does to its sectors: kept, dropped, filled
    atomic: str = "kept"

    def hits(self, requests: Iterable[Request]) -> int:
        """Hits of the loads."""
        caches: dict[int, dict[int, Any]] = {}
        hits = 0
        for block, tick, kind, sectors in requests:
            cache = caches.setdefault(block // self.blocks_per_sm, {})
            rule = {"store": self.store, "atomic": self.atomic, "load": "load"}[kind]
            for place in (sector >> self.shift for sector in sectors):
                if rule == "load" and place in cache:
                    hits += not (self.late and cache[place] == tick)
                elif rule in ("load", "filled"):
                    cache[place] = tick
                elif rule == "dropped":
                    cache.pop(place, None)
        return hits


RIVALS = (
    Rival("the rule above, caches of any size"),
    Rival("a miss fills the whole line", shift=2),
    Rival("a sector asked for by the same instruction of another warp is a miss", late=True),
    Rival("a store drops its sectors", store="dropped"),
    Rival("a store fills its sectors", store="filled"),
    Rival("an atomic drops its sectors", atomic="dropped"),
    Rival("an atomic fills its sectors", atomic="filled"),
    Rival("neighbouring blocks share an L1", blocks_per_sm=2),
    Rival("all blocks share one L1", blocks_per_sm=1 << 30),
)


def rivals(found: list[Row]) -> str:
    """How many rows other rules, and smaller caches, get right."""
    lines = ["| rule | rows equal | hits off, summed |", "|---|---:|---:|"]
    lines += (
        _rival_line(rival.text, [(rival.hits(r.requests), r.hits) for r in found])
        for rival in RIVALS
    )
    for kib in _CAPACITIES_KIB:
        pairs = [(_smaller(row, kib), row.hits) for row in found]
        lines.append(_rival_line(f"the rule above, an L1 of {kib} KiB", pairs))
    return "\n".join(lines)


def _smaller(row: Row, kib: float) -> int:
    launch = row.launch.workload.launch
    model = model_of(launch.block.count, 0)
    small = L1Model(model.sms, model.resident, int(kib * 1024))
    kind = next(kind for kind in KINDS if kind == row.kind)
    return run(row.launch, kind, small).estimate().total.hits


def _rival_line(text: str, pairs: list[tuple[int, int]]) -> str:
    equal = sum(ours == theirs for ours, theirs in pairs)
    return f"| {text} | {equal} of {len(pairs)} | {sum(abs(a - b) for a, b in pairs):,} |"


# -- the page -------------------------------------------------------------------------------------


def page_with(text: str, mark: str, new: str) -> str:
    """The page with the part between a pair of marks replaced."""
    begin, end = f"<!-- {mark}: scripts/l1_table.py -->", f"<!-- end of {mark} -->"
    head, _, rest = text.partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise SystemExit(f"{PAGE} has lost the marks {begin} and {end}.")
    return f"{head}{begin}\n{new}\n{end}{tail}"


def main() -> int:
    """Write or check the tables; 1 where a check finds them out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    found = rows()
    old = new = PAGE.read_text(encoding="utf-8")
    for mark, text in zip(_MARKS, (errors(found), rivals(found)), strict=True):
        new = page_with(new, mark, text)
    if check:
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
