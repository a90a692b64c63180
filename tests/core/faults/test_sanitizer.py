"""Tilescope finds whatever compute-sanitizer found (memcheck, racecheck, initcheck, synccheck)."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.ladder import load_ladder
from core.recording.record_launch import record
from tests.core.faults.cases import CASES
from tests.core.faults.sanitizer import KINDS, RECORD, reports

EXPECTED = {case.kernel: case.expected for case in CASES}
# Reports of what is right: volatile, fenced flags, and an exchange whose old value goes nowhere.
FALSE_ALARMS = {
    ("lock_free_flag", "racecheck", frozenset({370, 373})),
    ("lock_free_flag_ok", "racecheck", frozenset({387, 390})),
    ("lock_free_flag_ok", "racecheck", frozenset({385, 392})),
    ("setter_behind_barrier_ok", "racecheck", frozenset({194, 196})),
    ("output_counted_ok", "initcheck", frozenset({134})),
}


def test_the_record_is_of_all_kernels():
    assert RECORD["gpu"]
    assert RECORD["driver"]
    known = {*EXPECTED, *(f"rung {name}" for name in load_ladder())}
    assert {*RECORD["found"], *RECORD["ended_by"]} <= {*RECORD["ran"]} <= known
    tools = {report.tool for name in EXPECTED for report in reports(name)}
    assert tools == set(KINDS)
    assert sum(bool(reports(name)) for name, expected in EXPECTED.items() if expected) >= 40


@pytest.mark.parametrize("name", [n for n in RECORD["found"] if not n.startswith("rung ")])
def test_what_it_found_is_found(name):
    """`expected` is what the emulator finds, by test_faults.py."""
    missed = {
        (name, report.tool, report.lines)
        for report in reports(name)
        if not any(report.finds(kind, EXPECTED[name]) for kind in KINDS[report.tool])
    }
    assert missed <= FALSE_ALARMS


@pytest.mark.parametrize("name", [n for n in RECORD["found"] if n.startswith("rung ")])
def test_what_it_found_in_a_rung_is_found(name):
    findings = record(load_ladder()[name.removeprefix("rung ")].workload()).findings
    found = frozenset((f.kind, f.line, f.array) for f in findings)
    for report in reports(name):
        assert any(report.finds(kind, found) for kind in KINDS[report.tool]), report


def test_what_hung_or_was_stopped_is_found():
    """A launch that did not return has a fault."""
    for name in RECORD["ended_by"]:
        assert EXPECTED[name], name


def test_the_table_in_the_documentation_is_that_of_the_record():
    script = Path(__file__).parents[3] / "scripts" / "sanitizer_table.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False)
    assert done.returncode == 0, "run scripts/sanitizer_table.py"
