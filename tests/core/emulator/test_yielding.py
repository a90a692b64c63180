"""Lanes that yield part as on an H200, and count as there."""

from __future__ import annotations

import json

import pytest

from core.runs.recording import record
from tests.yielding_set import BUILDS, COUNTS, MASKS, RECORDED, launches, together

TRUTH = json.loads(RECORDED.read_text("utf-8"))
LAUNCHES = list(launches())

# Whether the lanes that wait furthest in go on as well, after one yield, depends on the time that
# things take; so does who wins a race for one place.
TIMED = {
    "masks": {
        "two ifs deep, as_written",
        "two ifs deep, global, as_written",
        "cas two ifs deep, as_compiled",
        "cas in a loop, as_compiled",
        "pow, as_compiled",  # none of these: ptxas makes no branch of it
    },
    "counts": {
        *(f"hist loop, {p}, as_written" for p in ("first half", "odd")),
        *(f"compact, {p}, as_written" for p in ("mixed", "first half", "odd")),
        *(f"{n}, mixed, as_written" for n in ("nested", "two ifs", "call atomic", "call twice")),
        *(f"{n}, mixed, as_compiled" for n in ("call atomic", "call twice")),
    },
}


def test_each_launch_is_recorded() -> None:
    for of in ("masks", "counts"):
        names = {f"{name}, {build}" for kind, name, build, _ in LAUNCHES if kind == of}
        assert names == TRUTH[of].keys()
        assert names >= TIMED[of]
    assert len(LAUNCHES) > 450


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", MASKS)
def test_the_same_lanes_run_together(name, build) -> None:
    [workload] = [w for of, n, b, w in LAUNCHES if (of, n, b) == ("masks", name, build)]
    mine = together(record(workload, kind=build).outputs["masks"])
    is_right = mine == TRUTH["masks"][f"{name}, {build}"]
    assert is_right != (f"{name}, {build}" in TIMED["masks"])


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_the_hardwares(name) -> None:
    wrong = set()
    for of, each, build, workload in LAUNCHES:
        if of == "counts" and each.startswith(f"{name}, "):
            totals = record(workload, kind=build).counters.totals
            truth = TRUTH["counts"][f"{each}, {build}"]
            if {n: int(totals[n].value) for n in truth} != truth:
                wrong.add(f"{each}, {build}")
    assert wrong == {one for one in TIMED["counts"] if one.startswith(f"{name}, ")}
