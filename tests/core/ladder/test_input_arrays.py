"""What a rung's arrays hold: random numbers, small whole ones, or each element's place."""

import numpy as np
import pytest

from core.gpu.result_check import check
from core.ladder import load_ladder
from core.ladder.input_arrays import INPUTS, places, random_array, small_integers
from core.recording.record_launch import record
from core.user_files.argument_texts import FILLS

DTYPES = ("float16", "float32", "float64", "int8", "uint8", "int32", "uint64", "bool")


def maker():
    return np.random.default_rng(3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_integers_are_one_to_nine_and_asymmetric(dtype):
    made = small_integers(maker(), dtype, (40, 40))
    assert (made.dtype, made.shape) == (np.dtype(dtype), (40, 40))
    if dtype == "bool":
        assert set(made.ravel().tolist()) == {False, True}
        return
    assert set(made.ravel().tolist()) == set(range(1, 10))
    assert (made != made.T).any()


@pytest.mark.parametrize(("columns", "shift"), [(4, 10), (10, 10), (11, 100), (100, 100)])
def test_a_place_is_row_point_column(columns, shift):
    made = places(maker(), "float32", (13, columns))
    for row in (0, 3, 12):
        for column in {0, 2, columns - 1}:
            assert made[row, column] == np.float32(row + column / shift)
    assert len(np.unique(made)) == made.size
    whole = places(maker(), "int32", (13, columns))
    assert whole[12, 3] == 12 * shift + 3
    assert len(np.unique(whole)) == whole.size


def test_places_in_one_dimension_and_in_three():
    assert places(maker(), "float32", (5,)).tolist() == [0, 1, 2, 3, 4]
    assert places(maker(), "int8", (300,))[130] == np.arange(300).astype(np.int8)[130]
    made = places(maker(), "float64", (2, 3, 4))
    assert made[1, 2, 3] == 5.3


def test_by_default_they_are_the_random_numbers_that_they_were():
    rung = load_ladder()["tiled"]
    generator = np.random.default_rng(7)
    wanted = [random_array(generator, "float32", (8, 8)) for _ in "AB"]
    for workload in (rung.workload(n=8, tile=4), rung.workload_of("random", n=8, tile=4)):
        arrays = {array.name: array.data for array in workload.launch.arrays}
        assert np.array_equal(arrays["A"], wanted[0])
        assert np.array_equal(arrays["B"], wanted[1])
        assert np.isnan(arrays["C"]).all()  # what the kernel leaves out is seen


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize(
    ("name", "sizes"),
    [("tiled", {"n": 8, "tile": 4}), ("tiled_rect", {"m": 5, "k": 11, "n": 9, "tile": 4})],
)
def test_results_are_checked_against_numpy_whatever_the_inputs(inputs, name, sizes):
    workload = load_ladder()[name].workload_of(inputs, **sizes)
    trace = record(workload)
    (result,) = check(workload, trace.outputs)
    assert result.ok
    arrays = {array.name: array.data for array in workload.launch.arrays}
    truth = arrays["A"].astype(float) @ arrays["B"].astype(float)
    assert np.allclose(trace.outputs["C"], truth, rtol=1e-5)
    if inputs == "small":
        assert np.array_equal(trace.outputs["C"], truth)  # sums of whole numbers are exact
    wrong = {"C": trace.outputs["C"] + np.float32(0.5)}
    assert not check(workload, wrong)[0].ok


def test_arrays_of_other_kernels_can_hold_the_same():
    assert set(INPUTS) <= set(FILLS)
