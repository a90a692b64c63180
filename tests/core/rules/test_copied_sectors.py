"""Asynchronous copies: sectors as counted on an H200, by the rule and by the whole emulator."""

import numpy as np
import pytest

from core.recording.record_launch import record
from core.rules import global_memory
from tests.scattered_set import COPIES, recorded, scattered_launches, workload

ROWS = recorded()["rows"]
LAUNCHES = [x for x in scattered_launches() if x.is_copy]


@pytest.mark.parametrize("operation", COPIES)
def test_sectors_and_requests_are_the_hardwares(operation):
    launches = [x for x in LAUNCHES if x.operation == operation]
    source, target, given = (
        np.stack([getattr(x, name) for x in launches]) for name in ("places", "target", "given")
    )
    active = (source >= 0) & (given > 0)
    found = global_memory.copied_sectors(source, target, active, past_l1=operation == "cg16")
    for launch, sectors, live in zip(launches, found.tolist(), active.any(axis=1), strict=True):
        for build, counters in ROWS[launch.name].items():
            assert counters.get("sectors", 0) == sectors, (launch.name, build)
            assert counters.get("requests", 0) == int(live), (launch.name, build)


def test_the_two_rules_differ():
    rows = [x for x in LAUNCHES if x.operation == "cg16"]
    plain = [len(np.unique(x.places[(x.places >= 0) & (x.given > 0)] // 32)) for x in rows]
    differing = sum(
        n != ROWS[x.name]["as_compiled"].get("sectors", 0) for n, x in zip(plain, rows, strict=True)
    )
    assert differing > len(rows) / 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("operation", COPIES)
def test_the_emulator_counts_them_so(operation, kind):
    launches = [x for x in LAUNCHES if x.operation == operation and kind in ROWS[x.name]]
    for launch in launches[:4]:
        totals = record(workload(launch), kind=kind, blocks=[0], checks=False).counters.totals
        own = 3 * 4  # the kernel's three arrays of places
        counters = ROWS[launch.name][kind]
        assert totals["global_ld_sectors"].value - own == counters.get("sectors", 0), launch.name
        assert totals["global_ld_requests"].value - 3 == counters.get("requests", 0), launch.name
