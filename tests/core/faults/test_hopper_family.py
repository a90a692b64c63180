"""Every fault of Hopper's copies, products and clusters in 25 shapes or more, and clean twins."""

import pytest

from tests.core.faults.hopper_family import families

FAMILIES = families()
FOUND_AS = {"wrong_parity": "not_awaited"}


def test_there_are_enough():
    assert len(FAMILIES) == 9
    for members in FAMILIES.values():
        assert len({(m.source(faulty=True), m.launch) for m in members}) >= 25


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(m, id=f"{name}-{m.name}", marks=[pytest.mark.slow] if n else [])
        for name, members in FAMILIES.items()
        for n, m in enumerate(members)
    ],
)
def test_the_fault_is_found_and_its_twin_is_clean(member):
    trace, line = member.run(faulty=True)
    assert {(f.kind, f.line) for f in trace.findings} == {
        (FOUND_AS.get(member.kind, member.kind), line)
    }
    trace, _ = member.run(faulty=False)
    assert trace.findings == ()
