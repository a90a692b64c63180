"""Arrays as long as their indices go, and sizes that were guessed said to be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.guessing.launch_guess import completed, guess_launch
from core.guessing.trial_runs import fitted
from core.recording.record_launch import record
from core.source.index_expressions import indexed_alike, only_axis
from core.user_files.launch_texts import FileLaunch, file_workload
from core.user_files.sources_and_headers import read_source
from gui.scenes.findings_list import finding_rows

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def tried(source: str, **given: str):
    asked = FileLaunch("k.cu", "", "", "", "", "", tuple(given.items()))
    return fitted(source, completed(source, asked), 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x[threadIdx.x * 2] = 1;", 2 * 63 + 1),
        (f"{INDEX} x[i] = 1;", 256),
        (f"{INDEX} x[3 * (i + 1)] = x[i];", 3 * 256 + 1),
        (f"const {INDEX} int j = 2 * i, k = j + 5; x[k] = 1;", 2 * 255 + 5 + 1),
        (f"{INDEX} x[i + blockDim.x * gridDim.x] = 1;", 512),
        (f"{INDEX} if (i < 200) x[2 * i] = 1;", 2 * 199 + 1),  # a guard
        (f"{INDEX} i = 2 * i; x[i] = 1;", 511),
        (f"{INDEX} x[i * 1000000000u] = 1;", 256),  # more than an array may have: a fault
        (f"{INDEX} x[i - 1] = 1;", 256),  # in front of the array: a fault
    ],
)
def test_an_array_whose_size_nothing_says_is_as_long_as_its_indices_go(body, expected):
    arguments = dict(tried(kernel("int* x", body)).arguments)
    assert arguments["x"].endswith(f"[{expected}]")


def test_what_is_given_stays_whatever_the_kernel_does():
    source = kernel("int* x", "x[threadIdx.x * 2] = 1;")
    assert dict(tried(source, x="int32[64]").arguments)["x"] == "int32[64]"
    (row,) = finding_rows(record(file_workload(source, tried(source, x="int32[64]"))))
    assert (row.finding.array, row.finding.needs) == ("x", 127)


def kernel(parameters: str, body: str) -> str:
    return f"__global__ void k({parameters})\n{{\n    {body}\n}}\n"


def findings(source: str):
    return finding_rows(record(file_workload(source, tried(source))))


def test_a_right_kernel_is_not_accused_of_a_guess():
    source = kernel("int* x", "x[threadIdx.x * 2] = threadIdx.x;")
    launch = tried(source)
    assert dict(launch.arguments) == {"x": "zeros:int32[127]"}
    assert findings(source) == ()


def test_where_a_size_was_guessed_the_finding_says_so():
    source = kernel("int* x, int n", "int i = threadIdx.x; if (i <= n) x[i] = i;")
    (row,) = findings(source)
    assert row.message.endswith(
        "The size of x, 58, was guessed, as nothing in the file says it, and 59 would hold this: "
        "if the program makes it larger, set it at x in Configuration."
    )


def test_a_size_that_is_said_was_not_guessed():
    source = kernel("int* x", "int i = threadIdx.x; if (i < 40) x[i * 2] = i;")
    launch = guess_launch(source, "k.cu")
    said = replace(launch, arguments=(("x", "zeros:int32[66]"),))
    (row,) = finding_rows(record(file_workload(source, said)))
    assert "guessed" not in row.message
    host = "int main() { int* x; cudaMalloc(&x, 256); k<<<1, 64>>>(x); cudaDeviceSynchronize(); }\n"
    (row,) = findings(f"{source}{host}")
    assert "guessed" not in row.message


def test_an_argument_that_is_a_size_decides_as_before():
    """`a[i + 1]` of n elements stays the mistake that it is."""
    source = kernel("const float* a, float* b, int n", f"{INDEX}\n    b[i] = a[i + 1];")
    (row,) = findings(source)
    assert row.finding.array == "a"
    assert "was guessed" in row.message


BIAS = """__global__ void bias(float* C, const float* bias, float* sums, float* odd, int M, int N)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        C[row * N + col] += bias[col];
        atomicAdd(&sums[row], C[row * N + col]);
        odd[col] = odd[row];
    }
}
"""


def test_an_array_of_one_index_beside_matrices_has_one_dimension():
    arguments = dict(guess_launch(BIAS, "bias.cu", None, {"M": "20", "N": "48"}).arguments)
    assert arguments["C"] == "random:float32[20,48]"
    assert arguments["bias"] == "random:float32[48]"
    assert arguments["sums"].endswith(":float32[20]")
    assert arguments["odd"] == "random:float32[20,48]", "rows and columns"


@pytest.mark.parametrize(
    ("index", "axis"),
    [("col", 0), ("row", 1), ("row * N + col", None), ("col + 1", None), ("k", None), ("n", None)],
)
def test_the_only_index_of_an_array(index, axis):
    body = BIAS[BIAS.index("{") :].replace("bias[col]", f"v[{index}]")
    assert only_axis("v", body) == axis


ROWS = """__global__ void spmv(const int* begins, const int* J, const float* v, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int from = begins[i], to = begins[i + 1];
        float sum = 0;
        for (int j = from; j < to; ++j) sum += v[j] * J[j];
        y[i] = sum;
    }
}
"""


WARPS = """__global__ void spmv(const int* begins, const int* J, const float* v, float* y, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (i >= n) return;
    float sum = 0;
    for (int j = begins[i] + lane; j < begins[i + 1]; j += 32) sum += v[j] * J[j];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) y[i] = sum;
}
"""


@pytest.mark.parametrize("source", [ROWS, WARPS], ids=["a thread a row", "a warp a row"])
def test_elements_that_begin_rows_are_in_order_and_one_more(source):
    launch = tried(source)
    assert dict(launch.arguments)["begins"] == "range:int32[251]"
    assert not record(file_workload(source, launch, 3)).findings


TURNED = """__global__ void turn(float *out, const float *in, int width, int height) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}
int main() {
    int width = 48, height = 31;
    float *in, *out;
    cudaMalloc(&in, width * height * 4);
    cudaMalloc(&out, width * height * 4);
    turn<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, in, width, height);
}
"""


def test_rows_of_an_array_whose_index_is_set_anew_follow_from_its_columns():
    texts = dict(tried(TURNED).arguments)
    width, height = texts["width"], texts["height"]
    assert width != height
    assert texts["in"] == f"random:float32[{height},{width}]"
    assert texts["out"] == f"zeros:float32[{width},{height}]"


def test_a_difference_of_neighbours_begins_no_rows():
    source = kernel("const int* x, int* y", f"{INDEX} int a = x[i], b = x[i + 1]; y[i] = b - a;")
    assert "range" not in dict(guess_launch(source, "k.cu").arguments)["x"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[threadIdx.x] = table[which];", "0"),
        ("if (threadIdx.x < which) y[threadIdx.x] = table[which];", None),
        ("y[threadIdx.x + which] = table[which];", None),
    ],
)
def test_a_number_that_only_picks_an_element_is_the_first_ones(body, expected):
    source = kernel("const float* table, float* y, int which", body)
    found = dict(guess_launch(source, "k.cu").arguments)["which"]
    assert (found == "0") == (expected == "0")


ACCESSORS = """#include <torch/extension.h>
template <typename T>
__global__ void add(torch::PackedTensorAccessor32<T, 3, torch::RestrictPtrTraits> a,
                    torch::PackedTensorAccessor32<T, 2> b, int n)
{
    int i = threadIdx.x;
    if (i < a.size(2)) for (int k = 0; k < n; ++k) b[blockIdx.x][i] += a[blockIdx.x][k][i];
}
void run(torch::Tensor a, torch::Tensor b) {
    add<float><<<4, 32>>>(a.packed_accessor32<float, 3>(), b.packed_accessor32<float, 2>(),
                          a.size(1));
}
"""


@pytest.mark.slow
def test_accessors_are_tensors_without_gaps_that_share_their_dimensions():
    launch = tried(ACCESSORS)
    given = dict(launch.arguments)
    assert (given["a.sizes_"], given["a.strides_"]) == ("16,16,16", "256,16,1")
    assert (given["b.sizes_"], given["b.strides_"], given["n"]) == ("16,16", "16,1", "16")
    trace = record(file_workload(ACCESSORS, launch, 3))
    assert not trace.findings
    assert trace.counters.totals["global_st_requests"].value > 0


UNTOLD = """#define BLOCK 1024
__global__ void reduce(float* x, float* out) {
    unsigned i = 2 * threadIdx.x;
    for (unsigned stride = 1; stride <= blockDim.x; stride *= 2) {
        if (threadIdx.x % stride == 0) x[i] += x[i + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = x[0];
}
void run(int n) {
    float *x, *out;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&out, sizeof(float));
    reduce<<<1, BLOCK>>>(x, out);
}
"""


def test_an_array_of_a_size_that_the_kernel_is_not_told_is_large_enough():
    assert dict(tried(UNTOLD).arguments)["x"] == "random:float32[2048]"
    told = UNTOLD.replace("float* out)", "float* out, int n)").replace("(x, out)", "(x, out, n)")
    assert dict(tried(told).arguments)["x"] == "random:float32[1024]"


STRUCTURES = """#include "states.h"
__global__ void set(State* states, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) states[i].a = i;
}
int main() {
    State* s;
    cudaMalloc(&s, 100 * sizeof(State));
    set<<<1, 128>>>(s, 100);
}
"""


def test_the_size_of_a_type_of_a_header_is_the_compilers(tmp_path):
    (tmp_path / "states.h").write_text("struct State { int a; double b; int c[5]; };\n")
    (tmp_path / "k.cu").write_text(STRUCTURES)
    source = read_source(tmp_path / "k.cu")
    launch = completed(source, FileLaunch(str(tmp_path / "k.cu"), "", "", "", "", "", ())).launch
    assert dict(launch.arguments)["states"] == "random:uint8[100,40]"


POINTERS = """namespace own {
template <typename T> __device__ T twice(const T& x) { return 2 * x; }
template <typename T, T (*F)(const T&)>
__global__ void each(T* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = F(x[threadIdx.x]); }
}
#define LAUNCH(FUNCTION) \\
    DISPATCH(x.scalar_type(), [&] { \\
        own::each<scalar_t, FUNCTION<scalar_t>><<<1, 32>>>(x.data_ptr<scalar_t>(), n); });
void run(Tensor x, int n) { LAUNCH(own::twice) }
"""


def test_a_function_as_template_argument_is_of_the_type_that_is_chosen():
    launch = tried(POINTERS)
    assert launch.kernel == "each<float, own::twice<float>>"
    assert not record(file_workload(POINTERS, launch, 3)).findings


ATTENTION = """__global__ void attend(const float* Q, const float* K, float* O, int N, int d, int B)
{
    int tx = threadIdx.x, base = blockIdx.x * N * d;
    for (int i = 0; i < N / B; ++i) {
        float sum = 0;
        for (int j = 0; j < N; ++j)
            for (int x = 0; x < d; ++x)
                sum += Q[base + (i * B + tx) * d + x] * K[base + j * d + x];
        for (int x = 0; x < d; ++x) O[base + (i * B + tx) * d + x] = sum;
    }
}
void run(Tensor q, int N, int d) { attend<<<8, 32>>>(q.data(), q.data(), q.data(), N, d, 32); }
"""


@pytest.mark.slow
def test_arrays_that_are_indexed_alike_grow_together():
    assert indexed_alike(["Q", "K", "O"], ATTENTION) == {
        "Q": {"O"},
        "O": {"Q"},
        "K": frozenset(),
    }
    assert indexed_alike(["a", "b"], "a[0] = b[0]; a[i] = b[ i + 1 ];")["a"] == frozenset()
    arguments = dict(tried(ATTENTION).arguments)
    assert arguments["O"].partition("[")[2] == arguments["Q"].partition("[")[2]


SEVERAL = """const int N = 65536, B = 128;
__global__ void k(float *a) { int i = blockIdx.x * B + threadIdx.x; if (i < N) a[i] = 1; }
int main() { float *a; cudaMalloc(&a, sizeof(float) * N); k<<<N / B, B>>>(a); }
"""


def test_of_several_constants_in_one_declaration_some_may_shrink():
    launch = tried(SEVERAL)
    assert launch.defines == "N=512"
    trace = record(file_workload(SEVERAL, launch, 3))
    assert not trace.findings
    assert (trace.outputs["a"] == 1).all()


STRIDED = """const int ROWS = 64, COLUMNS = 16;
const int NUM_THREADS = 256;
__global__ void k(const float *A, float *C)
{
    __shared__ float tile[ROWS * COLUMNS];
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += NUM_THREADS) tile[i] = A[i];
    __syncthreads();
    C[threadIdx.x] = tile[ROWS * COLUMNS - 1 - threadIdx.x];
}
"""


def test_a_block_has_the_threads_that_a_constant_of_the_file_speaks_of():
    launch = tried(STRIDED)
    assert launch.block == "256"
    assert not record(file_workload(STRIDED, launch, 3)).findings


HIDDEN = """__constant__ float c[64];
__global__ void k(float *a, float *c) { a[threadIdx.x] = c[threadIdx.x]; }
int main() { float *a; cudaMalloc(&a, 256); k<<<1, 64>>>(a, c); }
"""


def test_a_parameter_hides_a_variable_of_its_name():
    launch = tried(HIDDEN)
    assert [name for name, _ in launch.arguments] == ["a", "c"]
    assert not record(file_workload(HIDDEN, launch, 3)).findings


def test_the_radius_of_a_window_is_small():
    body = f"""{INDEX} float sum = 0;
        for (int j = -r; j <= r; j++) if (i + j >= 0 && i + j < n) sum += a[i + j] * f[j + r];
        if (i < n) b[i] = sum;"""
    launch = tried(kernel("const float* a, const float* f, float* b, int r, int n", body))
    assert dict(launch.arguments)["r"] == "2"
    assert dict(launch.arguments)["n"] != "2"


@pytest.mark.slow
def test_a_number_that_leads_beyond_an_array_of_a_threads_own_is_made_small():
    body = f"""{INDEX} unsigned places[5]; int sum = 0;
        for (int j = 0; j < count; j++) places[j] = a[i] * j;
        for (int j = 0; j < count; j++) sum += places[j];
        b[i] = sum;"""
    source = kernel("const int* a, int* b, int count", body)
    assert int(dict(tried(source).arguments)["count"]) <= 5
    assert dict(tried(source, count="64").arguments)["count"] == "64"


def test_of_a_class_with_specialisations_alone_one_is_taken():
    source = """
template <class T> struct Load { __device__ T at(const T* p); };
template <> __device__ int2 Load<int2>::at(const int2* p) { return *p; }
template <> __device__ int4 Load<int4>::at(const int4* p) { return *p; }
template <class T> __global__ void k(T* a) { Load<T> l; a[threadIdx.x] = l.at(a + 1); }
template <class Kind> void run(Kind* a) { k<Kind><<<1, 32>>>(a); }
"""
    assert completed(source, FileLaunch("k.cu", "", "", "", "")).launch.kernel == "k<int2>"
    more = source.replace("int4", "float")
    assert completed(more, FileLaunch("k.cu", "", "", "", "")).launch.kernel == "k<float>"


@pytest.mark.parametrize(
    ("value", "texels"),
    [
        ("float4 one = {1, 2, 3, 4}; surf2Dwrite(one, s, x * sizeof(one), y);", "float32[64,64,4]"),
        ("surf2Dwrite(make_uchar4(1, 2, 3, 4), s, 4 * x, y);", "uint8[64,64,4]"),
        ("float two = 2; surf2Dwrite(two, s, 4 * x, y);", "float32[64,64]"),
    ],
)
def test_a_surface_has_texels_of_what_is_written(value, texels):
    body = f"int x = threadIdx.x, y = blockIdx.x; if (x < 9 && y < 9) {{ {value} }}"
    source = kernel("cudaSurfaceObject_t s", body)
    made = completed(source, FileLaunch("k.cu", "", "", "", "")).launch
    assert texels in dict(made.arguments)["s"]
    assert not findings(source)
