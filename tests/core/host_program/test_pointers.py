"""Pointers to pointers: given, guessed, followed, counted, saved, and refused by a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ArgumentError
from core.guessing.launch_guess import completed, guess_launch, refit
from core.own_files.launch_texts import FileLaunch, file_workload
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace

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
