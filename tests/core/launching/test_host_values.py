"""The host's arithmetic is C's: constants are checked by the compiler, the rest against `math`."""

import math
import time

import numpy as np
import pytest

from core.compiler.compiler import compile_ptx
from core.launching.guess import guess_launch
from core.launching.host_values import HostProgram, parsed
from core.source.kernel_text import host_launches

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


def value(text, **names):
    return HostProgram("", {}, {}).value(text, {**VALUES, **names})


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
    with pytest.raises(OverflowError):
        made({})
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
    (launch,) = host_launches(source)
    numbers = HostProgram(source, {}, {}).before(launch, {}).numbers
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
    (launch,) = host_launches(source)
    assert HostProgram(source, {}, {}).before(launch, {}).numbers["blocks"] == blocks


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
    (launch,) = host_launches(source)
    assert HostProgram(source, {}, {}).before(launch, {}).numbers.get("blocks") == blocks


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
    (launch,) = host_launches(source)
    assert HostProgram(source, {}, {}, launch).before(launch, {}).numbers["bytes"] == nbytes


@pytest.mark.parametrize(
    "width", ["image.cols", "v->size()", "parts[i].width / 4", "all->part[2].width", "(int)a.n"]
)
def test_a_number_of_an_object_is_one_that_nobody_says(width):
    source = MAIN.format(body=f"const std::size_t n = {width}, threads = 64; int blocks = n / 4")
    (launch,) = host_launches(source)
    assert HostProgram(source, {}, {}).before(launch, {}).numbers["blocks"] == 1024 // 4


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
    (launch,) = host_launches(source)
    assert HostProgram(source, {}, {}).before(launch, {}).numbers["blocks"] == blocks


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
