"""Matrix products of warpgroups and bulk copies give an H200's bytes, and its counters."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.launch import Workload
from core.recording.record_launch import record
from core.rules.counters import METRICS
from tests.hopper_forms import forms

FOLDER = Path(__file__).parents[1] / "data" / "hopper"
RECORDS = [
    json.loads((FOLDER / f"h200_{date}.json").read_text("utf-8"))
    for date in ("2026-11-23", "2026-11-30")
]
TRUTH = {part: RECORDS[0][part] | RECORDS[1][part] for part in ("forms", "counters")}
FORMS = {form.name: form for form in forms()}
RECORDED = [name for name in FORMS if name in TRUTH["forms"]]


def launched(form) -> Workload:
    """Its launch; forms that differ in data or layout alone have one source, compiled once."""
    work = form.workload
    source = work.source.replace(f" {work.kernel}(", " form(")
    return replace(work, source=source, kernel="form")


def check(name) -> None:
    form = FORMS[name]
    trace = record(launched(form), kind="as_compiled")
    found = {
        array: hashlib.sha256(np.ascontiguousarray(trace.outputs[array]).tobytes()).hexdigest()[:16]
        for array in form.outputs
    }
    assert found == TRUTH["forms"][name]
    if not form.odd:
        assert trace.findings == ()
    counted = TRUTH["counters"].get(name)
    if counted is not None:
        totals = trace.counters.totals
        mine = {metric: totals[counter].value for counter, metric in METRICS.items()}
        assert {metric: mine[metric] for metric in counted} == counted


def test_there_are_enough() -> None:
    assert len(RECORDED) == len(TRUTH["forms"]) >= 421
    assert len(TRUTH["counters"]) >= 249


@pytest.mark.parametrize("which", ["load", "store"])
def test_a_box_outside_its_map_is_defined(which) -> None:
    name = f"box_{which}_float32_64x64_16x30_64x70_1_swizzle0_to0"
    check(name)
    assert record(launched(FORMS[name]), kind="as_compiled").findings == ()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if place % 24 else [])
        for place, name in enumerate(RECORDED)
    ],
)
def test_every_form(name) -> None:
    check(name)
