"""Sectors of bulk copies, also to the blocks of a cluster, as an H200 counted them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core.recording.record_launch import record
from tests.multicast_set import RECORDED, STORED, Box, Row, copies, workload

TRUTH = json.loads(RECORDED.read_text("utf-8"))["sectors"]
COPIES = copies()


def sectors(copy: Box | Row) -> int:
    trace = record(workload(copy))
    assert trace.findings == ()
    totals = trace.counters.totals
    if copy.mask == STORED:
        stored = trace.outputs["to"]
        if isinstance(copy, Row):
            tile = np.arange(copy.place, copy.place + copy.nbytes).astype(np.uint8)
            assert (stored[copy.start : copy.start + copy.nbytes] == tile).all()
        else:
            assert stored[copy.row, copy.column] == 0x0100  # the tile's first two bytes
        return int(totals["global_tma_st_sectors"].value)
    got = [value >= 0 for value in trace.outputs["out"]]
    assert got == [bool((copy.mask or 1) >> rank & 1) for rank in range(2)]
    return int(totals["global_tma_ld_sectors"].value)


def test_every_copy_is_recorded() -> None:
    assert TRUTH.keys() == {copy.name for copy in COPIES}
    assert len(COPIES) > 800


SOME = COPIES[::31]  # of all kinds and all blocks that are named


@pytest.mark.parametrize("copy", SOME, ids=lambda copy: copy.name)
def test_some(copy) -> None:
    assert sectors(copy) == TRUTH[copy.name]


@pytest.mark.slow
def test_the_others() -> None:
    others = {copy.name: copy for copy in COPIES if copy not in SOME}
    assert others.keys() | {copy.name for copy in SOME} == TRUTH.keys()
    mine = {name: sectors(copy) for name, copy in others.items()}
    assert mine == {name: TRUTH[name] for name in others}
