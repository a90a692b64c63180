"""Approximate functions: within a few units in the last place of NumPy's float64 values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.core.emulator.isa_kernels import SLOT, inputs, run, slots

DATA = inputs()


def column(slot: int, dtype: str) -> np.ndarray:
    return DATA[slot * SLOT :].view(dtype)[:128].astype(np.float64)


def close(got: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    error = np.abs(got.astype(np.float64) - wanted) / np.maximum(np.abs(wanted), 1e-3)
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    assert not (np.where(same, 0, error) > tolerance).any()
    assert not (np.isnan(got) ^ np.isnan(wanted)).any()


def elementwise(function):
    def one(*values: float) -> float:
        try:
            return function(*values)
        except (OverflowError, ValueError):
            return math.nan

    return np.vectorize(one, otypes=[np.float64])


SINGLE = {
    0: lambda a, b: np.sin(a), 1: lambda a, b: np.cos(a), 2: lambda a, b: np.tan(a),
    3: lambda a, b: np.exp(a), 4: lambda a, b: np.exp2(a), 5: lambda a, b: np.log(a),
    6: lambda a, b: np.log2(a), 7: lambda a, b: np.log10(a), 8: np.power,
    9: lambda a, b: np.tanh(a), 10: lambda a, b: elementwise(math.erf)(a),
    11: lambda a, b: elementwise(math.erfc)(a), 12: lambda a, b: 1 / np.sqrt(a),
    13: lambda a, b: np.cbrt(a), 14: lambda a, b: np.arctan(a), 15: np.arctan2,
    16: lambda a, b: np.arcsin(b), 17: lambda a, b: np.arccos(b), 18: lambda a, b: np.sinh(a),
    19: lambda a, b: np.cosh(a), 20: lambda a, b: elementwise(math.lgamma)(a),
    21: lambda a, b: elementwise(math.gamma)(a), 22: np.hypot, 23: lambda a, b: np.expm1(a),
    24: lambda a, b: np.log1p(a), 26: lambda a, b: np.power(10.0, a),
    29: lambda a, b: np.sqrt(2 * a * a + b * b), 30: lambda a, b: 1 / np.hypot(a, b),
    33: lambda a, b: np.arcsinh(a), 34: lambda a, b: np.arctanh(b),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pytest.param("as_written", marks=pytest.mark.slow), "as_compiled"]
)
def test_single_precision_functions(kind) -> None:
    written = slots(run("floats", "mathf", kind))
    a, b = column(3, "f4"), column(2, "f4")
    with np.errstate(all="ignore"):
        for slot, function in SINGLE.items():
            close(written[slot].view("f4")[:128], function(a, b), 2e-6)


@pytest.mark.slow
def test_double_precision_functions() -> None:
    written = slots(run("floats", "mathd", "as_compiled"))
    a, b = column(13, "f8"), column(12, "f8")
    with np.errstate(all="ignore"):
        for slot, function in SINGLE.items():
            if slot <= 24:
                close(written[slot].view("f8")[:128], function(a, b), 1e-12)


def test_approximate_instructions() -> None:
    """The errors that the PTX ISA allows: 2 ulp at most for these, relative."""
    written = slots(run("floats", "approx", "as_compiled"))
    a, b = column(3, "f4"), column(2, "f4")
    functions = {
        0: np.exp2(a), 1: np.log2(a), 4: 1 / a, 5: 1 / np.sqrt(a), 6: np.sqrt(a), 7: np.tanh(a),
        10: a / b, 11: a / b,
    }  # fmt: skip
    for slot, wanted in functions.items():
        close(written[slot].view("f4")[:128], wanted, 2.0**-22)
    d = column(13, "f8")
    for slot, wanted in {12: 1 / d, 13: 1 / np.sqrt(d)}.items():
        close(written[slot].view("f8")[:128], wanted, 2.0**-20)
