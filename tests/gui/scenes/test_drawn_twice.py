"""C = A Aᵀ: what a load touches is seen in both drawings of A, and the mapping can be switched."""

import numpy as np
import pytest

from core.ladder import all_kernels, load_ladder
from core.recording.record_launch import record
from core.trace.step_names import step_named
from gui.scenes.grids import grids_of
from gui.scenes.launch_differences import outcome
from gui.scenes.matrices import matrix_scene
from gui.scenes.paired_sessions import counterpart
from gui.scenes.session_values import Configuration


@pytest.fixture(scope="module")
def strided():
    return record(all_kernels()["aat_strided"].workload(n=12, block_x=4, block_y=2))


def marks_at(trace, block, name):
    shown = trace.block(block)
    grids = grids_of(trace)
    step = step_named(shown, name)
    return shown.access(step), matrix_scene(shown, grids, step, 0).marks[:2]


def test_the_column_of_a_that_is_a_row_of_its_transpose_is_lit_in_both(strided):
    access, (left, top) = marks_at(strided, 4, "load:A@phase0#2")
    touched = np.unique(access.elements[access.active])
    assert np.array_equal(top.lit, touched)
    assert not len(top.echo)
    assert np.array_equal(left.echo, touched)
    assert not len(left.lit)
    assert len(np.unique(touched // 12)) == 4  # a column of A: one element in each of four rows


def test_the_other_load_is_lit_the_other_way_round(strided):
    access, (left, top) = marks_at(strided, 4, "load:A@phase0")
    touched = np.unique(access.elements[access.active])
    assert np.array_equal(left.lit, touched)
    assert np.array_equal(top.echo, touched)


def test_a_product_of_two_arrays_has_no_echo():
    trace = record(all_kernels()["tiled"].workload(n=8, tile=4))
    _, marks = marks_at(trace, 1, "load:A")
    assert not any(len(mark.echo) for mark in marks)


def test_the_mapping_of_the_strided_product_can_be_switched():
    kernels = all_kernels()
    strided, rows = kernels["aat_strided"], kernels["aat_strided_rows"]
    assert strided.mapping.other == rows.name
    assert rows.mapping.other == strided.name
    assert {strided.mapping.x, rows.mapping.x} == {"columns", "rows"}
    assert load_ladder()["aat_strided"].mapping is None
    other = counterpart(Configuration("aat_strided", dict(strided.defaults)), kernels)
    assert other.rung == rows.name


def test_no_mapping_suits_both_factors():
    kernels = all_kernels()
    for name in ("aat_strided", "aat_strided_rows"):
        trace = record(kernels[name].workload(n=32, block_x=32, block_y=4))
        block = trace.block(0)
        steps = [step_named(block, f"load:A@phase3#{n}") for n in (1, 2)]
        assert sorted(int(block.access(s).warp_sectors[0]) for s in steps) == [1, 32]
        assert outcome(trace).right
