"""The safe evaluator takes what its docstring lists and nothing else."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import TilescopeError
from core.ladder.expressions import IntExpression, MatrixExpression, fill_in


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("n // tile * tile", 12),
        ("ceil_div(n, tile)", 4),
        ("ceil_div(n, tile) * tile - n", 3),
        ("-n + 2", -11),
        ("n % tile == 0", 0),
        ("1 < n <= 13", 1),
        ("min(n, tile) + max(n, tile)", 17),
        ("n > 100 or not n % 13", 1),
        ("n > 100 and n % 13", 0),
    ],
)
def test_whole_numbers(text, value):
    assert IntExpression(text).evaluate({"n": 13, "tile": 4}) == value


@given(st.integers(0, 10**6), st.integers(1, 4096))
def test_ceil_div_is_the_least_count_that_covers(n, tile):
    count = IntExpression("ceil_div(n, t)").evaluate({"n": n, "t": tile})
    assert count * tile >= n
    assert (count - 1) * tile < n


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "n.real",
        "n ** 9",
        "n / 2",
        "1.5",
        "True",
        "'a'",
        "[n]",
        "lambda: n",
        "n if n else 1",
        "open(n, n)",
        "min(n)",
        "ceil_div(n, 2, 3)",
        "max(n, key=n)",
        "n +",
        "",
        "n; n",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(TilescopeError, match="expression"):
        IntExpression(text)


def test_names_and_errors():
    expression = IntExpression("ceil_div(n, tile) + 1")
    assert expression.names == {"n", "tile"}
    with pytest.raises(TilescopeError, match="unknown name tile; known are n"):
        expression.evaluate({"n": 3})
    with pytest.raises(TilescopeError, match="divides by zero"):
        expression.evaluate({"n": 3, "tile": 0})


def test_matrices_are_computed_in_float64():
    generator = np.random.default_rng(1)
    a = generator.random((3, 5), dtype=np.float32)
    b = generator.random((7, 5), dtype=np.float32)
    result = MatrixExpression("A @ B.T - A @ B.T + A @ B.T").evaluate({"A": a, "B": b})
    assert result.dtype == np.float64
    assert np.array_equal(result, a.astype(np.float64) @ b.astype(np.float64).T)


@pytest.mark.parametrize(
    "text",
    ["A.dot(B)", "A ** B", "A.shape", "A[0]", "A[1:, 0]", "A[x.y:]", "A[[1]]", "2 * A", "A @"],
)
def test_other_matrix_syntax_is_refused(text):
    with pytest.raises(TilescopeError):
        MatrixExpression(text)


def test_slices_take_whole_number_expressions():
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    values = {"offset": 1, "stride": 2}
    for text, wanted in {
        "A[offset:]": a[1:],
        "A[:, ::stride]": a[:, ::2],
        "A[:2 * offset + 1, -stride:]": a[:3, -2:],
        "(A + A)[offset:].T": (a + a)[1:].T,
    }.items():
        assert np.array_equal(MatrixExpression(text).evaluate({"A": a}, values), wanted), text
    with pytest.raises(TilescopeError, match="unknown name stride; known are A"):
        MatrixExpression("A[::stride]").evaluate({"A": a})


def test_unknown_matrix():
    with pytest.raises(TilescopeError, match="unknown name B"):
        MatrixExpression("A @ B").evaluate({"A": np.eye(2)})


def test_sentences_are_filled_in():
    assert fill_in("use {n // 4 * 4} or {n}", {"n": 10}) == "use 8 or 10"


@pytest.mark.parametrize("n", [3, 5, 7, 12])
def test_several_comparisons_in_a_row_hold_together(n):
    chain = IntExpression("3 < n <= 7 != n")
    assert chain.evaluate({"n": n}) == (3 < n <= 7 != n)


def test_what_decides_is_found_before_the_rest_is_worked_out():
    assert IntExpression("n == 0 or 8 // n > 1").evaluate({"n": 0}) == 1
    assert IntExpression("n != 0 and 8 // n > 1").evaluate({"n": 0}) == 0


def test_an_expression_can_go_to_another_process():
    sent = pickle.loads(pickle.dumps(IntExpression("ceil_div(n, tile) * -2")))
    assert sent == IntExpression("ceil_div(n, tile) * -2")
    assert sent.evaluate({"n": 9, "tile": 4}) == -6
