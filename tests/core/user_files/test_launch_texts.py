"""Launches of a user's kernels: first guesses that run, and every mistake at its field."""

import time
from dataclasses import replace

import numpy as np
import pytest

from core.errors import ArgumentError, TilescopeError
from core.guessing.launch_guess import completed, guess_launch, refit
from core.recording.record_launch import record
from core.user_files.launch_texts import (
    FieldErrors,
    FileLaunch,
    file_workload,
    join_defines,
    split_defines,
)
from tests.core.user_files.own_files import source_of

SAXPY = """
__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
MATMUL = """
#define TILE 16 // comment: OTHER_NAME
__global__ void matmul(float* a, float* b, float* c, int width) {
    __shared__ float s[TILE][TILE], t[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < width / TILE; ++p) {
        s[threadIdx.y][threadIdx.x] = a[row * width + p * TILE + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(p * TILE + threadIdx.y) * width + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += s[threadIdx.y][k] * t[k][threadIdx.x];
        __syncthreads();
    }
    c[row * width + col] = sum;
}
"""
TRANSPOSE = """
__global__ void transpose(const double *in, double *out, unsigned n) {
    __shared__ double tile[TILE_WIDTH][TILE_WIDTH + 1];
    unsigned x = blockIdx.x * TILE_WIDTH + threadIdx.x, y = blockIdx.y * TILE_WIDTH + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * TILE_WIDTH + threadIdx.x; y = blockIdx.x * TILE_WIDTH + threadIdx.y;
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
"""
REDUCE = """
__global__ void reduce(const int* data, int* total) {
    extern __shared__ int part[];
    part[threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(&total[0], part[0]);
}
"""
MATVEC = """
constexpr int ROWS = 8;
__global__ void matvec(const float* A, const float* x, float* y, int N) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    float sum = 0;
    for (int k = 0; k < N; k++) sum += A[row * N + k] * x[k];
    y[row] = sum;
}
"""
VECTORS = """
__global__ void scale(float4* v, float by) {
    float4 p = v[threadIdx.x];
    v[threadIdx.x] = make_float4(p.x * by, p.y * by, p.z * by, p.w * by);
}
"""


@pytest.mark.parametrize("source", [SAXPY, MATMUL, TRANSPOSE, REDUCE, MATVEC, VECTORS])
def test_a_plain_kernel_runs_at_once(source):
    launch = guess_launch(source, "/somewhere/kernel.cu")
    trace = record(file_workload(source, launch))
    assert trace.findings == ()
    assert all(np.isfinite(values).all() for values in trace.outputs.values())


@pytest.mark.slow
def test_what_is_guessed():
    launch = guess_launch(MATMUL, "m.cu")
    assert (launch.kernel, launch.grid, launch.block, launch.defines) == (
        "matmul",
        "2,2",
        "16,16",
        "",
    )
    arguments = dict(launch.arguments)
    assert arguments["a"] == "random:float32[32,32]"
    assert arguments["c"] == "zeros:float32[32,32]"
    assert arguments["width"] == "32"
    assert guess_launch(TRANSPOSE, "t.cu").defines == "TILE_WIDTH=16"
    reduce = guess_launch(REDUCE, "r.cu")
    assert (reduce.block, reduce.shared) == ("64", "256")
    assert dict(reduce.arguments)["total"].startswith("zeros:int32")
    assert dict(guess_launch(MATVEC, "v.cu").arguments)["A"] == "random:float32[250,250]"
    assert dict(guess_launch(VECTORS, "v.cu").arguments)["v"] == "random:float32[64,4]"
    assert guess_launch(VECTORS, "v.cu").grid == "1"


def test_a_product_is_drawn_as_one():
    source = MATMUL.replace("float* a, float* b", "const float* a, const float* b")
    layout = file_workload(source, guess_launch(source, "m.cu")).layout
    assert (layout.left, layout.top, layout.result) == ("a", "b", "c")
    assert file_workload(SAXPY, guess_launch(SAXPY, "s.cu")).layout is None


def test_every_mistake_is_at_its_field():
    launch = FileLaunch(
        "s.cu", "saxpy", "0", "64,32", "-1", "1X",
        (("n", "12.5"), ("a", "x"), ("x", "random:float64[4]"), ("y", "random:float32[]")),
    )  # fmt: skip
    with pytest.raises(FieldErrors) as caught:
        file_workload(SAXPY, launch)
    fields = caught.value.fields
    assert set(fields) == {
        "grid", "block", "shared", "defines", "arg:n", "arg:a", "arg:x", "arg:y"
    }  # fmt: skip
    assert all(sentence.endswith(".") for sentence in fields.values())
    assert "2048 threads" in fields["block"]
    assert "float64" in fields["arg:x"]
    good = guess_launch(SAXPY, "s.cu")
    with pytest.raises(FieldErrors, match="no kernel called other") as caught:
        file_workload(SAXPY, replace(good, kernel="other"))
    assert set(caught.value.fields) == {"kernel"}
    with pytest.raises(FieldErrors) as caught:
        file_workload(SAXPY, replace(good, arguments=good.arguments[:-1]))
    assert set(caught.value.fields) == {"arg:y"}


def test_sources_that_hold_no_kernel_or_odd_ones():
    with pytest.raises(TilescopeError, match=r"plain\.cu has no kernel"):
        guess_launch("int main() { return 0; }", "/a/plain.cu")
    with pytest.raises(TilescopeError, match="has no kernel"):
        file_workload("// __global__ void k() {}", FileLaunch("k.cu", "k"))
    with pytest.raises(ArgumentError, match="pointers to pointers"):
        guess_launch("__global__ void k(float*** p) {}", "k.cu")
    empty = guess_launch("__global__ void k() {}", "k.cu")
    assert empty.arguments == ()


def test_an_edited_signature_keeps_what_still_fits():
    launch = replace(guess_launch(SAXPY, "s.cu"), grid="7", block="8")
    typed = dict(launch.arguments) | {"n": "50", "x": "ones:float32[50]", "y": "@y.npy"}
    launch = replace(launch, arguments=tuple(typed.items()))
    edited = SAXPY.replace("int n, float a, const float* x", "int n, const double* x, long extra")
    found = refit(edited, launch)
    assert (found.grid, found.block) == ("7", "8")
    arguments = dict(found.arguments)
    assert list(arguments) == ["n", "x", "extra", "y"]
    assert (arguments["n"], arguments["y"]) == ("50", "@y.npy")
    assert arguments["x"].startswith("random:float64")
    renamed = refit(SAXPY.replace("saxpy", "axpy"), launch)
    assert (renamed.kernel, dict(renamed.arguments)["n"]) == ("axpy", "50")


def test_a_guessed_cluster_ends_with_its_kernel():
    source = source_of("partners")
    launch = guess_launch(source, "partners.cu", "neighbours")
    assert launch.cluster == "4,1,1"
    assert refit(source + "// edited", launch).cluster == "4,1,1"
    other = "__global__ void other(float* x) {} void run(float* x) { other<<<3, 64>>>(x); }"
    assert refit(other, launch).cluster == ""


def test_defines_are_split_at_spaces():
    assert dict(split_defines(" A=1  B;C=x+1 ")) == {"A": "1", "B": "1", "C": "x+1"}
    assert dict(split_defines("")) == {}


@pytest.mark.parametrize(
    "defines",
    [
        {"T": "long long", "N": "3"},
        {"S": '"a b"', "Q": "it's"},
        {"E": "{ceil_div(n, 2)}", "P": "a;b"},
    ],
)
def test_defines_may_hold_spaces_and_quotation_marks(defines):
    assert dict(split_defines(join_defines(defines))) == defines
    with pytest.raises(ArgumentError, match="`A='1`: a quotation mark is not closed"):
        split_defines("A='1")


def test_macros_that_are_not_given_are_guessed_beside_those_that_are():
    source = "__global__ void k(REAL* v) { __shared__ REAL s[TILE]; s[0] = v[0]; v[1] = s[0]; }\n"
    launch = completed(source, FileLaunch("x.cu", "k", defines=" REAL=double")).launch
    assert dict(split_defines(launch.defines)) == {"REAL": "double", "TILE": "64"}
    launch = completed(source, FileLaunch("x.cu", "k", defines=" REAL=double;TILE=8")).launch
    assert launch.defines == " REAL=double;TILE=8"


def test_a_macro_may_be_a_type_of_two_words():
    source = "__global__ void k(Word* v) { v[threadIdx.x] += 1; }\n"
    launch = completed(
        source, FileLaunch("x.cu", "k", defines=join_defines({"Word": "long long"}))
    ).launch
    workload = file_workload(source, launch)
    assert dict(workload.defines) == {"Word": "long long"}
    assert workload.launch.arrays[0].data.dtype == np.int64
    trace = record(workload)
    assert trace.outputs["v"].tolist() == [1] * 32  # of zeros, by the warp that a launch has


SCALED = """__global__ void scaled(const float *x, float *y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = m * x[i];
}"""
PRODUCT = """
__global__ void product(const float *A, const float *B, float *C, int M, int N, int K) {
    int bx = blockIdx.x, by = blockIdx.y;
    const int column = bx * 16 + threadIdx.x, row = by * 16 + threadIdx.y;
    float sum = 0;
    if (M <= row || column >= N) return;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    C[row * N + column] = sum;
}"""
HOSTED = (
    SCALED
    + """
void run(int count, int factor) {
    float *x, *y; int rest = 1 << 14;
    cudaMalloc(&x, count * sizeof(float)); cudaMalloc(&y, sizeof(float) * rest);
    scaled<<<(count + 127) / 128, 128>>>(x, y, count, factor);
}"""
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "given", "grid", "expected"),
    [
        (SCALED, {"m": "7"}, "4", {"x": "[250]", "y": "[250]", "n": "250"}),
        (SCALED, {"n": "1000"}, "16", {"x": "[1000]", "y": "[1000]", "m": "256"}),
        (SCALED, {"n": "90", "m": "90"}, "2", {"x": "[90]", "y": "[90]"}),
        (PRODUCT, {"M": "100"}, "2,7", {"A": "[100,32]", "B": "[32,32]", "C": "[100,32]"}),
        (PRODUCT, {"N": "50"}, "4,2", {"A": "[32,32]", "B": "[32,50]", "C": "[32,50]"}),
        (PRODUCT, {"K": "9"}, "2,2", {"A": "[32,9]", "B": "[9,32]", "C": "[32,32]"}),
        (PRODUCT, {"M": "5", "N": "70", "K": "33"}, "5,1", {"A": "[5,33]", "C": "[5,70]"}),
        (MATMUL, {"width": "100"}, "7,7", {"a": "[100,100]", "c": "[100,100]"}),
        (HOSTED, {"n": "1000"}, "8", {"x": "[1000]", "n": "1000"}),
        (HOSTED, {"n": "70000"}, "547", {"x": "[70000]"}),
        (HOSTED, {"m": "3"}, "4", {"m": "3", "n": "480", "x": "[480]"}),  # a warp less
    ],
)
def test_what_is_given_is_known_to_the_guess(source, given, grid, expected):
    asked = FileLaunch("k.cu", "", "", "", "", "", tuple(given.items()))
    whole = completed(source, asked).launch
    arguments = dict(whole.arguments)
    assert whole.grid == grid
    assert {name: arguments[name] for name in given} == given
    for name, text in expected.items():
        assert arguments[name].endswith(text), (name, arguments[name])
    file_workload(source, whole)


@pytest.mark.slow
def test_a_large_file_is_guessed_quickly():
    parts = [
        f"""__global__ void scale{i}(const float *x, float *y, int n) {{
            __shared__ float part[{64 + i % 3}];
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) {{ part[threadIdx.x] = x[i]; y[i] = {i} * part[threadIdx.x]; }}
        }}
        void run{i}(float *x, float *y, int count) {{ // the host's part of it
            const int threads = 128, blocks = (count + threads - 1) / threads;
            scale{i}<<<blocks, threads>>>(x, y, count);
        }}
        """
        for i in range(1000)
    ]
    source = "".join(parts)
    assert len(source) > 450_000
    start = time.thread_time()
    launch = guess_launch(source, "large.cu", "scale700")
    assert (launch.grid, launch.block) == ("4", "128")
    assert time.thread_time() - start < 8  # about 0.9 s; it once took 24 s
