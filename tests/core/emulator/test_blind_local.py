"""Local memory of kernels that no rule was made for counts as on an H200."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest

from core.runs.counting import count
from core.runs.recording import record
from tests.blind_set import BUILDS, FURTHER, KERNELS, RECORDED, launches

ROWS = json.loads(RECORDED.read_text("utf-8"))["rows"]
LOCAL = [name for name in FURTHER if name.startswith("local_")]
WORKLOADS = defaultdict(list)
for _name, _build, _workload in launches():
    WORKLOADS[_workload.title, _build].append((f"{_name}, {_build}", _workload))

# Kernels whose local memory counts otherwise there, each for a reason of its own.
OTHERWISE = {
    # Its machine code has no BSYNC: lanes that part in it never meet again.
    ("recursion", "as_written"),
    # A fragment holds each of its halves twice, and ptxas loads only the first ones.
    ("wmma", "as_written"),
    # One of the 24 turns of an unrolled loop takes its byte from a register.
    ("memory functions", "as_compiled"),
}
REFUSED = {"bulk sums"}  # `cp.reduce.async.bulk` is not executed
QUICK = {"structures returned", "shared words, atomics", "half2 axpy"}


def local_counts(found):
    totals = found.counters.totals
    return {name: int(totals[name].value) for name in LOCAL}


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", [name for name in KERNELS if name not in REFUSED])
def test_counts_are_the_hardwares(name, build):
    for row, workload in WORKLOADS[name, build]:
        truth = {counter: ROWS[row].get(counter, 0) for counter in LOCAL}
        is_right = local_counts(count(workload, kind=build)) == truth
        assert is_right != ((name, build) in OTHERWISE), row


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", sorted(QUICK))
def test_a_record_counts_the_same(name, build):
    row, workload = WORKLOADS[name, build][0]
    truth = {counter: ROWS[row].get(counter, 0) for counter in LOCAL}
    assert local_counts(record(workload, kind=build)) == truth
    assert local_counts(count(workload, kind=build)) == truth


def test_each_launch_is_recorded():
    assert {row for found in WORKLOADS.values() for row, _ in found} == ROWS.keys()
    assert WORKLOADS.keys() >= OTHERWISE
