"""Pointers to pointers: given, guessed, followed, counted, saved, and refused by a sentence.

A pointer into an array: `random:float32[72]+4`, as the host passes `a + 4`.
"""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ArgumentError, TilescopeError
from core.guessing.launch_guess import completed, guess_launch, refit
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace
from core.user_files.launch_texts import FileLaunch, file_workload

SOURCE = """
struct Batch { float scale; float** rows; };
__global__ void add(float** rows, const float* const* more, int n) {
    if (threadIdx.x < n) rows[blockIdx.x][threadIdx.x] += more[blockIdx.x][threadIdx.x];
}
__global__ void times(Batch b) { b.rows[blockIdx.x][threadIdx.x] *= b.scale; }
"""


def launched(kernel, grid, *arguments):
    asked = FileLaunch("k.cu", kernel, grid, "64", "0", "", arguments)
    return file_workload(SOURCE, completed(SOURCE, asked).launch)


def recorded(workload):
    return record(workload, blocks="all")


def test_each_pointer_leads_to_a_row_and_its_loads_count():
    workload = launched(
        *("add", "4"),
        ("rows", "pointers(float32[4,50])"),
        ("more", "pointers(range:float32[4,50])"),
        ("n", "50"),
    )
    rows, more = (a.data for a in workload.launch.arrays)
    trace = recorded(workload)
    assert not trace.findings
    np.testing.assert_array_equal(trace.outputs["rows"], rows + more)
    assert workload.launch.arrays[1].role == "input"
    counts = trace.counters.by_array["rows (pointers)"]
    assert counts["global_ld_sectors"].value == 8  # two warps a block read a pointer


def test_a_pointer_beyond_the_last_is_out_of_bounds():
    arguments = (("b.scale", "2"), ("b.rows", "pointers(float32[4,64])"))
    right = launched("times", "4", *arguments)
    trace = recorded(right)
    assert not trace.findings
    np.testing.assert_array_equal(trace.outputs["b.rows"], right.launch.arrays[0].data * 2)
    first, *_ = recorded(launched("times", "5", *arguments)).findings
    assert "b.rows (pointers)" in first.message


def test_the_guess_is_clean_and_survives_an_edit():
    launch = guess_launch(SOURCE, "k.cu")
    texts = dict(launch.arguments)
    assert texts["rows"].startswith("pointers(random:float32[")
    assert not recorded(file_workload(SOURCE, launch)).findings
    assert refit(SOURCE, launch).arguments == launch.arguments


def test_a_saved_trace_keeps_them(tmp_path):
    arguments = (("b.scale", "2"), ("b.rows", "pointers(float32[4,64])"))
    trace = recorded(launched("times", "4", *arguments))
    save_trace(trace, tmp_path / "t.npz")
    assert load_trace(tmp_path / "t.npz").workload.launch.arrays[0].pointers == 4


@pytest.mark.parametrize("text", ["float32[4,64]", "pointers()", "pointers(float32[0])", "3"])
def test_what_is_no_row_of_pointers_is_refused(text):
    with pytest.raises(ArgumentError, match=r"pointers\(|buffer|shape"):
        launched("times", "4", ("b.scale", "2"), ("b.rows", text))


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
