"""Faulty kernels and their clean twins: every fault is found where it is, and nothing else."""

import pytest

from core.trace.finding import KINDS
from tests.core.faults.cases import CASES, places, run


def test_there_are_enough():
    faulty = [case for case in CASES if case.expected]
    assert len(faulty) >= 60
    assert len(CASES) - len(faulty) >= 60
    kinds = {kind for case in faulty for kind, _, _ in case.expected}
    assert kinds == set(KINDS) - {"assert"}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.kernel)
def test_faults_are_found_and_nothing_else(case):
    trace = run(case)
    assert places(trace) == case.expected
    for finding in trace.findings:
        block = trace.block(finding.block)
        assert 0 <= finding.thread < block.n_threads
        assert 0 <= finding.step < block.n_steps
        assert block.line[finding.step] == finding.line
        assert finding.message.startswith(f"Line {finding.line}: thread (")
        assert finding.message.endswith((".", ".)"))
