"""Sectors of boxes that are copied to the blocks of a cluster, as an H200 counted them."""

from __future__ import annotations

import json

import pytest

from core.runs.recording import record
from tests.multicast_set import RECORDED, Box, boxes, workload

TRUTH = json.loads(RECORDED.read_text("utf-8"))["sectors"]
BOXES = boxes()


def sectors(box: Box) -> int:
    trace = record(workload(box))
    assert trace.findings == ()
    got = [value >= 0 for value in trace.outputs["out"]]
    assert got == [bool((box.mask or 1) >> rank & 1) for rank in range(2)]
    return int(trace.counters.totals["global_tma_ld_sectors"].value)


def test_every_copy_is_recorded() -> None:
    assert TRUTH.keys() == {box.name for box in BOXES}
    assert len(BOXES) > 300


@pytest.mark.parametrize("box", BOXES[::16], ids=lambda box: box.name)
def test_some(box) -> None:
    assert sectors(box) == TRUTH[box.name]


@pytest.mark.slow
def test_all() -> None:
    mine = {box.name: sectors(box) for box in BOXES}
    assert mine == TRUTH
