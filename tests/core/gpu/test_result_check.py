from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from core.gpu import result_check as check_module
from core.gpu.result_check import check, dot_product_bound
from core.launch import ArrayArgument, Dim3, Launch, MatrixLayout, Workload


def product(m=37, k=53, n=29, seed=3, transposed=False):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((m, k), dtype=np.float32)
    b = rng.standard_normal((m, k) if transposed else (k, n), dtype=np.float32)
    if transposed:
        b, n = a, m
    c = np.full((m, n), np.nan, dtype=np.float32)
    arrays = [ArrayArgument("A", a), ArrayArgument("C", c, "output")]
    if not transposed:
        arrays.insert(1, ArrayArgument("B", b))
    top = b.T if transposed else b
    return Workload(
        title="product",
        source="",
        source_name="p.cu",
        kernel="p",
        launch=Launch(Dim3(1), Dim3(1), tuple(arrays)),
        layout=MatrixLayout("A", "A" if transposed else "B", "C", transposed),
        expected=lambda: MappingProxyType({"C": a.astype(np.float64) @ top.astype(np.float64)}),
    )


def in_float32(workload):
    arrays = {a.name: a.data for a in workload.launch.arrays}
    top = arrays[workload.layout.top]
    return arrays["A"] @ (top.T if workload.layout.top_transposed else top)


@pytest.mark.parametrize("transposed", [False, True])
def test_float32_rounding_passes(transposed):
    workload = product(transposed=transposed)
    (result,) = check(workload, {"C": in_float32(workload)})
    assert result.ok
    assert 0 < result.max_error < result.tolerance
    assert result.rows_checked == result.rows == 37


def sequential_sum(a, b):
    """Sums in order of k in float32, the way a kernel does: the worst usual order."""
    total = np.zeros((a.shape[0], b.shape[1]), dtype=np.float32)
    for k in range(a.shape[1]):
        total += a[:, k, None] * b[None, k, :]
    return total


@pytest.mark.parametrize("positive", [False, True])
def test_a_long_sequential_sum_passes(positive):
    workload = product(m=20, k=4096, n=30)
    arrays = {a.name: a.data for a in workload.launch.arrays}
    a, b = arrays["A"], arrays["B"]
    if positive:  # all terms of one sign: the rounding errors are largest
        a, b = np.abs(a), np.abs(b)
        launch = replace(
            workload.launch,
            arguments=(ArrayArgument("A", a), ArrayArgument("B", b), workload.launch.arguments[2]),
        )
        truth = a.astype(np.float64) @ b.astype(np.float64)
        workload = replace(workload, launch=launch, expected=lambda: {"C": truth})
    (result,) = check(workload, {"C": sequential_sum(a, b)})
    assert result.ok


@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: c.__setitem__((3, 4), np.nan),
        lambda c: c.__setitem__((3, 4), np.inf),
        lambda c: c.__setitem__((3, 4), c[3, 4] + 0.01),
        lambda c: c.__setitem__((slice(None), slice(None)), c[::-1]),
        lambda c: c.fill(0),
    ],
)
def test_wrong_results_fail(spoil):
    workload = product()
    wrong = in_float32(workload).copy()
    spoil(wrong)
    (result,) = check(workload, {"C": wrong})
    assert not result.ok


def test_a_forgotten_term_fails():
    workload = product()
    arrays = {a.name: a.data for a in workload.launch.arrays}
    (result,) = check(workload, {"C": arrays["A"][:, :-1] @ arrays["B"][:-1]})
    assert not result.ok
    assert result.unwritten == 0


def test_unwritten_elements_are_counted_even_outside_the_sampled_rows(monkeypatch):
    monkeypatch.setattr(check_module, "_WHOLE_FLOPS", 0)
    monkeypatch.setattr(check_module, "_SAMPLED_ROWS", 8)
    workload = product()
    right = in_float32(workload)
    (result,) = check(workload, {"C": right}, seed=1)
    assert result.ok
    assert (result.rows_checked, result.rows) == (8, 37)
    assert "8 random rows" in result.method
    for row in range(37):
        wrong = right.copy()
        wrong[row, 2] = np.nan
        (result,) = check(workload, {"C": wrong}, seed=1)
        assert not result.ok
        assert result.unwritten == 1
    wrong = right.copy()
    wrong[[0, -1], 0] += 1  # the first and the last row are always among the sampled
    (result,) = check(workload, {"C": wrong}, seed=5)
    assert not result.ok


def test_bound_is_the_smaller_of_the_certain_and_the_likely():
    u = 2.0**-24
    assert dot_product_bound(1, u) == pytest.approx(u, rel=1e-6)
    assert dot_product_bound(16, u) == pytest.approx(16 * u, rel=1e-4)
    assert dot_product_bound(4096, u) == pytest.approx(8 * 64 * u, rel=1e-3)
    assert dot_product_bound(7, 0.0) == 0.0


def test_no_truth_no_check():
    assert check(replace(product(), expected=None), {"C": np.zeros((37, 29), np.float32)}) == ()


@pytest.mark.parametrize(("dtype", "step"), [(np.float32, 1e-5), (np.int32, 1), (np.uint8, 1)])
def test_elementwise_outputs(dtype, step):
    truth = np.arange(1.0, 101.0)
    workload = replace(product(), layout=None, expected=lambda: {"y": truth})
    right = truth.astype(dtype)
    assert check(workload, {"y": right})[0].ok
    wrong = right.copy()
    wrong[0] += dtype(step * 100) if dtype is np.float32 else dtype(step)
    assert not check(workload, {"y": wrong})[0].ok
