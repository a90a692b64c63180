"""Macros and constants of a source's text: what is long, deep or large in them ends soon."""

import time

import pytest

from core.compiler.kernel_signature import kernel_names, read_signature
from core.errors import ArgumentError
from core.guessing.first_launch import guess_launch
from core.source.editable_constants import evaluate, read_source
from core.source.kernels_and_launches import kernels
from core.source.shared_declarations import shared_arrays

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
    text = read_source(source, {})
    assert evaluate(text.expanded("A3 * A5"), {}) == 256
    assert text.expanded("A60 + 1") == "A60 + 1"
    (array,) = shared_arrays(source, {})
    assert array.dims is None
    empty = "".join(f"#define E{i + 1} E{i} E{i}\n" for i in range(60)) + "#define E0\n"
    assert read_source(empty, {}).expanded("E60") == "E60"


def test_a_name_stands_for_itself_within_its_own_meaning():
    text = read_source("#define A B + A\n#define B A * C\n#define C 3\n", {})
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
