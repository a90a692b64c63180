"""Whole kernels of every instruction family: each byte they write equals what an H200 wrote.

tests/data/isa/h200_2026-11-21.json holds the SHA-256 (first 16 digits) of every slot, taken by
running the cubins of the same sources (-G, and optimised) through the driver. Functions that are
only approximate are within a few units in the last place of NumPy's float64 values. What NVRTC
makes of the kernels for other architectures, and with fast maths, is decoded.
"""

from __future__ import annotations

import hashlib
import math
from functools import cache

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import BuildKind
from core.compiler.compile_request import compile_request
from core.compiler.requests_and_answers import ARCHITECTURE, Request
from core.emulator.decode import decode
from core.ptx.ast import Module
from core.ptx.parser import parse
from tests.core.emulator.isa_kernels import (
    HARDWARE,
    SLOT,
    inputs,
    needs_headers,
    run,
    slots,
    source,
)

CASES = [
    (name, kernel, kind)
    for name, kernels in HARDWARE["kernels"].items()
    for kernel, builds in kernels.items()
    for kind in (("as_written", "as_compiled") if "both" in builds else builds)
]


@cache
def written_by(name: str, kernel: str, kind: BuildKind) -> np.ndarray:
    """What a launch wrote; several tests look at the same one."""
    written = slots(run(name, kernel, kind))
    written.flags.writeable = False
    return written


def test_the_set_is_large() -> None:
    assert len(CASES) >= 60


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kernel", "kind"), CASES)
def test_equals_the_hardware(name, kernel, kind) -> None:
    if needs_headers(name):
        pytest.skip("CUDA's headers are not installed: pip install -e '.[headers]'")
    builds = HARDWARE["kernels"][name][kernel]
    expected = builds.get("both") or builds[kind]
    written = written_by(name, kernel, kind)
    wrong = [
        int(slot)
        for slot, digest in expected.items()
        if hashlib.sha256(written[int(slot)].tobytes()).hexdigest()[:16] != digest
    ]
    assert wrong == [], f"slots that differ from the hardware's in {name}.cu, {kernel}"


BUILDS = [("compute_75", ()), ("compute_90", ("--use_fast_math",)), ("compute_120", ())]


def addresses(module: Module) -> dict[str, int]:
    names = [*module.variables, *module.functions]
    for function in module.functions.values():
        names += [v.name for v in (*function.variables, *function.parameters)]
    return dict.fromkeys(names, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "options"), BUILDS)
@pytest.mark.parametrize("name", HARDWARE["kernels"])
def test_every_function_is_decoded(name, architecture, options) -> None:
    if needs_headers(name):
        pytest.skip("CUDA's headers are not installed")
    # `compile_ptx` would make machine code as well, of which nothing here depends.
    whole = (f"{ARCHITECTURE}{architecture}", "-lineinfo", "--device-int128", *options)
    compiled = compile_request(Request(source(name), f"{name}.cu", (), whole, "PTX"))
    module = parse(compiled.image.decode().rstrip("\0"))
    places = addresses(module)
    for function in module.functions.values():
        assert len(decode(module, function, places).ops) == function.end_pc - function.first_pc


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
    written = written_by("floats", "mathf", kind)
    a, b = column(3, "f4"), column(2, "f4")
    with np.errstate(all="ignore"):
        for slot, function in SINGLE.items():
            close(written[slot].view("f4")[:128], function(a, b), 2e-6)


@pytest.mark.slow
def test_double_precision_functions() -> None:
    written = written_by("floats", "mathd", "as_compiled")
    a, b = column(13, "f8"), column(12, "f8")
    with np.errstate(all="ignore"):
        for slot, function in SINGLE.items():
            if slot <= 24:
                close(written[slot].view("f8")[:128], function(a, b), 1e-12)


def test_approximate_instructions() -> None:
    """The errors that the PTX ISA allows: 2 ulp at most for these, relative."""
    written = written_by("floats", "approx", "as_compiled")
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
