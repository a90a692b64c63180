"""Guesses whose findings end with other values; faults of the kernel's own, which do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.guessing.first_launch import completed
from core.guessing.fitting_launch import PointersWithin, fitted
from core.guessing.trial_run import reach_of
from core.own_files.launch_texts import FileLaunch, file_workload
from core.recording.record_launch import record

STRIDES = """
__global__ void scale(float *x, int stride_b_x, int stride_s_x, int stride_h_x)
{
    int at = blockIdx.z * stride_b_x + blockIdx.y * stride_s_x + threadIdx.y * stride_h_x;
    x[at + threadIdx.x] = 2.0f * blockIdx.z + blockIdx.y + threadIdx.y;
}
"""
CLASSES = """
__global__ void loss(float *out, const float *logits, const int *targets, int rows, int classes)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) out[row] = logits[row * classes + targets[row]];
}
"""
PITCH = """
__global__ void fill(float *image, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    image[y * pitch + x] = x + 100.0f * y;
}
int main()
{
    float *image;
    fill<<<dim3(2, 2), dim3(8, 8)>>>(image, pitch);
}
"""
RACE = """
__global__ void sum(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[0] += in[i];
}
"""
ENDS = """
__global__ void ends(const float *a, float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) b[i] = a[i];
}
"""


def _launch(source: str, path: Path) -> FileLaunch:
    return fitted(source, completed(source, FileLaunch(str(path / "k.cu"), "", "", "", "")))


@pytest.mark.parametrize("source", [STRIDES, CLASSES, PITCH], ids=["strides", "classes", "pitch"])
def test_a_finding_that_another_guess_ends_is_none(tmp_path, source):
    launch = _launch(source, tmp_path)
    assert record(file_workload(source, launch)).findings == ()


def test_strides_of_one_array_keep_its_rows_apart(tmp_path):
    given = dict(_launch(STRIDES, tmp_path).arguments)
    b, s, h = (int(given[f"stride_{axis}_x"]) for axis in "bsh")
    assert b > 3 * s > 3 * 3 * h > 0


@pytest.mark.parametrize(
    ("source", "kind"), [(RACE, "race"), (ENDS, "out_of_bounds")], ids=["race", "ends"]
)
def test_a_fault_of_the_kernel_stays(tmp_path, source, kind):
    launch = _launch(source, tmp_path)
    assert kind in {f.kind for f in record(file_workload(source, launch)).findings}


BOTH = """
__global__ void fill(float *image, float *sum, int pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    image[y * pitch + x] = x + 100.0f * y;
    sum[0] += x;
}
int main()
{
    float *image, *sum;
    fill<<<dim3(2, 2), dim3(8, 8)>>>(image, sum, pitch);
}
"""


def test_of_several_findings_those_of_the_guess_go(tmp_path):
    launch = _launch(BOTH, tmp_path)
    found = record(file_workload(BOTH, launch)).findings
    assert {finding.array for finding in found} == {"sum"}


LEADS = """
struct Point { float weight; float *coordinates; };
__global__ void heaviest(Point *p, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = p[i].weight%s;
}
"""


def test_pointers_in_structures_in_memory_are_refused_where_they_are_followed(tmp_path):
    with pytest.raises(PointersWithin, match="structures that `p` points to"):
        _launch(LEADS % " * p[i].coordinates[0]", tmp_path)
    launch = _launch(LEADS % "", tmp_path)
    assert record(file_workload(LEADS % "", launch)).findings == ()


def test_a_structure_with_pointers_that_is_given_runs_as_it_is_given(tmp_path):
    source = LEADS % " * p[i].coordinates[0]"
    asked = FileLaunch(str(tmp_path / "k.cu"), "", "", "", "", "", (("p", "zeros:uint8[64,16]"),))
    launch = fitted(source, completed(source, asked))
    assert {f.kind for f in record(file_workload(source, launch)).findings} == {"out_of_bounds"}


@pytest.mark.slow
def test_a_larger_size_whose_run_is_cut_short_cures_nothing() -> None:
    """All threads write one element at the very end, to which a long run does not come."""
    source = """
__global__ void k(const float* b, float* out, int n) {
    float s = 0;
    for (int j = 0; j < n; j++)
        for (int k = 0; k < 48; k++) s = s * 0.5f + b[j * 48 + k];
    out[0] = s + threadIdx.x;
}"""
    launch = fitted(source, completed(source, FileLaunch("k.cu", "k")))
    reach = reach_of(file_workload(source, launch), instructions=1_000_000)
    assert reach.ended
    assert not reach.sizes
