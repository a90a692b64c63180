"""Atomics and joined loads: closed forms and lane-by-lane references (hardware: test_reference)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from core.analysis import atomics
from core.analysis.wide_loads import wide_loads
from core.ptx.parser import parse

EVERY = np.ones((1, 32), bool)
LANES = np.arange(32)


@pytest.mark.parametrize(
    ("cells", "want"), [(LANES, 4), (LANES * 0, 32), (LANES // 2, 4), (LANES * 8, 32)]
)
def test_sectors_of_closed_forms(cells, want) -> None:
    assert atomics.sectors(cells[None, :] * 4, EVERY).tolist() == [want]


def test_sectors_of_random_cells_are_the_busiest_cells_lanes() -> None:
    rng = np.random.default_rng(5)
    cells = rng.integers(0, 60, (40, 32))
    active = rng.random((40, 32)) < 0.7
    for row, mask, got in zip(cells, active, atomics.sectors(cells * 4, active), strict=True):
        busiest: Counter[int] = Counter()
        for cell, lanes in Counter(row[mask].tolist()).items():
            busiest[cell // 8] = max(busiest[cell // 8], lanes)
        assert got == busiest.total()


@pytest.mark.parametrize(
    ("cells", "width", "rounds"),
    [(LANES, 4, 1), (LANES * 0, 4, 32), (LANES // 2, 4, 2), (LANES * 32, 4, 32),
     (LANES, 8, 1), (LANES * 32, 8, 16), (LANES * 0, 8, 32), (LANES % 2 * 32, 8, 17)],
)  # fmt: skip
def test_rounds_of_a_loop(cells, width, rounds) -> None:
    found = atomics.loop(cells[None, :] * width, EVERY, width)
    assert found.rounds == rounds
    assert found.load_wavefronts >= rounds


PTX = """
.version 8.0
.target sm_90{debug}
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .reg .b32 %r<4>;
    .reg .f32 %f<9>;
    .shared .align 4 .b8 s[1024];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, s;
    mad.lo.s32 %r3, %r1, {stride}, %r2;
    ld.shared.f32 %f1, [%r3+4];
    ld.shared.f32 %f2, [%r3];
    {between}
    ld.shared.f32 %f3, [%r3+12];
    ld.shared.f32 %f4, [%r3+16];
    ret;
}}
"""


@pytest.mark.parametrize(
    ("stride", "between", "debug", "want"),
    [
        (32, "", "", [(16, -4, 2)]),
        (8, "", "", [(8, -4, 1)]),
        (20, "", "", []),
        (32, "bar.sync 0;", "", [(8, -4, 1)]),
        (32, "st.shared.f32 [%r2], %f1;", "", [(8, -4, 1)]),
        (32, "", ", debug", []),
    ],
)
def test_loads_that_are_joined(stride, between, debug, want) -> None:
    module = parse(PTX.format(stride=stride, between=between, debug=debug))
    found = [(w.width, w.shift, len(w.others)) for w in wide_loads(module).values()]
    assert found == want


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
