"""Kernels as people really write them, as written and as compiled, against NumPy in float64.

No case may end in a finding: each is correct CUDA.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.compiler.nvrtc import include_folders
from core.trace import Trace
from tests.core.emulator.machines import trace_of
from tests.core.kernels import language_cases  # noqa: F401  registers its cases
from tests.core.kernels.cases import CASES, Case

FOLDER = Path(__file__).parent


def run(made: Case, kind: str) -> Trace:
    source = (FOLDER / f"{made.file}.cu").read_text()
    if "#include" in source and not include_folders():
        pytest.skip("CUDA's headers are not installed")
    return trace_of(source, made.arguments, grid=made.grid, block=made.block, kernel=made.kernel,
                    shared_bytes=made.shared_bytes, kind=kind)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("name", CASES)
def test_kernel(name, kind) -> None:
    made = CASES[name]()
    trace = run(made, kind)
    assert not trace.findings, [f.message for f in trace.findings]
    for array, values in made.expected.items():
        got, want = trace.outputs[array], np.asarray(values)
        if want.dtype.names:  # structures: what lies in the holes does not matter
            got = got.view(want.dtype)
            assert all((got[field] == want[field]).all() for field in want.dtype.names)
        elif made.relative:
            error = np.abs(got.astype(np.float64) - want) / max(1.0, float(np.abs(want).max()))
            assert not (~(error <= made.relative)).any(), float(np.nanmax(error))
        else:
            assert got.tolist() == want.astype(got.dtype).tolist()
    assert tuple(p.text for p in trace.prints) == made.prints
