"""Names in capitals are macros only where nothing declares them and the compiler knows none."""

import random

from core.guessing.undefined_macros import undefined_macros

KNOWN = [
    "#define AA 3", "#ifdef BB\n#endif", "#if defined(CC) && DD > 2\n#endif",
    "enum { EE, FF = 2 };", "const int GG = 1; const int HH = 2;",
    "template <int II, typename JJ> __device__ int f(JJ x) { return x + II; }",
    "struct __align__(8) KK { int a; };", "using LL = float;",
    "#define MAKES(NAME) __device__ int NAME() { return 1; }\nMAKES(MADE)",
]  # fmt: skip
KERNEL = """
__global__ void k(const float *IN, float *OUT, OTHER *y, int N)
{
    __shared__ float TILE[32][TILE_A];
    KK md; LL l = *IN; const int RR = 3; md.a = Q1;
    for (int I = 0; I < N; I++) { OUT[I] = l + AA + EE + FF + GG + HH + f<2>(RR) + MADE(); }
    if (N > LIMIT) goto END;
    TILE[0][0] = md.a + l; y[0] = TILE[0][0];
END:
    OUT[0] = TILE[1][0];
}
"""


def test_names_that_nothing_defines_are_found_and_no_others():
    random.Random(5).shuffle(KNOWN)
    source = "\n".join(KNOWN) + KERNEL + "int main() { return HOST_ONLY + OTHER_HOST; }\n"
    found = undefined_macros(source, "k", {}, {}, "k.cu")
    assert found == {"OTHER": True, "TILE_A": False, "Q1": False, "LIMIT": False}
    given = undefined_macros(source, "k", {}, {"TILE_A": "8", "OTHER": "double"}, "k.cu")
    assert given == {"Q1": False, "LIMIT": False}


def test_names_that_a_header_defines_are_none():
    source = '#include "sizes.h"\n__global__ void k(float *a) { a[WIDTH] = HEIGHT + DEPTH; }\n'
    headers = {"sizes.h": "#define WIDTH 4\nconstexpr int HEIGHT = 3;\n"}
    assert undefined_macros(source, "k", headers, {}, "k.cu") == {"DEPTH": False}


def test_nothing_is_guessed_for_a_program_that_is_wrong_otherwise():
    source = "__global__ void k(float *a) { a[0] = 1 }\n"
    assert undefined_macros(source, "k", {}, {}, "k.cu") == {}


def test_a_name_that_is_indexed_is_no_number():
    source = "__global__ void k(float *d_A, int n) { d_A[0] = A[n * WIDTH]; }\n"
    assert undefined_macros(source, "k", {}, {}, "k.cu") == {"WIDTH": False}


def test_they_come_in_the_order_of_the_program():
    names = ["ROWS", "COLS", "SIDE", "REACH", "DEPTH", "TURNS", "HALO"]
    calls = "".join(f"__device__ int f{i}() {{ return {n}; }}\n" for i, n in enumerate(names))
    uses = " + ".join(f"f{i}()" for i in reversed(range(len(names))))
    source = f"{calls}__global__ void k(int *a) {{ a[0] = {uses}; }}\n"
    assert list(undefined_macros(source, "k", {}, {}, "k.cu")) == names
