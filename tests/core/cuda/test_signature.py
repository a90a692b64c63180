"""Signatures are read as the compiler reads them."""

import numpy as np
import pytest

from core.cuda.compiler import compile_ptx
from core.cuda.signature import kernel_names, read_signature
from core.errors import ArgumentError


def shape_of(source, kernel="k", **defines):
    return [
        (p.name, str(p.dtype), p.is_pointer, p.is_const)
        for p in read_signature(source, kernel, defines)
    ]


def test_plain_matrix_kernel():
    source = 'extern "C" __global__ void k(const float* A, float *C, int N) { C[N] = A[N]; }'
    assert shape_of(source) == [
        ("A", "float32", True, True),
        ("C", "float32", True, False),
        ("N", "int32", False, False),
    ]
    assert [p.type for p in read_signature(source, "k")] == ["const float*", "float*", "int"]


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("float const* __restrict__ a", ("a", "float32", True, True)),
        ("float* const a", ("a", "float32", True, False)),
        ("const double * __restrict a", ("a", "float64", True, True)),
        ("float a[]", ("a", "float32", True, False)),
        ("const int a[16]", ("a", "int32", True, True)),
        ("unsigned a", ("a", "uint32", False, False)),
        ("unsigned long long int a", ("a", "uint64", False, False)),
        ("long a", ("a", "int64", False, False)),
        ("signed char a", ("a", "int8", False, False)),
        ("unsigned char* a", ("a", "uint8", True, False)),
        ("short int a", ("a", "int16", False, False)),
        ("bool a", ("a", "bool", False, False)),
        ("size_t a", ("a", "uint64", False, False)),
        ("float4* a", ("a", "float32", True, False)),
        ("const uint2* a", ("a", "uint32", True, True)),
        ("void* a", ("a", "None", True, False)),
        ("const float a", ("a", "float32", False, False)),
    ],
)
def test_declarations(declaration, expected):
    assert shape_of(f"__global__ void k({declaration}) {{}}") == [expected]


def test_comments_attributes_and_other_functions_do_not_confuse():
    source = """
    // __global__ void k(int wrong);
    /* __global__ void k(int wrong, too) */
    const char* text = "__global__ /* void k(int w)";
    __device__ float k_helper(float x) { return x; }
    __global__ void other(float* data, int n);
    static __global__ __launch_bounds__(256, (2)) void
    k(float* data /* the, data */, // more, to come
      int n = (1, 2))
    { }
    """
    source = source.replace('"__global__ /* void k(int w)"', '"/* not a comment"')
    assert shape_of(source) == [("data", "float32", True, False), ("n", "int32", False, False)]
    assert kernel_names(source) == ("other", "k")


def test_aliases():
    source = """
    #define real float
    typedef unsigned int index_t;
    using scalar = real;
    namespace n { __global__ void k(const real* a, scalar* b, index_t i, T t) {} }
    """
    assert shape_of(source, "n::k", T="double") == [
        ("a", "float32", True, True),
        ("b", "float32", True, False),
        ("i", "uint32", False, False),
        ("t", "float64", False, False),
    ]


@pytest.mark.parametrize("parameters", ["", "void", "  "])
def test_no_parameters(parameters):
    assert read_signature(f"__global__ void k({parameters}) {{}}", "k") == ()


@pytest.mark.parametrize(
    ("declaration", "sentence"),
    [
        ("float** a", "pointer to a pointer"),
        ("struct point p", "not one that can be given"),
        ("T* a", "not one that can be given"),
        ("float4 a", "not one that can be given"),
        ("void a", "not one that can be given"),
        ("float", "cannot be read"),
    ],
)
def test_what_is_not_understood_is_named(declaration, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        read_signature(f"__global__ void k({declaration}) {{}}", "k")


def test_unknown_kernel_lists_those_there_are():
    with pytest.raises(ArgumentError, match="no kernel called x; it has: k, m"):
        read_signature("__global__ void k() {} __global__ void m() {}", "x")
    with pytest.raises(ArgumentError, match="no __global__ function"):
        read_signature("int main() {}", "x")


def test_widths_agree_with_the_compiler():
    types = ["float", "double", "char", "unsigned char", "short", "int", "unsigned"]
    types += ["long", "unsigned long", "long long", "bool", "size_t"]
    parameters = ", ".join(f"{t} p{i}" for i, t in enumerate(types))
    checks = "".join(
        f"static_assert(sizeof({t}) == {np.dtype(p.dtype).itemsize});\n"
        f"static_assert((({t})-1 < ({t})0) == {int(p.dtype.kind in 'if')});\n"
        for t, p in zip(
            types, read_signature(f"__global__ void k({parameters}) {{}}", "k"), strict=True
        )
    )
    compile_ptx(f"{checks}__global__ void k({parameters}) {{}}")
