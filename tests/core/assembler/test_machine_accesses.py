"""As compiled, loads and stores are those of the machine code: kernels taken on an H200.

`scripts/record_assembler.py` took their counters (Nsight Compute), their outputs' hashes, and how
often each load and store of the machine code was executed.
"""

import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from core.assembler.assembled_module import module_of
from core.assembler.machine_accesses import assembly_of, attributed
from core.compiler.compile_ptx_and_cubin import compile_ptx, find_entry
from core.compiler.cubin import ACCESSES
from core.compiler.nvrtc import version as nvrtc_version
from core.ptx.parser import parse
from core.recording.count_launch import count
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace
from core.rules.counters import METRICS
from tests.reference_set import FOLDER, load_launches

DATA = FOLDER.parent / "assembler"
LAUNCHES = load_launches(DATA)
BY_NAME = {launch.name: launch for launch in LAUNCHES}
RECORD = json.loads((DATA / "h200_2026-11-22.json").read_text(encoding="utf-8"))
ROWS = {(row["launch"], row["build"]): row for row in RECORD["rows"]}
# Those whose loads the PTX, as it stands, would count otherwise than the hardware does.
CHANGED = ("recurrence-30", "prefix_in_place-48", "csr-short", "triangular-129", "four_at_once",
           "divergent_tile", "bounds_in_memory", "calling-29")  # fmt: skip


@cache
def traced(name, kind):
    return record(BY_NAME[name].workload, kind=kind, blocks=[0])


def totals_of(counters):
    """What the record has; others that came later are of instructions that no kernel has here."""
    names = next(iter(ROWS.values()))["counters"]
    later = [name for name in METRICS if name not in names and not name.startswith("local_")]
    assert not any(counters.totals[name].value for name in later)
    return {name: counters.totals[name].value for name in names}


def test_set_is_as_large_as_promised():
    assert {name for name, _ in ROWS} == {launch.name for launch in LAUNCHES}
    assert len(ROWS) == 2 * len(LAUNCHES) == 172
    assert len({(x.workload.source_name, x.workload.kernel) for x in LAUNCHES}) >= 60


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("name", BY_NAME)
def test_counters_and_outputs_equal_the_hardware(name, kind):
    trace, row = traced(name, kind), ROWS[name, kind]
    assert trace.findings == ()
    assert totals_of(trace.counters) == row["counters"]
    for output, digest in row["outputs"].items():
        assert hashlib.sha256(trace.outputs[output].tobytes()).hexdigest() == digest, output
    assert trace.assembly is None if kind == "as_written" else trace.assembly.exact


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGED)
def test_the_ptx_alone_would_count_otherwise(name):
    workload = BY_NAME[name].workload
    plain = replace(build_of(workload), accesses={})
    trace = record(workload, kind="as_compiled", build=plain, blocks=[0])
    assert totals_of(trace.counters) != ROWS[name, "as_compiled"]["counters"]
    assert not trace.assembly.known
    assert "there is no machine code" in trace.assembly.sentences[0]


@pytest.mark.parametrize("name", ["csr-long", "recurrence-33", "shared_recurrence-40", "doubles"])
def test_counting_one_block_of_each_kind_gives_the_same(name):
    counted = count(BY_NAME[name].workload, kind="as_compiled")
    assert totals_of(counted.counters) == ROWS[name, "as_compiled"]["counters"]
    assert counted.assembly.exact


@pytest.mark.slow
@pytest.mark.skipif(nvrtc_version() != RECORD["nvrtc"], reason="another compiler's machine code")
@pytest.mark.parametrize("name", BY_NAME)
def test_each_line_counts_what_its_machine_code_executed(name):
    """Of each source line, loads and stores apart; an access that is switched off counts not."""
    workload, trace = BY_NAME[name].workload, traced(name, "as_compiled")
    build = build_of(workload)
    entry = find_entry(build, workload.kernel)
    module = parse(build.ptx)
    source = {i.ptx_line: i.position.line for i in module.instructions}
    executed = [
        (text, warps)
        for _, text, warps, _ in ROWS[name, "as_compiled"]["code"]
        if re.sub(r"@!?U?P\w+", "", text).split()[0].split(".")[0] in ACCESSES
    ]
    accesses = [access for access in build.accesses[entry] if access.name in ACCESSES]
    assert len(accesses) == len(executed)
    known = attributed(module, entry, accesses)
    if len(known) != len(accesses):
        pytest.skip("some accesses are those of atomics or of another space")
    wanted, guarded = Counter(), set()
    for access, (text, warps) in zip(known, executed, strict=True):
        key = source[access.line], "ld" if access.name.startswith("LD") else "st"
        words = access.width // 4 if access.name in ("LDL", "STL") else 1  # a request for each
        wanted[key] += warps * max(1, words)
        if "@" in text:
            guarded.add(key)
    ours = Counter()
    for line, counts in trace.counters.by_line.items():
        for way in ("ld", "st"):
            ours[line, way] += sum(
                counts[f"{s}_{way}_requests"].value for s in ("global", "shared", "local")
            )
    for key, warps in wanted.items():
        assert ours[key] <= warps if key in guarded else ours[key] == warps, key
    assert {key for key, n in ours.items() if n} <= set(wanted)


def build_of(workload):
    return compile_ptx(
        workload.source, source_name=workload.source_name, kernel=workload.kernel,
        kind="as_compiled",
    )  # fmt: skip


def test_a_line_whose_machine_code_differs_is_told():
    workload = BY_NAME["choose"].workload
    build = build_of(workload)
    accesses = build.accesses["choose"]
    line = workload.source.split("v = a[i] * 2")[0].count("\n") + 1
    module = module_of(build, "choose")
    wider = tuple(replace(a, width=8) if a.name == "STG" else a for a in accesses)
    found = assembly_of(replace(build, accesses={"choose": wider}), module, "choose")
    assert found.known
    assert not found.exact
    assert list(found.lines.values()) == [("1 store of 4 bytes", "1 store of 8 bytes")]
    source = {i.ptx_line: i.position.line for i in module.instructions}
    fewer = tuple(a for a in accesses if source[a.line] != line)
    found = assembly_of(replace(build, accesses={"choose": fewer}), module, "choose")
    assert found.lines == {line: ("2 loads of 4 bytes", "none")}
    assert found.sentences == (
        f"Line {line} is counted as the PTX has it (2 loads of 4 bytes); the machine code has none "
        "there, so that a GPU may count otherwise.",
    )


def test_a_saved_trace_has_its_machine_code(tmp_path):
    trace = traced("csr-short", "as_compiled")
    save_trace(trace, tmp_path / "t.npz")
    again = load_trace(tmp_path / "t.npz")
    assert again.assembly.exact
    assert [i.text for i in again.instructions] == [i.text for i in trace.instructions]
    assert len(again.instructions) > len(parse(trace.build.ptx).instructions)
    assert (again.block(0).line == trace.block(0).line).all()
