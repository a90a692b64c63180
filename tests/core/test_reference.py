"""The emulator's counts and outputs equal a GPU's: the reference set taken on an H200.

`scripts/record_reference.py` took the counters (Nsight Compute) and the outputs' hashes.
"""

import hashlib
import json

import numpy as np
import pytest

from core.recording.record_launch import record
from core.rules.counters import METRICS
from core.rules.l1_cache import L1Probe
from tests.reference_set import FOLDER, load_launches

LAUNCHES = load_launches()
RECORD = json.loads((FOLDER / "h200_2026-11-21.json").read_text(encoding="utf-8"))
ROWS = {(row["launch"], row["build"]): row for row in RECORD["rows"]}
HARDWARE_NAMES = {name: metric.removesuffix(".sum") for name, metric in METRICS.items()}
KINDS = ("as_written", "as_compiled")
HITS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit"
INPUTS = "2790c66a7795bda6"  # of all input bytes: the record belongs to these


def measured(launch, kind):
    counters = ROWS[launch.name, kind]["counters"]
    found = {name: counters.get(name, counters.get(HARDWARE_NAMES[name])) for name in METRICS}
    return {name: value for name, value in found.items() if value is not None}


def has_atomics(name, kind):
    counters = ROWS[name, kind]["counters"]
    names = (n for n, count in counters.items() if count)
    return any("op_atom" in n or "op_red" in n or n.endswith("_atom") for n in names)


def cases():
    """Each launch in each build; all but every forty-first are slow."""
    every = [(launch, kind) for launch in LAUNCHES for kind in KINDS]
    for i, (launch, kind) in enumerate(every):
        marks = [pytest.mark.slow] if i % 41 else []
        yield pytest.param(launch, kind, id=f"{launch.name}-{kind}", marks=marks)


@pytest.mark.parametrize(("launch", "kind"), list(cases()))
def test_equals_the_hardware(launch, kind):
    """Counters, outputs, what the source page calls ideal, and hits in L1, of one recording."""
    row = ROWS[launch.name, kind]
    probe = L1Probe() if HITS in row["counters"] else None
    trace = record(launch.workload, kind=kind, blocks=[0], l1=probe)
    assert trace.findings == ()
    totals, wanted = trace.counters.totals, measured(launch, kind)
    assert {name: totals[name].value for name in wanted} == wanted
    if launch.approximate is None:
        exact(trace.outputs, {n: d for n, d in row["outputs"].items() if n not in launch.free})
    else:
        near(trace.outputs, row["outputs"], launch.approximate)
    if launch.suite == "kernels" and not has_atomics(launch.name, kind):
        ideal(totals, row["counters"])
    if probe is not None:
        hits_equal(probe.estimate(), row["counters"])


def exact(outputs, digests):
    assert {n: hashlib.sha256(outputs[n].tobytes()).hexdigest() for n in digests} == digests


def near(outputs, wanted, most):
    for name, text in wanted.items():
        ours, theirs = outputs[name], np.frombuffer(bytes.fromhex(text), outputs[name].dtype)
        assert not np.isnan(theirs).any()
        # In units in the last place of the larger of the value and one: __logf and __sinf are
        # documented with an absolute error.
        unit = np.spacing(np.maximum(np.abs(theirs), 1))
        assert np.max(np.abs(ours - theirs) / unit) <= most


def ideal(totals, counters):
    for ours, theirs in (
        ("global_{}_sectors", "memory_l2_theoretical_sectors_global_ideal"),
        ("shared_{}_wavefronts", "memory_l1_wavefronts_shared_ideal"),
    ):
        assert sum(totals[ours.format(way)].ideal for way in ("ld", "st")) == counters[theirs]


def hits_equal(found, counters):
    """The error is nought: median, worst and all. docs/l1.md says what this leaves unchecked."""
    assert (found.total.sectors, found.total.hits) == (
        counters["global_ld_sectors"],
        counters[HITS],
    )
    assert not found.extrapolated


def test_set_is_as_large_as_promised():
    kernels = [x for x in LAUNCHES if x.suite == "kernels"]
    assert len({x.workload.source_name for x in kernels}) >= 25
    assert len(kernels) >= 60
    assert {name for name, _ in ROWS} == {x.name for x in LAUNCHES}
    assert len(ROWS) == 2 * len(LAUNCHES)


def test_hits_in_l1_are_on_record_for_every_whole_kernel():
    measured = {key: row["counters"][HITS] for key, row in ROWS.items() if HITS in row["counters"]}
    kernels = {launch.name for launch in LAUNCHES if launch.suite == "kernels"}
    assert {name for name, _ in measured} == kernels
    assert len(measured) == 230
    assert sum(hits > 0 for hits in measured.values()) == 89


def test_inputs_are_those_that_the_gpu_had():
    """The formula's values never change: the hashes in the record belong to them."""
    digest = hashlib.sha256()
    for launch in LAUNCHES:
        for array in launch.workload.launch.arrays:
            digest.update(array.data.tobytes())
    assert digest.hexdigest()[:16] == INPUTS
