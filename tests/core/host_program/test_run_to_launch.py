"""The host's arithmetic is C's: constants are checked by the compiler, the rest against `math`."""

import math
import time

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.guessing.launch_guess import guess_launch
from core.host_program.run_to_launch import HostProgram
from core.source.c_numbers import parsed
from core.source.kernels_and_launches import HostLaunch, host_launches

NO_LAUNCH = HostLaunch("", (), (), (), "", 0)
VALUES = {"n": 1000, "m": -37, "w": 24, "x": 2.5, "y": -0.75, "zero": 0}
DECLARED = "".join(
    f"constexpr {'double' if isinstance(v, float) else 'long long'} {name} = {v};\n"
    for name, v in VALUES.items()
)
EXPRESSIONS = [
    "(n + 31) & ~31", "~n", "!n", "!zero + 1", "-m / 5", "m / 5", "m % 5", "n % 7 * 3", "-(m % 4)",
    "n > 3 && m < 0", "n && zero", "zero || m", "zero || zero", "zero && n / zero", "n || n / zero",
    "n ? w : m", "zero ? 1 : m ? 2 : 3", "n > 5 ? n : x", "n / 256.0", "n / 3 * 1.5", "n * x - y",
    "(int)x * 2", "(int)(x * 3)", "(double)n / 3", "(float)w / 5", "int(y * 9)",
    "static_cast<int>(x)", "n | w & 7 == 7", "0x1F + 010",
    "(long long)m >> 2", "1 << 20", "n >> 3", "n ^ w | 1", "n & w ^ 5",
    "0b101 * 1'000", "3u * 7ull", "1e3 / 7", ".5f + 2.f", "n < w < 2", "n - w - m", "n / w / 2",
    "2 + 3 * 4 % 5 << 1", "-~n", "(unsigned)5 + 1", "true + true", "(bool)x + (bool)zero",
    "(n + w - 1) / w", "n != 1000 || m == -37", "(x > y) - (x < y)", "- - n", "+m",
]  # fmt: skip


def value(text):
    return HostProgram("", {}, {}, NO_LAUNCH, of_classes=VALUES).before({}).value(text)


def numbers_before(source):
    (launch,) = host_launches(source)
    return HostProgram(source, {}, {}, launch).before({}).numbers


def test_constants_are_the_compilers():
    checks = []
    for text in EXPRESSIONS:
        found = value(text)
        assert found is not None, text
        if isinstance(found, float):
            checks.append(f"static_assert(({text}) - {found!r} < 1e-6);")
            checks.append(f"static_assert({found!r} - ({text}) < 1e-6);")
        else:
            checks.append(f"static_assert(({text}) == {found}LL);")
    compile_ptx(DECLARED + "\n".join(checks) + "\n__global__ void k() {}")


NO_VALUE = [
    "pow(-8.0, 0.5)", "pow(7, 9999999)", "pow(zero, m)", "log2(0)", "sqrt(m)", "n / zero",
    "n % zero", "1 << 64", "1 << -1", "1 << 62 << 3", "0x7fffffffffffffff * 4", "x % 2", "~x",
    "x << 1", "unknown", "n +", "f(n)", "n ? 1", "ceil()", "pow(1)", "a[3]", "",
    "((((", '"n"', "'a'",
    "(" * 5000 + "1" + ")" * 5000, "-" * 1500 + "1", "n" + " + n" * 5000,
    "(" * 900 + "1" + ")" * 900, "1" + "+1" * 999,
]  # fmt: skip


def test_functions_are_those_of_the_library():
    assert value("pow(2, 10) / 3") == pytest.approx(1024 / 3)
    assert value("ceil(n / 256)") == 3
    assert value("ceil(n / 256.0)") == 4
    assert value("(int)ceilf((float)n / 300) / 3") == 1
    assert value("round(2.5) + round(-0.5f)") == 2
    assert value("std::max(w, (int)sqrt(n)) + min<int>(3, 5) - abs(m)") == 31 + 3 - 37
    assert value("log2(1 << 10)") == 10
    for text in NO_VALUE:
        assert value(text) is None, text
    made = parsed("pow(7, 9999999)")
    assert made is not None
    start = time.thread_time()
    assert made({}) is None
    assert time.thread_time() - start < 0.5  # it is not worked out, which would take several


def test_random_expressions_are_as_in_exact_arithmetic():
    generator = np.random.default_rng(3)
    names = [*VALUES]

    def expression(depth):
        if depth == 0 or generator.random() < 0.2:
            return str(generator.choice(names[:3])) if generator.random() < 0.7 else "7"
        mark = generator.choice(["+", "-", "*", "&", "|", "^"])
        return f"({expression(depth - 1)} {mark} {expression(depth - 1)})"

    for _ in range(300):
        text = expression(4)
        exact = eval(text, {}, dict(VALUES))
        assert value(text) == (exact if abs(exact) < 1 << 62 else None)


MAIN = """
__global__ void k(float *a, int n) {{ if (blockIdx.x * blockDim.x + threadIdx.x < n) a[0] = n; }}
int main() {{ {body}; k<<<blocks, threads>>>(d, 5); }}
"""


@pytest.mark.parametrize(
    ("body", "blocks"),
    [
        ("float n = 1000; int threads = 64, blocks = ceil(n / 256)", 4),
        ("int n = 1000; int threads = 64, blocks = ceil(n / 256)", 3),
        ("float n; n = 1000; int threads = 64; int blocks = n / 256 + 0.5", 4),
        ("int n = 1000 / 3.0; int threads = 64, blocks = n % 10", 3),
        ("int threads = 64; double share = 7; auto blocks = (int)(share / 2)", 3),
        ("int threads = ~31 & 95, on = 1; int blocks = on && threads == 64 ? 5 : 9", 5),
    ],
)
def test_declared_types_are_kept(body, blocks):
    source = MAIN.format(body=body)
    numbers = numbers_before(source)
    assert int(numbers["blocks"]) == blocks
    assert isinstance(numbers["blocks"], int)
    assert numbers["threads"] == 64


def test_a_launch_that_cannot_be_told_is_no_failure():
    source = MAIN.format(body="int threads = 64, blocks = pow(-8.0, 0.5)")
    assert guess_launch(source, "k.cu").block == "64"
    assert not math.isnan(float(guess_launch(source, "k.cu").grid))


@pytest.mark.parametrize(
    "made",
    [
        "block = {8, n / 8, 2}",
        "block{8, n / 8, 2}",
        "block(8, 4, 2)",
        "other{n / 4, 4}, block{8, (n + 7) / 8, 2}",
    ],
)
def test_a_dim3_in_braces_is_one(made, tmp_path):
    source = (
        "__global__ void k(float *a, int n) "
        "{ a[threadIdx.x + threadIdx.y * 8 + threadIdx.z * 32] = n; }\n"
        "int main() { const int n = 32; float *a; cudaMalloc(&a, 64 * sizeof(float));"
        f" dim3 {made}; k<<<1, block>>>(a, n); }}"
    )
    assert guess_launch(source, str(tmp_path / "k.cu")).block == "8,4,2"


def test_a_launch_through_a_variable_is_one_of_the_kernel_that_it_holds():
    source = """
    template<int N> __global__ void one(int* a) {}
    __global__ void two(int* a) {}
    void f(int* a) { constexpr int W = 4; auto* kernel = one<W>; kernel<<<1, 32>>>(a); }
    void g(int* a) { auto kernel = &two; kernel<<<2, 64>>>(a); }
    """
    found = [(x.name, x.template, x.configuration) for x in host_launches(source)]
    assert found == [("one", ("W",), ("1", "32")), ("two", (), ("2", "64"))]


@pytest.mark.parametrize(
    ("body", "blocks"),
    [
        ("int n = 5000; if (n > 4096) n = 4096; int blocks = n / 64", 64),
        ("int n = 500; if (n > 4096) n = 4096; int blocks = n / 50", 10),
        ("int n = 512; if (argc > 1) n = atoi(argv[1]); int blocks = n / 64", 8),
        ("int n = 512; if (argc > 1) { n = atoi(argv[1]); } int blocks = n / 64", 8),
        ("int n = argc > 1 ? atoi(argv[1]) : 512; int blocks = n / 64", 8),
        ("int n = (argc > 2) ? std::stoi(argv[1]) : 1 << 9; int blocks = n / 64", 8),
        ("int blocks = SIDE + LAST", 4 + 33),
    ],
)
def test_what_a_condition_and_the_command_line_choose(body, blocks):
    kinds = "enum { SIDE = 1 << 2 }; enum class Kind : int { A = 32, LAST };\n"
    source = kinds + MAIN.format(body=f"int threads = 64; {body}")
    assert numbers_before(source)["blocks"] == blocks


def test_a_number_of_the_command_line_alone_is_open(tmp_path):
    source = """
    __global__ void k(float* a, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) a[i] = n;
    }
    int main(int argc, char** argv) {
        int n = atoi(argv[1]);
        float* d;
        cudaMalloc(&d, n * sizeof(float));
        k<<<(n + 99) / 100, 100>>>(d, n);
    }
    """
    launch = guess_launch(source, str(tmp_path / "k.cu"))
    n = int(dict(launch.arguments)["n"])
    assert launch.block == "100"
    assert int(launch.grid) == -(-n // 100)
    assert dict(launch.arguments)["a"] == f"zeros:float32[{n}]"


@pytest.mark.parametrize(
    ("helper", "blocks"),
    [
        ("template <typename T> T tiles(T n, T tile) { return (n + tile - 1) / tile; }", 4),
        ("int tiles(int n, int tile) { return n / tile; }", 3),
        ("template <class... T> Size tiles(T, ...) { return 3; }", None),
    ],
)
def test_functions_that_are_one_expression_are_read(helper, blocks):
    source = f"{helper}\n{MAIN.format(body='int n = 1000, blocks = tiles(n, 256), threads = 64')}"
    assert numbers_before(source).get("blocks") == blocks


@pytest.mark.parametrize(
    ("declared", "asked", "nbytes"),
    [
        ("int (*a)[W][H], (*b)[W][H]", "*b", 4 * 6 * 5),
        ("int (*a)[W][H]", "a", 8),
        ("int (*a)[W][H]", "a[0][0]", 4 * 5),
        ("double *x, *y", "*y", 8),
        ("char *x, **names", "*names", 8),
        ("unsigned char *x", "x[0]", 1),
        ("double rows[W][H]", "rows", 8 * 6 * 5),
        ("double rows[W][H]", "rows[0]", 8 * 5),
        ("const short first[2], rows[W]", "rows", 2 * 6),
        ("struct Unknown x", "x", 4),
    ],
)
def test_the_size_of_a_variable_is_that_of_its_declaration(declared, asked, nbytes):
    body = f"{declared}; int bytes = sizeof({asked}), threads = 64, blocks = 1"
    source = f"#define W 6\n#define H (W - 1)\n{MAIN.format(body=body)}"
    assert numbers_before(source)["bytes"] == nbytes


@pytest.mark.parametrize(
    "width", ["image.cols", "v->size()", "parts[i].width / 4", "all->part[2].width", "(int)a.n"]
)
def test_a_number_of_an_object_is_one_that_nobody_says(width):
    source = MAIN.format(body=f"const std::size_t n = {width}, threads = 64; int blocks = n / 4")
    assert numbers_before(source)["blocks"] == 1024 // 4


@pytest.mark.parametrize(
    ("body", "blocks"),
    [
        ("int size[3] = {96, 64, 32}; int n = size[1], blocks = n / 4", 16),
        ("const long size[] = {96, 4 * 64}; int blocks = size[1] / 4", 64),
        ("int size[2]{96, 64}; size[0] = n; int blocks = size[1] / 4", 16),
        ("int size[2] = {96, 64}; int blocks = size[0] / sizeof_row", 24),
    ],
)
def test_numbers_listed_in_an_array_count(body, blocks):
    source = MAIN.format(body=f"int threads = 64, sizeof_row = 4; {body}")
    assert numbers_before(source)["blocks"] == blocks


def test_a_structure_that_is_copied_takes_its_members_along():
    source = """
struct Ell { int rows; int* columns; int most; };
__global__ void k(Ell a, float* y) { if (threadIdx.x < a.rows) y[threadIdx.x] = a.columns[0]; }
void run(Ell host, float* y)
{
    int* columns;
    cudaMalloc(&columns, host.rows * host.most * sizeof(int));
    Ell device = host;
    device.columns = columns;
    k<<<1, 64>>>(device, y);
}
int main()
{
    Ell given;
    given.rows = 3;
    given.most = 2;
    run(given, nullptr);
}
"""
    arguments = dict(guess_launch(source, "k.cu").arguments)
    assert (arguments["a.rows"], arguments["a.most"]) == ("3", "2")
    assert arguments["a.columns"].endswith("int32[6]")


def test_a_size_of_the_program_that_is_0_at_first_is_one_that_it_learns_later():
    source = """
int width = 0, offset = 0;
const int height = 0;
__global__ void k(float* a, int width, int height, int offset) { a[threadIdx.x + offset] = width; }
void run(float* a) { k<<<1, 32>>>(a, width, height, offset); }
"""
    arguments = dict(guess_launch(source, "k.cu").arguments)
    assert int(arguments["width"]) > 0
    assert (arguments["height"], arguments["offset"]) == ("0", "0")


@pytest.mark.parametrize(
    ("before", "body", "blocks"),
    [
        ("int half(int n) { if (n > 4) return n / 2; return n; }", "int blocks = half(64)", 32),
        ("int half(int n) { if (n > 4) return n / 2; return n; }", "int blocks = half(3)", 3),
        ("void set(int &a, int *b) { a = 3; *b = a + 4; }", "int a, blocks; set(a, &blocks)", 7),
        ("#define UP(n, by) (((n) + (by) - 1) / (by))\n", "int n = 100, blocks = UP(n + 1, 25)", 5),
        ("#define SET(x, n) do { x = n; } while (0)\n", "int blocks; SET(blocks, 3 + 4);", 7),
        ("#define CHECK(x) x\n", "int blocks = 1;\nCHECK(cudaMemset(0, 0, 4))\nblocks = 6", 6),
        ("", "int blocks = 2; for (int i = 3; i < 9; i++) { blocks = i; }", 3),
        ("", "int blocks = 0; for (int n : {5, 6}) blocks = n;", 5),
        ("", "auto twice = [](int n) { return 2 * n; }; int blocks = twice(4)", 8),
        ("", "int n = 3, blocks; switch (n) { case 2: blocks = 4; break; case 3: blocks = 6; }", 6),
        ("", "std::vector<float> v(40); int blocks = v.size() / 4", 10),
        ("", "int n = 3; { float n = 2.5f; } int blocks = 2; blocks += 3; blocks--", 4),
        ("", "int blocks, most; cudaDeviceGetAttribute(&blocks, cudaDevAttrWarpSize, 0)", 32),
        ("", "dim3 g(4); g.y = 3; int blocks = g.x * g.y * g.z", 12),
        ("struct S { int a = 2, b; S(int n) : b(n * a) {} };", "S s(5); int blocks = s.b", 10),
        ("struct S { int a, b; };", "S s{3, 4}; S *p = &s; p->a = 5; int blocks = s.a + p->b", 9),
        ("struct S { int n; int two() { return 2 * n; } };", "S s{4}; int blocks = s.two()", 8),
        ("template <int N> int times(int n) { return N * n; }", "int blocks = times<3>(5)", 15),
        ("namespace a { const int N = 12; }", "int blocks = a::N / 4", 3),
        ("struct S { int a = 6, b = 4; };", "S s; int blocks = s.a - s.b", 2),
        ("struct S { int n; S(int n = 7) : n(n) {} };", "S s; int blocks = s.n", 7),
        ("", "int n = 0, blocks = 1; switch (n) { case 0: case 1: blocks += 4; break; }", 5),
        ("", "int n = 9, blocks; switch (n) { case 0: n = 2; break; default: blocks = 3; }", 3),
        ("", "int n = 1e999, blocks = 4; dim3 g(1e999), h(n)", 4),
        ("", "int n = 3, blocks = ++n + n++", 8),
        ("#define D(f) f()\n", "int a, blocks; D([&] { a = 2; }); D([&] { blocks = a + 3; })", 5),
        ("#define UP(n) ((n) + 1)\n", "int n = 3, blocks =\nUP(n) * 2", 8),
        ("using Real = double;", "Real *x; int blocks = 64 / sizeof(*x) + sizeof(Real)", 16),
    ],
)  # fmt: skip
def test_a_host_program_runs_as_cpp_means_it(before, body, blocks):
    source = f"{before}\n{MAIN.format(body=f'int threads = 64; {body}')}"
    assert numbers_before(source)["blocks"] == blocks


ALLOCATING = """
struct Buffer {
  float *data;
  int size;
  Buffer(int n) { size = n; cudaMalloc(&data, n * sizeof(float)); }
};
template <typename T> T *make(int n) { T *p; cudaMalloc((void **)&p, n * sizeof(T)); return p; }
__global__ void k(float *a) { a[threadIdx.x] = 1; }
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("Buffer b(24); k<<<1, 8>>>(b.data);", (96, 0)),
        ("Buffer *b = new Buffer(24); k<<<1, 8>>>(b->data + 4);", (96, 4)),
        ("k<<<1, 8>>>(make<float>(24));", (96, 0)),
        ("float *p = make<float>(24); k<<<1, 8>>>(&p[6]);", (96, 6)),
        ("float *d[2]; for (int i = 0; i < 2; i++) cudaMalloc(&d[i], 40); k<<<1, 8>>>(d[0]);",
         (40, 0)),
        ("thrust::device_vector<float> v(10); k<<<1, 8>>>(thrust::raw_pointer_cast(v.data()));",
         (40, 0)),
        ("float *p = (float *)malloc(40); float *&q = p; k<<<1, 8>>>(q);", (40, 0)),
        ("float *p; cudaMalloc(&p, unknown()); k<<<1, 8>>>(p);", None),
    ],
)  # fmt: skip
def test_a_pointer_leads_to_what_was_allocated(body, found):
    source = f"{ALLOCATING}\nint main() {{ {body} }}"
    (launch,) = host_launches(source)
    values = HostProgram(source, {}, {}, launch).before({})
    assert values.pointer(launch.arguments[0]) == found


@pytest.mark.parametrize(
    ("branches", "numbers"),
    [
        ("if (n == 16) { LAUNCH } else { n = 5; }", {"n": 16}),
        ("if (n == 16) { n = 5; } else if (m == 8) { LAUNCH }", {"m": 8}),
        ("if (!flag) { n = 5; } else { LAUNCH }", {"flag": 1}),
        ("if (flag) { n = 5; } else { LAUNCH }", {"flag": 0}),
        ("switch (n / 2) { case 3: n = 1; break; case 4: LAUNCH }", {"n": 8}),
    ],
)
def test_what_a_launch_is_made_for(branches, numbers):
    kernel = "__global__ void k(int n) {}\n"
    launch = "k<<<1, 1>>>(n);"
    source = f"{kernel}void run(int n, int m, bool flag = 0) {{ {branches} }}".replace(
        "LAUNCH", launch
    )
    (found,) = host_launches(source)
    program = HostProgram(source, {}, {}, found)
    assert dict(program.conditions()) == numbers
    values = program.before({}, dict(program.conditions()))
    assert values.value("n") == numbers.get("n", 1024)


def test_what_nobody_sets_up_is_set_up_by_the_class():
    source = """
    __global__ void k(float *a, int width, int height) {}
    class Image {
      int width_ = 0, height_ = 0;
      float *data_;
      void resize(int width, int height);
      void run() { k<<<height_, width_>>>(data_, width_, height_); }
    };
    void Image::resize(int width, int height) {
      width_ = width;
      height_ = 2 * width;
      cudaMalloc(&data_, width_ * height_ * sizeof(float));
    }"""
    (launch,) = host_launches(source)
    values = HostProgram(source, {}, {}, launch).before({})
    width = values.numbers["width_"]
    assert width > 0
    assert values.size3("height_") == (2 * width, 1, 1)
    assert values.pointer("data_") == (8 * width * width, 0)


def ten_times(text, by=" + "):
    return by.join([text] * 10)


@pytest.mark.parametrize(
    "made",
    [
        "\n".join(f"#define M{i} {ten_times(f'M{i - 1}')}" for i in range(1, 9)) + "\n#define M0 1",
        pytest.param(
            "\n".join(f"#define M{i}(x) {ten_times(f'M{i - 1}(x)')}" for i in range(1, 9)),
            marks=pytest.mark.slow,
        ),
        "\n".join(f"int m{i}() {{ return {ten_times(f'm{i + 1}()')}; }}" for i in range(9)),
        "namespace a {" * 3000 + "int n = 3;" + "}" * 3000,
        "enum { " + ", ".join(f"E{i} = E{i + 1} + E{i + 1}" for i in range(60)) + " };",
        "int m8() { " + "if (1) { " * 3000 + "}" * 3000 + " return 3; }",
        "struct P { P *q; }; int m0() { P a; " + " ".join(f"a.x{i} = a;" for i in range(40)) + "}",
        "int m0() { return " + "f(" * 40 + "1" + ")" * 40 + "; }",
        "template <int N> struct W { static const int v = W<N / 2>::v * W<N / 2>::v; };",
        "int m8() { return " + "(" * 3000 + "1" + ")" * 3000 + "; }",
    ],
)
def test_programs_that_would_take_forever_are_given_up(made):
    source = (
        f"{made}\n{MAIN.format(body='int blocks = M8 + M8(1) + m0() + E0 + m8(), threads = 64')}"
    )
    (launch,) = host_launches(source)
    start = time.process_time()
    values = HostProgram(source, {}, {}, launch).before({})
    assert values.value("M8 + M8(1) + m0() + E0 + m8()") is None
    assert time.process_time() - start < 10
