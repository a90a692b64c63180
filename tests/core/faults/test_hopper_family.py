"""Every fault of Hopper's copies, products and clusters in 25 shapes or more, and clean twins."""

import pytest

from tests.core.faults.hopper_family import H200, Together, families, outputs_digest

FAMILIES = families()
FOUND_AS = {"wrong_parity": "not_awaited"}
FILES = {  # by family: eight members each
    name: [Together(tuple(members[at : at + 8])) for at in range(0, len(members), 8)]
    for name, members in FAMILIES.items()
}
RECORD, BUILDS = H200["families"], ("as_written", "as_compiled")


def test_there_are_enough():
    assert len(FAMILIES) == 9
    for members in FAMILIES.values():
        assert len({(m.source(faulty=True), m.launch) for m in members}) >= 25


@pytest.mark.parametrize(
    ("family", "file", "member"),
    [
        pytest.param(
            name,
            FILES[name][n // 8],
            m,
            id=f"{name}-{m.name}",
            marks=[pytest.mark.slow] if n else [],
        )
        for name, members in FAMILIES.items()
        for n, m in enumerate(members)
    ],
)
def test_the_fault_is_found_and_its_twin_is_clean_and_right(family, file, member):
    trace, line = file.run(member, faulty=True)
    assert {(f.kind, f.line) for f in trace.findings} == {
        (FOUND_AS.get(member.kind, member.kind), line)
    }
    trace, _ = file.run(member, faulty=False)
    assert trace.findings == ()
    written = [a.name for a in trace.workload.launch.arrays if a.role != "input"]
    digest = outputs_digest({name: trace.outputs[name] for name in written})
    assert {RECORD[family]["twin"][build][member.name] for build in BUILDS} == {digest}


@pytest.mark.parametrize("family", ["wrong parity", "block has ended", "box beyond the map"])
def test_what_is_found_fails_on_the_gpu_as_well(family):
    rows, twins = RECORD[family]["faulty"]["as_written"], RECORD[family]["twin"]["as_written"]
    assert rows.keys() == twins.keys() == {member.name for member in FAMILIES[family]}
    assert not [name for name, came in rows.items() if came == twins[name]]
