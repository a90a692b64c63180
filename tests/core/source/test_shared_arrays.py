"""Shared arrays: their shapes from the source, checked against the bytes in the PTX."""

from __future__ import annotations

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.ptx.parser import parse
from core.source.constants import evaluate
from core.source.shared_arrays import SharedDeclaration, match, shared_arrays

KERNELS = """\
#define PAD 1
#define ROWS (TILE / 2)
#define AREA TILE + PAD   // not in parentheses, on purpose
#ifndef FALLBACK
#define FALLBACK 99
#endif
constexpr int BM = 12, BK = BM / 2 + 1;
const unsigned WIDE = 1u << 5;
struct Pair { int a; float b; };
__shared__ float common[3][7];
namespace outer { __shared__ short deep[BK]; }
/* __shared__ float never[4]; */
// __shared__ float nor[4];
extern "C" __global__ void __launch_bounds__(256) first(float* out)
{
    const char* text = "__shared__ float string[4];";
    constexpr int TM = BM / 4;
    __shared__ float a[TILE][TILE + PAD], b[BM * BK];
    __shared__ double c[ROWS][BK][TM];
    __shared__ __align__(16) unsigned char bytes[2 * AREA];
    __shared__ float4 vectors[5][WIDE];
    __shared__ int single;
    __shared__ float* pointers[6];
    volatile __shared__ long long int wide[0x10];
    __shared__ Pair pairs[4];
    __shared__ unsigned counts[sizeof(float) * 2];
    __shared__ float fallback[FALLBACK];
    {
        __shared__ float same[8];
        { __shared__ float same[4][5]; same[1][1] = 2; out[1] = same[1][1]; }
        same[0] = 1; out[0] = same[0];
    }
    a[1][1] = b[1] = c[1][1][1] = bytes[1] = single = wide[1] = counts[1] = fallback[2] = 1;
    vectors[1][1].x = 2; pointers[1] = out; pairs[1].a = 3; common[1][1] = 4; outer::deep[1] = 5;
    out[2] = a[1][1] + b[1] + c[1][1][1] + bytes[1] + single + *pointers[1] + wide[1] + counts[1]
           + vectors[1][1].x + pairs[1].a + common[1][1] + outer::deep[1] + fallback[2] + text[0];
}
extern "C" __global__ void second(float* out)
{
    constexpr int TM = 2;
    __shared__ float a[TM][3];
    extern __shared__ __align__(16) float dynamic[];
    a[1][1] = 1; dynamic[1] = 2;
    out[0] = a[1][1] + dynamic[1];
}
template <int BX, typename T = float> __global__ void generic(T* out)
{
    __shared__ T tile[BX][BX + 1];
    tile[threadIdx.y][threadIdx.x] = out[0];
    out[1] = tile[threadIdx.x][threadIdx.y];
}
template __global__ void generic<6, double>(double*);
template __global__ void generic<10, int>(int*);
"""
DEFINES = {"TILE": "8", "FALLBACK": "11"}


def declared(source: str, **defines: str) -> dict[str, SharedDeclaration]:
    return {d.name: d for d in shared_arrays(source, defines)}


def one(declaration: str, **defines: str) -> SharedDeclaration:
    (found,) = shared_arrays(f"__global__ void k() {{\n {declaration} }}", defines)
    return found


def test_every_shared_symbol_of_a_build_gets_its_shape() -> None:
    code = parse(compile_ptx(KERNELS, defines=DEFINES).ptx)
    variables = [
        *code.variables.values(),
        *(v for function in code.functions.values() for v in function.variables),
    ]
    declarations = shared_arrays(KERNELS, DEFINES)
    found = {
        v.name: match(v.name, v.nbytes or 40, declarations)
        for v in variables
        if v.space == "shared"
    }
    f4, f8 = np.dtype("f4"), np.dtype("f8")
    assert found == {
        "common": ("common", (3, 7), f4),
        "_ZN5outer4deepE": ("outer::deep", (7,), np.dtype("i2")),
        "_ZZ5firstE1a": ("a", (8, 9), f4),
        "_ZZ5firstE1b": ("b", (84,), f4),
        "_ZZ5firstE1c": ("c", (4, 7, 3), f8),
        "_ZZ5firstE5bytes": ("bytes", (17,), np.dtype("u1")),
        "_ZZ5firstE7vectors": ("vectors", (5, 32, 4), f4),
        "_ZZ5firstE6single": ("single", (1,), np.dtype("i4")),
        "_ZZ5firstE8pointers": ("pointers", (6,), np.dtype("u8")),
        "_ZZ5firstE4wide": ("wide", (16,), np.dtype("i8")),
        "_ZZ5firstE5pairs": ("pairs", (32,), np.dtype("u1")),
        "_ZZ5firstE6counts": ("counts", (8,), np.dtype("u4")),
        "_ZZ5firstE8fallback": ("fallback", (11,), f4),
        "_ZZ5firstE4same": ("same", (8,), f4),
        "_ZZ5firstE4same_0": ("same", (4, 5), f4),
        "_ZZ6secondE1a": ("a", (2, 3), f4),
        "dynamic": ("dynamic", (10,), f4),
        "_ZZ7genericILi6EdEvPT0_E4tile": ("tile", (6, 7), f8),
        "_ZZ7genericILi10EiEvPT0_E4tile": ("tile", (10, 11), np.dtype("i4")),
    }


def test_a_declaration_says_where_it_stands() -> None:
    found = shared_arrays(KERNELS, DEFINES)
    assert {d.function for d in found} == {"", "first", "second", "generic"}
    assert [d.name for d in found if d.is_extern] == ["dynamic"]
    assert {d.name: d.dims for d in found}["tile"] is None


def test_a_macro_is_replaced_as_text() -> None:
    text = "#define SUM 2 + 3\n#define TWICE SUM * 2\n__shared__ int a[TWICE], b[(SUM) * 2];"
    assert {name: d.dims for name, d in declared(text).items()} == {"a": (8,), "b": (10,)}


def test_a_define_from_the_command_line_wins() -> None:
    text = "#ifndef T\n#define T 4\n#endif\n__shared__ float a[T];"
    assert declared(text)["a"].dims == (4,)
    assert declared(text, T="6")["a"].dims == (6,)


def test_a_name_with_two_values_is_unknown_rather_than_wrong() -> None:
    text = "#if X\n#define T 4\n#else\n#define T 8\n#endif\n__shared__ float a[T][2];"
    assert declared(text)["a"].dims is None
    assert match("a", 32, shared_arrays(text, {})) == ("a", (8,), np.dtype("f4"))
    inside = "__global__ void k(int n) { const int T = n; __shared__ float a[T]; }"
    assert declared("constexpr int T = 3;\n" + inside)["a"].dims is None


def test_a_macro_that_names_itself_ends() -> None:
    assert one("__shared__ int a[A];", A="B + 1", B="A + 1").dims is None


@pytest.mark.parametrize(
    ("declaration", "ctype", "dtype", "dims"),
    [
        ("__shared__ unsigned x[3];", "unsigned int", "u4", (3,)),
        ("__shared__ long unsigned int x;", "unsigned long", "u8", ()),
        ("__shared__ unsigned long long x[2][3];", "unsigned long long", "u8", (2, 3)),
        ("static __shared__ signed char x[9];", "signed char", "i1", (9,)),
        ("__shared__ uint16_t x[9];", "uint16_t", "u2", (9,)),
        ("__shared__ __half x[9];", "__half", "f2", (9,)),
        ("__shared__ uint x[9];", "uint", "u4", (9,)),
        ("__shared__ bool x[9];", "bool", "u1", (9,)),
        ("alignas(16) __shared__ double x[1'000];", "double", "f8", (1000,)),
        ("__shared__ cuda::barrier<scope> x;", "cuda::barrier<scope>", None, ()),
        ("__shared__ struct Pair x[3];", "Pair", None, (3,)),
        ("typedef unsigned long long u64; __shared__ u64 x[3];", "unsigned long long", "u8", (3,)),
        ("using a = const float4; using b = a; __shared__ b x[3];", "float4", "f4", (3,)),
        ("using a = b; using b = a; __shared__ a x[3];", "a", None, (3,)),
        ("__shared__ float x[3 * sizeof(double)];", "float", "f4", (24,)),
        ("__shared__ float x[n];", "float", "f4", None),
        ("__shared__ float x[f(3)];", "float", "f4", None),
        ("__shared__ float x[0];", "float", "f4", None),
        ("__shared__ float x[3 / 0];", "float", "f4", None),
        ("__shared__ float x[010];", "float", "f4", (8,)),
    ],
)
def test_declarations(
    declaration: str, ctype: str, dtype: str | None, dims: tuple[int, ...] | None
) -> None:
    found = one(declaration)
    assert (found.name, found.ctype, found.dims) == ("x", ctype, dims)
    assert found.dtype == (None if dtype is None else np.dtype(dtype))
    assert found.function == "k"


def test_a_size_that_does_not_fit_gives_a_flat_array() -> None:
    found = shared_arrays("__shared__ float t[4][5];", {})
    assert match("t", 80, found) == ("t", (4, 5), np.dtype("f4"))
    assert match("t", 84, found) == ("t", (21,), np.dtype("f4"))
    assert match("t", 82, found) == ("t", (82,), np.dtype("u1"))
    assert match("unknown", 12, found) == ("unknown", (12,), np.dtype("u1"))
    assert match("_ZZ5otherE1t", 80, found) == ("t", (80,), np.dtype("u1"))


def test_two_shapes_of_one_size_are_not_told_apart() -> None:
    text = "void k() { { __shared__ int t[2][6]; } { __shared__ int t[3][4]; } }"
    assert match("_ZZ1kvE1t_0", 48, shared_arrays(text, {})) == ("t", (12,), np.dtype("i4"))


def test_a_dynamic_array_of_rows_takes_what_the_launch_gives() -> None:
    found = shared_arrays("void k() { extern __shared__ double s[][R]; }", {"R": "3"})
    assert match("s", 96, found) == ("s", (4, 3), np.dtype("f8"))
    assert match("s", 88, found) == ("s", (11,), np.dtype("f8"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("1 << 5", 32),
        ("N + 0x1F", 36),
        ("16u * 2UL", 32),
        ("N * sizeof(uint4)", 80),
        ("sizeof(uint16_t) + sizeof(long)", 10),
        ("sizeof(N)", None),
        ("N ** 9", None),
        ("N.real", None),
        ("__import__('os')", None),
        ("[1][0]", None),
        ("1 if N else 2", None),
        ("1.5", None),
        ("True", None),
        ("", None),
        ("1 << 99999999", None),
        ("M", None),
        ("8if", None),
        ("a" * 5000 + "!", None),
        (" " * 5000 + "!", None),
        ("7" * 3000 + "!", None),
        ("(" * 500 + "1" + ")" * 500, None),
    ],
)
def test_expressions(text: str, value: int | None) -> None:
    assert evaluate(text, {"N": 5}) == value
