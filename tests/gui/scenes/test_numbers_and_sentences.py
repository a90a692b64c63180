"""Numbers, elements and sentences as the window writes them."""

import numpy as np
import pytest

from core.trace import Array
from core.wording import listing
from gui.scenes.names_of_elements_and_threads import element_name, elements_name, span_name
from gui.scenes.numbers_and_sentences import (
    compact,
    decimals_of,
    in_window,
    numbers_name,
    percent,
    plural,
    ratio,
    spaced,
    value_text,
    variable_text,
)
from gui.scenes.shortened_names import told_apart


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (9999, "9999"), (10_000, "10.0k"), (123_456, "123k"), (2_500_000, "2.50M")],
)
def test_compact(value, text):
    assert compact(value) == text
    assert len(compact(value)) <= 5


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("(7,680 accesses like it.)", "(7\u202f680 accesses like it.)"),
        ("5 x 3,072 = 15,360 of 1,234,567", "5 × 3\u202f072 = 15\u202f360 of 1\u202f234\u202f567"),
        ("0.25 FLOP/B; x 4,814.3 GB/s", "0.25 FLOP/B; × 4\u202f814.3 GB/s"),
        ("8,303.7 GFLOPS, then 1,024.", "8\u202f303.7 GFLOPS, then 1\u202f024."),
        *((same, same) for same in ("A[0,128] and A[0, 128]", "`64,128` is not a size", "x=1,128")),
        *((same, same) for same in ("0.1,234", "blocks 12,3456", "/tmp/1,234.cu", "(0, 128)")),
    ],
)
def test_sentences_of_the_core_get_the_windows_spaces(said, shown):
    assert spaced(said) == shown


def test_small_words():
    assert plural(1, "sector") == "1 sector"
    assert plural(2112, "sector") == "2\u202f112 sectors"
    assert ratio(33, 4) == "×8.25"
    assert ratio(5, 0) == ""
    assert listing(["A", "B", "C"]) == "A, B and C"
    assert variable_text(np.float32(1.5)) == "1.5"
    assert variable_text(3.0) == "3.0"
    assert variable_text(None) == "–"
    assert variable_text(float("nan")) == "nan"


def test_addresses_are_written_as_such():
    assert variable_text(1099511627776, "float (*)[8][36]") == "0x10000000000"
    assert variable_text(1099511627776, "const float *") == "0x10000000000"


def test_long_names_differ_where_they_are_cut():
    names = [
        "first_input_matrix", "third_input_matrix", "transposed_input_matrix_a_of_the_model",
        "transposed_input_matrix_b_of_the_model", "n", "left.inner.x", "left.inner.y",
    ]  # fmt: skip
    for room in (9, 11, 14):
        shown = told_apart(names, len, room)
        assert len(set(shown.values())) == len(names)
        assert all(len(text) <= room for text in shown.values())
        assert shown["n"] == "n"
    assert told_apart(["short", "input_matrix_of_a"], len, 9) == {
        "short": "short",
        "input_matrix_of_a": "inpu…of_a",
    }


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("`a` is not a number: type digits alone.", "“a” is not a number: type digits alone."),
        ("At k = 0, ty == 1", "At k\u00a0=\u00a00, ty == 1"),
        ("C[0, 0] of thread (14, 3)", "C[0,\u00a00] of thread (14,\u00a03)"),
        ("A[0..15, 0..30 by 2], 1,024 x 2", "A[0..15,\u00a00..30\u00a0by\u00a02], 1\u202f024 × 2"),
        ("tile[row, col] (see line 3) `64,128`", "tile[row, col] (see line 3) “64,128”"),
    ],
)
def test_a_mistake_is_written_as_the_window_writes(sentence, shown):
    assert in_window(sentence) == shown


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
