"""Files of all kinds open without a word: what stood in the way of some, in small."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.cli.app import main
from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.guessing.launch_guess import completed, first_kernel, guess_launch
from core.guessing.trial_runs import fitted
from core.recording.record_launch import record
from core.source.kernels_and_launches import kernels
from core.user_files.launch_texts import FileLaunch, file_workload, split_defines
from core.user_files.repository_search import at_its_kernels
from core.user_files.sources_and_headers import local_headers

COPY = "__global__ void copy(float* to, const float* from, int n) {{ {} }}\n"
GUARDED = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) to[i] = from[i];"


def launch_of(source: str, path: Path | str = "k.cu") -> FileLaunch:
    return fitted(source, completed(source, FileLaunch(str(path), "", "", "", "")), 1)


def test_a_kernel_that_knows_no_threads_is_run_by_one():
    source = COPY.format("for (int i = 0; i < n; i++) to[i] = from[i];")
    launch = launch_of(source)
    assert (launch.grid, launch.block, dict(launch.arguments)["n"]) == ("1", "1", "8")
    called = "__device__ int at() { return threadIdx.x; }\n" + source
    assert launch_of(called.replace("to[i]", "to[at()]")).block == "64"


def test_a_macro_of_the_hosts_shrinks_though_one_thread_does_all():
    loop = COPY.format("for (int i = 0; i < n; i++) to[i] = from[i];")
    host = (
        "int main() { float *a, *b; cudaMalloc(&a, COUNT * sizeof(float));\n"
        "cudaMalloc(&b, sizeof(float) * COUNT); copy<<<1, 1>>>(b, a, COUNT); }\n"
    )
    launch = launch_of(f"#define COUNT 9000000\n{loop}{host}")
    numbers = dict(launch.arguments)
    assert 32 <= int(numbers["n"]) <= 4096
    assert numbers["from"] == f"random:float32[{numbers['n']}]"


def test_what_a_template_argument_is_made_of_stays():
    """A smaller N alone would leave an instance that reads further than there is."""
    source = """template <int EACH> __global__ void sums(float* in, float* out) {
        float sum = 0;
        for (int i = 0; i < EACH; i++)
            sum += in[(blockIdx.x * EACH + i) * blockDim.x + threadIdx.x];
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    }
    int main() {
        const int N = 1 << 18; const int BLOCKS = 32; const int EACH = N / BLOCKS / 64;
        float *in, *out;
        cudaMalloc(&in, N * sizeof(float)); cudaMalloc(&out, BLOCKS * 64 * sizeof(float));
        sums<EACH><<<BLOCKS, 64>>>(in, out);
    }"""
    launch = launch_of(source)
    assert launch.kernel == "sums<128>"
    assert not record(file_workload(source, launch)).findings


def test_numbers_in_braces_with_const_behind_the_type_are_read():
    source = """template <unsigned TILE, unsigned EACH>
    __global__ void fill(float* out, unsigned n) {
        static_assert(TILE == 64 && EACH == 4);
        unsigned i = blockIdx.x * TILE + threadIdx.x * EACH;
        for (unsigned k = 0; k < EACH; k++) if (i + k < n) out[i + k] = k;
    }
    void run(float* out, unsigned n) {
        constexpr unsigned int TILE{64U};
        unsigned const EACH{TILE / 16U};
        dim3 const block{TILE / EACH, 1U, 1U};
        dim3 const grid{(n + TILE - 1U) / TILE};
        fill<TILE, EACH><<<grid, block>>>(out, n);
    }"""
    launch = launch_of(source)
    assert (launch.kernel, launch.block) == ("fill<64, 4>", "16")


def test_a_kernel_that_is_meant_for_square_matrices_gets_such(tmp_path):
    source = """__global__ void turned(const float* a, float* b, int M, int N, int K) {
        int row = blockIdx.y * 64 + threadIdx.x;  // the host counts blocks the other way round
        for (int col = 0; col < 64; col++)
            b[row * N + blockIdx.x * 64 + col] = a[row * K + blockIdx.x * 64 + col];
    }
    void run(const float* a, float* b, int M, int N, int K) {
        turned<<<dim3((M + 63) / 64, (N + 63) / 64), 64>>>(a, b, M, N, K);
    }"""
    launch = launch_of(source)
    sizes = {dict(launch.arguments)[name] for name in "MNK"}
    assert len(sizes) == 1
    assert not record(file_workload(source, launch)).findings


def test_a_kernel_that_the_file_only_declares_is_found_beside_it(tmp_path):
    (tmp_path / "copy.cu").write_text(COPY.format(GUARDED))
    (tmp_path / "other.cu").write_text("__global__ void other(int* a) { a[0] = 1; }\n")
    main_file = tmp_path / "main.cu"
    main_file.write_text(
        "__global__ void other(int* a);\n__global__ void copy(float*, const float*, int);\n"
        "int main() { float *a, *b; int n = 96; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);\n"
        "copy<<<3, 32>>>(b, a, n); }\n"
    )
    asked = FileLaunch(str(main_file), "", "", "", "")
    source, found = at_its_kernels(main_file.read_text(), asked)
    assert Path(found.path).name == "copy.cu"
    assert source == COPY.format(GUARDED)
    assert found.kernel == "copy"


def test_the_next_kernel_stands_in_for_one_that_cannot_be_launched(tmp_path, capsys):
    path = tmp_path / "two.cu"
    path.write_text("__global__ void bad(float* a) { a[0] = missing(1); }\n" + COPY.format(GUARDED))
    assert main(["trace", str(path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["kernel"] == "copy"
    assert "bad is left out: two.cu:1:" in said["left_out"]
    assert main(["trace", str(path), "--kernel", "bad"]) == 2


def test_the_block_keeps_to_launch_bounds():
    source = "__global__ void __launch_bounds__(TPB / 2) k(float* a) "
    source += "{ a[(blockIdx.y * blockDim.y + threadIdx.y) * 64 + threadIdx.x] = threadIdx.y; }\n"
    launch = launch_of(f"#define TPB 128\n{source}")
    assert launch.block == "32,2"


def test_the_second_branch_of_a_header_goes_with_what_it_declares(tmp_path):
    """Both open the namespace, one closes it: the parser sees the first alone."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "clock.h").write_text(
        "#ifdef WINDOWS\nnamespace mine {\nclass Clock { long ticks; };\n#else\nnamespace mine {\n"
        "class Clock { timeval start; double now() { return start.tv_sec; } };\n#endif\n}\n"
    )
    source = f'#include "clock.h"\n{COPY.format(GUARDED)}'
    headers = local_headers(source, str(tmp_path / "k.cu"))
    assert compile_ptx(source, kernel="copy", headers=headers).entries


def test_a_header_is_found_wherever_the_repository_has_it(tmp_path):
    (tmp_path / ".git").mkdir()
    for folder, scale in (("engine/deep/inside", 3), ("vendor/other", 5)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "scale.cuh").write_text(f"#define SCALE {scale}\n")
    (tmp_path / "engine" / "kernels").mkdir()
    found = local_headers('#include "scale.cuh"\n', str(tmp_path / "engine" / "kernels" / "k.cu"))
    assert found["scale.cuh"] == "#define SCALE 3\n"


def test_a_type_of_a_missing_header_does_not_crash_the_compiler():
    """NVRTC 13 dies of an instance in a namespace without a name whose head it cannot read."""
    source = (
        '#include "nowhere.h"\nnamespace {\n'
        "template <typename T> __global__ void k(nowhere::size n, T* a) { a[threadIdx.x] = 1; }\n"
        "}\nvoid run(float* a) { k<<<1, 32>>>(4, a); }\n"
    )
    with pytest.raises(Exception, match="nowhere"):
        guess_launch(source, "k.cu")


@pytest.mark.parametrize("names", ["k_d k_r kw", "kernel_depth k_rows mask_cols"])
def test_a_filter_whose_size_nobody_says_is_small(names):
    """The tile has a border for a filter of five at most."""
    depth, rows, columns = names.split()
    launch = launch_of(f"""
    __constant__ float weights[128];
    __global__ void filtered(const float* from, float* to, int d, int h, int w,
                             int {depth}, int {rows}, int {columns}) {{
        __shared__ float part[8][12][12];
        int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
        int z = blockIdx.z * 4 + threadIdx.z;
        for (int k = threadIdx.z; k < 8; k += 4)
            for (int j = threadIdx.y; j < 12; j += 8)
                for (int i = threadIdx.x; i < 12; i += 8) {{
                    int a = blockIdx.z * 4 + k, b = blockIdx.y * 8 + j, c = blockIdx.x * 8 + i;
                    part[k][j][i] = a < d && b < h && c < w ? from[(a * h + b) * w + c] : 0;
                }}
        __syncthreads();
        if (z > d - {depth} || y > h - {rows} || x > w - {columns}) return;
        float sum = 0;
        for (int k = 0; k < {depth}; k++)
            for (int j = 0; j < {rows}; j++)
                for (int i = 0; i < {columns}; i++)
                    sum += part[threadIdx.z + k][threadIdx.y + j][threadIdx.x + i]
                        * weights[(k * {rows} + j) * {columns} + i];
        to[(z * h + y) * w + x] = sum;
    }}
    extern "C" void solve(const float* from, const float* taken, float* to, int d, int h, int w,
                          int {depth}, int {rows}, int {columns}) {{
        filtered<<<dim3(w / 8, h / 8, d / 4), dim3(8, 8, 4)>>>(
            from, to, d, h, w, {depth}, {rows}, {columns});
    }}""")
    numbers = dict(launch.arguments)
    assert {int(numbers[name]) for name in (depth, rows, columns)} <= {2, 3, 4, 5}


def test_a_model_has_few_heads():
    """They are no side of a square either."""
    launch = launch_of("""
    __global__ void scores(const float* q, const float* k, float* out, int n, int d_model, int h) {
        int each = d_model / h, begin = blockIdx.y * each;
        for (int row = threadIdx.x; row < n; row += blockDim.x) {
            float sum = 0;
            for (int i = begin; i < begin + each; i++)
                sum += q[blockIdx.x * d_model + i] * k[row * d_model + i];
            out[(blockIdx.y * n + blockIdx.x) * n + row] = sum;
        }
    }
    void solve(const float* q, const float* k, float* out, int n, int d_model, int h) {
        scores<<<dim3(n, h), 64>>>(q, k, out, n, d_model, h);
    }""")
    numbers = dict(launch.arguments)
    assert (numbers["h"], numbers["d_model"]) == ("4", "64")


@pytest.mark.parametrize(
    ("work", "most"),
    [
        ("if (i < n_samples) to[i] = from[i];", 4096),
        ("for (int s = 0; s < n_samples; s++) to[i] += from[i];", 16),
    ],
)
def test_samples_are_elements_where_threads_are_compared_with_them(work, most):
    kernel = COPY.format(f"int i = blockIdx.x * blockDim.x + threadIdx.x; {work}")
    kernel = kernel.replace("int n)", "int n_samples)")
    host = "copy<<<(n_samples + 127) / 128, 128>>>(to, from, n_samples);"
    run = f"void run(float* to, float* from, int n_samples) {{ {host} }}"
    number = int(dict(launch_of(kernel + run).arguments)["n_samples"])
    assert most // 16 < number <= most


def test_a_pitch_is_no_size_of_a_square():
    """With one value for width and pitch the rows of bytes would lie in each other."""
    source = """__global__ void paint(unsigned char* to, int width, int height, int pitch) {
        int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
        if (x < width && y < height) ((float4*)(to + y * pitch))[x] = make_float4(x, y, 0, 1);
    }
    void run(unsigned char* to, int width, int height, int pitch) {
        paint<<<dim3(width / 16, height / 16), dim3(16, 16)>>>(to, width, height, pitch);
    }"""
    launch = launch_of(source)
    assert int(dict(launch.arguments)["pitch"]) >= 16 * int(dict(launch.arguments)["width"])
    assert not record(file_workload(source, launch)).findings


def test_the_size_of_a_templates_type_is_the_instances():
    source = """template <typename T> __global__ void k(T* a, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += 1;
    }
    template <typename T> void run(int n) {
        T* a; size_t bytes = n * sizeof(T); cudaMalloc(&a, bytes); k<<<n / 32, 32>>>(a, n);
    }
    int main() { run<double>(256); }"""
    launch = launch_of(source)
    assert launch.kernel == "k<double>"
    assert dict(launch.arguments)["a"] == f"zeros:float64[{dict(launch.arguments)['n']}]"


@pytest.mark.parametrize("size", ["sizeof(Pair<double>)", "sizeof( my::Pair < double > )"])
def test_the_size_of_an_instance_of_a_template_is_counted(size):
    source = f"""namespace my {{ template <typename T> struct Pair {{ T a, b; Pair* next; }}; }}
    using namespace my;
    template <typename T> __global__ void k(Pair<T>* x, int n) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i].a += x[i].b;
    }}
    int main() {{
        Pair<double>* x; size_t s = 64 * {size}; cudaMalloc(&x, s); k<double><<<1, 64>>>(x, 64);
    }}"""
    launch = launch_of(source)
    assert "[64,24]" in dict(launch.arguments)["x"]
    assert not record(file_workload(source, launch)).findings


def test_a_scalar_is_what_its_type_holds():
    source = (
        "__global__ void k(signed char* a, signed char v) { a[threadIdx.x] = v; }\n"
        "int main() { signed char* a; cudaMalloc(&a, 32); k<<<1, 32>>>(a, 300); }\n"
    )
    assert dict(launch_of(source).arguments)["v"] == "44"


def test_macros_named_with_an_underscore_get_a_value():
    source = "__global__ void k(float* a) { a[threadIdx.x % _N_] = _N_; }\n"
    assert split_defines(launch_of(source).defines).keys() == {"_N_"}


def test_a_first_block_that_takes_long_is_shown_as_far_as_it_ran(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("core.cli.trace._SECONDS", 0.05)
    path = tmp_path / "long.cu"
    path.write_text(
        "__global__ void k(int* a, int n) { for (int i = 0; i < n; i++) a[threadIdx.x] += i; }\n"
    )
    launch = ["--grid", "1", "--block", "32", "--arg", "a=zeros:int32[32]", "--arg", "n=999999"]
    assert main(["trace", str(path), *launch, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert not said["complete"]
    assert said["note"].startswith("The kernel was still running after")
    assert said["counters"]["global_st_requests"] > 10


def test_template_arguments_of_a_namespace_that_the_launching_function_uses(tmp_path):
    source = """
    namespace own { struct Algorithm { enum Id { PLAIN, TWICE = 7 }; }; }
    template <own::Algorithm::Id A> __global__ void k(int* a) { a[threadIdx.x] = A; }
    void run() {
        using namespace own;
        int* a; cudaMalloc(&a, 32 * sizeof(int));
        k<Algorithm::TWICE><<<1, 32>>>(a);
    }
    """
    launch = launch_of(source)
    assert launch.kernel == "k<own::Algorithm::TWICE>"
    assert (record(file_workload(source, launch)).outputs["a"] == 7).all()


def test_a_kernel_may_say_behind_its_parameters_that_it_returns_nothing():
    (kernel,) = kernels("__global__ auto k(int *a) -> void { a[threadIdx.x] = 1; }")
    assert (kernel.name, kernel.body.strip()) == ("k", "a[threadIdx.x] = 1;")


def test_a_number_below_zero_is_no_size(tmp_path):
    source = (
        "__global__ void set(unsigned *data, int n, unsigned value) {\n"
        "  for (int i = blockIdx.x * 512 + threadIdx.x; i < n; i += 512 * gridDim.x)\n"
        "    data[i] = value;\n}\n"
        "void run(unsigned *data) { set<<<8, 512>>>(data, 4096, -327686); }\n"
    )
    found = record(file_workload(source, launch_of(source, tmp_path / "set.cu")))
    assert found.findings == ()
    assert (found.outputs["data"] == 2**32 - 327686).all()


def test_the_step_of_an_image_is_in_bytes(tmp_path):
    source = """
    struct Image { float *data; size_t step; };
    __global__ void clear(Image to, int rows, int cols) {
      int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
      if (x < cols && y < rows) ((float *)((char *)to.data + y * to.step))[x] = 0;
    }
    """
    assert record(file_workload(source, launch_of(source, tmp_path / "k.cu"))).findings == ()


def test_macros_of_headers_mark_kernels(tmp_path):
    (tmp_path / "marks.hpp").write_text(
        "#pragma once\n#define KERNEL static __global__ void\n"
        "#define ADDS(name) __global__ void name(float* v, int n) "
        "{ if (threadIdx.x < n) v[threadIdx.x] += 1; }\n"
    )
    path = tmp_path / "a.cu"
    path.write_text(
        '#include "marks.hpp"\nKERNEL twice(float* v, int n) { if (threadIdx.x < n) '
        "v[threadIdx.x] *= 2; }\nADDS(plus)\nvoid f(float* v) { plus<<<1, 96>>>(v, 90); }\n"
    )
    source, asked = at_its_kernels(path.read_text(), FileLaunch(str(path), "", "", "", ""))
    assert (source, asked.path) == (path.read_text(), str(path))
    launch = launch_of(source, path)
    assert (launch.kernel, launch.block) == ("plus", "96")
    assert not record(file_workload(source, launch, 3)).findings
    other = completed(source, replace(asked, kernel="twice")).launch
    assert "v" in dict(other.arguments)


def test_device_functions_that_are_only_declared_are_found_beside(tmp_path):
    """As nvcc -rdc=true links them."""
    (tmp_path / "lib.cuh").write_text("#pragma once\n__device__ float helper(float x);\n")
    (tmp_path / "lib.cu").write_text(
        '#include "lib.cuh"\n__device__ float helper(float x) { return 2 * x + 1; }\n'
    )
    path = tmp_path / "main.cu"
    path.write_text(
        '#include "lib.cuh"\n'
        "__global__ void k(float* v) { v[threadIdx.x] = helper(v[threadIdx.x]); }\n"
    )
    launch = launch_of(path.read_text(), path)
    assert launch.included == str(tmp_path / "lib.cu")
    work = file_workload(path.read_text(), launch, 3)
    (before,) = (array.data for array in work.launch.arrays)
    np.testing.assert_array_equal(record(work).outputs["v"], 2 * before + 1)


def test_what_a_part_of_a_build_cannot_compile_names_the_build(tmp_path, capsys):
    (tmp_path / "own.cuh").write_text("__device__ int two(int x);\n#define TWO(x) two(x, x)\n")
    path = tmp_path / "a.cu"
    path.write_text('#include "own.cuh"\n__global__ void k(int* v) { *v = TWO(1); }\n')
    assert main(["trace", str(path)]) == 2
    assert "if nvcc compiles it, name what its build defines with -D" in capsys.readouterr().err


def test_a_kernel_that_only_fills_arrays_comes_after_those_that_load():
    fills = (
        "__global__ void fill(float* a, float v, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = v; }\n"
        "__global__ void warm() { float x = 0; x += 1; }\n"
    )
    host = "int main() { int n = 512; float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);\n"
    first = "warm<<<1, 1>>>(); fill<<<2, 256>>>(b, 1.0f, n); "
    source = f"{fills}{COPY.format(GUARDED)}{host}{first}copy<<<2, 256>>>(a, b, n); }}"
    guess = completed(source, FileLaunch("k.cu", "", "", "", ""))
    assert guess.launch.kernel == "copy"
    assert guess.left_out == "warm and fill are left out: they load nothing from memory."
    asked = completed(source, FileLaunch("k.cu", "fill", "", "", ""))
    assert (asked.launch.kernel, asked.left_out) == ("fill", "")
    assert (
        completed(fills + COPY.format(GUARDED), FileLaunch("k.cu", "", "", "", "")).launch.kernel
        == "copy"
    )
    alone = completed(fills, FileLaunch("k.cu", "", "", "", ""))
    assert (alone.launch.kernel, alone.left_out) == ("fill", "")


@pytest.mark.parametrize(
    "work",
    [
        "to[threadIdx.x] += 1;",
        "to[0]++;",
        "*to = *to + 1;",
        "(*to)++;",
        "atomicAdd(to, 1);",
        "to[threadIdx.x] = __ldg(to + 1);",
        "if (to[0] == 1) to[1] = 2;",
        "work(to, n);",
        "float *all = to; all += 1; *all = *(all + 1);",
        "count++;",
        "to[0] = count;",
    ],
)
def test_a_kernel_that_may_load_is_taken_as_the_first(work):
    source = f"__device__ int count = 0;\n__global__ void first(float* to, int n) {{ {work} }}\n"
    source += COPY.format(GUARDED)
    assert first_kernel(["first", "copy"], source) == ("first", {})


ADD = "__global__ void {0}(T* x, int n) {{ int i = threadIdx.x; if (i < n) x[i] += 1; }}\n"


@pytest.mark.parametrize(
    "source",
    [
        "#define GLUED_(a, b) a##_##b\n#define GLUED(a, b) GLUED_(a, b)\n"
        f"#define MAKE(op, T) {ADD.format('GLUED(op, T)')}MAKE(add, float)\n",
        "#define HEAD(T) __global__ void add_##T(T* x, int n)\n"
        "#define MAKE(T) HEAD(T) { int i = threadIdx.x; if (i < n) x[i] += 1; }\nMAKE(float)\n",
        f"#define EACH(X) X(float) X(int)\n#define MAKE(T) {ADD.format('add_##T')}EACH(MAKE)\n",
        f"#define FOR(F, ...) F(__VA_ARGS__)\n#define MAKE(name, T) {ADD.format('name')}"
        "FOR(MAKE, add_float, float)\n",
    ],
)
def test_kernels_that_macros_make_by_way_of_others_are_found(source):
    launch = launch_of(source)
    assert (launch.kernel, dict(launch.arguments)["x"][-12:-4]) == ("add_float", ":float32")
    assert not record(file_workload(source, launch)).findings


def test_arrays_that_one_of_two_sizes_bounds_have_that_size_alone():
    body = """int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= N) return;
        float sum = 0;
        for (int c = 0; c < C; c++) sum += x[i * C + c] * weight[c] + bias[(i + c) % C];
        mean[i] = sum; flat[i * C] = sum; if (threadIdx.x == 0) parts[blockIdx.x] = sum;"""
    names = ("x", "weight", "bias", "mean", "flat", "parts")
    parameters = ", ".join(f"float* {name}" for name in names)
    kernel = f"__global__ void rows({parameters}, int N, int C) {{ {body} }}\n"
    host = f"void run({parameters}, int N, int C) {{\n"
    launch = f"rows<<<(N + 63) / 64, 64>>>({', '.join(names)}, N, C); }}\n"
    guess = launch_of(kernel + host + launch)
    shapes = {name: text.partition("[")[2].rstrip("]") for name, text in guess.arguments}
    n, c = (dict(guess.arguments)[name] for name in "NC")
    assert n != c
    assert shapes["x"] == f"{n},{c}"
    assert (shapes["weight"], shapes["bias"], shapes["mean"]) == (c, c, n)
    assert shapes["parts"] == guess.grid
    wrong = kernel.replace("c < C", "c <= C")
    found = record(file_workload(wrong + host + launch, launch_of(wrong + host + launch))).findings
    assert any(f.array == "weight" and f.kind == "out_of_bounds" for f in found)
