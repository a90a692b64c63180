"""Atomics: passes and sectors as counted on an H200, closed forms, lane-by-lane references.

`first_1168.npz` holds the scattered launches on which the rule was found (nine tenths of them not
looked at before it was); those of `tests/scattered_set.py` were made and taken afterwards.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from core.recording.record_launch import record
from core.rules import atomics
from tests.scattered_set import ATOMICS, FOLDER, KNOWN_BITS, recorded, scattered_launches, workload

EVERY = np.ones((1, 32), bool)
LANES = np.arange(32)


@pytest.mark.parametrize(
    ("cells", "width", "rounds"),
    [(LANES, 4, 1), (LANES * 0, 4, 32), (LANES // 2, 4, 2), (LANES * 32, 4, 32),
     (LANES, 8, 1), (LANES * 32, 8, 16), (LANES * 0, 8, 32), (LANES % 2 * 32, 8, 17)],
)  # fmt: skip
def test_rounds_of_a_loop(cells, width, rounds) -> None:
    found = atomics.loop(cells[None, :] * width, EVERY, width)
    assert found.rounds == rounds
    assert found.load_wavefronts >= rounds


@pytest.mark.parametrize("better", [np.greater, np.less])
def test_a_maximum_tries_only_where_it_changes_something(better):
    """One cell, 32 lanes that offer 0 to 31: played out lane by lane."""
    generator = np.random.default_rng(4)
    offered = generator.permutation(32)[None, :]
    start = int(generator.integers(8, 24))
    offset, active = np.full((1, 32), 64, np.int64), np.ones((1, 32), bool)
    contest = atomics.Contest(offered, np.full((1, 32), start), better)
    found = atomics.loop(offset, active, 8, contest)
    cell, left, rounds, loads = start, list(range(32)), 0, 0
    while left:
        loads += 1
        left = [lane for lane in left if better(offered[0, lane], cell)]
        if left:
            rounds += 1
            cell = offered[0, left[0]]  # the first half's first lane; the other half comes too late
            left = left[1:]
    assert (found.rounds, found.loads) == (rounds, loads)
    assert rounds >= 2
    assert cell == (31 if better is np.greater else 0)


def test_nobody_tries_what_changes_nothing():
    offset = np.arange(32, dtype=np.int64)[None, :] * 8
    active = np.ones((1, 32), bool)
    contest = atomics.Contest(np.full((1, 32), 3), np.full((1, 32), 3), np.greater)
    found = atomics.loop(offset, active, 8, contest)
    assert (found.rounds, found.wavefronts, found.loads) == (0, 0, 1)


FIRST_CELL = 512  # where the recorded cells began, less a multiple of 2 MiB
ROWS = recorded()["rows"]


def _bit(launch):
    return int(launch.name.split("-")[1]) if launch.name.startswith("bit") else 0


LAUNCHES = [x for x in scattered_launches() if not x.is_copy and _bit(x) < KNOWN_BITS]


def counted(counters):
    """(sectors, passes), whether the atomics counted as reductions or not."""
    return tuple(
        counters.get(f"red_{what}", 0) + counters.get(f"atom_{what}", 0)
        for what in ("sectors", "passes")
    )


@pytest.mark.parametrize("operation", ATOMICS)
def test_passes_and_sectors_are_the_hardwares(operation):
    launches = [x for x in LAUNCHES if x.operation == operation]
    assert len(launches) >= 50
    places = np.stack([x.places for x in launches])
    wanted = [counted(ROWS[x.name]["as_compiled"]) for x in launches]
    address, active = places + FIRST_CELL, places >= 0
    width, swap = launches[0].width, operation.startswith("cas")
    found = atomics.passes(address, active, width, exchange_if_equal=swap)
    assert list(zip(found.sectors.tolist(), found.passes.tolist(), strict=True)) == wanted
    quick = atomics.sectors(address, active, width, exchange_if_equal=swap)
    assert quick.tolist() == found.sectors.tolist()


def test_both_builds_count_the_same():
    both = [x.name for x in LAUNCHES if len(ROWS[x.name]) == 2]
    assert len(both) >= 75
    for name in both:
        assert counted(ROWS[name]["as_written"]) == counted(ROWS[name]["as_compiled"]), name


def test_the_hardwares_counters_do_not_vary():
    again = [x.name for x in LAUNCHES if "-again" in x.name]
    assert len(again) == 36
    for name in again:
        assert ROWS[name]["as_compiled"] == ROWS[name.split("-again")[0]]["as_compiled"]


@pytest.mark.parametrize("operation", ["red32", "atom32", "red64", "exch64", "cas64"])
def test_launches_on_which_the_rule_was_found(operation):
    first = np.load(FOLDER / "first_1168.npz")
    rows = first["operation"] == operation
    places, wanted = first["places"][rows].astype(np.int64), first["counted"][rows]
    found = atomics.passes(
        places, places >= 0, int(operation[-2:]) // 8, exchange_if_equal=operation == "cas64"
    )
    assert len(places) >= 57
    assert np.stack([found.sectors, found.passes, found.lines], axis=1).tolist() == wanted.tolist()


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("operation", ATOMICS)
def test_the_emulator_counts_them_so(operation, kind):
    """The whole way: the array's place in memory, the instruction, and the rule."""
    launches = [x for x in LAUNCHES if x.operation == operation and kind in ROWS[x.name]]
    crowded = [x for x in launches if counted(ROWS[x.name][kind])[1] > 3][:3]
    assert len(crowded) == 3
    for launch in crowded:
        totals = record(workload(launch), kind=kind, blocks=[0], checks=False).counters.totals
        found = totals["global_atom_sectors"].value + totals["global_red_sectors"].value
        assert found == counted(ROWS[launch.name][kind])[0], launch.name


@pytest.mark.parametrize(
    ("cells", "want"), [(LANES, 4), (LANES * 0, 32), (LANES // 2, 4), (LANES * 8, 32)]
)
def test_sectors_of_closed_forms(cells, want) -> None:
    assert atomics.sectors(cells[None, :] * 4, EVERY, 4).tolist() == [want]


@pytest.mark.parametrize("swap", [False, True])
def test_the_short_way_equals_the_passes(swap):
    rng = np.random.default_rng(5)
    for cells in (40, 100, 400, 4000):
        address = rng.integers(0, cells, (60, 32)) * 8
        active = rng.random((60, 32)) < 0.8
        found = atomics.passes(address, active, 8, exchange_if_equal=swap)
        short = atomics.sectors(address, active, 8, exchange_if_equal=swap)
        assert short.tolist() == found.sectors.tolist()


def test_cells_of_one_line_take_as_many_sectors_as_the_busiest_cell_has_lanes() -> None:
    rng = np.random.default_rng(6)
    cells = rng.integers(0, 32, (40, 32))
    active = rng.random((40, 32)) < 0.7
    found = atomics.sectors(cells * 4, active, 4)
    for row, mask, got in zip(cells, active, found, strict=True):
        busiest: Counter[int] = Counter()
        for cell, lanes in Counter(row[mask].tolist()).items():
            busiest[cell // 8] = max(busiest[cell // 8], lanes)
        assert got == busiest.total()
