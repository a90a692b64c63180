"""Words and numbers as the window writes them."""

import numpy as np
import pytest

from gui.scenes.text import (
    compact,
    in_window,
    join,
    plural,
    ratio,
    spaced,
    told_apart,
    variable_text,
)


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
    assert join(["A", "B", "C"]) == "A, B and C"
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
