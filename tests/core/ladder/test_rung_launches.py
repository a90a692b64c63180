"""Every rung's launches in both builds: right, and what an H200 made of them, to the last bit.

`scripts/record_rungs.py` took the hashes of the outputs, `scripts/measure_ladder.py` Nsight
Compute's counters. What is left out of these, and why, stands in docs/counting.md, "Asynchronous
copies". A launch is recorded once for all that is compared.
"""

import hashlib
import json

import pytest

from core.ladder import load_ladder
from core.recording.record_launch import record
from core.rules.counters import METRICS
from tests.core.ladder.test_rungs import must_be_right
from tests.rung_set import BUILDS, FOLDER, rung_launches

LADDER = load_ladder()
HASHES = json.loads((FOLDER / "h200_2026-11-28.json").read_text(encoding="utf-8"))["rows"]
COUNTERS = {
    (row["launch"], row["build"]): row["counters"]
    for row in json.loads((FOLDER / "counters_h200.json").read_text(encoding="utf-8"))["rows"]
}
COPIES, MATRICES = (f"smsp__sass_inst_executed_op_{what}.sum" for what in ("ldgsts", "ldsm"))
# Wavefronts that the hardware adds where warps get in each other's way, at most so many.
ARBITRATION = {
    ("transpose_tiled-m33-n40", "as_written"),
    ("transpose_padded-m33-n40", "as_written"),
}
MOST_ADDED = 16  # 9 were seen
# At each commit of `wgmma` in a -G build ptxas puts one wgmma.m64n8k16 of F16 whose result is not
# used: each warp reads its 16 rows of A, 4 wavefronts, and the warpgroup B once, 2 wavefronts.
BESIDE_COMMIT = {"shared_gmma_requests": 4, "shared_gmma_wavefronts": 18}


def cases():
    """Each launch in each build; all but the first of each rung, in one of the two, are slow."""
    seen = set()
    for name, workload in rung_launches().items():
        quick = None if workload.rung in seen else BUILDS[sum(map(ord, workload.rung)) % 2]
        seen.add(workload.rung)
        for build in BUILDS:
            marks = [] if build == quick else [pytest.mark.slow]
            yield pytest.param((name, build), id=f"{name}-{build}", marks=marks)


@pytest.fixture(scope="module", params=cases())
def launch(request):
    """(name, build) of a launch, and its record."""
    name, build = request.param
    return request.param, record(rung_launches()[name], kind=build, blocks=[0])


def test_the_result_is_right(launch):
    _, trace = launch
    if LADDER[trace.workload.rung].group != "broken":
        must_be_right(trace)


def test_outputs_equal_the_hardware(launch):
    (name, build), trace = launch
    if name not in HASHES:
        pytest.skip("not on record yet: scripts/record_rungs.py takes it from a GPU")
    wanted = HASHES[name][build]
    assert wanted
    ours = {
        output: hashlib.sha256(trace.outputs[output].tobytes()).hexdigest() for output in wanted
    }
    assert ours == wanted


def test_counts_equal_the_hardware(launch):
    case, trace = launch
    if case not in COUNTERS:
        pytest.skip("not on record yet: scripts/measure_ladder.py takes it from a GPU")
    counters = COUNTERS[case]
    counts = {name: count.value for name, count in trace.counters.totals.items()}
    measured = {name: counters[m] for name, m in METRICS.items() if m in counters}
    # Nsight Compute has these two apart, from stores and loads of shared memory.
    measured["shared_st_requests"] += counters[COPIES]
    measured["shared_ld_requests"] += counters[MATRICES]
    loose = set()
    if counters[COPIES]:
        loose |= {"shared_st_wavefronts", "shared_st_conflicts"}
    if case in ARBITRATION:
        for name in ("shared_st_wavefronts", "shared_st_conflicts"):
            assert 0 <= measured[name] - counts[name] <= MOST_ADDED
            loose.add(name)
    if case[1] == "as_written":  # a batch is four `wgmma` of four warps
        batches = counts.get("shared_gmma_requests", 0) // 16
        for name, more in BESIDE_COMMIT.items():
            measured[name] -= more * batches
    exact = measured.keys() - loose
    assert {k: counts.get(k, 0) for k in exact} == {k: measured[k] for k in exact}


def test_all_launches_are_on_record():
    names = {name for name, _ in COUNTERS}
    assert len(COUNTERS) == 2 * len(names)
    assert {name.split("-")[0] for name in names} >= {"copy_offset", "tuned", "tensor_tuned"}
