"""Accesses by a cluster's addresses count as on an H200: own memory as any, others' hardly."""

from __future__ import annotations

import json

import pytest

from core.recording.record_launch import record
from tests.reaching_set import BUILDS, KINDS, RECORDED, reaches, workload

TRUTH = json.loads(RECORDED.read_text("utf-8"))["counts"]
REACHES = reaches()


def cases():
    for build in BUILDS:
        for number, kind in enumerate(KINDS):
            marks = [pytest.mark.slow] if (number + (build == "as_compiled")) % 3 else []
            yield pytest.param(kind, build, id=f"{kind}-{build}", marks=marks)


def test_every_access_is_recorded() -> None:
    assert TRUTH.keys() == {one.name for one in REACHES}
    assert len(REACHES) > 300


@pytest.mark.parametrize(("kind", "build"), list(cases()))
def test_counts_are_the_hardwares(kind, build) -> None:
    mine = {}
    for one in REACHES:
        if (one.kind, one.build) == (kind, build):
            totals = record(workload(one), kind=build).counters.totals
            mine[one.name] = {counter: int(totals[counter].value) for counter in TRUTH[one.name]}
    assert mine == {name: TRUTH[name] for name in mine}
    assert any(any(counts.values()) for counts in mine.values())
