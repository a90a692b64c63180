"""Which launches of one's own are drawn as C = A B, from what their threads do."""

import pytest

from core.launch import MatrixLayout
from core.own_files.launch_texts import FileLaunch, file_workload
from core.recording.record_launch import record
from gui.scenes.grids import grids_of, product_of

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
