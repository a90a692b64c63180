"""Sizes of the host's that are made small: a fault stays in sight, and none is made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.cli.named_launch import chosen_workload, named_launch
from core.guessing.launch_guess import completed
from core.guessing.trial_runs import fitted
from core.recording.record_launch import record
from core.trace.finding import Finding
from core.user_files.launch_texts import FileLaunch, file_workload


def launch_of(source: str, **given: str) -> FileLaunch:
    asked = FileLaunch("k.cu", "", "", "", "", arguments=tuple(given.items()))
    return fitted(source, completed(source, asked), 1)


def found_in(source: str, launch: FileLaunch) -> tuple[Finding, ...]:
    return record(file_workload(source, launch)).findings


LAST_BLOCKS = {
    "literals": (
        """__global__ void shift(const float *in, float *out) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            out[i] = in[i + 1];
        }
        int main() {
            float *in, *out;
            cudaMalloc(&in, 50 * 128 * sizeof(float)); cudaMalloc(&out, 50 * 128 * sizeof(float));
            shift<<<50, 128>>>(in, out);
        }""",
        "50",
    ),
    "two axes": (
        """struct Image { float *data; int w, h; };
        Image make(int w, int h) {
            Image made; made.w = w; made.h = h;
            cudaMalloc(&made.data, w * h * sizeof(float)); return made;
        }
        __global__ void slope(Image in, float *out) {
            int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
            if (x < in.w && y < in.h)
                out[y * in.w + x] = in.data[y * in.w + x + 1] - in.data[y * in.w + x];
        }
        int main() {
            Image in = make(320, 240), out = make(320, 240);
            dim3 block(32, 8), grid((in.w + 31) / 32, (in.h + 7) / 8);
            slope<<<grid, block>>>(in, out.data);
        }""",
        "10,30",
    ),
}


@pytest.mark.parametrize(("source", "grid"), LAST_BLOCKS.values(), ids=LAST_BLOCKS)
def test_a_grid_stays_whole_where_its_last_blocks_leave_an_array(source: str, grid: str):
    launch = launch_of(source)
    assert launch.grid == grid
    (finding,) = found_in(source, launch)
    assert finding.kind == "out_of_bounds"
    mended = re.sub(r"in\[i \+ 1\]|in\.data\[y \* in\.w \+ x \+ 1\]", "1", source)
    launch = launch_of(mended)
    assert launch.grid != grid
    assert not found_in(mended, launch)


LOOP_OVER_TILES = """
#define T 32
__global__ void tiles(const float *q, const float *k, float *o, int seq) {
    __shared__ float s[T];
    const size_t head = (size_t)blockIdx.y * seq;
    float sum = 0;
    for (int t = 0, stage = 0; t < seq; t += T, stage ^= 1) {
        s[threadIdx.x] = k[head + t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < T; ++j) sum += s[j] * q[head + blockIdx.x * T + threadIdx.x];
        __syncthreads(); // each tile is read before the next one comes
    }
    o[head + blockIdx.x * T + threadIdx.x] = sum;
}
int main() {
    const int heads = 16, seq = 512;
    size_t bytes = sizeof(float) * heads * seq;
    float *q, *k, *o;
    cudaMalloc(&q, bytes); cudaMalloc(&k, bytes); cudaMalloc(&o, bytes);
    tiles<<<dim3(seq / T, heads), T>>>(q, k, o, seq);
}
"""


def test_a_loop_over_tiles_has_two_turns():
    launch = launch_of(LOOP_OVER_TILES)
    assert dict(launch.arguments)["seq"] == "64"
    assert not found_in(LOOP_OVER_TILES, launch)
    without = re.sub(r"__syncthreads\(\); //.*", "", LOOP_OVER_TILES)
    assert {f.kind for f in found_in(without, launch_of(without))} == {"race"}


TILE_MACROS = {
    "one axis": """
#define BM 32
__global__ void fill(float *C) { C[blockIdx.x * BM + threadIdx.x] = threadIdx.x; }
int main() {
    int M = 1 << 20;
    float *C;
    cudaMalloc(&C, M * sizeof(float));
    fill<<<M / BM, 32>>>(C);
}""",
    "two axes": """
#define BM 32
#define BN 64
__global__ void copy(const float2 *in, float2 *out, int N) {
    int r = blockIdx.y * BM + threadIdx.y * 4;
    for (int i = 0; i < 4; ++i) {
        int at = ((r + i) * N + blockIdx.x * BN) / 2 + threadIdx.x;
        out[at] = in[at];
    }
}
int main() {
    int M = 1024, N = 1024;
    float2 *a, *b;
    cudaMalloc(&a, M * N * sizeof(float)); cudaMalloc(&b, M * N * sizeof(float));
    copy<<<dim3(N / BN, M / BM), dim3(32, 8)>>>(a, b, N);
}""",
}


@pytest.mark.parametrize("source", TILE_MACROS.values(), ids=TILE_MACROS)
def test_a_macro_that_the_host_divides_by_is_a_tile(source: str):
    launch = launch_of(source)
    assert not launch.defines
    assert not found_in(source, launch)
    assert file_workload(source, launch).launch.grid.count <= 16


def test_an_array_that_cannot_be_smaller_leaves_the_others_as_they_are():
    source = """
static const int BLOCKS = 240;
__global__ void sums(const int *data, int *part, int n) {
    int s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += data[i];
    atomicAdd(&part[blockIdx.x * 256 + (s & 255)], 1);
}
int main() {
    int n = 1 << 24;
    int *d, *p;
    cudaMalloc(&d, n * sizeof(int)); cudaMalloc(&p, BLOCKS * 256 * sizeof(int));
    cudaMemset(p, 0, BLOCKS * 256 * sizeof(int));
    sums<<<BLOCKS, 192>>>(d, p, n);
}"""
    launch = launch_of(source)
    assert dict(launch.arguments)["n"] == "4096"  # more than there are threads
    assert file_workload(source, launch).launch.grid.count * 192 < 4096


def test_a_macro_that_the_kernel_divides_lets_sizes_shrink():
    source = """
#define BM 32
#define BN 64
__global__ void turned(const float2 *B, float2 *C, int N) {
    __shared__ float2 s[BM][BN / 2];
    for (int i = threadIdx.y * 32 + threadIdx.x; i < BM * BN / 2; i += 256)
        s[i / (BN / 2)][i % (BN / 2)] =
            B[((blockIdx.y * BM + i / (BN / 2)) * N + blockIdx.x * BN) / 2 + i % (BN / 2)];
    __syncthreads();
    for (int i = threadIdx.y; i < BM; i += 8)
        C[((blockIdx.y * BM + i) * N + blockIdx.x * BN) / 2 + threadIdx.x] =
            s[BM - 1 - i][threadIdx.x];
}
int main() {
    int M = 1024, N = 1024;
    float2 *B, *C;
    cudaMalloc(&B, M * N * sizeof(float)); cudaMalloc(&C, M * N * sizeof(float));
    turned<<<dim3(N / BN, M / BM), dim3(32, 8)>>>(B, C, N);
}"""
    launch = launch_of(source)
    assert (launch.grid, launch.defines) == ("2,2", "")
    assert not found_in(source, launch)


def test_a_size_stays_a_multiple_of_a_product_that_it_is_divided_by():
    source = """
#define BX 16
#define STEPS 8
__global__ void rows(float *to, const float *from, int pitch) {
    int x = blockIdx.x * STEPS * BX + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    for (int i = 0; i < STEPS; ++i) to[y * pitch + x + i * BX] = 2 * from[y * pitch + x + i * BX];
}
int main() {
    const int w = 3072, h = 3072;
    float *a, *b;
    cudaMalloc(&a, w * h * sizeof(float)); cudaMalloc(&b, w * h * sizeof(float));
    dim3 blocks(w / (STEPS * BX), h / 4), threads(BX, 4);
    rows<<<blocks, threads>>>(b, a, w);
}"""
    launch = launch_of(source)
    pitch = int(dict(launch.arguments)["pitch"])
    assert pitch % 128 == 0
    assert launch.grid.startswith(f"{pitch // 128},")
    assert not found_in(source, launch)


def test_a_size_stays_with_one_of_the_same_value_that_sets_shared_memory():
    source = """
__global__ void scaled(double *A, const double *s, int n, int lda) {
    extern __shared__ double f[];
    for (int j = threadIdx.x; j < n; j += blockDim.x) f[j] = s[j];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        for (int j = 0; j < n; ++j) A[i * lda + j] *= f[j];
}
int main() {
    int n = 48, lda = 48;
    double *A, *s;
    cudaMalloc(&A, n * lda * sizeof(double)); cudaMalloc(&s, n * sizeof(double));
    scaled<<<1, 64, n * sizeof(double)>>>(A, s, n, lda);
}"""
    launch = launch_of(source)
    numbers = dict(launch.arguments)
    assert numbers["n"] == numbers["lda"]
    assert not found_in(source, launch)


REVERSED = """
__global__ void reversed(const float *in, float *out, int log) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[__brev(i) >> (32 - log)] = in[i];
}
int main() {
    const int LOG = 16, n = 1 << LOG;
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float)); cudaMalloc(&out, n * sizeof(float));
    reversed<<<n / 256, 256>>>(in, out, LOG);
}
"""


@pytest.mark.parametrize("is_macro", [False, True])
def test_the_exponent_of_a_power_of_two_follows(is_macro: bool):
    source = REVERSED
    if is_macro:
        source = source.replace("LOG = 16, ", "").replace("32 - log", "32 - LOG")
        source = f"#define LOG 16\n{source}"
    launch = launch_of(source)
    arguments = dict(launch.arguments)
    assert (launch.grid, arguments["log"], arguments["in"]) == ("4", "10", "random:float32[1024]")
    assert not found_in(source, launch)
    if not is_macro:
        assert launch_of(source, log="9").grid == "2"


def test_each_array_that_is_given_sets_the_size_that_it_follows():
    source = """
__global__ void turned(float2 *q, const float2 *freqs, const int *positions, int heads, int half) {
    int token = blockIdx.x, pos = positions[token];
    for (int i = threadIdx.x; i < heads * half; i += blockDim.x) {
        float2 cs = freqs[pos * half + i % half], &v = q[token * heads * half + i];
        v = make_float2(v.x * cs.x - v.y * cs.y, v.x * cs.y + v.y * cs.x);
    }
}
int main() {
    const int tokens = 37, heads = 8, dim = 64, max_pos = 2048;
    float2 *q, *freqs;
    int *positions;
    cudaMalloc(&q, tokens * heads * dim / 2 * sizeof(float2));
    cudaMalloc(&freqs, max_pos * dim / 2 * sizeof(float2));
    cudaMalloc(&positions, tokens * sizeof(int));
    turned<<<tokens, 128>>>(q, freqs, positions, heads, dim / 2);
}"""
    given = {"q": "zeros:float32[80,2]", "freqs": "zeros:float32[128,2]", "heads": "2", "half": "8"}
    launch = launch_of(source, **given, positions="zeros:int32[5]")
    assert launch.grid == "5"
    assert not found_in(source, launch)


def test_a_launch_that_is_counted_only_has_the_sizes_of_its_host(tmp_path: Path):
    path = tmp_path / "k.cu"
    source = """
#define TILE 16
__global__ void turned(const float *from, float *to, int n) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    to[x * n + y] = from[y * n + x];
}
int main() {
    int n = 1024;
    float *a, *b;
    cudaMalloc(&a, sizeof(float) * n * n); cudaMalloc(&b, sizeof(float) * n * n);
    turned<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(a, b, n);
}"""
    path.write_text(source)

    def grid(**options: object) -> tuple[int, ...]:
        return tuple(chosen_workload(str(path), {}, options).launch.grid)

    assert tuple(named_launch(str(path), {}, {}, 1).workload.launch.grid) == (2, 2, 1)
    assert grid() == (64, 64, 1)
    assert grid(arg=["n=256"]) == (16, 16, 1)
    assert grid(grid="3,3") == (3, 3, 1)
    alone = re.sub(r", int n|, n(?=\);\n})|int n = 1024;", "", source)
    path.write_text(f"#define n 1024\n{alone}")  # a macro, which both host and kernel see
    assert grid() == (64, 64, 1)
    path.write_text(source.replace("1024", "1 << 20"))  # 4 TB: too large, so in small
    assert grid() == (2, 2, 1)
