"""Macros and constants of a source: how they are set in its text, and that long ones end soon."""

import time

import pytest

from core.compiler.kernel_parameters import read_signature
from core.errors import ArgumentError
from core.guessing.launch_guess import guess_launch
from core.source.constants import Knob, evaluate, knobs, read_constants, with_defines, with_value
from core.source.kernels_and_launches import kernels
from core.source.shared_arrays import shared_arrays
from core.source.template_instances import kernel_names

KERNEL = "__global__ void twice(float* v, int n) { if (threadIdx.x < n) v[threadIdx.x] *= 2; }\n"
MOST_S = 30.0  # of a processor, of which slow ones take 15; each grows without end if it may


def used_s(function, *args):
    begun = time.process_time()
    function(*args)
    return time.process_time() - begun


def test_macros_that_lead_to_one_another_are_followed_to_the_end():
    chain = "".join(f"#define N{i} N{i + 1}\n" for i in range(3000)) + "#define N3000 (6 + 1)\n"
    source = f"{chain}__global__ void k() {{ __shared__ int a[N0][2 * N2999]; }}\n"
    assert shared_arrays(source, {})[0].dims == (7, 14)
    assert shared_arrays(source, {"N2000": "5"})[0].dims == (5, 14)


def test_macros_that_double_are_left_as_they_are():
    deep = "".join(f"#define A{i + 1} (A{i}+A{i})\n" for i in range(60)) + "#define A0 1\n"
    source = f"{deep}__global__ void k() {{ __shared__ int a[A3][A60]; }}\n"
    text = read_constants(source, {})
    assert evaluate(text.expanded("A3 * A5"), {}) == 256
    assert text.expanded("A60 + 1") == "A60 + 1"
    (array,) = shared_arrays(source, {})
    assert array.dims is None
    empty = "".join(f"#define E{i + 1} E{i} E{i}\n" for i in range(60)) + "#define E0\n"
    assert read_constants(empty, {}).expanded("E60") == "E60"


def test_a_name_stands_for_itself_within_its_own_meaning():
    text = read_constants("#define A B + A\n#define B A * C\n#define C 3\n", {})
    assert text.expanded("A") == "A * 3 + A"
    assert text.expanded("(B, A)") == "(B + A * 3, A * 3 + A)"


@pytest.mark.slow
def test_macros_with_kernels_in_them_that_double_end():
    deep = "".join(f"#define K{i} K{i + 1} K{i + 1} /* */ __global__\n" for i in range(40))
    assert used_s(kernels, f"{deep}K0 void k() {{}}\n{KERNEL}") < MOST_S


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 << 63", 1 << 63),
        ("N * N", 1 << 62),
        ("N * N * 4", None),
        ("N * N * 4 / 8", None),  # no number on the way may be larger
        ("-N * N * 2", -(1 << 63)),
        ("-N * N * 2 - 1", None),
        ("18446744073709551615", (1 << 64) - 1),
        ("18446744073709551616", None),
        ("UNKNOWN + 1", None),
        ("0" + " + 1" * 2000, None),
    ],
)
def test_numbers_have_room_in_64_bits(text, value):
    assert evaluate(text, {"N": 1 << 31, "UNKNOWN": None}) == value


def test_constants_that_are_squared_again_and_again_are_unknown():
    squares = "".join(f"const long n{i + 1} = n{i} * n{i};\n" for i in range(59))
    source = (
        f"const long n0 = 3;\n{squares}__global__ void k() {{ __shared__ char a[n2], b[n59]; }}"
    )
    assert used_s(shared_arrays, source, {}) < MOST_S
    assert [a.dims for a in shared_arrays(source, {})] == [(81,), None]


def test_constants_of_a_function_hide_those_outside():
    source = (
        "const int A = 2, B = 3, C = 4;\nconst int C = 5;\n"
        "__global__ void k(int n) { const int B = A * 4, D = n; const int E = B + 1;"
        " __shared__ int a[A][B][E], c[C], d[D]; }\n"
        "__global__ void l() { __shared__ int a[B]; }\n"
    )
    found = {(a.function, a.name): a.dims for a in shared_arrays(source, {})}
    assert found == {
        ("k", "a"): (2, 8, 9), ("k", "c"): None, ("k", "d"): None, ("l", "a"): (3,),
    }  # fmt: skip


SOURCES = {
    "defines": "".join(f"#define NAME_{i} {i}\n" for i in range(5000)),
    "macros": "".join(f"#define TIMES_{i}(x) ((x) * {i})\n" for i in range(5000))
    + "int main() { int n = 64; twice<<<TIMES_2(n), 32>>>(0, TIMES_64(TIMES_3(n))); }\n",
    "comments": "// what is said of it\n" * 45_000,
    "constants": "".join(f"static const int c{i} = {i};\n" for i in range(20_000)),
    "templates": "".join(
        f"template <typename T, int N{i}> __global__ void k{i}(T* v) {{ v[N{i}] = 1; }}\n"
        f"void h{i}(float* v) {{ const int size = {i}; k{i}<float, size><<<1, 32>>>(v); }}\n"
        for i in range(2000)
    ),
    "kernels": "".join(
        f"__global__ void k{i}(float* v) {{ const int T = {i + 1}; __shared__ int s[T]; }}\n"
        for i in range(4000)
    ),
    "variables of variables": "template <class T> __global__ void scale(T* v, T by) { *v *= by; }\n"
    "void f() {" + "auto a = b; auto b = a;" * 2000 + "scale<<<1, 32>>>(0, a); }\n",
    "launches in macros": "".join(
        f"#define RUN{i}(n) twice<<<n, {i + 1}>>>(0, n)\n" for i in range(4000)
    ),
    "callers": "template <class T> __global__ void scale(T* v) { *v *= 2; }\n"
    "template <class T> void f0(T* v) { scale<T><<<1, 32>>>(v); }\n"
    + "".join(f"template <class T> void f{i + 1}(T* v) {{ f{i}<T>(v); }}\n" for i in range(2000)),
    "uses of macros": "template <class T> __global__ void scale(T* v) { *v *= 2; }\n"
    "template <class T> void f(T* v) { scale<T><<<1, 32>>>(v); }\n"
    + "".join(f"#define USE{i}(T) f<T>(0)\nvoid g{i}() {{ USE{i}(int); }}\n" for i in range(1000)),
    "declarations": "".join(f"__device__ float d{i}(float x);\n" for i in range(5000))
    + "void g() {"
    + "".join(f"d{i}(1);" for i in range(5000))
    + "}\n",
    "symbols": "".join(f"__constant__ float symbol{i}[4];\n" for i in range(3000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SOURCES)
def test_a_long_source_takes_no_more_than_its_length(kind):
    """Each was read in a time that grew with its length squared."""
    assert used_s(guess_launch, KERNEL + SOURCES[kind], "x.cu") < MOST_S


@pytest.mark.parametrize("literal", ['R"({})"', 'R"cu({})cu"', 'u8R"-({})-"', '"{}"'])
def test_a_kernel_within_a_string_is_none(literal):
    inside = literal.format(r"__global__ void fake(int* a) { a[0] = 1; } // ")
    source = f"const char* text = {inside}; /* */\n{KERNEL}"
    assert kernel_names(source) == ("twice",)
    with pytest.raises(ArgumentError, match="no kernel called fake"):
        read_signature(source, "fake", {})
    quoted = f'const char* text = R"a("quoted" )" /* )a";\n{KERNEL}'
    assert kernel_names(quoted) == ("twice",)


SOURCE = """// #define OLD 3
#define TILE 16   // a comment
#  define PAD (1)
#define HALF (TILE / 2)
#define WIDE 32u
#define MASK 0x1f
#define OCTAL 010
#define AREA(x) ((x) * 4)
constexpr int ROWS = 8;
static const unsigned int STEP = 4u, OTHER = 5;
const char *text = "#define NO 7";
#ifdef X
#define TWICE 1
#else
#define TWICE 2
#endif
#define GONE 3
#undef GONE
__global__ void k(float *A)
{
    const int here = 2;
    int n = 9;
    /* constexpr int HIDDEN = 1; */
    __shared__ float tile[TILE][TILE + PAD];
}
"""


def test_numbers_that_are_defined_once_are_found_in_order():
    assert [(k.name, k.value, k.line) for k in knobs(SOURCE)] == [
        ("TILE", 16, 2),
        ("PAD", 1, 3),
        ("WIDE", 32, 5),
        ("ROWS", 8, 9),
        ("here", 2, 21),
    ]


@pytest.mark.parametrize(("name", "value"), [("TILE", 8), ("PAD", 12), ("WIDE", 7), ("ROWS", 100)])
def test_setting_one_changes_its_number_and_nothing_else(name, value):
    changed = with_value(SOURCE, name, value)
    before, after = SOURCE.split("\n"), changed.split("\n")
    assert len(before) == len(after)
    different = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    knob = next(k for k in knobs(SOURCE) if k.name == name)
    assert different == [knob.line - 1]
    assert str(value) in after[knob.line - 1]
    assert {k.name: k.value for k in knobs(changed)}[name] == value
    assert [k.name for k in knobs(changed)] == [k.name for k in knobs(SOURCE)]


def test_the_place_is_that_of_the_digits():
    for knob in knobs(SOURCE):
        assert isinstance(knob, Knob)
        assert SOURCE[knob.start : knob.end] == str(knob.value)


def test_a_name_that_is_no_number_cannot_be_set():
    for name in ("HALF", "TWICE", "GONE", "nothing", "HIDDEN", "NO"):
        with pytest.raises(KeyError):
            with_value(SOURCE, name, 1)


FLAGS = """#define X_ALONG_ROWS 0
#define LEVEL 1
#define COUNT 1
#define GUARD 1
constexpr bool SWAP = false;
static const bool KEEP = true;
#if X_ALONG_ROWS
#endif
#if LEVEL > 0
#endif
int a = GUARD ? 1 : COUNT;
"""


def test_truth_values_are_switches():
    assert {k.name: (k.value, k.switch) for k in knobs(FLAGS)} == {
        "X_ALONG_ROWS": (0, True),
        "LEVEL": (1, False),
        "COUNT": (1, False),
        "GUARD": (1, True),
        "SWAP": (0, True),
        "KEEP": (1, True),
    }
    turned = with_value(with_value(FLAGS, "SWAP", 1), "X_ALONG_ROWS", 1)
    assert "SWAP = true;" in turned
    assert turned.startswith("#define X_ALONG_ROWS 1\n")
    assert with_value(FLAGS, "KEEP", 0).count("false") == 2


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("const int N = 1, B = 2;", "const int B = 2;"),
        ("const int B = 2, N = 1;", "const int B = 2;"),
        ("const int A = f(1, 2), N = g(3, 4), B = 2;", "const int A = f(1, 2), B = 2;"),
        ("static const int N = 1, M = 3;", ""),
        ("constexpr int N = 1, B = 2, M = 3;", "constexpr int B = 2;"),
        ("const bool same = a == N;", "const bool same = a == N;"),
    ],
)
def test_given_constants_make_way_in_a_declaration_of_several(source, left):
    found = with_defines(source, {"N": "5", "M": "6"})
    assert len(found) == len(source)
    assert "".join(found.split()) == "".join(left.split())
