"""Names of elements, sets of elements, lanes and shares."""

import numpy as np
import pytest

from core.trace import Array
from gui.scenes.text import (
    decimals_of,
    element_name,
    elements_name,
    numbers_name,
    percent,
    span_name,
    value_text,
)

A = Array("A", 0x7F0000000000, (40, 24), np.dtype(np.float32))
X = Array("x", 0x7F0000000000, (1000,), np.dtype(np.float32))


def flats(rows, columns):
    return np.array([r * 24 + c for r in rows for c in columns], np.int64)


@pytest.mark.parametrize(
    ("elements", "name"),
    [
        (flats(range(32), [4]), "A[0..31, 4]"),
        (flats([3], range(8, 16)), "A[3, 8..15]"),
        (flats(range(2), range(16)), "A[0..1, 0..15]"),
        (flats([5], [7]), "A[5, 7]"),
        (flats(range(0, 31, 3), [0]), "A[0..30 by 3, 0]"),
        (flats([1, 9], [2]), "A[1 and 9, 2]"),
        (np.array([0, 1, 24], np.int64), "3 elements of A[0..1, 0..1]"),
        (np.array([-1, 6, -1, 6], np.int64), "A[0, 6]"),
        (np.array([-1, -1], np.int64), "nothing of A"),
    ],
)
def test_sets_of_elements(elements, name):
    assert elements_name(A, elements) == name


def test_elements_next_to_each_other():
    assert span_name(A, 24, 47) == "A[1, 0..23]"
    assert span_name(A, 20, 30) == "A[0, 20] … [1, 6]"
    assert span_name(X, 32, 63) == "x[32..63]"
    assert element_name(X, 7) == "x[7]"


def test_lanes():
    assert numbers_name([5]) == "5"
    assert numbers_name(list(range(16))) == "0–15"
    assert numbers_name([0, 1, 4, 5, 6]) == "0, 1, 4–6"
    assert numbers_name(list(range(0, 32, 2))) == "0, 2, 4 … 30"


def test_values_and_shares():
    assert value_text(-0.2512) == "−0.25"
    assert value_text(12.5) == "12.5"
    assert value_text(float(np.float32(12.03))) == "12.03"
    assert value_text(12.0312) == "12.0"
    assert [value_text(v) for v in (5.0, -3.0, 1234.0)] == ["5", "−3", "1234"]
    assert value_text(0.0) == "0.00"
    assert value_text(3.2) == "3.20"
    assert value_text(-1.0, decimals=1) == "−1.0"
    assert value_text(float("nan")) == "NaN"
    assert value_text(-3) == "−3"
    assert percent(4, 32) == "12.5 %"
    assert percent(4, 4) == "100 %"
    assert percent(0, 0) == "–"


def test_decimals_that_say_a_whole_array():
    small, places = np.arange(1, 10), np.add.outer(np.arange(4), np.arange(4) / 10)
    for dtype in ("float16", "float32", "float64"):
        assert decimals_of(small.astype(dtype)) == 0
        assert decimals_of(places.astype(dtype)) == 1
    assert decimals_of(np.float32([12.03, 5])) == 2
    assert decimals_of(np.float32([12.03, 5]), digits=2) is None  # its cells are too small
    assert decimals_of(np.float32([0.1234, 5])) is None
    assert decimals_of(np.float32([np.nan, 5])) is None
    assert decimals_of(np.zeros(3)) is None
    assert decimals_of(small) is None  # integers have none anyway
