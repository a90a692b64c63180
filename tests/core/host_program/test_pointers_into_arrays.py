"""A pointer into an array: `random:float32[72]+4`, as the host passes `a + 4`."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import TilescopeError
from core.guessing.launch_guess import completed
from core.own_files.launch_texts import FileLaunch, file_workload
from core.recording.record_launch import record

STENCIL = """
#define RADIUS 3
__global__ void stencil(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i - RADIUS] + 2 * in[i + RADIUS];
}
int main() {
    int n = 128;
    float *a, *b;
    cudaMalloc(&a, (n + 2 * RADIUS) * sizeof(float));
    cudaMalloc(&b, (n + 2 * RADIUS) * sizeof(float));
    stencil<<<n / 64, 64>>>(a + RADIUS, &b[RADIUS]);
}
"""


def test_the_kernel_gets_the_address_that_the_host_passes(tmp_path) -> None:
    path = str(tmp_path / "stencil.cu")
    launch = completed(STENCIL, FileLaunch(path, "", "", "", "")).launch
    texts = dict(launch.arguments)
    assert texts == {"in": "random:float32[134]+3", "out": "zeros:float32[134]+3"}
    workload = file_workload(STENCIL, launch)
    trace = record(workload)
    assert trace.findings == ()
    given = next(a for a in workload.launch.arrays if a.name == "in").data
    expected = np.zeros(134, np.float32)
    expected[3:131] = given[:128] + np.float32(2) * given[6:134]
    assert np.abs(trace.outputs["out"] - expected).max() <= 1e-6


def test_an_access_in_front_of_the_array_is_still_found(tmp_path) -> None:
    launch = completed(STENCIL, FileLaunch(str(tmp_path / "s.cu"), "", "", "", "")).launch
    short = {"in": "random:float32[134]+2", "out": "zeros:float32[134]+3"}
    given = tuple((name, short[name]) for name, _ in launch.arguments)
    asked = FileLaunch(launch.path, "stencil", launch.grid, launch.block, "0", "", given)
    (found,) = record(file_workload(STENCIL, asked)).findings
    assert (found.kind, found.index) == ("out_of_bounds", (-1,))


def test_a_start_beyond_the_array_is_refused(tmp_path) -> None:
    arguments = (("in", "random:float32[8]+8"), ("out", "zeros:float32[8]"))
    asked = FileLaunch(str(tmp_path / "s.cu"), "stencil", "1", "8", "0", "", arguments)
    with pytest.raises(TilescopeError, match="beyond the array"):
        file_workload(STENCIL, asked)
