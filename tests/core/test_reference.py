"""The emulator's counts and outputs equal a GPU's: the reference set taken on an H200.

`scripts/record_reference.py` took the counters (Nsight Compute) and the outputs' hashes.
"""

import hashlib
import json
from functools import cache

import numpy as np
import pytest

from core.rules.counters import METRICS
from core.runs.recording import record
from tests.reference_set import FOLDER, load_launches

LAUNCHES = load_launches()
BY_NAME = {launch.name: launch for launch in LAUNCHES}
RECORD = json.loads((FOLDER / "h200_2026-11-21.json").read_text(encoding="utf-8"))
ROWS = {(row["launch"], row["build"]): row for row in RECORD["rows"]}
HARDWARE_NAMES = {name: metric.removesuffix(".sum") for name, metric in METRICS.items()}
KINDS = ("as_written", "as_compiled")
INPUTS = "2790c66a7795bda6"  # of all input bytes: the record belongs to these


@cache
def traced(name, kind):
    """Counts, outputs and findings: the trace's record is dropped, so that the set stays small."""
    trace = record(BY_NAME[name].workload, kind=kind, blocks=[0])
    return trace.counters.totals, trace.outputs, trace.findings


def measured(launch, kind):
    counters = ROWS[launch.name, kind]["counters"]
    found = {name: counters.get(name, counters.get(HARDWARE_NAMES[name])) for name in METRICS}
    return {name: value for name, value in found.items() if value is not None}


def has_atomics(name, kind):
    counters = ROWS[name, kind]["counters"]
    names = (n for n, count in counters.items() if count)
    return any("op_atom" in n or "op_red" in n or n.endswith("_atom") for n in names)


def cases():
    """Each launch in each build; all but every seventh are slow."""
    every = [(launch, kind) for launch in LAUNCHES for kind in KINDS]
    for i, (launch, kind) in enumerate(every):
        marks = [pytest.mark.slow] if i % 7 else []
        yield pytest.param((launch, kind), id=f"{launch.name}-{kind}", marks=marks)


@pytest.fixture(scope="module", params=cases())
def run(request):
    """A launch, its build, and what came of it."""
    launch, kind = request.param
    return launch, kind, traced(launch.name, kind)


def test_counters_and_outputs_equal_the_hardware(run):
    launch, kind, (totals, outputs, findings) = run
    assert findings == ()
    wanted = measured(launch, kind)
    assert {name: totals[name].value for name in wanted} == wanted
    if launch.approximate is None:
        for name, digest in ROWS[launch.name, kind]["outputs"].items():
            if name not in launch.free:
                assert hashlib.sha256(outputs[name].tobytes()).hexdigest() == digest, name


@pytest.mark.parametrize("name", ["local-array", "dynamic-shared-float4"])
def test_sectors_of_local_memory_equal_the_hardware(name):
    """Where no function is called: around calls the assembler saves registers of its own."""
    totals, _, _ = traced(name, "as_written")
    counters = ROWS[name, "as_written"]["counters"]
    for way in ("ld", "st"):
        wanted = counters[f"l1tex__t_sectors_pipe_lsu_mem_local_op_{way}"]
        assert totals[f"local_{way}_sectors"].value == wanted
        executed = counters[f"smsp__sass_inst_executed_op_local_{way}"]
        assert totals[f"local_{way}_requests"].value == executed


def test_ideals_equal_those_of_the_source_page(run):
    launch, kind, (totals, _, _) = run
    if launch.suite != "kernels" or has_atomics(launch.name, kind):
        return
    counters = ROWS[launch.name, kind]["counters"]
    for ours, theirs in (
        ("global_{}_sectors", "memory_l2_theoretical_sectors_global_ideal"),
        ("shared_{}_wavefronts", "memory_l1_wavefronts_shared_ideal"),
    ):
        assert sum(totals[ours.format(way)].ideal for way in ("ld", "st")) == counters[theirs]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("launch", [x for x in LAUNCHES if x.approximate], ids=lambda x: x.name)
def test_approximate_functions_are_near_the_hardware(launch, kind):
    _, outputs, _ = traced(launch.name, kind)
    for name, text in ROWS[launch.name, kind]["outputs"].items():
        ours, theirs = outputs[name], np.frombuffer(bytes.fromhex(text), outputs[name].dtype)
        assert not np.isnan(theirs).any()
        # In units in the last place of the larger of the value and one: __logf and __sinf are
        # documented with an absolute error.
        unit = np.spacing(np.maximum(np.abs(theirs), 1))
        assert np.max(np.abs(ours - theirs) / unit) <= launch.approximate


def test_set_is_as_large_as_promised():
    kernels = [x for x in LAUNCHES if x.suite == "kernels"]
    assert len({x.workload.source_name for x in kernels}) >= 25
    assert len(kernels) >= 60
    assert {name for name, _ in ROWS} == {x.name for x in LAUNCHES}
    assert len(ROWS) == 2 * len(LAUNCHES)


def test_inputs_are_those_that_the_gpu_had():
    """The formula's values never change: the hashes in the record belong to them."""
    digest = hashlib.sha256()
    for launch in LAUNCHES:
        for array in launch.workload.launch.arrays:
            digest.update(array.data.tobytes())
    assert digest.hexdigest()[:16] == INPUTS
