"""Where masked-off threads would have gone, from the places of the others."""

from dataclasses import replace

import numpy as np
import pytest

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.scenes.arrays_as_grids import grids_of
from gui.scenes.masked_off_threads import Guards, guards_of, zero_filled
from gui.scenes.matrices import matrix_scene
from gui.scenes.room_beyond_arrays import Reach, Reaches
from tests.gui.fake_kernels import simple, tiled, vector_add


def loads(block, name):
    return [
        s
        for s in range(block.n_steps)
        if (a := block.access(s)) is not None and a.array.name == name
    ]


def outside(trace, block, name, number):
    record, guards = trace.block(block), Guards(trace)
    grids = grids_of(trace)
    step = loads(record, name)[number]
    scene = matrix_scene(record, grids, step, 0, guards)
    at = next(i for i, g in enumerate(grids) if g.array.name == name)
    rows, columns = scene.marks[at].outside
    return sorted(zip(rows.tolist(), columns.tolist(), strict=True))


def test_the_last_tile_reaches_beyond_a():
    trace = tiled(5, 7, 3, 4)  # A is 5 x 7: phase 1 needs column 7, block (0, 1) rows 5 to 7
    assert outside(trace, 0, "A", 1) == [(r, 7) for r in range(4)]
    assert outside(trace, 1, "A", 0) == [(r, c) for r in (5, 6, 7) for c in range(4)]
    corner = {(r, c) for r in (5, 6, 7) for c in range(4, 8)} | {(4, 7)}
    assert set(outside(trace, 1, "A", 1)) == corner
    assert outside(trace, 0, "A", 0) == []


def test_threads_beyond_the_matrix_put_zeros_into_the_tile():
    ladder = load_ladder()
    trace = record(ladder["tiled_rect"].workload(m=5, k=7, n=6, tile=4), blocks="all")
    block, guards, grids = trace.block(0), Guards(trace), grids_of(trace)
    first, second = loads(block, "A")
    scene = matrix_scene(block, grids, second, 0, guards)
    assert scene.marks[0].filled
    assert sorted(scene.marks[0].outside[1].tolist()) == [7, 7, 7, 7]
    assert "; 4 masked off, 0 in their place; " in scene.caption
    scene = matrix_scene(block, grids, first, 0, guards)
    assert not scene.marks[0].filled
    stores = loads(trace.block(trace.recorded_blocks[-1]), "C")
    scene = matrix_scene(trace.block(trace.recorded_blocks[-1]), grids, stores[0], 0, guards)
    assert not scene.marks[2].filled
    assert "masked off" in scene.caption
    broken = record(ladder["coalesced"].workload(n=6, block_x=4, block_y=4), blocks="all")
    last = broken.block(broken.recorded_blocks[-1])
    assert not zero_filled(last, last.access(loads(last, "A")[0]))


def test_both_mappings():
    for coalesced in (True, False):
        trace = simple(5, 9, 6, (4, 4), coalesced=coalesced)
        last = trace.recorded_blocks[-1]
        beyond = outside(trace, last, "C", 0)
        assert set(beyond) == {(r, c) for r in range(4, 8) for c in range(4, 8)} - {(4, 4), (4, 5)}


def test_one_dimension():
    trace = vector_add(100, 64)
    width = grids_of(trace)[0].columns
    assert outside(trace, 1, "x", 0) == [divmod(i, width) for i in range(100, 128)]


def test_overhang_is_that_of_the_last_block():
    trace = tiled(5, 7, 3, 4)
    reaches = Reaches(trace)
    assert [reaches.roomy(g).overhang for g in grids_of(trace)] == [(3, 1), (1, 1), (3, 1)]
    assert all(reaches.roomy(g).before == (0, 0) for g in grids_of(trace))
    exact = tiled(8, 8, 8, 4)
    assert all(Reaches(exact).masked(g) == Reach() for g in grids_of(exact))


def test_an_irregular_access_has_no_places():
    trace = tiled(5, 7, 3, 4)
    record, grid = trace.block(1), grids_of(trace)[0]
    access = record.access(loads(record, "A")[0])
    rng = np.random.default_rng(2)
    scattered = access.addresses.copy()
    scattered[access.active] = grid.array.base + 4 * rng.permutation(35)[: access.active.sum()]
    assert Guards(trace).outside(record, grid, replace(access, addresses=scattered)) is None


AWKWARD = [  # a rung, awkward sizes, and sizes with as many blocks and phases that no guard cuts
    ("coalesced", {"n": 6, "block_x": 4, "block_y": 4}, {"n": 8}),
    ("tiled_bounds", {"n": 3, "tile": 2}, {"n": 4}),
    ("transpose_tiled", {"m": 5, "n": 7, "tile": 4}, {"m": 8, "n": 8}),
    ("tile_2d", {"m": 35, "k": 11, "n": 37}, {"m": 64, "k": 16, "n": 64}),
    ("conflict_free", {"m": 70, "k": 12, "n": 40}, {"m": 128, "k": 16, "n": 64}),
    ("warp_tiled", {"m": 70, "k": 12, "n": 40}, {"m": 128, "k": 16, "n": 64}),
    ("tensor_core", {"m": 35, "k": 36, "n": 36}, {"m": 64, "k": 64, "n": 64}),
]


def cells(grid, elements):
    return np.stack(grid.cells(np.asarray(elements)), axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(("rung", "sizes", "whole"), AWKWARD, ids=[row[0] for row in AWKWARD])
def test_masked_threads_are_where_a_larger_launch_has_them(rung, sizes, whole):
    """Whatever the mapping: threads of a block go where they go when nothing masks them off."""
    made = load_ladder()[rung]
    cut = record(made.workload(**sizes), blocks="all")
    full = record(made.workload(**{**sizes, **whole}), blocks="all")
    guards, compared = Guards(cut), 0
    for number in cut.recorded_blocks:
        block, other = cut.block(number), full.block(number)
        there = [other.access(int(s)) for s in other.access_steps]
        for step in block.access_steps.tolist():
            access = block.access(step)
            live = access.active[: block.n_threads]
            if access.space != "global" or live.all():
                continue
            at = next(i for i, g in enumerate(grids_of(cut)) if g.array is access.array)
            grid, larger = grids_of(cut)[at], grids_of(full)[at]
            found = guards.masked(block, grid, access)
            assert found is not None
            places = cells(grid, access.elements[: block.n_threads][live])
            same = [
                cells(larger, a.elements[: block.n_threads][~live])
                for a in there
                if a.array is larger.array
                and a.line == access.line
                and (a.elements[: block.n_threads] >= 0).all()
                and np.array_equal(cells(larger, a.elements[: block.n_threads][live]), places)
            ]
            assert not same or any(np.array_equal(found, true) for true in same)
            compared += len(found) if same else 0
    assert compared > 30


@pytest.mark.slow
def test_places_that_do_not_follow_are_said_to_be_unknown():
    """`tuned` reads the last row again for the rows beyond it: no line goes through its threads."""
    trace = record(load_ladder()["tuned"].workload(m=35, k=12, n=36), blocks="all")
    last, guards, grids = trace.block(trace.recorded_blocks[-1]), guards_of(trace), grids_of(trace)
    said = 0
    for step in last.access_steps.tolist():
        access = last.access(step)
        if access.space == "global" and not access.active[: last.n_threads].all():
            grid = next(g for g in grids if g.array is access.array)
            caption = matrix_scene(last, grids, step, 0, guards).caption
            unknown = guards.masked(last, grid, access) is None
            assert ("(their places are not in the record)" in caption) == unknown
            said += unknown
    assert said
