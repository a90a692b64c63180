"""Lanes that yield part as on an H200, and count as there."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from core.emulator.events import Observer
from core.emulator.lane_groups import Geometry
from core.emulator.launch_image import Image
from core.emulator.machine import Machine
from core.launch import Launch
from core.ptx.parser import parse
from core.recording.record_launch import record
from tests.core.emulator.machines import HEADER, ONE, WARP
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


SLEEPS = """
.visible .entry k()
{
.reg .pred %p<2>;
.reg .b32 %r<2>;
mov.u32 %r1, %laneid;
setp.lt.u32 %p1, %r1, 16;
@%p1 bra OTHERS;
nanosleep.u32 5;
bra END;
OTHERS:
nanosleep.u32 5;
END:
ret;
}
"""


def test_lanes_that_come_back_to_where_they_have_yielded_spill_once() -> None:
    told = []

    class Spills(Observer):
        def on_save(self, event) -> None:
            told.append((event.kind, event.registers, int(event.mask.sum())))

    module = parse(HEADER + SLEEPS)
    code = [
        replace(one, yields=True, spills=(2, 1)) if one.opcode == "nanosleep" else one
        for one in module.instructions
    ]
    image = Image(replace(module, instructions=tuple(code)), "k", Launch(ONE, WARP, ()))
    Machine(image, Geometry(ONE, WARP, np.arange(1)), (Spills(),)).run()
    assert sorted(told) == [("load", 1, 16), ("load", 1, 16), ("store", 2, 16), ("store", 2, 16)]
