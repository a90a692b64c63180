"""Sizes that host programs of other people say in ways of their own, each in small."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from core.errors import ArgumentError
from core.guessing.argument_guesses import _is_index
from core.guessing.launch_guess import completed, first_kernel
from core.guessing.trial_runs import fitted
from core.recording.record_launch import record
from core.source.preprocessor import taken
from core.user_files.launch_texts import FileLaunch, file_workload

SQUARE = """__global__ void square(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= x[i];
}
"""
ALLOCATED = (
    "float *d; cudaMalloc(&d, {0} * sizeof(float)); square<<<({0} + 63) / 64, 64>>>(d, {0});"
)


def launch_of(source: str, path: Path | str = "k.cu") -> FileLaunch:
    return fitted(source, completed(source, FileLaunch(str(path), "", "", "", "")), 1)


def n_of(host: str) -> tuple[int, str]:
    launch = launch_of(SQUARE + host)
    arguments = dict(launch.arguments)
    return int(arguments["n"]), arguments["x"]


@pytest.mark.parametrize(
    "host",
    [
        "struct Options { int warmup = 5; int size = 1 << 20; };\n"
        "Options parsed(int argc, char **argv) { Options options{}; return options; }\n"
        "void run(const Options &options) { const int n = options.size; %s }\n"
        "int main(int argc, char **argv) { Options options = parsed(argc, argv); run(options); }",
        "struct Config { int n = 1 << 20; };\nint main() { Config config; int n = config.n; %s }",
        "int main() { std::vector<int> sizes = {1 << 20, 1 << 22};\n"
        "for (int size : sizes) { int n = size; %s } }",
    ],
    ids=["options of a function", "members", "list"],
)
def test_a_size_that_lies_in_a_structure_or_a_list_is_made_small(host):
    n, array = n_of(host % ALLOCATED.format("n"))
    assert 64 <= n <= 1024
    assert array == f"random:float32[{n}]"


def test_a_size_stays_whole_tiles_where_its_half_is_not():
    """100,000,000 is 256 times an odd number: it would stay as it is."""
    n, _ = n_of(
        "int main() { int n = 100000000; float *d; cudaMalloc(&d, n * sizeof(float));\n"
        "square<<<n / 256 + 1, 256>>>(d, n); }"
    )
    assert n == 512


def test_a_number_by_reference_that_nobody_says_fills_its_tiles():
    source = """#define TILE 32
    __global__ void twice(float *A, float *B, int n) {
        int row = blockIdx.y * TILE * 2 + threadIdx.y, col = blockIdx.x * TILE * 2 + threadIdx.x;
        for (int r = 0; r < 2; r++) for (int c = 0; c < 2; c++)
            B[(row + r * TILE) * n + col + c * TILE] = A[(row + r * TILE) * n + col + c * TILE];
    }
    void run(float *a, float *b, int &n) {
        dim3 blocks(n / (TILE * 2), n / (TILE * 2));
        twice<<<blocks, dim3(TILE, TILE)>>>(a, b, n);
    }
    """
    launch = launch_of(source)
    n = int(dict(launch.arguments)["n"])
    assert n % 64 == 0
    assert launch.grid == f"{n // 64},{n // 64}"


def test_rounding_up_by_a_function_of_a_missing_header():
    n, array = n_of(
        '#include "helpers.h"\nvoid run(float *d, int n) { square<<<ceil_div(n, 64), 64>>>(d, n); }'
    )
    assert 64 <= n <= 1024
    assert array != "random:float32[16384]"


def test_a_macro_of_one_of_several_conditions_is_known():
    text = "#ifdef A\n#define B 1\n#elif defined(C)\n#define B 2\n#else\n#define B 3\n#endif\n"
    for defined, value in (((), 3), (("A",), 1), (("C",), 2), (("A", "C"), 1)):
        assert taken(text, defined).split() == ["#define", "B", str(value)]
    unknown = "#if N > 2\nint a;\n#else\nint b;\n#endif\n"
    assert taken(unknown, ()) == unknown
    assert "int a" in taken("#ifdef X\nint x;\n#elif N > 2\nint a;\n#else\nint b;\n#endif\n", ())
    assert "int x" not in taken("#if !defined(X)\nint y;\n#else\nint x;\n#endif\n", ())


def test_rows_of_a_grid_of_cells_are_no_count_of_blocks():
    host = "int main(int argc, char **argv) { int grid_cols; grid_cols = atoi(argv[1]); %s }"
    n, _ = n_of(host % ALLOCATED.format("grid_cols"))
    assert n > 16


def test_a_block_covers_the_border_around_its_tile():
    source = """#define IN 16
    #define OUT (IN - 2)
    __global__ void stencil(float *from, float *to, int width, int height, int depth) {
        __shared__ float tile[IN][IN];
        int k0 = blockIdx.z * OUT, j = blockIdx.y * OUT + threadIdx.y - 1;
        int i = blockIdx.x * OUT + threadIdx.x - 1;
        bool is_in = i >= 0 && i < width && j >= 0 && j < height;
        for (int k = k0; k < k0 + OUT && k < depth; k++) {
            tile[threadIdx.y][threadIdx.x] = is_in ? from[(k * height + j) * width + i] : 0;
            __syncthreads();
            if (is_in && threadIdx.x > 0 && threadIdx.x < IN - 1)
                to[(k * height + j) * width + i] = tile[threadIdx.y][threadIdx.x - 1];
            __syncthreads();
        }
    }
    """
    launch = launch_of(source)
    assert launch.block.startswith("16,16")
    assert int(dict(launch.arguments)["depth"]) > 0


def test_a_k_that_ends_a_loop_is_a_size():
    source = """__global__ void matmul(float *m, float *n, float *out, int h, int w, int k) {
        int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
        float sum = 0;
        if (r >= h || c >= w) return;
        for (int i = 0; i < k; ++i) sum += m[r * k + i] * n[i * w + c];
        out[r * w + c] = sum;
    }
    """
    arguments = dict(launch_of(source).arguments)
    h, w, k = (arguments[name] for name in "hwk")
    assert arguments["m"] == f"random:float32[{h},{k}]"
    assert arguments["n"] == f"random:float32[{k},{w}]"


def test_a_size_with_which_a_trial_does_not_end_is_made_less():
    source = """__global__ void rows(const float *a, const float *b, float *c, int size) {
        int row = blockIdx.x * blockDim.x + threadIdx.x;
        if (row < size) for (int col = 0; col < size; col++) {
            float sum = 0;
            for (int j = 0; j < size; j++) sum += a[row * size + j] * b[j * size + col];
            c[row * size + col] = sum;
        }
    }
    int main() { int n = 4096; float *a, *b, *c; cudaMalloc(&a, n * n * 4);
        cudaMalloc(&b, n * n * 4); cudaMalloc(&c, n * n * 4);
        rows<<<n / 16, 16>>>(a, b, c, n); }
    """
    arguments = dict(launch_of(source).arguments)
    n = int(arguments["size"])
    assert 16 <= n <= 64
    assert arguments["c"] == f"zeros:float32[{n},{n}]"


def test_contents_are_a_guess_though_their_number_is_said():
    source = """__global__ void losses(float *to, const float *of, int *label, int n, int wide) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) to[i] = of[i * wide + label[i]];
    }
    int main() { int n = 128, wide = 64; float *to, *of; int *label;
        cudaMalloc(&to, n * 4); cudaMalloc(&of, n * wide * 4); cudaMalloc(&label, n * 4);
        losses<<<2, 64>>>(to, of, label, n, wide); }
    """
    assert dict(launch_of(source).arguments)["label"] == "index:int32[64]"


def test_elements_that_a_variable_carries_into_a_subscript_are_indices():
    source = """__global__ void losses(float *to, const float *of, const int *label, int n, int w) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int mine = label[i];
        if (i < n) to[i] = of[i * w + mine];
    }
    """
    launch = launch_of(source)
    assert dict(launch.arguments)["label"].startswith("index:")
    assert not record(file_workload(source, launch)).findings


def test_a_build_of_many_numbers_is_asked_for_them():
    names = [f"SIDE_{letter}" for letter in "ABCDEFG"]
    kernel = "__global__ void k(float *x) { x[threadIdx.x] = %s; }\n"
    with pytest.raises(ArgumentError, match=r"takes 7 numbers from its build.*`-D SIDE_A=16`"):
        launch_of(kernel % " + ".join(names))
    assert launch_of(kernel % " + ".join(names[:6])).defines.count("SIDE_") == 6


@pytest.mark.parametrize(("array", "elements"), [("offs", 251), ("lengths", 250)])
def test_starts_of_rows_have_an_end_behind_them(array, elements):
    source = f"""__global__ void sums(const int *{array}, int *to, int rows) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i <= rows) atomicAdd(to, {array}[i]);
    }}
    """
    assert dict(launch_of(source).arguments)[array].endswith(f"[{elements}]")


def test_a_kernel_of_one_step_comes_after_one_with_a_loop():
    loop = "__global__ void sums(float *x, int n, int m) { for (; n > 0; n--) x[0] += x[n]; }\n"
    host = "int main() { float *d; square<<<1, 64>>>(d, 64); sums<<<1, 1>>>(d, 64, 1); }"
    guess = completed(SQUARE + loop + host, FileLaunch("k.cu", "", "", "", ""))
    assert guess.launch.kernel == "sums"
    assert guess.left_out == "square is left out: it has no loop and no shared memory."
    version = f"{SQUARE}{loop}{host}".replace(", int m", "").replace("(d, 64, 1)", "(d, 64)")
    assert first_kernel(["square", "sums"], version) == ("square", {})
    for helper in (
        "#define EACH(n) \\\n  for (; n > 0; n--)\n__device__ void f(int n) { EACH(n); }\n",
        "__device__ int f(int n) { while (n > 9) n /= 2; return n; }\n",
    ):
        calls = SQUARE.replace("{", "{ if (n > 1) f(n); ", 1)
        assert first_kernel(["square", "sums"], helper + calls + loop + host) == ("square", {})
    alone = SQUARE + loop + host.replace("sums<<<1, 1>>>(d, 64, 1);", "")
    assert first_kernel(["square", "sums"], alone) == ("square", {})


def test_the_defaults_of_a_class_template_are_its_launchs():
    source = """template <int TILE> __global__ void scale(float *x) {
        static_assert(TILE == 24, "");
        x[blockIdx.x * TILE + threadIdx.x] *= 2;
    }
    template <int TILE = 24> struct Scale {
        void operator()(float *x) const { scale<TILE><<<2, TILE>>>(x); }
    };
    """
    launch = launch_of(source)
    assert (launch.kernel, launch.block) == ("scale<24>", "24")


def test_many_variables_with_elements_cost_little_time():
    text = "".join(f"int v{i} = d[{i}]; h[{i}] = v{i};\n" for i in range(4000))
    started = time.process_time()
    assert not _is_index("d", text)
    assert _is_index("d", f"{text} h[v3999] = 1;")
    assert time.process_time() - started < 3  # a search of the text for each took over ten


ROWS_OF_FEW = """struct State { float *logits, *losses; int V, P; };
__global__ void lose(float *logits, float *losses, float *probs, int V, int P, int T) {
    int row = blockIdx.x;
    for (int i = threadIdx.x; i < V; i += blockDim.x) {
        losses[row] += logits[row * P + i];
        if (probs) probs[row * P + i] = 1;
    }
}
void run(State *state, int T) {
    lose<<<T, 1024>>>(state->logits, state->losses, (float *)NULL, state->V, state->P, T);
}
void describe(State *state) { state->V = 50257; state->P = 50304; }
int main() { State state; describe(&state); run(&state, 4096); }
"""


def test_rows_of_which_nothing_is_said_are_no_square_of_gigabytes():
    guess = completed(ROWS_OF_FEW, FileLaunch("k.cu", "", "", "", ""))
    arguments = dict(guess.launch.arguments)
    assert (arguments["V"], arguments["P"]) == ("50257", "50304")
    assert arguments["probs"] == "null"  # a cast of null is null
    workload = file_workload(ROWS_OF_FEW, guess.launch)
    assert all(array.data.size <= 1 << 20 for array in workload.launch.arrays)
