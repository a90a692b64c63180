"""Signatures are read as the compiler reads them."""

import pytest

from core.compiler.compiler import compile_ptx
from core.compiler.kernel_signature import kernel_names, read_signature
from core.errors import ArgumentError, CompileError
from core.source.kernels_and_launches import kernels


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
        ("int (*a)[16]", ("a", "int32", True, False)),
        ("const float (*__restrict__ a)[4][4]", ("a", "float32", True, True)),
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
    namespace n { __global__ void k(const real* a, scalar* b, index_t i, VALUE t) {} }
    """
    assert shape_of(source, "n::k", VALUE="double") == [
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
        ("float*** a", "pointers to pointers"),
        ("struct point p", "incomplete type"),
        ("Unknown* a", 'identifier "Unknown" is undefined'),
        ("cudaTextureObject_t *a", "row of textures"),
        ("void a", "void type"),
        ("float", "cannot be read"),
    ],
)
def test_what_is_not_understood_is_named(declaration, sentence):
    with pytest.raises((ArgumentError, CompileError), match=sentence):
        read_signature(f"__global__ void k({declaration}) {{}}", "k")


def test_unknown_kernel_lists_those_there_are():
    with pytest.raises(ArgumentError, match="no kernel called x; it has: k, m"):
        read_signature("__global__ void k() {} __global__ void m() {}", "x")
    with pytest.raises(ArgumentError, match="no __global__ function"):
        read_signature("int main() {}", "x")


TEMPLATES = """
const int WIDTH = 2 * 16;
struct Twice { float by; __device__ float operator()(float x) const { return by * x; } };
template <typename T, int TILE = 8> __global__ void plain(const T *a, T b) {}
template <class Op, typename T> __global__ void apply(T *a, int n, Op op) {}
template <unsigned BLOCK_SIZE, bool FULL> __global__ void sized(double *a) {}
namespace deep { template <typename T> __global__ void inside(T **x, T *a) {} }
template <typename F> __global__ void call(F f) {}
template __global__ void plain<short>(const short *, short);
void run(float *f, double *d, int n) {
    const int BS = 64;
    plain<int, WIDTH><<<1, 32>>>(nullptr, 3);
    plain<<<n / 2, dim3(3, 4)>>>(d, 2.0);
    apply<<<1, 32>>>(f, n, Twice{2.0f});
    switch (n) {
        case 1: sized<BS, true><<<1, BS>>>(d); break;
        default: sized<128, false><<<1, 2>>>(d);
    }
    call<<<1, 1>>>([=] __device__ (int i) { f[i] = 0; });
}
"""


def test_instances_of_templates():
    assert kernel_names(TEMPLATES) == (
        "plain<int, 32>", "plain<double>", "plain<short>", "apply<Twice, float>",
        "sized<64, true>", "sized<128, false>", "inside<float>", "call",
    )  # fmt: skip
    assert shape_of(TEMPLATES, "plain<double>")[0] == ("a", "float64", True, True)
    assert shape_of(TEMPLATES, "plain<unsigned char, 4>")[1] == ("b", "uint8", False, False)
    assert [p.name for p in read_signature(TEMPLATES, "apply<Twice, float>")] == ["a", "n", "op.by"]
    with pytest.raises(ArgumentError, match=r"call<Functor>.*struct with operator"):
        read_signature(TEMPLATES, "call")
    for name in ("plain<int, 32>", "plain<double>", "apply<Twice, float>", "sized<64, true>"):
        entries = compile_ptx(TEMPLATES, kernel=name).entries
        assert any(name.partition("<")[0] in entry for entry in entries)


def test_kernels_that_macros_make():
    source = """
    #define KERNEL extern "C" __global__ void
    #define MAKE(NAME, T, OP) \\
        __global__ void NAME##_##T(const T *a, T *b) { b[0] = a[0] OP a[1]; }
    MAKE(sum, float, +) MAKE(product, double, *)
    KERNEL last(int n) {}
    """
    assert kernel_names(source) == ("sum_float", "product_double", "last")
    assert shape_of(source, "product_double")[1] == ("b", "float64", True, False)
    assert len(compile_ptx(source).entries) == 3


def test_kernels_that_macros_with_any_number_of_arguments_make():
    source = """
    #define KERNEL(NAME, ...) __global__ void NAME(__VA_ARGS__)
    #define SWAPPED(b, a) __global__ void a##_##b(const float *a, double *b, int n)
    #define LAST(NAME, rest...) __global__ void NAME(int first, ##rest)
    #define MORE(NAME, ...) __global__ void NAME(int n, ##__VA_ARGS__)
    KERNEL(scale, float *x, const double *by, int n) { x[n] *= by[0]; }
    KERNEL(nothing) {}
    SWAPPED(a, b) { a[n] = b[n]; }
    LAST(last, short *s, char c) {}
    MORE(alone) {} MORE(two, unsigned u) {}
    """
    assert len(compile_ptx(source).entries) == 6
    names = [kernel.name for kernel in kernels(source)]
    assert names == ["scale", "nothing", "b_a", "last", "alone", "two"]
    assert [p[:2] for p in shape_of(source, "scale")] == [
        ("x", "float32"), ("by", "float64"), ("n", "int32"),
    ]  # fmt: skip
    assert shape_of(source, "nothing") == shape_of("__global__ void k() {}")
    assert [p[:2] for p in shape_of(source, "b_a")] == [
        ("b", "float32"), ("a", "float64"), ("n", "int32"),
    ]  # fmt: skip
    assert [p[0] for p in shape_of(source, "last")] == ["first", "s", "c"]
    assert [p[0] for p in shape_of(source, "alone")] == ["n"]
    assert [p[:2] for p in shape_of(source, "two")] == [("n", "int32"), ("u", "uint32")]
