"""scripts/tune_ladder.py on a GPU that is not there: what is tried, and what the file says."""

import itertools
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import tune_ladder as script

from core.errors import TilescopeError
from core.gpu.events_and_failures import WorkerFailure
from core.ladder import load_ladder
from tests.core.gpu.fake_gpu import FakeGpu


@pytest.mark.parametrize(("name", "size"), [("coalesced", 96), ("tile_2d", 256)])
def test_every_combination_that_a_rung_accepts_is_a_candidate(name, size):
    rung, grid = load_ladder()[name], script.GRIDS[name]
    accepted = []
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        try:
            rung.check(**script.sizes(rung, size), **chosen)
        except TilescopeError:
            continue
        accepted.append(chosen)
    found = script.candidates(name, size)
    key = lambda values: sorted(values.items())  # noqa: E731
    assert sorted((dict(one.values) for one in found), key=key) == sorted(accepted, key=key)
    assert len(accepted) > 0
    assert all(one.point.parameters["n"] == size for one in found)


def test_all_are_timed_once_and_failures_stand_beside_the_rates():
    def fault(job):
        wide = job.subject.parameters["block_x"] == 64
        return WorkerFailure("It hung.", "timed_out", fatal=True) if wide else None

    gpu = FakeGpu(fault)
    rows = script.timed(gpu, "coalesced", 64)
    assert len(rows) == len(gpu.jobs) == len(script.candidates("coalesced", 64))
    failed = [row for _, row in rows if "failed" in row]
    assert failed
    assert all(row["block_x"] == 64 and row["failed"] == "It hung." for row in failed)
    timed = [row for _, row in rows if "failed" not in row]
    assert all(row["right"] and row["registers"] == 32 and row["gflops"] > 0 for row in timed)
    text = script._text({"rungs": [{"rung": "coalesced", "rows": [row for _, row in rows]}]})
    assert json.loads(text)["rungs"][0]["rows"] == [row for _, row in rows]
