"""Shared atomics and joined loads: closed forms, lane-by-lane references."""

from __future__ import annotations

import numpy as np
import pytest

from core.assembler.wide_shared_loads import wide_loads
from core.ptx.parser import parse
from core.rules import atomics

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
