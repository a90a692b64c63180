"""Is the GPU's result right? Compared with float64 NumPy, so that NaN and unwritten elements fail.

The tolerance of a dot product of K float32 terms is the smaller of two bounds on
`|computed - true| <= g * sum |a_k| |b_k|`, valid for any order of summation, fused or not:
`g = K u / (1 - K u)` always (N. J. Higham, Accuracy and Stability of Numerical Algorithms, section
3.1), and `g = exp(c sqrt(K) u + K u^2 / (1 - u)) - 1` with probability at least
`1 - 2 exp(-c^2 (1 - u)^2 / 2)` (Higham & Mary, SIAM J. Sci. Comput. 41(5), 2019, A2815; c = 8 here:
wrong once in 10^14). u is the unit roundoff, 2^-24. The sum is bounded by the product of the row's
and the column's Euclidean norms (Cauchy and Schwarz), which costs no second matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.launch import Arithmetic, MatrixLayout, Workload

TF32_CUT = 2.0**-10
_CONFIDENCE = 8.0
# Up to this many operations every element is compared: a second or less of float64 BLAS.
_WHOLE_FLOPS = 2 * 2048**3
# Beyond, this many rows of C are, the first and the last among them.
_SAMPLED_ROWS = 256

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Check:
    """The outcome for one output array. Errors are absolute; None where not a finite number."""

    array: str
    ok: bool
    max_error: float | None
    tolerance: float  # at the element that comes nearest to its own tolerance, or exceeds it most
    rows_checked: int
    rows: int
    unwritten: int  # elements that still hold the poison, or NaN
    method: str  # what was compared with what, in words


def _unit_roundoff(dtype: np.dtype[Any]) -> float:
    """Half the distance from 1 to the next number; 0 for integers."""
    return float(np.finfo(dtype).eps) / 2 if dtype.kind == "f" else 0.0


def dot_product_bound(terms: int, unit: float) -> float:
    """g of the module's docstring for a dot product of `terms` terms."""
    if terms * unit >= 0.5:
        return 1.0
    certain = terms * unit / (1 - terms * unit)
    likely = math.expm1(_CONFIDENCE * math.sqrt(terms) * unit + terms * unit**2 / (1 - unit))
    return min(certain, likely)


def _product_bound(terms: int, dtype: np.dtype[Any], arithmetic: Arithmetic) -> float:
    """g of the module's docstring for an element of a matrix product.

    TF32: each factor may be cut after 10 bits, which is an error of up to 2^-10; products of two
    float16 are exact. Tensor cores add with less than float32's care (M. Fasi et al., PeerJ
    Computer Science 7, 2021, e330): no rounding to nearest, so that only the certain bound holds,
    with twice the unit.
    """
    if arithmetic == "float32":
        return dot_product_bound(terms, _unit_roundoff(dtype))
    cut = TF32_CUT if arithmetic == "tf32" else 0.0
    sums = terms * 2.0**-22
    return (1 + cut) ** 2 * (1 + sums / (1 - sums)) - 1 if sums < 1 else 1.0


def compare(
    array: str,
    got: NDArray[Any],
    truth: Floats,
    tolerance: Floats,
    rows: NDArray[np.intp] | None,
    method: str,
) -> Check:
    """Compares `got` (any shape) with `truth` (its rows `rows`, or all), element by element."""
    table = got.reshape(got.shape[0], -1) if got.ndim else got.reshape(1, 1)
    part = table if rows is None else table[rows]
    wanted = truth.reshape(part.shape)
    allowed = np.broadcast_to(tolerance, truth.shape).reshape(part.shape)
    error = np.abs(part.astype(np.float64) - wanted)
    unwritten = int(np.count_nonzero(np.isnan(table))) if table.dtype.kind == "f" else 0
    ok = not bool(np.any(~(error <= allowed))) and unwritten == 0
    worst = int(np.nanargmax(np.where(np.isnan(error), np.inf, error - allowed)))
    largest = float(error.max())
    return Check(
        array=array,
        ok=ok,
        max_error=largest if math.isfinite(largest) else None,
        tolerance=float(allowed.reshape(-1)[worst]),
        rows_checked=part.shape[0],
        rows=table.shape[0],
        unwritten=unwritten,
        method=method,
    )


def check(
    workload: Workload, outputs: Mapping[str, NDArray[Any]], seed: int = 0
) -> tuple[Check, ...]:
    """Checks every output whose truth is known; an empty tuple where none is."""
    if workload.expected is None:
        return ()
    layout = workload.layout
    if layout is not None and layout.result in outputs:
        return (_check_product(workload, layout, outputs[layout.result], seed),)
    return tuple(
        _check_elementwise(name, outputs[name], truth)
        for name, truth in workload.expected().items()
        if name in outputs
    )


def _check_product(workload: Workload, layout: MatrixLayout, got: NDArray[Any], seed: int) -> Check:
    arrays = {a.name: a.data for a in workload.launch.arrays}
    left = arrays[layout.left]
    top = arrays[layout.top].T if layout.top_transposed else arrays[layout.top]
    m, k = left.shape
    rows = _choose_rows(m, 2 * m * k * top.shape[1], seed)
    some = left if rows is None else left[rows]
    assert workload.expected is not None
    if rows is None:
        truth = np.asarray(workload.expected()[layout.result], dtype=np.float64).reshape(m, -1)
    else:
        truth = some.astype(np.float64) @ top.astype(np.float64)
    scale = np.outer(_norms(some, axis=1), _norms(top, axis=0))
    bound = _product_bound(k, got.dtype, workload.arithmetic)
    extent = "all" if rows is None else f"{len(rows)} random rows of"
    method = (
        f"{extent} {layout.result} against float64; |error| <= {bound:.2e} * |row| |column|, "
        f"the rounding bound for {k} terms"
    )
    return compare(layout.result, got.reshape(m, -1), truth, bound * scale, rows, method)


def _choose_rows(rows: int, flops: int, seed: int) -> NDArray[np.intp] | None:
    if flops <= _WHOLE_FLOPS or rows <= _SAMPLED_ROWS:
        return None
    inner = np.random.default_rng(seed).choice(rows - 2, _SAMPLED_ROWS - 2, replace=False) + 1
    return np.sort(np.concatenate(([0, rows - 1], inner))).astype(np.intp)


def _norms(matrix: NDArray[Any], axis: int) -> Floats:
    norms: Floats = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=axis))
    return norms


def _check_elementwise(name: str, got: NDArray[Any], truth: Floats) -> Check:
    wanted = np.asarray(truth, dtype=np.float64)
    unit = _unit_roundoff(got.dtype)
    tolerance = np.full(wanted.shape, 16 * unit * float(np.max(np.abs(wanted), initial=0.0)))
    method = f"all {name} against float64; |error| <= 16 rounding units of the largest element"
    return compare(name, got, wanted, tolerance, None, method)
