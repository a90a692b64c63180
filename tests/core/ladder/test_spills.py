"""Rungs that, as written, have too few registers: their local accesses are those of an H200."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.ladder import load_ladder
from core.recording.count_launch import count

RECORDED = Path(__file__).parents[2] / "data" / "spills_h200.json"
ROWS = json.loads(RECORDED.read_text("utf-8"))["rows"]


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['rung']}-{row['sizes']['tile_n']}")
def test_spills_count_as_on_an_h200(row) -> None:
    workload = load_ladder()[row["rung"]].workload(**row["sizes"])
    totals = count(workload, kind="as_written").counters.totals
    assert {name: totals[name].value for name in row["counters"]} == row["counters"]
    assert all(row["counters"].values())
