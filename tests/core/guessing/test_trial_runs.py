"""What a trial of a guess puts right: arrays, numbers that nobody says, dynamic shared memory.

Guesses whose findings end with other values; faults of the kernel's own, which do not.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.errors import ArgumentError, LaunchError
from core.guessing.launch_guess import completed, guess_launch
from core.guessing.ptx_launch_guess import complete_ptx
from core.guessing.trial_runs import PointersWithin, fitted, reach_of, trial_of
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch, file_workload
from core.user_files.ptx_files import read_ptx


def _tried(source: str, path: Path) -> FileLaunch:
    guess = completed(source, FileLaunch(str(path), "", "", "", ""))
    return fitted(source, guess, 0)


def _faults(source: str, path: Path) -> list[str]:
    return [f.kind for f in record(file_workload(source, _tried(source, path))).findings]


@pytest.mark.slow
def test_a_number_that_the_launching_function_is_given_gets_small(tmp_path) -> None:
    source = """
    __global__ void walk(const float *from, float *to, int length, int count) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= count) return;
        for (int step = 0; step < length; step++)
            to[(long long)step * length * count + i] = from[i];
    }
    void run(float *from, float *to, int length, int count) {
        walk<<<(count + 63) / 64, 64>>>(from, to, length, count);
    }
    """
    assert _faults(source, tmp_path / "walk.cu") == []


def test_sizes_go_with_a_grid_that_is_given(tmp_path) -> None:
    source = """
    __global__ void all(const float *x, float *y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        float sum = 0;
        for (int j = 0; j < n; ++j) sum += 1.0f / (1.0f + (x[i] - x[j]) * (x[i] - x[j]));
        y[i] = sum;
    }
    int main() {
        float *x, *y;
        int n = 1 << 13;
        cudaMalloc(&x, n * sizeof(float));
        cudaMalloc(&y, n * sizeof(float));
        all<<<n / 256, 256>>>(x, y, n);
    }
    """
    whole = completed(source, FileLaunch(str(tmp_path / "all.cu"), "", "32", "", ""))
    assert dict(whole.launch.arguments)["n"] == "8192"
    assert fitted(source, whole, 0) == whole.launch


def test_one_element_too_many_stays_a_fault(tmp_path) -> None:
    source = """
    __global__ void copy(const float *from, float *to, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) to[i] = from[i + 1];
    }
    """
    assert _faults(source, tmp_path / "copy.cu") == ["out_of_bounds"]


def test_dynamic_shared_memory_of_a_device_function(tmp_path) -> None:
    source = """
    __device__ double sum(double x) {
        extern __shared__ double part[];
        part[threadIdx.x] = x;
        __syncthreads();
        return part[0] + part[blockDim.x - 1];
    }
    __global__ void total(const double *from, double *to, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        double x = sum(i < n ? from[i] : 0);
        if (threadIdx.x == 0) to[blockIdx.x] = x;
    }
    """
    assert _faults(source, tmp_path / "total.cu") == []
    threads = int(_tried(source, tmp_path / "total.cu").block)
    assert int(_tried(source, tmp_path / "total.cu").shared) == 8 * threads


def test_what_a_search_needs_is_sorted(tmp_path) -> None:
    source = """
    __device__ int lower_bound(const float *a, int n, float x) {
        int low = 0, high = n;
        while (low < high) {
            int middle = (low + high) / 2;
            if (a[middle] < x) low = middle + 1; else high = middle;
        }
        return low;
    }
    __global__ void rank(const float *sorted, const float *x, int *to, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) to[i] = lower_bound(sorted, n, x[i]);
    }
    """
    texts = dict(_tried(source, tmp_path / "rank.cu").arguments)
    assert texts["sorted"].startswith("range:float32")


def test_a_template_parameter_for_indices_is_a_whole_number(tmp_path) -> None:
    source = """
    template <typename IndexType>
    __global__ void spread(const IndexType *starts, IndexType *to, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) to[i] = starts[i];
    }
    """
    assert _tried(source, tmp_path / "spread.cu").kernel == "spread<int>"


def test_a_histogram_of_letters_gets_letters(tmp_path) -> None:
    source = """
    __global__ void count(const char *text, int length, unsigned int *bins) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < length) atomicAdd(&bins[(text[i] - 'a') / 4], 1);
    }
    int main() {
        char *text; unsigned int *bins;
        cudaMalloc(&text, 256);
        cudaMalloc(&bins, 7 * sizeof(unsigned int));
        count<<<4, 64>>>(text, 256, bins);
    }
    """
    assert _faults(source, tmp_path / "count.cu") == []
    assert dict(_tried(source, tmp_path / "count.cu").arguments)["text"] == "letters:int8[256]"


def test_code_that_is_still_to_be_written_is_named(tmp_path) -> None:
    source = "__global__ void k(int *to) { to[FIXME] = threadIdx.x; }"
    with pytest.raises(ArgumentError, match="FIXME in place of code"):
        _tried(source, tmp_path / "k.cu")


@pytest.mark.slow
def test_a_trial_that_does_not_end_says_nothing_of_sizes(tmp_path) -> None:
    source = """
    __global__ void average(int n, int width, int height, int channels, float *in, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        out[i] = 0;
        for (int at = 0; at < width * height; at++)
            out[i] += in[at + height * width * (i % channels + i / channels * channels)];
    }
    """
    assert _faults(source, tmp_path / "average.cu") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grid", "blocks"),
    [("65535,65535,65535", "281,462,092,005,375"), ("2147483647", "2,147,483,647")],
)
def test_a_grid_of_more_blocks_than_can_run_says_no_size(tmp_path, grid, blocks) -> None:
    source = """
    __global__ void k(float *a, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) a[i] = i;
    }
    """
    asked = FileLaunch(str(tmp_path / "k.cu"), "", grid, "64", "")
    work = file_workload(source, fitted(source, completed(source, asked), 0))
    with pytest.raises(LaunchError, match=f"{blocks} blocks of 64 threads"):
        record(work)
    assert record(work, blocks=[0], only_recorded=True).findings == ()


def test_a_block_has_the_dimensions_whose_threads_are_asked_for(tmp_path) -> None:
    source = """
    __global__ void most(const float *x, float *y, int n) {
        __shared__ float sums[32];
        if (threadIdx.x < 32) sums[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        int i = (blockIdx.z * gridDim.y + blockIdx.y) * n + threadIdx.x;
        if (threadIdx.x < n) y[i] = sums[threadIdx.x % 32];
    }
    """
    launch = _tried(source, tmp_path / "most.cu")
    assert launch.block.split(",")[1:] in ([], ["1", "1"])
    assert launch.grid.split(",")[1:] == ["4", "4"]
    assert _faults(source, tmp_path / "most.cu") == []


def test_a_kernel_that_computes_how_many_threads_it_has_gets_so_many(tmp_path) -> None:
    source = """
    template <int M, int T> __global__ void twice(const float *x, float *y) {
        const int nThreads = (M / T) * T;
        __shared__ float all[2 * M];
        for (int i = threadIdx.x; i < 2 * M; i += nThreads) all[i] = x[i];
        __syncthreads();
        y[blockIdx.x * M + threadIdx.x] = all[threadIdx.x] + all[threadIdx.x + M];
    }
    template __global__ void twice<96, 4>(const float *x, float *y);
    """
    assert _tried(source, tmp_path / "twice.cu").block == "96"
    assert _faults(source, tmp_path / "twice.cu") == []


def test_halves_need_no_header_that_is_not_here(tmp_path) -> None:
    source = """
    #include <not/here/types.h>
    __global__ void narrow(const float *x, __half *y) { y[threadIdx.x] = (__half)x[threadIdx.x]; }
    """
    assert _faults(source, tmp_path / "narrow.cu") == []


def test_the_sizes_of_a_tensor_decide_about_all_that_is_computed_of_them(tmp_path) -> None:
    source = """
    #include <torch/extension.h>
    __global__ void sum(const float *x, float *y, int N, int tiles, int width) {
        float all = 0;
        for (int tile = 0; tile < tiles; tile++)
            if (tile * width + threadIdx.x < N)
                all += x[blockIdx.x * N + tile * width + threadIdx.x];
        y[blockIdx.x * width + threadIdx.x] = all;
    }
    torch::Tensor run(torch::Tensor x) {
        const int width = 32, rows = x.size(0), N = x.size(1);
        const int tiles = ceil((float) N / width);
        auto y = torch::zeros({rows, width});
        sum<<<rows, width>>>(x.data_ptr<float>(), y.data_ptr<float>(), N, tiles, width);
        return y;
    }
    """
    launch = _tried(source, tmp_path / "sum.cu")
    numbers = dict(launch.arguments)
    assert int(numbers["tiles"]) == -(-int(numbers["N"]) // 32)
    assert _faults(source, tmp_path / "sum.cu") == []


def test_the_steps_of_a_grid_say_the_block_of_the_dimensions_that_have_threads(tmp_path) -> None:
    source = """
    const int WIDE = 32, HIGH = 1;
    __global__ void part(const float *x, float *y, int depth) {
        __shared__ float row[WIDE];
        int column = WIDE * blockIdx.x + threadIdx.x, line = HIGH * blockIdx.y + threadIdx.y;
        row[threadIdx.x] = x[column];
        __syncthreads();
        atomicAdd(&y[column], row[31 - threadIdx.x] * (line + depth * blockIdx.z));
    }
    """
    assert _tried(source, tmp_path / "part.cu").block == "32,1,1"
    assert _faults(source, tmp_path / "part.cu") == []


@pytest.mark.slow
def test_instances_that_a_macro_declares_are_those_of_a_templates_launch(tmp_path) -> None:
    source = """
    enum Kind { whole = 0, half = 2 };
    template <typename T, int N, int KIND> __global__ void fill(T *y) {
        T values[KIND == whole ? N : N / 2];
        if (KIND == whole) for (int i = 0; i < N; i++) values[i] = 1;
        if (KIND == half) for (int i = 0; i < N / 2; i++) values[i] = 2;
        y[threadIdx.x] = values[0];
    }
    #define MAKE(type, n, kind) template __global__ void fill<type, n, kind>(type *y);
    MAKE(double, 8, half)
    MAKE(float, 16, whole)
    template <typename T, int KIND> void run(T *y) { fill<T, 16, KIND><<<1, 32>>>(y); }
    """
    launch = _tried(source, tmp_path / "fill.cu")
    assert launch.kernel == "fill<double, 8, half>"
    assert _faults(source, tmp_path / "fill.cu") == []


def test_an_array_whose_size_the_kernel_is_not_told_is_large_enough(tmp_path) -> None:
    """The host's size is halved for the look of it: that is no fault of the kernel's."""
    source = """
    __global__ void sum(float *a, float *b, int times) {
      float s = 0;
      for (int i = 0; i < 500; i++) s += a[i * 32 + threadIdx.x % 32];
      b[threadIdx.x] = s;
    }
    int main() {
      int most = 1 << 20;
      float *a, *b;
      cudaMalloc(&a, most * sizeof(float));
      cudaMalloc(&b, most * sizeof(float));
      sum<<<1, 64>>>(a, b, 3);
    }
    """
    assert _faults(source, tmp_path / "sum.cu") == []


def test_what_a_later_trial_stumbles_over_leaves_the_sizes_of_the_first(tmp_path) -> None:
    """The first ends where arrays are too small, the second at a function that is not there."""
    source = """
    extern __device__ void push(int i, float x);
    __global__ void update(float *v, int n, int count) {
        int i = threadIdx.x + blockIdx.x * blockDim.x;
        if (i < n) {
            float *mine = v + i * count;
            mine[0] += 1;
            if (i > 9 && mine[1] > 0) push(i, mine[1]);
        }
    }
    """
    launch = _tried(source, tmp_path / "update.cu")
    sizes = dict(launch.arguments)
    assert int(re.search(r"\[(\d+)", sizes["v"])[1]) > int(sizes["n"])


ASSERTED = """
#include <cassert>
__global__ void k(float* a, int rows, int cols) {
    assert(rows % 512 == 0);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) a[i] = 1;
}
"""


def test_halved_sizes_become_such_as_the_kernel_asserts(tmp_path) -> None:
    main = """
    int main() {
        int rows = 8192, cols = 4096;
        float* a;
        cudaMalloc(&a, rows * cols * sizeof(float));
        k<<<rows * cols / 256, 256>>>(a, rows, cols);
    }
    """
    launch = _tried(ASSERTED + main, tmp_path / "k.cu")
    sizes = dict(launch.arguments)
    assert int(sizes["rows"]) % 512 == 0
    assert int(sizes["cols"]) < 4096
    assert _faults(ASSERTED + main, tmp_path / "k.cu") == []


def test_an_assertion_that_the_hosts_own_numbers_break_fails(tmp_path) -> None:
    main = "int main() { float* a; cudaMalloc(&a, 240); k<<<2, 32>>>(a, 20, 3); }"
    assert "assert" in _faults(ASSERTED + main, tmp_path / "k.cu")


def test_a_size_with_which_a_trial_does_not_end_is_a_part_of_it(tmp_path) -> None:
    """Each thread looks at all points, of three numbers each: the last of them may reach far."""
    source = """
    __global__ void nearest(const float *points, float *found, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        float least = 1e30f;
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int c = 0; c < 3; c++) {
                float apart = points[3 * i + c] - points[3 * j + c];
                sum += apart * apart;
            }
            if (i != j) least = fminf(least, sum);
        }
        found[i] = least;
    }
    void run(const float *points, float *found, int n) {
        nearest<<<(n + 255) / 256, 256>>>(points, found, n);
    }
    """
    launch = _tried(source, tmp_path / "nearest.cu")
    numbers = dict(launch.arguments)
    count = int(numbers["n"])
    assert count >= 32
    assert int(launch.grid) == -(-count // 256)
    assert numbers["points"] == f"random:float32[{3 * count}]"


@pytest.mark.slow
def test_one_number_gets_small_where_all_of_them_may_not(tmp_path) -> None:
    """Too many layers for a trial: it does not come to where the arrays end."""
    source = """
    __global__ void layers(const float *weights, float *sums, int width, int layers) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float sum = 0;
        for (int layer = 0; layer < layers; layer++)
            for (int step = 0; step < 100 * (64 / width); step++)
                sum += weights[(layer * 100 + step) * 256 + i];
        sums[i] = sum;
    }
    void run(const float *weights, float *sums, int width, int n) {
        layers<<<2, 128>>>(weights, sums, width, n - 1);
    }
    """
    assert _faults(source, tmp_path / "layers.cu") == []


# Threads in one row share a tile of BM x BN; nothing launches it.
TILED_PRODUCT = """
template <int BM, int BN, int BK, int TM, int TN>
__global__ void product(int M, int N, int K, const float* A, const float* B, float* C)
{
    __shared__ float a[BM * BK], b[BK * BN];
    const uint down = blockIdx.y, along = blockIdx.x;
    const uint numThreads = BM * BN / (TM * TN);
    assert(numThreads == blockDim.x);
    A += down * BM * K;
    B += along * BN;
    C += down * BM * N + along * BN;
    int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
    float sums[TM * TN] = {0};
    for (int first = 0; first < K; first += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += numThreads)
            a[i] = A[i / BK * K + first + i % BK];
        for (int i = threadIdx.x; i < BK * BN; i += numThreads)
            b[i] = B[(first + i / BN) * N + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; k++)
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    sums[i * TN + j] += a[(row + i) * BK + k] * b[k * BN + col + j];
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++)
            C[(row + i) * N + col + j] = sums[i * TN + j];
}
"""


@pytest.mark.slow
def test_a_stride_stays_where_numbers_are_made_small(tmp_path) -> None:
    """With a smaller one a block would write what another one has."""
    source = """
    __global__ void steps(float* rows, float* last, int n, int stride_row) {
        float* own = rows + blockIdx.x * stride_row;
        for (int round = 0; round < 3 * n; round++)
            for (int i = threadIdx.x; i < 64; i += 2) own[i] += 1.0f;
        if (threadIdx.x == 0) last[blockIdx.x * 128] = own[63];
    }
    void run(float* rows, float* last, int n) { steps<<<n, 2>>>(rows, last, n, n * 64); }
    """
    guess = completed(source, FileLaunch(str(tmp_path / "steps.cu"), "", "", "", ""))
    numbers = dict(trial_of(source, guess, 0).arguments)
    assert (int(numbers["n"]) < 64, int(numbers["stride_row"]) >= 64) == (True, True)


def test_a_row_of_threads_that_shares_a_tile():
    launch = guess_launch(TILED_PRODUCT, "product.cu")
    assert launch.kernel == "product<128, 128, 8, 8, 8>"
    assert (launch.grid, launch.block) == ("2,2", "256,1")
    assert dict(launch.arguments) == {
        "M": "256", "N": "256", "K": "256", "A": "random:float32[256,256]",
        "B": "random:float32[256,256]", "C": "zeros:float32[256,256]",
    }  # fmt: skip


CLUSTERED = """
#define HIGH 2
__global__ void __cluster_dims__(3, HIGH, 1) twice(const float* from, float* to, int n)
{
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = 2 * from[i];
}
"""


RUN = "void run(float* a, float* b, int n) { twice<<<(n + 63) / 64, 64>>>(a, b, n); }"


@pytest.mark.parametrize("host", ["", RUN])
def test_a_guessed_grid_has_whole_clusters(tmp_path, host) -> None:
    launch = _tried(CLUSTERED + host, tmp_path / "twice.cu")
    x, y = map(int, launch.grid.split(","))
    assert x % 3 == 0
    assert y % 2 == 0
    assert _faults(CLUSTERED + host, tmp_path / "twice.cu") == []
    asked = FileLaunch(str(tmp_path / "twice.cu"), "", "4", "", "")
    assert fitted(CLUSTERED, completed(CLUSTERED, asked), 0).grid == "4"


@pytest.mark.parametrize("blocks", ["51, 2", "50"])
def test_a_grid_of_the_host_stays_where_cuda_refuses_it(tmp_path, blocks) -> None:
    run = f"void run(float* a, float* b) {{ twice<<<dim3({blocks}), 64>>>(a, b, 6528); }}"
    path = tmp_path / "twice.cu"
    if blocks == "50":
        assert _tried(CLUSTERED + run, path).grid == "50,1"
        with pytest.raises(LaunchError, match="x is 50, which is not a multiple of the 3 blocks"):
            _faults(CLUSTERED + run, path)
    else:  # a part of it may be smaller
        assert _faults(CLUSTERED + run, path) == []


ATTRIBUTES = """
__global__ void twice(const float* from, float* to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = 2 * from[i];
}
constexpr int N = COUNT;
int main()
{
    float *from, *to;
    cudaMalloc(&from, N * sizeof(float));
    cudaMalloc(&to, N * sizeof(float));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(N / 64);
    config.blockDim = dim3(64);
    cudaLaunchAttribute attributes[1];
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {SIZE, 1, 1};
    config.attrs = attributes;
    config.numAttrs = 1;
    // SET
    cudaLaunchKernelEx(&config, twice, (const float*)from, to);
}
"""
LARGE = "cudaFuncSetAttribute(twice, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);"


def _with_attributes(count: str, size: int, more: str = "// nothing") -> str:
    source = ATTRIBUTES.replace("COUNT", count).replace("SIZE", str(size))
    return source.replace("// SET", more)


@pytest.mark.parametrize(
    ("count", "size", "more", "refusal"),
    [
        ("3 * 64", 2, "", "Grid size x is 3, which is not a multiple of the 2 blocks"),
        ("5 * 64 * 128", 3, "", "x is 640, which is not a multiple of the 3 blocks"),
        ("16 * 64", 16, "", "more than 8 only where the host code sets cudaFuncAttributeNonPort"),
        ("16 * 64", 16, f"// {LARGE}", "more than 8 only where the host code sets"),
        ("32 * 64", 32, LARGE, "has 32 blocks; CUDA allows at most 16"),
    ],
)
def test_a_cluster_that_cuda_refuses(tmp_path, count, size, more, refusal) -> None:
    with pytest.raises(LaunchError, match=refusal):
        _faults(_with_attributes(count, size, more), tmp_path / "twice.cu")


@pytest.mark.parametrize(
    ("count", "size", "more"),
    [("6 * 64", 2, ""), ("6 * 64 * 256", 6, ""), ("16 * 64", 16, LARGE)],
)
def test_a_cluster_that_cuda_allows(tmp_path, count, size, more) -> None:
    source, path = _with_attributes(count, size, more), tmp_path / "twice.cu"
    launch = _tried(source, path)
    assert int(launch.grid) % size == 0
    assert launch.cluster == f"{size},1,1"
    assert _faults(source, path) == []


def test_a_macro_that_is_given_decides_about_the_grid_of_the_host(tmp_path) -> None:
    source = _with_attributes("3 * 64", 2)
    given = FileLaunch(str(tmp_path / "twice.cu"), "", "", "", "", "N=256")
    assert fitted(source, completed(source, given), 0).grid == "4"


def test_so_has_that_of_a_ptx_file(tmp_path) -> None:
    path = tmp_path / "twice.ptx"
    path.write_text(compile_ptx(CLUSTERED, kind="as_compiled", architecture="compute_90").ptx)
    launch = complete_ptx(read_ptx(str(path)), FileLaunch(str(path), "", "", "", ""))
    x, y = map(int, launch.grid.split(","))
    assert x % 3 == 0
    assert y % 2 == 0


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
