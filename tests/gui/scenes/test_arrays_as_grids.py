"""Which launches are drawn as C = A B, and C = A Aᵀ, of which A is drawn twice."""

import numpy as np
import pytest

from core.ladder import all_kernels, load_ladder
from core.launch import MatrixLayout
from core.recording.record_launch import record
from core.trace.step_names import step_named
from core.user_files.launch_texts import FileLaunch, file_workload
from gui.scenes.arrays_as_grids import grids_of
from gui.scenes.comparisons_to_open import counterpart
from gui.scenes.configuration import Configuration
from gui.scenes.launch_outcome import outcome
from gui.scenes.matrices import matrix_scene
from gui.scenes.matrix_product import product_of

TILED = """#define T 4
__global__ void k(float *X, float *Y, float *Z, int M, int K, int N)
{
    __shared__ float a[T][T], b[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < K; t += T) {
        int ka = t + threadIdx.x, kb = t + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < M && ka < K ? X[row * K + ka] : 0;
        b[threadIdx.y][threadIdx.x] = kb < K && col < N ? Y[kb * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < T; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) Z[row * N + col] = sum;
}
"""
PLAIN = """__global__ void k(float *X, float *Y, float *Z, int M, int K, int N)
{
    int row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x * 4 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k++) sum += X[row * K + k] * Y[k * N + col];
    Z[row * N + col] = sum;
}
"""
FIRST = PLAIN.replace("float *X, float *Y, float *Z", "float *Z, float *X, float *Y")
ADDED = """__global__ void k(const float *X, const float *Y, float *Z, int M, int K, int N)
{
    int row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x * 4 + threadIdx.x;
    if (row < M && col < N) Z[row * N + col] = X[row * N + col] + Y[row * N + col];
}
"""


def launched(source, m, k, n):
    shapes = {"X": (m, k), "Y": (k, n), "Z": (m, n)}
    names = [word.strip(" ,") for word in source.split("(")[1].split("*")[1:4]]
    names = [name.split(",")[0] for name in names]
    arrays = tuple((a, "random:float32[{},{}]".format(*shapes[a])) for a in names)
    sizes = (("M", str(m)), ("K", str(k)), ("N", str(n)))
    own = FileLaunch("/k.cu", "k", f"{-(-n // 4)},{-(-m // 4)}", "4,4", "0", "", arrays + sizes)
    return record(file_workload(source, own))


@pytest.mark.parametrize("source", [TILED, PLAIN, FIRST])
@pytest.mark.parametrize("sizes", [(6, 5, 7), (8, 8, 8)])
def test_products_are_known_by_what_threads_read(source, sizes):
    trace = launched(source, *sizes)
    assert product_of(trace) == MatrixLayout("X", "Y", "Z")
    assert [g.place for g in grids_of(trace)] == [(1, 0), (0, 1), (1, 1)]


def test_a_sum_of_matrices_is_no_product():
    trace = launched(ADDED, 8, 8, 8)
    assert product_of(trace) is None
    assert [g.place for g in grids_of(trace)] == [(0, 0), (1, 0), (2, 0)]


def test_what_is_never_stored_is_no_result():
    trace = launched(ADDED.replace("const ", ""), 8, 8, 8)
    assert {g.array.name: g.result for g in grids_of(trace)} == {"X": False, "Y": False, "Z": True}


@pytest.fixture(scope="module")
def strided():
    return record(all_kernels()["aat_strided"].workload(n=12, block_x=4, block_y=2))


def marks_at(trace, block, name):
    shown = trace.block(block)
    grids = grids_of(trace)
    step = step_named(shown, name)
    return shown.access(step), matrix_scene(shown, grids, step, 0).marks[:2]


def test_the_column_of_a_that_is_a_row_of_its_transpose_is_lit_in_both(strided):
    access, (left, top) = marks_at(strided, 4, "load:A@phase0#2")
    touched = np.unique(access.elements[access.active])
    assert np.array_equal(top.lit, touched)
    assert not len(top.echo)
    assert np.array_equal(left.echo, touched)
    assert not len(left.lit)
    assert len(np.unique(touched // 12)) == 4  # a column of A: one element in each of four rows


def test_the_other_load_is_lit_the_other_way_round(strided):
    access, (left, top) = marks_at(strided, 4, "load:A@phase0")
    touched = np.unique(access.elements[access.active])
    assert np.array_equal(left.lit, touched)
    assert np.array_equal(top.echo, touched)


def test_a_product_of_two_arrays_has_no_echo():
    trace = record(all_kernels()["tiled"].workload(n=8, tile=4))
    _, marks = marks_at(trace, 1, "load:A")
    assert not any(len(mark.echo) for mark in marks)


def test_the_mapping_of_the_strided_product_can_be_switched():
    kernels = all_kernels()
    strided, rows = kernels["aat_strided"], kernels["aat_strided_rows"]
    assert strided.mapping.other == rows.name
    assert rows.mapping.other == strided.name
    assert {strided.mapping.x, rows.mapping.x} == {"columns", "rows"}
    assert load_ladder()["aat_strided"].mapping is None
    other = counterpart(Configuration("aat_strided", dict(strided.defaults)), kernels)
    assert other.rung == rows.name


def test_no_mapping_suits_both_factors():
    kernels = all_kernels()
    for name in ("aat_strided", "aat_strided_rows"):
        trace = record(kernels[name].workload(n=32, block_x=32, block_y=4))
        block = trace.block(0)
        steps = [step_named(block, f"load:A@phase3#{n}") for n in (1, 2)]
        assert sorted(int(block.access(s).warp_sectors[0]) for s in steps) == [1, 32]
        assert outcome(trace).right
