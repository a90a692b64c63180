"""What is given of a launch decides about the rest, as the host's code would."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.guessing.launch_guess import completed, smaller
from core.guessing.trial_runs import fitted
from core.host_program.scaled_down_launch import is_legal_block
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch, file_workload, join_defines, split_defines

TILED = """#define TILE_WIDTH 16
__global__ void tiled(const float* M, const float* N, float* P, int Width)
{
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int m = 0; m < Width / TILE_WIDTH; ++m) {
        Ms[ty][tx] = M[row * Width + m * TILE_WIDTH + tx];
        Ns[ty][tx] = N[(m * TILE_WIDTH + ty) * Width + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
"""
HOST = """
void multiply(float* hM, float* hN, int Width)
{
    int size = Width * Width * sizeof(float);
    float *Md, *Nd, *Pd;
    cudaMalloc((void**)&Md, size); cudaMemcpy(Md, hM, size, cudaMemcpyHostToDevice);
    cudaMalloc((void**)&Nd, size); cudaMemcpy(Nd, hN, size, cudaMemcpyHostToDevice);
    cudaMalloc((void**)&Pd, size);
    dim3 grid(Width / TILE_WIDTH, Width / TILE_WIDTH), block(TILE_WIDTH, TILE_WIDTH);
    tiled<<<grid, block>>>(Md, Nd, Pd, Width);
}
int main() { multiply(0, 0, 1024); }
"""
RECTANGLES = """#define TILE 16
__global__ void rectangles(float* A, float* B, float* C, int N1, int N2, int N3)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = TILE * blockIdx.y + ty, j = TILE * blockIdx.x + tx;
    float value = 0;
    for (int phase = 0; phase < (N2 + TILE - 1) / TILE; phase++) {
        a[ty][tx] = (i < N1) && ((phase * TILE + tx) < N2) ? A[i * N2 + phase * TILE + tx] : 0;
        b[ty][tx] = ((phase * TILE + ty) < N2) && (j < N3) ? B[(phase * TILE + ty) * N3 + j] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) value += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    if ((i < N1) && (j < N3)) C[i * N3 + j] = value;
}
"""
TRANSPOSE = """#define TILE_DIM 32
#define BLOCK_ROWS 16
__global__ void turned(float* out, float* in, int width, int height)
{
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    int from = x + width * y, to = y + height * x;
    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS) out[to + i] = in[from + i * width];
}
"""
POINTER = """
int main(int argc, char** argv)
{
    int size_x, size_y, bytes;
    read(argc, argv, size_x, size_y);
    dim3 grid(size_x / TILE_DIM, size_y / TILE_DIM), threads(TILE_DIM, BLOCK_ROWS);
    void (*kernel)(float*, float*, int, int);
    float *d_out, *d_in;
    kernel = &turned;
    kernel<<<grid, threads>>>(d_out, d_in, size_x, size_y);
}
"""
BY_TEMPLATE = """template <int BLOCK> __global__ void rows(const float* x, float* y, int n)
{
    __shared__ float s[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = s[BLOCK - 1 - threadIdx.x];
}
"""
BY_SIZE = (
    BY_TEMPLATE
    + """
void run(const float* x, float* y, int n, int block_size)
{
    dim3 threads(block_size), grid((n + block_size - 1) / block_size);
    if (block_size == 16) {
        rows<16><<<grid, threads>>>(x, y, n);
    } else {
        rows<64><<<grid, threads>>>(x, y, n);
    }
}
"""
)

MEMSET = """#include <cuda_runtime.h>
#define COUNT 64
__global__ void adds(const int *sums, const int *x, int *out)
{
    out[threadIdx.x] = sums[threadIdx.x] + x[threadIdx.x];
}
__global__ void takes(const int *sums, int *out) { out[threadIdx.x] = sums[threadIdx.x] - 1; }
int main()
{
    int *sums, *x, *out;
    cudaMalloc(&sums, COUNT * sizeof(int));
    cudaMalloc((void **)&x, COUNT * sizeof(int));
    cudaMalloc(&out, COUNT * sizeof(int));
    cudaMemset(sums, 0, COUNT);
    cudaMemset(x, 0, COUNT * sizeof(int));
    adds<<<1, COUNT>>>(sums, x, out);
    cudaMemset(sums, 0, COUNT * sizeof(int));
    takes<<<1, COUNT>>>(sums, out);
    return cudaDeviceSynchronize();
}
"""


def launch_of(source: str, kernel: str = "", grid="", block="", defines=None, **given: str):
    """The launch that `tilescope trace` would run."""
    asked = FileLaunch(
        "k.cu", kernel, grid, block, "", join_defines(defines or {}), tuple(given.items())
    )
    return fitted(source, completed(source, asked), 5)


def shapes(launch):
    return {n: t.partition("[")[2].rstrip("]") for n, t in launch.arguments if "[" in t}


@pytest.mark.slow
@pytest.mark.parametrize("source", [TILED, TILED + HOST], ids=["alone", "hosted"])
@pytest.mark.parametrize(
    ("options", "grid", "block", "shape"),
    [
        ({"defines": {"TILE_WIDTH": "2"}, "Width": "4"}, "2,2", "2,2", "4,4"),
        ({"defines": {"TILE_WIDTH": "8"}}, "4,4", "8,8", "32,32"),
        ({"Width": "48"}, "3,3", "16,16", "48,48"),
        ({"grid": "4,4"}, "4,4", "16,16", "64,64"),
        ({"M": "float32[64,64]"}, "4,4", "16,16", "64,64"),
        ({"M": "float32[4096]"}, "4,4", "16,16", "64,64"),
    ],
)
def test_one_size_decides_about_all(source, options, grid, block, shape):
    launch = launch_of(source, **options)
    assert (launch.grid, launch.block) == (grid, block)
    assert {s for n, s in shapes(launch).items() if n not in options} == {shape}
    trace = record(file_workload(source, launch))
    assert not trace.findings, [f.message for f in trace.findings]
    m, n = (a.data.astype(np.float64).reshape(tuple(map(int, shape.split(","))))
            for a in trace.workload.launch.arrays[:2])  # fmt: skip
    error = np.abs(trace.outputs["P"] - m @ n).max()
    assert not (~(error <= 1e-4))


CONSTANTS = """constexpr int M = (1 << 9) + 7;
constexpr int N = (1 << 10) + 7;
const int SIDE = 32;
const int CELLS = 1 << 10; // as many as N would be
__global__ void filled(int* c)
{
    __shared__ int s[CELLS];
    int row = blockIdx.y * SIDE + threadIdx.y, col = blockIdx.x * SIDE + threadIdx.x;
    s[threadIdx.y * SIDE + threadIdx.x] = row;
    __syncthreads();
    if (row < M && col < N) c[row * N + col] = s[threadIdx.x * SIDE + threadIdx.y];
}
int main()
{
    size_t bytes = M * N * sizeof(int);
    int* d_c;
    cudaMalloc(&d_c, bytes);
    dim3 threads(SIDE, SIDE), blocks((N + SIDE - 1) / SIDE, (M + SIDE - 1) / SIDE);
    filled<<<blocks, threads>>>(d_c);
}
"""


def test_constants_of_kernel_and_host_shrink_for_both():
    """One that the kernel sees is set by -D: the host's value alone would be wrong."""
    launch = launch_of(CONSTANTS)
    defines = split_defines(launch.defines)
    assert set(defines) == {"M", "N"}
    assert all(int(value) < 512 for value in defines.values())
    trace = record(file_workload(CONSTANTS, launch))
    assert not trace.findings
    assert trace.outputs["c"].size == int(defines["M"]) * int(defines["N"])
    macros = CONSTANTS.replace("constexpr int N = (1 << 10) + 7;", "#define N 103")
    macros = macros.replace("constexpr int M = (1 << 9) + 7;", "#define M 70")
    launch = launch_of(macros)
    sizes = {name: int(value) for name, value in split_defines(launch.defines).items()}
    assert sizes == {"M": 35, "N": 51}
    trace = record(file_workload(macros, launch))
    assert not trace.findings
    assert trace.outputs["c"].size == 35 * 51


@pytest.mark.slow
def test_what_is_given_to_d_counts_in_place_of_the_files_own():
    for line in ("#define TILE_WIDTH 16", "const int TILE_WIDTH = 16;",
                 "static constexpr unsigned TILE_WIDTH = 16;", ""):  # fmt: skip
        source = TILED.replace("#define TILE_WIDTH 16", line)
        launch = launch_of(source, defines={"TILE_WIDTH": "4"}, Width="12")
        assert (launch.grid, launch.block) == ("3,3", "4,4")
        trace = record(file_workload(source, launch))
        assert not trace.findings
        assert trace.shared_arrays[0].shape == (4, 4)
        assert trace.workload.source == source


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({"N1": "20", "N2": "50", "N3": "37"}, (20, 50, 37)),
        ({"A": "float32[20,50]", "N3": "40"}, (20, 50, 40)),
        ({"B": "float32[9,70]", "A": "float32[33,9]"}, (33, 9, 70)),
        ({"C": "zeros:float32[5,18]"}, (5, 32, 18)),
    ],
)
def test_rectangles_get_their_shapes_whatever_is_given(given, sizes):
    n1, n2, n3 = sizes
    launch = launch_of(RECTANGLES, **given)
    texts = dict(launch.arguments)
    assert [int(texts[name]) for name in ("N1", "N2", "N3")] == [n1, n2, n3]
    assert shapes(launch) == {"A": f"{n1},{n2}", "B": f"{n2},{n3}", "C": f"{n1},{n3}"}
    assert launch.grid == f"{-(-n3 // 16)},{-(-n1 // 16)}"
    trace = record(file_workload(RECTANGLES, launch))
    assert not trace.findings
    a, b, _ = (x.data.astype(np.float64) for x in trace.workload.launch.arrays)
    assert not (~(np.abs(trace.outputs["C"] - a @ b).max() <= 1e-4))


@pytest.mark.parametrize("source", [TRANSPOSE, TRANSPOSE + POINTER], ids=["alone", "pointer"])
def test_a_block_lower_than_its_tile_is_that_of_the_host(source):
    launch = launch_of(source, width="96", height="64")
    assert (launch.grid, launch.block) == ("3,2", "32,16")
    trace = record(file_workload(source, launch))
    assert not trace.findings
    old = trace.workload.launch.arrays[1].data.reshape(64, 96)
    assert np.array_equal(trace.outputs["out"].reshape(96, 64), old.T)


@pytest.mark.slow
def test_template_arguments_make_the_block():
    for source in (BY_TEMPLATE, BY_SIZE):
        for size in (16, 64):
            launch = launch_of(source, f"rows<{size}>", n="200")
            assert (launch.grid, launch.block) == (str(-(-200 // size)), str(size))
            assert not record(file_workload(source, launch)).findings


def test_a_block_that_is_given_changes_the_grid_and_dynamic_shared_memory():
    source = """__global__ void sums(const int* x, int* y, int n)
    {
        extern __shared__ int s[];
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        s[threadIdx.x] = i < n ? x[i] : 0;
        __syncthreads();
        if (threadIdx.x == 0) for (int k = 0; k < blockDim.x; k++) y[blockIdx.x] += s[k];
    }"""
    launch = launch_of(source, block="32", n="100")
    assert (launch.grid, launch.block, launch.shared) == ("4", "32", "128")
    hosted = source + """
    void run(const int* x, int* y) {
        int n = 1 << 20, threads = 256;
        sums<<<(n + threads - 1) / threads, threads, threads * sizeof(int)>>>(x, y, n);
    }"""  # fmt: skip
    launch = launch_of(hosted, block="32", n="100")
    assert (launch.grid, launch.block, launch.shared) == ("4", "32", "128")


def test_a_guess_is_one_that_cuda_allows():
    wide = """__global__ void wide(float* a, int n)
    {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        if (x < n && y < n) a[y * n + x] = 1;
    }
    void run(float* a, int n, int block_size)
    {
        dim3 block(block_size, block_size), grid(n / block_size, n / block_size);
        wide<<<grid, block>>>(a, n);
    }"""
    launch = launch_of(wide)
    assert is_legal_block([int(size) for size in launch.block.split(",")])
    assert launch.block != "128,128"
    assert not record(file_workload(wide, launch)).findings
    large = """__global__ void large(float* a)
    {
        __shared__ float s[SIZE][SIZE];
        s[threadIdx.y][threadIdx.x] = 1;
        a[threadIdx.x] = s[threadIdx.y][threadIdx.x];
    }"""
    launch = launch_of(large)
    size = int(split_defines(launch.defines)["SIZE"])
    assert 4 * size * size <= 48 << 10
    assert not is_legal_block((128, 128))
    assert not is_legal_block((1, 1, 128))
    assert is_legal_block((1024,))


def test_variables_of_one_declaration_are_guessed_and_can_be_set():
    source = (
        "__constant__ float a, b, row[3]; __constant__ float4 q[2];\n"
        "__global__ void k(float* o) { o[threadIdx.x] = a * b + row[1] + q[1].z; }\n"
    )
    launch = launch_of(source)
    assert {"a", "b", "row", "q"} < {name for name, _ in launch.arguments}
    given = {"a": "3", "b": "5", "row": "1,2,3", "q": "1,2,3,4,5,6,7,8"}
    trace = record(file_workload(source, launch_of(source, **given)))
    assert set(trace.outputs["o"].tolist()) == {3.0 * 5 + 2 + 7}


def test_random_numbers_that_are_indices_become_indices():
    source = """__global__ void histogram(const int* x, int* bins)
    {
        int v = x[blockIdx.x * blockDim.x + threadIdx.x];
        atomicAdd(&bins[v], 1);
    }"""
    launch = launch_of(source)
    assert dict(launch.arguments)["x"].startswith("index:")
    trace = record(file_workload(source, launch))
    assert not trace.findings
    assert trace.outputs["bins"].sum() == trace.workload.launch.arrays[0].data.size


def test_dynamic_shared_memory_that_nobody_says_holds_what_the_kernel_reaches():
    source = """__global__ void twice(const double* x, double* y)
    {
        extern __shared__ double s[];
        double* other = s + 2 * blockDim.x;
        s[threadIdx.x] = x[threadIdx.x];
        other[threadIdx.x] = s[threadIdx.x];
        y[threadIdx.x] = other[threadIdx.x];
    }"""
    launch = launch_of(source)
    assert int(launch.shared) == 3 * 8 * int(launch.block)
    assert not record(file_workload(source, launch)).findings


def test_a_number_with_which_nothing_is_touched_is_guessed_otherwise():
    source = """__global__ void later(float* a, int k, int n)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int j = k;
        while (j-- > 0) if (i < n) a[i] += j;
    }"""
    launch = launch_of(source)
    assert dict(launch.arguments)["k"] == "1"
    given = launch_of(source, k="0")
    assert dict(given.arguments)["k"] == "0"


def test_what_memset_left_is_read_as_unwritten():
    launch = launch_of(MEMSET, "adds")
    assert dict(launch.arguments)["sums"] == "zeros:int32[64]:16"
    found = {(f.kind, f.array, f.count) for f in record(file_workload(MEMSET, launch)).findings}
    assert found == {("uninitialised", "sums", 48)}
    after = launch_of(MEMSET, "takes")  # another launch had the buffer in between
    assert ":16" not in dict(after.arguments)["sums"]


def test_what_the_host_copies_to_a_symbol_follows_the_other_sizes():
    source = """
__constant__ int width, height;
__device__ unsigned turn;
__global__ void shifted(const float* in, float* out)
{
    if (threadIdx.x == 0) atomicAdd(&turn, 1u);
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width - 1 && y < height - 1) out[y * width + x] = in[(y + 1) * width + x + 1];
}
int main()
{
    int w = 1280, h = 768;
    float *in, *out;
    cudaMalloc(&in, w * h * sizeof(float));
    cudaMalloc(&out, w * h * sizeof(float));
    unsigned none = 0;
    cudaMemcpyToSymbol(width, &w, sizeof w);
    cudaMemcpyToSymbol(height, &h, sizeof h);
    cudaMemcpyToSymbol(turn, &none, sizeof none);
    shifted<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(in, out);
}
"""
    launch = launch_of(source)
    given = dict(launch.arguments)
    rows, columns = int(given["height"]), int(given["width"])
    (array,) = (a for a in file_workload(source, launch).launch.arrays if a.name == "in")
    assert array.data.size == rows * columns
    assert rows != columns
    assert given["turn"] == "0"
    assert not record(file_workload(source, launch)).findings


def test_sizes_that_fill_their_tiles_fill_them_when_they_are_halved_too():
    source = """
__global__ void scaled(const float* A, float* C, int M, int N)
{
    int row = blockIdx.y * 48 + threadIdx.y * 3, col = blockIdx.x * 32 + threadIdx.x * 2;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 2; ++j) C[(row + i) * N + col + j] = 2 * A[(row + i) * N + col + j];
}
int main()
{
    int M = 5376, N = 96 * 56;
    float *a, *c;
    cudaMalloc(&a, M * N * sizeof(float)); cudaMalloc(&c, M * N * sizeof(float));
    scaled<<<dim3((N + 31) / 32, (M + 47) / 48), dim3(16, 16)>>>(a, c, M, N);
}
"""
    launch = launch_of(source)
    given = dict(launch.arguments)
    assert int(given["M"]) % 48 == int(given["N"]) % 32 == 0
    assert int(given["M"]) < 5376
    assert not record(file_workload(source, launch)).findings


@pytest.mark.parametrize(
    ("value", "begins"),
    [("0xff", "ff:uint32["), ("-1", "ff:uint32["), ("0", "zeros:uint32["), ("3", "zeros:uint32[")],
)
def test_an_array_holds_what_the_host_sets_all_its_bytes_to(value, begins):
    source = f"""
__global__ void insert(const unsigned* keys, unsigned* table, int n, int slots)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; i < n && k < slots; k++)
        if (atomicCAS(&table[(keys[i] + k) % slots], 0xffffffffu, keys[i]) == 0xffffffffu) return;
}}
int main()
{{
    int n = 64, slots = 128;
    unsigned *keys, *table;
    cudaMalloc(&keys, n * sizeof(unsigned));
    cudaMemset(keys, {value}, n * sizeof(unsigned));
    cudaMalloc(&table, slots * sizeof(unsigned));
    cudaMemset(table, {value}, slots * sizeof(unsigned));
    insert<<<(n + 127) / 128, 128>>>(keys, table, n, slots);
}}
"""
    launch = launch_of(source)
    given = dict(launch.arguments)
    assert given["table"].startswith(begins)
    assert given["keys"].startswith("random:"), "what a kernel only reads is worth looking at"
    (table,) = (a for a in file_workload(source, launch).launch.arrays if a.name == "table")
    if begins.startswith("ff"):
        assert (table.data == 0xFFFFFFFF).all()


@pytest.mark.slow
def test_smaller_sizes_are_ones_that_the_guess_follows():
    source = """#define N 4096
    __global__ void product(const float* a, float* b, int n)
    {
        int i = blockIdx.x * 16 + threadIdx.x;
        for (int k = 0; k < N; k++) if (i < n) b[i] += a[k];
    }"""
    offered = list(smaller(source, launch_of(source, n="1024")))
    assert offered == ["--arg n=256", "-D N=1024"]
    assert next(smaller(source, launch_of(source, n="5000000"))) == "--arg n=4096"


def test_constants_that_tiles_are_made_of_stay():
    """BLOCK is one only by way of another, WARPS only by an argument of a template."""
    source = """constexpr int BLOCK = 128, WARPS = 64;
    template <int N> struct Sum { int kept[N]; };
    __global__ void sums(const float* in, float* out, int n)
    {
        constexpr int COUNT = BLOCK + 4;
        __shared__ float s[2][COUNT];
        Sum<WARPS> sum;
        sum.kept[threadIdx.x % 64] = threadIdx.x;
        for (int i = threadIdx.x; i < COUNT; i += 32) s[1][i] = in[blockIdx.x * BLOCK + i % BLOCK];
        __syncthreads();
        for (int i = 0; i < 4; ++i)
            out[blockIdx.x * BLOCK + threadIdx.x * 4 + i] = s[1][threadIdx.x * 4 + i]
                + sum.kept[threadIdx.x];
    }
    void host(const float* in, float* out, int n)
    {
        sums<<<(n + BLOCK - 1) / BLOCK, 32>>>(in, out, n);
    }
    """
    aligned = source.replace("__shared__ float", "__shared__ alignas(sizeof(int4)) float")
    assert launch_of(aligned).defines == ""
    launch = launch_of(source)
    assert launch.defines == ""
    assert int(dict(launch.arguments)["n"]) % 128 == 0
    assert not record(file_workload(source, launch)).findings


def test_a_parameter_may_have_the_name_of_a_constant():
    source = """const int len = 1 << 20;
    __global__ void copy(const float* in, float* out, int len)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < len) out[i] = in[i];
    }
    int main()
    {
        float *a, *b;
        cudaMalloc(&a, len * sizeof(float));
        cudaMalloc(&b, len * sizeof(float));
        copy<<<(len + 255) / 256, 256>>>(a, b, len);
    }
    """
    launch = launch_of(source)
    assert launch.defines == ""
    assert int(dict(launch.arguments)["len"]) < 1 << 16
    assert not record(file_workload(source, launch)).findings


def test_what_a_launch_leaves_out_has_its_default():
    source = """__global__ void touch(int* a, int n, const bool idle = false, int times = 3)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (idle) return;
        for (int j = 0; j < times; j++) if (i < n) a[i] += j;
    }
    int main() { int* a; cudaMalloc(&a, 512 * sizeof(int)); touch<<<4, 128>>>(a, 512); }"""
    numbers = dict(launch_of(source).arguments)
    assert (numbers["idle"], numbers["times"]) == ("0", "3")


def test_a_flag_with_which_nothing_is_touched_is_turned():
    source = """__global__ void touch(int* a, bool idle)
    {
        if (!idle) a[threadIdx.x] = 1;
    }"""
    assert dict(launch_of(source).arguments)["idle"] == "0"


@pytest.mark.parametrize(
    ("switched", "case"), [("threads / 2", 512), ("threads", 512), ("threads * 2", 128)]
)
def test_the_case_of_a_switch_decides_about_what_it_is_made_of(switched, case):
    block = switched.replace("threads", "(threads)")
    source = f"""template <int SIZE> __global__ void fill(int* a)
    {{
        __shared__ int s[SIZE];
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();
        a[blockIdx.x * SIZE + threadIdx.x] = s[SIZE - 1 - threadIdx.x];
    }}
    void run(int n, int threads)
    {{
        int* a; cudaMalloc(&a, n * sizeof(int));
        switch ({switched}) {{ case {case}: fill<{case}><<<n / 1024, {block}>>>(a); break; }}
    }}"""
    launch = launch_of(source)
    assert launch.block == str(case)
    assert not record(file_workload(source, launch)).findings


SWITCHED = """
template <int SIZE, bool WHOLE> __global__ void fill(float* a) { a[blockIdx.x * SIZE] = SIZE; }
template <bool WHOLE> void run(int threads, float* a)
{
    switch (threads) {
    case 512: fill<512, WHOLE><<<8, threads>>>(a); break;
    case 128: fill<128, WHOLE><<<8, threads>>>(a); break;
    }
}
__global__ void plain(float* a) { a[threadIdx.x] = 1; }
void choose(bool is_large, float* a)
{
    if (is_large) plain<<<1, 256>>>(a); else plain<<<1, 64>>>(a);
}
int main() { float* a; int n = 128; cudaMalloc(&a, 1 << 20); run<true>(n, a); choose(false, a); }
"""


@pytest.mark.parametrize(
    ("source", "kernel", "chosen", "block"),
    [
        (SWITCHED, "", "fill<128, true>", "128"),
        (SWITCHED, "fill<512, true>", "fill<512, true>", "512"),
        (SWITCHED, "plain", "plain", "64"),
        (SWITCHED.replace("false, a", "true, a"), "plain", "plain", "256"),
        (SWITCHED.replace("n = 128", "n = 7"), "", "plain", "64"),
    ],
)
def test_of_several_launches_the_one_that_the_program_comes_to_counts(
    source, kernel, chosen, block
):
    launch = launch_of(source, kernel)
    assert (launch.kernel, launch.block) == (chosen, block)


@pytest.mark.parametrize(
    ("head", "call", "instance", "kinds"),
    [
        ("typename... P", "add", "add<float, double, int>", ["float32", "float64", "int32"]),
        ("typename... P", "add<float, double, int>", "add<float, double, int>", None),
        ("typename T, typename... P", "add", "add<float, float, double, int>", None),
        ("int N = 2, class... P", "add<3>", "add<3, float, double, int>", None),
    ],
)
def test_a_pack_has_as_many_arguments_as_the_launch_passes(head, call, instance, kinds):
    to = "T" if "T," in head else "float"
    source = f"""template <{head}>
    __global__ void add(int n, {to} *out, const P *...in, bool twice)
    {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = (in[i] + ...) * (1 + twice);
    }}
    int main()
    {{
        int n = 600; float *a, *o; double *b; int *c;
        cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 8); cudaMalloc(&c, n * 4); cudaMalloc(&o, n * 4);
        {call}<<<(n + 255) / 256, 256>>>(n, o, a, b, c, true);
    }}"""
    launch = launch_of(source)
    assert launch.kernel == instance
    names = ["n", "out", "in_1", "in_2", "in_3", "twice"]
    assert [name for name, _ in launch.arguments] == names
    trace = record(file_workload(source, launch))
    given = {a.name: a.data for a in trace.workload.launch.arrays}
    rows = [given[f"in_{at}"] for at in (1, 2, 3)]
    assert kinds is None or [row.dtype.name for row in rows] == kinds
    assert not trace.findings
    np.testing.assert_allclose(trace.outputs["out"], 2 * sum(rows), rtol=1e-6)


def test_a_vector_that_a_function_of_cudas_makes_has_its_numbers():
    source = """struct Sim { float *y; int n; float3 g; };
    __global__ void step(Sim s, float4 v)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < s.n) s.y[i] += s.g.y + v.w;
    }
    int main()
    {
        Sim s; s.n = 1000; s.g = make_float3(0, -9.81f, 0); cudaMalloc(&s.y, s.n * sizeof(float));
        step<<<(s.n + 127) / 128, 128>>>(s, make_float4(1, 2, 3, 0.5f));
    }"""
    given = dict(launch_of(source).arguments)
    numbers = [float(given[name]) for name in ("s.g.x", "s.g.y", "s.g.z", "v.x", "v.w")]
    assert numbers == pytest.approx([0, -9.81, 0, 1, 0.5])


def test_a_type_that_must_be_a_whole_number_is_one():
    source = """#include <type_traits>
    template <typename T> requires std::is_integral_v<T>
    __global__ void count(const T* a, T* sums) { atomicAdd(&sums[a[threadIdx.x] & 1], 1); }"""
    assert launch_of(source).kernel == "count<int>"


def test_the_pitch_of_a_structure_holds_a_row_of_its_widest_elements():
    source = """struct Cell { double a, b, c; };
    template <typename T> struct View
    {
        T* ptr; size_t pitch, width, height;
        __device__ T& at(size_t y, size_t x) { return *((T*)((char*)ptr + pitch * y) + x); }
    };
    __global__ void fill(View<Cell> v)
    {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        if (x < v.width && y < v.height) v.at(y, x) = Cell{1.0 * x, 1.0 * y, 0};
    }"""
    launch = launch_of(source, block="8,8")
    numbers = dict(launch.arguments)
    assert int(numbers["v.pitch"]) >= 24 * int(numbers["v.width"])
    assert not record(file_workload(source, launch)).findings


def test_what_other_methods_of_a_class_set_counts():
    source = """__global__ void pick(int* a, int each)
    {
        extern __shared__ int s[];
        int i = threadIdx.y * each + threadIdx.x;
        s[i] = i;
        a[(blockIdx.x * blockDim.y + threadIdx.y) * each + threadIdx.x] = s[i];
    }
    struct Launcher
    {
        int warp_ = 0, warps_ = 0, sms_ = 0, bytes_ = 0;
        void initialize(int device)
        {
            cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, device);
            cudaDeviceGetAttribute(&warp_, cudaDevAttrWarpSize, device);
            warps_ = 8;
            bytes_ = warp_ * warps_;
            bytes_ *= sizeof(int);
        }
        void run(int* a) { dim3 block(warp_, warps_); pick<<<sms_, block, bytes_>>>(a, warp_); }
    };"""
    launch = launch_of(source)
    assert (launch.block, launch.shared) == ("32,8", str(32 * 8 * 4))
    assert dict(launch.arguments)["each"] == "32"
    assert not record(file_workload(source, launch)).findings


def test_each_thread_of_a_window_finds_what_it_reads():
    """Nobody says how long `in` is; one that ends with the last thread's element would be short."""
    source = """__global__ void sums(const float* in, float* out, int n, int width)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        float sum = 0;
        for (int j = 0; j < width; j++) sum += in[i + j];
        out[i] = sum;
    }"""
    launch = launch_of(source, grid="4", block="64", n="256", width="11")
    assert shapes(launch) == {"in": "266", "out": "256"}
    assert not record(file_workload(source, launch)).findings


def test_threads_of_a_window_of_rows_and_columns_stay_within_it():
    source = """struct Grid { float *d, *h; int nI, nJ, iMin, iMax, jMin, jMax; };
    __global__ void step(Grid g)
    {
        int i = blockIdx.y * blockDim.y + threadIdx.y + g.iMin;
        int j = blockIdx.x * blockDim.x + threadIdx.x + g.jMin;
        int at = i * g.nJ + j;
        if (i <= g.iMax && j <= g.jMax) g.h[at] = g.d[at] + g.d[at - 1];
    }"""
    launch = launch_of(source)
    numbers = dict(launch.arguments)
    assert int(numbers["g.iMin"]) < int(numbers["g.iMax"]) < int(numbers["g.nI"])
    trace = record(file_workload(source, launch))
    before = {array.name: array.data for array in trace.workload.launch.arrays}
    assert not trace.findings
    assert not np.array_equal(trace.outputs["g.h"], before["g.h"])


def test_starts_of_rows_have_one_element_more_than_rows():
    source = """struct Rows { unsigned rows; unsigned *rowPtrs, *columns; float* values; };
    __global__ void product(Rows m, const float* x, float* y)
    {
        unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
        if (row >= m.rows) return;
        float sum = 0;
        for (unsigned i = m.rowPtrs[row]; i < m.rowPtrs[row + 1]; i++)
            sum += m.values[i] * x[m.columns[i]];
        y[row] = sum;
    }"""
    launch = launch_of(source)
    assert int(shapes(launch)["m.rowPtrs"]) == int(dict(launch.arguments)["m.rows"]) + 1
    assert not record(file_workload(source, launch)).findings


def test_starts_of_rows_that_are_searched_have_one_element_more_too():
    source = """
__device__ int upper_bound_row(const int* rp, int n, int j)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (rp[mid + 1] <= j) lo = mid + 1; else hi = mid;
    }
    return lo;
}
__global__ void rows_of(const int* rp, const float* a, float* y, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= rp[n]) return;
    int row = upper_bound_row(rp, n, j);
    if (j + 1 == rp[row + 1]) y[row] = a[j];
}
"""
    launch = launch_of(source)
    given = dict(launch.arguments)
    assert given["rp"] == f"range:int32[{int(given['n']) + 1}]"
    assert not record(file_workload(source, launch)).findings


def test_a_macro_for_several_types_launches_its_first():
    source = """#define FOR_EACH_TYPE(...) \\
        if (is_half) { using value_t = float; using sum_t = double; __VA_ARGS__(); } \\
        else { using value_t = double; using sum_t = float; __VA_ARGS__(); }
    template <typename T, typename S> __global__ void sums(const T* a, S* to)
    {
        to[threadIdx.x] = a[threadIdx.x] + S(1);
    }
    void run(void* a, void* to, bool is_half)
    {
        FOR_EACH_TYPE([&] { sums<value_t, sum_t><<<1, 64>>>((value_t*)a, (sum_t*)to); });
    }"""
    assert launch_of(source).kernel == "sums<float, double>"


def test_what_the_program_passes_as_null_is_null_though_its_block_is_not_known():
    source = """struct State { int blocks, threads; long* times; };
    __global__ void spin(int rounds, long* times, long* kept)
    {
        long sum = 0;
        for (int i = 0; i < rounds; i++) sum += blockIdx.x;
        if (kept) *kept = sum;
        times[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    }
    void run(State* state) { spin<<<state->blocks, state->threads>>>(64, state->times, NULL); }"""
    launch = launch_of(source)
    assert dict(launch.arguments)["kept"] == "null"
    assert not record(file_workload(source, launch)).findings


@pytest.mark.slow
def test_tensors_of_pytorch_hold_all_that_their_sizes_say():
    source = """#include <torch/extension.h>
    __global__ void sums(torch::PackedTensorAccessor32<float, 3> a, torch::PackedTensorAccessor32<float, 3> b)
    {
        for (int i = 0; i < a.size(0); i++)
            for (int j = 0; j < a.size(1); j++) b[i][j][threadIdx.x % 16] += a[i][j][threadIdx.x % 16];
    }"""  # noqa: E501
    launch = launch_of(source, block="16", grid="1")
    assert shapes(launch)["b.data_"] == shapes(launch)["a.data_"] == "16,16,16"
    assert not record(file_workload(source, launch)).findings


@pytest.mark.slow
def test_arrays_of_structures_grow_together_though_the_trial_ends_before():
    source = """struct Rows
    {
        float* data; int size;
        __device__ float& operator[](int i) { return data[i]; }
    };
    __global__ void scaled(Rows input, Rows output, size_t rows, size_t columns)
    {
        int row = blockIdx.x * blockDim.x + threadIdx.x;
        if (row >= rows) return;
        int base = row * columns;
        float most = 0;
        for (int i = 0; i < columns; i++) most = max(most, input[base + i] * rsqrtf(1.0f + i));
        for (int i = 0; i < columns; i++) output[base + i] = input[base + i] / most;
    }
    int main()
    {
        int rows = 1024, columns = 1024;
        scaled<<<rows / 256, 256>>>(made(rows, columns), made(rows, columns), rows, columns);
    }"""
    launch = launch_of(source)
    sizes, numbers = shapes(launch), dict(launch.arguments)
    held = math.prod(map(int, sizes["output.data"].split(",")))
    assert held >= int(numbers["rows"]) * int(numbers["columns"])
    assert sizes["input.data"] == sizes["output.data"]
